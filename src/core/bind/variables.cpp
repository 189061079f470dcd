#include "../variables.h"

#include <nanobind/stl/vector.h>

#include "whole_circuit.h"

namespace adtc {
namespace {

RootGroups groups_of(const WholeCircuit& circuit, const Array<const Index, 1>& groups, Index count) {
    const auto of = span_of(groups);
    bool fits = static_cast<Index>(of.size()) == circuit.root_cells();
    for (const Index group : of) fits = fits && group >= -1 && group < count;
    if (!fits) throw nb::value_error("the groups do not belong to the cells of the root");
    return {of, count};
}

/// Numbers of variables are checked, and so are the bounds of each feature's.
FeatureVariables variables_of(const WholeCircuit& circuit, const Array<const Index, 1>& starts,
                              const Array<const Index, 1>& variables, const Array<const Index, 1>& counts,
                              Index total) {
    const Index n = circuit.lattice().features;
    bool fits = static_cast<Index>(starts.shape(0)) == n + 1 && variables.shape(0) == counts.shape(0) &&
                starts(0) == 0 && starts(static_cast<std::size_t>(n)) == static_cast<Index>(variables.shape(0));
    for (Index f = 0; fits && f < n; ++f) fits = starts(f) <= starts(f + 1);
    for (const Index v : span_of(variables)) fits = fits && v >= 0 && v < total;
    if (!fits) throw nb::value_error("the variables do not belong to the features");
    return {span_of(starts), span_of(variables), span_of(counts), total};
}

Index words_for(Index variables) { return std::max<Index>(1, (variables + 63) / 64); }

NumpyArray<Limb> count_weighted(const Control& control, const WholeCircuit& circuit, Array<const Index, 1> groups,
                                Index n_groups, Array<const Limb, 3> weights, Index limbs, Index most_bytes) {
    const RootGroups chosen = groups_of(circuit, groups, n_groups);
    const Lattice& lattice = circuit.lattice();
    if (static_cast<Index>(weights.shape(0)) != lattice.levels + lattice.rest ||
        static_cast<Index>(weights.shape(1)) != lattice.features || limbs < 1)
        throw nb::value_error("there is a weight for each level, feature and lane");
    std::vector<Limb> found;
    {
        nb::gil_scoped_release release;
        found = circuit.visit([&](const auto& view) {
            return weighted_counts(view, chosen, cube_of(weights), limbs, most_bytes, control);
        });
    }
    return to_numpy(std::move(found),
                    {static_cast<std::size_t>(n_groups), weights.shape(2), static_cast<std::size_t>(limbs)});
}

NumpyArray<std::uint64_t> find_minimal(const Control& control, const WholeCircuit& circuit,
                                       Array<const Index, 1> groups, Array<const Index, 1> starts,
                                       Array<const Index, 1> variables, Index total, Index most_bytes) {
    const RootGroups chosen = groups_of(circuit, groups, 1);
    const FeatureVariables behind = variables_of(circuit, starts, variables, variables, total);
    const Index words = words_for(total);
    std::vector<std::uint64_t> found;
    {
        nb::gil_scoped_release release;
        found = circuit.visit(
            [&](const auto& view) { return minimal_variable_sets(view, chosen, behind, words, most_bytes, control); });
    }
    const std::size_t rows = found.size() / static_cast<std::size_t>(words);
    return to_numpy(std::move(found), {rows, static_cast<std::size_t>(words)});
}

std::tuple<NumpyArray<Index>, NumpyArray<std::uint64_t>, NumpyArray<Limb>> count_sets(
    const Control& control, const WholeCircuit& circuit, Array<const Index, 1> groups, Index n_groups,
    Array<const Index, 1> starts, Array<const Index, 1> variables, Array<const Index, 1> counts, Index total,
    Index limbs, Index most_bytes) {
    const RootGroups chosen = groups_of(circuit, groups, n_groups);
    const FeatureVariables behind = variables_of(circuit, starts, variables, counts, total);
    const Index words = words_for(total);
    if (limbs < 1) throw nb::value_error("numbers have at least one limb");
    VariableSetCounts found;
    {
        nb::gil_scoped_release release;
        found = circuit.visit([&](const auto& view) {
            return variable_set_counts(view, chosen, behind, words, limbs, most_bytes, control);
        });
    }
    const std::size_t rows = found.groups.size();
    return {to_numpy(std::move(found.groups)),
            to_numpy(std::move(found.masks), {rows, static_cast<std::size_t>(words)}),
            to_numpy(std::move(found.counts), {rows, static_cast<std::size_t>(limbs)})};
}

}  // namespace

void bind_variables(nb::module_& module) {
    nb::class_<WholeCircuit>(module, "Circuit")
        .def(nb::init<const BoundTable&, const BoundLattice&, const BoundLeaves&, Array<const Index, 1>,
                      Array<const Index, 2>, Array<const Index, 2>, Array<const bool, 1>,
                      const std::vector<BoundLevel>&>(),
             nb::arg("table"), nb::arg("lattice"), nb::arg("leaves"), nb::arg("multiplicity"), nb::arg("counts"),
             nb::arg("budgets"), nb::arg("live"), nb::arg("levels"));
    module.def("weighted_counts", &count_weighted, nb::arg("control"), nb::arg("circuit"), nb::arg("groups"),
               nb::arg("n_groups"), nb::arg("weights"), nb::arg("limbs"), nb::arg("most_bytes"),
               "Sum over trees the product of their tests' weights: [group, lane, limb].");
    module.def("minimal_variable_sets", &find_minimal, nb::arg("control"), nb::arg("circuit"), nb::arg("groups"),
               nb::arg("starts"), nb::arg("variables"), nb::arg("total"), nb::arg("most_bytes"),
               "Find the minimal sets of variables that some tree manages with: bits [set, word].");
    module.def("variable_set_counts", &count_sets, nb::arg("control"), nb::arg("circuit"), nb::arg("groups"),
               nb::arg("n_groups"), nb::arg("starts"), nb::arg("variables"), nb::arg("counts"), nb::arg("total"),
               nb::arg("limbs"), nb::arg("most_bytes"),
               "Count trees by the set of variables they use: group, bits [entry, word], count [entry, limb].");
}

}  // namespace adtc

#include "../reliance.h"

#include <nanobind/stl/vector.h>

#include "whole_circuit.h"

namespace adtc {
namespace {

SwitchedErrors find_switched(const Control& control, const WholeCircuit& circuit, Array<const Index, 1> groups,
                             Index n_groups, Array<const Index, 1> column_of, Index columns, Index most_bytes) {
    bool fits = static_cast<Index>(groups.shape(0)) == circuit.root_cells() &&
                static_cast<Index>(column_of.shape(0)) == circuit.lattice().features && columns > 0;
    for (const Index group : span_of(groups)) fits = fits && group >= -1 && group < n_groups;
    for (const Index column : span_of(column_of)) fits = fits && column >= -1 && column < columns;
    if (!fits) throw nb::value_error("groups are those of the root's cells, and columns those of the features");
    const RootGroups chosen{span_of(groups), n_groups};
    nb::gil_scoped_release release;
    return circuit.visit([&](const auto& view) {
        return switched_errors(view, chosen, span_of(column_of), columns, most_bytes, control);
    });
}

/// Return the least and the largest errors: [end][column][group].
NumpyArray<Index> errors_of(const SwitchedErrors& found) {
    std::vector<Index> errors;
    errors.reserve(static_cast<std::size_t>(found.lanes() * found.groups));
    for (Index lane = 0; lane < found.lanes(); ++lane)
        for (Index group = 0; group < found.groups; ++group) {
            const Index value = found.errors(group, lane);
            errors.push_back(lane < found.columns ? value : -value);
        }
    return to_numpy(std::move(errors),
                    {2, static_cast<std::size_t>(found.columns), static_cast<std::size_t>(found.groups)});
}

std::tuple<NumpyArray<Index>, NumpyArray<Index>> trees_of(const SwitchedErrors& found, Array<const Index, 1> groups,
                                                          Array<const Index, 1> lanes, Array<const Index, 1> features,
                                                          Array<const bool, 1> flipped) {
    if (groups.shape(0) != lanes.shape(0)) throw nb::value_error("there is a lane for each group");
    if (static_cast<Index>(features.shape(0)) != found.features || flipped.shape(0) != features.shape(0))
        throw nb::value_error("there is an original feature for each distinct one");
    const Spelling spelling{span_of(features), span_of(flipped)};
    Forest forest;
    for (std::size_t i = 0; i < groups.shape(0); ++i) {
        if (groups(i) < 0 || groups(i) >= found.groups || lanes(i) < 0 || lanes(i) >= found.lanes())
            throw nb::value_error("there is no such group or lane");
        found.append_tree(groups(i), lanes(i), spelling, forest);
    }
    return {to_numpy(std::move(forest.starts)), to_numpy(std::move(forest.codes))};
}

}  // namespace

void bind_reliance(nb::module_& module) {
    nb::class_<SwitchedErrors>(module, "SwitchedErrors")
        .def("errors", &errors_of, "The least and the largest errors: [end, column, group].")
        .def("trees", &trees_of, nb::arg("groups"), nb::arg("lanes"), nb::arg("features"), nb::arg("flipped"),
             "A tree of each group that has them, in original features: lane end · columns + column.");
    module.def("switched_errors", &find_switched, nb::arg("control"), nb::arg("circuit"), nb::arg("groups"),
               nb::arg("n_groups"), nb::arg("column_of"), nb::arg("columns"), nb::arg("most_bytes"),
               "Find the least and the largest errors over rows that take one column from another row.");
}

}  // namespace adtc

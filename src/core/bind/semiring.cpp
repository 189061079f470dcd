#include "semiring.h"

#include <nanobind/stl/optional.h>

#include <optional>

#include "types.h"

namespace adtc {
namespace {

/// `SemiringFunctions` from addresses.
SemiringFunctions functions_at(std::uintptr_t add, std::uintptr_t mul, std::uintptr_t leaf) {
    if (add == 0 || mul == 0 || leaf == 0) throw nb::value_error("the address of a function must not be 0");
    SemiringFunctions functions;
    functions.add = reinterpret_cast<decltype(functions.add)>(add);
    functions.mul = reinterpret_cast<decltype(functions.mul)>(mul);
    functions.leaf = reinterpret_cast<decltype(functions.leaf)>(leaf);
    return functions;
}

void require(const Lattice& lattice, std::size_t multiplicity, const PathSums& sums) {
    const auto paths = static_cast<std::size_t>(lattice.size());
    if (multiplicity != static_cast<std::size_t>(lattice.features) || sums.value.size() != paths ||
        sums.any.size() != paths)
        throw nb::value_error("sums must hold a number for each path of the lattice");
}

void bound_sum_last(Index first, Index stop, const BoundTable& table, const BoundLattice& lattice,
                    const SemiringFunctions& functions, const BoundLeafMetrics& leaves,
                    Array<const Index, 1> multiplicity, Array<const bool, 1> wanted, Array<double, 1> value,
                    Array<bool, 1> any, const Control& control) {
    const PathSums sums{span_of(value), span_of(any)};
    require(lattice, multiplicity.shape(0), sums);
    if (wanted.shape(0) != sums.any.size() || table.features() != lattice.features || first < 0 ||
        stop > std::max(lattice.features, Index{1}) ||
        table.groups() != static_cast<Index>(leaves.rule.group_label.size()))
        throw nb::value_error("the table and the lattice do not belong together");
    const nb::gil_scoped_release release;  // functions written in Python take it back for themselves
    sum_last(first, stop, table, lattice, functions, leaves, span_of(multiplicity), span_of(wanted), sums, control);
}

std::optional<double> bound_sum_above(const BoundLattice& lattice, const SemiringFunctions& functions,
                                      const BoundLeafMetrics& leaves, Array<const Index, 1> multiplicity,
                                      Array<const Index, 2> counts, Array<double, 1> value, Array<bool, 1> any,
                                      const Control& control) {
    const PathSums sums{span_of(value), span_of(any)};
    require(lattice, multiplicity.shape(0), sums);
    if (counts.shape(0) != sums.any.size() || counts.shape(1) != leaves.rule.group_label.size())
        throw nb::value_error("counts must hold a number for each path of the lattice and each group");
    const nb::gil_scoped_release release;
    const Sum sum = sum_above(lattice, functions, leaves, span_of(multiplicity), grid_of(counts), sums, control);
    return sum.any ? std::optional<double>(sum.value) : std::nullopt;
}

}  // namespace

void bind_semiring(nb::module_& module) {
    nb::class_<SemiringFunctions>(module, "SemiringFunctions")
        .def(
            "__init__",
            [](SemiringFunctions* self, std::uintptr_t add, std::uintptr_t mul, std::uintptr_t leaf) {
                new (self) SemiringFunctions(functions_at(add, mul, leaf));
            },
            nb::arg("add"), nb::arg("mul"), nb::arg("leaf"));
    nb::class_<BoundLeafMetrics>(module, "LeafMetrics")
        .def(nb::init<Array<const double, 3>, Array<const double, 1>, const BoundCosts&, bool>(),
             nb::keep_alive<1, 4>(), nb::arg("weights"), nb::arg("constants"), nb::arg("costs"),
             nb::arg("trivial_splits"))
        .def_ro("weights", &BoundLeafMetrics::weights_)
        .def_ro("constants", &BoundLeafMetrics::constants_);
    module.def("sum_last", &bound_sum_last, nb::arg("first"), nb::arg("stop"), nb::arg("table"), nb::arg("lattice"),
               nb::arg("functions"), nb::arg("leaves"), nb::arg("multiplicity"), nb::arg("wanted"), nb::arg("value"),
               nb::arg("any"), nb::arg("control"),
               "Sum over the trees, but single leaves, below paths of the last level that start with these features.");
    module.def("sum_above", &bound_sum_above, nb::arg("lattice"), nb::arg("functions"), nb::arg("leaves"),
               nb::arg("multiplicity"), nb::arg("counts"), nb::arg("value"), nb::arg("any"), nb::arg("control"),
               "Fill in the shorter paths and return the sum over all trees; None if there are none.");
}

}  // namespace adtc

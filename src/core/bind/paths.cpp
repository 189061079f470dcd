#include "../paths.h"

#include "costs.h"
#include "types.h"

namespace adtc {
namespace {

void require_paths(const Lattice& lattice, const Costs& costs, Grid<const Index> counts, Grid<Index> least) {
    require(counts.rows == lattice.size() && counts.columns == costs.groups(),
            "counts must hold a number for each path of the lattice and each group of the costs");
    require(least.columns == lattice.size() && least.rows >= costs.forms(),
            "least must hold a number for each form of the costs and each path of the lattice");
}

void bound_ascend(Index levels, const BoundLattice& lattice, const BoundCosts& costs, Array<const Index, 2> counts,
                  Array<Index, 2> least, const Control* control) {
    require_paths(lattice, costs, grid_of(counts), grid_of(least));
    require(levels >= 0 && levels <= lattice.levels, "levels must be at most the lattice's");
    const nb::gil_scoped_release release;
    ascend(levels, lattice, costs, grid_of(counts), grid_of(least), control);
}

void bound_ascend_through(Index first, Index stop, const BoundLattice& lattice, const BoundCosts& costs,
                          Array<const Index, 2> counts, Array<Index, 2> least, const Control* control) {
    require_paths(lattice, costs, grid_of(counts), grid_of(least));
    require(first >= 0 && stop <= lattice.features, "first and stop must be features of the lattice");
    const nb::gil_scoped_release release;
    ascend_through(first, stop, lattice, costs, grid_of(counts), grid_of(least), control);
}

void bound_afford(const BoundLattice& lattice, Array<const bool, 1> exists, Array<const Index, 2> least,
                  Array<Index, 2> budgets, Array<bool, 1> live, Array<Index, 1> found, const Control* control) {
    const auto paths = static_cast<std::size_t>(lattice.size());
    require(exists.shape(0) == paths && live.shape(0) == paths && least.shape(1) == paths &&
                budgets.shape(0) == paths && budgets.shape(1) == least.shape(0),
            "exists, live, least and budgets must hold a number for each path of the lattice");
    require(found.shape(0) == lattice.base.size(), "found must hold a number for each length");
    const nb::gil_scoped_release release;
    afford(lattice, span_of(exists), grid_of(least), grid_of(budgets), span_of(live), span_of(found), control);
}

void bound_lead_to_live(const BoundLattice& lattice, Array<const bool, 1> live, Array<Index, 1> behind,
                        const Control* control) {
    const auto paths = static_cast<std::size_t>(lattice.size());
    require(live.shape(0) == paths && behind.shape(0) == paths,
            "live and behind must hold a number for each path of the lattice");
    const nb::gil_scoped_release release;
    lead_to_live(lattice, span_of(live), span_of(behind), control);
}

std::tuple<Index, Index, Index> bound_find_tree(Index cost, Array<const Index, 3> both, Array<const Index, 1> rows,
                                                Array<const bool, 1> on_path, const BoundCosts& costs, Index rest) {
    const auto groups = static_cast<std::size_t>(costs.groups());
    require(costs.forms() > 0 && both.shape(0) == groups && rows.shape(0) == groups && both.shape(1) == both.shape(2) &&
                on_path.shape(0) == both.shape(1),
            "both must hold a number for each group and pair of features, rows one for each group");
    const nb::gil_scoped_release release;
    const SmallTree tree = find_tree(cost, cube_of(both), span_of(rows), span_of(on_path), costs, rest);
    return {tree.feature, tree.below1, tree.below0};
}

}  // namespace

void bind_paths(nb::module_& module) {
    module.def("ascend", &bound_ascend, nb::arg("levels"), nb::arg("lattice"), nb::arg("costs"), nb::arg("counts"),
               nb::arg("least"), nb::arg("control") = nb::none(),
               "Fill in the least cost of all paths shorter than ``levels``.");
    module.def("ascend_through", &bound_ascend_through, nb::arg("first"), nb::arg("stop"), nb::arg("lattice"),
               nb::arg("costs"), nb::arg("counts"), nb::arg("least"), nb::arg("control") = nb::none(),
               "Fill in the least cost of the paths above the last level that hold one of these features.");
    module.def("afford", &bound_afford, nb::arg("lattice"), nb::arg("exists"), nb::arg("least"), nb::arg("budgets"),
               nb::arg("live"), nb::arg("found"), nb::arg("control") = nb::none(),
               "Hand budgets down from the root, mark live paths, and count them by length.");
    module.def("lead_to_live", &bound_lead_to_live, nb::arg("lattice"), nb::arg("live"), nb::arg("behind"),
               nb::arg("control") = nb::none(),
               "Count for every path the live ones of the last level that a canonical walk passes it for.");
    module.def("find_tree", &bound_find_tree, nb::arg("cost"), nb::arg("both"), nb::arg("rows"), nb::arg("on_path"),
               nb::arg("costs"), nb::arg("rest"),
               "Find a tree of depth 1 or 2 with a known cost: its feature, those below 1 and below 0; −1 is none.");
}

}  // namespace adtc

#include "../routing.h"

#include "types.h"

namespace adtc {
namespace {

/// Count rows by tree, label given to them, and group.
NumpyArray<Index> route(const BoundTable& table, Array<const Index, 1> starts, Array<const Index, 1> codes, Index labels,
                        const Control& control) {
    const ForestView forest{span_of(starts), span_of(codes)};
    const Index trees = static_cast<Index>(forest.starts.size()) - 1, groups = table.groups();
    std::vector<Index> counts;
    {
        nb::gil_scoped_release release;
        if (!is_forest(forest, table.features(), labels)) throw nb::value_error("the codes do not make up trees");
        counts.assign(static_cast<std::size_t>(trees * labels * groups), 0);
        route_rows(table, forest, {counts.data(), trees, labels, groups}, control);
    }
    return to_numpy(std::move(counts), {static_cast<std::size_t>(trees), static_cast<std::size_t>(labels),
                                        static_cast<std::size_t>(groups)});
}

}  // namespace

void bind_routing(nb::module_& module) {
    module.def("route_rows", &route, nb::arg("table"), nb::arg("starts"), nb::arg("codes"), nb::arg("labels"),
               nb::arg("control"));
}

}  // namespace adtc

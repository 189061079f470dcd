#include "../inside.h"

#include "costs.h"
#include "types.h"

namespace adtc {
namespace {

/// Look at the arrays that a pass writes, and make sure that they have room for it.
InsideResult result_of(const Lattice& lattice, const Table& table, const Costs& costs, const Array<Index, 2>& counts,
                       const Array<Index, 2>& least, const Array<Index, 2>& splits) {
    const InsideResult result{grid_of(counts), grid_of(least), grid_of(splits)};
    if (result.counts.rows != lattice.size() || result.counts.columns != table.groups() ||
        result.least.rows != costs.forms() || result.least.columns != lattice.size() ||
        result.splits.rows != costs.forms() || result.splits.columns != lattice.paths(lattice.levels))
        throw nb::value_error("the arrays of the inside pass do not belong together");
    return result;
}

/// An `InsidePass` with what it looks at.
struct BoundInside {
    const BoundTable& table;
    const BoundLattice& lattice;
    const BoundCosts& costs;
    std::unique_ptr<InsidePass> pass;

    void run(Index phase, Index first, Index stop, const Array<Index, 2>& counts, const Array<Index, 2>& least,
             const Array<Index, 2>& splits, const Control& control) {
        if (phase < 0 || phase >= pass->phases() || first < 0 || stop > std::max<Index>(1, table.features()))
            throw nb::value_error("there is no such part of the inside pass");
        const InsideResult result = result_of(lattice, table, costs, counts, least, splits);
        nb::gil_scoped_release release;
        pass->run(phase, first, stop, result, control);
    }
};

}  // namespace

void bind_inside(nb::module_& module) {
    module.def(
        "inside_job_bytes",
        [](const BoundTable& table, const BoundCosts& costs) {
            if (costs.groups() != table.groups()) throw nb::value_error("table and costs do not belong together");
            return inside_job_bytes(table, costs);
        },
        nb::arg("table"), nb::arg("costs"));
    nb::class_<BoundInside>(module, "InsidePass")
        .def(
            "__init__",
            [](BoundInside* self, const BoundTable& table, const BoundLattice& lattice, const BoundCosts& costs,
               Index memory, Index threads, Index most_spread) {
                if (lattice.features != table.features() || costs.groups() != table.groups())
                    throw nb::value_error("table, lattice and costs do not belong together");
                new (self) BoundInside{table, lattice, costs, nullptr};
                nb::gil_scoped_release release;
                self->pass = make_inside_pass(table, lattice, costs, memory, threads, most_spread);
            },
            nb::arg("table"), nb::arg("lattice"), nb::arg("costs"), nb::arg("memory"), nb::arg("threads"),
            nb::arg("most_spread"), nb::keep_alive<1, 2>(), nb::keep_alive<1, 3>(), nb::keep_alive<1, 4>())
        .def_prop_ro("phases", [](const BoundInside& self) { return self.pass->phases(); })
        .def("run", &BoundInside::run, nb::arg("phase"), nb::arg("first"), nb::arg("stop"), nb::arg("counts"),
             nb::arg("least"), nb::arg("splits"), nb::arg("control"));
}

}  // namespace adtc

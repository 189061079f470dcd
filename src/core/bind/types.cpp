#include "types.h"

#include <utility>

#include "../control.h"

namespace adtc {

BoundTable::BoundTable(Array<const std::uint64_t, 2> words, Array<const Index, 1> offsets, Array<const Index, 1> rows,
                       Array<const Index, 1> plane_group, Array<const Index, 1> plane_shift,
                       Array<const Index, 1> totals)
    : words_(std::move(words)),
      offsets_(std::move(offsets)),
      rows_(std::move(rows)),
      plane_group_(std::move(plane_group)),
      plane_shift_(std::move(plane_shift)),
      totals_(std::move(totals)) {
    Table::words = grid_of(words_);
    Table::offsets = span_of(offsets_);
    Table::rows = span_of(rows_);
    Table::plane_group = span_of(plane_group_);
    Table::plane_shift = span_of(plane_shift_);
    Table::totals = span_of(totals_);
    const std::size_t planes = Table::rows.size();
    bool fits = Table::offsets.size() == planes + 1 && Table::plane_group.size() == planes &&
                Table::plane_shift.size() == planes && Table::offsets[0] == 0 &&
                Table::offsets[planes] <= Table::words.columns;
    for (std::size_t p = 0; fits && p < planes; ++p)
        fits = Table::plane_group[p] >= 0 && Table::plane_group[p] < groups() && Table::plane_shift[p] >= 0 &&
               Table::plane_shift[p] < 64 && Table::rows[p] >= 0 &&
               Table::rows[p] <= 64 * (Table::offsets[p + 1] - Table::offsets[p]);
    if (!fits) throw nb::value_error("the arrays of the table do not belong together");
}

BoundLattice::BoundLattice(Array<const Index, 2> binomial, Array<const Index, 1> base, Index features, Index levels,
                           Index rest)
    : binomial_(std::move(binomial)), base_(std::move(base)) {
    Lattice::binomial = grid_of(binomial_);
    Lattice::base = span_of(base_);
    Lattice::features = features;
    Lattice::levels = levels;
    Lattice::rest = rest;
    if (levels < 0 || levels >= Path::kLongest || Lattice::base.size() != static_cast<std::size_t>(levels + 1) ||
        Lattice::binomial.rows < features + 1 || Lattice::binomial.columns < levels + 2)
        throw nb::value_error("the arrays of the lattice do not belong together");
}

void bind_types(nb::module_& module) {
    nb::class_<Control>(module, "Control")
        .def(nb::init<>())
        .def("cancel", &Control::cancel)
        .def("set_time_limit", &Control::set_time_limit, nb::arg("seconds"))
        .def("set_resident_limit", &Control::set_resident_limit, nb::arg("bytes"))
        .def("check", &Control::check)
        .def_prop_ro("cancelled", &Control::cancelled);
    module.def("resident_bytes", &resident_bytes);
    module.def("return_memory", &return_memory);
    nb::exception<Cancelled>(module, "Cancelled");
    nb::exception<OutOfTime>(module, "OutOfTime");
    nb::exception<OutOfMemory>(module, "OutOfMemory");

    nb::class_<BoundTable>(module, "Table")
        .def(nb::init<Array<const std::uint64_t, 2>, Array<const Index, 1>, Array<const Index, 1>,
                      Array<const Index, 1>, Array<const Index, 1>, Array<const Index, 1>>(),
             nb::arg("words"), nb::arg("offsets"), nb::arg("rows"), nb::arg("plane_group"), nb::arg("plane_shift"),
             nb::arg("totals"))
        .def_ro("words", &BoundTable::words_)
        .def_ro("offsets", &BoundTable::offsets_)
        .def_ro("rows", &BoundTable::rows_)
        .def_ro("plane_group", &BoundTable::plane_group_)
        .def_ro("plane_shift", &BoundTable::plane_shift_)
        .def_ro("totals", &BoundTable::totals_)
        .def("__reduce__", [](nb::handle self) {
            return remade(self, "words", "offsets", "rows", "plane_group", "plane_shift", "totals");
        });

    nb::class_<BoundLattice>(module, "Lattice")
        .def(nb::init<Array<const Index, 2>, Array<const Index, 1>, Index, Index, Index>(), nb::arg("binomial"),
             nb::arg("base"), nb::arg("features"), nb::arg("levels"), nb::arg("rest"))
        .def_ro("binomial", &BoundLattice::binomial_)
        .def_ro("base", &BoundLattice::base_)
        .def_ro("features", &BoundLattice::features)
        .def_ro("levels", &BoundLattice::levels)
        .def_ro("rest", &BoundLattice::rest)
        .def("__reduce__",
             [](nb::handle self) { return remade(self, "binomial", "base", "features", "levels", "rest"); });
}

}  // namespace adtc

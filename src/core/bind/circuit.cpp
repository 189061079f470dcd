#include "circuit.h"

#include <nanobind/stl/vector.h>

namespace adtc {

BoundCircuit::BoundCircuit(const BoundTable& table, const BoundLattice& lattice, const BoundLeaves& leaves,
                           Array<const Index, 1> multiplicity, Array<const Index, 2> counts,
                           Array<const Index, 2> budgets, Array<const bool, 1> live,
                           const std::vector<BoundLevel>& levels)
    : table_(table),
      lattice_(lattice),
      leaves_(leaves),
      multiplicity_(std::move(multiplicity)),
      counts_(std::move(counts)),
      budgets_(std::move(budgets)),
      live_(std::move(live)),
      levels_(levels) {
    std::visit([&]<class Key>(const Leaves<Key>& made) { view_ = make(made); }, leaves_.leaves);
}

template <class Key>
CircuitView<Key> BoundCircuit::make(const Leaves<Key>& leaves) const {
    CircuitView<Key> circuit;
    circuit.table = &table_;
    circuit.lattice = &lattice_;
    circuit.leaves = leaves;
    circuit.multiplicity = span_of(multiplicity_);
    circuit.counts = grid_of(counts_);
    circuit.budgets = grid_of(budgets_);
    circuit.live = span_of(live_);
    for (const BoundLevel& bound : levels_) {
        const auto* const level = std::get_if<Level<Key>>(&bound.level);
        if (level == nullptr) throw nb::value_error("the keys of a level are not as wide as the leaves'");
        circuit.levels.push_back(*level);
    }
    if (!belongs_together(circuit)) throw nb::value_error("the arrays of the circuit do not belong together");
    return circuit;
}

/// Nobody looks at the ends of arrays later.
template <class Key>
bool BoundCircuit::belongs_together(const CircuitView<Key>& circuit) const {
    const Index n = lattice_.features, groups = table_.groups(), paths = lattice_.size();
    const Index functionals = circuit.leaves.functionals(), labels = circuit.leaves.labels();
    bool fits = table_.features() == n && circuit.leaves.groups() == groups && labels > 0 &&
                static_cast<Index>(multiplicity_.shape(0)) == n && circuit.counts.rows == paths &&
                circuit.counts.columns == groups && circuit.budgets.rows == paths &&
                circuit.budgets.columns == functionals && static_cast<Index>(live_.shape(0)) == paths &&
                (circuit.levels.empty() || static_cast<Index>(circuit.levels.size()) == lattice_.levels + 1);
    for (Index f = 0; fits && f < n; ++f) fits = multiplicity_(f) > 0;
    for (std::size_t at = 0; fits && at < circuit.levels.size(); ++at) {
        const Level<Key>& level = circuit.levels[at];
        fits = static_cast<Index>(level.starts.size()) == lattice_.paths(static_cast<Index>(at)) &&
               level.cells.limbs > 0 && (at == 0 || level.cells.functionals == functionals);
    }
    return fits;
}

void bind_circuit(nb::module_& module) {
    nb::class_<BoundCircuit>(module, "Circuit")
        .def(nb::init<const BoundTable&, const BoundLattice&, const BoundLeaves&, Array<const Index, 1>,
                      Array<const Index, 2>, Array<const Index, 2>, Array<const bool, 1>,
                      const std::vector<BoundLevel>&>(),
             nb::arg("table"), nb::arg("lattice"), nb::arg("leaves"), nb::arg("multiplicity"), nb::arg("counts"),
             nb::arg("budgets"), nb::arg("live"), nb::arg("levels"));
}

}  // namespace adtc

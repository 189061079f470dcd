// A circuit in numpy arrays.
#pragma once

#include "../circuit.h"
#include "tensors.h"

namespace adtc {

/// What a `CircuitView` looks at.
class BoundCircuit {
public:
    BoundCircuit(const BoundTable& table, const BoundLattice& lattice, const BoundLeaves& leaves,
                 Array<const Index, 1> multiplicity, Array<const Index, 2> counts, Array<const Index, 2> budgets,
                 Array<const bool, 1> live, const std::vector<BoundLevel>& levels)
        : table_(table),
          lattice_(lattice),
          leaves_(leaves),
          multiplicity_(std::move(multiplicity)),
          counts_(std::move(counts)),
          budgets_(std::move(budgets)),
          live_(std::move(live)),
          levels_(levels) {}
    BoundCircuit(const BoundCircuit&) = delete;  // views look at its parts

    const BoundLattice& lattice() const { return lattice_; }
    const BoundLeaves& leaves() const { return leaves_; }
    std::span<const Index> multiplicity() const { return span_of(multiplicity_); }

    /// Look at it with keys of the leaves' width. Nobody looks at the ends of arrays later.
    template <class Key>
    CircuitView<Key> view(const Leaves<Key>& leaves) const {
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

private:
    template <class Key>
    bool belongs_together(const CircuitView<Key>& circuit) const {
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

    BoundTable table_;
    BoundLattice lattice_;
    BoundLeaves leaves_;
    Array<const Index, 1> multiplicity_;
    Array<const Index, 2> counts_, budgets_;
    Array<const bool, 1> live_;
    std::vector<BoundLevel> levels_;
};

}  // namespace adtc

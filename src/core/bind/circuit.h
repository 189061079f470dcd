// A circuit in NumPy arrays.
#pragma once

#include "../circuit.h"
#include "tensors.h"

namespace adtc {

/// A `CircuitView` of keys of either width, and the arrays that it looks at.
class BoundCircuit {
  public:
    BoundCircuit(const BoundTable& table, const BoundLattice& lattice, const BoundLeaves& leaves,
                 Array<const Index, 1> multiplicity, Array<const Index, 2> counts, Array<const Index, 2> budgets,
                 Array<const bool, 1> live, const std::vector<BoundLevel>& levels);

    BoundCircuit(const BoundCircuit&) = delete;  // the view points into it

    /// Call `use` with the view.
    template <class Use>
    auto visit(Use use) const {
        return std::visit(use, view_);
    }
    const Lattice& lattice() const { return lattice_; }
    Index root_cells() const {
        return visit([](const auto& view) {
            return view.levels.empty() ? Index{0} : view.levels[0].tensor(0).size;
        });
    }

  private:
    template <class Key>
    CircuitView<Key> make(const Leaves<Key>& leaves) const;
    template <class Key>
    bool belongs_together(const CircuitView<Key>& circuit) const;

    BoundTable table_;
    BoundLattice lattice_;
    BoundLeaves leaves_;
    Array<const Index, 1> multiplicity_;
    Array<const Index, 2> counts_, budgets_;
    Array<const bool, 1> live_;
    std::vector<BoundLevel> levels_;
    std::variant<CircuitView<Index>, CircuitView<WideKey>> view_;
};

}  // namespace adtc

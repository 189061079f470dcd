// A circuit that Python hands to several walks, with one view of it.
#pragma once

#include "circuit.h"

namespace adtc {

class WholeCircuit : public BoundCircuit {
public:
    WholeCircuit(const BoundTable& table, const BoundLattice& lattice, const BoundLeaves& leaves,
                 Array<const Index, 1> multiplicity, Array<const Index, 2> counts, Array<const Index, 2> budgets,
                 Array<const bool, 1> live, const std::vector<BoundLevel>& levels)
        : BoundCircuit(table, lattice, leaves, std::move(multiplicity), std::move(counts), std::move(budgets),
                       std::move(live), levels) {
        std::visit([&]<class Key>(const Leaves<Key>& made) { view_ = view(made); }, this->leaves().leaves);
    }

    /// Call `use` with the view.
    template <class Use>
    auto visit(Use use) const {
        return std::visit(use, view_);
    }
    Index root_cells() const {
        return visit([](const auto& view) { return view.levels.empty() ? Index{0} : view.levels[0].tensor(0).size; });
    }

private:
    std::variant<CircuitView<Index>, CircuitView<WideKey>> view_;
};

}  // namespace adtc

// A circuit as it lies in memory: the tensors of all live paths, and what they stand on.
#pragma once

#include <vector>

#include "lattice.h"
#include "leaves.h"
#include "table.h"

namespace adtc {

/// The tensors of one level in one pool; path number p owns the cells starts[p] .. stops[p].
template <class Key>
struct LevelView {
    CellView<Key> cells;  ///< the root's have no costs: nobody multiplies them
    std::span<const Index> starts;
    std::span<const Index> stops;
};

template <class Key>
struct CircuitView {
    const Table* table = nullptr;
    const Lattice* lattice = nullptr;
    Leaves<Key> leaves;
    std::span<const Index> multiplicity;  ///< [feature]: how many original features it stands for
    Grid<const Index> counts;             ///< [path][group]: rows
    Grid<const Index> budgets;            ///< [path][functional]: what trees there may cost
    std::span<const bool> live;           ///< [path]
    std::vector<LevelView<Key>> levels;   ///< root first; none if there is no tree
};

}  // namespace adtc

// A circuit in memory: the tensors of all live paths, and the table, lattice and leaves they come from.
#pragma once

#include <vector>

#include "lattice.h"
#include "leaves.h"
#include "table.h"
#include "tensors.h"

namespace adtc {

template <class Key>
struct CircuitView {
    const Table* table = nullptr;
    const Lattice* lattice = nullptr;
    Leaves<Key> leaves;
    std::span<const Index> multiplicity;  ///< [feature]: how many original features it stands for
    Grid<const Index> counts;             ///< [path][group]: rows
    Grid<const Index> budgets;            ///< [path][functional]: what trees there may cost
    std::span<const bool> live;           ///< [path]
    std::vector<Level<Key>> levels;       ///< root first, whose cells have no costs; none if there is no tree
};

}  // namespace adtc

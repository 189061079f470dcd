// The tensors of the circuit: leaf ⊕ the products of the children's tensors, level by level.
//
// Only cells within the path's budgets are kept, and each of them is part of at least one tree within
// all of them. The last level is made in closed form, see last_level.h.
#pragma once

#include "lattice.h"
#include "leaves.h"
#include "products.h"

namespace adtc {

/// The tensors of a level: path p owns the cells starts[p] .. stops[p].
template <class Key>
struct Level {
    CellView<Key> cells;
    std::span<const Index> starts;
    std::span<const Index> stops;

    CellView<Key> tensor(Index number) const { return cells.part(starts[number], stops[number]); }
};

/// What the tensors of a level above the last stand on.
template <class Key>
struct LevelTask {
    const Lattice& lattice;
    const Leaves<Key>& leaves;
    Index level = 0;                      ///< the paths' length
    std::span<const Index> multiplicity;  ///< [feature]: how many of the user's it stands for
    Grid<const Index> counts;             ///< [path][group]: rows
    std::span<const bool> live;           ///< [path]
    Grid<const Index> budgets;            ///< [path][functional]
    const Level<Key>& below;              ///< one literal longer
    Index most_bytes = 0;                 ///< that the tensors may take
    Index share = 0, shares = 1;          ///< which range of a single path's keys, of so many, if these can be divided
};

/// Make the tensors of the given live paths, by number within the level. Return the number of pairs of
/// cells looked at.
template <class Key>
Index fill_level(const LevelTask<Key>& task, std::span<const Index> numbers, const Control& control, Part<Key>& part);

/// Make the tensors of paths of the last level on which only a single leaf is within budget.
template <class Key>
void fill_single(const Lattice& lattice, const Leaves<Key>& leaves, Grid<const Index> counts, Grid<const Index> budgets,
                 std::span<const Index> numbers, Part<Key>& part);

/// Bound the number of trees of each path from those one level below, in floats; return the largest.
/// The sum ignores budgets and cells, so it is an upper bound up to rounding; ∞ if it might not be.
double bound_level(const Lattice& lattice, Index level, std::span<const Index> numbers, Index labels,
                   std::span<const Index> multiplicity, std::span<const bool> live, std::span<const double> below,
                   std::span<double> bounds);

/// Count the trees of a path in floats: of each path apart, so that no small one drowns in a large one.
template <class Key>
double count_trees(const CellView<Key>& tensor);

}  // namespace adtc

// Passes over numbered paths: upwards, what trees cost at least; downwards, what they may cost.
//
// Upwards: least(I) = min(leaf, min over f of least(I ∪ f) + least(I ∪ ¬f)). Downwards: the budget
// b(I) = max over ℓ ∈ I of b(I \ ℓ) − least((I \ ℓ) ∪ ¬ℓ), over live parents whose split on ℓ fits
// every budget at once; I is live iff there is such a parent. All signs of a set of features have
// consecutive numbers, and so have their children by one feature: loops run over signs.
#pragma once

#include "control.h"
#include "costs.h"
#include "lattice.h"

namespace adtc {

/// Fill `least[form][path]` for all paths shorter than `levels` (at most lattice.levels); paths with
/// too few rows are left alone. `counts` is [path][group]; `least` may have more rows than forms.
void ascend(Index levels, const Lattice& lattice, const Costs& costs, Grid<const Index> counts, Grid<Index> least,
            const Control* control);

/// Do so for the paths shorter than the last level's that hold one of the features first .. stop - 1.
void ascend_through(Index first, Index stop, const Lattice& lattice, const Costs& costs, Grid<const Index> counts,
                    Grid<Index> least, const Control* control);

/// Fill `budgets[path][form]` and `live[path]` below the root, whose own are given; all others must
/// come as not live. Adds the number of live paths of each length below the root to `found`.
void afford(const Lattice& lattice, std::span<const bool> exists, Grid<const Index> least, Grid<Index> budgets,
            std::span<bool> live, std::span<Index> found, const Control* control);

/// Count for every path the live ones of the last level that a canonical walk passes it for. Such a
/// walk adds features in ascending order, so a path is reached without its last literal.
void lead_to_live(const Lattice& lattice, std::span<const bool> live, std::span<Index> behind, const Control* control);

/// A tree of depth 1 or 2: its feature, and those of the stumps on its two sides.
struct SmallTree {
    Index feature = -1;  ///< −1: there is no such tree
    Index below1 = -1;   ///< −1: a leaf
    Index below0 = -1;
};

/// Find a tree of depth 1 or 2 (`rest`) with a known cost in the first form. `both[g][i][j]` counts
/// the rows of a group where i and j are 1, symmetric; `rows` are all rows by group.
SmallTree find_tree(Index cost, Cube<const Index> both, std::span<const Index> rows, std::span<const bool> on_path,
                    const Costs& costs, Index rest);

}  // namespace adtc

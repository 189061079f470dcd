// Bounds on the trees and cells below every path, before any tensor is made.
//
// At the last level only the rows of paths are known, not how features split them. A feature splits
// a path only if it splits all of its parents; that bounds the trees of depth at most 2 by their
// number of leaves. Above, bounds multiply and add up as trees do. A tree that is drawn in
// proportion to the bounds is rejected if it does not exist: those accepted are uniform, and
// their share says how many trees there are. Bounds are doubles, since they exceed any
// integer; without contraction to fused operations they are the same at every level.
#pragma once

#include <vector>

#include "cells.h"
#include "control.h"
#include "costs.h"
#include "lattice.h"
#include "table.h"

namespace adtc {

/// Which trees there are: paths, what may stand below them, and what they may cost.
struct Ways {
    const Lattice* lattice = nullptr;
    const Costs* costs = nullptr;         ///< the budgets' forms, and which labels a leaf may carry
    Grid<const WideKey> key_weights;      ///< [label][group]: what a row adds to the key
    WideKey key_constant = 0;             ///< what a leaf adds to it
    bool trivial_splits = true;           ///< may both children of a split be leaves of one label?
    std::span<const Index> multiplicity;  ///< [feature]: original features behind it
    Grid<const Index> counts;             ///< [path][group]: rows
    std::span<const Index> support;       ///< [path]: rows of the table itself
    std::span<const Index> largest;       ///< [path]: leaves that budgets leave for it
    std::span<const bool> live;           ///< [path]
    Grid<const Index> least;              ///< [form][path]
    Grid<const Index> budgets;            ///< [path][form]

    /// At most so many labels stand at one leaf.
    double labels() const { return costs->rule.majority ? 1.0 : static_cast<double>(costs->rule.labels); }
};

/// At most how many trees lie below the paths. Sizes k are numbers of leaves; where they are not told
/// apart, k = 0 stands for all of them.
struct Bounds {
    Grid<double> trees;              ///< [path above the last level][k]
    std::span<double> splitting;     ///< [path above the last level]: features that split it, with twins
    Grid<double> active;             ///< [last][3]: features that split it; their sides that can be split
                                     ///< again; those with two such sides
    Cube<std::uint64_t> candidates;  ///< [last][3][word]: features that may split it, and that leave
                                     ///< enough rows to split side 1, and side 0; or empty
    std::span<bool> looked;          ///< [last]: features were looked at one by one; or empty
    Cube<double> splits;             ///< [path above][k][feature]: running sums over features; or empty
    Index leaf = 0;                  ///< k of a leaf: 1, or 0 where sizes are not told apart

    Index sizes() const { return trees.columns; }
};

/// How the axes depend on a leaf, for bounds on the number of cells.
struct Spans {
    Cube<const Index> weights;        ///< [axis][label][group]
    std::span<const Index> per_leaf;  ///< [axis]
};

/// Bounds of all levels, root first: summed over the live paths of each.
struct LevelBounds {
    std::vector<double> trees;
    std::vector<double> cells;
};

/// Sizes below the last level: 1 to 4 leaves, at these places.
constexpr Index kClosed = 5;

/// Bound the trees and cells of all levels. Fine bounds look at every feature of every live path of
/// the last level; others only at how many there are.
LevelBounds bound_levels(const Ways& ways, const Spans& spans, Bounds& bounds, bool fine, const Control* control);

/// List the live paths of a level by their numbers within it.
std::vector<Index> live_numbers(const Ways& ways, Index level);

/// Bounds on the trees below the given paths of a level by size: [path][size], at the last level
/// [path][kClosed].
std::vector<double> bounds_by_size(const Ways& ways, const Bounds& bounds, Index level, std::span<const Index> numbers);

/// Write the bounds of one path by size, `bounds.sizes()` of them.
void by_size(const Ways& ways, const Bounds& bounds, Index level, Index node, double* out);

/// Bound the trees below a path of the last level by their leaves: kClosed numbers.
void closed_terms(const Ways& ways, const Bounds& bounds, Index number, double* terms);

/// Note which features may split a path of the last level, and sum them up: see `Bounds`.
void look_at_features(const Ways& ways, Bounds& bounds, const Path& path, Index number);

/// Choose a position in proportion to weights by a number in [0, 1); −1 if all are zero.
Index choose(std::span<const double> weights, double share);

/// How trees are drawn.
struct DrawOptions {
    std::uint64_t seed = 0;
    Index attempts = 0;
    Index most_leaves = 0;  ///< largest k; sizes beyond it are left out
    bool free = false;      ///< try again where a split does not exist, and avoid leaves of one label below
                            ///< a split: more trees are kept, but not all are equally likely
};

/// Trees that exist, within the budgets of the path they were drawn below.
struct DrawnTrees {
    std::vector<WideKey> keys;          ///< [tree]
    std::vector<Index> owners;          ///< [tree]: the number of its path within the level
    std::vector<std::uint8_t> trivial;  ///< [tree]: does it have a split into two leaves of one label?
    Index tried = 0;                    ///< attempts
};

/// Draw trees below the live paths of a level, in proportion to bounds, which must be fine unless the
/// draws are free; free draws look at the features of the paths that they come to, and note them.
DrawnTrees draw_trees(const Ways& ways, Bounds& bounds, const Table& table, Index level, const DrawOptions& options,
                      const Control* control);

}  // namespace adtc

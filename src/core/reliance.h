// The errors that trees make when one column is shuffled: the least and the largest of each root cell,
// for many columns in one pass, with trees that make them.
#pragma once

#include <vector>

#include "ranks.h"
#include "variables.h"

namespace adtc {

/// How distinct features are written: as an original one, whose children change sides where it is the
/// complement.
struct Spelling {
    std::span<const Index> features;
    std::span<const bool> flipped;
};

/// What the pass leaves behind. A *lane* is a column, whose errors are to be few, or, after all of
/// these, a column whose errors are to be many; there they are negative.
struct SwitchedErrors {
    /// The best tree of each place: [place][part][lane], where the parts are its errors, its first test
    /// (or −1 − label), and what stands on either side: a place one level below, or, at the last level, a
    /// tree of depth at most 1 as a number.
    using Store = std::vector<Index>;
    static constexpr Index kParts = 4;

    Index columns = 0, groups = 0, labels = 0, features = 0;
    std::vector<Store> levels;  ///< root first; the root's places are the groups

    Index lanes() const { return 2 * columns; }
    Index errors(Index group, Index lane) const { return levels[0][kParts * group * lanes() + lane]; }
    /// Write the best tree of a group and lane behind others.
    void append_tree(Index group, Index lane, const Spelling& spelling, Forest& forest) const;

private:
    void append(std::size_t level, Index place, Index lane, const Spelling& spelling, std::vector<Index>& codes) const;
    void append_side(Index number, const Spelling& spelling, std::vector<Index>& codes) const;
};

/// Find them. Rows count by weight, n in all, and n² must be less than 2^60; trivial splits must be allowed.
/// `column_of[feature]`: see `HybridLeaves`.
template <class Key>
SwitchedErrors switched_errors(const CircuitView<Key>& circuit, const RootGroups& groups,
                               std::span<const Index> column_of, Index columns, Index most_bytes,
                               const Control& control);

}  // namespace adtc

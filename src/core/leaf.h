// Leaves: which labels one may carry, and its key and costs, linear in its rows by group.
#pragma once

#include <numeric>

#include "views.h"

namespace adtc {

/// Which labels a leaf may carry, given its rows.
struct LabelRule {
    std::span<const Index> group_label;  ///< [group]: the true label of its rows; −1: see `own`
    Index labels = 0;
    Index minsup = 0;       ///< rows a leaf must hold
    bool majority = false;  ///< only the most frequent label; ties: the smallest
    Index share_top = 0;    ///< a label needs at least share_top / share_bottom of the leaf's rows
    Index share_bottom = 1;
    Index own =
        0;  ///< groups of the table itself; those after them are of further tables, and no leaf needs their rows
};

/// Count the groups of the table itself: further tables' come last, and have no label.
inline Index own_groups(std::span<const Index> group_label) {
    Index own = 0;
    while (own < static_cast<Index>(group_label.size()) && group_label[own] >= 0) ++own;
    return own;
}

/// Tell whether labels of groups are what a rule expects.
inline bool are_labels(std::span<const Index> group_label, Index labels) {
    const Index own = own_groups(group_label);
    for (Index g = 0; g < static_cast<Index>(group_label.size()); ++g)
        if (g < own ? group_label[g] >= labels : group_label[g] != -1) return false;
    return true;
}

/// Count rows of all groups.
inline Index sum_of(std::span<const Index> counts) { return std::accumulate(counts.begin(), counts.end(), Index{0}); }

/// Count the rows that a leaf needs: those of the table itself.
inline Index support_of(std::span<const Index> counts, const LabelRule& rule) {
    return sum_of(counts.first(static_cast<std::size_t>(rule.own)));
}

/// Count the rows of one label.
inline Index votes_for(Index label, std::span<const Index> counts, const LabelRule& rule) {
    Index votes = 0;
    for (Index g = 0; g < rule.own; ++g) votes += rule.group_label[g] == label ? counts[g] : 0;
    return votes;
}

/// Find the label with the most rows; ties: the smallest.
inline Index majority_label(std::span<const Index> counts, const LabelRule& rule) {
    Index chosen = 0, most = -1;
    for (Index l = 0; l < rule.labels; ++l) {
        const Index votes = votes_for(l, counts, rule);
        if (votes > most) chosen = l, most = votes;
    }
    return chosen;
}

/// Tell whether a leaf with enough rows may carry a label.
inline bool admits(Index label, std::span<const Index> counts, Index support, const LabelRule& rule) {
    if (rule.majority && label != majority_label(counts, rule)) return false;
    // 128 bits: rows times the share's denominator may exceed a word
    return rule.share_top == 0 || static_cast<__int128>(votes_for(label, counts, rule)) * rule.share_bottom >=
                                      static_cast<__int128>(support) * rule.share_top;
}

/// Call `use(label)` for every label that a leaf with these rows may carry.
template <class Use>
void for_each_label(std::span<const Index> counts, const LabelRule& rule, Use use) {
    const Index support = support_of(counts, rule);
    if (support < rule.minsup) return;
    if (rule.majority) {
        const Index label = majority_label(counts, rule);
        if (admits(label, counts, support, rule)) use(label);
        return;
    }
    for (Index l = 0; l < rule.labels; ++l)
        if (admits(l, counts, support, rule)) use(l);
}

}  // namespace adtc

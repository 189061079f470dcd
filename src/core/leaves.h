// What leaves are worth in a tensor: key and costs as linear functionals of their rows by group.
#pragma once

#include "cells.h"
#include "leaf.h"

namespace adtc {

/// Keys whose digits are forms of a leaf's rows, each divided by a width and rounded down.
struct CoarseKeys {
    Cube<const Index> weights;         ///< [axis][label][group]
    std::span<const Index> constants;  ///< [axis]: per leaf
    std::span<const Index> widths;     ///< [axis]: at least 1; no axis at all if keys are not coarse
    std::span<const Index> strides;    ///< [axis]: what one step is worth in the key

    bool empty() const { return widths.empty(); }
    Index key(Index label, std::span<const Index> counts) const {
        Index sum = 0;
        for (std::size_t i = 0; i < widths.size(); ++i) {
            const Index* const weight = weights[static_cast<Index>(i)][label];
            Index value = constants[i];
            for (std::size_t g = 0; g < counts.size(); ++g) value += weight[g] * counts[g];
            const Index rest = value % widths[i];
            sum += strides[i] * ((value - (rest < 0 ? rest + widths[i] : rest)) / widths[i]);
        }
        return sum;
    }
};

template <class Key>
struct Leaves {
    Grid<const Key> key_weights;            ///< [label][group]
    Key key_constant = 0;                   ///< per leaf
    Cube<const Index> cost_weights;         ///< [functional][label][group]; label 0 costs nothing
    std::span<const Index> cost_constants;  ///< [functional]: per leaf
    LabelRule rule;
    bool trivial_splits = true;  ///< may the two children of a split be leaves of equal label?
    bool dense = true;           ///< switch: use arrays over all keys where they pay
    Index most_leaves = 0;       ///< of any tree
    bool root_leaf = true;       ///< may a tree be a single leaf?
    CoarseKeys coarse;           ///< instead of key_weights and key_constant, unless empty

    Index labels() const { return rule.labels; }
    Index groups() const { return static_cast<Index>(rule.group_label.size()); }
    Index functionals() const { return static_cast<Index>(cost_constants.size()); }

    Key key(Index label, std::span<const Index> counts) const {
        if (!coarse.empty()) return coarse.key(label, counts);
        Key sum = key_constant;
        for (std::size_t g = 0; g < counts.size(); ++g) sum += key_weights[label][g] * counts[g];
        return sum;
    }
    Index cost(Index functional, Index label, std::span<const Index> counts) const {
        const Index* const weights = cost_weights[functional][label];
        Index sum = cost_constants[functional];
        for (std::size_t g = 0; g < counts.size(); ++g) sum += weights[g] * counts[g];
        return sum;
    }
    void costs(Index label, std::span<const Index> counts, Index* out) const {
        for (Index d = 0; d < functionals(); ++d) out[d] = cost(d, label, counts);
    }
};

/// The keys that trees on some rows can have: from `low` on, so many.
template <class Key>
struct KeyRange {
    Key low = 0;
    Key width = 0;
};

/// Keys from a first one to before a last one; as it is, all.
template <class Key>
struct KeyLimits {
    Key low = std::numeric_limits<Key>::min();
    Key stop = std::numeric_limits<Key>::max();

    bool hold(Key key) const { return low <= key && key < stop; }
};

template <class Key>
KeyRange<Key> key_range(std::span<const Index> counts, const Leaves<Key>& leaves, Index most_leaves) {
    most_leaves = std::min(most_leaves, leaves.most_leaves);
    Key low = std::min(leaves.key_constant, leaves.key_constant * most_leaves);
    Key high = std::max(leaves.key_constant, leaves.key_constant * most_leaves);
    for (std::size_t g = 0; g < counts.size(); ++g) {
        Key least = leaves.key_weights[0][g], largest = least;
        for (Index l = 1; l < leaves.labels(); ++l) {
            least = std::min(least, leaves.key_weights[l][g]);
            largest = std::max(largest, leaves.key_weights[l][g]);
        }
        low += least * counts[g];
        high += largest * counts[g];
    }
    return {low, high - low + 1};
}

/// Call `use(key, cost)` for each leaf on these rows that fits the budgets; `cost` is room for them.
template <class Key, class Use>
void for_each_leaf(std::span<const Index> counts, const Leaves<Key>& leaves, std::span<const Index> budgets,
                   std::vector<Index>& cost, Use use) {
    cost.resize(static_cast<std::size_t>(leaves.functionals()));
    for_each_label(counts, leaves.rule, [&](Index label) {
        leaves.costs(label, counts, cost.data());
        if (within(cost.data(), budgets)) use(leaves.key(label, counts), cost.data());
    });
}

/// Call `use(key, cost)` for each split of two leaves of equal label that fits the budgets.
template <class Key, class Use>
void for_each_trivial(std::span<const Index> counts1, std::span<const Index> counts0, const Leaves<Key>& leaves,
                      std::span<const Index> budgets, std::vector<Index>& cost, Use use) {
    cost.resize(static_cast<std::size_t>(leaves.functionals()));
    const Index support = support_of(counts0, leaves.rule);
    if (support < leaves.rule.minsup) return;
    for_each_label(counts1, leaves.rule, [&](Index label) {
        if (!admits(label, counts0, support, leaves.rule)) return;
        for (Index d = 0; d < leaves.functionals(); ++d)
            cost[d] = leaves.cost(d, label, counts1) + leaves.cost(d, label, counts0);
        if (within(cost.data(), budgets)) use(leaves.key(label, counts1) + leaves.key(label, counts0), cost.data());
    });
}

}  // namespace adtc

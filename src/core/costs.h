// Costs of leaves: linear forms in their rows by group, and a constant per leaf.
#pragma once

#include <algorithm>

#include "leaf.h"

namespace adtc {

/// The forms whose least values are wanted. Valid while the cost of every tree stays below
/// infinity / 4 in absolute value, so that sums of two fit and none is taken for infinity.
struct Costs {
    Cube<const Index> weights;         ///< [form][label][group]: what a row adds
    std::span<const Index> constants;  ///< [form]: what a leaf adds
    LabelRule rule;                    ///< which labels a leaf may carry
    Index infinity = 0;                ///< the cost of what does not exist

    Index forms() const { return weights.planes; }
    Index labels() const { return weights.rows; }
    Index groups() const { return weights.columns; }

    /// The cost of a leaf that carries a given label.
    Index of_leaf(Index form, Index label, std::span<const Index> counts) const {
        const Index* const weight = weights[form][label];
        Index cost = constants[static_cast<std::size_t>(form)];
        for (std::size_t g = 0; g < counts.size(); ++g) cost += weight[g] * counts[g];
        return cost;
    }
};

/// The cost of the cheapest leaf on these rows; infinity if there can be none.
inline Index least_leaf(const Costs& costs, Index form, std::span<const Index> counts) {
    Index best = costs.infinity;
    for_each_label(counts, costs.rule, [&](Index label) { best = std::min(best, costs.of_leaf(form, label, counts)); });
    return best;
}

/// Add two costs; infinity if either is.
inline Index add_costs(Index a, Index b, Index infinity) {
    return ((a < infinity) & (b < infinity)) ? a + b : infinity;
}

}  // namespace adtc

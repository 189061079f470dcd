#include "channels.h"

#include <algorithm>
#include <limits>

namespace adtc {
namespace {

/// The largest sums of a channel's positive and negative weights over all rows.
std::pair<Index, Index> reach(const std::vector<Index>& weights, std::span<const Index> totals) {
    Index up = 0, down = 0;
    for (std::size_t g = 0; g < totals.size(); ++g) (weights[g] < 0 ? down : up) += std::abs(weights[g]) * totals[g];
    return {up, down};
}

/// The largest gains and costs of all leaves of a tree together, whatever labels they take.
std::pair<Index, Index> cost_reach(const Mixing& mixing, const Table& table, const Costs& costs, Index form) {
    const Index others = costs.rule.labels - 1;
    Index up = 0, down = 0;
    for (std::size_t g = 0; g < table.totals.size(); ++g) {
        Index dearest = 0, cheapest = 0;
        for (Index ch = mixing.costs + form * others; ch < mixing.costs + (form + 1) * others; ++ch) {
            const Index weight = mixing.weights[static_cast<std::size_t>(ch)][g];
            dearest = std::max(dearest, weight), cheapest = std::min(cheapest, weight);
        }
        up += dearest * table.totals[g], down -= cheapest * table.totals[g];
    }
    return {takes_cheaper(costs.rule) ? 0 : up, down};
}

/// Eight times a leaf's constant, more than trees of depth 2 have leaves.
Index constants_of(const Costs& costs, Index form) {
    return 8 * std::abs(costs.constants[static_cast<std::size_t>(form)]);
}

}  // namespace

Mixing mixing_of(const Table& table, const Costs& costs) {
    const LabelRule& rule = costs.rule;
    const std::size_t groups = table.totals.size();
    Mixing mixing;
    mixing.weights.emplace_back(groups, 0);
    std::fill_n(mixing.weights[0].begin(), rule.own, 1);
    const auto by_label = [&](Index& first, auto weight) {
        first = mixing.channels();
        for (Index l = 0; l < rule.labels; ++l) {
            mixing.weights.emplace_back();
            for (std::size_t g = 0; g < groups; ++g)
                mixing.weights.back().push_back(static_cast<Index>(g) < rule.own ? weight(rule.group_label[g] == l)
                                                                                 : 0);
        }
    };
    if (rule.majority) by_label(mixing.votes, [](bool own) { return Index{own}; });
    if (rule.share_top)
        by_label(mixing.share, [&](bool own) { return (own ? rule.share_bottom : 0) - rule.share_top; });
    mixing.costs = mixing.channels();
    mixing.turned.assign(static_cast<std::size_t>(costs.forms()), false);
    for (Index d = 0; d < costs.forms(); ++d)
        for (Index l = 1; l < rule.labels; ++l) {
            std::vector<Index> weights(costs.weights[d][l], costs.weights[d][l] + groups);
            // with the smaller sums on the negative side narrow numbers suffice more often
            const auto [up, down] = reach(weights, table.totals);
            if (takes_cheaper(rule) && down > up) {
                mixing.turned[static_cast<std::size_t>(d)] = true;
                for (Index& w : weights) w = -w;
            }
            mixing.weights.push_back(std::move(weights));
        }
    return mixing;
}

Index unreal_of(const Mixing& mixing, const Table& table, const Costs& costs) {
    Index unreal = 1;
    for (Index d = 0; d < costs.forms(); ++d)
        unreal = std::max(unreal, cost_reach(mixing, table, costs, d).first + constants_of(costs, d) + 1);
    return unreal;
}

template <class T>
bool fits(const Mixing& mixing, const Table& table, const Costs& costs) {
    constexpr Index largest = std::numeric_limits<T>::max();
    for (const Index total : table.totals)  // pairs are counted by group first
        if (total > largest) return false;
    for (const auto& weights : mixing.weights) {
        const auto [up, down] = reach(weights, table.totals);
        if (up > largest || down > largest) return false;
    }
    for (const Index constant : costs.constants)  // two infinities fit without them: see `kInfinite`
        if (std::abs(constant) > largest / 16) return false;
    const Index unreal = unreal_of(mixing, table, costs);
    for (Index d = 0; d < costs.forms(); ++d)
        if (unreal > kInfinite<T> - cost_reach(mixing, table, costs, d).second - constants_of(costs, d)) return false;
    return true;
}

template bool fits<std::int16_t>(const Mixing&, const Table&, const Costs&);
template bool fits<std::int32_t>(const Mixing&, const Table&, const Costs&);
template bool fits<std::int64_t>(const Mixing&, const Table&, const Costs&);

}  // namespace adtc

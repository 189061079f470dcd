// Lists trees of depth at most 1 on either side of a feature, from the counts of pairs on a path.
//
// Within budgets most features are out of the question at a look at their cheapest leaves, found for
// all of them at once; the others are measured one by one. Without budgets all are listed.
#pragma once

#include "side_keys.h"

namespace adtc {

/// Lists the trees on both sides of a feature that fit budgets.
template <class Key, class T>
class SidesWithin {
public:
    SidesWithin(const Leaves<Key>& leaves, std::span<const Index> multiplicity, Index rest)
        : leaves_(leaves),
          multiplicity_(multiplicity),
          rest_(rest),
          keys_(leaves),
          costs_(static_cast<std::size_t>(leaves.functionals())) {}

    /// Begin with a path: find the features whose cheapest trees fit each budget; tell if there are any.
    bool begin(const SplittingPairs<T>& path, std::span<const Index> budgets) {
        const Index n = path.size(), functionals = leaves_.functionals();
        hopeful_.assign(static_cast<std::size_t>(n), 1);
        least_.assign(static_cast<std::size_t>(functionals * 2 * n), -kUnknown);
        rows1_.assign(path.rows.begin(), path.rows.end());
        Index hopeful = n;
        for (Index d = 0; d < functionals && hopeful > 0; ++d) {
            costs_[d].begin(path, leaves_.labels(), weight_of(d));
            // for two labels, as if each leaf could take the cheaper one; for more, nothing is known yet
            if (rest_ < 2 || leaves_.labels() != 2) continue;
            for (Index a = 0; a < n; ++a) {
                if (!hopeful_[a]) continue;
                bound_sides(path, a, d);
                if (least(d, 0, a) + least(d, 1, a) <= budgets[d]) continue;
                hopeful_[a] = 0;
                --hopeful;
            }
        }
        if (hopeful > 0) keys_.begin(path);
        return hopeful > 0;
    }
    /// List the trees on both sides of a feature; return false if no two fit the budgets.
    bool list(const SplittingPairs<T>& path, Index a, std::span<const Index> budgets, Side<Key>* sides) {
        if (!hopeful_[a]) return false;
        const Index functionals = leaves_.functionals();
        if (rest_ == 2) {
            keys_.join(path, a);
            for (Index d = 0; d < functionals; ++d) costs_[d].join(path, a, leaves_.labels(), weight_of(d));
        }
        for (int s = 0; s < 2; ++s) {
            sides[s].begin(path, a, s, functionals);
            // costs may be negative, so each side is limited by what the other one costs at least
            for (Index d = 0; d < functionals; ++d) sides[s].limit[d] = budgets[d] - least(d, 1 - s, a);
            list_leaves(a, s, sides[s]);
            if (rest_ == 2) list_stumps(path, a, s, sides[s]);
            if (sides[s].listed.size() == 0) return false;
        }
        for (Index d = 0; d < functionals; ++d) {
            sides[0].limit[d] = budgets[d] - sides[1].least[d];
            sides[1].limit[d] = budgets[d] - sides[0].least[d];
            if (sides[0].least[d] > sides[0].limit[d]) return false;  // not even the cheapest two
        }
        sides[0].merge();
        sides[1].merge();
        return true;
    }

private:
    static constexpr Index kUnknown = Index{1} << 60;
    static constexpr T kInfinity = static_cast<T>(sizeof(T) == 4 ? Index{1} << 29 : Index{1} << 60);

    Index& least(Index d, int s, Index a) { return least_[(d * 2 + s) * static_cast<Index>(hopeful_.size()) + a]; }
    auto weight_of(Index d) const {
        return [this, d](Index l, Index g) { return static_cast<T>(leaves_.cost_weights[d][l][g]); };
    }

    /// Find what the cheapest leaf or stump costs on either side of a feature, for two labels.
    void bound_sides(const SplittingPairs<T>& path, Index a, Index d) {
        const Index n = path.size();
        const T constant = static_cast<T>(leaves_.cost_constants[d]), minsup = static_cast<T>(leaves_.rule.minsup);
        rows11_.assign(static_cast<std::size_t>(n), 0);
        cost11_.assign(static_cast<std::size_t>(n), 0);
        T *const rows11 = rows11_.data(), *const cost11 = cost11_.data();
        for (Index g = 0; g < path.groups(); ++g) {
            const T weight = static_cast<T>(leaves_.cost_weights[d][1][g]);
            const T* const source = path.row(g, a);
            for (Index b = 0; b < n; ++b) cost11[b] += weight * source[b];
            if (g >= leaves_.rule.own) continue;
            for (Index b = 0; b < n; ++b) rows11[b] += source[b];
        }
        const T *const rows1 = rows1_.data(), *const cost1 = costs_[d].ones[1];
        const T zero = 0, cost_one = cost1[a], cost_rest = costs_[d].whole[1][0] - cost_one;
        const T rows_one = rows1[a], rows_rest = static_cast<T>(path.support) - rows_one;
        T best1 = std::min(zero, cost_one) + constant, best0 = std::min(zero, cost_rest) + constant;
        const auto leaf = [&](T cost, T rows) -> T {
            return rows >= minsup ? std::min(zero, cost) + constant : kInfinity;
        };
        const auto pairs = [&](Index from, Index to) {
            for (Index b = from; b < to; ++b) {
                const T c11 = cost11[b], n11 = rows11[b], c01 = cost1[b] - c11, n01 = rows1[b] - n11;
                best1 = std::min<T>(best1, leaf(c11, n11) + leaf(cost_one - c11, rows_one - n11));
                best0 = std::min<T>(best0, leaf(c01, n01) + leaf(cost_rest - c01, rows_rest - n01));
            }
        };
        pairs(0, a);
        pairs(a + 1, n);
        least(d, 0, a) = best1;
        least(d, 1, a) = best0;
    }

    void list_leaves(Index a, int s, Side<Key>& side) {
        for (Index l = 0; l < leaves_.labels(); ++l)
            if (side.support >= leaves_.rule.minsup && keys_.admits_side(l, a, s, side.support))
                take(side, keys_.keys.here(l, a, s) + leaves_.key_constant, 1,
                     [&](Index d) { return costs_[d].here(l, a, s) + leaves_.cost_constants[d]; });
    }
    void list_stumps(const SplittingPairs<T>& path, Index a, int s, Side<Key>& side) {
        for (Index b = 0; b < path.size(); ++b) {
            const Index rows = keys_.rows(b, s);
            if (b == a || rows < leaves_.rule.minsup || side.support - rows < leaves_.rule.minsup) continue;
            if (least_stump(a, b, s) > side.limit[0]) continue;  // most features end here
            list_stump(a, b, s, rows, static_cast<Limb>(multiplicity_[path.features[b]]), side);
        }
    }
    /// Bound what two leaves below a side's feature b cost, by the first budget.
    Index least_stump(Index a, Index b, int s) const {
        const Weighed<T>& cost = costs_[0];
        T least1 = 0, least0 = 0;  // label 0 costs nothing
        for (Index l = 1; l < leaves_.labels(); ++l) {
            const T one = cost.part(l, b, s);
            least1 = std::min(least1, one);
            least0 = std::min<T>(least0, cost.here(l, a, s) - one);
        }
        return Index{least1} + least0 + 2 * leaves_.cost_constants[0];
    }
    void list_stump(Index a, Index b, int s, Index rows, Limb twins, Side<Key>& side) {
        for (Index p = 0; p < leaves_.labels(); ++p) {
            if (!keys_.admits_one(p, b, s, rows)) continue;
            const Key key = keys_.keys.part(p, b, s) + 2 * leaves_.key_constant;
            for (Index q = 0; q < leaves_.labels(); ++q) {
                if ((p == q && !leaves_.trivial_splits) || !keys_.admits_zero(q, a, b, s, side.support - rows))
                    continue;
                take(side, key + keys_.keys.here(q, a, s) - keys_.keys.part(q, b, s), twins, [&](Index d) {
                    const Weighed<T>& cost = costs_[d];
                    return Index{cost.part(p, b, s)} + cost.here(q, a, s) - cost.part(q, b, s) +
                           2 * leaves_.cost_constants[d];
                });
            }
        }
    }

    /// List some trees of one kind if they fit the limits; `cost(d)` says what they cost.
    template <class Cost>
    void take(Side<Key>& side, Key key, Limb value, Cost cost) const {
        const Index at = side.listed.size(), functionals = leaves_.functionals();
        side.push(key, value);
        Index* const total = side.listed.cost(at);
        for (Index d = 0; d < functionals; ++d) {
            total[d] = cost(d);
            if (total[d] > side.limit[d]) return side.listed.resize(at);
        }
        for (Index d = 0; d < functionals; ++d) side.least[d] = std::min(side.least[d], total[d]);
    }

    const Leaves<Key>& leaves_;
    std::span<const Index> multiplicity_;
    Index rest_;
    SideKeys<Key, T> keys_;
    std::vector<Weighed<T>> costs_;   ///< [functional]: of leaves, without the constant
    std::vector<char> hopeful_;       ///< [a]: a split may fit the budgets
    std::vector<Index> least_;        ///< [functional][side][a]: what trees there cost at least
    std::vector<T> rows1_;            ///< [a]: rows with a feature
    std::vector<T> rows11_, cost11_;  ///< [b]: rows with two, and what label 1 costs on them
};

/// Lists all trees on both sides of a feature.
template <class Key, class T>
class AllSides {
public:
    AllSides(const Leaves<Key>& leaves, std::span<const Index> multiplicity, Index rest)
        : leaves_(leaves), multiplicity_(multiplicity), rest_(rest), keys_(leaves) {}

    void begin(const SplittingPairs<T>& path) { keys_.begin(path); }

    /// List the trees on both sides of a feature, sorted by key.
    void list(const SplittingPairs<T>& path, Index a, Side<Key>* sides) {
        keys_.join(path, a);
        for (int s = 0; s < 2; ++s) {
            sides[s].begin(path, a, s, 0);
            for_each(path, a, s, sides[s].support, [&](Key key, Limb trees) { sides[s].push(key, trees); });
            sides[s].merge();
        }
    }
    /// List the trees on both sides of a feature in any order, by means of an array over all keys.
    void list(const SplittingPairs<T>& path, Index a, Side<Key>* sides, KeyMerger<Key>& merger) {
        keys_.join(path, a);
        for (int s = 0; s < 2; ++s) {
            sides[s].begin(path, a, s, 0);
            const KeyRange<Key> range = key_range<Key>(sides[s].counts, leaves_, 2);
            merger.begin(range.low, static_cast<Index>(range.width));
            for_each(path, a, s, sides[s].support,
                     [&](Key key, Limb trees) { merger.add(key, trees, sides[s].merged); });
        }
    }

private:
    /// Call `use(key, trees)` for all trees of depth at most 1 on one side, several of one kind at once.
    template <class Use>
    void for_each(const SplittingPairs<T>& path, Index a, int s, Index support, Use use) {
        const Index labels = leaves_.labels(), minsup = leaves_.rule.minsup;
        const Key constant = leaves_.key_constant;
        const Weighed<Key>& keys = keys_.keys;
        for (Index l = 0; l < labels; ++l)
            if (support >= minsup && keys_.admits_side(l, a, s, support)) use(keys.here(l, a, s) + constant, 1);
        if (rest_ < 2) return;
        for (Index b = 0; b < path.size(); ++b) {
            const Index rows1 = keys_.rows(b, s), rows0 = support - rows1;
            if (b == a || rows1 < minsup || rows0 < minsup) continue;
            const Limb twins = static_cast<Limb>(multiplicity_[path.features[b]]);
            for (Index p = 0; p < labels; ++p) {
                if (!keys_.admits_one(p, b, s, rows1)) continue;
                for (Index q = 0; q < labels; ++q)
                    if ((p != q || leaves_.trivial_splits) && keys_.admits_zero(q, a, b, s, rows0))
                        use(keys.part(p, b, s) + keys.here(q, a, s) - keys.part(q, b, s) + 2 * constant, twins);
            }
        }
    }

    const Leaves<Key>& leaves_;
    std::span<const Index> multiplicity_;
    Index rest_;
    SideKeys<Key, T> keys_;
};

}  // namespace adtc

// Trees of depth at most 1 on either side of a feature, from the counts of pairs on a path.
//
// Within budgets most features are out of the question at a look at their cheapest leaves, found for
// all of them at once; the others are measured one by one. Without budgets all are listed.
#pragma once

#include "leaves.h"
#include "walk.h"

namespace adtc {

/// The features that split a path, and the counts of their pairs next to one another.
template <class T>
struct SplittingPairs {
    std::vector<Index> totals;    ///< [group]: the path's rows
    Index support = 0;            ///< the path's rows of the table itself
    std::vector<Index> features;  ///< ascending
    std::vector<Index> rows;      ///< [a]: those with a feature
    std::vector<T> pairs;         ///< [group][a][b]: rows with two of them

    Index size() const { return static_cast<Index>(features.size()); }
    Index groups() const { return static_cast<Index>(totals.size()); }
    const T* row(Index group, Index a) const { return pairs.data() + (group * size() + a) * size(); }
    Index ones(Index group, Index a) const { return row(group, a)[a]; }

    void choose(const PairCounts<T>& from, const LabelRule& rule) {
        totals = from.totals;
        support = support_of(totals, rule);
        features.clear();
        rows.clear();
        for (std::size_t i = 0; i < from.slots.size(); ++i) {
            Index alone = 0;
            for (Index g = 0; g < rule.own; ++g) alone += from.row(g, i)[from.slots[i]];
            if (alone < rule.minsup || alone > support - rule.minsup) continue;
            features.push_back(from.slots[i]);
            rows.push_back(alone);
        }
        pairs.resize(static_cast<std::size_t>(groups() * size() * size()));
        for (Index g = 0; g < groups(); ++g)
            for (Index a = 0; a < size(); ++a) {
                const T* const source = from.row(g, from.row_of[features[a]]);
                T* const out = pairs.data() + (g * size() + a) * size();
                for (Index b = 0; b < size(); ++b) out[b] = source[features[b]];
            }
    }
};

/// Adds up numbers of trees by key, on a range of keys that is not large; needs no clearing.
template <class Key>
class KeyMerger {
public:
    void begin(Key low, Index width) {
        low_ = low;
        if (static_cast<Index>(entries_.size()) < width) entries_.resize(static_cast<std::size_t>(width));
        if (++round_ == 0) {
            std::fill(entries_.begin(), entries_.end(), Entry{});
            round_ = 1;
        }
    }
    void add(Key key, Limb value, Cells<Key>& list) {
        Entry& entry = entries_[static_cast<std::size_t>(key - low_)];
        if (entry.round == round_) {
            list.values[entry.at] += value;
            return;
        }
        const Index at = list.size();
        entry = {round_, static_cast<std::uint32_t>(at)};
        list.resize(at + 1);
        list.keys[at] = key;
        list.values[at] = value;
    }

private:
    struct Entry {
        std::uint32_t round = 0;  ///< when it was written
        std::uint32_t at = 0;     ///< the key's place in the list
    };
    Key low_ = 0;
    std::uint32_t round_ = 0;
    std::vector<Entry> entries_;  ///< [key − low]
};

/// Trees on one side of a feature: where it is 1, or where it is 0.
template <class Key>
struct Side {
    std::vector<Index> counts;  ///< [group]: rows
    Index support = 0;
    std::vector<Index> limit;  ///< [functional]: what trees may cost here
    std::vector<Index> least;  ///< [functional]: what those listed cost at least
    Cells<Key> listed;         ///< tree by tree, or several of one kind
    Cells<Key> merged;         ///< by key

    template <class T>
    void begin(const SplittingPairs<T>& path, Index a, int s, Index functionals) {
        counts.resize(path.totals.size());
        support = s == 0 ? path.rows[a] : path.support - path.rows[a];
        for (Index g = 0; g < path.groups(); ++g)
            counts[g] = s == 0 ? path.ones(g, a) : path.totals[g] - path.ones(g, a);
        limit.resize(static_cast<std::size_t>(functionals));
        least.assign(static_cast<std::size_t>(functionals), std::numeric_limits<Index>::max());
        listed.functionals = merged.functionals = functionals;
        listed.resize(0);
        merged.resize(0);
    }
    void push(Key key, Limb value) {
        const Index at = listed.size();
        listed.resize(at + 1);
        listed.keys[at] = key;
        listed.values[at] = value;
    }
    /// Add up the cells within the limits by key; sort them by first cost, then key.
    void merge() {
        const Index functionals = listed.functionals;
        order_.clear();
        for (Index k = 0; k < listed.size(); ++k)
            if (within(listed.cost(k), limit))
                order_.push_back({functionals ? listed.cost(k)[0] : 0, listed.keys[k], k});
        std::sort(order_.begin(), order_.end());
        merged.resize(static_cast<Index>(order_.size()));
        Index stop = 0;
        for (const Entry& entry : order_) {
            if (stop > 0 && merged.keys[stop - 1] == entry.key) {
                merged.values[stop - 1] += listed.values[entry.at];
                continue;
            }
            merged.keys[stop] = entry.key;
            merged.values[stop] = listed.values[entry.at];
            for (Index d = 0; d < functionals; ++d) merged.cost(stop)[d] = listed.cost(entry.at)[d];
            ++stop;
        }
        merged.resize(stop);
    }

private:
    struct Entry {
        Index cost;
        Key key;
        Index at;

        bool operator<(const Entry& other) const { return cost != other.cost ? cost < other.cost : key < other.key; }
    };
    std::vector<Entry> order_;
};

/// Numbers by label and feature: linear functionals of the rows with a feature.
template <class N>
struct ByLabel {
    Index features = 0;
    std::vector<N> numbers;  ///< [label][feature]

    void resize(Index labels, Index n) {
        features = n;
        numbers.resize(static_cast<std::size_t>(labels * n));
    }
    N* operator[](Index label) { return numbers.data() + label * features; }
    const N* operator[](Index label) const { return numbers.data() + label * features; }
};

/// A linear functional of the rows of a path, and of those with one feature or two; for each label.
template <class N>
struct Weighed {
    ByLabel<N> ones;   ///< the rows with each feature
    ByLabel<N> both;   ///< those that also have feature a
    ByLabel<N> whole;  ///< all rows

    /// Weigh all rows and those with each feature; `weight(label, group)` is what one is worth.
    template <class T, class Weight>
    void begin(const SplittingPairs<T>& path, Index labels, Weight weight) {
        ones.resize(labels, path.size());
        whole.resize(labels, 1);
        for (Index l = 0; l < labels; ++l) {
            N* const out = ones[l];
            whole[l][0] = 0;
            std::fill_n(out, path.size(), N{0});
            for (Index g = 0; g < path.groups(); ++g) {
                const N w = weight(l, g);
                if (w == 0) continue;
                whole[l][0] += w * static_cast<N>(path.totals[g]);
                for (Index a = 0; a < path.size(); ++a) out[a] += w * static_cast<N>(path.ones(g, a));
            }
        }
    }
    /// Weigh the rows with feature a and each other one.
    template <class T, class Weight>
    void join(const SplittingPairs<T>& path, Index a, Index labels, Weight weight) {
        both.resize(labels, path.size());
        for (Index l = 0; l < labels; ++l) {
            N* const out = both[l];
            std::fill_n(out, path.size(), N{0});
            for (Index g = 0; g < path.groups(); ++g) {
                const N w = weight(l, g);
                const T* const source = path.row(g, a);
                if (w == 0) continue;
                for (Index b = 0; b < path.size(); ++b) out[b] += w * static_cast<N>(source[b]);
            }
        }
    }
    /// What the rows on one side of feature a are worth.
    N here(Index label, Index a, int s) const { return s == 0 ? ones[label][a] : whole[label][0] - ones[label][a]; }
    /// What those among them are worth that have feature b.
    N part(Index label, Index b, int s) const { return s == 0 ? both[label][b] : ones[label][b] - both[label][b]; }
};

/// Keys, rows and votes on both sides of a feature, for all other features at once: all are linear in
/// the rows, so they are found by the same differences as counts.
template <class Key, class T>
class SideKeys {
public:
    explicit SideKeys(const Leaves<Key>& leaves)
        : leaves_(leaves), votes_matter_(leaves.rule.majority || leaves.rule.share_top > 0) {}

    void begin(const SplittingPairs<T>& path) {
        keys.begin(path, leaves_.labels(), key_weight());
        if (votes_matter_) votes.begin(path, leaves_.labels(), vote());
        ones_rows_.assign(path.rows.begin(), path.rows.end());
    }
    void join(const SplittingPairs<T>& path, Index a) {
        keys.join(path, a, leaves_.labels(), key_weight());
        if (votes_matter_) votes.join(path, a, leaves_.labels(), vote());
        rows_.assign(static_cast<std::size_t>(path.size()), 0);
        for (Index g = 0; g < leaves_.rule.own; ++g)
            for (Index b = 0; b < path.size(); ++b) rows_[b] += path.row(g, a)[b];
    }
    /// Count the rows on one side that have feature b.
    Index rows(Index b, int s) const { return s == 0 ? rows_[b] : ones_rows_[b] - rows_[b]; }

    /// Tell whether a leaf on a side may carry a label.
    bool admits_side(Index label, Index a, int s, Index support) const {
        return !votes_matter_ || admits(label, support, [&](Index l) { return votes.here(l, a, s); });
    }
    /// Tell the same of a leaf on those of a side's rows that have feature b, or that do not.
    bool admits_one(Index label, Index b, int s, Index support) const {
        return !votes_matter_ || admits(label, support, [&](Index l) { return votes.part(l, b, s); });
    }
    bool admits_zero(Index label, Index a, Index b, int s, Index support) const {
        return !votes_matter_ ||
               admits(label, support, [&](Index l) { return votes.here(l, a, s) - votes.part(l, b, s); });
    }

    Weighed<Key> keys;     ///< of leaves, without the constant
    Weighed<Index> votes;  ///< rows with the leaf's label

private:
    auto key_weight() const {
        return [this](Index l, Index g) { return leaves_.key_weights[l][g]; };
    }
    auto vote() const {
        return [this](Index l, Index g) { return Index{leaves_.rule.group_label[g] == l}; };
    }
    template <class Votes>
    bool admits(Index label, Index support, Votes votes_for) const {
        const Index most = votes_for(label);
        if (leaves_.rule.majority)
            for (Index l = 0; l < leaves_.labels(); ++l)
                if (l < label ? votes_for(l) >= most : votes_for(l) > most) return false;
        return leaves_.rule.share_top == 0 || static_cast<__int128>(most) * leaves_.rule.share_bottom >=
                                                  static_cast<__int128>(support) * leaves_.rule.share_top;
    }

    const Leaves<Key>& leaves_;
    bool votes_matter_;
    std::vector<T> rows_, ones_rows_;
};

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

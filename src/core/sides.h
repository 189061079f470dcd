// Trees of depth at most 1 on either side of a feature, from the counts of pairs on a path.
//
// Within budgets most features are out of the question at a look at their cheapest leaves, found for
// all of them at once; the others are measured one by one. Without budgets all are listed.
#pragma once

#include "leaves.h"
#include "sorting.h"
#include "walk.h"

namespace adtc {

/// The features that split a path, and the counts of their pairs next to one another.
template <class T>
struct SplittingPairs {
    std::vector<Index> totals;    ///< [group]: the path's rows
    Index support = 0;            ///< the path's rows
    std::vector<Index> features;  ///< ascending
    std::vector<Index> rows;      ///< [a]: rows with a feature
    std::vector<T> pairs;         ///< [group][a][b]: rows with two of them

    Index size() const { return static_cast<Index>(features.size()); }
    Index groups() const { return static_cast<Index>(totals.size()); }
    const T* row(Index group, Index a) const { return pairs.data() + (group * size() + a) * size(); }
    Index ones(Index group, Index a) const { return row(group, a)[a]; }

    void choose(const PairCounts<T>& from, Index minsup) {
        totals = from.totals;
        support = from.support();
        features.clear();
        rows.clear();
        for (std::size_t i = 0; i < from.slots.size(); ++i) {
            Index alone = 0;
            for (Index g = 0; g < groups(); ++g) alone += from.row(g, i)[from.slots[i]];
            if (alone < minsup || alone > support - minsup) continue;
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
    std::vector<Index> limit;   ///< [functional]: what trees may cost here
    std::vector<Index> least;   ///< [functional]: what those listed cost at least
    Cells<Key> listed;          ///< tree by tree, or several of one kind
    Cells<Key> merged;          ///< by key; sorted by first cost, then key

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
    /// Add up the cells within the limits by key.
    void merge(CellSorter<Key>& sorter) {
        merged.resize(0);
        for (Index k = 0; k < listed.size(); ++k)
            if (within(listed.cost(k), limit)) merged.append(listed.view().part(k, k + 1));
        sorter.sort(merged, 0, merged.size());
        Index stop = 0;
        for (Index k = 0; k < merged.size(); ++k) {
            if (stop > 0 && merged.keys[stop - 1] == merged.keys[k]) {
                merged.values[stop - 1] += merged.values[k];
                continue;
            }
            merged.keys[stop] = merged.keys[k];
            merged.values[stop] = merged.values[k];
            std::copy_n(merged.cost(k), merged.functionals, merged.cost(stop));
            ++stop;
        }
        merged.resize(stop);
    }
};

/// Lists the trees on both sides of a feature that fit budgets.
template <class Key, class T>
class SidesWithin {
  public:
    SidesWithin(const Leaves<Key>& leaves, std::span<const Index> multiplicity, Index rest)
        : leaves_(leaves), multiplicity_(multiplicity), rest_(rest) {}

    /// Begin with a path: find the features whose cheapest trees fit each budget.
    void begin(const SplittingPairs<T>& path, std::span<const Index> budgets) {
        const Index n = path.size(), functionals = leaves_.functionals();
        hopeful_.assign(static_cast<std::size_t>(n), 1);
        least_.assign(static_cast<std::size_t>(functionals * 2 * n), -kUnknown);
        // for two labels, as if each leaf could take the cheaper one; for more, nothing is known yet
        if (rest_ < 2 || leaves_.labels() != 2) return;
        for (Index d = 0; d < functionals; ++d) {
            weigh_rows(path, d);
            for (Index a = 0; a < n; ++a) {
                bound_sides(path, a, d);
                if (least(d, 0, a) + least(d, 1, a) > budgets[d]) hopeful_[a] = 0;
            }
        }
    }
    /// List the trees on both sides of a feature; return false if no two fit the budgets.
    bool list(const SplittingPairs<T>& path, Index a, std::span<const Index> budgets, Side<Key>* sides,
              CellSorter<Key>& sorter) {
        if (!hopeful_[a]) return false;
        const Index functionals = leaves_.functionals();
        if (rest_ == 2) bound_stumps(path, a);
        for (int s = 0; s < 2; ++s) {
            sides[s].begin(path, a, s, functionals);
            // costs may be negative, so each side is limited by what the other one costs at least
            for (Index d = 0; d < functionals; ++d) sides[s].limit[d] = budgets[d] - least(d, 1 - s, a);
            list_side(path, a, s, sides[s]);
        }
        if (sides[0].listed.size() == 0 || sides[1].listed.size() == 0) return false;
        for (Index d = 0; d < functionals; ++d) {
            sides[0].limit[d] = budgets[d] - sides[1].least[d];
            sides[1].limit[d] = budgets[d] - sides[0].least[d];
            if (sides[0].least[d] > sides[0].limit[d]) return false;  // not even the cheapest two
        }
        sides[0].merge(sorter);
        sides[1].merge(sorter);
        return true;
    }

  private:
    static constexpr Index kUnknown = Index{1} << 60;
    static constexpr T kInfinity = static_cast<T>(sizeof(T) == 4 ? Index{1} << 29 : Index{1} << 60);

    /// A leaf on some rows under every label.
    struct Measured {
        std::vector<Key> key;      ///< [label]
        std::vector<Index> cost;   ///< [label][functional]
        std::vector<char> admits;  ///< [label]
    };

    Index& least(Index d, int s, Index a) { return least_[(d * 2 + s) * static_cast<Index>(hopeful_.size()) + a]; }

    /// Write what label 1 costs on the rows with each feature, and on all rows.
    void weigh_rows(const SplittingPairs<T>& path, Index d) {
        const Index n = path.size();
        rows1_.assign(path.rows.begin(), path.rows.end());
        cost1_.assign(static_cast<std::size_t>(n), 0);
        cost_all_ = 0;
        for (Index g = 0; g < path.groups(); ++g) {
            const T weight = static_cast<T>(leaves_.cost_weights[d][1][g]);
            cost_all_ += weight * static_cast<T>(path.totals[g]);
            for (Index a = 0; a < n; ++a) cost1_[a] += weight * static_cast<T>(path.ones(g, a));
        }
    }

    /// Find what the cheapest leaf or stump costs on either side of a feature, for two labels.
    void bound_sides(const SplittingPairs<T>& path, Index a, Index d) {
        const Index n = path.size();
        const T constant = static_cast<T>(leaves_.cost_constants[d]), minsup = static_cast<T>(leaves_.rule.minsup);
        rows_.assign(static_cast<std::size_t>(n), 0);
        costs_.assign(static_cast<std::size_t>(n), 0);
        for (Index g = 0; g < path.groups(); ++g) {
            const T weight = static_cast<T>(leaves_.cost_weights[d][1][g]);
            const T* const source = path.row(g, a);
            for (Index b = 0; b < n; ++b) {
                rows_[b] += source[b];
                costs_[b] += weight * source[b];
            }
        }
        const T zero = 0, cost_one = cost1_[a], cost_rest = cost_all_ - cost_one;
        const T rows_one = rows1_[a], rows_rest = static_cast<T>(path.support) - rows_one;
        T best1 = std::min(zero, cost_one) + constant, best0 = std::min(zero, cost_rest) + constant;
        const auto leaf = [&](T cost, T rows) -> T { return rows >= minsup ? std::min(zero, cost) + constant : kInfinity; };
        const auto pairs = [&](Index from, Index to) {
            for (Index b = from; b < to; ++b) {
                const T b11 = costs_[b], n11 = rows_[b], b01 = cost1_[b] - b11, n01 = rows1_[b] - n11;
                best1 = std::min<T>(best1, leaf(b11, n11) + leaf(cost_one - b11, rows_one - n11));
                best0 = std::min<T>(best0, leaf(b01, n01) + leaf(cost_rest - b01, rows_rest - n01));
            }
        };
        pairs(0, a);
        pairs(a + 1, n);
        least(d, 0, a) = best1;
        least(d, 1, a) = best0;
    }

    /// Write what two leaves cost at least, by the first budget, on either side of a feature.
    void bound_stumps(const SplittingPairs<T>& path, Index a) {
        const Index n = path.size();
        for (auto& stump : stump_) stump.assign(static_cast<std::size_t>(n), 2 * leaves_.cost_constants[0]);
        for (int s = 0; s < 2; ++s)
            for (Index b = 0; b < n; ++b) {
                Index least1 = 0, least0 = 0;  // label 0 costs nothing
                for (Index l = 1; l < leaves_.labels(); ++l) {
                    const Index* const weights = leaves_.cost_weights[0][l];
                    Index one = 0, zero = 0;
                    for (Index g = 0; g < path.groups(); ++g) {
                        const Index both = path.row(g, a)[b];
                        const Index here = s == 0 ? both : path.ones(g, b) - both;
                        const Index whole = s == 0 ? path.ones(g, a) : path.totals[g] - path.ones(g, a);
                        one += weights[g] * here;
                        zero += weights[g] * (whole - here);
                    }
                    least1 = std::min(least1, one);
                    least0 = std::min(least0, zero);
                }
                stump_[s][b] += least1 + least0;
            }
    }

    void list_side(const SplittingPairs<T>& path, Index a, int s, Side<Key>& side) {
        measure(side.counts, side.support, one_);
        for (Index l = 0; l < leaves_.labels(); ++l)
            if (one_.admits[l]) take(side, one_.key[l], 1, cost(one_, l), nullptr);
        if (rest_ < 2) return;
        for (Index b = 0; b < path.size(); ++b)
            if (b != a && stump_[s][b] <= side.limit[0]) list_stumps(path, a, b, s, side);
    }

    void list_stumps(const SplittingPairs<T>& path, Index a, Index b, int s, Side<Key>& side) {
        part1_.resize(side.counts.size());
        part0_.resize(side.counts.size());
        Index rows = 0;
        for (Index g = 0; g < path.groups(); ++g) {
            const Index both = path.row(g, a)[b];
            part1_[g] = s == 0 ? both : path.ones(g, b) - both;
            part0_[g] = side.counts[g] - part1_[g];
            rows += part1_[g];
        }
        if (rows < leaves_.rule.minsup || side.support - rows < leaves_.rule.minsup) return;
        measure(part1_, rows, one_);
        measure(part0_, side.support - rows, zero_);
        const Limb twins = static_cast<Limb>(multiplicity_[path.features[b]]);
        for (Index p = 0; p < leaves_.labels(); ++p)
            for (Index q = 0; q < leaves_.labels(); ++q)
                if (one_.admits[p] && zero_.admits[q] && (p != q || leaves_.trivial_splits))
                    take(side, one_.key[p] + zero_.key[q], twins, cost(one_, p), cost(zero_, q));
    }

    void measure(std::span<const Index> counts, Index support, Measured& leaf) const {
        const Index labels = leaves_.labels(), functionals = leaves_.functionals();
        leaf.key.resize(static_cast<std::size_t>(labels));
        leaf.cost.resize(static_cast<std::size_t>(labels * functionals));
        leaf.admits.resize(static_cast<std::size_t>(labels));
        for (Index l = 0; l < labels; ++l) {
            leaf.admits[l] = support >= leaves_.rule.minsup && admits(l, counts, support, leaves_.rule);
            if (!leaf.admits[l]) continue;
            leaf.key[l] = leaves_.key(l, counts);
            leaves_.costs(l, counts, leaf.cost.data() + l * functionals);
        }
    }
    const Index* cost(const Measured& leaf, Index label) const { return leaf.cost.data() + label * leaves_.functionals(); }

    /// List some trees of one kind if they fit the limits.
    void take(Side<Key>& side, Key key, Limb value, const Index* cost1, const Index* cost0) const {
        const Index at = side.listed.size(), functionals = leaves_.functionals();
        side.push(key, value);
        Index* const total = side.listed.cost(at);
        for (Index d = 0; d < functionals; ++d) total[d] = cost1[d] + (cost0 ? cost0[d] : 0);
        if (!within(total, side.limit)) {
            side.listed.resize(at);
            return;
        }
        for (Index d = 0; d < functionals; ++d) side.least[d] = std::min(side.least[d], total[d]);
    }

    const Leaves<Key>& leaves_;
    std::span<const Index> multiplicity_;
    Index rest_;
    std::vector<char> hopeful_;    ///< [a]: a split may fit the budgets
    std::vector<Index> least_;     ///< [functional][side][a]: what trees there cost at least
    std::vector<Index> stump_[2];  ///< [side][b]: what two leaves cost there at least
    std::vector<T> rows1_, cost1_; ///< [a]: rows with a feature, what label 1 costs on them
    std::vector<T> rows_, costs_;  ///< [b]: the same for rows with two features
    T cost_all_ = 0;
    Measured one_, zero_;
    std::vector<Index> part1_, part0_;
};

/// Lists all trees on both sides of a feature. What a leaf is worth is linear in its counts, so it is
/// found by the same differences as they are, for all other features at once.
template <class Key, class T>
class AllSides {
  public:
    AllSides(const Leaves<Key>& leaves, std::span<const Index> multiplicity, Index rest)
        : leaves_(leaves), multiplicity_(multiplicity), rest_(rest),
          votes_(leaves.rule.majority || leaves.rule.share_top > 0) {}

    void begin(const SplittingPairs<T>& path) {
        ones_.resize(leaves_.labels(), path.size());
        whole_.resize(leaves_.labels(), 1);
        for (Index l = 0; l < leaves_.labels(); ++l)
            for (Index g = 0; g < path.groups(); ++g) {
                const Key weight = leaves_.key_weights[l][g];
                const Index vote = leaves_.rule.group_label[g] == l;
                whole_.key(l)[0] += weight * path.totals[g];
                whole_.vote(l)[0] += vote * path.totals[g];
                for (Index a = 0; a < path.size(); ++a) {
                    ones_.key(l)[a] += weight * path.ones(g, a);
                    ones_.vote(l)[a] += vote * path.ones(g, a);
                }
            }
    }

    /// List the trees on both sides of a feature, sorted by key.
    void list(const SplittingPairs<T>& path, Index a, Side<Key>* sides, CellSorter<Key>& sorter) {
        weigh_both(path, a);
        for (int s = 0; s < 2; ++s) {
            sides[s].begin(path, a, s, 0);
            for_each(path, a, s, sides[s].support, [&](Key key, Limb trees) { sides[s].push(key, trees); });
            sides[s].merge(sorter);
        }
    }
    /// List the trees on both sides of a feature in any order, by means of an array over all keys.
    void list(const SplittingPairs<T>& path, Index a, Side<Key>* sides, KeyMerger<Key>& merger) {
        weigh_both(path, a);
        for (int s = 0; s < 2; ++s) {
            sides[s].begin(path, a, s, 0);
            const KeyRange<Key> range = key_range<Key>(sides[s].counts, leaves_, 2);
            merger.begin(range.low, static_cast<Index>(range.width));
            for_each(path, a, s, sides[s].support, [&](Key key, Limb trees) { merger.add(key, trees, sides[s].merged); });
        }
    }

  private:
    /// What some rows are worth under each label, for each feature: the keys of leaves on them without
    /// the constant, and how many have that label.
    struct Worth {
        Index features = 0;
        std::vector<Key> keys;     ///< [label][feature]
        std::vector<Index> votes;  ///< [label][feature]

        void resize(Index labels, Index n) {
            features = n;
            keys.assign(static_cast<std::size_t>(labels * n), 0);
            votes.assign(static_cast<std::size_t>(labels * n), 0);
        }
        Key* key(Index label) { return keys.data() + label * features; }
        Index* vote(Index label) { return votes.data() + label * features; }
    };

    void weigh_both(const SplittingPairs<T>& path, Index a) {
        const Index n = path.size();
        both_.resize(leaves_.labels(), n);
        rows_.assign(static_cast<std::size_t>(n), 0);
        for (Index g = 0; g < path.groups(); ++g) {
            const T* const source = path.row(g, a);
            for (Index b = 0; b < n; ++b) rows_[b] += source[b];
            for (Index l = 0; l < leaves_.labels(); ++l) {
                const Key weight = leaves_.key_weights[l][g];
                Key* const keys = both_.key(l);
                for (Index b = 0; b < n; ++b) keys[b] += weight * source[b];
                if (!votes_ || leaves_.rule.group_label[g] != l) continue;
                Index* const votes = both_.vote(l);
                for (Index b = 0; b < n; ++b) votes[b] += source[b];
            }
        }
    }

    /// Call `use(key, trees)` for all trees of depth at most 1 on one side, several of one kind at once.
    template <class Use>
    void for_each(const SplittingPairs<T>& path, Index a, int s, Index support, Use use) {
        const Index n = path.size(), labels = leaves_.labels(), minsup = leaves_.rule.minsup;
        const Key constant = leaves_.key_constant;
        part1_.resize(labels, n);
        part0_.resize(labels, n);
        here_.resize(labels, 1);
        for (Index l = 0; l < labels; ++l) {
            const Key key = here_.key(l)[0] = s == 0 ? ones_.key(l)[a] : whole_.key(l)[0] - ones_.key(l)[a];
            const Index vote = here_.vote(l)[0] = s == 0 ? ones_.vote(l)[a] : whole_.vote(l)[0] - ones_.vote(l)[a];
            take_side(ones_.key(l), both_.key(l), n, s, key, part1_.key(l), part0_.key(l));
            if (votes_) take_side(ones_.vote(l), both_.vote(l), n, s, vote, part1_.vote(l), part0_.vote(l));
        }
        for (Index l = 0; l < labels; ++l)
            if (support >= minsup && admitted(here_, 0, l, support)) use(here_.key(l)[0] + constant, 1);
        if (rest_ < 2) return;
        for (Index b = 0; b < n; ++b) {
            const Index rows1 = s == 0 ? rows_[b] : path.rows[b] - rows_[b], rows0 = support - rows1;
            if (b == a || rows1 < minsup || rows0 < minsup) continue;
            const Limb twins = static_cast<Limb>(multiplicity_[path.features[b]]);
            for (Index p = 0; p < labels; ++p) {
                if (!admitted(part1_, b, p, rows1)) continue;
                for (Index q = 0; q < labels; ++q)
                    if ((p != q || leaves_.trivial_splits) && admitted(part0_, b, q, rows0))
                        use(part1_.key(p)[b] + part0_.key(q)[b] + 2 * constant, twins);
            }
        }
    }

    template <class N>
    static void take_side(const N* ones, const N* both, Index n, int s, N here, N* part1, N* part0) {
        for (Index b = 0; b < n; ++b) part1[b] = s == 0 ? both[b] : ones[b] - both[b];
        for (Index b = 0; b < n; ++b) part0[b] = here - part1[b];
    }

    /// Tell whether a leaf on enough rows may carry a label.
    bool admitted(Worth& worth, Index at, Index label, Index support) const {
        if (!votes_) return true;
        const Index votes = worth.vote(label)[at];
        if (leaves_.rule.majority)
            for (Index l = 0; l < leaves_.labels(); ++l)
                if (l < label ? worth.vote(l)[at] >= votes : worth.vote(l)[at] > votes) return false;
        return leaves_.rule.share_top == 0 || static_cast<__int128>(votes) * leaves_.rule.share_bottom >=
                                                  static_cast<__int128>(support) * leaves_.rule.share_top;
    }

    const Leaves<Key>& leaves_;
    std::span<const Index> multiplicity_;
    Index rest_;
    bool votes_;
    Worth whole_, here_;         ///< all rows; those on one side
    Worth ones_, both_;          ///< the rows with each feature; those that also have feature a
    Worth part1_, part0_;        ///< a side's rows with each feature; the others
    std::vector<Index> rows_;    ///< [b]: rows with a and b
};

}  // namespace adtc

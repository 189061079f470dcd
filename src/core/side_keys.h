// What trees of depth at most 1 on either side of a feature are worth, from the counts of pairs on a path.
//
// Keys, costs and votes are linear in rows, so those of all other features come at once, and those of
// the part without a feature are differences.
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

}  // namespace adtc

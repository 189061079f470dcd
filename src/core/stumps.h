// The best stumps on both sides of every feature, for all sign patterns of a set of literals at once.
//
// Legend: i the feature at the root of a tree of depth 2, one per lane; j the feature one level
// below; quadrants 11 10 01 00 of i and j. A stump's cost is kept without the constants of its two
// leaves, so a single leaf has one constant less than nothing.
#pragma once

#include <bit>
#include <vector>

#include "channels.h"
#include "pairs.h"
#include "simd.h"

namespace adtc {

/// Turn what sets of features hold into what sign patterns hold: bit k of a set's index says that
/// its k-th feature is 1, bit k of a pattern's that it is 0.
template <int Patterns, class V>
inline void to_patterns(V* v) {
    for (int bit = 1; bit < Patterns; bit *= 2)
        for (int m = 0; m < Patterns; ++m)
            if (!(m & bit)) {
                const V any = v[m], with = v[m | bit];
                v[m] = with;
                v[m | bit] = any - with;
            }
}

/// One channel of all sets: where its matrices are, and its diagonals by pattern.
template <class T>
struct Channel {
    const T* sets[8];  ///< [set]: matrix [feature][lane]; the last set's has a row per chosen feature
    const T* ones;     ///< [pattern][lane]: of the rows where the lane's feature is 1
    const T* whole;    ///< [pattern]: of all rows
};

/// Which pairs to look at.
struct Pairs {
    std::span<const Index> chosen;         ///< features that split some pattern
    std::span<const std::uint8_t> splits;  ///< [chosen]: a bit for each pattern that it splits
    Index lanes;
    bool once;  ///< a feature must be kept from splitting twice: no rule forbids the empty side
};

/// The costs of the four quadrants where every leaf may take the cheaper of two labels.
template <class T, bool Counted>
struct TwoLabels {
    Channel<T> cost;  ///< of label 1; label 0 costs nothing
    Channel<T> rows;  ///< read only if `Counted`: else a leaf is never too small
    T minsup;

    template <int Patterns>
    void update(const Pairs& pairs, T* best1, T* best0) const {
        using V = Vector<T>;
        const V none = {}, few = all(minsup), infinite = all(kInfinite<T>);
        for (Index block = 0; block < pairs.lanes; block += kLanes<T>) {
            V b1[Patterns], b0[Patterns];
            for (int s = 0; s < Patterns; ++s) {
                b1[s] = load(best1 + s * pairs.lanes + block);
                b0[s] = load(best0 + s * pairs.lanes + block);
            }
            for (std::size_t r = 0; r < pairs.chosen.size(); ++r) {
                const Index j = pairs.chosen[r];
                V x[Patterns], n[Patterns];
                for (int m = 0; m < Patterns; ++m) {
                    const Index row = (m == Patterns - 1 ? static_cast<Index>(r) : j) * pairs.lanes + block;
                    x[m] = load(cost.sets[m] + row);
                    if constexpr (Counted) n[m] = load(rows.sets[m] + row);
                }
                to_patterns<Patterns>(x);
                if constexpr (Counted) to_patterns<Patterns>(n);
                for (unsigned left = pairs.splits[r]; left; left &= left - 1) {
                    const int s = std::countr_zero(left);
                    const T* ones = cost.ones + s * pairs.lanes;
                    const V x10 = load(ones + block) - x[s];
                    V q11 = smaller(none, x[s]), q10 = smaller(none, x10);
                    V q01 = smaller(none, ones[j] - x[s]);
                    V q00 = smaller(none, static_cast<T>(cost.whole[s] - ones[j]) - x10);
                    if constexpr (Counted) {
                        const T* all_rows = rows.ones + s * pairs.lanes;
                        const V n10 = load(all_rows + block) - n[s];
                        q11 = n[s] >= few ? q11 : infinite;
                        q10 = n10 >= few ? q10 : infinite;
                        q01 = all_rows[j] - n[s] >= few ? q01 : infinite;
                        q00 = static_cast<T>(rows.whole[s] - all_rows[j]) - n10 >= few ? q00 : infinite;
                    }
                    const bool self = pairs.once && j >= block && j < block + kLanes<T>;
                    const T kept1 = self ? b1[s][j - block] : T{}, kept0 = self ? b0[s][j - block] : T{};
                    b1[s] = smaller(b1[s], q11 + q10);
                    b0[s] = smaller(b0[s], q01 + q00);
                    if (self) b1[s][j - block] = kept1, b0[s][j - block] = kept0;
                }
            }
            for (int s = 0; s < Patterns; ++s) {
                store(best1 + s * pairs.lanes + block, b1[s]);
                store(best0 + s * pairs.lanes + block, b0[s]);
            }
        }
    }

    /// The cost of a leaf on either side of each feature, for the rows with it or without it.
    void leaves(int s, Index lanes, bool with, T* out) const {
        for (Index at = 0; at < lanes; ++at) {
            const T x = with ? cost.ones[s * lanes + at] : static_cast<T>(cost.whole[s] - cost.ones[s * lanes + at]);
            out[at] = std::min(T{}, x);
        }
    }
};

/// The costs of the four quadrants under any rule about labels.
template <class T>
struct AnyLabels {
    std::vector<Channel<T>> cost;   ///< [label − 1]; label 0 costs nothing
    std::vector<Channel<T>> votes;  ///< [label]: rows of a label, if only the majority's may stand
    std::vector<Channel<T>> share;  ///< [label]: not negative iff the label has the share it needs
    Channel<T> rows;
    T minsup;

    template <int Patterns>
    void update(const Pairs& pairs, T* best1, T* best0) const {
        using V = Vector<T>;
        for (Index block = 0; block < pairs.lanes; block += kLanes<T>)
            for (std::size_t r = 0; r < pairs.chosen.size(); ++r)
                for (int s = 0; s < Patterns; ++s) {
                    if (!(pairs.splits[r] >> s & 1)) continue;
                    const auto quadrants = [&](const Channel<T>& channel, V* out) {
                        split<Patterns>(channel, pairs, r, s, block, out);
                    };
                    V q[4];
                    label(quadrants, q);
                    const Index at = s * pairs.lanes + block, j = pairs.chosen[r] - block;
                    V b1 = load(best1 + at), b0 = load(best0 + at);
                    const bool self = pairs.once && j >= 0 && j < kLanes<T>;
                    const T kept1 = self ? b1[j] : T{}, kept0 = self ? b0[j] : T{};
                    b1 = smaller(b1, q[0] + q[1]);
                    b0 = smaller(b0, q[2] + q[3]);
                    if (self) b1[j] = kept1, b0[j] = kept0;
                    store(best1 + at, b1);
                    store(best0 + at, b0);
                }
    }

    void leaves(int s, Index lanes, bool with, T* out) const {
        using V = Vector<T>;
        for (Index block = 0; block < lanes; block += kLanes<T>) {
            const auto side = [&](const Channel<T>& channel, V* v) {
                const V ones = load(channel.ones + s * lanes + block);
                v[0] = with ? ones : channel.whole[s] - ones;
            };
            V q[1];
            label(side, q);
            store(out + block, q[0]);
        }
    }

private:
    /// Write what a channel holds in the four quadrants.
    template <int Patterns>
    static void split(const Channel<T>& channel, const Pairs& pairs, std::size_t r, int s, Index block,
                      Vector<T>* out) {
        const Index j = pairs.chosen[r];
        Vector<T> v[Patterns];
        for (int m = 0; m < Patterns; ++m)
            v[m] = load(channel.sets[m] + (m == Patterns - 1 ? static_cast<Index>(r) : j) * pairs.lanes + block);
        to_patterns<Patterns>(v);
        const T* ones = channel.ones + s * pairs.lanes;
        out[0] = v[s];
        out[1] = load(ones + block) - v[s];
        out[2] = ones[j] - v[s];
        out[3] = static_cast<T>(channel.whole[s] - ones[j]) - out[1];
    }

    /// Write what the label costs that a leaf may carry, and does best to carry.
    template <class Parts, int N>
    void label(const Parts& parts, Vector<T> (&q)[N]) const {
        using V = Vector<T>;
        const V infinite = all(kInfinite<T>);
        V most[N], part[N], cheap[N], here[N];
        for (int k = 0; k < N; ++k) q[k] = infinite, most[k] = all(T{-1});
        for (std::size_t l = 0; l <= cost.size(); ++l) {
            if (l == 0) {
                for (int k = 0; k < N; ++k) cheap[k] = V{};
            } else {
                parts(cost[l - 1], cheap);
            }
            if (!share.empty()) {
                parts(share[l], part);
                for (int k = 0; k < N; ++k) cheap[k] = part[k] >= V{} ? cheap[k] : infinite;
            }
            if (votes.empty()) {
                for (int k = 0; k < N; ++k) q[k] = smaller(q[k], cheap[k]);
                continue;
            }
            parts(votes[l], here);
            for (int k = 0; k < N; ++k) {
                q[k] = here[k] > most[k] ? cheap[k] : q[k];
                most[k] = here[k] > most[k] ? here[k] : most[k];
            }
        }
        parts(rows, part);
        for (int k = 0; k < N; ++k) q[k] = part[k] >= all(minsup) ? q[k] : infinite;
    }
};

}  // namespace adtc

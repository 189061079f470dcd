// Pairs counted below a prefix: matrices of all small sets of features that extend it.
//
// Features are turned to their minority sides, so that sets of several have few rows; see inside.h.
#pragma once

#include <cstdint>
#include <numeric>
#include <vector>

#include "channels.h"
#include "control.h"
#include "lattice.h"
#include "pairs.h"

namespace adtc {

/// Bytes that the matrices of all sets below a prefix take.
inline Index bytes_for(Index spread, Index features, Index groups, Index channels, Index width) {
    const Index matrix = features * padded(features) * width;
    const Index singles = spread >= 2 ? features : 0, doubles = spread >= 3 ? features * (features - 1) / 2 : 0;
    return matrix * (groups * (1 + (spread >= 3 ? features : 0)) + channels * (1 + singles + doubles));
}

/// The matrices of all sets of fewer than `spread` features below one prefix.
template <class T>
struct FeatureSets {
    Rows rows;  ///< of the prefix; every feature turned to its minority side
    Path prefix;
    Index first = 0;                     ///< the least feature that may extend the prefix
    std::vector<Index> totals;           ///< [group]
    std::vector<std::uint64_t> flipped;  ///< a bit per feature that was turned
    std::vector<T> diagonal;             ///< [channel][lane] of the prefix itself
    std::vector<T> groups0;              ///< [group][feature][lane]: pairs among the prefix's rows
    std::vector<T> groups1;              ///< [feature][group][feature][lane]: pairs among those with a feature
    std::vector<T> channels0;            ///< [channel][feature][lane]
    std::vector<T> channels1;            ///< [feature][channel][feature][lane]
    std::vector<T> channels2;            ///< [pair of features][channel][feature][lane]

    bool is_flipped(Index f) const { return flipped[static_cast<std::size_t>(f / 64)] >> (f % 64) & 1; }
};

/// Working memory of counting.
template <class T>
struct CountingScratch {
    Slices slices;
    Rows rows1, rows2;
    std::vector<T> groups;  ///< [group][feature][lane]
};

/// Counts the pairs of sets of fewer than `spread` features.
template <class T>
class SetCounter {
public:
    SetCounter(const Table& table, const Mixing& mixing, Index spread, bool with_costs)
        : table_(table),
          mixing_(mixing),
          spread_(spread),
          with_costs_(with_costs),
          lanes_(padded(table.features())),
          everything_(static_cast<std::size_t>(table.features())) {
        std::iota(everything_.begin(), everything_.end(), 0);
    }

    Index n() const { return table_.features(); }
    Index lanes() const { return lanes_; }
    Index matrix() const { return n() * lanes_; }
    bool counts_singles() const { return spread_ == 3 || (spread_ == 2 && with_costs_); }
    bool counts_doubles() const { return spread_ == 3 && with_costs_; }

    /// Count rows by group.
    std::vector<Index> weights_of(const Rows& rows) const {
        std::vector<Index> totals(static_cast<std::size_t>(table_.groups()));
        for (Index p = 0; p < table_.planes(); ++p)
            totals[static_cast<std::size_t>(table_.plane_group[p])] += (rows.starts[p + 1] - rows.starts[p])
                                                                       << table_.plane_shift[p];
        return totals;
    }

    /// Make a prefix: its rows with features turned, and their pairs.
    void open(Rows rows, const Path& prefix, FeatureSets<T>& sets, CountingScratch<T>& scratch) const {
        sets.prefix = prefix;
        sets.first = prefix.length ? prefix.features[prefix.length - 1] + 1 : 0;
        sets.totals = weights_of(rows);
        sets.flipped.assign(static_cast<std::size_t>(rows.words), 0);
        sets.groups0.assign(static_cast<std::size_t>(table_.groups() * matrix()), 0);
        sets.channels0.resize(static_cast<std::size_t>(mixing_.channels() * matrix()));
        sets.rows = std::move(rows);
        if (prefix.length) turn_to_minority(sets, scratch);
        slice_rows(sets.rows, n(), scratch.slices);
        count_pairs(scratch.slices, table_, everything_, Cube<T>{sets.groups0.data(), table_.groups(), n(), lanes_});
        blend(sets.groups0.data(), n(), sets.channels0.data());
        sets.diagonal.assign(static_cast<std::size_t>(mixing_.channels() * lanes_), 0);
        for (Index ch = 0; ch < mixing_.channels(); ++ch)
            for (Index f = 0; f < n(); ++f)
                sets.diagonal[ch * lanes_ + f] = sets.channels0[ch * matrix() + f * lanes_ + f];
        const Index literals = n() - sets.first;
        if (counts_singles()) {
            if (with_costs_) sets.channels1.resize(static_cast<std::size_t>(literals * mixing_.channels() * matrix()));
            if (spread_ == 3) sets.groups1.resize(static_cast<std::size_t>(literals * table_.groups() * matrix()));
        }
        if (counts_doubles())
            sets.channels2.resize(
                static_cast<std::size_t>(literals * (literals - 1) / 2 * mixing_.channels() * matrix()));
    }

    /// Turn counts by group into channels, for the first rows of the matrices.
    void blend(const T* groups, Index rows, T* channels) const {
        for (Index ch = 0; ch < mixing_.channels(); ++ch) {
            T* out = channels + ch * matrix();
            for (Index g = 0; g < table_.groups(); ++g) {
                const T weight =
                    static_cast<T>(mixing_.weights[static_cast<std::size_t>(ch)][static_cast<std::size_t>(g)]);
                const T* in = groups + g * matrix();
                if (g == 0)
                    for (Index k = 0; k < rows * lanes_; ++k) out[k] = static_cast<T>(weight * in[k]);
                else
                    for (Index k = 0; k < rows * lanes_; ++k) out[k] = static_cast<T>(out[k] + weight * in[k]);
            }
        }
    }

    /// Where the matrices of a set are: its channels, or its counts by group.
    T* single(const FeatureSets<T>& sets, Index a) const {
        return const_cast<T*>(sets.channels1.data()) + (a - sets.first) * mixing_.channels() * matrix();
    }
    T* group_single(const FeatureSets<T>& sets, Index a) const {
        return const_cast<T*>(sets.groups1.data()) + (a - sets.first) * table_.groups() * matrix();
    }
    T* twofold(const FeatureSets<T>& sets, Index a, Index b) const {
        const Index i = a - sets.first, j = b - sets.first;
        return const_cast<T*>(sets.channels2.data()) + (j * (j - 1) / 2 + i) * mixing_.channels() * matrix();
    }

    /// Count the pairs below one feature.
    void count_single(FeatureSets<T>& sets, Index a, CountingScratch<T>& scratch) const {
        slice_side(sets.rows, a, n(), scratch.rows1, scratch.slices);
        T* groups = spread_ == 3 ? group_single(sets, a) : scratch.groups.data();
        count_pairs(scratch.slices, table_, everything_, Cube<T>{groups, table_.groups(), n(), lanes_});
        if (with_costs_) blend(groups, n(), single(sets, a));
    }

    /// Count the pairs below a feature and each larger one.
    void count_doubles(FeatureSets<T>& sets, Index a, CountingScratch<T>& scratch, const Control& control) const {
        select_rows(sets.rows, a, false, scratch.rows1);
        for (Index b = a + 1; b < n(); ++b) {
            control.check();
            slice_side(scratch.rows1, b, n(), scratch.rows2, scratch.slices);
            count_pairs(scratch.slices, table_, everything_,
                        Cube<T>{scratch.groups.data(), table_.groups(), n(), lanes_});
            blend(scratch.groups.data(), n(), twofold(sets, a, b));
        }
    }

private:
    /// Turn features whose 1 is the larger side: then sets with many features have few rows.
    void turn_to_minority(FeatureSets<T>& sets, CountingScratch<T>& scratch) const {
        slice_rows(sets.rows, n(), scratch.slices);
        Index all_rows = 0;
        std::vector<Index> ones(static_cast<std::size_t>(n()));
        for (Index p = 0; p < table_.planes(); ++p) {
            for (Index s = scratch.slices.starts[p]; s < scratch.slices.starts[p + 1]; ++s)
                for (Index f = 0; f < n(); ++f) ones[f] += __builtin_popcount(scratch.slices.bits[s * lanes_ + f]);
            all_rows += sets.rows.starts[p + 1] - sets.rows.starts[p];
        }
        for (Index f = 0; f < n(); ++f)
            if (2 * ones[f] > all_rows) sets.flipped[f / 64] |= std::uint64_t{1} << (f % 64);
        flip_features(sets.rows, sets.flipped);
    }

    const Table& table_;
    const Mixing& mixing_;
    const Index spread_;
    const bool with_costs_;
    const Index lanes_;
    std::vector<Index> everything_;
};

}  // namespace adtc

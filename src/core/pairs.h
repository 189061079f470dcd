// Rows as records of bits, and counts of all pairs of features among them.
//
// A record holds the bits of all features of one row. Rows that fulfil a literal are selected by
// copying records; to count pairs, 16 records at a time are turned into a *slice*, a 16-bit lane
// per feature, so that counts come out of one population count per lane, without sums across lanes.
#pragma once

#include <vector>

#include "table.h"

namespace adtc {

/// Lanes of a slice come in blocks of this many, the widest vector; those beyond the features are 0.
constexpr Index kBlock = 32;

constexpr Index padded(Index features) { return (features + kBlock - 1) / kBlock * kBlock; }

/// Some rows of a table, plane by plane.
struct Rows {
    Index words = 0;                  ///< 64-bit words of a record
    std::vector<std::uint64_t> bits;  ///< [row][word]; has room for one vector more than it holds
    std::vector<Index> starts;        ///< [plane + 1]

    Index count() const { return starts.empty() ? 0 : starts.back(); }
};

/// Turn a table's columns into records.
Rows records_of(const Table& table);

/// Select the rows on one side of a feature.
void select_rows(const Rows& from, Index feature, bool negative, Rows& to);

/// Invert the given features in all records; `mask` has a record's words.
void flip_features(Rows& rows, std::span<const std::uint64_t> mask);

/// Rows turned into slices, plane by plane.
struct Slices {
    Index lanes = 0;                  ///< padded number of features
    std::vector<std::uint16_t> bits;  ///< [slice][lane]
    std::vector<Index> starts;        ///< [plane + 1]
};

void slice_rows(const Rows& rows, Index features, Slices& slices);

/// Select the rows with a feature and slice them in one go.
void slice_side(const Rows& rows, Index feature, Index features, Rows& room, Slices& slices);

/// Add factor · (rows of a plane where i and j are both 1) to out[r][j], for all j and each i =
/// chosen[r]. Valid while every sum fits T; lanes beyond the features get nothing.
template <class T>
void add_pairs(const Slices& slices, Index plane, std::span<const Index> chosen, T factor, T* out, Index stride);

/// Count pairs by group: out[g][i][j], symmetric, rows of `stride` numbers; weights included.
template <class T>
void count_pairs(const Slices& slices, const Table& table, std::span<const Index> chosen, Cube<T> out);

extern template void add_pairs(const Slices&, Index, std::span<const Index>, std::int16_t, std::int16_t*, Index);
extern template void add_pairs(const Slices&, Index, std::span<const Index>, std::int32_t, std::int32_t*, Index);
extern template void add_pairs(const Slices&, Index, std::span<const Index>, std::int64_t, std::int64_t*, Index);
extern template void count_pairs(const Slices&, const Table&, std::span<const Index>, Cube<std::int16_t>);
extern template void count_pairs(const Slices&, const Table&, std::span<const Index>, Cube<std::int32_t>);
extern template void count_pairs(const Slices&, const Table&, std::span<const Index>, Cube<std::int64_t>);

}  // namespace adtc

// The table as kernels see it: rows as bits, one plane per row group and binary digit of weight.
#pragma once

#include "views.h"

namespace adtc {

/// Rows lie in *planes*: the rows of one row group whose weight has one binary digit set. Plane p
/// occupies the words offsets[p] .. offsets[p + 1] of every feature; bits beyond its rows are 0.
struct Table {
    Grid<const std::uint64_t> words;     ///< [feature][word]
    std::span<const Index> offsets;      ///< [plane + 1]
    std::span<const Index> rows;         ///< [plane]: how many
    std::span<const Index> plane_group;  ///< [plane]: the row group
    std::span<const Index> plane_shift;  ///< [plane]: a row counts 2^shift
    std::span<const Index> totals;       ///< [group]: weight of all rows

    Index features() const { return words.rows; }
    Index planes() const { return static_cast<Index>(rows.size()); }
    Index groups() const { return static_cast<Index>(totals.size()); }
};

}  // namespace adtc

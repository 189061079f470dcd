// Channels: the linear functionals of rows by group that the inside pass keeps matrices of, and how wide
// their numbers must be.
#pragma once

#include <cstdlib>
#include <utility>
#include <vector>

#include "costs.h"
#include "table.h"

namespace adtc {

/// More than any cost, with room for the sum of two of which constants of up to a sixteenth of the type's
/// range have been taken.
template <class T>
constexpr T kInfinite = static_cast<T>((T{1} << (8 * sizeof(T) - 2)) - (T{1} << (8 * sizeof(T) - 5)) - 1);

/// How channels are made of row groups, and which of them say what.
struct Mixing {
    std::vector<std::vector<Index>> weights;  ///< [channel][group]; channel 0 counts those of the table itself
    Index votes = 0;                          ///< the first channel of votes by label; 0: none
    Index share = 0;                          ///< the first channel of shares by label; 0: none
    Index costs = 0;                          ///< the first channel of costs: [functional][label − 1]
    std::vector<bool> turned;                 ///< [functional]: labels 1 and 0 have changed places

    Index channels() const { return static_cast<Index>(weights.size()); }
};

/// Leaves simply take the cheaper of two labels.
inline bool takes_cheaper(const LabelRule& rule) { return rule.labels == 2 && !rule.majority && rule.share_top == 0; }

Mixing mixing_of(const Table& table, const Costs& costs);

/// The least number that no tree costs: from it on, values are infinite ones with finite costs added.
Index unreal_of(const Mixing& mixing, const Table& table, const Costs& costs);

/// Tell whether all channels, costs and infinities fit a type of 16, 32 or 64 bits.
template <class T>
bool fits(const Mixing& mixing, const Table& table, const Costs& costs);

}  // namespace adtc

// Predictions averaged over trees: the shares of the leaves that each row reaches.
#pragma once

#include <cstdint>

#include "control.h"
#include "views.h"

namespace adtc {

/// Leaves as rows of literals 2·feature + negative, ascending, −1 behind the last, in the order of a trie.
struct LeafPaths {
    Grid<const std::int32_t> literals;  ///< [leaf][depth]
    Grid<const double> shares;          ///< [leaf][label]: its probability times that of each label
};

/// Add to out[row][label] the shares of the leaves that the row reaches. `ones[feature][row]` is the share
/// of the features alike that are 1 in the row: 0 or 1 where they agree.
void mix_leaves(const LeafPaths& leaves, Grid<const double> ones, Grid<double> out, const Control& control);

}  // namespace adtc

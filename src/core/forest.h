// Trees in preorder, and the original features that their tests may be written with.
#pragma once

#include <span>
#include <vector>

#include "views.h"

namespace adtc {

/// The original features behind each distinct one, in the order in which trees are numbered.
struct Twins {
    std::span<const Index> starts;    ///< [feature + 1]
    std::span<const Index> features;  ///< [twin]: the original feature
    std::span<const bool> flipped;    ///< [twin]: it is the complement, so its children change sides

    Index count(Index feature) const { return starts[feature + 1] - starts[feature]; }
};

/// Trees, each in preorder, child 1 first: an original feature, or −1 − label for a leaf.
struct Forest {
    std::vector<Index> starts{0};  ///< [tree + 1]
    std::vector<Index> codes;
};

}  // namespace adtc

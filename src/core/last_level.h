// The last level: the tensor of all trees of depth at most 2 on a path, from its counts of pairs.
//
// For every feature that splits the path, the trees of depth at most 1 on either side are listed;
// their product is one summand.
#pragma once

#include "products.h"
#include "sides.h"

namespace adtc {

/// Where the last level's tensors stand on, and which of them are wanted.
template <class Key>
struct LastLevelTask {
    const Table& table;
    const Lattice& lattice;
    const Leaves<Key>& leaves;
    std::span<const Index> multiplicity;  ///< [feature]: how many of the user's it stands for
    std::span<const bool> wanted;         ///< [path]: tensors to make, and paths that lead to one
    Grid<const Index> budgets;            ///< [path][functional]
    Index most_bytes = 0;                 ///< that the tensors may take
};

/// Make the tensors of the wanted paths of the last level whose first feature is in a range. Return
/// the number of pairs of cells looked at.
template <class Key>
Index fill_last(const LastLevelTask<Key>& task, Index first, Index stop, const Control& control, Part<Key>& part);

extern template Index fill_last(const LastLevelTask<Index>&, Index, Index, const Control&, Part<Index>&);
extern template Index fill_last(const LastLevelTask<WideKey>&, Index, Index, const Control&, Part<WideKey>&);

}  // namespace adtc

// Products of lists of cells: list1 ⊗ list0, only pairs within the budgets.
#pragma once

#include "cells.h"
#include "control.h"

namespace adtc {

/// One summand of a tensor: the children's lists, the shorter one first, times a multiplicity.
template <class Key>
struct Summand {
    CellView<Key> outer;
    CellView<Key> inner;
    Limb factor = 1;

    Index pairs() const { return outer.size * inner.size; }
};

/// Count the pairs whose first costs fit the budget: what ⊗ looks at.
template <class Key>
Index count_pairs_within(const Summand<Key>& s, std::span<const Index> budgets) {
    if (budgets.empty()) return s.pairs();
    Index pairs = 0, stop = s.inner.size;
    for (Index i = 0; i < s.outer.size && stop > 0; ++i) {
        while (stop > 0 && s.inner.cost(stop - 1)[0] > budgets[0] - s.outer.cost(i)[0]) --stop;
        pairs += stop;
    }
    return pairs;
}

/// Tell whether two cells together fit all budgets but the first.
inline bool fits(const Index* cost1, const Index* cost0, std::span<const Index> budgets) {
    for (std::size_t d = 1; d < budgets.size(); ++d)
        if (cost1[d] + cost0[d] > budgets[d]) return false;
    return true;
}

/// Where a product stands that a hash table had no more room for: the cell of `outer` to go on with.
struct Progress {
    Index row = 0;
    Index looked = 0;  ///< pairs
};

/// Add the products of a summand, from a cell of `outer` on, to a hash table of at most `most` places.
template <class Key, int L>
Progress multiply_into(CellTable<Key, L>& table, Limbs<L> limbs, const Summand<Key>& s, Index row,
                       std::span<const Index> budgets, Index most, Limb* scaled) {
    Progress done{row, 0};
    Index stop = s.inner.size;
    for (; done.row < s.outer.size; ++done.row) {
        const Index i = done.row;
        const Index* const cost1 = s.outer.cost(i);
        if (!budgets.empty()) stop = affordable(s.inner.part(0, stop), budgets[0] - cost1[0]);
        if (stop == 0) break;  // sorted: no later cell is cheaper
        if (!table.reserve(stop, most)) return done;
        done.looked += stop;
        limbs.scale(s.outer.value(i), s.outer.limbs, s.factor, scaled);
        const Key key = s.outer.keys[i];
        for (Index j = 0; j < stop; ++j) {
            const Index* const cost0 = s.inner.cost(j);
            if (budgets.size() > 1 && !fits(cost1, cost0, budgets)) continue;
            Limb* const total = table.find(key + s.inner.keys[j], [&](Index d) { return cost1[d] + cost0[d]; });
            limbs.add_product(total, scaled, s.inner.value(j), s.inner.limbs);
        }
    }
    done.row = s.outer.size;
    return done;
}

}  // namespace adtc

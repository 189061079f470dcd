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
        if (i == 0 || s.outer.cost(i)[0] != s.outer.cost(i - 1)[0])
            stop = affordable(s.inner.part(0, stop), budgets[0] - s.outer.cost(i)[0]);
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

/// Add the products of a summand to a hash table of at most `most` places. Return the cell of `outer`
/// that it had no more room for; its size if all are done.
template <class Key, int L>
Index multiply_into(CellTable<Key, L>& table, Limbs<L> limbs, const Summand<Key>& s, std::span<const Index> budgets,
                    Index most, Limb* scaled) {
    Index stop = s.inner.size;
    for (Index i = 0; i < s.outer.size; ++i) {
        const Index* const cost1 = s.outer.cost(i);
        if (!budgets.empty()) stop = affordable(s.inner.part(0, stop), budgets[0] - cost1[0]);
        if (stop == 0) break;  // sorted: no later cell is cheaper
        if (!table.reserve(stop, most)) return i;
        limbs.scale(s.outer.value(i), s.outer.limbs, s.factor, scaled);
        const Key key = s.outer.keys[i];
        for (Index j = 0; j < stop; ++j) {
            const Index* const cost0 = s.inner.cost(j);
            if (budgets.size() > 1 && !fits(cost1, cost0, budgets)) continue;
            Limb* const total = table.find(key + s.inner.keys[j], [&](Index d) { return cost1[d] + cost0[d]; });
            limbs.add_product(total, scaled, s.inner.value(j), s.inner.limbs);
        }
    }
    return s.outer.size;
}

}  // namespace adtc

// The cells of one tensor by key, to find the pairs of cells that add up to a given key.
#pragma once

#include <algorithm>
#include <numeric>
#include <vector>

#include "cells.h"

namespace adtc {

/// Cells sorted by key or, where keys lie close together and nothing costs, numbers by key.
template <class Key>
struct KeyList {
    Index limbs = 1;
    Index functionals = 0;
    std::vector<Key> keys;     ///< ascending; none if `dense` is used
    std::vector<Limb> values;  ///< [cell][limb]
    std::vector<Index> costs;  ///< [cell][functional]
    Key base = 0;
    std::vector<Limb> dense;   ///< [key − base], one limb each

    bool is_dense() const { return !dense.empty(); }
    /// Count the steps that a walk over the list takes.
    Index size() const { return static_cast<Index>(is_dense() ? dense.size() : keys.size()); }
    Index bytes() const {
        return static_cast<Index>(keys.size() * sizeof(Key) + 8 * (values.size() + costs.size() + dense.size())) + 128;
    }
    Key key(Index at) const { return is_dense() ? base + at : keys[at]; }
    const Limb* value(Index at) const { return is_dense() ? &dense[at] : &values[at * limbs]; }
    const Index* cost(Index at) const { return costs.data() + at * functionals; }

    /// Find the place of a key; −1 if there is no such cell.
    Index find(Key key) const {
        if (is_dense()) {
            const bool there = key >= base && key - base < static_cast<Key>(dense.size()) && dense[key - base] != 0;
            return there ? static_cast<Index>(key - base) : -1;
        }
        const auto at = std::lower_bound(keys.begin(), keys.end(), key);
        return at != keys.end() && *at == key ? at - keys.begin() : -1;
    }
};

/// Tell whether numbers for all keys of a range take about as much room as cells do.
template <class Key>
bool is_narrow(Key range, Index cells) {
    return range <= 4 * static_cast<Key>(cells) + 16;
}

/// Sort the cells of a tensor by key.
template <class Key>
KeyList<Key> sorted_by_key(const CellView<Key>& cells) {
    KeyList<Key> list;
    list.limbs = cells.limbs;
    list.functionals = cells.functionals;
    if (cells.size == 0) return list;
    const auto [low, high] = std::minmax_element(cells.keys, cells.keys + cells.size);
    if (cells.functionals == 0 && cells.limbs == 1 && is_narrow<Key>(*high - *low, cells.size)) {
        list.base = *low;
        list.dense.assign(static_cast<std::size_t>(*high - *low + 1), 0);
        for (Index i = 0; i < cells.size; ++i) list.dense[cells.keys[i] - list.base] = cells.values[i];
        return list;
    }
    std::vector<Index> order(static_cast<std::size_t>(cells.size));
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(), [&](Index a, Index b) { return cells.keys[a] < cells.keys[b]; });
    for (const Index at : order) {
        list.keys.push_back(cells.keys[at]);
        list.values.insert(list.values.end(), cells.value(at), cells.value(at) + cells.limbs);
        list.costs.insert(list.costs.end(), cells.cost(at), cells.cost(at) + cells.functionals);
    }
    return list;
}

/// Tell whether two cells together fit the budgets.
template <class Key>
bool fit_together(const KeyList<Key>& ones, Index i, const KeyList<Key>& zeros, Index j,
                  std::span<const Index> budgets) {
    for (std::size_t d = 0; d < budgets.size(); ++d)
        if (ones.cost(i)[d] + zeros.cost(j)[d] > budgets[d]) return false;
    return true;
}

/// Call `use(i, j)` for all pairs of cells that add up to a key within the budgets, by ascending key
/// of the first; stop as soon as it returns true.
template <class Key, class Use>
void for_each_pair(const KeyList<Key>& ones, const KeyList<Key>& zeros, Key key, std::span<const Index> budgets,
                   Use use) {
    const Index n1 = ones.size(), n0 = zeros.size();
    if (n1 == 0 || n0 == 0) return;
    if (ones.is_dense() && zeros.is_dense()) {
        const Key apart = key - ones.base - zeros.base;  // of the two places
        const Index first = static_cast<Index>(std::max<Key>(0, apart - (n0 - 1)));
        const Index last = static_cast<Index>(std::min<Key>(n1 - 1, apart));
        for (Index i = first; i <= last; ++i) {
            const Index j = static_cast<Index>(apart - i);
            if (ones.dense[i] != 0 && zeros.dense[j] != 0 && use(i, j)) return;
        }
        return;
    }
    if (ones.is_dense() || zeros.is_dense()) {
        for (Index i = 0; i < n1; ++i) {
            if (ones.is_dense() && ones.dense[i] == 0) continue;
            const Index j = zeros.find(key - ones.key(i));
            if (j >= 0 && use(i, j)) return;
        }
        return;
    }
    // One pass from both ends, begun where the other list has keys large enough; comparisons are
    // added, not branched on.
    const Key* const k1 = ones.keys.data();
    const Key* const k0 = zeros.keys.data();
    Index i = std::lower_bound(k1, k1 + n1, key - k0[n0 - 1]) - k1;
    Index j = std::upper_bound(k0, k0 + n0, key - k1[0]) - k0 - 1;
    while (i < n1 && j >= 0) {
        const Key total = k1[i] + k0[j];
        if (total == key && fit_together(ones, i, zeros, j, budgets) && use(i, j)) return;
        i += total <= key;
        j -= total >= key;
    }
}

}  // namespace adtc

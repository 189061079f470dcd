// The cells of one tensor by key, to find the pairs of cells that add up to a given key.
#pragma once

#include <algorithm>
#include <numeric>
#include <vector>

#include "cells.h"

namespace adtc {

/// Cells sorted by key or, where keys lie close together and nothing costs, numbers by key; somebody
/// else owns them.
template <class Key>
struct KeyList {
    Index limbs = 1;
    Index functionals = 0;
    Index size = 0;                ///< cells, or keys of the range
    const Key* keys = nullptr;     ///< ascending; none if numbers lie by key
    const Limb* values = nullptr;  ///< [cell][limb]; or [key − base], one limb each, 0 where there is no cell
    const Index* costs = nullptr;  ///< [cell][functional]
    Key base = 0;

    bool is_dense() const { return keys == nullptr; }
    Key key(Index at) const { return is_dense() ? base + at : keys[at]; }
    const Limb* value(Index at) const { return values + at * limbs; }
    const Index* cost(Index at) const { return costs + at * functionals; }

    /// Find the place of a key; −1 if there is no such cell.
    Index find(Key key) const {
        if (is_dense()) {
            const bool there = key >= base && key - base < size && values[static_cast<Index>(key - base)] != 0;
            return there ? static_cast<Index>(key - base) : -1;
        }
        const Key* const at = std::lower_bound(keys, keys + size, key);
        return at != keys + size && *at == key ? at - keys : -1;
    }
};

/// Lists with their memory: all in a few arrays. Lists are made one after the other, and read when
/// no more will come.
template <class Key>
struct KeyLists {
    struct Place {
        Index start_key, start_value, start_cost;  ///< `start_key` is −1 for numbers by key
        Index size;
        Key base;
    };
    Index limbs = 1;
    Index functionals = 0;
    std::vector<Place> places;
    std::vector<Key> keys;
    std::vector<Limb> values;
    std::vector<Index> costs;

    KeyList<Key> operator[](std::size_t at) const {
        const Place& place = places[at];
        const Key* const first = place.start_key < 0 ? nullptr : keys.data() + place.start_key;
        return {limbs,
                functionals,
                place.size,
                first,
                values.data() + place.start_value,
                costs.data() + place.start_cost,
                place.base};
    }
    Index bytes() const {
        return static_cast<Index>(places.capacity() * sizeof(Place) + keys.capacity() * sizeof(Key) +
                                  8 * (values.capacity() + costs.capacity()));
    }
    /// Begin a list of numbers by key, all 0; return them.
    Limb* add_dense(Key base, Index size) {
        places.push_back({-1, static_cast<Index>(values.size()), static_cast<Index>(costs.size()), size, base});
        values.resize(values.size() + static_cast<std::size_t>(size), 0);
        return values.data() + places.back().start_value;
    }
    /// Begin an empty list of cells.
    void add_sparse() {
        places.push_back({static_cast<Index>(keys.size()), static_cast<Index>(values.size()),
                          static_cast<Index>(costs.size()), 0, 0});
    }
    void add_cell(Key key, const Limb* value, const Index* cost) {
        ++places.back().size;
        keys.push_back(key);
        values.insert(values.end(), value, value + limbs);
        costs.insert(costs.end(), cost, cost + functionals);
    }
};

/// Tell whether numbers for all keys of a range take about as much room as cells do.
template <class Key>
bool is_narrow(Key range, Index cells) {
    return range <= 4 * static_cast<Key>(cells) + 16;
}

/// Sort the cells of a tensor by key.
template <class Key>
KeyLists<Key> sorted_by_key(const CellView<Key>& cells) {
    KeyLists<Key> lists;
    lists.limbs = cells.limbs;
    lists.functionals = cells.functionals;
    if (cells.size > 0 && cells.functionals == 0 && cells.limbs == 1) {
        const auto [low, high] = std::minmax_element(cells.keys, cells.keys + cells.size);
        if (is_narrow<Key>(*high - *low, cells.size)) {
            Limb* const values = lists.add_dense(*low, static_cast<Index>(*high - *low) + 1);
            for (Index i = 0; i < cells.size; ++i) values[static_cast<Index>(cells.keys[i] - *low)] = cells.values[i];
            return lists;
        }
    }
    std::vector<Index> order(static_cast<std::size_t>(cells.size));
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(), [&](Index a, Index b) { return cells.keys[a] < cells.keys[b]; });
    lists.add_sparse();
    lists.keys.reserve(order.size());
    for (const Index at : order) lists.add_cell(cells.keys[at], cells.value(at), cells.cost(at));
    return lists;
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
    const Index n1 = ones.size, n0 = zeros.size;
    if (n1 == 0 || n0 == 0) return;
    if (ones.is_dense() && zeros.is_dense()) {
        const Key apart = key - ones.base - zeros.base;  // of the two places
        const Index first = static_cast<Index>(std::max<Key>(0, apart - (n0 - 1)));
        const Index last = static_cast<Index>(std::min<Key>(n1 - 1, apart));
        for (Index i = first; i <= last; ++i) {
            const Index j = static_cast<Index>(apart - i);
            if (ones.values[i] != 0 && zeros.values[j] != 0 && use(i, j)) return;
        }
        return;
    }
    if (ones.is_dense() || zeros.is_dense()) {
        for (Index i = 0; i < n1; ++i) {
            if (ones.is_dense() && ones.values[i] == 0) continue;
            const Index j = zeros.find(key - ones.key(i));
            if (j >= 0 && use(i, j)) return;
        }
        return;
    }
    // One pass from both ends, begun where the other list has keys large enough; comparisons are
    // added, not branched on.
    const Key* const k1 = ones.keys;
    const Key* const k0 = zeros.keys;
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

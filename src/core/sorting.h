// Sorting lists of cells: by first cost, then by key; adding up equal keys.
#pragma once

#include <algorithm>
#include <vector>

#include "cells.h"
#include "radix.h"

namespace adtc {

/// Sorts parts of lists; keeps its room from one to the next.
template <class Key>
class CellSorter {
public:
    void sort(Cells<Key>& cells, Index start, Index stop) {
        const Index n = stop - start;
        if (n < 2) return;
        const Key* const keys = cells.keys.data() + start;
        const bool by_key = std::is_sorted(keys, keys + n);
        if (cells.functionals == 0 ? by_key : is_sorted(cells, start, stop)) return;
        if (n <= kFew)
            order_few(cells, start, n);
        else
            order_many(cells, start, n, by_key);
        arrange(cells, start, n);
    }

private:
    static constexpr Index kFew = 100;  // cells that are sorted fastest by comparison

    struct Entry {
        Index cost;
        Key key;
        Index at;

        bool operator<(const Entry& other) const { return cost != other.cost ? cost < other.cost : key < other.key; }
    };

    static bool is_sorted(Cells<Key>& cells, Index start, Index stop) {
        for (Index k = start + 1; k < stop; ++k) {
            const Index before = cells.cost(k - 1)[0], here = cells.cost(k)[0];
            if (before > here || (before == here && cells.keys[k - 1] > cells.keys[k])) return false;
        }
        return true;
    }
    void order_few(Cells<Key>& cells, Index start, Index n) {
        entries_.resize(static_cast<std::size_t>(n));
        for (Index k = 0; k < n; ++k)
            entries_[k] = {cells.functionals ? cells.cost(start + k)[0] : 0, cells.keys[start + k], k};
        std::sort(entries_.begin(), entries_.end());
        order_.resize(n);
        for (Index k = 0; k < n; ++k) order_[k] = entries_[k].at;
    }
    /// Sort by key, unless that is done, and then by cost.
    void order_many(Cells<Key>& cells, Index start, Index n, bool by_key) {
        order_.resize(n);
        const Key* const keys = cells.keys.data() + start;
        for (Index k = 0; k < n; ++k) order_[k] = k;
        if (!by_key) {
            const auto [low, high] = extremes(keys, n);
            sorter_.sort(n, low, high, [keys](Index k) { return keys[k]; });
            for (Index k = 0; k < n; ++k) order_[k] = sorter_.place(k);
        }
        if (cells.functionals == 0) return;
        first_.resize(n);
        for (Index k = 0; k < n; ++k) first_[k] = cells.cost(start + order_[k])[0];
        const auto [low, high] = extremes(first_.data(), n);
        sorter_.sort(n, low, high, [this](Index k) { return first_[k]; });
        for (Index k = 0; k < n; ++k) first_[k] = order_[sorter_.place(k)];
        order_.swap(first_);
    }
    /// Put the cells into the order that was found.
    void arrange(Cells<Key>& cells, Index start, Index n) {
        old_.limbs = cells.limbs;
        old_.functionals = cells.functionals;
        old_.resize(n);
        std::copy_n(cells.keys.data() + start, n, old_.keys.data());
        std::copy_n(cells.value(start), n * cells.limbs, old_.values.data());
        std::copy_n(cells.cost(start), n * cells.functionals, old_.costs.data());
        for (Index k = 0; k < n; ++k) {
            const Index at = order_[k];
            cells.keys[start + k] = old_.keys[at];
            for (Index l = 0; l < cells.limbs; ++l) cells.value(start + k)[l] = old_.value(at)[l];
            for (Index d = 0; d < cells.functionals; ++d) cells.cost(start + k)[d] = old_.cost(at)[d];
        }
    }

    NumberOrder sorter_;
    Buffer<Index> order_, first_;
    std::vector<Entry> entries_;
    Cells<Key> old_;
};

/// Append part of a list to another, sorted by key, equal keys added up.
template <class Key, int L>
void sum_by_key(const Cells<Key>& cells, Index start, Index stop, Limbs<L> limbs, NumberOrder& order,
                Cells<Key>& list) {
    const Index n = stop - start, functionals = list.functionals;
    if (n == 0) return;
    const Key* const keys = cells.keys.data() + start;
    const Limb* const values = cells.values.data() + start * cells.limbs;
    const Index* const costs = cells.costs.data() + start * functionals;
    const auto [low, high] = extremes(keys, n);
    order.sort(n, low, high, [keys](Index k) { return keys[k]; });
    const Index first = list.size();
    Index at = first - 1;
    list.resize(first + n);
    Key* const sums = list.keys.data();
    for (Index k = 0; k < n; ++k) {
        const Index from = order.place(k);
        if (at >= first && keys[from] == sums[at]) {
            limbs.add(list.value(at), values + from * limbs.size());
            continue;
        }
        // a cell whose trees were all taken back makes room for the next
        if (at < first || limbs.positive(list.value(at))) ++at;
        sums[at] = keys[from];
        limbs.copy(values + from * limbs.size(), limbs.size(), list.value(at));
        for (Index d = 0; d < functionals; ++d) list.cost(at)[d] = costs[from * functionals + d];
    }
    list.resize(limbs.positive(list.value(at)) ? at + 1 : at);
}

}  // namespace adtc

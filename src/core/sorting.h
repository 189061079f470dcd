// Sorting lists of cells: by first cost, then by key.
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
        if (n <= kFew || !order_by_digits(cells, start, n, by_key)) order_by_comparison(cells, start, n);
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
    void order_by_comparison(Cells<Key>& cells, Index start, Index n) {
        entries_.resize(static_cast<std::size_t>(n));
        for (Index k = 0; k < n; ++k)
            entries_[k] = {cells.functionals ? cells.cost(start + k)[0] : 0, cells.keys[start + k], k};
        std::sort(entries_.begin(), entries_.end());
        order_.resize(n);
        for (Index k = 0; k < n; ++k) order_[k] = entries_[k].at;
    }
    /// Sort by key, unless that is done, and then by cost; return false if keys or costs are too far apart.
    bool order_by_digits(Cells<Key>& cells, Index start, Index n, bool by_key) {
        order_.resize(n);
        for (Index k = 0; k < n; ++k) order_[k] = k;
        const Key* const keys = cells.keys.data() + start;
        if (!by_key && !order_by(n, [keys](Index at) { return keys[at]; })) return false;
        if (cells.functionals == 0) return true;
        return order_by(n, [&](Index at) { return cells.cost(start + at)[0]; });
    }
    /// Sort the order that there is by a number of each cell.
    template <class Number>
    bool order_by(Index n, Number number) {
        auto low = number(0), high = low;
        for (Index k = 1; k < n; ++k) {
            low = std::min(low, number(k));
            high = std::max(high, number(k));
        }
        const Packing packing(low, high, n);
        if (!packing.fits()) return false;
        std::uint64_t* const room = sorter_.prepare(n);
        for (Index k = 0; k < n; ++k) room[k] = packing.pack(number(order_[k]), order_[k]);
        const std::uint64_t* const sorted = sorter_.sort(n, packing.place_bits, packing.place_bits + packing.key_bits);
        for (Index k = 0; k < n; ++k) order_[k] = packing.place(sorted[k]);
        return true;
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
            std::copy_n(old_.value(at), cells.limbs, cells.value(start + k));
            std::copy_n(old_.cost(at), cells.functionals, cells.cost(start + k));
        }
    }

    RadixSorter sorter_;
    Buffer<Index> order_;
    std::vector<Entry> entries_;
    Cells<Key> old_;
};

}  // namespace adtc

// Sorting lists of cells: by first cost, then by key.
#pragma once

#include <vector>

#include "cells.h"

namespace adtc {

/// Sorts parts of lists; keeps its room from one to the next.
template <class Key>
class CellSorter {
  public:
    void sort(Cells<Key>& cells, Index start, Index stop) {
        const Index n = stop - start;
        if (n < 2) return;
        order_.resize(static_cast<std::size_t>(n));
        const bool costs = cells.functionals > 0;
        for (Index k = 0; k < n; ++k)
            order_[k] = {costs ? cells.cost(start + k)[0] : 0, cells.keys[start + k], k};
        if (std::is_sorted(order_.begin(), order_.end())) return;
        std::sort(order_.begin(), order_.end());
        old_.limbs = cells.limbs;
        old_.functionals = cells.functionals;
        old_.resize(n);
        std::copy_n(cells.value(start), n * cells.limbs, old_.values.data());
        std::copy_n(cells.cost(start), n * cells.functionals, old_.costs.data());
        for (Index k = 0; k < n; ++k) {
            const Index at = order_[k].at;
            cells.keys[start + k] = order_[k].key;
            std::copy_n(old_.value(at), cells.limbs, cells.value(start + k));
            std::copy_n(old_.cost(at), cells.functionals, cells.cost(start + k));
        }
    }

  private:
    struct Entry {
        Index cost;
        Key key;
        Index at;

        bool operator<(const Entry& other) const { return cost != other.cost ? cost < other.cost : key < other.key; }
    };
    std::vector<Entry> order_;
    Cells<Key> old_;
};

}  // namespace adtc

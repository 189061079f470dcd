// Sums of products in an array over keys, block by block, for lists that are sorted by key.
//
// In an array over all keys every product waits for memory, and there may be far more keys than cells.
// So the array has room for a block of keys that caches hold; a cell of a summand's outer list goes
// over its inner list once, and stops at the end of each block.
#pragma once

#include <vector>

#include "leaves.h"
#include "products.h"

namespace adtc {

template <class Key, int L>
class BlockedSum {
public:
    explicit BlockedSum(Limbs<L> limbs) : limbs_(limbs), scaled_(static_cast<std::size_t>(limbs.size())) {}

    /// Append the sum of those cells and products whose keys are in the range, in the order of their keys;
    /// `check` is called between blocks.
    template <class Check>
    void append(const CellView<Key>& more, const std::vector<Summand<Key>>& summands, const KeyRange<Key>& range,
                Cells<Key>& list, Check check) {
        const Index width = begin(summands, range);
        for (Key low = range.low, end = range.low + range.width; low < end; low += width) {
            const Key stop = std::min<Key>(end, low + width);
            std::fill(sums_.begin(), sums_.end(), 0);
            for (Index k = 0; k < more.size; ++k)
                if (more.keys[k] >= low && more.keys[k] < stop) limbs_.add(find(more.keys[k] - low), more.value(k));
            for (std::size_t s = 0; s < summands.size(); ++s) add(summands[s], places_[s], low, stop);
            collect(low, static_cast<Index>(stop - low), list);
            check();
        }
    }

private:
    static constexpr Index kBlockBytes = Index{1} << 19;  // half of a usual second cache
    static constexpr Index kAtOnce = 8;                   // products of a cell of an outer list in a block, or more

    /// How far a summand has come.
    struct Place {
        Index first = 0;           ///< cell of the outer list that is not done
        std::vector<Index> inner;  ///< [outer cell]: the next one of the inner list
    };

    /// Choose the width of a block, and make room.
    Index begin(const std::vector<Summand<Key>>& summands, const KeyRange<Key>& range) {
        Index products = 1, rows = 0;
        places_.resize(summands.size());
        for (std::size_t s = 0; s < summands.size(); ++s) {
            places_[s].first = 0;
            find_first(summands[s], range.low, places_[s].inner);
            products += summands[s].pairs();
            rows += summands[s].outer.size;
        }
        // with narrower blocks, coming back to cells would take longer than the products
        const Key cached = kBlockBytes / 8 / limbs_.size(), worth = range.width / (products / (kAtOnce * rows + 1) + 1);
        const auto width = static_cast<Index>(std::min(range.width, std::max(cached, worth)));
        sums_.resize(static_cast<std::size_t>(width * limbs_.size()));
        return width;
    }

    /// Find the first inner cell whose product with each outer one is in the range.
    static void find_first(const Summand<Key>& s, Key low, std::vector<Index>& inner) {
        inner.assign(static_cast<std::size_t>(s.outer.size), 0);
        const Key *const keys = s.inner.keys, *const end = keys + s.inner.size;
        for (Index i = 0; i < s.outer.size && s.inner.size > 0 && s.outer.keys[i] + keys[0] < low; ++i)
            inner[i] = std::lower_bound(keys, end, low - s.outer.keys[i]) - keys;
    }

    Limb* find(Key at) { return sums_.data() + static_cast<Index>(at) * limbs_.size(); }

    /// Add the products of a summand below a key, from where it has come to.
    void add(const Summand<Key>& s, Place& place, Key low, Key stop) {
        const Index last = s.inner.size;
        if (last == 0) return;
        const Key* const keys = s.inner.keys;
        while (place.first < s.outer.size && place.inner[place.first] == last) ++place.first;
        for (Index i = place.first; i < s.outer.size; ++i) {
            const Key key = s.outer.keys[i], below = stop - key;
            if (keys[0] >= below) break;  // sorted: no later cell is lower
            Index j = place.inner[i];
            if (j == last || keys[j] >= below) continue;
            limbs_.scale(s.outer.value(i), s.outer.limbs, s.factor, scaled_.data());
            const Key offset = key - low;
            do limbs_.add_product(find(offset + keys[j]), scaled_.data(), s.inner.value(j), s.inner.limbs);
            while (++j < last && keys[j] < below);
            place.inner[i] = j;
        }
    }

    /// Append the cells with trees.
    void collect(Key low, Index width, Cells<Key>& list) {
        Index at = list.size(), cells = 0;
        for (Index k = 0; k < width; ++k) cells += limbs_.positive(find(k));
        list.resize(at + cells);
        for (Index k = 0; k < width && cells > 0; ++k) {
            if (!limbs_.positive(find(k))) continue;
            list.keys[at] = low + k;
            limbs_.copy(find(k), limbs_.size(), list.value(at++));
        }
    }

    Limbs<L> limbs_;
    std::vector<Limb> scaled_;
    std::vector<Limb> sums_;  ///< [key − low][limb]
    std::vector<Place> places_;
};

}  // namespace adtc

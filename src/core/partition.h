// Sums of more products than the processor's caches hold: partitioned by key.
//
// In a large hash table every product waits for memory. Here the products of a path are counted by
// ranges of keys, written next to the others of their range, and then sorted and summed range by
// range, each of which fits the cache. Ranges that together exceed the room are swept one after
// another; the products are made anew for each sweep, which is cheap.
#pragma once

#include <tuple>

#include "control.h"
#include "filter.h"
#include "sorting.h"

namespace adtc {

template <class Key, int L>
class PartitionedSum {
public:
    explicit PartitionedSum(Limbs<L> limbs) : limbs_(limbs), scaled_(static_cast<std::size_t>(limbs.size())) {}

    /// Append the sum of some cells and of all products within the budgets, sorted by key. Do nothing and
    /// return false if too many products share a few keys: these are best added up by hash.
    bool append(const CellView<Key>& more, const std::vector<Summand<Key>>& summands, std::span<const Index> budgets,
                Index most_bytes, const Control& control, Cells<Key>& list) {
        control_ = &control;
        parted_.limbs = list.limbs;
        parted_.functionals = list.functionals;
        count(more, summands, budgets);
        const Index room = std::min(kSweepBytes, most_bytes / 4) / parted_.width(), start = list.size();
        if (*std::max_element(counts_.begin(), counts_.end()) > static_cast<std::uint64_t>(std::max<Index>(room, 1)))
            return false;
        for (Index from = 0; from < kBins;) {
            from = next_sweep(from, room);
            parted_.resize(ends_.back());
            write(more);
            write(summands, budgets);
            Index begin = 0;
            for (const Index end : ends_) {
                sum_by_key(parted_, begin, end, limbs_, sorter_, list);
                begin = end;
                if ((list.size() - start) * list.width() > most_bytes) throw OutOfMemory();
            }
            control.check();
        }
        return true;
    }

private:
    static constexpr Index kBins = Index{1} << 16;        // ranges of keys that are never divided
    static constexpr Index kParts = 512;                  // places in memory that can be written at in turn
    static constexpr Index kSweepBytes = Index{1} << 29;  // of products held at once

    std::size_t bin(Key key) const { return static_cast<std::size_t>((key - low_) >> shift_); }

    /// Count cells and products by bin.
    void count(const CellView<Key>& more, const std::vector<Summand<Key>>& summands, std::span<const Index> budgets) {
        find_range(more, summands);
        counts_.assign(kBins, 0);
        for (Index k = 0; k < more.size; ++k) ++counts_[bin(more.keys[k])];
        for_each_row(summands, budgets, filter_, [&](const Summand<Key>& s, Index i, const auto& fitting) {
            const Key key = s.outer.keys[i] - low_;
            const Key* const keys = s.inner.keys;
            if (fitting.at == nullptr)
                for (Index j = 0; j < fitting.count; ++j)
                    ++counts_[static_cast<std::size_t>((key + keys[j]) >> shift_)];
            else
                for (Index k = 0; k < fitting.count; ++k)
                    ++counts_[static_cast<std::size_t>((key + keys[fitting.at[k]]) >> shift_)];
            if ((++rows_ & 1023) == 0) control_->check();
        });
    }
    void find_range(const CellView<Key>& more, const std::vector<Summand<Key>>& summands) {
        Key low = std::numeric_limits<Key>::max(), high = std::numeric_limits<Key>::min();
        if (more.size > 0) std::tie(low, high) = extremes(more.keys, more.size);
        for (const auto& s : summands) {
            if (s.outer.size == 0 || s.inner.size == 0) continue;
            const auto [low1, high1] = extremes(s.outer.keys, s.outer.size);
            const auto [low0, high0] = extremes(s.inner.keys, s.inner.size);
            low = std::min<Key>(low, low1 + low0);
            high = std::max<Key>(high, high1 + high0);
        }
        low_ = low;
        shift_ = 0;
        while (low <= high && (high - low) >> shift_ >= kBins) ++shift_;
    }

    /// Divide as many bins as hold `most` products, from the first on, into parts; return the next bin.
    Index next_sweep(Index first, Index most) {
        Index after = first, products = 0;
        while (after < kBins && (products == 0 || products + static_cast<Index>(counts_[after]) <= most))
            products += counts_[after++];
        part_of_.assign(kBins, kElsewhere);
        starts_.assign(1, 0);
        const Index enough = products / kParts + 1;
        Index before = 0;
        for (Index k = first; k < after; ++k) {
            if (before - starts_.back() >= enough) starts_.push_back(before);
            part_of_[k] = static_cast<std::uint16_t>(starts_.size() - 1);
            before += counts_[k];
        }
        ends_.assign(starts_.begin() + 1, starts_.end());
        ends_.push_back(products);
        return after;
    }

    /// Write the cells of this sweep to their parts.
    void write(const CellView<Key>& more) {
        for (Index k = 0; k < more.size; ++k) {
            const std::uint16_t part = part_of_[bin(more.keys[k])];
            if (part == kElsewhere) continue;
            const Index at = starts_[part]++;
            parted_.keys[at] = more.keys[k];
            limbs_.copy(more.value(k), limbs_.size(), parted_.value(at));
            std::copy_n(more.cost(k), parted_.functionals, parted_.cost(at));
        }
    }
    /// Write the products of this sweep to their parts.
    void write(const std::vector<Summand<Key>>& summands, std::span<const Index> budgets) {
        for_each_row(summands, budgets, filter_, [&](const Summand<Key>& s, Index i, const auto& fitting) {
            limbs_.scale(s.outer.value(i), s.outer.limbs, s.factor, scaled_.data());
            const Key key = s.outer.keys[i];
            const Index* const cost = s.outer.cost(i);
            for (Index k = 0; k < fitting.count; ++k) {
                const Index j = fitting.at ? fitting.at[k] : k;
                const Key sum = key + s.inner.keys[j];
                const std::uint16_t part = part_of_[bin(sum)];
                if (part == kElsewhere) continue;
                const Index at = starts_[part]++;
                parted_.keys[at] = sum;
                Limb* const value = parted_.value(at);
                if constexpr (L == 1) {
                    value[0] = scaled_[0] * s.inner.values[j];
                } else {
                    limbs_.clear(value);
                    limbs_.add_product(value, scaled_.data(), s.inner.value(j), s.inner.limbs);
                }
                for (Index d = 0; d < parted_.functionals; ++d) parted_.cost(at)[d] = cost[d] + s.inner.cost(j)[d];
            }
            if ((++rows_ & 1023) == 0) control_->check();
        });
    }

    static constexpr std::uint16_t kElsewhere = 0xffff;

    Limbs<L> limbs_;
    const Control* control_ = nullptr;
    std::vector<Limb> scaled_;
    CostFilter<Key> filter_;
    NumberOrder sorter_;
    Key low_ = 0;
    int shift_ = 0;
    Index rows_ = 0;
    std::vector<std::uint64_t> counts_;   ///< [bin]: products
    std::vector<std::uint16_t> part_of_;  ///< [bin]
    std::vector<Index> starts_, ends_;    ///< [part]: where to write next; where it ends
    Cells<Key> parted_;
};

}  // namespace adtc

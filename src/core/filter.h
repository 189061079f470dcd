// Which cells of a list fit what is left of the budgets, compared a vector at a time.
#pragma once

#include <vector>

#include "products.h"
#include "radix.h"
#include "simd.h"

namespace adtc {

/// The inner list of a summand, its costs by functional; the first one is settled by its order.
template <class Key>
class CostFilter {
public:
    /// Look at another summand.
    void load(const Summand<Key>& s, std::span<const Index> budgets) {
        summand_ = &s;
        budgets_ = budgets;
        stop_ = s.inner.size;
        row_ = -1;
        if (budgets.size() < 2) return;
        const Index n = s.inner.size, others = static_cast<Index>(budgets.size()) - 1;
        found_.resize(n + kLanes<std::int32_t>);
        low_.resize(budgets.size());
        narrow_ = true;
        for (Index d = 1; d <= others && n > 0; ++d) {
            Index low = s.inner.cost(0)[d], high = low;
            for (Index j = 1; j < n; ++j) {
                low = std::min(low, s.inner.cost(j)[d]);
                high = std::max(high, s.inner.cost(j)[d]);
            }
            low_[d] = low;
            narrow_ = narrow_ && high - low < std::numeric_limits<std::int32_t>::max();
        }
        if (!narrow_) return;
        stride_ = n + kLanes<std::int32_t>;  // lanes beyond the list are read, not used
        costs_.resize(others * stride_);
        for (Index d = 1; d <= others; ++d)
            for (Index j = 0; j < n; ++j)
                costs_[(d - 1) * stride_ + j] = static_cast<std::int32_t>(s.inner.cost(j)[d] - low_[d]);
    }

    /// The cells that fit together with one of the outer list.
    struct Fitting {
        Index looked = 0;                   ///< leading cells, whose first cost fits
        Index count = 0;                    ///< cells that fit
        const std::uint32_t* at = nullptr;  ///< their places; none if all that were looked at fit
    };

    /// Find the cells that fit with cell i of the outer list; to be called for i = 0, 1, …
    Fitting find(Index i) {
        const Index* const cost = summand_->outer.cost(i);
        if (budgets_.empty()) return {stop_, stop_, nullptr};
        if (row_ < 0 || cost[0] != summand_->outer.cost(row_)[0])
            stop_ = affordable(summand_->inner.part(0, stop_), budgets_[0] - cost[0]);
        row_ = i;
        if (budgets_.size() == 1 || stop_ == 0) return {stop_, stop_, nullptr};
        return {stop_, narrow_ ? find_narrow(cost) : find_wide(cost), found_.data()};
    }

private:
    Index find_narrow(const Index* cost) {
        const Index others = static_cast<Index>(budgets_.size()) - 1;
        limits_.resize(static_cast<std::size_t>(others));
        for (Index d = 1; d <= others; ++d) {
            const Index left = budgets_[d] - cost[d] - low_[d];
            if (left < 0) return 0;
            limits_[d - 1] = static_cast<std::int32_t>(std::min<Index>(left, std::numeric_limits<std::int32_t>::max()));
        }
        Index n = 0;
#if defined(__AVX512F__)
        __m512i places = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
        const __m512i step = _mm512_set1_epi32(16);
        for (Index j = 0; j < stop_; j += 16, places = _mm512_add_epi32(places, step)) {
            __mmask16 fits = stop_ - j >= 16 ? 0xffff : static_cast<__mmask16>((1u << (stop_ - j)) - 1);
            for (Index d = 0; d < others; ++d)
                fits = _mm512_mask_cmple_epi32_mask(fits, _mm512_loadu_si512(costs_.data() + d * stride_ + j),
                                                    _mm512_set1_epi32(limits_[d]));
            _mm512_storeu_si512(found_.data() + n, _mm512_maskz_compress_epi32(fits, places));
            n += std::popcount(static_cast<unsigned>(fits));
        }
#else
        for (Index j = 0; j < stop_; ++j) {
            bool fits = true;
            for (Index d = 0; d < others; ++d) fits &= costs_[d * stride_ + j] <= limits_[d];
            found_[n] = static_cast<std::uint32_t>(j);
            n += fits;
        }
#endif
        return n;
    }
    Index find_wide(const Index* cost) {
        Index n = 0;
        for (Index j = 0; j < stop_; ++j) {
            found_[n] = static_cast<std::uint32_t>(j);
            n += fits(cost, summand_->inner.cost(j), budgets_);
        }
        return n;
    }

    const Summand<Key>* summand_ = nullptr;
    std::span<const Index> budgets_;
    Index stop_ = 0;       ///< cells whose first cost fits
    Index row_ = -1;       ///< of the outer list
    bool narrow_ = false;  ///< do 32 bits hold the costs, less their least?
    Index stride_ = 0;
    std::vector<Index> low_;      ///< [functional]: the least cost
    Buffer<std::int32_t> costs_;  ///< [functional − 1][cell], less the least
    std::vector<std::int32_t> limits_;
    Buffer<std::uint32_t> found_;
};

/// Call `use(summand, outer cell, fitting)` for all products within the budgets, as far as there are any.
template <class Key, class Use>
void for_each_row(const std::vector<Summand<Key>>& summands, std::span<const Index> budgets, CostFilter<Key>& filter,
                  Use use) {
    for (const auto& s : summands) {
        filter.load(s, budgets);
        for (Index i = 0; i < s.outer.size; ++i) {
            const auto fitting = filter.find(i);
            if (fitting.looked == 0) break;  // sorted: no later cell is cheaper
            use(s, i, fitting);
        }
    }
}

}  // namespace adtc

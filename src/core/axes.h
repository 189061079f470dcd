// Reading the values of axes out of packed keys.
#pragma once

#include <bit>

#include "cells.h"

namespace adtc {

/// One digit of packed keys: (key − low) / stride mod radix, plus the axis's least value.
template <class Key>
struct AxisDigit {
    Key low = 0;     ///< the least key
    Key stride = 1;  ///< at least 1
    Key radix = 1;   ///< at least 1
    Index offset = 0;
};

/// Divides by a number that is known before: a product and a shift take less time than a division.
class Divider {
  public:
    explicit Divider(std::uint64_t divisor) : shift_(std::bit_width(divisor - 1)) {
        // Granlund and Montgomery: floor(2^64 (2^shift − divisor) / divisor) + 1
        const TwoLimbs rest = (static_cast<TwoLimbs>(1) << shift_) - divisor;
        factor_ = static_cast<std::uint64_t>((rest << 64) / divisor) + 1;
    }
    std::uint64_t operator()(std::uint64_t n) const {
        const auto high = static_cast<std::uint64_t>(static_cast<TwoLimbs>(factor_) * n >> 64);
        return shift_ == 0 ? n : (high + ((n - high) >> 1)) >> (shift_ - 1);
    }

  private:
    int shift_;
    std::uint64_t factor_ = 0;
};

/// Read an axis's value in every key. Divisions round down, also below `low`.
template <class Key>
void unpack_axis(std::span<const Key> keys, const AxisDigit<Key>& axis, Index* out) {
    const auto floored = [](Key a, Key b) -> Key { return a / b - (a % b < 0); };
    const auto slowly = [&](Key key) {
        const Key digits = floored(key - axis.low, axis.stride);
        return static_cast<Index>(digits - floored(digits, axis.radix) * axis.radix) + axis.offset;
    };
    if constexpr (sizeof(Key) == 8) {
        const Divider stride(static_cast<std::uint64_t>(axis.stride)), radix(static_cast<std::uint64_t>(axis.radix));
        for (std::size_t i = 0; i < keys.size(); ++i) {
            if (keys[i] < axis.low) {
                out[i] = slowly(keys[i]);
                continue;
            }
            const std::uint64_t digits = stride(static_cast<std::uint64_t>(keys[i]) - static_cast<std::uint64_t>(axis.low));
            out[i] = static_cast<Index>(digits - radix(digits) * static_cast<std::uint64_t>(axis.radix)) + axis.offset;
        }
    } else {
        for (std::size_t i = 0; i < keys.size(); ++i) out[i] = slowly(keys[i]);
    }
}

}  // namespace adtc

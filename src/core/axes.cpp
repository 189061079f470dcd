#include "axes.h"

#include <bit>

namespace adtc {
namespace {

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

template <class Key>
Index digit_of(Key key, const AxisDigit<Key>& axis) {
    const auto floored = [](Key a, Key b) -> Key { return a / b - (a % b < 0); };
    const Key digits = floored(key - axis.low, axis.stride);
    return static_cast<Index>(digits - floored(digits, axis.radix) * axis.radix) + axis.offset;
}

}  // namespace

template <>
void unpack_axis(std::span<const Index> keys, const AxisDigit<Index>& axis, Index* out) {
    const auto low = static_cast<std::uint64_t>(axis.low), base = static_cast<std::uint64_t>(axis.radix);
    const Divider stride(static_cast<std::uint64_t>(axis.stride)), radix(base);
    for (std::size_t i = 0; i < keys.size(); ++i) {
        if (keys[i] < axis.low) {
            out[i] = digit_of(keys[i], axis);
            continue;
        }
        const std::uint64_t digits = stride(static_cast<std::uint64_t>(keys[i]) - low);
        out[i] = static_cast<Index>(digits - radix(digits) * base) + axis.offset;
    }
}

template <>
void unpack_axis(std::span<const WideKey> keys, const AxisDigit<WideKey>& axis, Index* out) {
    for (std::size_t i = 0; i < keys.size(); ++i) out[i] = digit_of(keys[i], axis);
}

template <class N>
void copy_marked(Grid<const N> rows, std::span<const bool> marked, N* out) {
    for (Index i = 0; i < rows.rows; ++i) {
        if (!marked[i]) continue;
        for (Index j = 0; j < rows.columns; ++j) *out++ = rows[i][j];
    }
}

template void copy_marked(Grid<const Index>, std::span<const bool>, Index*);
template void copy_marked(Grid<const Limb>, std::span<const bool>, Limb*);

}  // namespace adtc

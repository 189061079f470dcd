// Division and comparison of numbers of several limbs, whose lengths are known at run time only.
#pragma once

#include <algorithm>
#include <vector>

#include "limbs.h"

namespace adtc {

inline bool is_below(const Limb* a, const Limb* b, Index limbs) {
    for (Index i = limbs - 1; i >= 0; --i)
        if (a[i] != b[i]) return a[i] < b[i];
    return false;
}

inline void subtract(Limb* a, const Limb* b, Index limbs) {
    Limb borrow = 0;
    for (Index i = 0; i < limbs; ++i) {
        const TwoLimbs taken = static_cast<TwoLimbs>(b[i]) + borrow;
        borrow = a[i] < taken;
        a[i] -= static_cast<Limb>(taken);
    }
}

/// Divide by one limb in place; return the remainder.
inline Limb divide(Limb* a, Index limbs, Limb by) {
    if (limbs == 1) {
        const Limb rest = a[0] % by;
        a[0] /= by;
        return rest;
    }
    Limb rest = 0;
    for (Index i = limbs - 1; i >= 0; --i) {
        const TwoLimbs here = Limbs<2>::join(a[i], rest);
        a[i] = static_cast<Limb>(here / by);
        rest = static_cast<Limb>(here % by);
    }
    return rest;
}

/// Divide in place by a number of at most as many limbs; the remainder goes to `rest`, which has room for `limbs`.
inline void divide(Limb* a, Index limbs, const Limb* by, Index by_limbs, Limb* rest) {
    Index used = by_limbs;
    while (used > 1 && by[used - 1] == 0) --used;
    std::fill_n(rest, limbs, 0);
    if (used == 1) {
        rest[0] = divide(a, limbs, by[0]);
        return;
    }
    if (limbs == 2) {
        const TwoLimbs top = Limbs<2>::join(a[0], a[1]), bottom = Limbs<2>::join(by[0], by[1]);
        const TwoLimbs quotient = top / bottom, left = top % bottom;
        a[0] = static_cast<Limb>(quotient), a[1] = static_cast<Limb>(quotient >> 64);
        rest[0] = static_cast<Limb>(left), rest[1] = static_cast<Limb>(left >> 64);
        return;
    }
    // bit by bit: numbers this long are rare, and short
    std::vector<Limb> divisor(static_cast<std::size_t>(limbs) + 1, 0), left(static_cast<std::size_t>(limbs) + 1, 0);
    std::copy_n(by, used, divisor.data());
    for (Index bit = 64 * limbs - 1; bit >= 0; --bit) {
        for (Index i = limbs; i > 0; --i) left[i] = left[i] << 1 | left[i - 1] >> 63;
        left[0] = left[0] << 1 | (a[bit / 64] >> (bit % 64) & 1);
        const bool fits = !is_below(left.data(), divisor.data(), limbs + 1);
        if (fits) subtract(left.data(), divisor.data(), limbs + 1);
        a[bit / 64] = (a[bit / 64] & ~(Limb{1} << (bit % 64))) | static_cast<Limb>(fits) << (bit % 64);
    }
    std::copy_n(left.data(), limbs, rest);
}

/// Add the product of two numbers of `limbs` limbs each to one of `width`; what runs over is lost.
inline void add_product(Limb* total, Index width, const Limb* a, const Limb* b, Index limbs) {
    if (width == 1) {
        total[0] += a[0] * b[0];
        return;
    }
    for (Index i = 0; i < limbs && i < width; ++i) {
        Limb carry = 0;
        Index j = 0;
        for (; j < limbs && i + j < width; ++j) {
            // at most (2^64 - 1)^2 + 2 (2^64 - 1) = 2^128 - 1
            const TwoLimbs sum = static_cast<TwoLimbs>(a[i]) * b[j] + total[i + j] + carry;
            total[i + j] = static_cast<Limb>(sum);
            carry = static_cast<Limb>(sum >> 64);
        }
        for (; carry != 0 && i + j < width; ++j) {
            total[i + j] += carry;
            carry = total[i + j] < carry;
        }
    }
}

}  // namespace adtc

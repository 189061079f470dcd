// Numbers of several 64-bit limbs, lowest first, modulo 2^(64 · limbs).
#pragma once

#include "views.h"

namespace adtc {

using Limb = std::uint64_t;
using TwoLimbs = unsigned __int128;

/// Arithmetic on numbers of L limbs; with L = 0 as many as `count` says. Numbers are read and written
/// in place, so a list of them is one array [number][limb]. Whoever adds proves that sums fit; on the
/// way they may go below 0, which stands for 2^(64 · limbs) more.
template <int L>
struct Limbs {
    Index count = L;

    constexpr Index size() const { return L > 0 ? L : count; }

    void clear(Limb* number) const {
        for (Index i = 0; i < size(); ++i) number[i] = 0;
    }
    bool positive(const Limb* number) const {
        Limb any = 0;
        for (Index i = 0; i < size(); ++i) any |= number[i];
        return any != 0;
    }
    /// Copy a number of at most as many limbs.
    void copy(const Limb* from, Index limbs, Limb* to) const {
        for (Index i = 0; i < size(); ++i) to[i] = i < limbs ? from[i] : 0;
    }
    /// Add value · 2^(64 · at).
    void add(Limb* total, Limb value, Index at = 0) const {
        if constexpr (L == 1) {
            total[0] += value;
        } else {
            for (; value != 0 && at < size(); ++at) {
                total[at] += value;
                value = total[at] < value;
            }
        }
    }
    void add(Limb* total, const Limb* number) const {
        Limb carry = 0;
        for (Index i = 0; i < size(); ++i) {
            const TwoLimbs sum = static_cast<TwoLimbs>(total[i]) + number[i] + carry;
            total[i] = static_cast<Limb>(sum);
            carry = static_cast<Limb>(sum >> 64);
        }
    }
    void subtract(Limb* total, Limb value) const {
        for (Index i = 0; value != 0 && i < size(); ++i) {
            const Limb before = total[i];
            total[i] -= value;
            value = before < value;
        }
    }
    /// Write factor times a number of at most as many limbs.
    void scale(const Limb* number, Index limbs, Limb factor, Limb* out) const {
        Limb carry = 0;
        for (Index i = 0; i < size(); ++i) {
            const TwoLimbs sum = static_cast<TwoLimbs>(i < limbs ? number[i] : 0) * factor + carry;
            out[i] = static_cast<Limb>(sum);
            carry = static_cast<Limb>(sum >> 64);
        }
    }
    /// Add a · b; b may have fewer limbs.
    void add_product(Limb* total, const Limb* a, const Limb* b, Index limbs) const {
        if constexpr (L == 1) {
            total[0] += a[0] * b[0];
        } else if constexpr (L == 2) {
            TwoLimbs sum = join(total[0], total[1]) + static_cast<TwoLimbs>(a[0]) * b[0];
            sum += static_cast<TwoLimbs>(a[1] * b[0]) << 64;
            if (limbs > 1) sum += static_cast<TwoLimbs>(a[0] * b[1]) << 64;
            total[0] = static_cast<Limb>(sum);
            total[1] = static_cast<Limb>(sum >> 64);
        } else {
            for (Index j = 0; j < limbs; ++j) {
                if (b[j] == 0) continue;
                Limb carry = 0;
                for (Index i = 0; i + j < size(); ++i) {
                    // at most (2^64 - 1)^2 + 2 (2^64 - 1) = 2^128 - 1
                    const TwoLimbs sum = static_cast<TwoLimbs>(a[i]) * b[j] + total[i + j] + carry;
                    total[i + j] = static_cast<Limb>(sum);
                    carry = static_cast<Limb>(sum >> 64);
                }
            }
        }
    }

    static TwoLimbs join(Limb low, Limb high) { return static_cast<TwoLimbs>(high) << 64 | low; }
};

/// Call `use` with the arithmetic for so many limbs, beside keys of some width: next to wide ones, which
/// are rare, numbers of any size go one way, so that it is compiled once.
template <class Key, class Use>
decltype(auto) with_limbs(Index limbs, Use use) {
    if constexpr (sizeof(Key) == sizeof(Index)) {
        if (limbs == 1) return use(Limbs<1>{});
        if (limbs == 2) return use(Limbs<2>{});
    }
    return use(Limbs<0>{limbs});
}

}  // namespace adtc

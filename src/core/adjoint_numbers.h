// What adjoints are made of: exact numbers of several limbs, or doubles.
#pragma once

#include "big.h"

namespace adtc {

/// Exact numbers modulo 2^(64 · limbs). What is read in the end, numbers of trees, is below that;
/// sums may leave the range on the way, and differences may fall below 0.
template <int L>
struct Exact {
    using Word = Limb;
    static constexpr bool kExact = true;
    static constexpr bool kSingle = L == 1;  ///< one word, known when compiled
    Limbs<L> limbs;

    Index size() const { return limbs.size(); }
    bool positive(const Word* x) const { return limbs.positive(x); }
    void add(Word* total, const Word* x) const { limbs.add(total, x); }
    void subtract(Word* total, const Word* x) const { adtc::subtract(total, x, size()); }
    void scale(Word* x, Limb factor) const { limbs.scale(x, size(), factor, x); }
    /// Add x times a number of trees.
    void add_times(Word* total, const Word* x, const Limb* trees, Index width) const {
        limbs.add_product(total, x, trees, width);
    }
    /// Divide by what surely divides.
    void divide(Word* x, Limb by) const { adtc::divide(x, size(), by); }

    /// Numbers of words in sums over paths, which may be larger than any single number.
    Index wide() const { return size() + 1; }
    void add_wide(Word* total, const Word* x) const {
        Limb carry = 0;
        for (Index i = 0; i < size(); ++i) {
            const TwoLimbs sum = static_cast<TwoLimbs>(total[i]) + x[i] + carry;
            total[i] = static_cast<Limb>(sum);
            carry = static_cast<Limb>(sum >> 64);
        }
        total[size()] += carry;
    }
    void merge_wide(Word* total, const Word* x) const { Limbs<0>{wide()}.add(total, x); }
};

struct Real {
    using Word = double;
    static constexpr bool kExact = false;
    static constexpr bool kSingle = true;

    static constexpr Index size() { return 1; }
    static bool positive(const Word* x) { return *x != 0; }
    static void add(Word* total, const Word* x) { *total += *x; }
    static void subtract(Word* total, const Word* x) { *total -= *x; }
    static void scale(Word* x, Limb factor) { *x *= static_cast<double>(factor); }
    static void add_times(Word* total, const Word* x, const Limb* trees, Index width) {
        double number = 0;
        for (Index i = width - 1; i >= 0; --i) number = number * 0x1p64 + static_cast<double>(trees[i]);
        *total += *x * number;
    }
    static void divide(Word* x, Limb by) { *x /= static_cast<double>(by); }
    static constexpr Index wide() { return 1; }
    static void add_wide(Word* total, const Word* x) { *total += *x; }
    static void merge_wide(Word* total, const Word* x) { *total += *x; }
};

}  // namespace adtc

// Tensors as arrays over all keys that a path can have, for questions without budgets.
//
// Where a path has many more products than possible keys, as in a histogram of all trees by error,
// adding into an array is several times faster than into a hash table; and where the lists are dense,
// too, the sum is a convolution. Processors that multiply 52-bit integers in vectors do it on numbers
// cut into digits of 52 bits; for others, and for wider ranges of keys, see blocks.h.
#pragma once

#include <bit>
#include <vector>

#include "products.h"
#include "simd.h"

namespace adtc {

/// A list of cells without gaps: its values from the first key to the last.
template <class Key>
Index key_span(const CellView<Key>& list) {
    return list.size == 0 ? 0 : static_cast<Index>(list.keys[list.size - 1] - list.keys[0]) + 1;
}

/// Count the binary digits of the largest number of a list.
template <class Key>
Index bits_of(const CellView<Key>& list) {
    for (Index l = list.limbs - 1; l >= 0; --l) {
        Limb any = 0;
        for (Index i = 0; i < list.size; ++i) any |= list.value(i)[l];
        if (any != 0) return 64 * l + 64 - std::countl_zero(any);
    }
    return 0;
}

#if defined(__AVX512IFMA__)

/// Tell whether lists have so few gaps that it pays to multiply these, too, in vectors of 8.
template <class Key>
bool are_dense(const std::vector<Summand<Key>>& summands) {
    Index products = 0, spanned = 0;
    for (const auto& s : summands) {
        products += s.pairs();
        spanned += std::min(s.outer.size * key_span(s.inner), s.inner.size * key_span(s.outer));
    }
    return spanned <= 8 * products;
}

/// Sums of products of numbers cut into digits of 52 bits, an array over keys for each digit.
class Digits {
public:
    static constexpr Index kBits = 52;

    static Index planes(Index limbs) { return (64 * limbs + kBits - 1) / kBits; }
    /// Bound the room that sums and an inner list take.
    static Index bytes(Index width, Index limbs) { return 2 * planes(limbs) * (width + 2 * kBlock) * 8; }

    /// Numbers are taken modulo 2^(64 · limbs).
    Digits(Index width, Index limbs)
        : width_(width),
          planes_(planes(limbs)),
          stride_(width + 2 * kBlock),
          sums_(static_cast<std::size_t>(planes_ * stride_)) {}

    /// Add factor · outer ⊗ inner; `at` is the place of the sum of their first keys.
    template <class Key>
    void multiply(const CellView<Key>& outer, const CellView<Key>& inner, Limb factor, Index at) {
        const Index bits1 = bits_of(outer) + 64 - std::countl_zero(factor), bits0 = bits_of(inner);
        const Index digits1 = std::min(planes_, (bits1 + kBits - 1) / kBits), digits0 = (bits0 + kBits - 1) / kBits;
        const bool high = bits1 + bits0 > kBits;
        spread(inner, digits0);
        // per row a plane gets one low and one high half of each pair of digits that meet there
        const Index terms = 2 * std::max<Index>(1, std::min(digits1, digits0));
        const Index together = std::max<Index>(1, std::min(kMostRows, (kMostTerms - 1) / terms));
        for (Index from = 0; from < outer.size; from += together) {
            const Index rows = std::min(together, outer.size - from);
            cut(outer.part(from, from + rows), factor, digits1);
            if (terms_ + terms * rows > kMostTerms) carry();
            terms_ += terms * rows;
            const Index first = at + static_cast<Index>(outer.keys[from] - outer.keys[0]);
            for (Index i = 0; i < digits1; ++i)
                for (Index j = 0; j < digits0 && i + j < planes_; ++j)
                    if (high && i + j + 1 < planes_)
                        add<true>(i, j, rows, first);
                    else
                        add<false>(i, j, rows, first);
        }
    }
    /// Write the number of a key as limbs.
    void read(Index at, Limb* limbs, Index count) const {
        for (Index l = 0; l < count; ++l) limbs[l] = 0;
        for (Index p = 0; p < planes_; ++p) {
            const Index place = p * kBits / 64, shift = p * kBits % 64;
            const TwoLimbs digit = static_cast<TwoLimbs>(plane(p)[at]) << shift;
            Limb more = static_cast<Limb>(digit);
            for (Index l = place; l < count; ++l) {
                limbs[l] += more;
                more = static_cast<Limb>(limbs[l] < more) + (l == place ? static_cast<Limb>(digit >> 64) : 0);
            }
        }
    }

private:
    static constexpr Index kBlock = 32;        // keys summed up in registers
    static constexpr Index kMostRows = 256;    // cells of the outer list at once
    static constexpr Index kMostTerms = 4000;  // 4096 numbers of 52 bits fit a lane
    static constexpr Limb kMask = (Limb{1} << kBits) - 1;

    const Limb* plane(Index p) const { return sums_.data() + p * stride_ + kBlock; }
    Limb* plane(Index p) { return sums_.data() + p * stride_ + kBlock; }

    static Limb digit(const Limb* number, Index limbs, Index at) {
        const Index place = at * kBits / 64, shift = at * kBits % 64;
        Limb found = place < limbs ? number[place] >> shift : 0;
        if (shift > 64 - kBits && place + 1 < limbs) found |= number[place + 1] << (64 - shift);
        return found & kMask;
    }

    /// Lay out the inner list as digits, without gaps.
    template <class Key>
    void spread(const CellView<Key>& inner, Index digits) {
        span_ = key_span(inner);
        inner_stride_ = span_ + 2 * kBlock;
        inner_.assign(static_cast<std::size_t>(digits * inner_stride_), 0);
        for (Index d = 0; d < digits; ++d) {
            Limb* const out = inner_.data() + d * inner_stride_ + kBlock;
            for (Index i = 0; i < inner.size; ++i)
                out[static_cast<Index>(inner.keys[i] - inner.keys[0])] = digit(inner.value(i), inner.limbs, d);
        }
    }
    /// Cut the numbers of some outer cells into digits, times a factor.
    template <class Key>
    void cut(const CellView<Key>& outer, Limb factor, Index digits) {
        offsets_.resize(static_cast<std::size_t>(outer.size));
        outer_.resize(static_cast<std::size_t>(digits * kMostRows));
        const Limbs<0> wide{outer.limbs + 1};
        std::vector<Limb> scaled(static_cast<std::size_t>(outer.limbs + 1));
        for (Index i = 0; i < outer.size; ++i) {
            offsets_[i] = static_cast<Index>(outer.keys[i] - outer.keys[0]);
            wide.scale(outer.value(i), outer.limbs, factor, scaled.data());
            for (Index d = 0; d < digits; ++d) outer_[d * kMostRows + i] = digit(scaled.data(), outer.limbs + 1, d);
        }
    }

    /// Add the products of digit i of the outer cells with digit j of the inner ones.
    template <bool High>
    void add(Index i, Index j, Index rows, Index first) {
        constexpr int kVectors = kBlock / 8;
        const Limb* const values = outer_.data() + i * kMostRows;
        const Limb* const inner = inner_.data() + j * inner_stride_ + kBlock;
        Limb* const low = plane(i + j) + first;
        Limb* const above = High ? plane(i + j + 1) + first : low;
        const Index stop = offsets_[rows - 1] + span_;
        Index from = 0;
        for (Index k = 0; k < stop; k += kBlock) {
            while (from < rows && offsets_[from] + span_ <= k) ++from;
            __m512i lows[kVectors], highs[kVectors];
            for (int v = 0; v < kVectors; ++v) lows[v] = highs[v] = _mm512_setzero_si512();
            for (Index r = from; r < rows && offsets_[r] < k + kBlock; ++r) {
                const __m512i value = _mm512_set1_epi64(static_cast<long long>(values[r]));
                const Limb* const source = inner + (k - offsets_[r]);
                for (int v = 0; v < kVectors; ++v) {
                    const __m512i x = _mm512_loadu_si512(source + 8 * v);
                    lows[v] = _mm512_madd52lo_epu64(lows[v], x, value);
                    if constexpr (High) highs[v] = _mm512_madd52hi_epu64(highs[v], x, value);
                }
            }
            for (int v = 0; v < kVectors; ++v) {
                accumulate(low + k + 8 * v, lows[v]);
                if constexpr (High) accumulate(above + k + 8 * v, highs[v]);
            }
        }
    }
    static void accumulate(Limb* at, __m512i more) {
        _mm512_storeu_si512(at, _mm512_add_epi64(_mm512_loadu_si512(at), more));
    }

    /// Carry from digit to digit, so that each has 52 bits again; the last one may wrap.
    void carry() {
        for (Index p = 0; p + 1 < planes_; ++p) {
            Limb *const here = plane(p), *const next = plane(p + 1);
            for (Index k = 0; k < width_; ++k) {
                next[k] += here[k] >> kBits;
                here[k] &= kMask;
            }
        }
        Limb* const last = plane(planes_ - 1);
        for (Index k = 0; k < width_; ++k) last[k] &= kMask;
        terms_ = 1;
    }

    Index width_, planes_, stride_;
    std::vector<Limb> sums_;  ///< [plane][key]
    Index terms_ = 0;         ///< added since the last carry
    Index span_ = 0, inner_stride_ = 0;
    std::vector<Limb> inner_;     ///< [digit][key]
    std::vector<Limb> outer_;     ///< [digit][row]
    std::vector<Index> offsets_;  ///< [row]: of the outer keys
};

#endif

/// A tensor as an array over all keys.
template <class Key, int L>
class DenseTensor {
public:
    /// All numbers are 0 at first.
    DenseTensor(Limbs<L> limbs, Key low, Index width)
        : limbs_(limbs), low_(low), width_(width), values_(static_cast<std::size_t>(width * limbs.size())) {}

#if defined(__AVX512IFMA__)
    /// Add all products of all summands; `check` is called between pieces of work.
    template <class Check>
    void convolve(const std::vector<Summand<Key>>& summands, Check check) {
        Digits digits(width_, limbs_.size());
        for (const auto& s : summands) {
            if (s.outer.size == 0) continue;
            check();
            const bool swap = s.inner.size * key_span(s.outer) < s.outer.size * key_span(s.inner);
            const CellView<Key>&outer = swap ? s.inner : s.outer, &inner = swap ? s.outer : s.inner;
            digits.multiply(outer, inner, s.factor, static_cast<Index>(outer.keys[0] + inner.keys[0] - low_));
        }
        std::vector<Limb> sum(static_cast<std::size_t>(limbs_.size()));
        for (Index k = 0; k < width_; ++k) {
            digits.read(k, sum.data(), limbs_.size());
            limbs_.add(values_.data() + k * limbs_.size(), sum.data());
        }
    }
#endif
    /// Add all products of a summand, one by one; `scaled` is room for a number.
    void add(const Summand<Key>& s, Limb* scaled) {
        for (Index i = 0; i < s.outer.size; ++i) {
            limbs_.scale(s.outer.value(i), s.outer.limbs, s.factor, scaled);
            Limb* const offset = find(s.outer.keys[i] + s.inner.keys[0]);
            for (Index j = 0; j < s.inner.size; ++j)
                limbs_.add_product(offset + static_cast<Index>(s.inner.keys[j] - s.inner.keys[0]) * limbs_.size(),
                                   scaled, s.inner.value(j), s.inner.limbs);
        }
    }

    Limb* find(Key key) { return values_.data() + static_cast<Index>(key - low_) * limbs_.size(); }

    /// Append the cells with trees in the order of their keys.
    void append_to(Cells<Key>& list) const {
        Index at = list.size(), cells = 0;
        for (Index k = 0; k < width_; ++k) cells += limbs_.positive(values_.data() + k * limbs_.size());
        list.resize(at + cells);
        for (Index k = 0; k < width_; ++k) {
            const Limb* const value = values_.data() + k * limbs_.size();
            if (!limbs_.positive(value)) continue;
            list.keys[at] = low_ + k;
            limbs_.copy(value, limbs_.size(), list.value(at));
            ++at;
        }
    }

private:
    Limbs<L> limbs_;
    Key low_;
    Index width_;
    std::vector<Limb> values_;  ///< [key − low][limb]
};

}  // namespace adtc

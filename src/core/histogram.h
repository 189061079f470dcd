// The last level of whole spaces with two labels, on few keys: trees on either side of a feature as
// histograms over keys, and their products as convolutions.
//
// With label l a row of group g adds w_l(g) to the key. On n rows, x of which (weighted by w_0 − w_1)
// have a feature, the stump with labels 0 and 1 has the key W_1 + x, the one with 1 and 0 the key
// W_0 − x, its mirror image; those with equal labels do not depend on the feature at all.
#pragma once

#include "leaves.h"
#include "sides.h"
#include "simd.h"

namespace adtc {

/// Multiply pairs of neighbouring lanes and add the two products.
inline Vector<std::int32_t> multiply_pairs(Vector<std::int32_t> a, Vector<std::int32_t> b) {
#if defined(__AVX512BW__)
    return (Vector<std::int32_t>)_mm512_madd_epi16((__m512i)a, (__m512i)b);
#elif defined(__AVX2__)
    return (Vector<std::int32_t>)_mm256_madd_epi16((__m256i)a, (__m256i)b);
#elif defined(__SSE2__)
    return (Vector<std::int32_t>)_mm_madd_epi16((__m128i)a, (__m128i)b);
#else
    return (a & 0xffff) * (b & 0xffff) + (a >> 16) * (b >> 16);  // no lane is negative
#endif
}

/// Adds up the trees of depth 2 on a path. Valid while each side has fewer than 2^15 trees times the
/// multiplicity, and the path fewer than 2^32: see `fits`.
template <class Key, class T>
class Histograms {
public:
    Histograms(const Leaves<Key>& leaves, std::span<const Index> multiplicity)
        : leaves_(leaves), multiplicity_(multiplicity) {}

    /// Tell whether the tensor of a path can be made here, and best so: if its histograms are dense.
    bool fits(const SplittingPairs<T>& path, const KeyRange<Key>& range) const {
        if (range.width > 4 * path.size() * path.size()) return false;
        if (leaves_.labels() != 2 || leaves_.rule.majority || leaves_.rule.share_top > 0) return false;
        Index twins = 0, most = 1;
        for (const Index f : path.features) {
            twins += multiplicity_[f];
            most = std::max(most, multiplicity_[f]);
        }
        const Index side = 2 + 4 * twins;
        return side * most < 1 << 15 && twins * side * side < Index{1} << 32;
    }

    /// Add up all splits of a path in the array over the keys of a range; return the pairs looked at.
    Index add_splits(const SplittingPairs<T>& path, const KeyRange<Key>& range) {
        begin(path, range);
        Index pairs = 0;
        for (Index a = 0; a < path.size(); ++a) {
            weigh(path, a);
            for (int s = 0; s < 2; ++s) make_side(path, a, s);
            pairs += side_[0].cells * side_[1].cells;
            convolve(multiplicity_[path.features[a]]);
        }
        return pairs;
    }

    std::uint32_t& find(Index at) { return sum_[at]; }
    Index width() const { return width_; }

private:
    static constexpr Index kPad = 32;

    struct Histogram {
        Key low = 0;  ///< of the first key
        Index width = 0;
        Index cells = 0;                   ///< keys with trees
        std::vector<std::int16_t> counts;  ///< zeros around it
        std::int16_t* data() { return counts.data() + kPad; }
    };

    void begin(const SplittingPairs<T>& path, const KeyRange<Key>& range) {
        low_ = range.low;
        width_ = static_cast<Index>(range.width);
        sum_.assign(static_cast<std::size_t>(width_ + 2 * kPad), 0);
        const Index n = path.size();
        twins_.resize(static_cast<std::size_t>(n));
        ones_.assign(static_cast<std::size_t>(n), 0);
        ones_rows_.assign(path.rows.begin(), path.rows.end());
        for (Index b = 0; b < n; ++b) twins_[b] = static_cast<std::int16_t>(multiplicity_[path.features[b]]);
        for (Index g = 0; g < path.groups(); ++g)
            for (Index b = 0; b < n; ++b) ones_[b] += difference(g) * static_cast<T>(path.ones(g, b));
        for (auto* room : {&both_, &rows_, &at_}) room->resize(static_cast<std::size_t>(n));
        added_.resize(static_cast<std::size_t>(n));
    }
    T difference(Index g) const { return static_cast<T>(leaves_.key_weights[0][g] - leaves_.key_weights[1][g]); }

    /// Weigh the rows that have a feature and each other one.
    void weigh(const SplittingPairs<T>& path, Index a) {
        const Index n = path.size();
        T* const both = both_.data();
        T* const rows = rows_.data();
        for (Index g = 0; g < path.groups(); ++g) {
            const T* const source = path.row(g, a);
            const T weight = difference(g);
            if (g == 0)
                for (Index b = 0; b < n; ++b) both[b] = weight * source[b], rows[b] = source[b];
            else if (g < leaves_.rule.own)
                for (Index b = 0; b < n; ++b) both[b] += weight * source[b], rows[b] += source[b];
            else
                for (Index b = 0; b < n; ++b) both[b] += weight * source[b];
        }
    }

    /// Count the trees of depth at most 1 on one side of a feature by key.
    void make_side(const SplittingPairs<T>& path, Index a, int s) {
        // the least key of two labels, the number of keys above it, and those of single labels, without constants
        Key least = 0, whole[2] = {0, 0};
        Index width = 1, support = 0;
        T below = 0;
        for (Index g = 0; g < path.groups(); ++g) {
            const Index n = s == 0 ? path.ones(g, a) : path.totals[g] - path.ones(g, a);
            for (int l = 0; l < 2; ++l) whole[l] += leaves_.key_weights[l][g] * n;
            least += std::min(leaves_.key_weights[0][g], leaves_.key_weights[1][g]) * n;
            const Index more = static_cast<Index>(difference(g)) * n;
            width += std::abs(more);
            below += static_cast<T>(std::min<Index>(0, more));
            support += g < leaves_.rule.own ? n : 0;
        }
        const Index constant = static_cast<Index>(leaves_.key_constant), before = std::min(constant, 2 * constant);
        Histogram& side = side_[s];
        side.low = least + before;
        side.width = width + std::abs(constant);
        side.counts.assign(static_cast<std::size_t>(side.width + 2 * kPad), 0);
        std::int16_t* const stumps = side.data() + (2 * constant - before);
        const Index trivial = scatter(path, a, s, support, below, stumps);
        mirror(stumps, width);
        for (int l = 0; l < 2; ++l) {
            const Index at = static_cast<Index>(whole[l] - least);
            if (leaves_.trivial_splits) stumps[at] = static_cast<std::int16_t>(stumps[at] + trivial);
            ++side.data()[at + constant - before];
        }
        side.cells = 0;
        for (Index k = 0; k < side.width; ++k) side.cells += side.data()[k] != 0;
    }

    /// Count the stumps with labels 0 and 1; return how many there are of each kind.
    Index scatter(const SplittingPairs<T>& path, Index a, int s, Index support, T below, std::int16_t* stumps) {
        const Index n = path.size();
        const T minsup = static_cast<T>(leaves_.rule.minsup), here = static_cast<T>(support);
        T* const at = at_.data();
        std::int16_t* const added = added_.data();
        const T *const both = both_.data(), *const rows = rows_.data(), *const ones = ones_.data(),
                       *const ones_rows = ones_rows_.data();
        for (Index b = 0; b < n; ++b) at[b] = (s == 0 ? both[b] : ones[b] - both[b]) - below;
        for (Index b = 0; b < n; ++b) {
            const T one = s == 0 ? rows[b] : ones_rows[b] - rows[b];
            added[b] = one >= minsup && here - one >= minsup ? twins_[b] : std::int16_t{0};
        }
        added[a] = 0;
        Index sum = 0;
        for (Index b = 0; b < n; ++b) sum += added[b];
        for (Index b = 0; b < n; ++b) stumps[at[b]] = static_cast<std::int16_t>(stumps[at[b]] + added[b]);
        return sum;
    }

    /// Add a histogram's mirror image to it.
    static void mirror(std::int16_t* counts, Index width) {
        for (Index i = 0, j = width - 1; i <= j; ++i, --j)
            counts[i] = counts[j] = static_cast<std::int16_t>(counts[i] + counts[j]);
    }

    /// Add factor times the product of both sides.
    void convolve(Index factor) {
        Histogram& outer = side_[side_[0].width <= side_[1].width ? 0 : 1];
        Histogram& inner = side_[side_[0].width <= side_[1].width ? 1 : 0];
        constexpr int step = kLanes<std::int32_t>;
        const Index width = (inner.width + 1 + step - 1) / step * step;
        paired_.resize(static_cast<std::size_t>(width));
        for (Index k = 0; k < width; ++k) paired_[k] = 0;
        for (Index k = 0; k <= inner.width; ++k)
            paired_[k] = static_cast<std::int32_t>(static_cast<std::uint16_t>(inner.data()[k]) |
                                                   static_cast<std::uint32_t>(inner.data()[k - 1]) << 16);
        std::uint32_t* const sum = sum_.data() + static_cast<Index>(outer.low + inner.low - low_);
        for (Index i = 0; i < outer.width; i += 2) {
            const Index first = outer.data()[i] * factor, second = outer.data()[i + 1] * factor;
            if ((first | second) == 0) continue;
            const auto values = all(static_cast<std::int32_t>(first | second << 16));
            auto* const out = reinterpret_cast<std::int32_t*>(sum + i);
            for (Index k = 0; k < width; k += step)
                store(out + k, load(out + k) + multiply_pairs(load(paired_.data() + k), values));
        }
    }

    const Leaves<Key>& leaves_;
    std::span<const Index> multiplicity_;
    Key low_ = 0;
    Index width_ = 0;
    std::vector<std::uint32_t> sum_;   ///< [key − low]: trees; room for a vector more
    std::vector<T> ones_, ones_rows_;  ///< [b]: the rows with a feature, weighted and counted
    std::vector<T> both_, rows_;       ///< [b]: those that also have feature a
    std::vector<T> at_;                ///< [b]: the place of a stump
    std::vector<std::int16_t> added_, twins_;
    std::vector<std::int32_t> paired_;  ///< a histogram's neighbouring counts, next to each other
    Histogram side_[2];
};

}  // namespace adtc

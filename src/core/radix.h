// Sorting numbers of 64 bits by their binary digits; equal ones stay in their order.
#pragma once

#include <bit>
#include <limits>

#include "buffer.h"

namespace adtc {

/// Numbers to be sorted, and room for that.
class RadixSorter {
  public:
    /// Make room for so many numbers and return it, to be filled.
    std::uint64_t* prepare(Index n) {
        for (auto* room : {&numbers_, &spare_})
            if (room->size() < n) room->resize(n);
        return numbers_.data();
    }
    /// Sort n numbers by their bits [from, to); what is below counts for nothing.
    const std::uint64_t* sort(Index n, int from, int to) {
        constexpr int kDigit = 11;
        for (int shift = from; shift < to; shift += kDigit) {
            const std::uint64_t mask = (std::uint64_t{1} << std::min(kDigit, to - shift)) - 1;
            Index ends[1 << kDigit] = {};
            std::uint64_t *const in = numbers_.data(), *const out = spare_.data();
            for (Index k = 0; k < n; ++k) ++ends[in[k] >> shift & mask];
            Index before = 0;
            for (std::uint64_t digit = 0; digit <= mask; ++digit) before += std::exchange(ends[digit], before);
            for (Index k = 0; k < n; ++k) out[ends[in[k] >> shift & mask]++] = in[k];
            numbers_.swap(spare_);
        }
        return numbers_.data();
    }

  private:
    Buffer<std::uint64_t> numbers_, spare_;
};

/// Keys and places in one word: (key − low) << bits | place.
template <class Key>
struct Packing {
    Key low = 0;
    int place_bits = 0;
    int key_bits = 0;

    /// Say how n keys between two are packed; `fits` tells whether they can be.
    Packing(Key low, Key high, Index n) : low(low), place_bits(std::bit_width(static_cast<std::uint64_t>(n))) {
        const Key width = high - low;
        if constexpr (sizeof(Key) > 8)
            key_bits = width >> 63 == 0 ? std::bit_width(static_cast<std::uint64_t>(width)) : 128;
        else
            key_bits = width < 0 ? 64 : std::bit_width(static_cast<std::uint64_t>(width));
    }
    bool fits() const { return place_bits + key_bits <= 64; }
    std::uint64_t pack(Key key, Index place) const {
        return static_cast<std::uint64_t>(key - low) << place_bits | static_cast<std::uint64_t>(place);
    }
    Key key(std::uint64_t packed) const { return low + static_cast<Key>(packed >> place_bits); }
    Index place(std::uint64_t packed) const {
        return static_cast<Index>(packed & ((std::uint64_t{1} << place_bits) - 1));
    }
};

/// Return the least and the largest of some numbers; there is at least one.
template <class N>
std::pair<N, N> extremes(const N* numbers, Index n) {
    N low = numbers[0], high = numbers[0];
    for (Index k = 1; k < n; ++k) {
        low = std::min(low, numbers[k]);
        high = std::max(high, numbers[k]);
    }
    return {low, high};
}

}  // namespace adtc

// Sorting by the binary digits of numbers.
#pragma once

#include <algorithm>
#include <bit>
#include <limits>
#include <utility>

#include "buffer.h"

namespace adtc {

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

/// Finds the order of numbers; equal ones stay as they were. Numbers, less the least one, share a word
/// with their places. Their first digits sort them nearly; if they do not, all digits do.
class NumberOrder {
public:
    /// Sort the numbers `number(0)` … `number(n − 1)`, which lie between two.
    template <class N, class Number>
    void sort(Index n, N low, N high, Number number) {
        place_bits_ = std::bit_width(static_cast<std::uint64_t>(n));
        const int bits = width_of(high, low), kept = std::min(bits, 64 - place_bits_), dropped = bits - kept;
        for (auto* room : {&words_, &spare_})
            if (room->size() < n) room->resize(n);
        for (Index k = 0; k < n; ++k)
            words_[k] =
                static_cast<std::uint64_t>((number(k) - low) >> dropped) << place_bits_ | static_cast<std::uint64_t>(k);
        const int end = place_bits_ + kept;
        sort_digits(n, std::max(place_bits_, end - 2 * kDigit), end);
        if (kept > 2 * kDigit && !sort_nearly_sorted(n)) {
            sort_digits(n, 0, end);
        }
        if (dropped > 0) sort_groups(n, number);
    }
    /// Return where the k-th number was.
    Index place(Index k) const { return static_cast<Index>(words_[k] & ((std::uint64_t{1} << place_bits_) - 1)); }

private:
    static constexpr int kDigit = 11;

    template <class N>
    static int width_of(N high, N low) {
        using Unsigned = std::conditional_t<sizeof(N) == 16, unsigned __int128, std::uint64_t>;
        const Unsigned width = static_cast<Unsigned>(high) - static_cast<Unsigned>(low);
        if constexpr (sizeof(N) == 16)
            if (const auto upper = static_cast<std::uint64_t>(width >> 64); upper != 0)
                return 64 + std::bit_width(upper);
        return std::bit_width(static_cast<std::uint64_t>(width));
    }

    /// Sort the words by their bits [from, to).
    void sort_digits(Index n, int from, int to) {
        for (int shift = from; shift < to; shift += kDigit) {
            const std::uint64_t mask = (std::uint64_t{1} << std::min(kDigit, to - shift)) - 1;
            std::uint32_t ends[1 << kDigit] = {};
            std::uint64_t *const in = words_.data(), *const out = spare_.data();
            for (Index k = 0; k < n; ++k) ++ends[in[k] >> shift & mask];
            std::uint32_t before = 0;
            for (std::uint64_t digit = 0; digit <= mask; ++digit) before += std::exchange(ends[digit], before);
            for (Index k = 0; k < n; ++k) out[ends[in[k] >> shift & mask]++] = in[k];
            words_.swap(spare_);
        }
    }
    /// Move each word up to its place; give up and return false if that takes many moves.
    bool sort_nearly_sorted(Index n) {
        Index moves = 0;
        for (Index k = 1; k < n; ++k) {
            const std::uint64_t word = words_[k];
            Index at = k;
            for (; at > 0 && words_[at - 1] > word; --at) words_[at] = words_[at - 1];
            words_[at] = word;
            moves += k - at;
            if (moves > 4 * n) return false;
        }
        return true;
    }
    /// Sort those among one another whose digits in the words are equal, by the numbers themselves.
    template <class Number>
    void sort_groups(Index n, Number number) {
        const std::uint64_t mask = (std::uint64_t{1} << place_bits_) - 1;
        for (Index from = 0, to; from < n; from = to) {
            for (to = from + 1; to < n && words_[to] >> place_bits_ == words_[from] >> place_bits_;) ++to;
            if (to - from == 1) continue;
            std::sort(words_.data() + from, words_.data() + to, [&](std::uint64_t a, std::uint64_t b) {
                const auto x = number(static_cast<Index>(a & mask)), y = number(static_cast<Index>(b & mask));
                return x != y ? x < y : a < b;
            });
        }
    }

    int place_bits_ = 0;
    Buffer<std::uint64_t> words_, spare_;
};

}  // namespace adtc

// Vectors as wide as the processor's, written once for every instruction set.
#pragma once

#include <cstdint>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#if defined(ADTC_SHARED)
#error "objects that levels share must not depend on the width of vectors: see CMakeLists.txt"
#endif

namespace adtc {

#if defined(__AVX512BW__)
constexpr int kVectorBytes = 64;
#elif defined(__AVX2__)
constexpr int kVectorBytes = 32;
#else
constexpr int kVectorBytes = 16;
#endif

/// A vector of T.
template <class T>
struct VectorOf {
    typedef T type __attribute__((vector_size(kVectorBytes)));
    /// The same without any claim about alignment, for loads and stores.
    typedef T loose __attribute__((vector_size(kVectorBytes), aligned(alignof(T)), may_alias));
};

template <class T>
using Vector = typename VectorOf<T>::type;

template <class T>
constexpr int kLanes = kVectorBytes / sizeof(T);

template <class T>
inline Vector<T> load(const T* from) {
    return *reinterpret_cast<const typename VectorOf<T>::loose*>(from);
}

template <class T>
inline void store(T* to, Vector<T> v) {
    *reinterpret_cast<typename VectorOf<T>::loose*>(to) = v;
}

template <class T>
inline Vector<T> all(T value) {
    return value - Vector<T>{};
}

template <class V>
inline V smaller(V a, V b) {
    return a < b ? a : b;
}

/// Find the least lane.
template <class T>
inline T least_lane(Vector<T> v) {
    T least = v[0];
    for (int k = 1; k < kLanes<T>; ++k) least = v[k] < least ? v[k] : least;
    return least;
}

/// Pack the lanes of a comparison, 0 or −1 each, into bits.
template <class T>
inline std::uint64_t bits_of(Vector<T> truths) {
#if defined(__AVX512BW__)
    if constexpr (sizeof(T) == 2) return _mm512_movepi16_mask((__m512i)truths);
#endif
#if defined(__AVX512DQ__)
    if constexpr (sizeof(T) == 4) return _mm512_movepi32_mask((__m512i)truths);
    if constexpr (sizeof(T) == 8) return _mm512_movepi64_mask((__m512i)truths);
#endif
    std::uint64_t bits = 0;
    for (int k = 0; k < kLanes<T>; ++k) bits |= std::uint64_t{truths[k] != 0} << k;
    return bits;
}

/// Count the ones of each byte, or of each 16-bit lane where the processor does that at once.
inline Vector<std::uint16_t> count_ones(Vector<std::uint16_t> v) {
#if defined(__AVX512BITALG__)
    return (Vector<std::uint16_t>)_mm512_popcnt_epi16((__m512i)v);
#elif defined(__AVX2__)
    const __m256i table = _mm256_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4, 0, 1, 1, 2, 1, 2, 2, 3, 1, 2,
                                           2, 3, 2, 3, 3, 4);
    const __m256i low = _mm256_set1_epi8(0x0f), x = (__m256i)v;
    return (Vector<std::uint16_t>)_mm256_add_epi8(
        _mm256_shuffle_epi8(table, _mm256_and_si256(x, low)),
        _mm256_shuffle_epi8(table, _mm256_and_si256(_mm256_srli_epi16(x, 4), low)));
#else
    v = v - ((v >> 1) & 0x5555);
    v = (v & 0x3333) + ((v >> 2) & 0x3333);
    return (v + (v >> 4)) & 0x0f0f;
#endif
}

#if defined(__AVX512BITALG__)
constexpr int kFoldEvery = 4095;  ///< so many sums of `count_ones` fit a lane
inline Vector<std::uint16_t> fold(Vector<std::uint16_t> sums) { return sums; }
#else
constexpr int kFoldEvery = 31;  ///< so many sums of `count_ones` fit a byte
inline Vector<std::uint16_t> fold(Vector<std::uint16_t> sums) { return (sums & 0xff) + (sums >> 8); }
#endif

}  // namespace adtc

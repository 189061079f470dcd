#include "pairs.h"

#include <bit>
#include <numeric>

#include "simd.h"

namespace adtc {
namespace {

constexpr Index kWord = 64;
constexpr Index kSliceRows = 16;
constexpr Index kMostSlices = 4092;  // counted at once: their rows fit 16 bits, and 31 divides them
constexpr Index kTogether = 4;       // features counted at once, to share the loads of their partners

/// Exchange rows and columns of a matrix of 64 × 64 bits.
void transpose(std::uint64_t* m) {
    std::uint64_t mask = 0x00000000ffffffff;
    for (int j = 32; j != 0; j >>= 1, mask ^= mask << j)
        for (int k = 0; k < kWord; k = (k + j + 1) & ~j) {
            const std::uint64_t t = ((m[k] >> j) ^ m[k + j]) & mask;
            m[k] ^= t << j;
            m[k + j] ^= t;
        }
}

void ensure(std::vector<std::uint64_t>& bits, Index size) {
    if (static_cast<Index>(bits.size()) < size) bits.resize(static_cast<std::size_t>(size));
}

/// Copy the records of one plane that fulfil a literal; return the end of the copies.
Index select_plane(const std::uint64_t* from, Index rows, Index words, Index feature, bool negative,
                   std::uint64_t* to) {
    const Index at = feature / kWord, bit = feature % kWord;
    Index kept = 0;
#if defined(__AVX512F__)
    if (words == 1) {
        const __m512i wanted = _mm512_set1_epi64(static_cast<long long>(std::uint64_t{1} << bit));
        for (Index r = 0; r < rows; r += 8) {
            const __mmask8 there = rows - r >= 8 ? 0xff : static_cast<__mmask8>((1u << (rows - r)) - 1);
            const __m512i x = _mm512_maskz_loadu_epi64(there, from + r);
            __mmask8 chosen = negative ? _mm512_testn_epi64_mask(x, wanted) : _mm512_test_epi64_mask(x, wanted);
            chosen &= there;
            _mm512_storeu_si512(to + kept, _mm512_maskz_compress_epi64(chosen, x));
            kept += std::popcount(static_cast<unsigned>(chosen));
        }
        return kept;
    }
#endif
    if (words == 1) {
        for (Index r = 0; r < rows; ++r) {
            to[kept] = from[r];
            kept += static_cast<Index>((from[r] >> bit & 1) ^ std::uint64_t{negative});
        }
        return kept;
    }
    for (Index r = 0; r < rows; ++r) {
        const std::uint64_t* record = from + r * words;
        for (Index w = 0; w < words; ++w) to[kept * words + w] = record[w];
        kept += static_cast<Index>((record[at] >> bit & 1) ^ std::uint64_t{negative});
    }
    return kept;
}

/// Exchange rows and columns of 8 × 8 bits.
std::uint64_t transpose8(std::uint64_t x) {
    std::uint64_t t = (x ^ (x >> 7)) & 0x00aa00aa00aa00aa;
    x ^= t ^ (t << 7);
    t = (x ^ (x >> 14)) & 0x0000cccc0000cccc;
    x ^= t ^ (t << 14);
    t = (x ^ (x >> 28)) & 0x00000000f0f0f0f0;
    return x ^ t ^ (t << 28);
}

/// Turn word w of up to 16 records into 64 lanes; the order of rows within a lane does not matter.
void slice_word(const std::uint64_t* records, Index rows, Index words, Index w, std::uint16_t* lanes) {
#if defined(__AVX512VBMI__) && defined(__GFNI__)
    if (words == 1) {
        const auto masked = [&](Index from) {
            const Index n = rows - from;
            const __mmask8 there = n >= 8 ? 0xff : n <= 0 ? 0 : static_cast<__mmask8>((1u << n) - 1);
            return _mm512_maskz_loadu_epi64(there, records + from);
        };
        alignas(64) static constexpr struct Places {
            std::uint8_t bytes[64], low[64], high[64];
            constexpr Places() : bytes(), low(), high() {
                for (int i = 0; i < 64; ++i) {
                    bytes[i] = static_cast<std::uint8_t>(8 * (i % 8) + i / 8);
                    low[i] = static_cast<std::uint8_t>(i / 2 + 64 * (i % 2));
                    high[i] = static_cast<std::uint8_t>(32 + i / 2 + 64 * (i % 2));
                }
            }
        } places;
        const __m512i bytes = _mm512_load_si512(places.bytes);
        // byte j of a unit is 2^j: the product with 8 × 8 bits picks their column j
        const __m512i unit = _mm512_set1_epi64(static_cast<long long>(0x8040201008040201u));
        const __m512i first = _mm512_gf2p8affine_epi64_epi8(unit, _mm512_permutexvar_epi8(bytes, masked(0)), 0);
        const __m512i second = _mm512_gf2p8affine_epi64_epi8(unit, _mm512_permutexvar_epi8(bytes, masked(8)), 0);
        _mm512_storeu_si512(lanes, _mm512_permutex2var_epi8(first, _mm512_load_si512(places.low), second));
        _mm512_storeu_si512(lanes + 32, _mm512_permutex2var_epi8(first, _mm512_load_si512(places.high), second));
        return;
    }
#endif
    std::uint64_t record[kSliceRows] = {};
    for (Index r = 0; r < rows; ++r) record[r] = records[r * words + w];
    for (int b = 0; b < 8; ++b) {
        std::uint64_t halves[2] = {};
        for (int r = 0; r < 8; ++r) {
            halves[0] |= (record[r] >> (8 * b) & 0xff) << (8 * r);
            halves[1] |= (record[r + 8] >> (8 * b) & 0xff) << (8 * r);
        }
        const std::uint64_t first = transpose8(halves[0]), second = transpose8(halves[1]);
        for (int j = 0; j < 8; ++j)
            lanes[8 * b + j] = static_cast<std::uint16_t>((first >> (8 * j) & 0xff) | (second >> (8 * j) & 0xff) << 8);
    }
}

void slice_plane(const std::uint64_t* records, Index rows, Index words, Index lanes, std::uint16_t* out) {
    std::uint16_t room[kWord];
    for (Index r = 0; r < rows; r += kSliceRows, out += lanes) {
        const Index here = std::min(kSliceRows, rows - r);
        for (Index w = 0; w * kWord < lanes; ++w) {
            const bool whole = (w + 1) * kWord <= lanes;
            slice_word(records + r * words, here, words, w, whole ? out + w * kWord : room);
            if (!whole) std::memcpy(out + w * kWord, room, sizeof(std::uint16_t) * (lanes - w * kWord));
        }
    }
}

/// Count the ones that `kTogether` or fewer features share with each lane of one block.
template <int N>
void count_block(const std::uint16_t* block, const std::uint16_t* const* partner, Index slices, Index lanes,
                 Vector<std::uint16_t>* sums) {
    Vector<std::uint16_t> total[N] = {};
    for (Index from = 0; from < slices; from += kFoldEvery) {
        const Index to = std::min<Index>(slices, from + kFoldEvery);
        Vector<std::uint16_t> some[N] = {};
        for (Index s = from; s < to; ++s) {
            const Vector<std::uint16_t> here = load(block + s * lanes);
            for (int k = 0; k < N; ++k) some[k] += count_ones(here & partner[k][s * lanes]);
        }
        for (int k = 0; k < N; ++k) total[k] += fold(some[k]);
    }
    for (int k = 0; k < N; ++k) sums[k] = total[k];
}

template <class T>
void add_times(Vector<std::uint16_t> counts, T factor, T* out) {
    alignas(kVectorBytes) std::uint16_t each[kLanes<std::uint16_t>];
    std::memcpy(each, &counts, sizeof each);
    for (Index j = 0; j < kLanes<std::uint16_t>; ++j)
        out[j] = static_cast<T>(out[j] + static_cast<T>(factor * static_cast<T>(each[j])));
}

}  // namespace

Rows records_of(const Table& table) {
    Rows rows;
    rows.words = std::max<Index>(1, (table.features() + kWord - 1) / kWord);
    rows.starts.assign(1, 0);
    for (const Index n : table.rows) rows.starts.push_back(rows.starts.back() + n);
    ensure(rows.bits, rows.count() * rows.words + 8);
    std::uint64_t block[kWord];
    for (Index p = 0; p < table.planes(); ++p)
        for (Index w = table.offsets[p]; w < table.offsets[p + 1]; ++w) {
            const Index first = (w - table.offsets[p]) * kWord;
            const Index here = std::min(kWord, table.rows[p] - first);
            for (Index at = 0; at < rows.words; ++at) {
                for (Index i = 0; i < kWord; ++i) {
                    const Index f = at * kWord + i;
                    block[i] = f < table.features() ? table.words[f][w] : 0;
                }
                transpose(block);
                for (Index r = 0; r < here; ++r) rows.bits[(rows.starts[p] + first + r) * rows.words + at] = block[r];
            }
        }
    return rows;
}

void select_rows(const Rows& from, Index feature, bool negative, Rows& to) {
    to.words = from.words;
    to.starts.resize(from.starts.size());
    to.starts[0] = 0;
    ensure(to.bits, from.count() * from.words + 8);
    for (std::size_t p = 0; p + 1 < from.starts.size(); ++p)
        to.starts[p + 1] = to.starts[p] + select_plane(from.bits.data() + from.starts[p] * from.words,
                                                       from.starts[p + 1] - from.starts[p], from.words, feature,
                                                       negative, to.bits.data() + to.starts[p] * from.words);
}

void flip_features(Rows& rows, std::span<const std::uint64_t> mask) {
    for (Index r = 0; r < rows.count(); ++r)
        for (Index w = 0; w < rows.words; ++w) rows.bits[r * rows.words + w] ^= mask[w];
}

void slice_rows(const Rows& rows, Index features, Slices& slices) {
    slices.lanes = padded(features);
    slices.starts.resize(rows.starts.size());
    slices.starts[0] = 0;
    for (std::size_t p = 0; p + 1 < rows.starts.size(); ++p)
        slices.starts[p + 1] = slices.starts[p] + (rows.starts[p + 1] - rows.starts[p] + kSliceRows - 1) / kSliceRows;
    const std::size_t size = static_cast<std::size_t>(slices.starts.back() * slices.lanes);
    if (slices.bits.size() < size) slices.bits.resize(size);
    for (std::size_t p = 0; p + 1 < rows.starts.size(); ++p)
        slice_plane(rows.bits.data() + rows.starts[p] * rows.words, rows.starts[p + 1] - rows.starts[p], rows.words,
                    slices.lanes, slices.bits.data() + slices.starts[p] * slices.lanes);
}

void slice_side(const Rows& rows, Index feature, Index features, Rows& room, Slices& slices) {
    select_rows(rows, feature, false, room);
    slice_rows(room, features, slices);
}

template <class T>
void add_pairs(const Slices& slices, Index plane, std::span<const Index> chosen, T factor, T* out, Index stride) {
    const Index lanes = slices.lanes, n = static_cast<Index>(chosen.size());
    for (Index from = slices.starts[plane]; from < slices.starts[plane + 1]; from += kMostSlices) {
        const Index count = std::min(kMostSlices, slices.starts[plane + 1] - from);
        const std::uint16_t* bits = slices.bits.data() + from * lanes;
        for (Index r = 0; r < n; r += kTogether) {
            const std::uint16_t* partner[kTogether];
            const Index here = std::min(kTogether, n - r);
            for (Index k = 0; k < kTogether; ++k) partner[k] = bits + chosen[std::min(r + k, n - 1)];
            for (Index block = 0; block < lanes; block += kLanes<std::uint16_t>) {
                Vector<std::uint16_t> sums[kTogether];
                switch (here) {
                    case 1:
                        count_block<1>(bits + block, partner, count, lanes, sums);
                        break;
                    case 2:
                        count_block<2>(bits + block, partner, count, lanes, sums);
                        break;
                    case 3:
                        count_block<3>(bits + block, partner, count, lanes, sums);
                        break;
                    default:
                        count_block<4>(bits + block, partner, count, lanes, sums);
                }
                for (Index k = 0; k < here; ++k) add_times(sums[k], factor, out + (r + k) * stride + block);
            }
        }
    }
}

template <class T>
void count_pairs(const Slices& slices, const Table& table, std::span<const Index> chosen, Cube<T> out) {
    std::fill_n(out.data, out.planes * out.rows * out.columns, T{0});  // may be none at all
    for (Index p = 0; p < table.planes(); ++p)
        add_pairs(slices, p, chosen, static_cast<T>(T{1} << table.plane_shift[p]), out[table.plane_group[p]].data,
                  out.columns);
}

template void add_pairs(const Slices&, Index, std::span<const Index>, std::int16_t, std::int16_t*, Index);
template void add_pairs(const Slices&, Index, std::span<const Index>, std::int32_t, std::int32_t*, Index);
template void add_pairs(const Slices&, Index, std::span<const Index>, std::int64_t, std::int64_t*, Index);
template void count_pairs(const Slices&, const Table&, std::span<const Index>, Cube<std::int16_t>);
template void count_pairs(const Slices&, const Table&, std::span<const Index>, Cube<std::int32_t>);
template void count_pairs(const Slices&, const Table&, std::span<const Index>, Cube<std::int64_t>);

}  // namespace adtc

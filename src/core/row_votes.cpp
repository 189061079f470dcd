#include "row_votes.h"

#include <bit>

#include "simd.h"

namespace adtc {
namespace {

constexpr Index kSliceRows = 16;
constexpr Index kBlockSlices = 32;  // their sums and lanes stay in the nearest cache
constexpr Index kBlockRows = kBlockSlices * kSliceRows;
constexpr Index kDigitBits = 44;  // sums of 2^19 such digits fit a word
constexpr Index kMostSteps = 1 << 18;
constexpr std::uint16_t kAll = 0xffff;

/// Copy the records of one word that fulfil a literal, with their names; return how many.
Index select_words(const std::uint64_t* from, const Index* names, Index n, Index bit, bool negative, std::uint64_t* to,
                   Index* to_names) {
    Index kept = 0, r = 0;
#if defined(__AVX512F__)
    const __m512i wanted = _mm512_set1_epi64(static_cast<long long>(std::uint64_t{1} << bit));
    for (; r + 8 <= n; r += 8) {
        const __m512i x = _mm512_loadu_si512(from + r);
        const __mmask8 chosen = negative ? _mm512_testn_epi64_mask(x, wanted) : _mm512_test_epi64_mask(x, wanted);
        _mm512_storeu_si512(to + kept, _mm512_maskz_compress_epi64(chosen, x));
        _mm512_storeu_si512(to_names + kept, _mm512_maskz_compress_epi64(chosen, _mm512_loadu_si512(names + r)));
        kept += std::popcount(static_cast<unsigned>(chosen));
    }
#endif
    for (; r < n; ++r) {
        to[kept] = from[r];
        to_names[kept] = names[r];
        kept += static_cast<Index>((from[r] >> bit & 1) ^ std::uint64_t{negative});
    }
    return kept;
}

void select_voting(const VotingRows& from, Index feature, bool negative, VotingRows& to) {
    constexpr Index kVector = 8;  // what is written beyond the last row
    const Index words = from.rows.words, n = from.count(), word = feature / 64, bit = feature % 64;
    const auto ensure = [](auto& room, Index size) {
        if (static_cast<Index>(room.size()) < size) room.resize(static_cast<std::size_t>(size));
    };
    to.rows.words = words;
    ensure(to.rows.bits, n * words + kVector);
    ensure(to.names, n + kVector);
    const std::uint64_t* const source = from.rows.bits.data();
    std::uint64_t* const out = to.rows.bits.data();
    Index kept = 0;
    if (words == 1) {
        kept = select_words(source, from.names.data(), n, bit, negative, out, to.names.data());
    } else {
        for (Index r = 0; r < n; ++r) {
            for (Index w = 0; w < words; ++w) out[kept * words + w] = source[r * words + w];
            to.names[kept] = from.names[r];
            kept += static_cast<Index>((source[r * words + word] >> bit & 1) ^ std::uint64_t{negative});
        }
    }
    to.rows.starts.assign({0, kept});
}

/// Find out which bit of a lane each row of 16 has: that is the slicing's own affair.
void learn_places(Index words, Index* places) {
    Rows rows;
    rows.words = words;
    rows.starts = {0, kSliceRows};
    rows.bits.assign(static_cast<std::size_t>(kSliceRows * words + 8), 0);
    for (Index r = 0; r < kSliceRows; ++r) rows.bits[r * words] = std::uint64_t{1} << r;
    Slices slices;
    slice_rows(rows, 64 * (words - 1) + kSliceRows, slices);
    for (Index r = 0; r < kSliceRows; ++r)
        for (Index k = 0; k < kSliceRows; ++k)
            if (slices.bits[r] >> k & 1) places[r] = k;
}

/// Add a weight to the rows whose bits are set.
inline void add_masked(std::uint16_t mask, Limb weight, Limb* sums) {
#if defined(__AVX512F__)
    const __m512i value = _mm512_set1_epi64(static_cast<long long>(weight));
    const __m512i low = _mm512_loadu_si512(sums), high = _mm512_loadu_si512(sums + 8);
    _mm512_storeu_si512(sums, _mm512_mask_add_epi64(low, static_cast<__mmask8>(mask), low, value));
    _mm512_storeu_si512(sums + 8, _mm512_mask_add_epi64(high, static_cast<__mmask8>(mask >> 8), high, value));
#else
    for (int k = 0; k < kSliceRows; ++k) sums[k] += weight & -static_cast<Limb>(mask >> k & 1);
#endif
}

inline void add_masked(std::uint16_t mask, double weight, double* sums) {
#if defined(__AVX512F__)
    const __m512d value = _mm512_set1_pd(weight);
    const __m512d low = _mm512_loadu_pd(sums), high = _mm512_loadu_pd(sums + 8);
    _mm512_storeu_pd(sums, _mm512_mask_add_pd(low, static_cast<__mmask8>(mask), low, value));
    _mm512_storeu_pd(sums + 8, _mm512_mask_add_pd(high, static_cast<__mmask8>(mask >> 8), high, value));
#else
    for (int k = 0; k < kSliceRows; ++k) sums[k] += mask >> k & 1 ? weight : 0.0;
#endif
}

}  // namespace

template <class N>
RowVotes<N>::RowVotes(const N& numbers, const VotingRows& all, const MixedRows& mixed, Index features, Index labels)
    : numbers_(numbers),
      all_(all),
      mixed_(mixed),
      features_(features),
      labels_(labels),
      planes_(numbers.size() == 1 ? 1 : (64 * numbers.size() + kDigitBits - 1) / kDigitBits) {
    learn_places(std::max<Index>(1, all.rows.words), places_);
    sums_.resize(static_cast<std::size_t>(labels * planes_ * kBlockRows));
}

/// Select a path's rows. Its largest feature comes first: neighbouring numbers share that.
template <class N>
void RowVotes<N>::select(const Path& path) {
    std::size_t same = 0;
    const auto literal = [&](std::size_t at) {
        const Index i = path.length - 1 - static_cast<Index>(at);
        return std::pair(path.features[i], (path.signs >> i & 1) != 0);
    };
    const std::size_t length = static_cast<std::size_t>(path.length);
    while (same < literals_.size() && same < length && literals_[same] == literal(same)) ++same;
    literals_.resize(same);
    if (selected_.size() < length) selected_.resize(length);
    for (std::size_t at = same; at < length; ++at) {
        literals_.push_back(literal(at));
        select_voting(at == 0 ? all_ : selected_[at - 1], literals_[at].first, literals_[at].second, selected_[at]);
    }
    here_ = length == 0 ? &all_ : &selected_[length - 1];
}

template <class N>
void RowVotes<N>::add(const PathEvents<N>& events, Word* totals, Index stride) {
    if (events.empty()) return;
    if (mixed_.count() > 0) add_mixed(events, totals, stride);
    if (all_.count() == 0) return;
    select(events.path);
    if (here_->count() == 0) return;
    compile(events);
    if (!steps_.empty()) slice_rows(here_->rows, features_, slices_);
    run(totals, stride);
}

template <class N>
void RowVotes<N>::compile(const PathEvents<N>& events) {
    steps_.clear();
    weights_.clear();
    constant_.resize(static_cast<std::size_t>(labels_ * numbers_.size()));
    std::copy_n(events.constant(0), constant_.size(), constant_.data());
    if constexpr (N::kExact)
        compile_exact(events);
    else
        compile_real(events);
    start_.resize(static_cast<std::size_t>(labels_ * planes_));
    split(constant_.data(), start_.data());
}

/// Write numbers by label as digits whose sums need no carry.
template <class N>
void RowVotes<N>::split(const Word* weights, Word* digits) const {
    if (planes_ == 1) {
        std::copy_n(weights, labels_, digits);
        return;
    }
    if constexpr (N::kExact) {
        const Index size = numbers_.size();
        for (Index l = 0; l < labels_; ++l)
            for (Index p = 0; p < planes_; ++p) {
                const Index bit = p * kDigitBits, at = bit / 64, shift = bit % 64;
                Limb digit = weights[l * size + at] >> shift;
                if (shift > 64 - kDigitBits && at + 1 < size) digit |= weights[l * size + at + 1] << (64 - shift);
                digits[l * planes_ + p] = digit & ((Limb{1} << kDigitBits) - 1);
            }
    }
}

template <class N>
void RowVotes<N>::push(Index a, Index b, bool invert_a, bool invert_b, const Word* weights) {
    bool any = false;
    for (Index l = 0; l < labels_; ++l) any |= numbers_.positive(weights + l * numbers_.size());
    if (!any) return;
    steps_.push_back({static_cast<std::int32_t>(a), static_cast<std::int32_t>(b),
                      static_cast<std::uint16_t>(invert_a ? kAll : 0),
                      static_cast<std::uint16_t>(invert_b ? kAll : 0)});
    const std::size_t at = weights_.size();
    weights_.resize(at + static_cast<std::size_t>(labels_ * planes_));
    split(weights, weights_.data() + at);
}

/// v(x, y) = v(0, 0) + x · (v(1, 0) − v(0, 0)) + y · (v(0, 1) − v(0, 0)) + x · y · (…), for features' values
/// x and y; side 0 is value 1.
template <class N>
void RowVotes<N>::compile_exact(const PathEvents<N>& events) {
    const Index size = numbers_.size(), each = labels_ * size;
    linear_.assign(static_cast<std::size_t>(events.width() * each), Word{0});
    both_.resize(static_cast<std::size_t>(each));
    touched_.assign(static_cast<std::size_t>(events.width()), 0);
    events.for_each_side([&](Index a) {
        touched_[a] = 1;
        for (Index l = 0; l < labels_; ++l) {
            Word* const slope = linear_.data() + a * each + l * size;
            numbers_.add(constant_.data() + l * size, events.side(a, 1, l));
            numbers_.add(slope, events.side(a, 0, l));
            numbers_.subtract(slope, events.side(a, 1, l));
        }
    });
    events.for_each_pair([&](Index a, Index b, Index place) {
        touched_[a] = touched_[b] = 1;
        for (Index l = 0; l < labels_; ++l) {
            const Word *const v11 = events.corner(place, 0, 0, l), *const v10 = events.corner(place, 0, 1, l);
            const Word *const v01 = events.corner(place, 1, 0, l), *const v00 = events.corner(place, 1, 1, l);
            Word *const slope_a = linear_.data() + a * each + l * size, *const slope_b =
                                                                            linear_.data() + b * each + l * size;
            Word* const together = both_.data() + l * size;
            numbers_.add(constant_.data() + l * size, v00);
            numbers_.add(slope_a, v10);
            numbers_.subtract(slope_a, v00);
            numbers_.add(slope_b, v01);
            numbers_.subtract(slope_b, v00);
            std::copy_n(v11, size, together);
            numbers_.add(together, v00);
            numbers_.subtract(together, v10);
            numbers_.subtract(together, v01);
        }
        push(events.features[a], events.features[b], false, false, both_.data());
    });
    for (Index a = 0; a < events.width(); ++a)
        if (touched_[a]) push(events.features[a], -1, false, false, linear_.data() + a * each);
}

/// Doubles are not subtracted: small numbers would drown in large ones.
template <class N>
void RowVotes<N>::compile_real(const PathEvents<N>& events) {
    events.for_each_side([&](Index a) {
        for (int s = 0; s < 2; ++s) push(events.features[a], -1, s, false, events.side(a, s, 0));
    });
    events.for_each_pair([&](Index a, Index b, Index place) {
        for (int s = 0; s < 2; ++s)
            for (int t = 0; t < 2; ++t)
                push(events.features[a], events.features[b], s, t, events.corner(place, s, t, 0));
    });
}

template <class N>
void RowVotes<N>::run(Word* totals, Index stride) {
    const Index steps = static_cast<Index>(steps_.size()), all = (here_->count() + kSliceRows - 1) / kSliceRows;
    for (Index first = 0; first < all; first += kBlockSlices) {
        const Index slices = std::min(kBlockSlices, all - first);
        for (Index lp = 0; lp < labels_ * planes_; ++lp)
            std::fill_n(sums_.data() + lp * kBlockRows, slices * kSliceRows, start_[lp]);
        for (Index from = 0; from < steps || from == 0; from += kMostSteps) {
            if (from > 0) std::fill(sums_.begin(), sums_.end(), Word{0});
            run_block(first, slices, from, std::min(steps, from + kMostSteps));
            scatter(first, slices, totals, stride);
        }
    }
}

/// Add some steps' weights to the sums of a block of rows.
template <class N>
void RowVotes<N>::run_block(Index first, Index slices, Index from, Index to) {
    const Index lanes = slices_.lanes;
    std::uint16_t mask[kBlockSlices];
    for (Index k = from; k < to; ++k) {
        const Step& step = steps_[k];
        const std::uint16_t* const bits = slices_.bits.data() + first * lanes;
        if (step.b < 0)
            for (Index s = 0; s < slices; ++s) mask[s] = bits[s * lanes + step.a] ^ step.invert_a;
        else
            for (Index s = 0; s < slices; ++s)
                mask[s] = (bits[s * lanes + step.a] ^ step.invert_a) & (bits[s * lanes + step.b] ^ step.invert_b);
        for (Index lp = 0; lp < labels_ * planes_; ++lp) {
            const Word weight = weights_[k * labels_ * planes_ + lp];
            if (weight == Word{0}) continue;
            Word* const sums = sums_.data() + lp * kBlockRows;
            for (Index s = 0; s < slices; ++s) add_masked(mask[s], weight, sums + s * kSliceRows);
        }
    }
}

template <class N>
void RowVotes<N>::scatter(Index first, Index slices, Word* totals, Index stride) {
    const Index size = numbers_.size(), begin = first * kSliceRows;
    const Index rows = std::min(slices * kSliceRows, here_->count() - begin);
    const Index* const names = here_->names.data() + begin;
    for (Index l = 0; l < labels_; ++l) {
        Word* const out = totals + l * stride * size;
        const Word* const sums = sums_.data() + l * planes_ * kBlockRows;
        if (planes_ == 1) {
            for (Index r = 0; r < rows; ++r) out[names[r]] += sums[r - r % kSliceRows + places_[r % kSliceRows]];
            continue;
        }
        if constexpr (N::kExact)
            for (Index r = 0; r < rows; ++r)
                for (Index p = 0; p < planes_; ++p) {
                    const Limb digits = sums[p * kBlockRows + r - r % kSliceRows + places_[r % kSliceRows]];
                    const Index at = p * kDigitBits / 64, shift = p * kDigitBits % 64;
                    Limb* const total = out + names[r] * size;
                    numbers_.limbs.add(total, digits << shift, at);
                    if (shift > 0 && at + 1 < size) numbers_.limbs.add(total, digits >> (64 - shift), at + 1);
                }
    }
}

/// Add leaves to rows on which equal features differ: in proportion to how many of them, at each literal, send
/// the row on.
template <class N>
void RowVotes<N>::add_mixed(const PathEvents<N>& events, Word* totals, Index stride) {
    const std::size_t n = static_cast<std::size_t>(mixed_.count());
    path_share_.assign(n, 1);
    side_share_.resize(n);
    share_.resize(n);
    const auto narrow = [&](const std::vector<Index>& from, Index f, bool negative, std::vector<Index>& to) {
        const Index* const ones = mixed_.ones[f];
        for (std::size_t r = 0; r < n; ++r) to[r] = from[r] * (negative ? mixed_.multiplicity[f] - ones[r] : ones[r]);
        return static_cast<Limb>(mixed_.multiplicity[f]);
    };
    Limb ways = 1;
    for (Index i = 0; i < events.path.length; ++i)
        ways *= narrow(path_share_, events.path.features[i], events.path.signs >> i & 1, path_share_);
    if (std::all_of(path_share_.begin(), path_share_.end(), [](Index share) { return share == 0; })) return;
    add_mixed_leaf(events.constant(0), ways, path_share_.data(), events, totals, stride);
    events.for_each_side([&](Index a) {
        for (int s = 0; s < 2; ++s) {
            if (!events.any(events.side(a, s, 0))) continue;
            const Limb more = narrow(path_share_, events.features[a], s, share_);
            add_mixed_leaf(events.side(a, s, 0), ways * more, share_.data(), events, totals, stride);
        }
    });
    events.for_each_pair([&](Index a, Index b, Index place) {
        for (int s = 0; s < 2; ++s) {
            const Limb more = narrow(path_share_, events.features[a], s, side_share_);
            for (int t = 0; t < 2; ++t) {
                if (!events.any(events.corner(place, s, t, 0))) continue;
                const Limb most = narrow(side_share_, events.features[b], t, share_);
                add_mixed_leaf(events.corner(place, s, t, 0), ways * more * most, share_.data(), events, totals,
                               stride);
            }
        }
    });
}

template <class N>
void RowVotes<N>::add_mixed_leaf(const Word* weights, Limb ways, const Index* share, const PathEvents<N>& events,
                                 Word* totals, Index stride) {
    const Index size = numbers_.size();
    if (!events.any(weights)) return;
    for (Index l = 0; l < labels_; ++l) {
        if (!numbers_.positive(weights + l * size)) continue;
        std::vector<Word> one(weights + l * size, weights + (l + 1) * size);
        numbers_.divide(one.data(), ways);
        for (Index r = 0; r < mixed_.count(); ++r) {
            if (share[r] == 0) continue;
            const Limb times = static_cast<Limb>(share[r]);
            numbers_.add_times(totals + (l * stride + mixed_.names[r]) * size, one.data(), &times, 1);
        }
    }
}

template class RowVotes<Exact<1>>;
template class RowVotes<Exact<2>>;
template class RowVotes<Exact<0>>;
template class RowVotes<Real>;

}  // namespace adtc

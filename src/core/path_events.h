// How many good trees have each leaf on a path and up to two literals below it.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "adjoint_numbers.h"
#include "lattice.h"

namespace adtc {

/// Leaves at a path, below one of its active features, and below two; sides are 0 where a feature is
/// 1. Pairs of features are kept a < b for all of them, or, where these are many, for one a at a time.
template <class N>
class PathEvents {
public:
    using Word = typename N::Word;

    Path path;
    std::vector<Index> features;  ///< the active ones, ascending

    /// Begin with a path: no leaf yet.
    void begin(const N& numbers, Index labels, const Path& at) {
        clear_below();
        numbers_ = numbers;
        labels_ = labels;
        path = at;
        width_ = 0;
        constant_.assign(static_cast<std::size_t>(each()), Word{0});
    }
    /// Make room for leaves below so many active features.
    void widen(Index width) {
        width_ = width;
        by_branch_ = width > kTogether;
        const auto grow = [](auto& room, Index size) {
            if (static_cast<Index>(room.size()) < size) room.resize(static_cast<std::size_t>(size), 0);
        };
        const Index pairs = by_branch_ ? width : width * width;
        grow(side_marks_, width);
        grow(side_, width * 2 * each());
        grow(pair_marks_, pairs);
        grow(corner_, pairs * 4 * each());
    }
    /// Forget all leaves.
    void clear() {
        std::fill(constant_.begin(), constant_.end(), Word{0});
        clear_below();
    }

    Index width() const { return width_; }
    Index labels() const { return labels_; }
    bool by_branch() const { return by_branch_; }
    bool empty() const { return sides_.empty() && pairs_.empty() && !any(constant_.data()); }
    const N& numbers() const { return numbers_; }

    Word* constant(Index label) { return constant_.data() + label * numbers_.size(); }
    const Word* constant(Index label) const { return constant_.data() + label * numbers_.size(); }

    void add_side(Index a, int s, Index label, const Word* weight) {
        if (!numbers_.positive(weight)) return;
        if (!side_marks_[a]) sides_.push_back(a);
        side_marks_[a] = 1;
        numbers_.add(side_.data() + ((a * 2 + s) * labels_ + label) * numbers_.size(), weight);
    }
    void add_corner(Index a, int s, Index b, int t, Index label, const Word* weight) {
        if (!numbers_.positive(weight)) return;
        if (!by_branch_ && b < a) {
            std::swap(a, b);
            std::swap(s, t);
        }
        if (by_branch_) branch_ = a;
        const Index place = (by_branch_ ? 0 : a * width_) + b;
        if (!pair_marks_[place]) pairs_.push_back(place);
        pair_marks_[place] = 1;
        numbers_.add(corner_.data() + ((place * 4 + 2 * s + t) * labels_ + label) * numbers_.size(), weight);
    }

    /// Call `use(a)` for each feature with leaves right below it.
    template <class Use>
    void for_each_side(Use use) const {
        for (const Index a : sides_) use(a);
    }
    const Word* side(Index a, int s, Index label) const {
        return side_.data() + ((a * 2 + s) * labels_ + label) * numbers_.size();
    }
    /// Call `use(a, b, place)` for each pair of features with leaves below both.
    template <class Use>
    void for_each_pair(Use use) const {
        for (const Index place : pairs_) {
            if (by_branch_)
                use(branch_, place, place);
            else
                use(place / width_, place % width_, place);
        }
    }
    const Word* corner(Index place, int s, int t, Index label) const {
        return corner_.data() + ((place * 4 + 2 * s + t) * labels_ + label) * numbers_.size();
    }
    bool any(const Word* words) const {
        for (Index l = 0; l < labels_; ++l)
            if (numbers_.positive(words + l * numbers_.size())) return true;
        return false;
    }

private:
    static constexpr Index kTogether = 256;  // features whose pairs are kept together

    Index each() const { return labels_ * numbers_.size(); }

    void clear_below() {
        for (const Index a : sides_) {
            std::fill_n(side_.begin() + a * 2 * each(), 2 * each(), Word{0});
            side_marks_[a] = 0;
        }
        for (const Index p : pairs_) {
            std::fill_n(corner_.begin() + p * 4 * each(), 4 * each(), Word{0});
            pair_marks_[p] = 0;
        }
        sides_.clear();
        pairs_.clear();
    }

    N numbers_{};
    Index labels_ = 0;
    Index width_ = 0;
    bool by_branch_ = false;
    Index branch_ = 0;
    std::vector<Word> constant_;  ///< [label][word]
    std::vector<Word> side_;      ///< [a][s][label][word]
    std::vector<Word> corner_;    ///< [pair][s][t][label][word]
    std::vector<char> side_marks_, pair_marks_;
    std::vector<Index> sides_, pairs_;  ///< those that are marked
};

}  // namespace adtc

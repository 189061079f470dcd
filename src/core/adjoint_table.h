// The adjoints of one path, found by key.
#pragma once

#include "adjoint_numbers.h"
#include "key_list.h"

namespace adtc {

/// Cells with an adjoint other than 0; numbers by key where keys lie close together, else by hashing.
template <class Key, class N>
class AdjointTable {
public:
    using Word = typename N::Word;

    /// Take the adjoints of a tensor's cells, [cell][word].
    void build(const N& numbers, const CellView<Key>& cells, const Word* adjoints) {
        width_ = numbers.size();
        keys_.clear();
        at_.clear();
        for (Index i = 0; i < cells.size; ++i) {
            if (!numbers.positive(adjoints + i * width_)) continue;
            keys_.push_back(cells.keys[i]);
            at_.push_back(i);
        }
        dense_ = true;
        places_ = 0;
        if (keys_.empty()) return;
        const auto [low, high] = std::minmax_element(keys_.begin(), keys_.end());
        base_ = *low;
        dense_ = is_narrow<Key>(*high - *low, size());
        places_ = dense_ ? static_cast<Index>(*high - *low) + 1 : 16;
        if (!dense_) {
            while (places_ < 2 * size()) places_ *= 2;
            slots_.assign(static_cast<std::size_t>(places_), kFree);
        }
        words_.assign(static_cast<std::size_t>(places_ * width_), Word{0});
        for (Index k = 0; k < size(); ++k) {
            const Index place = dense_ ? static_cast<Index>(keys_[k] - base_) : free_place(keys_[k]);
            if (!dense_) slots_[place] = keys_[k];
            std::copy_n(adjoints + at_[k] * width_, width_, words_.data() + place * width_);
        }
        at_ = {};
    }

    /// How many cells have an adjoint.
    Index size() const { return static_cast<Index>(keys_.size()); }
    Key key(Index at) const { return keys_[static_cast<std::size_t>(at)]; }
    bool is_dense() const { return dense_; }
    Key base() const { return base_; }
    Index places() const { return places_; }  ///< where dense: the keys' range
    const Word* words() const { return words_.data(); }
    Index bytes() const {
        return static_cast<Index>(sizeof(*this) + sizeof(Key) * (keys_.capacity() + slots_.capacity()) +
                                  8 * words_.capacity());
    }

    /// Find the adjoint of a key; none if it is 0.
    const Word* find(Key key) const {
        if (dense_) {
            const Key place = key - base_;
            if (place < 0 || place >= places_) return nullptr;
            return words_.data() + static_cast<Index>(place) * width_;
        }
        std::size_t at = hash_of(key) & static_cast<std::size_t>(places_ - 1);
        while (slots_[at] != key) {
            if (slots_[at] == kFree) return nullptr;
            at = (at + 1) & static_cast<std::size_t>(places_ - 1);
        }
        return words_.data() + static_cast<Index>(at) * width_;
    }

private:
    static constexpr Key kFree = std::numeric_limits<Key>::min();

    Index free_place(Key key) const {
        std::size_t at = hash_of(key) & static_cast<std::size_t>(places_ - 1);
        while (slots_[at] != kFree) at = (at + 1) & static_cast<std::size_t>(places_ - 1);
        return static_cast<Index>(at);
    }

    Index width_ = 1;
    bool dense_ = false;
    Key base_ = 0;
    Index places_ = 0;
    std::vector<Key> keys_;  ///< of the cells with an adjoint, in their order
    std::vector<Index> at_;
    std::vector<Key> slots_;
    std::vector<Word> words_;  ///< [place][word]
};

}  // namespace adtc

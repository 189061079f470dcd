// Where keys stand in a list, found by hashing.
#pragma once

#include <vector>

#include "cells.h"

namespace adtc {

template <class Key>
class KeySlots {
public:
    /// Note the places of keys, which differ from one another.
    void build(const Key* keys, Index size) {
        std::size_t places = 16;
        while (places < 2 * static_cast<std::size_t>(size)) places *= 2;
        last_ = places - 1;
        slots_.assign(places, Slot{Key{}, -1});
        for (Index i = 0; i < size; ++i) {
            std::size_t at = hash_of(keys[i]) & last_;
            while (slots_[at].place >= 0) at = (at + 1) & last_;
            slots_[at] = {keys[i], i};
        }
    }
    /// Return the place of a key; −1 if it is not there.
    Index find(Key key) const {
        std::size_t at = hash_of(key) & last_;
        while (slots_[at].place >= 0 && slots_[at].key != key) at = (at + 1) & last_;
        return slots_[at].place;
    }

private:
    struct Slot {
        Key key;
        Index place;  ///< −1: free
    };
    std::vector<Slot> slots_ = std::vector<Slot>(1, Slot{Key{}, -1});
    std::size_t last_ = 0;
};

}  // namespace adtc

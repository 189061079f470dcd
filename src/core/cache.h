// An LRU cache of values that can be computed again.
#pragma once

#include <list>
#include <memory>
#include <unordered_map>

#include "views.h"

namespace adtc {

/// A least-recently-used cache, bounded by bytes. Values are shared: one that is in use outlives its
/// eviction.
template <class Value>
class Cache {
public:
    explicit Cache(Index most_bytes) : most_bytes_(most_bytes) {}

    Index bytes() const { return bytes_; }

    /// Return a value and mark it as used just now; nothing if it is not there.
    std::shared_ptr<Value> find(Index id) {
        const auto at = places_.find(id);
        if (at == places_.end()) return nullptr;
        entries_.splice(entries_.begin(), entries_, at->second);
        return at->second->value;
    }
    void insert(Index id, std::shared_ptr<Value> value, Index bytes) {
        entries_.push_front({id, std::move(value), bytes});
        places_[id] = entries_.begin();
        bytes_ += bytes;
        trim();
    }
    /// Note that a value has grown; it may be evicted if it is not there any more.
    void grow(Index id, Index bytes) {
        const auto at = places_.find(id);
        if (at == places_.end()) return;
        at->second->bytes += bytes;
        bytes_ += bytes;
        trim();
    }

private:
    struct Entry {
        Index id;
        std::shared_ptr<Value> value;
        Index bytes;
    };

    void trim() {
        while (bytes_ > most_bytes_ && !entries_.empty()) {
            bytes_ -= entries_.back().bytes;
            places_.erase(entries_.back().id);
            entries_.pop_back();
        }
    }

    Index most_bytes_;
    Index bytes_ = 0;
    std::list<Entry> entries_;  ///< used last: first
    std::unordered_map<Index, typename std::list<Entry>::iterator> places_;
};

}  // namespace adtc

// Tensors as lists of cells, and hash tables of cells.
//
// A cell has a key (all axes packed into one integer that adds up over subtrees), its costs (one per
// pushed functional; equal keys have equal costs) and the number of trees in it. Lists are sorted by
// first cost and then by key, so that a product stops as soon as the budget is spent.
#pragma once

#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "buffer.h"
#include "control.h"
#include "limbs.h"

namespace adtc {

/// A key where 64 bits do not suffice; Python sees it as two words, the lower one first.
using WideKey = __int128;

/// Part of a list that somebody else owns.
template <class Key>
struct CellView {
    const Key* keys = nullptr;     ///< [cell]
    const Limb* values = nullptr;  ///< [cell][limb]: numbers of trees
    const Index* costs = nullptr;  ///< [cell][functional]
    Index size = 0;
    Index limbs = 1;
    Index functionals = 0;

    const Limb* value(Index at) const { return values + at * limbs; }
    const Index* cost(Index at) const { return costs + at * functionals; }
    CellView part(Index start, Index stop) const {
        return {keys + start, value(start), cost(start), stop - start, limbs, functionals};
    }
};

/// A list of cells that grows.
template <class Key>
struct Cells {
    Index limbs = 1;
    Index functionals = 0;
    Buffer<Key> keys;
    Buffer<Limb> values;
    Buffer<Index> costs;

    Cells() = default;
    Cells(Index limbs, Index functionals) : limbs(limbs), functionals(functionals) {}

    Index size() const { return keys.size(); }
    Limb* value(Index at) { return values.data() + at * limbs; }
    Index* cost(Index at) { return costs.data() + at * functionals; }
    CellView<Key> view() const { return {keys.data(), values.data(), costs.data(), size(), limbs, functionals}; }

    /// Count the bytes of one cell.
    Index width() const { return static_cast<Index>(sizeof(Key)) + 8 * limbs + 8 * functionals; }
    Index bytes() const { return size() * width(); }

    /// Change the number of cells; new ones are not initialised.
    void resize(Index size) {
        keys.resize(size);
        values.resize(size * limbs);
        costs.resize(size * functionals);
    }
    void shrink() {
        keys.shrink();
        values.shrink();
        costs.shrink();
    }
    void append(const CellView<Key>& more) {
        const Index at = size();
        resize(at + more.size);
        std::copy_n(more.keys, more.size, keys.data() + at);
        std::copy_n(more.values, more.size * limbs, value(at));
        std::copy_n(more.costs, more.size * functionals, cost(at));
    }
};

/// The tensors of some paths, one behind the other: what a job makes of a level.
template <class Key>
struct Part {
    Cells<Key> cells;
    Index first = 0;                ///< where this job's cells begin: behind those of all jobs before it, or at 0
    bool continued = false;         ///< its path, a single one, was begun by the job before it
    std::vector<Index> numbers;     ///< the paths, by number within the level
    std::vector<Index> stops;       ///< where each path's cells end, and the next one's begin
    std::shared_ptr<void> scratch;  ///< room that jobs hand on to one another: new memory is slow

    Index bytes() const { return (cells.size() - first) * cells.width(); }

    void close(Index number) {
        numbers.push_back(number);
        stops.push_back(cells.size());
    }
};

/// The tensors of a level, put together from parts in the order of their jobs.
template <class Key>
class Pool {
public:
    Pool(Index limbs, Index functionals) : cells_(limbs, functionals) {}

    /// Begin a job. If all before it are done, it writes behind what they have made.
    Part<Key> open(Index job) {
        const std::lock_guard lock(mutex_);
        Part<Key> part{Cells<Key>(cells_.limbs, cells_.functionals), 0, false, {}, {}, nullptr};
        if (!idle_.empty()) {
            part.scratch = std::move(idle_.back());
            idle_.pop_back();
        }
        if (job == next_) {
            part.first = lent_ = cells_.size();
            std::swap(part.cells, cells_);
        } else if (!spare_.empty()) {
            part.cells = std::move(spare_.back());
            spare_.pop_back();
        }
        return part;
    }
    /// Take over what a job has made; it may be put aside until all jobs before it are done.
    void commit(Index job, Part<Key>&& part, std::span<Index> starts, std::span<Index> stops) {
        const std::lock_guard lock(mutex_);
        if (part.scratch) idle_.push_back(std::move(part.scratch));
        waiting_.emplace(job, std::move(part));
        for (auto at = waiting_.find(next_); at != waiting_.end(); at = waiting_.find(next_)) {
            append(at->second, starts, stops);
            waiting_.erase(at);
            ++next_;
        }
    }
    Index bytes() {
        const std::lock_guard lock(mutex_);
        Index cells = cells_.size() + lent_;
        for (const auto& [job, part] : waiting_) cells += part.cells.size();
        return cells * cells_.width();
    }
    /// Hand over all cells.
    Cells<Key> release() {
        cells_.shrink();
        idle_.clear();
        spare_.clear();
        return std::move(cells_);
    }

private:
    void append(Part<Key>& part, std::span<Index> starts, std::span<Index> stops) {
        Index offset = 0;
        if (cells_.size() == 0) {  // also where the job was lent all cells
            std::swap(cells_, part.cells);
            lent_ = 0;
        } else {
            offset = cells_.size();
            cells_.append(part.cells.view());
            part.cells.resize(0);
            spare_.push_back(std::move(part.cells));
        }
        for (std::size_t k = 0; k < part.numbers.size(); ++k) {
            if (!part.continued) starts[part.numbers[k]] = offset + (k ? part.stops[k - 1] : part.first);
            stops[part.numbers[k]] = offset + part.stops[k];
        }
    }

    std::mutex mutex_;
    Cells<Key> cells_;
    Index lent_ = 0;  ///< cells that a job holds now
    std::map<Index, Part<Key>> waiting_;
    std::vector<std::shared_ptr<void>> idle_;
    std::vector<Cells<Key>> spare_;  ///< empty lists: new memory is slow
    Index next_ = 0;
};

inline std::uint64_t mixed(std::uint64_t key) {
    key *= 0x9e3779b97f4a7c15u;
    return key ^ (key >> 29);
}
inline std::uint64_t hash_of(Index key) { return mixed(static_cast<std::uint64_t>(key)); }
inline std::uint64_t hash_of(WideKey key) {
    return mixed(static_cast<std::uint64_t>(key) ^ mixed(static_cast<std::uint64_t>(key >> 64)));
}

/// Cells by key, with open addressing; at most half full.
template <class Key, int L>
class CellTable {
public:
    static constexpr Index kFirstPlaces = 256;

    CellTable(Limbs<L> limbs, Index functionals) : limbs_(limbs), cells_(limbs.size(), functionals) {
        rebuild(kFirstPlaces);
    }

    Index size() const { return size_; }
    Index places() const { return cells_.size(); }
    Index bytes() const { return cells_.bytes(); }
    static Index places_for(Index cells) {
        Index places = kFirstPlaces;
        while (places < 2 * cells) places *= 2;
        return places;
    }

    void clear() {
        // new memory is slow at first use, and so is the clearing of far more than was used
        if (16 * size_ < places() && places() > 4096)
            rebuild(kFirstPlaces);
        else
            std::fill_n(cells_.keys.data(), places(), kFree);
        size_ = 0;
    }
    /// Make room for so many keys more; return false, and do nothing, if that takes more than `most` places.
    bool reserve(Index more, Index most = std::numeric_limits<Index>::max()) {
        if (2 * (size_ + more) <= places()) return true;
        const Index wanted = places_for(size_ + more);
        if (wanted > most) return false;
        grow(wanted);
        return true;
    }
    /// Find the number of a key, 0 if it is new; there must be room. `cost(d)` says what it costs.
    template <class Cost>
    Limb* find(Key key, Cost cost) {
        const Index last = places() - 1;
        Key* const keys = cells_.keys.data();
        Index at = static_cast<Index>(hash_of(key)) & last;
        while (keys[at] != key && keys[at] != kFree) at = (at + 1) & last;
        if (keys[at] == kFree) {
            keys[at] = key;
            limbs_.clear(cells_.value(at));
            for (Index d = 0; d < cells_.functionals; ++d) cells_.cost(at)[d] = cost(d);
            ++size_;
        }
        return cells_.value(at);
    }
    /// Append all cells with trees.
    void append_to(Cells<Key>& list) {
        Index at = list.size();
        list.resize(at + size_);
        for_each([&](Key key, const Limb* value, const Index* cost) {
            list.keys[at] = key;
            limbs_.copy(value, limbs_.size(), list.value(at));
            std::copy_n(cost, list.functionals, list.cost(at));
            ++at;
        });
        list.resize(at);
    }
    template <class Use>
    void for_each(Use use) {
        for (Index i = 0; i < places(); ++i)
            if (cells_.keys[i] != kFree && limbs_.positive(cells_.value(i)))
                use(cells_.keys[i], cells_.value(i), cells_.cost(i));
    }

private:
    static constexpr Key kFree = std::numeric_limits<Key>::min();

    void rebuild(Index places) {
        cells_ = Cells<Key>(limbs_.size(), cells_.functionals);
        cells_.resize(places);
        std::fill_n(cells_.keys.data(), places, kFree);
    }
    void grow(Index wanted) {
        Cells<Key> old = std::move(cells_);
        cells_ = Cells<Key>(limbs_.size(), old.functionals);
        rebuild(wanted);
        size_ = 0;
        for (Index i = 0; i < old.size(); ++i)
            if (old.keys[i] != kFree) {
                const Index* cost = old.cost(i);
                limbs_.copy(old.value(i), limbs_.size(), find(old.keys[i], [cost](Index d) { return cost[d]; }));
            }
    }

    Limbs<L> limbs_;
    Cells<Key> cells_;
    Index size_ = 0;
};

/// Tell whether a vector of costs fits the budgets.
inline bool within(const Index* cost, std::span<const Index> budgets) {
    for (std::size_t d = 0; d < budgets.size(); ++d)
        if (cost[d] > budgets[d]) return false;
    return true;
}

/// Return how many leading cells of a list sorted by first cost cost at most `left`.
template <class Key>
Index affordable(const CellView<Key>& list, Index left) {
    Index low = 0, high = list.size;
    while (low < high) {
        const Index middle = (low + high) / 2;
        if (list.cost(middle)[0] <= left)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

}  // namespace adtc

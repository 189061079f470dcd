// Sums of products made range by range of their keys, for lists that are sorted by key.
//
// A cell of a summand's outer list times its inner list is a *run*: its products come with ascending
// keys. All runs are walked at once, up to one bound after another, so that about as many products
// come together as the processor's caches hold; these are sorted and summed, and the sums are already
// in the order of their keys.
#pragma once

#include <vector>

#include "leaves.h"
#include "products.h"
#include "sorting.h"

namespace adtc {

template <class Key, int L>
class RangedSum {
public:
    explicit RangedSum(Limbs<L> limbs) : limbs_(limbs) {}

    static constexpr Index kMostRuns = Index{1} << 15;

    /// Begin a sum within at most one budget. Return false if there are so many runs that looking at
    /// each of them for every range would take longer than the products.
    bool begin(const std::vector<Summand<Key>>& summands, std::span<const Index> budgets) {
        runs_.clear();
        next_.clear();
        scaled_.clear();
        products_ = 0;
        for (const auto& s : summands) {
            find_segments(s.inner);
            Index stop = s.inner.size;
            for (Index i = 0; i < s.outer.size; ++i) {
                if (!budgets.empty()) stop = affordable(s.inner.part(0, stop), budgets[0] - s.outer.cost(i)[0]);
                if (stop == 0) break;  // sorted: no later cell is cheaper
                if (static_cast<Index>(runs_.size() + segments_.size()) > kMostRuns) return false;
                add_row(s, i, stop);
            }
        }
        return true;
    }
    /// Leave out what has keys below a first or from a last one on.
    void narrow(const KeyLimits<Key>& limits) {
        std::size_t kept = 0;
        products_ = 0;
        for (Run run : runs_) {
            const Key* const end = std::lower_bound(run.key, run.end, limits.stop,
                                                    [&](Key key, Key stop) { return run.outer_key + key < stop; });
            const Key* const begin =
                std::lower_bound(run.key, end, limits.low, [&](Key key, Key low) { return run.outer_key + key < low; });
            if (begin == end) continue;
            skip(run, begin - run.key);
            run.end = end;
            products_ += end - begin;
            next_[kept] = run.outer_key + *run.key;
            runs_[kept++] = run;
        }
        runs_.resize(kept);
        next_.resize(kept);
    }
    /// Append the sum of some cells and of all products; `check` is called between pieces of work.
    template <class Check>
    void append(const CellView<Key>& more, Cells<Key>& list, Check check) {
        const Index row = static_cast<Index>(scaled_.size()) / limbs_.size();
        scaled_.resize(scaled_.size() + static_cast<std::size_t>(limbs_.size()));
        scaled_[row * limbs_.size()] = 1;
        for (Index k = 0; k < more.size; ++k)
            push({more.keys + k, more.keys + k + 1, more.value(k), more.cost(k), nullptr, 0, row, more.limbs,
                  more.functionals});
        products_ += more.size;
        found_.limbs = list.limbs;
        found_.functionals = list.functionals;
        found_.resize(0);
        find_bounds();
        for (const Key bound : bounds_) {
            check();
            for (std::size_t r = 0; r < runs_.size(); ++r)
                if (next_[r] < bound) take(r, bound);
            sum_by_key(found_, 0, found_.size(), limbs_, sorter_, list);
            found_.resize(0);
            kept_ = 0;
        }
    }

private:
    static constexpr Index kTogether = Index{1} << 14;              // products sorted at once
    static constexpr Index kMost = Index{1} << 16;                  // before equal keys are added up
    static constexpr Key kNoKey = std::numeric_limits<Key>::max();  // more than any key
    static constexpr Index kSampled = Index{1} << 10;               // products that one sample stands for

    /// A cell of the outer list and a part of the inner one, sorted by key.
    struct Run {
        const Key* key;  ///< of the next inner cell
        const Key* end;
        const Limb* value;        ///< of the next inner cell
        const Index* cost;        ///< of the next inner cell
        const Index* outer_cost;  ///< none: 0
        Key outer_key;
        Index row;    ///< the outer cell's value, times the factor, is scaled_[row]
        Index limbs;  ///< of the inner values
        Index costs;  ///< of an inner cell
    };

    static void skip(Run& run, Index n) {
        run.key += n;
        run.value += n * run.limbs;
        run.cost += n * run.costs;
    }

    /// Find where the keys of a list begin to ascend anew: lists are sorted by cost first.
    void find_segments(const CellView<Key>& list) {
        segments_.clear();
        for (Index j = 0; j < list.size; ++j)
            if (j == 0 || list.keys[j] < list.keys[j - 1]) segments_.push_back(j);
    }
    void add_row(const Summand<Key>& s, Index i, Index stop) {
        const Index row = static_cast<Index>(scaled_.size()) / limbs_.size();
        scaled_.resize(scaled_.size() + static_cast<std::size_t>(limbs_.size()));
        limbs_.scale(s.outer.value(i), s.outer.limbs, s.factor, scaled_.data() + row * limbs_.size());
        for (std::size_t k = 0; k < segments_.size() && segments_[k] < stop; ++k) {
            const Index from = segments_[k], to = k + 1 < segments_.size() ? std::min(segments_[k + 1], stop) : stop;
            push({s.inner.keys + from, s.inner.keys + to, s.inner.value(from), s.inner.cost(from), s.outer.cost(i),
                  s.outer.keys[i], row, s.inner.limbs, s.inner.functionals});
            products_ += to - from;
        }
    }
    void push(const Run& run) {
        runs_.push_back(run);
        next_.push_back(run.outer_key + *run.key);
    }

    /// Choose bounds that divide the products into ranges of about the same size: from every so manyth one.
    void find_bounds() {
        bounds_.clear();
        if (products_ > kTogether) {
            samples_.clear();
            Index skip = kSampled / 2;
            for (const Run& run : runs_) {
                const Index size = run.end - run.key;
                for (; skip < size; skip += kSampled) samples_.push_back(run.outer_key + run.key[skip]);
                skip -= size;
            }
            std::sort(samples_.begin(), samples_.end());
            constexpr std::size_t step = kTogether / kSampled;
            for (std::size_t k = step; k < samples_.size(); k += step)
                if (bounds_.empty() || bounds_.back() < samples_[k]) bounds_.push_back(samples_[k]);
        }
        bounds_.push_back(kNoKey);
    }

    /// Make the products of a run up to a bound.
    void take(std::size_t r, Key bound) {
        Run& run = runs_[r];
        const Key* const end = bound == kNoKey ? run.end : end_below(run, bound - run.outer_key);
        while (run.key < end) {
            const Index most = std::max(kMost, 2 * kept_);
            multiply(run, std::min<Index>(end - run.key, most - found_.size()));
            if (found_.size() == most) compact();
        }
        next_[r] = run.key < run.end ? run.outer_key + *run.key : kNoKey;
    }
    /// Find the end of a run's inner keys below a bound; mostly it is near.
    static const Key* end_below(const Run& run, Key bound) {
        Index step = 1;
        while (step < run.end - run.key && run.key[step] < bound) step *= 2;
        return std::lower_bound(run.key + step / 2, std::min(run.key + step, run.end), bound);
    }

    void multiply(Run& run, Index n) {
        const Index at = found_.size(), functionals = found_.functionals;
        found_.resize(at + n);
        const Limb* const factor = scaled_.data() + run.row * limbs_.size();
        for (Index k = 0; k < n; ++k) found_.keys[at + k] = run.outer_key + run.key[k];
        if constexpr (L == 1) {
            for (Index k = 0; k < n; ++k) found_.values[at + k] = factor[0] * run.value[k];
        } else {
            for (Index k = 0; k < n; ++k) {
                limbs_.clear(found_.value(at + k));
                limbs_.add_product(found_.value(at + k), factor, run.value + k * run.limbs, run.limbs);
            }
        }
        for (Index k = 0; k < n * functionals; ++k)
            found_.costs[at * functionals + k] = run.cost[k] + (run.outer_cost ? run.outer_cost[k % functionals] : 0);
        skip(run, n);
    }

    /// Add up equal keys, so that many products of few keys take little room.
    void compact() {
        summed_.limbs = found_.limbs;
        summed_.functionals = found_.functionals;
        summed_.resize(0);
        sum_by_key(found_, 0, found_.size(), limbs_, sorter_, summed_);
        std::swap(found_, summed_);
        kept_ = found_.size();
    }

    Limbs<L> limbs_;
    NumberOrder sorter_;
    std::vector<Run> runs_;
    std::vector<Key> next_;     ///< [run]: its next key
    std::vector<Limb> scaled_;  ///< [row][limb]
    std::vector<Index> segments_;
    std::vector<Key> samples_, bounds_;
    Index products_ = 0;
    Index kept_ = 0;  ///< sums among what was found
    Cells<Key> found_, summed_;
};

}  // namespace adtc

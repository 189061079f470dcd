// Bayesian sums over trees of depth at most 2 below a path, from counts of pairs: see bayes.h.
#pragma once

#include "averaging.h"
#include "leaf_list.h"
#include "walk.h"

namespace adtc {

/// Trees of depth at most 2 below one path, from counts of pairs.
template <class T>
class Below {
public:
    explicit Below(const Model& model) : model_(model), labels_(static_cast<std::size_t>(model.evidence.labels())) {
        for (auto& quadrant : counts_) quadrant.resize(labels_);
        for (auto& side : stumps_) side.resize(static_cast<std::size_t>(model.channels));
        after_.resize(static_cast<std::size_t>(model.groups + 1));
    }

    /// Look at a path with `rest` levels below it.
    void open(const PairCounts<T>& path, Index rest) {
        path_ = &path;
        depth_ = path.path.length;
        valid_ = 0;
        splits_.clear();
        for (std::size_t at = 0; rest > 0 && at < path.slots.size(); ++at) consider(at);
        sums_.assign(splits_.size() * 2 * static_cast<std::size_t>(model_.groups), Scaled{});
        if (rest > 1)
            for (std::size_t i = 0; i < splits_.size(); ++i)
                for (std::size_t j = i + 1; j < splits_.size(); ++j) pair(i, j);
    }

    Scaled leaf() const { return model_.evidence.of(path_->totals.data()) * model_.prior.stay(depth_, valid_); }
    Index valid() const { return valid_; }
    double factor() const { return model_.prior.part(depth_, valid_); }

    /// Sum over all trees below the path, by channel and number of leaves; and find the best.
    void fill(std::span<Scaled> sums, std::span<Scaled> best) {
        const auto slots = static_cast<std::size_t>(model_.slots);
        const Scaled single = leaf();
        for (Index c = 0; c < model_.channels; ++c) sums[c * model_.slots] = single;
        best[0] = single;
        for (std::size_t i = 0; i < splits_.size(); ++i) {
            settle(i);
            const double each = factor();
            for (Index c = 0; c < model_.channels; ++c) {
                const double times = model_.times_of(c, splits_[i].feature);
                if (times == 0) continue;
                const Few one = child(i, 1, c), zero = child(i, 0, c);
                multiply<false>(one.values(), zero.values(), each * times, model_.bounded,
                                sums.subspan(static_cast<std::size_t>(c) * slots, slots));
            }
            const Few one = best_child(i, 1), zero = best_child(i, 0);
            multiply<true>(one.values(), zero.values(), each, model_.bounded, best);
        }
        tidy_all(sums);
        tidy_all(best);
    }

    /// Call `use(feature, values on side 1, on side 0)` for every split.
    template <class Use>
    void for_each_split(bool best, Use use) {
        for (std::size_t i = 0; i < splits_.size(); ++i) {
            settle(i);
            const Few one = best ? best_child(i, 1) : child(i, 1, 0), zero = best ? best_child(i, 0) : child(i, 0, 0);
            use(splits_[i].feature, one.values(), zero.values());
        }
    }

    /// List the leaves at the path and below it that trees have with probability `least` or more.
    void list_leaves(Values outer, Scaled root, double least, const Lattice& names, LeafList& list) {
        const Path& path = path_->path;
        const double here = ratio(outer[0] * leaf(), root);
        if (here >= least)
            put_leaf(list, path.number(names), here, path_->totals);
        else
            list.lost += here;
        for (std::size_t i = 0; i < splits_.size(); ++i) {
            settle(i);
            const Index f = splits_[i].feature;
            const Children numbers = children(names, path.features, path.length, path.signs, f);
            const double each = factor() * static_cast<double>(model_.multiplicity[f]);
            double lost[2] = {};  // a row is on one side only
            for (int s = 0; s < 2; ++s) {
                const Few own = child(i, s, 0), other = child(i, 1 - s, 0);
                Few from{own.size, {}};
                hand_over(outer, other.values(), each, model_.bounded, {from.value, from.size});
                const Scaled stumps = from.value[from.size - 1];
                const double single = ratio(from.value[0] * side_leaf(splits_[i].side[s]), root);
                const double further = model_.bounded && from.size < 2 ? 0 : ratio(stumps * stumps_[s][0], root);
                if (single >= least) {
                    rows_beside(i, s);
                    put_leaf(list, s == 1 ? numbers.one : numbers.zero, single, side_rows_);
                } else {
                    lost[s] += single;
                }
                lost[s] += further >= least ? list_stumps(i, s, stumps, root, least, names, list) : further;
            }
            list.lost += std::max(lost[0], lost[1]);
        }
    }

private:
    /// One side of a split on a feature.
    struct Side {
        Scaled evidence;
        Index valid = 0;  ///< features that can split it
        Scaled best;      ///< of its stumps
    };
    struct Split {
        std::size_t at;  ///< its slot in the counts
        Index feature;
        Side side[2];  ///< where the feature is 0 and 1
    };
    /// The values of a child by its number of leaves, which is 1 or 2; all in one if it may be any.
    struct Few {
        std::size_t size = 1;
        Scaled value[2] = {};

        Values values() const { return {value, size}; }
    };

    void consider(std::size_t at) {
        const PairCounts<T>& path = *path_;
        const Index f = path.slots[at];
        for (std::size_t l = 0; l < labels_; ++l) {
            counts_[1][l] = path.row(static_cast<Index>(l), static_cast<Index>(at))[f];
            counts_[0][l] = path.totals[l] - counts_[1][l];
        }
        if (!model_.enough(counts_[0]) || !model_.enough(counts_[1])) return;
        Split split{at, f, {}};
        for (int s = 0; s < 2; ++s) split.side[s].evidence = model_.evidence.of(counts_[s].data());
        splits_.push_back(split);
        valid_ += model_.multiplicity[f];
    }

    /// Count the rows where both features have given values: index 2 · (first is 1) + (second is 1).
    void count_quadrants(const Split& first, const Split& second) {
        const PairCounts<T>& path = *path_;
        for (std::size_t l = 0; l < labels_; ++l) {
            const T* const row = path.row(static_cast<Index>(l), static_cast<Index>(first.at));
            const Index both = row[second.feature], one = row[first.feature];
            const Index other = path.row(static_cast<Index>(l), static_cast<Index>(second.at))[second.feature];
            counts_[3][l] = both;
            counts_[2][l] = one - both;
            counts_[1][l] = other - both;
            counts_[0][l] = path.totals[l] - one - other + both;
        }
    }

    /// Add the splits on one of two features below the other; each quadrant is measured once.
    void pair(std::size_t i, std::size_t j) {
        count_quadrants(splits_[i], splits_[j]);
        bool enough[4];
        Scaled value[4];
        for (int q = 0; q < 4; ++q) {
            enough[q] = model_.enough(counts_[q]);
            if (enough[q]) value[q] = model_.evidence.of(counts_[q].data());
        }
        for (int s = 0; s < 2; ++s) {
            if (enough[2 * s] && enough[2 * s + 1]) add_stump(i, s, j, value[2 * s] * value[2 * s + 1]);
            if (enough[s] && enough[s + 2]) add_stump(j, s, i, value[s] * value[s + 2]);
        }
    }

    void add_stump(std::size_t i, int s, std::size_t below, Scaled value) {
        Side& side = splits_[i].side[s];
        const Index f = splits_[below].feature;
        side.valid += model_.multiplicity[f];
        keep_larger(side.best, value);
        for (Index e = model_.starts[f]; e < model_.starts[f + 1]; ++e)
            add(sums_[(2 * i + static_cast<std::size_t>(s)) * static_cast<std::size_t>(model_.groups) +
                      static_cast<std::size_t>(model_.group[e])],
                value * model_.held[e]);
    }

    double stump_factor(const Side& side) const {
        return side.valid > 0 ? model_.prior.part(depth_ + 1, side.valid) : 0;
    }
    Scaled side_leaf(const Side& side) const { return side.evidence * model_.prior.stay(depth_ + 1, side.valid); }

    /// Sum the stumps on both sides of a split, for every channel. A group is left out by adding all
    /// others: a difference would lose digits.
    void settle(std::size_t i) {
        for (int s = 0; s < 2; ++s) {
            const Scaled* const sums = sums_.data() + (2 * i + static_cast<std::size_t>(s)) * model_.groups;
            const double factor = stump_factor(splits_[i].side[s]);
            after_[model_.groups] = {};
            for (Index g = model_.groups; g > 0; --g) {
                after_[g - 1] = after_[g];
                add(after_[g - 1], sums[g - 1]);
            }
            Scaled before;
            stumps_[s][0] = tidy(after_[0] * factor);
            for (Index c = 1; c < model_.channels; ++c) {
                Scaled sum = before;
                add(sum, after_[c]);
                stumps_[s][c] = tidy(sum * factor);
                add(before, sums[c - 1]);
            }
        }
    }

    Few by_leaves(Scaled single, Scaled stump, bool best) const {
        if (model_.bounded) return {std::min<std::size_t>(2, static_cast<std::size_t>(model_.slots)), {single, stump}};
        if (best)
            keep_larger(single, stump);
        else
            add(single, stump);
        return {1, {single}};
    }
    /// The values of a child of a split that `settle` has looked at.
    Few child(std::size_t i, int s, Index channel) const {
        return by_leaves(side_leaf(splits_[i].side[s]), stumps_[s][channel], false);
    }
    Few best_child(std::size_t i, int s) const {
        const Side& side = splits_[i].side[s];
        return by_leaves(side_leaf(side), tidy(side.best * stump_factor(side)), true);
    }

    void rows_beside(std::size_t i, int s) {
        side_rows_.resize(labels_);
        for (std::size_t l = 0; l < labels_; ++l) {
            const Index ones = path_->row(static_cast<Index>(l), static_cast<Index>(splits_[i].at))[splits_[i].feature];
            side_rows_[l] = s == 1 ? ones : path_->totals[l] - ones;
        }
    }

    /// List the leaves of stumps on one side of a split; returns the probability of those left out.
    double list_stumps(std::size_t i, int s, Scaled outer, Scaled root, double least, const Lattice& names,
                       LeafList& list) {
        const Path path = with(path_->path, splits_[i].feature, s == 0);
        const double factor = stump_factor(splits_[i].side[s]);
        double lost = 0;
        for (std::size_t j = 0; j < splits_.size(); ++j) {
            if (j == i) continue;
            const Index h = splits_[j].feature;
            count_quadrants(splits_[i], splits_[j]);
            const auto &zero = counts_[2 * s], &one = counts_[2 * s + 1];
            if (!model_.enough(zero) || !model_.enough(one)) continue;
            const Scaled stump = model_.evidence.of(zero.data()) * model_.evidence.of(one.data());
            const double mass =
                ratio(outer * tidy(stump * (factor * static_cast<double>(model_.multiplicity[h]))), root);
            if (mass < least) {
                lost += mass;
                continue;
            }
            const Children numbers = children(names, path.features, path.length, path.signs, h);
            put_leaf(list, numbers.one, mass, one);
            put_leaf(list, numbers.zero, mass, zero);
        }
        return lost;
    }

    const Model& model_;
    std::size_t labels_;
    const PairCounts<T>* path_ = nullptr;
    Index depth_ = 0;
    Index valid_ = 0;                ///< features that can split the path
    std::vector<Split> splits_;      ///< the distinct ones of them
    std::vector<Scaled> sums_;       ///< [split][side][group]: stumps there on a feature of the group
    std::vector<Scaled> stumps_[2];  ///< [side][channel]: of the split settled last
    std::vector<Scaled> after_;      ///< [group + 1]: scratch
    std::vector<Index> counts_[4];   ///< [quadrant][label]: scratch
    std::vector<Index> side_rows_;   ///< [label]: scratch
};

}  // namespace adtc

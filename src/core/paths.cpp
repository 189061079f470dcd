#include "paths.h"

#include <vector>

namespace adtc {
namespace {

constexpr Index kOften = 64;  ///< sets of features between two looks at the limits

void check(const Control* control, Index done) {
    if (control != nullptr && done % kOften == 0) control->check();
}

/// The least costs of all paths with one set of features, from those of one literal more.
class Ascent {
public:
    Ascent(const Lattice& lattice, const Costs& costs, Grid<const Index> counts, Grid<Index> least)
        : lattice_(lattice), costs_(costs), counts_(counts), least_(least), best_(std::size_t{1} << lattice.levels) {}

    void close(const Index* features, Index level, Index rank) {
        const Index first = lattice_.base[level] + (rank << level);
        for (Index form = 0; form < costs_.forms(); ++form) {
            std::fill_n(best_.begin(), Index{1} << level, costs_.infinity);
            take_splits(features, level, least_[form] + lattice_.base[level + 1]);
            for (Index signs = 0; signs < Index{1} << level; ++signs) {
                const auto counts = counts_.row(first + signs);
                if (support_of(counts, costs_.rule) >= costs_.rule.minsup)
                    least_[form][first + signs] = std::min(best_[signs], least_leaf(costs_, form, counts));
            }
        }
    }

private:
    /// Lower `best` to the splits on every feature that is not in the set; `below` is one level down.
    void take_splits(const Index* features, Index level, const Index* below) {
        // ranks of the features before, as they are, and of those after, which move up one place
        Index rank = 0;
        for (Index i = 0; i < level; ++i) rank += lattice_.binomial[features[i]][i + 2];
        for (Index at = 0, f = 0; at <= level; ++at) {
            const Index stop = at < level ? features[at] : lattice_.features;
            for (; f < stop; ++f) take_split(below + ((rank + lattice_.binomial[f][at + 1]) << (level + 1)), level, at);
            if (at < level) rank += lattice_.binomial[f][at + 1] - lattice_.binomial[f][at + 2];
            ++f;
        }
    }

    /// Children where the new literal, at place `at`, is positive and negative alternate in runs.
    void take_split(const Index* children, Index level, Index at) {
        const Index run = Index{1} << at, infinity = costs_.infinity;
        Index* best = best_.data();
        for (Index runs = Index{1} << (level - at); runs > 0; --runs, children += 2 * run, best += run)
            for (Index i = 0; i < run; ++i)
                best[i] = std::min(best[i], add_costs(children[i], children[run + i], infinity));
    }

    const Lattice& lattice_;
    const Costs& costs_;
    Grid<const Index> counts_;
    Grid<Index> least_;
    std::vector<Index> best_;  ///< [signs]
};

/// Write a set with `k` among its features, given the others numbered as if k were not there.
Index put_between(const Index* others, Index k, Index level, const Lattice& lattice, Index* features) {
    Index rank = 0;
    for (Index i = 0, at = 0; i < level; ++i) {
        if (at == i && (i == level - 1 || others[i] >= k)) {
            features[i] = k;
        } else {
            features[i] = others[at] + (others[at] >= k);
            ++at;
        }
        rank += lattice.binomial[features[i]][i + 1];
    }
    return rank;
}

/// Hand budgets down to the two paths that a split leads to, if it fits all of their parent's.
struct Affording {
    Grid<const Index> least;
    Grid<Index> budgets;
    std::span<bool> live;

    void split(Index above, Index one, Index zero) const {
        const Index* const budget = budgets[above];
        for (Index d = 0; d < least.rows; ++d)
            if (least[d][one] + least[d][zero] > budget[d]) return;
        raise(one, zero, budget);
        raise(zero, one, budget);
    }

private:
    void raise(Index node, Index sibling, const Index* budget) const {
        Index* const own = budgets[node];
        for (Index d = 0; d < least.rows; ++d) {
            const Index left = budget[d] - least[d][sibling];
            own[d] = live[node] ? std::max(own[d], left) : left;
        }
        live[node] = true;
    }
};

/// Rank a set without its feature at one place.
Index rank_without(const Lattice& lattice, const Index* features, Index level, Index at) {
    Index rank = 0;
    for (Index i = 0; i < at; ++i) rank += lattice.binomial[features[i]][i + 1];
    for (Index i = at + 1; i < level; ++i) rank += lattice.binomial[features[i]][i];
    return rank;
}

/// Call `use(features, rank)` for every set of so many features.
template <class Use>
void for_each_set(const Lattice& lattice, Index features, Index level, const Control* control, Use use) {
    Index set[Path::kLongest] = {};
    first_set(set, level);
    const Index sets = lattice.binomial[features][level];
    for (Index rank = 0; rank < sets; ++rank) {
        check(control, rank);
        use(static_cast<const Index*>(set), rank);
        if (level > 0) next_set(set, level);
    }
}

/// One side of a feature: the least cost of a leaf or a stump there, and the stump's feature.
struct Side {
    Index cost;
    Index feature = -1;
};

Side best_below(Index f, bool positive, std::span<const Index> rows, Cube<const Index> both,
                std::span<const bool> on_path, const Costs& costs, Index rest) {
    Side best{least_leaf(costs, 0, rows)};
    if (rest < 2) return best;
    std::vector<Index> ones(rows.size()), zeros(rows.size());
    for (Index j = 0; j < both.rows; ++j) {
        if (on_path[j] || j == f) continue;
        for (Index g = 0; g < both.planes; ++g) {
            ones[g] = positive ? both[g][f][j] : both[g][j][j] - both[g][f][j];
            zeros[g] = rows[g] - ones[g];
        }
        const Index cost = add_costs(least_leaf(costs, 0, ones), least_leaf(costs, 0, zeros), costs.infinity);
        if (cost < best.cost) best = {cost, j};
    }
    return best;
}

}  // namespace

void ascend(Index levels, const Lattice& lattice, const Costs& costs, Grid<const Index> counts, Grid<Index> least,
            const Control* control) {
    Ascent ascent(lattice, costs, counts, least);
    for (Index level = levels - 1; level >= 0; --level)
        for_each_set(lattice, lattice.features, level, control,
                     [&](const Index* features, Index rank) { ascent.close(features, level, rank); });
}

void ascend_through(Index first, Index stop, const Lattice& lattice, const Costs& costs, Grid<const Index> counts,
                    Grid<Index> least, const Control* control) {
    Ascent ascent(lattice, costs, counts, least);
    Index features[Path::kLongest];
    for (Index k = first; k < stop; ++k)
        for (Index level = lattice.levels - 1; level > 0; --level)
            for_each_set(lattice, lattice.features - 1, level - 1, control, [&](const Index* others, Index) {
                const Index rank = put_between(others, k, level, lattice, features);
                ascent.close(features, level, rank);
            });
}

void afford(const Lattice& lattice, std::span<const bool> exists, Grid<const Index> least, Grid<Index> budgets,
            std::span<bool> live, std::span<Index> found, const Control* control) {
    const Affording affording{least, budgets, live};
    for (Index level = 1; level <= lattice.levels; ++level)
        for_each_set(lattice, lattice.features, level, control, [&](const Index* features, Index rank) {
            const Index first = lattice.base[level] + (rank << level);
            for (Index at = 0; at < level; ++at) {
                const Index parents =
                    lattice.base[level - 1] + (rank_without(lattice, features, level, at) << (level - 1));
                const Index step = Index{1} << at;
                for (Index signs = 0; signs < Index{1} << (level - 1); ++signs) {
                    const Index one = first + ((signs >> at) << (at + 1)) + (signs & (step - 1));
                    if (live[parents + signs] && exists[one] && exists[one + step])
                        affording.split(parents + signs, one, one + step);
                }
            }
            for (Index signs = 0; signs < Index{1} << level; ++signs) found[level] += live[first + signs];
        });
}

void lead_to_live(const Lattice& lattice, std::span<const bool> live, std::span<Index> behind, const Control* control) {
    for (Index node = lattice.base[lattice.levels]; node < lattice.size(); ++node) behind[node] = live[node];
    for (Index level = lattice.levels; level > 0; --level) {
        const Index half = Index{1} << (level - 1);
        for_each_set(lattice, lattice.features, level, control, [&](const Index* features, Index rank) {
            const Index first = lattice.base[level] + (rank << level);
            const Index parents =
                lattice.base[level - 1] + (rank_without(lattice, features, level, level - 1) << (level - 1));
            // the last literal's sign is the highest bit: its two halves add to the same parents
            for (Index signs = 0; signs < half; ++signs)
                behind[parents + signs] += behind[first + signs] + behind[first + half + signs];
        });
    }
}

SmallTree find_tree(Index cost, Cube<const Index> both, std::span<const Index> rows, std::span<const bool> on_path,
                    const Costs& costs, Index rest) {
    std::vector<Index> ones(rows.size()), zeros(rows.size());
    for (Index f = 0; f < both.rows; ++f) {
        if (on_path[f]) continue;
        for (Index g = 0; g < both.planes; ++g) {
            ones[g] = both[g][f][f];
            zeros[g] = rows[g] - ones[g];
        }
        const Side one = best_below(f, true, ones, both, on_path, costs, rest);
        const Side zero = best_below(f, false, zeros, both, on_path, costs, rest);
        if (add_costs(one.cost, zero.cost, costs.infinity) == cost) return {f, one.feature, zero.feature};
    }
    return {};
}

}  // namespace adtc

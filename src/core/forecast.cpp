#include "forecast.h"

#include <cmath>
#include <cstdlib>

namespace adtc {
namespace {

constexpr Index kOften = 64;           ///< sets of features between two looks at the limits
constexpr double kFewTrees = 4096;     ///< so few need no bound by the values of axes
constexpr Index kMostLeavesBits = 40;  ///< 2 to that power bounds the leaves of any tree

void check(const Control* control, Index done) {
    if (control != nullptr && done % kOften == 0) control->check();
}

/// Call `use(path, number)` for every path of a length; number counts within it.
template <class Use>
void for_each_path(const Lattice& lattice, Index level, const Control* control, Use use) {
    Path path;
    path.length = level;
    first_set(path.features, level);
    const Index signs = Index{1} << level, sets = lattice.binomial[lattice.features][level];
    for (Index rank = 0; rank < sets; ++rank) {
        check(control, rank);
        for (path.signs = 0; path.signs < signs; ++path.signs)
            use(static_cast<const Path&>(path), (rank << level) + path.signs);
        if (level > 0) next_set(path.features, level);
    }
}

bool splits_into(const Ways& ways, Children sides) {
    return std::min(ways.support[sides.one], ways.support[sides.zero]) >= ways.costs->rule.minsup;
}

/// Count the features that split each path one level above the last.
void count_splitting(const Ways& ways, Bounds& bounds, const Control* control) {
    const Lattice& lattice = *ways.lattice;
    const Index level = lattice.levels - 1;
    for_each_path(lattice, level, control, [&](const Path& path, Index number) {
        const Index node = lattice.base[level] + number;
        if (ways.support[node] < 2 * ways.costs->rule.minsup) return;
        double total = 0;
        for_each_child(lattice, path.features, level, path.signs, [&](Index f, Children sides) {
            if (splits_into(ways, sides)) total += static_cast<double>(ways.multiplicity[f]);
        });
        bounds.splitting[node] = total;
    });
}

/// Return how many features split the parent with the fewest, without its own literal's; that one
/// need not split every parent of a live path, but one of them.
double fewest(const Ways& ways, const Bounds& bounds, const Path& path, Index node) {
    double best = static_cast<double>(sum_of(ways.multiplicity));
    for (Index at = 0; at < path.length; ++at) {
        const Index above = parent(*ways.lattice, path.features, path.length, path.signs, at);
        const Index sibling = node + (path.signs >> at & 1 ? -(Index{1} << at) : Index{1} << at);
        const bool own = ways.support[sibling] >= ways.costs->rule.minsup;
        const Index others = own ? ways.multiplicity[path.features[at]] : 0;
        best = std::min(best, bounds.splitting[above] - static_cast<double>(others));
    }
    return std::max(best, 0.0);
}

/// Bound the rows of a path of the last level on both sides of every feature that is not on it, by
/// those of the paths with that feature in place of a literal; −1 for its own features.
void bound_sides(const Ways& ways, const Path& path, std::span<Index> ones, std::span<Index> zeros) {
    std::fill(ones.begin(), ones.end(), ways.support[0]);
    std::fill(zeros.begin(), zeros.end(), ways.support[0]);
    for (Index at = 0; at < path.length; ++at) {
        Index others[Path::kLongest];
        Index length = 0, signs = 0;
        for (Index i = 0; i < path.length; ++i) {
            if (i == at) continue;
            signs |= (path.signs >> i & 1) << length;
            others[length++] = path.features[i];
        }
        for_each_child(*ways.lattice, others, length, signs, [&](Index f, Children sides) {
            ones[f] = std::min(ones[f], ways.support[sides.one]);
            zeros[f] = std::min(zeros[f], ways.support[sides.zero]);
        });
    }
    for (Index at = 0; at < path.length; ++at) ones[path.features[at]] = zeros[path.features[at]] = -1;
}

/// Bound the features that split each live path of the last level, by those of its parents.
void bound_splits(const Ways& ways, Bounds& bounds, bool fine, const Control* control) {
    const Lattice& lattice = *ways.lattice;
    const Index level = lattice.levels;
    for_each_path(lattice, level, control, [&](const Path& path, Index number) {
        const Index node = lattice.base[level] + number;
        if (!ways.live[node]) return;
        if (fine) {
            look_at_features(ways, bounds, path, number);
        } else {
            const double total = fewest(ways, bounds, path, node);
            double* const active = bounds.active[number];
            active[0] = active[2] = total;
            active[1] = 2 * total;
        }
    });
}

/// Bound the number of cells below a path by the values that each axis can take there.
double volume(std::span<const Index> counts, Index most_leaves, const Spans& spans) {
    double product = 1;
    for (Index a = 0; a < spans.weights.planes; ++a) {
        const Grid<const Index> weights = spans.weights[a];
        Index width = 0;
        for (std::size_t g = 0; g < counts.size(); ++g) {
            Index least = weights[0][g], largest = least;
            for (Index l = 1; l < weights.rows; ++l) {
                least = std::min(least, weights[l][g]);
                largest = std::max(largest, weights[l][g]);
            }
            width += (largest - least) * counts[g];
        }
        product *= static_cast<double>(width) +
                   static_cast<double>(std::abs(spans.per_leaf[a])) * static_cast<double>(most_leaves - 1) + 1.0;
    }
    return product;
}

/// Bound the number of cells below a path by that of trees or of values.
double fewer(double trees, std::span<const Index> counts, Index most_leaves, const Spans& spans) {
    return trees < kFewTrees ? trees : std::min(trees, volume(counts, most_leaves, spans));
}

double total_of(std::span<const double> numbers) {
    double total = 0;
    for (const double number : numbers) total += number;
    return total;
}

/// Tell whether a split is part of a tree within the budgets.
bool can_split(const Ways& ways, Index node, Children sides) {
    if (!ways.live[sides.one] || !ways.live[sides.zero]) return false;
    for (Index d = 0; d < ways.least.rows; ++d)
        if (ways.least[d][sides.one] + ways.least[d][sides.zero] > ways.budgets[node][d]) return false;
    return true;
}

/// Bounds below the paths of one level above the last, from those one level down.
class Above {
public:
    Above(const Ways& ways, Bounds& bounds)
        : ways_(ways), bounds_(bounds), ones_(bounds.sizes()), zeros_(bounds.sizes()) {}

    double bound(Index level, Index number) {
        const Lattice& lattice = *ways_.lattice;
        const Index node = lattice.base[level] + number;
        const Path path = path_at(lattice, level, number);
        const std::span<double> out = bounds_.trees.row(node);
        std::fill(out.begin(), out.end(), 0.0);
        out[bounds_.leaf] = ways_.labels();
        Index noted = 0;  // features whose running sums are known
        for_each_child(lattice, path.features, level, path.signs, [&](Index f, Children sides) {
            note(node, noted, f, out);
            add_splits(level, node, f, sides, out);
            noted = f;
        });
        note(node, noted, lattice.features, out);
        return total_of(out);
    }

private:
    /// Write the running sums of some features.
    void note(Index node, Index first, Index stop, std::span<const double> out) const {
        if (bounds_.splits.planes == 0) return;
        for (Index k = 0; k < bounds_.sizes(); ++k)
            std::fill(bounds_.splits[node][k] + first, bounds_.splits[node][k] + stop, out[k]);
    }

    void add_splits(Index level, Index node, Index f, Children sides, std::span<double> out) {
        if (!can_split(ways_, node, sides)) return;
        by_size(ways_, bounds_, level + 1, sides.one, ones_.data());
        by_size(ways_, bounds_, level + 1, sides.zero, zeros_.data());
        const Index most = std::min(bounds_.sizes() - 1, ways_.largest[node]);
        const auto twins = static_cast<double>(ways_.multiplicity[f]);
        for (Index i = 0; i <= most; ++i)
            if (ones_[i] > 0)
                for (Index j = 0; j <= most - i; ++j) out[i + j] += twins * ones_[i] * zeros_[j];
    }

    const Ways& ways_;
    Bounds& bounds_;
    std::vector<double> ones_, zeros_;
};

}  // namespace

std::vector<Index> live_numbers(const Ways& ways, Index level) {
    std::vector<Index> numbers;
    const Index first = ways.lattice->base[level], paths = ways.lattice->paths(level);
    for (Index number = 0; number < paths; ++number)
        if (ways.live[first + number]) numbers.push_back(number);
    return numbers;
}

void look_at_features(const Ways& ways, Bounds& bounds, const Path& path, Index number) {
    const Index minsup = ways.costs->rule.minsup;
    double* const active = bounds.active[number];
    const Grid<std::uint64_t> candidates = bounds.candidates[number];
    bounds.looked[number] = true;
    std::fill_n(active, 3, 0.0);
    std::vector<Index> ones(ways.multiplicity.size()), zeros(ways.multiplicity.size());
    bound_sides(ways, path, ones, zeros);
    for (Index f = 0; f < ways.lattice->features; ++f) {
        if (std::min(ones[f], zeros[f]) < minsup) continue;
        const bool again1 = ones[f] >= 2 * minsup, again0 = zeros[f] >= 2 * minsup;
        const std::uint64_t bit = std::uint64_t{1} << (f & 63);
        candidates[0][f >> 6] |= bit;
        if (again1) candidates[1][f >> 6] |= bit;
        if (again0) candidates[2][f >> 6] |= bit;
        const auto twins = static_cast<double>(ways.multiplicity[f]);
        active[0] += twins;
        active[1] += twins * (again1 + again0);
        active[2] += twins * (again1 && again0);
    }
}

void closed_terms(const Ways& ways, const Bounds& bounds, Index number, double* terms) {
    const Lattice& lattice = *ways.lattice;
    const Index node = lattice.base[lattice.levels] + number, minsup = ways.costs->rule.minsup;
    const Index fit = minsup > 0 ? ways.support[node] / minsup : kClosed - 1;
    const Index most = std::min(fit, ways.largest[node]);
    const double labels = ways.labels(), pairs = labels * labels;
    const double splitting = bounds.active[number][0], again = bounds.active[number][1];
    const double both = bounds.active[number][2];
    std::fill_n(terms, kClosed, 0.0);
    terms[1] = labels;
    if (lattice.rest >= 1 && most >= 2) terms[2] = splitting * pairs;
    if (lattice.rest >= 2 && most >= 3) terms[3] = again * splitting * pairs * labels;
    if (lattice.rest >= 2 && most >= 4) terms[4] = both * splitting * splitting * pairs * pairs;
}

void by_size(const Ways& ways, const Bounds& bounds, Index level, Index node, double* out) {
    if (level < ways.lattice->levels) {
        std::copy_n(bounds.trees[node], bounds.sizes(), out);
        return;
    }
    double terms[kClosed];
    closed_terms(ways, bounds, node - ways.lattice->base[level], terms);
    std::fill_n(out, bounds.sizes(), 0.0);
    for (Index k = 1; k < kClosed; ++k)
        if (k * bounds.leaf < bounds.sizes()) out[k * bounds.leaf] += terms[k];
}

std::vector<double> bounds_by_size(const Ways& ways, const Bounds& bounds, Index level,
                                   std::span<const Index> numbers) {
    const bool last = level == ways.lattice->levels;
    const Index sizes = last ? kClosed : bounds.sizes();
    std::vector<double> found(numbers.size() * static_cast<std::size_t>(sizes));
    double* out = found.data();
    for (const Index number : numbers) {
        if (last)
            closed_terms(ways, bounds, number, out);
        else
            std::copy_n(bounds.trees[ways.lattice->base[level] + number], sizes, out);
        out += sizes;
    }
    return found;
}

LevelBounds bound_levels(const Ways& ways, const Spans& spans, Bounds& bounds, bool fine, const Control* control) {
    const Lattice& lattice = *ways.lattice;
    const Index last = lattice.levels;
    if (last > 0 && !fine) count_splitting(ways, bounds, control);
    bound_splits(ways, bounds, fine, control);
    LevelBounds found{std::vector<double>(last + 1), std::vector<double>(last + 1)};
    Above above(ways, bounds);
    for (Index level = last; level >= 0; --level) {
        const Index most_leaves = Index{1} << std::min(last + lattice.rest - level, kMostLeavesBits);
        const std::vector<Index> numbers = live_numbers(ways, level);
        for (std::size_t at = 0; at < numbers.size(); ++at) {
            check(control, static_cast<Index>(at));
            double terms[kClosed], total;
            if (level == last) {
                closed_terms(ways, bounds, numbers[at], terms);
                total = total_of(terms);
            } else {
                total = above.bound(level, numbers[at]);
            }
            found.trees[level] += total;
            found.cells[level] += fewer(total, ways.counts.row(lattice.base[level] + numbers[at]), most_leaves, spans);
        }
    }
    return found;
}

Index choose(std::span<const double> weights, double share) {
    const double total = total_of(weights);
    if (total == 0) return -1;
    double left = share * total;
    Index chosen = -1;
    for (std::size_t k = 0; k < weights.size(); ++k) {
        if (weights[k] > 0) {  // by rounding, something may be left at the end
            chosen = static_cast<Index>(k);
            left -= weights[k];
        }
        if (left < 0) break;
    }
    return chosen;
}

}  // namespace adtc

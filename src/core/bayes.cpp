#include "bayes.h"

#include <limits>

#include "leaf.h"
#include "walk.h"

namespace adtc {
namespace {

constexpr Index kOften = 64;               ///< paths between two looks at the limits
constexpr std::size_t kMergeAt = 1 << 20;  ///< leaves that are listed before those that came twice are merged
constexpr std::size_t kMany = 16;          ///< labels whose digits may be multiplied without a look at their range

/// ρ (ρ + 1) … (ρ + i − 1) for i = 0 … rows, or its inverse; ρ = high + low. The product is kept in two
/// doubles, so that only the last rounding of each entry counts.
std::vector<Scaled> rising(double high, double low, Index rows, bool inverse) {
    std::vector<Scaled> found(static_cast<std::size_t>(rows + 1));
    double p = 1, q = 0;
    Index exponent = 0;
    for (Index i = 0; i <= rows; ++i) {
        if (inverse) {
            const double r = 1 / p;
            found[i] = {r - r * (q * r), -exponent};
        } else {
            found[i] = {p, exponent};
        }
        const double step = static_cast<double>(i), factor = high + step, part = factor - high;
        const double rest = ((high - (factor - part)) + (step - part)) + low;
        const double x = p * factor, y = std::fma(p, factor, -x) + (p * rest + q * factor);
        const double sum = x + y;
        int shift = 0;
        p = std::frexp(sum, &shift);
        q = std::ldexp(y - (sum - x), -shift);
        exponent += shift;
    }
    return found;
}

/// What all parts of a pass share.
struct Model {
    const Table& table;
    const Lattice& lattice;
    Grid<const Index> counts;
    const Evidence& evidence;
    TreePrior prior;
    Index groups = 0;  ///< of features
    Index channels = 1;
    Index slots = 1;
    bool bounded = false;             ///< is the number of leaves limited?
    std::vector<Index> multiplicity;  ///< [feature]
    std::vector<double> times;        ///< [channel][feature]: how many features are not left out
    std::vector<Index> starts;        ///< [feature + 1]: its entries in the next two
    std::vector<Index> group;         ///< [entry]
    std::vector<double> held;         ///< [entry]: features of that group

    double times_of(Index channel, Index f) const {
        return times[static_cast<std::size_t>(channel * lattice.features + f)];
    }
    bool enough(std::span<const Index> rows) const { return sum_of(rows) >= prior.minsup; }
};

Model model_of(const Table& table, const Lattice& lattice, Grid<const Index> counts, const Evidence& evidence,
               const TreePrior& prior, Grid<const Index> groups, Index excluded) {
    Model model{table, lattice, counts, evidence, prior, groups.columns, excluded + 1, 1, prior.most_leaves > 0,
                {},    {},      {},     {},       {}};
    if (model.bounded) model.slots = prior.most_leaves;
    model.starts.assign(1, 0);
    for (Index f = 0; f < lattice.features; ++f) {
        model.multiplicity.push_back(sum_of(groups.row(f)));
        for (Index g = 0; g < groups.columns; ++g)
            if (groups[f][g] > 0) {
                model.group.push_back(g);
                model.held.push_back(static_cast<double>(groups[f][g]));
            }
        model.starts.push_back(static_cast<Index>(model.group.size()));
    }
    for (Index c = 0; c < model.channels; ++c)
        for (Index f = 0; f < lattice.features; ++f)
            model.times.push_back(static_cast<double>(model.multiplicity[f] - (c > 0 ? groups[f][c - 1] : 0)));
    return model;
}

using Values = std::span<const Scaled>;

/// Add factor · one · zero to out, by number of leaves; or keep the largest product.
template <bool kBest>
void multiply(Values one, Values zero, double factor, bool bounded, std::span<Scaled> out) {
    for (std::size_t i = 0; i < one.size(); ++i) {
        if (one[i].zero()) continue;
        const Scaled first = one[i] * factor;
        for (std::size_t j = 0; j < zero.size(); ++j) {
            const std::size_t at = bounded ? i + j + 1 : 0;
            if (at >= out.size()) break;
            if constexpr (kBest)
                keep_larger(out[at], first * zero[j]);
            else
                add(out[at], first * zero[j]);
        }
    }
}

/// Hand a node's outer values to one of its children; `other` are the values of the other one.
void hand_over(Values outer, Values other, double factor, bool bounded, std::span<Scaled> out) {
    for (std::size_t j = 0; j < other.size(); ++j) {
        if (other[j].zero()) continue;
        const Scaled second = other[j] * factor;
        for (std::size_t i = 0; i < out.size(); ++i) {
            const std::size_t at = bounded ? i + j + 1 : 0;
            if (at >= outer.size()) break;
            add(out[i], outer[at] * second);
        }
    }
}

void tidy_all(std::span<Scaled> values) {
    for (Scaled& value : values) value = tidy(value);
}

Scaled sum_of(Values values) {
    Scaled sum;
    for (const Scaled value : values) add(sum, value);
    return sum;
}

/// Insert a literal into a path.
Path with(const Path& path, Index feature, bool negative) {
    Path longer;
    Index at = 0;
    while (at < path.length && path.features[at] < feature) ++at;
    std::copy(path.features, path.features + at, longer.features);
    longer.features[at] = feature;
    std::copy(path.features + at, path.features + path.length, longer.features + at + 1);
    const Index low = path.signs & ((Index{1} << at) - 1), high = (path.signs >> at) << (at + 1);
    longer.signs = high | (Index{negative} << at) | low;
    longer.length = path.length + 1;
    return longer;
}

void put_leaf(LeafList& list, Index number, double mass, std::span<const Index> counts) {
    list.number.push_back(number);
    list.mass.push_back(mass);
    list.counts.insert(list.counts.end(), counts.begin(), counts.end());
}

/// Put together what was found of each leaf; in the order of their numbers.
void merge_leaves(LeafList& list, Index labels) {
    struct Entry {
        Index number, at;
    };
    std::vector<Entry> order(list.number.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = {list.number[i], static_cast<Index>(i)};
    std::sort(order.begin(), order.end(), [](const Entry& a, const Entry& b) {
        return a.number < b.number || (a.number == b.number && a.at < b.at);
    });
    LeafList merged;
    merged.lost = list.lost;
    for (const Entry& entry : order)
        if (!merged.number.empty() && merged.number.back() == entry.number)
            merged.mass.back() += list.mass[entry.at];
        else
            put_leaf(merged, entry.number, list.mass[entry.at],
                     {list.counts.data() + entry.at * labels, static_cast<std::size_t>(labels)});
    list = std::move(merged);
}

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
    std::vector<Scaled> after_;      ///< [group + 1]: room
    std::vector<Index> counts_[4];   ///< [quadrant][label]: room
    std::vector<Index> side_rows_;   ///< [label]: room
};

}  // namespace

Evidence::Evidence(std::span<const double> rho, std::span<const Index> totals, bool blank)
    : rising_(rho.size()), blank_(blank), many_(rho.size() > kMany) {
    if (blank) return;
    double high = 0, low = 0;
    for (std::size_t l = 0; l < rho.size(); ++l) {
        rising_[l] = rising(rho[l], 0, totals[l], false);
        const double sum = high + rho[l], part = sum - high;
        low += (high - (sum - part)) + (rho[l] - part);
        high = sum;
    }
    falling_ = rising(high, low, sum_of(totals), true);
}

struct BayesPass::Inner {
    Model model;
    Rows records;               ///< of all rows
    std::vector<Scaled> sums;   ///< [path][channel][slot]
    std::vector<Scaled> best;   ///< [path][slot]
    std::vector<Scaled> outer;  ///< [path][slot]; empty before the pass down

    std::span<Scaled> sums_of(Index node) {
        const Index width = model.channels * model.slots;
        return {sums.data() + node * width, static_cast<std::size_t>(width)};
    }
    Values values(Index node, Index channel) const {
        return {sums.data() + (node * model.channels + channel) * model.slots, static_cast<std::size_t>(model.slots)};
    }
    std::span<Scaled> best_of(Index node) {
        return {best.data() + node * model.slots, static_cast<std::size_t>(model.slots)};
    }
    Values best_values(Index node) const {
        return {best.data() + node * model.slots, static_cast<std::size_t>(model.slots)};
    }
    std::span<Scaled> outer_of(Index node) {
        return {outer.data() + node * model.slots, static_cast<std::size_t>(model.slots)};
    }

    /// Call `use(feature, children)` for the valid splits of a path above the last level.
    template <class Use>
    void for_each_valid(const Path& path, Use use) const {
        for_each_child(model.lattice, path.features, path.length, path.signs, [&](Index f, Children sides) {
            if (model.enough(model.counts.row(sides.one)) && model.enough(model.counts.row(sides.zero))) use(f, sides);
        });
    }
    Index valid(const Path& path) const {
        Index found = 0;
        for_each_valid(path, [&](Index f, Children) { found += model.multiplicity[f]; });
        return found;
    }
    Scaled leaf(const Path& path, Index node, Index valid) const {
        return model.evidence.of(model.counts[node]) * model.prior.stay(path.length, valid);
    }

    /// Walk over paths of the last level with 32 bits where they suffice.
    template <class Use>
    void walk(Index first, Index stop, std::span<const bool> wanted, const Control& control, Use use) const {
        if (sum_of(model.table.totals) <= std::numeric_limits<std::int32_t>::max())
            walk_in<std::int32_t>(first, stop, wanted, control, use);
        else
            walk_in<Index>(first, stop, wanted, control, use);
    }
    template <class T, class Use>
    void walk_in(Index first, Index stop, std::span<const bool> wanted, const Control& control, Use use) const {
        Below<T> below(model);
        LabelRule rule;  // of which only the rows matter that a leaf must hold: it carries no label
        rule.minsup = model.prior.minsup;
        rule.own = model.table.groups();
        PairWalk<T> walk(model.table, model.lattice, rule, wanted, control);
        walk.run(first, stop, [&](const PairCounts<T>& path) {
            control.check();
            below.open(path, model.lattice.rest);
            use(below, path.path.number(model.lattice));
        });
    }

    /// Count pairs among the rows of one path.
    PairCounts<Index> pairs_at(const Path& path) const {
        Rows rows = records, kept;
        for (Index i = 0; i < path.length; ++i) {
            select_rows(rows, path.features[i], path.signs >> i & 1, kept);
            std::swap(rows, kept);
        }
        PairCounts<Index> counts;
        counts.path = path;
        counts.totals.assign(model.table.totals.size(), 0);
        for (Index p = 0; p < model.table.planes(); ++p)
            counts.totals[model.table.plane_group[p]] += (rows.starts[p + 1] - rows.starts[p])
                                                         << model.table.plane_shift[p];
        std::vector<Index> others;
        for (Index f = 0; f < model.lattice.features; ++f)
            if (!path.has(f)) others.push_back(f);
        counts.set_slots(model.lattice.features, others);
        Slices slices;
        slice_rows(rows, model.lattice.features, slices);
        count_pairs(
            slices, model.table, counts.slots,
            Cube<Index>{counts.pairs.data(), model.table.groups(), static_cast<Index>(others.size()), counts.lanes});
        return counts;
    }
};

BayesPass::BayesPass(const Table& table, const Lattice& lattice, Grid<const Index> counts, const Evidence& evidence,
                     const TreePrior& prior, Grid<const Index> groups, Index excluded)
    : inner_(new Inner{
          model_of(table, lattice, counts, evidence, prior, groups, excluded), records_of(table), {}, {}, {}}) {
    const Model& model = inner_->model;
    const auto paths = static_cast<std::size_t>(lattice.size());
    inner_->sums.resize(paths * static_cast<std::size_t>(model.channels * model.slots));
    inner_->best.resize(paths * static_cast<std::size_t>(model.slots));
}

BayesPass::~BayesPass() = default;

Index BayesPass::channels() const { return inner_->model.channels; }
Index BayesPass::slots() const { return inner_->model.slots; }
std::span<const Scaled> BayesPass::total(Index channel) const { return inner_->values(0, channel); }
std::span<const Scaled> BayesPass::best() const { return inner_->best_values(0); }

void BayesPass::sum_last(Index first, Index stop, std::span<const bool> wanted, const Control& control) {
    inner_->walk(first, stop, wanted, control,
                 [&](auto& below, Index node) { below.fill(inner_->sums_of(node), inner_->best_of(node)); });
}

void BayesPass::sum_above(const Control& control) {
    const Model& model = inner_->model;
    const Lattice& lattice = model.lattice;
    const auto slots = static_cast<std::size_t>(model.slots);
    for (Index level = lattice.levels - 1; level >= 0; --level)
        for (Index number = 0; number < lattice.paths(level); ++number) {
            if (number % kOften == 0) control.check();
            const Index node = lattice.base[level] + number;
            if (!model.enough(model.counts.row(node))) continue;
            const Path path = path_at(lattice, level, number);
            const Index valid = inner_->valid(path);
            const double factor = model.prior.part(level, valid);
            const std::span<Scaled> sums = inner_->sums_of(node), best = inner_->best_of(node);
            const Scaled single = inner_->leaf(path, node, valid);
            for (Index c = 0; c < model.channels; ++c) sums[c * model.slots] = single;
            best[0] = single;
            inner_->for_each_valid(path, [&](Index f, Children sides) {
                for (Index c = 0; c < model.channels; ++c)
                    if (const double times = model.times_of(c, f); times > 0)
                        multiply<false>(inner_->values(sides.one, c), inner_->values(sides.zero, c), factor * times,
                                        model.bounded, sums.subspan(static_cast<std::size_t>(c) * slots, slots));
                multiply<true>(inner_->best_values(sides.one), inner_->best_values(sides.zero), factor, model.bounded,
                               best);
            });
            tidy_all(sums);
            tidy_all(best);
        }
}

WeightedChoices BayesPass::choices(const Path& path, Index size, bool best) const {
    const Model& model = inner_->model;
    const Lattice& lattice = model.lattice;
    WeightedChoices found;
    const Index width = model.bounded ? model.slots : 1;
    found.splits.resize(static_cast<std::size_t>(lattice.features * width));
    const auto weigh = [&](Index f, Values one, Values zero, double factor) {
        const double times = best ? 1 : static_cast<double>(model.multiplicity[f]);
        for (std::size_t i = 0; i < one.size(); ++i)
            for (std::size_t j = 0; j < zero.size(); ++j)
                if (!model.bounded || static_cast<Index>(i + j + 2) == size)
                    found.splits[f * width + static_cast<Index>(i)] = tidy(one[i] * (factor * times) * zero[j]);
    };
    if (path.length < lattice.levels) {
        found.valid = inner_->valid(path);
        const double factor = model.prior.part(path.length, found.valid);
        found.leaf = inner_->leaf(path, path.number(lattice), found.valid);
        inner_->for_each_valid(path, [&](Index f, Children sides) {
            if (best)
                weigh(f, inner_->best_values(sides.one), inner_->best_values(sides.zero), factor);
            else
                weigh(f, inner_->values(sides.one, 0), inner_->values(sides.zero, 0), factor);
        });
    } else {
        const PairCounts<Index> pairs = inner_->pairs_at(path);
        Below<Index> below(model);
        below.open(pairs, lattice.levels + lattice.rest - path.length);
        found.leaf = below.leaf();
        found.valid = below.valid();
        below.for_each_split(best, [&](Index f, Values one, Values zero) { weigh(f, one, zero, below.factor()); });
    }
    found.leaf = model.bounded && size != 1 ? Scaled{} : tidy(found.leaf);
    return found;
}

LeafList BayesPass::hand_down(double least, std::span<bool> live, const Control& control) {
    const Model& model = inner_->model;
    const Lattice& lattice = model.lattice;
    inner_->outer.assign(static_cast<std::size_t>(lattice.size() * model.slots), Scaled{});
    for (Scaled& outer : inner_->outer_of(0)) outer = {1, 0};
    const Scaled root = sum_of(total(0));
    LeafList list;
    for (Index level = 0; level <= lattice.levels; ++level)
        for (Index number = 0; number < lattice.paths(level); ++number) {
            if (number % kOften == 0) control.check();
            const Index node = lattice.base[level] + number;
            const std::span<Scaled> outer = inner_->outer_of(node);
            tidy_all(outer);
            Scaled mass;
            for (std::size_t s = 0; s < outer.size(); ++s) add(mass, outer[s] * inner_->values(node, 0)[s]);
            const double probability = ratio(mass, root);
            live[node] = probability >= least;
            if (!live[node]) list.lost += probability;
            if (!live[node] || level == lattice.levels) continue;
            const Path path = path_at(lattice, level, number);
            const Index valid = inner_->valid(path);
            const double factor = model.prior.part(level, valid);
            const double here = ratio(outer[0] * inner_->leaf(path, node, valid), root);
            if (here >= least)
                put_leaf(list, node, here, model.counts.row(node));
            else
                list.lost += here;
            inner_->for_each_valid(path, [&](Index f, Children sides) {
                const double each = factor * static_cast<double>(model.multiplicity[f]);
                hand_over(outer, inner_->values(sides.zero, 0), each, model.bounded, inner_->outer_of(sides.one));
                hand_over(outer, inner_->values(sides.one, 0), each, model.bounded, inner_->outer_of(sides.zero));
            });
        }
    return list;
}

LeafList BayesPass::leaves_last(Index first, Index stop, std::span<const bool> wanted, double least,
                                const Lattice& names, Index most, const Control& control) const {
    const Scaled root = sum_of(total(0));
    const Index labels = inner_->model.evidence.labels();
    LeafList list;
    std::size_t room = kMergeAt;
    inner_->walk(first, stop, wanted, control, [&](auto& below, Index node) {
        below.list_leaves(inner_->outer_of(node), root, least, names, list);
        if (list.number.size() < room) return;
        merge_leaves(list, labels);
        if (static_cast<Index>(list.number.size()) > most) throw OutOfMemory();
        room = std::max(kMergeAt, 2 * list.number.size());
    });
    merge_leaves(list, labels);
    return list;
}

void mix_leaves(const LeafPaths& leaves, Grid<const double> ones, Grid<double> out, const Control& control) {
    struct Reached {
        std::vector<std::int32_t> row;
        std::vector<double> share;
    };
    const Index depth = leaves.literals.columns;
    std::vector<Reached> reached(static_cast<std::size_t>(depth + 1));  // by literals of the leaf at hand
    for (Index r = 0; r < ones.columns; ++r) {
        reached[0].row.push_back(static_cast<std::int32_t>(r));
        reached[0].share.push_back(1);
    }
    const std::int32_t* before = nullptr;
    Index known = 0;  // literals of the leaf before whose rows are at hand
    for (Index at = 0; at < leaves.literals.rows; ++at) {
        if (at % 256 == 0) control.check();
        const std::int32_t* const literals = leaves.literals[at];
        Index length = 0, same = 0;
        while (length < depth && literals[length] >= 0) ++length;
        while (before != nullptr && same < known && literals[same] == before[same]) ++same;
        before = literals;
        // the last literal is looked at where it is needed: most leaves share all others with the one before
        for (known = same; known + 1 < length; ++known) {
            const Reached& from = reached[known];
            Reached& to = reached[known + 1];
            to.row.clear(), to.share.clear();
            const double* const one = ones[literals[known] / 2];
            const bool negative = literals[known] % 2 == 1;
            for (std::size_t i = 0; i < from.row.size(); ++i) {
                const double share = from.share[i] * (negative ? 1 - one[from.row[i]] : one[from.row[i]]);
                if (share == 0) continue;
                to.row.push_back(from.row[i]);
                to.share.push_back(share);
            }
        }
        known = std::max<Index>(0, std::min(known, length - 1));
        const Reached& rows = reached[known];
        const double* const shares = leaves.shares[at];
        const double* const one = length > 0 ? ones[literals[length - 1] / 2] : nullptr;
        const double sign = length > 0 && literals[length - 1] % 2 == 1 ? -1 : 1, start = sign < 0 ? 1 : 0;
        for (std::size_t i = 0; i < rows.row.size(); ++i) {
            const Index r = rows.row[i];
            const double share = one == nullptr ? 1 : rows.share[i] * (start + sign * one[r]);
            for (Index l = 0; l < out.columns; ++l) out[r][l] += share * shares[l];
        }
    }
}

}  // namespace adtc

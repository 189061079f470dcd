// Drawing trees within the bounds of forecast.h.
#include <bit>
#include <limits>
#include <random>

#include "forecast.h"

namespace adtc {
namespace {

constexpr int kTries = 8;     ///< of a free draw for one split
constexpr Index kNone = -1;   ///< in place of a label: no such tree exists
constexpr Index kSplit = -2;  ///< in place of a label: a split
constexpr Index kAny = -1;    ///< in place of a label to be avoided
constexpr Index kOften = 64;  ///< attempts between two looks at the limits

/// Numbers in [0, 1), the same on every platform.
class Random {
public:
    explicit Random(std::uint64_t seed) : bits_(seed) {}
    double share() { return static_cast<double>(bits_() >> 11) * 0x1p-53; }
    Index below(Index n) { return static_cast<Index>(share() * static_cast<double>(n)); }

private:
    std::mt19937_64 bits_;
};

/// Draws one tree at a time.
class Drawing {
public:
    Drawing(const Ways& ways, Bounds& bounds, const Table& table, const DrawOptions& options)
        : ways_(ways),
          bounds_(bounds),
          table_(table),
          free_(options.free),
          random_(options.seed),
          sizes_{std::vector<double>(bounds.sizes()), std::vector<double>(bounds.sizes())},
          parts_(bounds.sizes()),
          rows_(table.words.columns),
          side_(table.words.columns),
          cost_(ways.costs->forms()) {
        for (Index f = 0; f < ways.lattice->features; ++f)
            originals_.insert(originals_.end(), static_cast<std::size_t>(ways.multiplicity[f]), f);
        for (auto& counts : counts_) counts.resize(static_cast<std::size_t>(ways.counts.columns));
    }

    /// Draw a tree below a path of a level; false if the one that came out does not exist.
    bool draw(Index level, Index node, Index most_leaves) {
        by_size(ways_, bounds_, level, node, sizes_[0].data());
        const Index most = std::min(most_leaves + 1, bounds_.sizes());
        const Index k = choose(std::span(sizes_[0]).first(static_cast<std::size_t>(most)), random_.share());
        if (k < 0) return false;
        key = 0;
        trivial = false;
        std::fill(cost_.begin(), cost_.end(), 0);
        if (below(level, node, k, kAny) == kNone || (trivial && !ways_.trivial_splits)) return false;
        for (std::size_t d = 0; d < cost_.size(); ++d)
            if (cost_[d] > ways_.budgets[node][d]) return false;
        return true;
    }

    /// Choose one of the running sums in proportion to what each adds.
    Index choose_path(std::span<const double> cumulative) {
        const double u = random_.share() * cumulative.back();
        const auto found = std::upper_bound(cumulative.begin(), cumulative.end() - 1, u);
        return found - cumulative.begin();
    }

    WideKey key = 0;       ///< of the tree that was drawn last
    bool trivial = false;  ///< does it have a split into two leaves of one label?

private:
    /// Draw what stands below a path: the label of a leaf, kSplit, or kNone. A free draw avoids a label
    /// for a leaf where there is a choice.
    Index below(Index level, Index node, Index k, Index avoided) {
        const Lattice& lattice = *ways_.lattice;
        if (level == lattice.levels) return closed(node, k, avoided);
        const double u = random_.share() * bounds_.trees[node][k];
        if (k == bounds_.leaf && u < ways_.labels()) return leaf(ways_.counts.row(node), avoided);
        const std::span<const double> sums = bounds_.splits[node].row(k);
        const Index f = std::upper_bound(sums.begin(), sums.end(), u) - sums.begin();
        if (f == lattice.features) return kNone;  // rounding
        const Path path = path_at(lattice, level, node - lattice.base[level]);
        const Children sides = children(lattice, path.features, level, path.signs, f);
        by_size(ways_, bounds_, level + 1, sides.one, sizes_[0].data());
        by_size(ways_, bounds_, level + 1, sides.zero, sizes_[1].data());
        for (Index i = 0; i <= k; ++i) parts_[i] = sizes_[0][i] * sizes_[1][k - i];
        const Index k1 = choose(std::span(parts_).first(static_cast<std::size_t>(k + 1)), random_.share());
        if (k1 < 0) return kNone;  // a free draw may have learnt by now that nothing is there
        const Index one = below(level + 1, sides.one, k1, kAny);
        if (one == kNone) return kNone;
        return with(one, below(level + 1, sides.zero, k - k1, free_ ? one : kAny));
    }

    /// Join the two sides of a split.
    Index with(Index one, Index zero) {
        if (zero == kNone) return kNone;
        trivial |= one >= 0 && one == zero;
        return kSplit;
    }

    /// Draw a leaf's label and add up its key and costs; kNone if the one drawn may not stand there.
    Index leaf(std::span<const Index> counts, Index avoided) {
        const LabelRule& rule = ways_.costs->rule;
        labels_.clear();
        for_each_label(counts, rule, [&](Index label) { labels_.push_back(label); });
        if (labels_.empty()) return kNone;
        const auto admitted = static_cast<Index>(labels_.size());
        // bounds assume that all labels may stand at a leaf: without rejecting, those that may would
        // be drawn too often
        if (!free_ && !rule.majority && admitted < rule.labels && random_.below(rule.labels) >= admitted) return kNone;
        Index at = random_.below(admitted);
        if (labels_[at] == avoided && admitted > 1) at = (at + 1 + random_.below(admitted - 1)) % admitted;
        const Index label = labels_[at];
        key += ways_.key_constant;
        for (std::size_t g = 0; g < counts.size(); ++g) key += ways_.key_weights[label][g] * counts[g];
        for (std::size_t d = 0; d < cost_.size(); ++d) cost_[d] += ways_.costs->of_leaf(d, label, counts);
        return label;
    }

    /// Draw a tree below a path of the last level.
    Index closed(Index node, Index k, Index avoided) {
        const Lattice& lattice = *ways_.lattice;
        const Index number = node - lattice.base[lattice.levels];
        if (bounds_.leaf == 0) {
            double terms[kClosed];
            closed_terms(ways_, bounds_, number, terms);
            k = choose(terms, random_.share());
        }
        const std::span<const Index> whole = ways_.counts.row(node);
        if (k == 1) return leaf(whole, avoided);
        const Path path = path_at(lattice, lattice.levels, number);
        if (!bounds_.looked[number]) look_at_features(ways_, bounds_, path, number);
        select(path);
        const Index again = k - 2;  // sides that are split again: 0 to 2
        const Choice choice = draw_split(rows_, whole, again, -1, number, counts_[0], counts_[1]);
        if (choice.feature < 0) return kNone;
        const bool split1 = again == 2 || (again == 1 && choice.side == 0);
        const bool split0 = again == 2 || (again == 1 && choice.side == 1);
        const Index one = split1 ? stump(choice.feature, 0, number) : leaf(counts_[0], kAny);
        if (one == kNone) return kNone;
        return with(one, split0 ? stump(choice.feature, 1, number) : leaf(counts_[1], free_ ? one : kAny));
    }

    /// Draw a split into two leaves on one side of a feature.
    Index stump(Index feature, Index side, Index number) {
        take_side(rows_, table_.words[feature], side, side_);
        if (draw_split(side_, counts_[side], 0, feature, number, counts_[2], counts_[3]).feature < 0) return kNone;
        const Index one = leaf(counts_[2], kAny);
        if (one == kNone) return kNone;
        return with(one, leaf(counts_[3], free_ ? one : kAny));
    }

    /// A feature, and a side of it: 0 where it is 1.
    struct Choice {
        Index feature = -1;
        Index side = 0;
    };

    /// Draw a feature, but for one that was used already, that splits some rows, and count both sides.
    Choice draw_split(std::span<const std::uint64_t> rows, std::span<const Index> whole, Index again, Index used,
                      Index number, std::vector<Index>& ones, std::vector<Index>& zeros) {
        const LabelRule& rule = ways_.costs->rule;
        for (int tries = free_ ? kTries : 1; tries > 0; --tries) {
            const Choice choice = draw_feature(again, number);
            if (choice.feature < 0 || choice.feature == used) continue;
            count(rows, choice.feature, whole, ones, zeros);
            if (std::min(support_of(ones, rule), support_of(zeros, rule)) >= rule.minsup) return choice;
        }
        return {};
    }

    /// Draw a feature that may split a path of the last level. `again` says how many sides must have
    /// rows for a further split; if one, it is the side drawn.
    Choice draw_feature(Index again, Index number) {
        if (bounds_.active[number][again] == 0) return {};
        const Grid<std::uint64_t> candidates = bounds_.candidates[number];
        while (true) {
            const Index f = originals_[random_.below(static_cast<Index>(originals_.size()))];
            const Index side = again == 1 ? random_.below(2) : 0;
            std::uint64_t fits = candidates[0][f >> 6];
            if (again > 0) fits &= candidates[1 + side][f >> 6];
            if (again == 2) fits &= candidates[2][f >> 6];
            if (fits >> (f & 63) & 1) return {f, side};
        }
    }

    /// Mark the rows of a path.
    void select(const Path& path) {
        std::fill(rows_.begin(), rows_.end(), ~std::uint64_t{0});
        for (Index at = 0; at < path.length; ++at)
            take_side(rows_, table_.words[path.features[at]], path.signs >> at & 1, rows_);
    }

    static void take_side(std::span<const std::uint64_t> rows, const std::uint64_t* column, Index negative,
                          std::span<std::uint64_t> out) {
        const std::uint64_t turn = negative != 0 ? ~std::uint64_t{0} : 0;
        for (std::size_t w = 0; w < rows.size(); ++w) out[w] = rows[w] & (column[w] ^ turn);
    }

    /// Count the rows on both sides of a feature, by group. Bits beyond the rows do not matter, since
    /// they are 0 in the feature's column.
    void count(std::span<const std::uint64_t> rows, Index feature, std::span<const Index> whole,
               std::vector<Index>& ones, std::vector<Index>& zeros) const {
        const std::uint64_t* const column = table_.words[feature];
        std::fill(ones.begin(), ones.end(), 0);
        for (Index p = 0; p < table_.planes(); ++p) {
            Index total = 0;
            for (Index w = table_.offsets[p]; w < table_.offsets[p + 1]; ++w)
                total += std::popcount(rows[w] & column[w]);
            ones[table_.plane_group[p]] += total << table_.plane_shift[p];
        }
        for (std::size_t g = 0; g < whole.size(); ++g) zeros[g] = whole[g] - ones[g];
    }

    const Ways& ways_;
    Bounds& bounds_;
    const Table& table_;
    bool free_;
    Random random_;
    std::vector<Index> originals_;  ///< the feature that each original one is merged into
    std::vector<double> sizes_[2], parts_;
    std::vector<std::uint64_t> rows_, side_;
    std::vector<Index> counts_[4], labels_, cost_;
};

}  // namespace

DrawnTrees draw_trees(const Ways& ways, Bounds& bounds, const Table& table, Index level, const DrawOptions& options,
                      const Control* control) {
    const std::vector<Index> numbers = live_numbers(ways, level);
    std::vector<double> cumulative = bounds_by_size(ways, bounds, level, numbers);
    const std::size_t sizes = numbers.empty() ? 0 : cumulative.size() / numbers.size();
    double total = 0;
    for (std::size_t at = 0; at < numbers.size(); ++at) {
        for (std::size_t k = 0; k < sizes; ++k) total += cumulative[at * sizes + k];
        cumulative[at] = total;  // the numbers it overwrites have been added
    }
    cumulative.resize(numbers.size());
    DrawnTrees found;
    if (numbers.empty() || !(total < std::numeric_limits<double>::infinity())) return found;
    Drawing drawing(ways, bounds, table, options);
    for (; found.tried < options.attempts; ++found.tried) {
        if (control != nullptr && found.tried % kOften == 0) control->check();
        const Index number = numbers[drawing.choose_path(cumulative)];
        if (!drawing.draw(level, ways.lattice->base[level] + number, options.most_leaves)) continue;
        found.keys.push_back(drawing.key);
        found.owners.push_back(number);
        found.trivial.push_back(drawing.trivial);
    }
    return found;
}

}  // namespace adtc

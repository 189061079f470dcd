#include "bayes.h"

#include <limits>

#include "averaging.h"
#include "below.h"

namespace adtc {
namespace {

constexpr Index kOften = 64;               ///< paths between two looks at the limits
constexpr std::size_t kMergeAt = 1 << 20;  ///< leaves that are listed before those that came twice are merged

}  // namespace

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

}  // namespace adtc

#include "last_level.h"

#include "coarse.h"
#include "dense.h"
#include "histogram.h"
#include "sorting.h"

namespace adtc {
namespace {

template <class Key, int L, class T>
class LastLevel {
public:
    LastLevel(const LastLevelTask<Key>& task, Limbs<L> limbs, Part<Key>& part)
        : task_(task),
          leaves_(task.leaves),
          limbs_(limbs),
          part_(part),
          table_(limbs, task.leaves.functionals()),
          scaled_(static_cast<std::size_t>(limbs.size())),
          within_(task.leaves, task.multiplicity, task.lattice.rest),
          all_(task.leaves, task.multiplicity, task.lattice.rest),
          coarse_(task.leaves, task.multiplicity, task.lattice.rest),
          histograms_(task.leaves, task.multiplicity) {}

    Index pairs() const { return pairs_; }

    /// Append the tensor of a path.
    void append(const PairCounts<T>& counts) {
        const Index node = counts.path.number(task_.lattice), start = part_.cells.size();
        const std::span<const Index> budgets = task_.budgets.row(node);
        if (task_.lattice.rest > 0) path_.choose(counts, leaves_.rule);
        const KeyRange<Key> range = dense_range(counts.totals);
        if (range.width > 0 && task_.lattice.rest == 2 && histograms_.fits(path_, range))
            append_histograms(counts.totals, range);
        else if (range.width > 0)
            append_dense(counts.totals, range);
        else
            append_sparse(counts.totals, budgets);
        sorter_.sort(part_.cells, start, part_.cells.size());
        part_.close(node - task_.lattice.base[task_.lattice.levels]);
        if (part_.bytes() > task_.most_bytes) throw OutOfMemory();
    }

private:
    /// Return the keys' range if an array over all of them pays; else one of width 0.
    KeyRange<Key> dense_range(std::span<const Index> totals) const {
        if (task_.lattice.rest == 0 || leaves_.functionals() > 0 || !leaves_.dense || !leaves_.coarse.empty())
            return {};
        const KeyRange<Key> range = key_range(totals, leaves_, Index{1} << task_.lattice.rest);
        // about as many products as there may be; clearing and reading a key takes a fraction of their time
        const Key labels = leaves_.labels(), side = labels + (labels - 1) * labels * path_.size();
        const bool fits = range.width * 8 * limbs_.size() <= task_.most_bytes / 2;
        return range.width <= 4 * path_.size() * side * side && fits ? range : KeyRange<Key>{};
    }

    void append_histograms(std::span<const Index> totals, const KeyRange<Key>& range) {
        pairs_ += histograms_.add_splits(path_, range);
        const auto find = [&](Key key) -> std::uint32_t& {
            return histograms_.find(static_cast<Index>(key - range.low));
        };
        for_each_leaf(totals, leaves_, {}, cost_, [&](Key key, const Index*) { ++find(key); });
        if (!leaves_.trivial_splits) {
            Index splits = 0;  // every feature has a trivial split for each label, with the same key
            for (const Index f : path_.features) splits += task_.multiplicity[f];
            for (Index l = 0; l < leaves_.labels(); ++l)
                if (splits > 0)
                    find(leaves_.key(l, totals) + leaves_.key_constant) -= static_cast<std::uint32_t>(splits);
        }
        Cells<Key>& cells = part_.cells;
        Index at = cells.size();
        cells.resize(at + histograms_.width());
        for (Index k = 0; k < histograms_.width(); ++k) {
            const Limb value = histograms_.find(k);
            cells.keys[at] = range.low + k;
            limbs_.copy(&value, 1, cells.value(at));
            at += value != 0;
        }
        cells.resize(at);
    }

    void append_dense(std::span<const Index> totals, const KeyRange<Key>& range) {
        DenseTensor<Key, L> dense(limbs_, range.low, static_cast<Index>(range.width));
        all_.begin(path_);
        for_each_leaf(totals, leaves_, {}, cost_, [&](Key key, const Index*) { limbs_.add(dense.find(key), 1); });
        for (Index a = 0; a < path_.size(); ++a) {
            all_.list(path_, a, sides_, merger_);
            const Summand<Key> s = summand(a);
            dense.add(s, scaled_.data());
            pairs_ += s.pairs();
            if (leaves_.trivial_splits) continue;
            for_each_trivial(sides_[0].counts, sides_[1].counts, leaves_, {}, cost_,
                             [&](Key key, const Index*) { limbs_.subtract(dense.find(key), s.factor); });
        }
        dense.append_to(part_.cells);
    }

    void append_sparse(std::span<const Index> totals, std::span<const Index> budgets) {
        table_.clear();
        table_.reserve(leaves_.labels());
        for_each_leaf(totals, leaves_, budgets, cost_, [&](Key key, const Index* cost) {
            limbs_.add(table_.find(key, [cost](Index d) { return cost[d]; }), 1);
        });
        if (task_.lattice.rest > 0 && begin_splits(budgets))
            for (Index a = 0; a < path_.size(); ++a) add_split(a, budgets);
        table_.append_to(part_.cells);
    }

    /// Look at all features at once; return false if no split can be within the budgets.
    bool begin_splits(std::span<const Index> budgets) {
        if (!leaves_.coarse.empty()) return true;
        if (!budgets.empty()) return within_.begin(path_, budgets);
        all_.begin(path_);
        return true;
    }

    void add_split(Index a, std::span<const Index> budgets) {
        if (!leaves_.coarse.empty()) {
            if (!coarse_.list(path_, a, budgets, sides_)) return;
        } else if (budgets.empty())
            all_.list(path_, a, sides_);
        else if (!within_.list(path_, a, budgets, sides_))
            return;
        const Index most = (task_.most_bytes - part_.bytes()) / part_.cells.width();
        const Summand<Key> s = summand(a);
        pairs_ += count_pairs_within(s, budgets);
        if (multiply_into(table_, limbs_, s, budgets, most, scaled_.data()) < s.outer.size) throw OutOfMemory();
        if (leaves_.trivial_splits) return;
        table_.reserve(leaves_.labels());
        for_each_trivial(sides_[0].counts, sides_[1].counts, leaves_, budgets, cost_, [&](Key key, const Index* cost) {
            limbs_.subtract(table_.find(key, [cost](Index d) { return cost[d]; }), s.factor);
        });
    }

    Summand<Key> summand(Index a) const {
        const Limb factor = static_cast<Limb>(task_.multiplicity[path_.features[a]]);
        const bool shorter = sides_[0].merged.size() <= sides_[1].merged.size();
        return {sides_[shorter ? 0 : 1].merged.view(), sides_[shorter ? 1 : 0].merged.view(), factor};
    }

    const LastLevelTask<Key>& task_;
    const Leaves<Key>& leaves_;
    Limbs<L> limbs_;
    Part<Key>& part_;
    CellTable<Key, L> table_;
    CellSorter<Key> sorter_;
    std::vector<Limb> scaled_;
    SplittingPairs<T> path_;
    SidesWithin<Key, T> within_;
    AllSides<Key, T> all_;
    CoarseSides<Key, T> coarse_;
    Histograms<Key, T> histograms_;
    KeyMerger<Key> merger_;
    Side<Key> sides_[2];
    std::vector<Index> cost_;
    Index pairs_ = 0;
};

/// Tell whether all costs and counts stay below 2^28: then 32 bits do, also for sums of a few.
template <class Key>
bool fits_32_bits(const Table& table, const Leaves<Key>& leaves) {
    constexpr Index kMost = Index{1} << 28;
    WideKey rows = 0;
    for (const Index total : table.totals) rows += total;
    bool fits = rows < kMost && leaves.rule.minsup < kMost;
    for (Index d = 0; d < leaves.functionals(); ++d) {
        const auto size = [](Index value) {
            return static_cast<WideKey>(value < 0 ? -static_cast<WideKey>(value) : value);
        };
        WideKey cost = 2 * size(leaves.cost_constants[d]);
        for (Index g = 0; g < leaves.groups(); ++g) {
            WideKey most = 0;
            for (Index l = 0; l < leaves.labels(); ++l) most = std::max(most, size(leaves.cost_weights[d][l][g]));
            cost += most * std::max<Index>(1, table.totals[g]);
        }
        fits = fits && cost < kMost;
    }
    return fits;
}

template <class Key, class T>
Index fill(const LastLevelTask<Key>& task, Index first, Index stop, const Control& control, Part<Key>& part) {
    // large counts are as rare as wide keys
    using Width = std::conditional_t<sizeof(T) == sizeof(Index), WideKey, Key>;
    return with_limbs<Width>(part.cells.limbs, [&]<int L>(Limbs<L> limbs) {
        LastLevel<Key, L, T> level(task, limbs, part);
        PairWalk<T> walk(task.table, task.lattice, task.leaves.rule, task.wanted, control);
        walk.run(first, stop, [&](const PairCounts<T>& counts) { level.append(counts); });
        return level.pairs();
    });
}

}  // namespace

template <class Key>
Index fill_last(const LastLevelTask<Key>& task, Index first, Index stop, const Control& control, Part<Key>& part) {
    if constexpr (sizeof(Key) == 8)
        if (fits_32_bits(task.table, task.leaves)) return fill<Key, std::int32_t>(task, first, stop, control, part);
    return fill<Key, Index>(task, first, stop, control, part);
}

template Index fill_last(const LastLevelTask<Index>&, Index, Index, const Control&, Part<Index>&);
template Index fill_last(const LastLevelTask<WideKey>&, Index, Index, const Control&, Part<WideKey>&);

}  // namespace adtc

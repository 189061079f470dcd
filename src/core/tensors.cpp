#include "tensors.h"

#include <cmath>

#include "blocks.h"
#include "dense.h"
#include "partition.h"
#include "ranges.h"
#include "sorting.h"

namespace adtc {
namespace {

constexpr Index kSpread = 16;              // times as many keys as products are worth looking at
constexpr Index kSamples = 4096;           // products that limits of shares are told from
constexpr Index kCached = Index{1} << 17;  // places of a hash table that caches hold

/// Room to make tensors in, handed from job to job.
template <class Key, int L>
struct Scratch {
    CellTable<Key, L> table;
    CellSorter<Key> sorter;
    RangedSum<Key, L> ranged;
    BlockedSum<Key, L> blocked;
    PartitionedSum<Key, L> partitioned;
    Cells<Key> held;
    std::vector<Limb> scaled;

    Scratch(Limbs<L> limbs, Index functionals)
        : table(limbs, functionals),
          ranged(limbs),
          blocked(limbs),
          partitioned(limbs),
          held(limbs.size(), functionals),
          scaled(static_cast<std::size_t>(limbs.size())) {}
};

template <class Key, int L>
class LevelFiller {
public:
    LevelFiller(const LevelTask<Key>& task, Limbs<L> limbs, const Control& control, Part<Key>& part)
        : task_(task), leaves_(task.leaves), limbs_(limbs), control_(control), part_(part) {
        if (!part.scratch) part.scratch = std::make_shared<Scratch<Key, L>>(limbs, part.cells.functionals);
        scratch_ = static_cast<Scratch<Key, L>*>(part.scratch.get());
    }

    Index pairs() const { return pairs_; }

    /// Append the tensor of a path.
    void append(Index number) {
        path_ = path_at(task_.lattice, task_.level, number);
        node_ = task_.lattice.base[task_.level] + number;
        budgets_ = task_.budgets.row(node_);
        find_summands();
        const Index start = part_.cells.size();
        find_limits();
        const KeyRange<Key> range = dense_range();
        if (range.width > 0)
            append_dense(range);
        else
            append_sparse();
        scratch_->sorter.sort(part_.cells, start, part_.cells.size());
        part_.close(number);
        if (part_.bytes() > task_.most_bytes) throw OutOfMemory();
    }

private:
    void find_summands() {
        const Index first = task_.lattice.base[task_.level + 1];
        summands_.clear();
        features_.clear();
        for (Index f = 0; f < task_.lattice.features; ++f) {
            if (path_.has(f)) continue;
            const Children child = children(task_.lattice, path_.features, task_.level, path_.signs, f);
            if (!task_.live[child.one] || !task_.live[child.zero]) continue;
            CellView<Key> outer = task_.below.tensor(child.one - first), inner = task_.below.tensor(child.zero - first);
            if (outer.size > inner.size) std::swap(outer, inner);
            summands_.push_back({outer, inner, static_cast<Limb>(task_.multiplicity[f])});
            features_.push_back(f);
        }
        looked_ = 0;
        for (const auto& s : summands_) looked_ += count_pairs_within(s, budgets_);
        pairs_ += task_.share == 0 ? looked_ : 0;
    }

    /// Find the keys of this share, so that shares have about as many products each.
    void find_limits() {
        limits_ = {};
        if (task_.shares == 1) return;
        sample_products();
        if (samples_.empty()) samples_.push_back(limits_.stop);  // the first share has it all
        std::sort(samples_.begin(), samples_.end());
        const auto bound = [&](Index share) {
            return samples_[samples_.size() * static_cast<std::size_t>(share) / static_cast<std::size_t>(task_.shares)];
        };
        if (task_.share > 0) limits_.low = bound(task_.share);
        if (task_.share + 1 < task_.shares) limits_.stop = bound(task_.share + 1);
    }
    /// Choose products, the same ones for every share, from each summand in proportion to its own.
    void sample_products() {
        Index pairs = 0;
        for (const auto& s : summands_) pairs += s.pairs();
        samples_.clear();
        std::uint64_t at = 0;
        for (const auto& s : summands_) {
            const Index some = s.pairs() > 0 ? kSamples * s.pairs() / pairs + 1 : 0;
            for (Index k = 0; k < some; ++k) {
                const auto i = static_cast<Index>(mixed(++at) % static_cast<std::uint64_t>(s.outer.size));
                const auto j = static_cast<Index>(mixed(++at) % static_cast<std::uint64_t>(s.inner.size));
                samples_.push_back(s.outer.keys[i] + s.inner.keys[j]);
            }
        }
    }

    /// Return the keys' range if an array over all of them pays; else one of width 0.
    KeyRange<Key> dense_range() const {
        if (!leaves_.dense || !budgets_.empty() || !leaves_.coarse.empty()) return {};
        const Index most_leaves = Index{1} << (task_.lattice.levels + task_.lattice.rest - task_.level);
        const KeyRange<Key> range = key_range(task_.counts.row(node_), leaves_, most_leaves);
        return range.width <= kSpread * static_cast<Key>(looked_) ? range : KeyRange<Key>{};
    }

    bool leaf_may_be() const { return node_ != 0 || leaves_.root_leaf; }

    void append_dense(const KeyRange<Key>& range) {
#if defined(__AVX512IFMA__)
        if (are_dense(summands_)) {
            if (task_.share > 0) return;  // the first one makes it as a whole, whatever room it has
            limits_ = {};
            const auto width = static_cast<Index>(range.width);
            const Index bytes = 8 * limbs_.size() * width + Digits::bytes(width, limbs_.size());
            if (bytes < task_.most_bytes) return append_convolution(range);
        }
#endif
        begin_table();
        const Key low = std::max(range.low, limits_.low), stop = std::min<Key>(range.low + range.width, limits_.stop);
        if (low >= stop) return;
        scratch_->blocked.append(held_cells(), summands_, {low, stop - low}, part_.cells, [&] { check_limits(); });
    }

#if defined(__AVX512IFMA__)
    void append_convolution(const KeyRange<Key>& range) {
        DenseTensor<Key, L> dense(limbs_, range.low, static_cast<Index>(range.width));
        dense.convolve(summands_, [&] { control_.check(); });
        if (leaf_may_be())
            for_each_leaf(task_.counts.row(node_), leaves_, {}, cost_,
                          [&](Key key, const Index*) { limbs_.add(dense.find(key), 1); });
        drop_trivial([&](Key key, const Index*, Limb factor) { limbs_.subtract(dense.find(key), factor); });
        dense.append_to(part_.cells);
    }
#endif

    void check_limits() const {
        control_.check();
        if (part_.bytes() > task_.most_bytes) throw OutOfMemory();
    }

    /// Put all that is no product into the table: leaves, and splits to be taken back.
    void begin_table() {
        CellTable<Key, L>& table = scratch_->table;
        table.clear();
        table.reserve(leaves_.labels() * (1 + static_cast<Index>(summands_.size())));
        const auto find = [&](Key key, const Index* cost) {
            return table.find(key, [cost](Index d) { return cost[d]; });
        };
        if (leaf_may_be())
            for_each_leaf(task_.counts.row(node_), leaves_, budgets_, cost_,
                          [&](Key key, const Index* cost) { limbs_.add(find(key, cost), 1); });
        drop_trivial([&](Key key, const Index* cost, Limb factor) { limbs_.subtract(find(key, cost), factor); });
    }

    void append_sparse() {
        begin_table();
        if (are_spread() && scratch_->ranged.begin(summands_, budgets_)) {
            if (task_.shares > 1) scratch_->ranged.narrow(limits_);
            scratch_->ranged.append(held_cells(), part_.cells, [&] { check_limits(); });
            return;
        }
        if (task_.share > 0) return;  // the first one makes it as a whole
        limits_ = {};
        for (std::size_t k = 0; k < summands_.size(); ++k) {
            const Index row = multiply(summands_[k], kCached);
            if (row < summands_[k].outer.size) return append_large(k, row);
        }
        scratch_->table.append_to(part_.cells);
    }

    /// Tell whether hardly any two products can share a key, within at most one budget: then sorting them
    /// is cheaper than looking for each one's place.
    bool are_spread() const {
        if (budgets_.size() > 1 || !leaves_.coarse.empty()) return false;
        const Index most_leaves = Index{1} << (task_.lattice.levels + task_.lattice.rest - task_.level);
        return key_range(task_.counts.row(node_), leaves_, most_leaves).width / kSpread > looked_;
    }

    /// Add the products of a summand to a table of at most so many places; return the cell of its outer
    /// list to go on with.
    Index multiply(const Summand<Key>& s, Index most) {
        control_.check();
        return multiply_into(scratch_->table, limbs_, s, budgets_, most, scratch_->scaled.data());
    }

    /// Take the table's cells of this share as a list.
    CellView<Key> held_cells() {
        Cells<Key>& held = scratch_->held;
        held.resize(0);
        scratch_->table.append_to(held);
        Index kept = 0;
        for (Index k = 0; k < held.size(); ++k) {
            if (!limits_.hold(held.keys[k])) continue;
            held.keys[kept] = held.keys[k];
            limbs_.copy(held.value(k), limbs_.size(), held.value(kept));
            std::copy_n(held.cost(k), held.functionals, held.cost(kept++));
        }
        held.resize(kept);
        return held.view();
    }

    /// Append the table's cells and the products from a cell of a summand on: more than caches hold.
    void append_large(std::size_t k, Index row) {
        summands_.erase(summands_.begin(), summands_.begin() + static_cast<Index>(k));
        summands_[0].outer = summands_[0].outer.part(row, summands_[0].outer.size);
        const Index most = task_.most_bytes - part_.bytes();
        if (scratch_->partitioned.append(held_cells(), summands_, budgets_, most, control_, part_.cells)) return;
        for (const auto& s : summands_)
            if (multiply(s, most / part_.cells.width()) < s.outer.size) throw OutOfMemory();
        scratch_->table.append_to(part_.cells);
    }

    /// Take back the splits whose two children are leaves of equal label.
    template <class Take>
    void drop_trivial(Take take) {
        if (leaves_.trivial_splits) return;
        for (std::size_t k = 0; k < summands_.size(); ++k) {
            const Children child = children(task_.lattice, path_.features, task_.level, path_.signs, features_[k]);
            for_each_trivial(task_.counts.row(child.one), task_.counts.row(child.zero), leaves_, budgets_, cost_,
                             [&](Key key, const Index* cost) { take(key, cost, summands_[k].factor); });
        }
    }

    const LevelTask<Key>& task_;
    const Leaves<Key>& leaves_;
    Limbs<L> limbs_;
    const Control& control_;
    Part<Key>& part_;
    Scratch<Key, L>* scratch_ = nullptr;
    Path path_;
    Index node_ = 0;
    std::span<const Index> budgets_;
    std::vector<Summand<Key>> summands_;
    std::vector<Index> features_;  ///< of the summands
    std::vector<Index> cost_;
    std::vector<Key> samples_;
    KeyLimits<Key> limits_;  ///< of this share
    Index looked_ = 0;       ///< pairs of cells whose first costs fit
    Index pairs_ = 0;        ///< the same, of all paths
};

}  // namespace

template <class Key>
Index fill_level(const LevelTask<Key>& task, std::span<const Index> numbers, const Control& control, Part<Key>& part) {
    return with_limbs<Key>(part.cells.limbs, [&]<int L>(Limbs<L> limbs) {
        LevelFiller<Key, L> filler(task, limbs, control, part);
        for (const Index number : numbers) {
            control.check();
            filler.append(number);
        }
        return filler.pairs();
    });
}

template <class Key>
void fill_single(const Lattice& lattice, const Leaves<Key>& leaves, Grid<const Index> counts, Grid<const Index> budgets,
                 std::span<const Index> numbers, Part<Key>& part) {
    const Limbs<0> limbs{part.cells.limbs};
    CellSorter<Key> sorter;
    std::vector<Index> room;
    for (const Index number : numbers) {
        const Index node = lattice.base[lattice.levels] + number, start = part.cells.size();
        for_each_leaf(counts.row(node), leaves, budgets.row(node), room, [&](Key key, const Index* cost) {
            Index at = start;
            while (at < part.cells.size() && part.cells.keys[at] != key) ++at;
            if (at == part.cells.size()) {
                part.cells.resize(at + 1);
                part.cells.keys[at] = key;
                limbs.clear(part.cells.value(at));
                std::copy_n(cost, part.cells.functionals, part.cells.cost(at));
            }
            limbs.add(part.cells.value(at), 1);
        });
        sorter.sort(part.cells, start, part.cells.size());
        part.close(number);
    }
}

double bound_level(const Lattice& lattice, Index level, std::span<const Index> numbers, Index labels,
                   std::span<const Index> multiplicity, std::span<const bool> live, std::span<const double> below,
                   std::span<double> bounds) {
    double largest = 0;
    for (const Index number : numbers) {
        const Path path = path_at(lattice, level, number);
        double total = static_cast<double>(labels);
        for (Index f = 0; f < lattice.features; ++f) {
            if (path.has(f)) continue;
            const Children child = children(lattice, path.features, level, path.signs, f);
            if (!live[child.one] || !live[child.zero]) continue;
            const Index first = lattice.base[level + 1];
            total += static_cast<double>(multiplicity[f]) * below[child.one - first] * below[child.zero - first];
        }
        bounds[number] = total;
        largest = std::max(largest, total < 1e300 ? total : HUGE_VAL);  // not a number counts as ∞
    }
    return largest;
}

template <class Key>
double count_trees(const CellView<Key>& tensor) {
    double sum = 0;
    for (Index i = 0; i < tensor.size; ++i)
        for (Index l = 0; l < tensor.limbs; ++l)
            sum += std::ldexp(static_cast<double>(tensor.value(i)[l]), static_cast<int>(64 * l));
    return sum;
}

template Index fill_level(const LevelTask<Index>&, std::span<const Index>, const Control&, Part<Index>&);
template Index fill_level(const LevelTask<WideKey>&, std::span<const Index>, const Control&, Part<WideKey>&);
template void fill_single(const Lattice&, const Leaves<Index>&, Grid<const Index>, Grid<const Index>,
                          std::span<const Index>, Part<Index>&);
template void fill_single(const Lattice&, const Leaves<WideKey>&, Grid<const Index>, Grid<const Index>,
                          std::span<const Index>, Part<WideKey>&);
template double count_trees(const CellView<Index>&);
template double count_trees(const CellView<WideKey>&);

}  // namespace adtc

// A pass over the cells of a circuit that trees of chosen root cells consist of, children first.
//
// `Sums` says what a cell's value is. It has a `Store`, values by place, made by `make(size)`, and
//     add_leaf(store, place, label, at)
//     add_stump(store, place, level, feature, p, q, at)           two leaves, labelled p and q, below a feature
//     add_split(store, place, level, feature, store1, one, store0, zero)
// where `level` is the number of tests above the feature, and `at` says where leaves stand. `finish(store,
// place)` ends a cell, `release(store)` the store of a side, and `retire(store)` that of a level.
#pragma once

#include <memory>

#include "key_slots.h"
#include "opened.h"
#include "products.h"
#include "variables.h"

namespace adtc {

/// Where a leaf stands: at a path, or below one or two active features of a path of the last level; sides
/// are 0 where a feature is 1.
template <class Key>
struct LeafPlace {
    const Path& path;
    Index id = 0;                     ///< the path's number
    const Node<Key>* node = nullptr;  ///< the path, opened, if the leaf is below it
    Index a = -1, s = 0;              ///< the first feature's place among the active ones, and the side
    Index b = -1, t = 0;              ///< the second one's; of a stump any side
};

template <class Key, class Sums>
class GoodCells {
    using Store = typename Sums::Store;

public:
    GoodCells(const CircuitView<Key>& circuit, const RootGroups& groups, Sums& sums, const Control& control)
        : circuit_(circuit),
          lattice_(*circuit.lattice),
          groups_(groups),
          sums_(sums),
          control_(control),
          opener_(circuit) {}

    /// Return the sums of all groups.
    Store add_up() {
        Store total = sums_.make(groups_.count);
        if (circuit_.levels.empty()) return total;
        choose();
        Store below = lattice_.levels > 0 ? sums_.make(circuit_.levels.back().cells.size) : Store{};
        for_each_path(lattice_.levels, [&](Index number) { fill_last(number, lattice_.levels > 0 ? below : total); });
        for (Index level = lattice_.levels - 1; level >= 0; --level) {
            Store here = level > 0 ? sums_.make(circuit_.levels[level].cells.size) : Store{};
            for_each_path(level, [&](Index number) { fill_upper(level, number, level > 0 ? here : total, below); });
            sums_.retire(below);
            below = std::move(here);
        }
        for (Index g = 0; g < groups_.count; ++g) sums_.finish(total, g);
        return total;
    }

private:
    /// Visit the paths of a level with wanted cells.
    template <class Use>
    void for_each_path(Index level, Use use) {
        const Level<Key>& tensors = circuit_.levels[level];
        for (Index number = 0; number < static_cast<Index>(tensors.starts.size()); ++number) {
            const Index start = tensors.starts[number], stop = tensors.stops[number];
            if (start == stop) continue;
            if (!wanted_.empty() && level > 0 &&
                std::find(wanted_[level].begin() + start, wanted_[level].begin() + stop, 1) ==
                    wanted_[level].begin() + stop)
                continue;
            control_.check();
            use(number);
        }
    }

    /// Find the cells that trees of the groups consist of; all of them if no root cell is left out.
    void choose() {
        one_group_ = std::all_of(groups_.of.begin(), groups_.of.end(), [](Index g) { return g == 0; });
        if (std::none_of(groups_.of.begin(), groups_.of.end(), [](Index g) { return g < 0; })) return;
        for (const Level<Key>& level : circuit_.levels)
            wanted_.emplace_back(static_cast<std::size_t>(level.cells.size), 0);
        for (Index level = 0; level < lattice_.levels; ++level)
            for_each_path(level, [&](Index number) {
                enter(level, number);
                for_each_pair_above(level, [&](Index, Index, Index one, Index zero) {
                    wanted_[level + 1][one] = wanted_[level + 1][zero] = 1;
                });
            });
    }

    /// Make a path the current one.
    void enter(Index level, Index number) {
        path_ = path_at(lattice_, level, number);
        id_ = lattice_.base[level] + number;
        level_ = level;
        start_ = circuit_.levels[level].starts[number];
        budgets_ = circuit_.budgets.row(id_);
        tensor_ = circuit_.levels[level].tensor(number);
        if (level > 0 || !one_group_) slots_.build(tensor_.keys, tensor_.size);
    }

    /// Return where a key's value of the current path goes; −1 if nowhere.
    Index place(Key key) const {
        if (level_ == 0 && one_group_) return 0;
        const Index at = slots_.find(key);
        if (at < 0) return -1;
        if (level_ == 0) return groups_.of[at];
        return wanted_.empty() || wanted_[level_][start_ + at] ? start_ + at : -1;
    }

    void add_leaves(Store& to) {
        if (id_ == 0 && !circuit_.leaves.root_leaf) return;
        for_each_label(circuit_.counts.row(id_), circuit_.leaves.rule, [&](Index label) {
            cost_.resize(budgets_.size());
            circuit_.leaves.costs(label, circuit_.counts.row(id_), cost_.data());
            if (!within(cost_.data(), budgets_)) return;
            const Index at = place(circuit_.leaves.key(label, circuit_.counts.row(id_)));
            if (at >= 0) sums_.add_leaf(to, at, label, LeafPlace<Key>{path_, id_});
        });
    }

    /// Call `use(place, feature, one, zero)` for the pairs of cells one level below that make up the
    /// current path's wanted cells.
    template <class Use>
    void for_each_pair_above(Index level, Use use) {
        const Level<Key>& below = circuit_.levels[level + 1];
        const Index first = lattice_.base[level + 1];
        for_each_child(lattice_, path_.features, level, path_.signs, [&](Index f, const Children& child) {
            if (!circuit_.live[child.one] || !circuit_.live[child.zero]) return;
            const CellView<Key> ones = below.tensor(child.one - first), zeros = below.tensor(child.zero - first);
            const Index one = below.starts[child.one - first], zero = below.starts[child.zero - first];
            Index stop = zeros.size;
            control_.check();
            for (Index i = 0; i < ones.size && stop > 0; ++i) {
                if (!budgets_.empty()) stop = affordable(zeros.part(0, stop), budgets_[0] - ones.cost(i)[0]);
                for (Index j = 0; j < stop; ++j) {
                    if (budgets_.size() > 1 && !fits(ones.cost(i), zeros.cost(j), budgets_)) continue;
                    const Index at = place(ones.keys[i] + zeros.keys[j]);
                    if (at >= 0) use(at, f, one + i, zero + j);
                }
            }
        });
    }

    void fill_upper(Index level, Index number, Store& to, const Store& below) {
        enter(level, number);
        add_leaves(to);
        for_each_pair_above(level, [&](Index at, Index f, Index one, Index zero) {
            sums_.add_split(to, at, level, f, below, one, below, zero);
        });
        finish(to);
    }

    void finish(Store& to) {
        if (level_ > 0)
            for (Index i = 0; i < tensor_.size; ++i) sums_.finish(to, start_ + i);
    }

    /// Tell whether the current path holds nothing but leaves: then no pair needs to be counted.
    bool only_leaves() const {
        Limb trees = 0, leaves = 0;
        for (Index i = 0; i < tensor_.size; ++i) {
            for (Index l = 1; l < tensor_.limbs; ++l)
                if (tensor_.value(i)[l] != 0) return false;
            trees += tensor_.value(i)[0];
            if (trees > static_cast<Limb>(circuit_.leaves.labels())) return false;
        }
        const auto counts = circuit_.counts.row(id_);
        std::vector<Index> cost;
        for_each_leaf(counts, circuit_.leaves, budgets_, cost, [&](Key, const Index*) { ++leaves; });
        return trees == leaves;
    }

    void fill_last(Index number, Store& to) {
        enter(lattice_.levels, number);
        add_leaves(to);
        if (lattice_.rest > 0 && !only_leaves()) {
            Node<Key> node;
            node.path = path_;
            node.id = id_;
            node.limbs = tensor_.limbs;
            node.counts = circuit_.counts.row(id_);
            node.budgets = budgets_;
            opener_.open(node);
            for (const Branch<Key>& branch : node.branches) add_branch(node, branch, to);
        }
        finish(to);
    }

    void add_branch(const Node<Key>& node, const Branch<Key>& branch, Store& to) {
        const KeyList<Key>&ones = branch.cells[0], &zeros = branch.cells[1];
        Store sides[2] = {sums_.make(ones.size), sums_.make(zeros.size)};
        for (int s = 0; s < 2; ++s) fill_side(node, branch, s, sides[s]);
        for (Index i = 0; i < ones.size; ++i) {
            if (ones.is_dense() && ones.values[i] == 0) continue;
            for (Index j = 0; j < zeros.size; ++j) {
                if (zeros.is_dense() && zeros.values[j] == 0) continue;
                if (!fit_together(ones, i, zeros, j, budgets_)) continue;
                const Index at = place(ones.key(i) + zeros.key(j));
                if (at >= 0) sums_.add_split(to, at, level_, branch.feature, sides[0], i, sides[1], j);
            }
        }
        for (Store& side : sides) sums_.release(side);
    }

    /// Find the values of the trees of depth at most 1 on one side of a branch.
    void fill_side(const Node<Key>& node, const Branch<Key>& branch, int s, Store& side) {
        const Leaves<Key>& leaves = circuit_.leaves;
        const KeyList<Key>& list = branch.cells[s];
        const Index labels = leaves.labels(), width = node.pairs.width;
        LeafPlace<Key> at{path_, id_, &node, branch.active, s};
        for (Index l = 0; l < labels; ++l)
            if (branch.leaf[s][l] != kNoKey<Key>) sums_.add_leaf(side, list.find(branch.leaf[s][l]), l, at);
        if (lattice_.rest > 1) {
            weighed_.weigh(node, branch.active, s, leaves);
            const bool voted = !is_unconstrained(leaves.rule);
            for (Index b = 0; b < width; ++b) {
                if (b == branch.active || !weighed_.splits(b, leaves.rule.minsup)) continue;
                if (voted) measure(node, branch.active, s, b);
                at.b = b;
                for (Index p = 0; p < labels; ++p)
                    for (Index q = 0; q < labels; ++q) {
                        if (p == q && !leaves.trivial_splits) continue;
                        if (voted && (leaf1_.key[p] == kNoKey<Key> || leaf0_.key[q] == kNoKey<Key>)) continue;
                        if (!stump_fits(branch.limit[s], p, q, b)) continue;
                        const Key key = 2 * leaves.key_constant + weighed_.ones[p * width + b] + weighed_.whole[q] -
                                        weighed_.ones[q * width + b];
                        sums_.add_stump(side, list.find(key), level_ + 1, node.pairs.features[b], p, q, at);
                    }
            }
        }
        for (Index i = 0; i < list.size; ++i) sums_.finish(side, i);
    }

    bool stump_fits(std::span<const Index> limit, Index p, Index q, Index b) const {
        for (std::size_t d = 0; d < limit.size(); ++d)
            if (weighed_.cost(static_cast<Index>(d), p, q, b, circuit_.leaves) > limit[d]) return false;
        return true;
    }

    void measure(const Node<Key>& node, Index a, int s, Index b) {
        const std::size_t groups = node.counts.size();
        part1_.resize(groups);
        part0_.resize(groups);
        for (std::size_t g = 0; g < groups; ++g) {
            const Index at = static_cast<Index>(g), one = node.pairs.at(at, a, a), both = node.pairs.at(at, a, b);
            part1_[g] = s ? node.pairs.at(at, b, b) - both : both;
            part0_[g] = (s ? node.counts[g] - one : one) - part1_[g];
        }
        leaf1_.measure(part1_, circuit_.leaves);
        leaf0_.measure(part0_, circuit_.leaves);
    }

    const CircuitView<Key>& circuit_;
    const Lattice& lattice_;
    const RootGroups& groups_;
    Sums& sums_;
    const Control& control_;
    LastOpener<Key> opener_;
    std::vector<std::vector<char>> wanted_;  ///< [level][cell]; empty if all are
    bool one_group_ = false;                 ///< every root cell is in the only group

    // the current path
    Path path_;
    Index id_ = 0, level_ = 0, start_ = 0;
    std::span<const Index> budgets_;
    CellView<Key> tensor_;
    KeySlots<Key> slots_;

    // scratch
    std::vector<Index> cost_, part1_, part0_;
    WeighedSide<Key> weighed_;
    MeasuredLeaf<Key> leaf1_, leaf0_;
};

}  // namespace adtc

#include "partial.h"

#include <bit>

#include "products.h"

namespace adtc {
namespace {

constexpr std::size_t kOpened = 64;  // paths of the last level that are kept open

template <class Key>
bool fit(const TreeList<Key>& ones, Index i, const TreeList<Key>& zeros, Index j, std::span<const Index> budgets) {
    for (std::size_t d = 0; d < budgets.size(); ++d)
        if (ones.cost(i)[d] + zeros.cost(j)[d] > budgets[d]) return false;
    return true;
}

}  // namespace

template <class Key>
Index PartialTrees<Key>::level_of(Index path) const {
    const auto base = circuit_.lattice->base;
    return std::upper_bound(base.begin(), base.end(), path) - base.begin() - 1;
}

/// Open a path of the last level.
template <class Key>
typename PartialTrees<Key>::NodePtr PartialTrees<Key>::open(Index path) {
    if (const auto known = nodes_.find(path); known != nodes_.end()) return known->second;
    const Lattice& lattice = *circuit_.lattice;
    const auto made = std::make_shared<Node<Key>>();
    made->path = path_at(lattice, lattice.levels, path - lattice.base[lattice.levels]);
    made->id = path;
    made->counts = circuit_.counts.row(path);
    made->budgets = circuit_.budgets.row(path);
    if (circuit_.live[path]) opener_.open(*made);
    if (nodes_.size() >= kOpened) nodes_.clear();
    nodes_.emplace(path, made);
    return made;
}

template <class Key>
const Branch<Key>* PartialTrees<Key>::branch_of(const Node<Key>& node, Index feature) const {
    for (const Branch<Key>& branch : node.branches)
        if (branch.feature == feature) return &branch;
    return nullptr;
}

template <class Key>
std::span<const Index> PartialTrees<Key>::budgets(Position at) {
    if (at.side < 0) return circuit_.budgets.row(at.path);
    const Branch<Key>* const branch = branch_of(*open(at.path), at.side / 2);
    return branch == nullptr ? std::span<const Index>() : branch->limit[at.side % 2];
}

template <class Key>
std::vector<Index> PartialTrees<Key>::rows(Position at) {
    if (at.side < 0) {
        const auto counts = circuit_.counts.row(at.path);
        return {counts.begin(), counts.end()};
    }
    const NodePtr node = open(at.path);
    const auto& active = node->pairs.features;
    const auto place = [&](Index literal) {
        const auto found = std::lower_bound(active.begin(), active.end(), literal / 2);
        return found != active.end() && *found == literal / 2 ? found - active.begin() : Index{-1};
    };
    const Index a = place(at.side), b = at.end < 0 ? a : place(at.end);
    std::vector<Index> counts(node->counts.size(), 0);
    if (a < 0 || b < 0) return counts;
    for (std::size_t g = 0; g < counts.size(); ++g) {
        const Index group = static_cast<Index>(g), one = node->pairs.at(group, a, a);
        const Index side = at.side % 2 ? node->counts[g] - one : one;
        if (at.end < 0) {
            counts[g] = side;
            continue;
        }
        const Index both = node->pairs.at(group, a, b);
        const Index with = at.side % 2 ? node->pairs.at(group, b, b) - both : both;
        counts[g] = at.end % 2 ? side - with : with;
    }
    return counts;
}

/// Add a leaf to a list, if it may be: to the cell with its key, if there is one.
template <class Key>
void PartialTrees<Key>::add_leaf(TreeList<Key>& list, std::span<const Index> counts, std::span<const Index> budgets,
                                 Index label) const {
    std::vector<Index> cost(static_cast<std::size_t>(list.functionals));
    for (std::size_t d = 0; d < cost.size(); ++d) cost[d] = circuit_.leaves.cost(static_cast<Index>(d), label, counts);
    if (!budgets.empty() && !cost.empty() && !within(cost.data(), budgets)) return;
    const Key key = circuit_.leaves.key(label, counts);
    const Index at = std::find(list.keys.begin(), list.keys.end(), key) - list.keys.begin();
    if (at == list.size()) {
        list.keys.push_back(key);
        list.values.resize(list.values.size() + static_cast<std::size_t>(limbs_), 0);
        list.costs.insert(list.costs.end(), cost.begin(), cost.end());
        list.labels.push_back(0);
    }
    Limbs<0>{limbs_}.add(list.values.data() + at * limbs_, Limb{1});
    list.labels[at] |= std::uint64_t{1} << label;
}

template <class Key>
void PartialTrees<Key>::add_leaves(TreeList<Key>& list, std::span<const Index> counts,
                                   std::span<const Index> budgets) const {
    for_each_label(counts, circuit_.leaves.rule, [&](Index label) { add_leaf(list, counts, budgets, label); });
}

template <class Key>
TreeList<Key> PartialTrees<Key>::every(Position at) {
    TreeList<Key> list;
    list.limbs = limbs_;
    list.functionals = circuit_.leaves.functionals();
    if (circuit_.levels.empty() || !circuit_.live[at.path]) return list;
    const Limbs<0> limbs{limbs_};
    if (at.end >= 0) {  // no cell of a tensor: what it may cost is seen when it is joined
        const NodePtr node = open(at.path);
        if (branch_of(*node, at.side / 2) == nullptr) return list;
        add_leaves(list, rows(at), {});
        return list;
    }
    if (at.side >= 0) {
        const NodePtr node = open(at.path);
        const Branch<Key>* const branch = branch_of(*node, at.side / 2);
        if (branch == nullptr) return list;
        const KeyList<Key>& cells = branch->cells[at.side % 2];
        const auto leaf = branch->leaf[at.side % 2];
        for (Index i = 0; i < cells.size; ++i) {
            if (cells.is_dense() && cells.values[i] == 0) continue;
            list.keys.push_back(cells.key(i));
            list.values.resize(list.values.size() + static_cast<std::size_t>(limbs_), 0);
            limbs.copy(cells.value(i), cells.limbs, list.values.data() + list.values.size() - limbs_);
            list.costs.insert(list.costs.end(), cells.cost(i), cells.cost(i) + list.functionals);
            std::uint64_t labels = 0;
            for (std::size_t l = 0; l < leaf.size(); ++l)
                if (leaf[l] == cells.key(i)) labels |= std::uint64_t{1} << l;
            list.labels.push_back(labels);
        }
        return list;
    }
    const Index level = level_of(at.path);
    const CellView<Key> cells = circuit_.levels[level].tensor(at.path - circuit_.lattice->base[level]);
    list.functionals = cells.functionals;
    list.keys.assign(cells.keys, cells.keys + cells.size);
    list.values.resize(static_cast<std::size_t>(cells.size * limbs_));
    for (Index i = 0; i < cells.size; ++i) limbs.copy(cells.value(i), cells.limbs, list.values.data() + i * limbs_);
    list.costs.assign(cells.costs, cells.costs + cells.size * cells.functionals);
    list.labels.assign(list.keys.size(), 0);
    const auto counts = circuit_.counts.row(at.path), limit = circuit_.budgets.row(at.path);
    std::vector<Index> cost;
    if (at.path == 0 && !circuit_.leaves.root_leaf) return list;
    for_each_label(counts, circuit_.leaves.rule, [&](Index label) {
        cost.resize(limit.size());
        circuit_.leaves.costs(label, counts, cost.data());
        if (!within(cost.data(), limit)) return;
        const auto found = std::find(list.keys.begin(), list.keys.end(), circuit_.leaves.key(label, counts));
        if (found != list.keys.end()) list.labels[found - list.keys.begin()] |= std::uint64_t{1} << label;
    });
    return list;
}

template <class Key>
TreeList<Key> PartialTrees<Key>::leaf(Position at, Index label) {
    TreeList<Key> list;
    list.limbs = limbs_;
    list.functionals = circuit_.leaves.functionals();
    if (circuit_.levels.empty() || !circuit_.live[at.path]) return list;
    if (at.path == 0 && at.side < 0 && !circuit_.leaves.root_leaf) return list;
    if (at.side >= 0 && branch_of(*open(at.path), at.side / 2) == nullptr) return list;
    const std::vector<Index> counts = rows(at);
    const auto limit = at.end >= 0 ? std::span<const Index>() : budgets(at);
    for_each_label(counts, circuit_.leaves.rule, [&](Index l) {
        if (l == label) add_leaf(list, counts, limit, label);
    });
    return list;
}

/// Count the pairs of leaves of equal label in two cells, where such splits do not count.
template <class Key>
Index PartialTrees<Key>::trivial_pairs(const TreeList<Key>& ones, Index i, const TreeList<Key>& zeros, Index j) const {
    return circuit_.leaves.trivial_splits ? 0 : std::popcount(ones.labels[i] & zeros.labels[j]);
}

template <class Key>
TreeList<Key> PartialTrees<Key>::join(Position at, const TreeList<Key>& ones, const TreeList<Key>& zeros) {
    const auto limit = budgets(at);
    return with_limbs<Key>(limbs_, [&]<int L>(Limbs<L> limbs) {
        CellTable<Key, L> table(limbs, ones.functionals);
        std::vector<Limb> product(static_cast<std::size_t>(limbs_));
        for (Index i = 0; i < ones.size(); ++i) {
            table.reserve(zeros.size());
            for (Index j = 0; j < zeros.size(); ++j) {
                if (!fit(ones, i, zeros, j, limit)) continue;
                limbs.clear(product.data());
                limbs.add_product(product.data(), ones.value(i), zeros.value(j), limbs_);
                limbs.subtract(product.data(), static_cast<Limb>(trivial_pairs(ones, i, zeros, j)));
                limbs.add(table.find(ones.keys[i] + zeros.keys[j],
                                     [&](Index d) { return ones.cost(i)[d] + zeros.cost(j)[d]; }),
                          product.data());
            }
        }
        TreeList<Key> list;
        list.limbs = limbs_;
        list.functionals = ones.functionals;
        table.for_each([&](Key key, const Limb* value, const Index* cost) {
            list.keys.push_back(key);
            list.values.insert(list.values.end(), value, value + limbs_);
            list.costs.insert(list.costs.end(), cost, cost + list.functionals);
            list.labels.push_back(0);
        });
        return list;
    });
}

template <class Key>
Context<Key> PartialTrees<Key>::root(std::span<const Key> good, std::span<const Index> ranks) const {
    Context<Key> context;
    context.ranks.assign(ranks.begin(), ranks.end());
    context.slots.build(good.data(), static_cast<Index>(good.size()));
    context.weights.resize(good.size() * static_cast<std::size_t>(limbs_), 0);
    for (std::size_t i = 0; i < good.size(); ++i) context.weights[i * static_cast<std::size_t>(limbs_)] = 1;
    return context;
}

template <class Key>
Context<Key> PartialTrees<Key>::below(Position at, const Context<Key>& context, const TreeList<Key>& child,
                                      const TreeList<Key>& sibling) {
    const auto limit = budgets(at);
    Context<Key> made;
    made.slots.build(child.keys.data(), child.size());
    made.weights.resize(static_cast<std::size_t>(child.size() * limbs_), 0);
    if (!context.ranks.empty()) made.ranks.assign(static_cast<std::size_t>(child.size()), kNoRank);
    with_limbs<Key>(limbs_, [&]<int L>(Limbs<L> limbs) {
        for (Index i = 0; i < child.size(); ++i)
            for (Index j = 0; j < sibling.size(); ++j) {
                const Index slot = context.slots.find(child.keys[i] + sibling.keys[j]);
                if (slot < 0 || !fit(child, i, sibling, j, limit)) continue;
                limbs.add_product(made.weights.data() + i * limbs_, context.weights.data() + slot * limbs_,
                                  sibling.value(j), limbs_);
                if (!made.ranks.empty() && limbs.positive(sibling.value(j)))
                    made.ranks[i] = std::min(made.ranks[i], context.ranks[slot]);
            }
    });
    return made;
}

template <class Key>
std::vector<Limb> PartialTrees<Key>::count(const Context<Key>& context, const TreeList<Key>& trees) const {
    std::vector<Limb> total(static_cast<std::size_t>(limbs_), 0);
    const Limbs<0> limbs{limbs_};
    for (Index i = 0; i < trees.size(); ++i) {
        const Index slot = context.slots.find(trees.keys[i]);
        if (slot >= 0) limbs.add_product(total.data(), context.weights.data() + slot * limbs_, trees.value(i), limbs_);
    }
    return total;
}

/// Add up the good trees that have a pair of these children at a place.
template <class Key>
template <int L>
void PartialTrees<Key>::add_pairs(Position at, const Context<Key>& context, const TreeList<Key>& ones,
                                  const TreeList<Key>& zeros, Limbs<L> limbs, Limb* total) {
    const auto limit = budgets(at);
    std::vector<Limb> room(static_cast<std::size_t>(2 * limbs_));
    Limb *const ways = room.data(), *const trivial = ways + limbs_;
    for (Index i = 0; i < ones.size(); ++i) {
        limbs.clear(ways);
        for (Index j = 0; j < zeros.size(); ++j) {
            const Index slot = context.slots.find(ones.keys[i] + zeros.keys[j]);
            if (slot < 0 || !fit(ones, i, zeros, j, limit)) continue;
            const Limb* const weight = context.weights.data() + slot * limbs_;
            limbs.add_product(ways, weight, zeros.value(j), limbs_);
            if (const Index pairs = trivial_pairs(ones, i, zeros, j); pairs > 0) {
                // take back pairs · weight: add its complement
                limbs.scale(weight, limbs_, static_cast<Limb>(pairs), trivial);
                for (Index l = 0; l < limbs_; ++l) trivial[l] = ~trivial[l];
                limbs.add(trivial, Limb{1});
                limbs.add(total, trivial);
            }
        }
        limbs.add_product(total, ways, ones.value(i), limbs_);
    }
}

/// List the distinct features that may split a place.
template <class Key>
std::vector<Index> PartialTrees<Key>::splitting(Position at) {
    std::vector<Index> features;
    if (circuit_.levels.empty() || !circuit_.live[at.path] || at.end >= 0) return features;
    const Lattice& lattice = *circuit_.lattice;
    const Index level = level_of(at.path);
    if (level < lattice.levels) {
        const Path path = path_at(lattice, level, at.path - lattice.base[level]);
        for_each_child(lattice, path.features, level, path.signs, [&](Index f, const Children& child) {
            if (circuit_.live[child.one] && circuit_.live[child.zero]) features.push_back(f);
        });
    } else if (at.side < 0) {
        if (lattice.rest > 0)
            for (const Branch<Key>& branch : open(at.path)->branches) features.push_back(branch.feature);
    } else if (lattice.rest > 1) {
        for (const Index f : open(at.path)->pairs.features)
            if (f != at.side / 2) features.push_back(f);
    }
    return features;
}

template <class Key>
SplitCounts PartialTrees<Key>::split_counts(Position at, const Context<Key>& context) {
    SplitCounts found;
    for (const Index f : splitting(at)) {
        const TreeList<Key> ones = every(child(at, f, false)), zeros = every(child(at, f, true));
        std::vector<Limb> total(static_cast<std::size_t>(limbs_), 0);
        with_limbs<Key>(limbs_,
                        [&]<int L>(Limbs<L> limbs) { add_pairs(at, context, ones, zeros, limbs, total.data()); });
        if (!Limbs<0>{limbs_}.positive(total.data())) continue;
        found.features.push_back(f);
        found.counts.insert(found.counts.end(), total.begin(), total.end());
    }
    return found;
}

template <class Key>
Index PartialTrees<Key>::least_rank(const Context<Key>& context, const TreeList<Key>& trees) const {
    Index least = kNoRank;
    for (Index i = 0; i < trees.size(); ++i) {
        const Index slot = context.slots.find(trees.keys[i]);
        if (slot >= 0 && Limbs<0>{limbs_}.positive(trees.value(i))) least = std::min(least, context.ranks[slot]);
    }
    return least;
}

/// Tell whether two cells make up a tree: not if all their pairs are trivial splits that do not count.
template <class Key>
bool PartialTrees<Key>::any_pair(const TreeList<Key>& ones, Index i, const TreeList<Key>& zeros, Index j) const {
    const Limbs<0> limbs{limbs_};
    if (!limbs.positive(ones.value(i)) || !limbs.positive(zeros.value(j))) return false;
    const Index trivial = trivial_pairs(ones, i, zeros, j);
    if (trivial == 0) return true;
    std::vector<Limb> product(static_cast<std::size_t>(limbs_), 0);
    limbs.add_product(product.data(), ones.value(i), zeros.value(j), limbs_);
    limbs.subtract(product.data(), static_cast<Limb>(trivial));
    return limbs.positive(product.data());
}

template <class Key>
SplitRanks PartialTrees<Key>::split_ranks(Position at, const Context<Key>& context) {
    SplitRanks found{splitting(at), {}};
    if (found.features.empty()) return found;
    const auto limit = budgets(at);
    for (const Index f : found.features) {
        const TreeList<Key> ones = every(child(at, f, false)), zeros = every(child(at, f, true));
        Index least = kNoRank;
        for (Index i = 0; i < ones.size(); ++i)
            for (Index j = 0; j < zeros.size(); ++j) {
                const Index slot = context.slots.find(ones.keys[i] + zeros.keys[j]);
                if (slot < 0 || context.ranks[slot] >= least || !fit(ones, i, zeros, j, limit)) continue;
                if (any_pair(ones, i, zeros, j)) least = context.ranks[slot];
            }
        found.ranks.push_back(least);
    }
    return found;
}

template <class Key>
Position PartialTrees<Key>::child(Position at, Index feature, bool negative) const {
    const Lattice& lattice = *circuit_.lattice;
    const Index level = level_of(at.path), literal = 2 * feature + negative;
    if (level == lattice.levels) {
        if (at.side < 0) return {at.path, literal, -1};
        return {at.path, at.side, literal};
    }
    const Path path = path_at(lattice, level, at.path - lattice.base[level]);
    const auto [one, zero] = children(lattice, path.features, level, path.signs, feature);
    return {negative ? zero : one, -1, -1};
}

template class PartialTrees<Index>;
template class PartialTrees<WideKey>;

}  // namespace adtc

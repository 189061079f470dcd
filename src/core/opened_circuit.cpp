#include "opened_circuit.h"

#include "big.h"

namespace adtc {
namespace {

constexpr Index kKeptPairs = 8;  // below one feature; more are found again when they are needed

}  // namespace

/// Keys, found by hashing.
template <class Key>
struct OpenedCircuit<Key>::SlotTable {
    std::vector<Key> keys;
    std::vector<std::int32_t> slots;
    std::size_t last = 0;

    explicit SlotTable(std::span<const Key> wanted) {
        std::size_t size = 16;
        while (size < 4 * wanted.size()) size *= 2;
        last = size - 1;
        keys.assign(size, kNoKey<Key>);
        slots.assign(size, -1);
        for (std::size_t s = 0; s < wanted.size(); ++s) {
            std::size_t at = hash_of(wanted[s]) & last;
            while (slots[at] >= 0) at = (at + 1) & last;
            keys[at] = wanted[s];
            slots[at] = static_cast<std::int32_t>(s);
        }
    }
    std::int32_t find(Key key) const {
        std::size_t at = hash_of(key) & last;
        while (slots[at] >= 0 && keys[at] != key) at = (at + 1) & last;
        return slots[at];
    }
};

template <class Key>
OpenedCircuit<Key>::OpenedCircuit(CircuitView<Key> circuit, Index most_bytes)
    : circuit_(std::move(circuit)), lists_(most_bytes / 2), nodes_(most_bytes / 2), opener_(circuit_) {}

// --- opening paths -------------------------------------------------------------------------------

template <class Key>
Index OpenedCircuit<Key>::level_of(Index path) const {
    const auto base = circuit_.lattice->base;
    return std::upper_bound(base.begin(), base.end(), path) - base.begin() - 1;
}

template <class Key>
void OpenedCircuit<Key>::leaf_keys(Index path, std::vector<Key>& keys) const {
    const Leaves<Key>& leaves = circuit_.leaves;
    const auto counts = circuit_.counts.row(path), budgets = circuit_.budgets.row(path);
    keys.assign(static_cast<std::size_t>(leaves.labels()), kNoKey<Key>);
    if (path == 0 && !leaves.root_leaf) return;
    for_each_label(counts, leaves.rule, [&](Index label) {
        for (std::size_t d = 0; d < budgets.size(); ++d)
            if (leaves.cost(static_cast<Index>(d), label, counts) > budgets[d]) return;
        keys[label] = leaves.key(label, counts);
    });
}

template <class Key>
typename OpenedCircuit<Key>::NodePtr OpenedCircuit<Key>::node(Index level, Index number) {
    const Index id = circuit_.lattice->base[level] + number;
    if (NodePtr known = nodes_.find(id)) return known;
    const auto made = std::make_shared<Node<Key>>();
    made->path = path_at(*circuit_.lattice, level, number);
    made->id = id;
    made->limbs = limbs_of(level);
    made->counts = circuit_.counts.row(id);
    made->budgets = circuit_.budgets.row(id);
    if (level < circuit_.lattice->levels) {
        open_upper(*made, level);
        nodes_.insert(id, made, made->bytes());
    } else {
        opener_.open(*made);
        nodes_.insert(id, made, made->bytes() + (made->lists.empty() ? 0 : made->lists[0]->bytes()));
    }
    return made;
}

/// Collect the features that split a path above the last level, with both children.
template <class Key>
void OpenedCircuit<Key>::open_upper(Node<Key>& node, Index level) {
    const Lattice& lattice = *circuit_.lattice;
    for (Index f = 0; f < lattice.features; ++f) {
        if (node.path.has(f)) continue;
        const auto [one, zero] = children(lattice, node.path.features, level, node.path.signs, f);
        if (!circuit_.live[one] || !circuit_.live[zero]) continue;
        Branch<Key> branch;
        branch.feature = f;
        for (int s = 0; s < 2; ++s) {
            const Index id = s ? zero : one;
            branch.below[s] = id - lattice.base[level + 1];
            node.lists.push_back(list(level + 1, branch.below[s]));
            branch.cells[s] = (*node.lists.back())[0];
            leaf_keys(id, leaf_);
            node.leaf_keys.insert(node.leaf_keys.end(), leaf_.begin(), leaf_.end());
        }
        node.branches.push_back(branch);
    }
    node.connect(circuit_.leaves.labels(), circuit_.leaves.functionals());
}

/// Return the cells of a path by key.
template <class Key>
typename OpenedCircuit<Key>::ListPtr OpenedCircuit<Key>::list(Index level, Index number) {
    const Index id = circuit_.lattice->base[level] + number;
    if (ListPtr known = lists_.find(id)) return known;
    auto made = std::make_shared<const KeyLists<Key>>(sorted_by_key(circuit_.levels[level].tensor(number)));
    lists_.insert(id, made, made->bytes());
    return made;
}

// --- taking cells apart --------------------------------------------------------------------------

/// Count the pairs of two cells that are leaves of equal label, where those are left out.
template <class Key>
Index OpenedCircuit<Key>::trivial_pairs(const Branch<Key>& branch, Key key1, Key key0) const {
    if (circuit_.leaves.trivial_splits) return 0;
    Index found = 0;
    for (std::size_t l = 0; l < branch.leaf[0].size(); ++l)
        found += branch.leaf[0][l] == key1 && branch.leaf[1][l] == key0;
    return found;
}

template <class Key>
std::vector<std::pair<Index, Index>> OpenedCircuit<Key>::trivial_ranks(const Branch<Key>& branch, Key key1,
                                                                       Key key0) const {
    std::vector<std::pair<Index, Index>> found;
    if (circuit_.leaves.trivial_splits) return found;
    Index one = 0, zero = 0;
    for (std::size_t l = 0; l < branch.leaf[0].size(); ++l) {
        const bool is_one = branch.leaf[0][l] == key1, is_zero = branch.leaf[1][l] == key0;
        if (is_one && is_zero) found.emplace_back(one, zero);
        one += is_one;
        zero += is_zero;
    }
    return found;
}

template <class Key>
void OpenedCircuit<Key>::count_pair(const Node<Key>& node, const Branch<Key>& branch, Index i, Index j,
                                    Limb* count) const {
    const KeyList<Key>&ones = branch.cells[0], &zeros = branch.cells[1];
    const Limb names = static_cast<Limb>(circuit_.multiplicity[branch.feature]);
    if (node.limbs == 1 && circuit_.leaves.trivial_splits) {
        count[0] = ones.value(i)[0] * zeros.value(j)[0] * names;
        return;
    }
    const Limbs<0> limbs{node.limbs};
    limbs.clear(count);
    add_product(count, node.limbs, ones.value(i), zeros.value(j), ones.limbs);
    if (!circuit_.leaves.trivial_splits)
        limbs.subtract(count, static_cast<Limb>(trivial_pairs(branch, ones.key(i), zeros.key(j))));
    limbs.scale(count, node.limbs, names, count);
}

template <class Key>
void OpenedCircuit<Key>::add_pair(const Node<Key>& node, Index branch, Index i, Index j, Choices& choices) const {
    const std::size_t limbs = static_cast<std::size_t>(node.limbs), before = choices.until.size();
    choices.until.resize(before + limbs);
    Limb* const until = choices.until.data() + before;
    count_pair(node, node.branches[branch], i, j, until);
    if (before > 0) Limbs<0>{node.limbs}.add(until, until - limbs);
    choices.items.push_back(
        {static_cast<std::int32_t>(branch), static_cast<std::int32_t>(i), static_cast<std::int32_t>(j)});
}

/// Add all pairs below a feature as one item, where numbers lie by key and sums fit two limbs.
template <class Key>
void OpenedCircuit<Key>::add_dense(const Node<Key>& node, Index at, Key key, Choices& choices) const {
    const Branch<Key>& branch = node.branches[at];
    const KeyList<Key>&ones = branch.cells[0], &zeros = branch.cells[1];
    const Key apart = key - ones.base - zeros.base;
    const Index first = static_cast<Index>(std::max<Key>(0, apart - (zeros.size - 1)));
    const Index last = static_cast<Index>(std::min<Key>(ones.size - 1, apart));
    if (first > last) return;
    const Limb* const up = ones.values;
    const Limb* const down = zeros.values + static_cast<Index>(apart);
    TwoLimbs sum = 0;
    if (node.limbs == 1) {
        Limb low = 0;
        for (Index i = first; i <= last; ++i) low += up[i] * down[-i];
        sum = low;
    } else {
        for (Index i = first; i <= last; ++i) sum += static_cast<TwoLimbs>(up[i]) * down[-i];
    }
    if (!circuit_.leaves.trivial_splits)
        for (std::size_t l = 0; l < branch.leaf[0].size(); ++l)
            sum -= branch.leaf[0][l] != kNoKey<Key> && branch.leaf[1][l] != kNoKey<Key> &&
                   branch.leaf[0][l] + branch.leaf[1][l] == key;
    if (sum == 0) return;
    sum *= static_cast<Limb>(circuit_.multiplicity[branch.feature]);
    const std::size_t limbs = static_cast<std::size_t>(node.limbs), before = choices.until.size();
    choices.until.resize(before + limbs);
    Limb* const until = choices.until.data() + before;
    until[0] = static_cast<Limb>(sum);
    if (limbs > 1) until[1] = static_cast<Limb>(sum >> 64);
    if (before > 0) Limbs<0>{node.limbs}.add(until, until - limbs);
    choices.items.push_back({static_cast<std::int32_t>(at), -1, -1});
}

/// Match the two lists of a branch for each key by itself.
template <class Key>
void OpenedCircuit<Key>::match_each(const Node<Key>& node, Index branch, std::span<const Key> keys,
                                    std::vector<Choices>& made) const {
    const KeyList<Key>&ones = node.branches[branch].cells[0], &zeros = node.branches[branch].cells[1];
    const bool dense = node.limbs <= 2 && ones.is_dense() && zeros.is_dense();
    for (std::size_t s = 0; s < keys.size(); ++s) {
        if (dense)
            add_dense(node, branch, keys[s], made[s]);
        else
            for_each_pair(ones, zeros, keys[s], node.budgets, [&](Index i, Index j) {
                add_pair(node, branch, i, j, made[s]);
                return false;
            });
    }
}

/// Match them for all keys at once: look at all pairs.
template <class Key>
void OpenedCircuit<Key>::match_all(const Node<Key>& node, Index branch, const SlotTable& slots,
                                   std::vector<Choices>& made) const {
    const KeyList<Key>&ones = node.branches[branch].cells[0], &zeros = node.branches[branch].cells[1];
    for (Index i = 0; i < ones.size; ++i)
        for (Index j = 0; j < zeros.size; ++j) {
            const std::int32_t slot = slots.find(ones.keys[i] + zeros.keys[j]);
            if (slot >= 0 && fit_together(ones, i, zeros, j, node.budgets)) add_pair(node, branch, i, j, made[slot]);
        }
}

template <class Key>
void OpenedCircuit<Key>::take_apart(Node<Key>& node, std::span<const Key> keys) {
    std::vector<Choices> made(keys.size());
    for (Choices& choices : made) {
        choices.items.reserve(node.branches.size());
        choices.until.reserve(node.branches.size() * static_cast<std::size_t>(node.limbs));
    }
    std::vector<std::size_t> before(keys.size());
    std::unique_ptr<SlotTable> slots;
    const Index wanted = static_cast<Index>(keys.size());
    for (Index b = 0; b < static_cast<Index>(node.branches.size()); ++b) {
        const KeyList<Key>&ones = node.branches[b].cells[0], &zeros = node.branches[b].cells[1];
        for (std::size_t s = 0; s < keys.size(); ++s) before[s] = made[s].items.size();
        const bool sparse = !ones.is_dense() && !zeros.is_dense();
        if (sparse && 2 * ones.size * zeros.size < wanted * (ones.size + zeros.size)) {
            if (!slots) slots = std::make_unique<SlotTable>(keys);
            match_all(node, b, *slots, made);
        } else {
            match_each(node, b, keys, made);
        }
        for (std::size_t s = 0; s < keys.size(); ++s) {
            Choices& choices = made[s];
            if (choices.items.size() <= before[s] + kKeptPairs) continue;
            choices.items.resize(before[s] + 1);
            choices.items.back().one = choices.items.back().zero = -1;
            const auto first = choices.until.begin() + static_cast<std::ptrdiff_t>(before[s]) * node.limbs;
            choices.until.erase(first, choices.until.end() - node.limbs);
        }
    }
    Index bytes = 0;
    for (std::size_t s = 0; s < keys.size(); ++s) {
        bytes += made[s].bytes();
        node.choices.emplace(keys[s], std::move(made[s]));
    }
    nodes_.grow(node.id, bytes);
}

template <class Key>
const Choices& OpenedCircuit<Key>::choices(Node<Key>& node, Key key) {
    const auto known = node.choices.find(key);
    if (known != node.choices.end()) return known->second;
    take_apart(node, std::span(&key, 1));
    return node.choices.at(key);
}

template class OpenedCircuit<Index>;
template class OpenedCircuit<WideKey>;

}  // namespace adtc

#include "ranks.h"

#include <stdexcept>

#include "big.h"

namespace adtc {
namespace {

constexpr Index kKeptPairs = 8;  // below one feature; more are found again when they are needed

template <class Key>
std::vector<Index> labels_with(std::span<const Key> leaf, Key key) {
    std::vector<Index> labels;
    for (std::size_t l = 0; l < leaf.size(); ++l)
        if (leaf[l] == key) labels.push_back(static_cast<Index>(l));
    return labels;
}

/// Return the label of the n-th leaf with a key.
template <class Key>
Index nth_label(std::span<const Key> leaf, Key key, Limb n) {
    Index label = 0;
    while (leaf[label] != key || n-- > 0) ++label;
    return label;
}

[[noreturn]] void refuse() { throw std::out_of_range("the circuit holds no such tree"); }

}  // namespace

/// Trees to be found below the paths of one level.
template <class Key>
struct Cursor<Key>::Batch {
    struct Request {
        Index number;  ///< of the path within its level
        Key key;
        Index rank;  ///< where its limbs are
        Index out;   ///< where the subtree goes
    };
    Index limbs = 1;
    std::vector<Request> requests;
    std::vector<Limb> ranks;

    void add(Index number, Key key, const Limb* rank, Index out) {
        requests.push_back({number, key, static_cast<Index>(ranks.size()), out});
        ranks.insert(ranks.end(), rank, rank + limbs);
    }
    void clear(Index new_limbs) {
        limbs = new_limbs;
        requests.clear();
        ranks.clear();
    }
};

/// Trees as far as they are known: child 1 of the original feature first.
template <class Key>
struct Cursor<Key>::Grown {
    struct Part {
        Index code = 0;
        Index one = -1, zero = -1;
    };
    std::vector<Part> parts;

    Index add(Index code = 0) {
        parts.push_back({code, -1, -1});
        return static_cast<Index>(parts.size()) - 1;
    }
    /// Write a split: `one` and `zero` are the children of the distinct feature.
    void split(Index at, const Twins& twins, Index feature, Index twin, Index one, Index zero) {
        const Index name = twins.starts[feature] + twin;
        if (twins.flipped[name]) std::swap(one, zero);
        parts[at] = {twins.features[name], one, zero};
    }
    void write(Index root, std::vector<Index>& stack, Forest& forest) const {
        stack.assign(1, root);
        while (!stack.empty()) {
            const Part& part = parts[stack.back()];
            stack.pop_back();
            forest.codes.push_back(part.code);
            if (part.code < 0) continue;
            stack.push_back(part.zero);
            stack.push_back(part.one);
        }
        forest.starts.push_back(static_cast<Index>(forest.codes.size()));
    }
};

/// A split found by its number.
template <class Key>
struct Cursor<Key>::Found {
    const Branch<Key>* branch = nullptr;
    Index one = 0, zero = 0;  ///< places of the children's cells
    Index twin = 0;
    std::vector<Limb> rank1, rank0;
    std::vector<Limb> count;  ///< room
};

/// Keys, found by hashing.
template <class Key>
struct Cursor<Key>::SlotTable {
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
Cursor<Key>::Cursor(CircuitView<Key> circuit, Twins twins, Index most_bytes)
    : circuit_(std::move(circuit)), twins_(twins), lists_(most_bytes / 2), nodes_(most_bytes / 2), opener_(circuit_) {}

// --- opening paths -------------------------------------------------------------------------------

template <class Key>
Index Cursor<Key>::level_of(Index path) const {
    const auto base = circuit_.lattice->base;
    return std::upper_bound(base.begin(), base.end(), path) - base.begin() - 1;
}

/// Write the keys of a path's leaf by label; `kNoKey` where there is none within the budgets.
template <class Key>
void Cursor<Key>::leaf_keys(Index path, std::vector<Key>& keys) const {
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
typename Cursor<Key>::NodePtr Cursor<Key>::node(Index level, Index number) {
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
void Cursor<Key>::open_upper(Node<Key>& node, Index level) {
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
typename Cursor<Key>::ListPtr Cursor<Key>::list(Index level, Index number) {
    const Index id = circuit_.lattice->base[level] + number;
    if (ListPtr known = lists_.find(id)) return known;
    auto made = std::make_shared<const KeyLists<Key>>(sorted_by_key(circuit_.levels[level].tensor(number)));
    lists_.insert(id, made, made->bytes());
    return made;
}

// --- taking cells apart --------------------------------------------------------------------------

/// Count the pairs of two cells that are leaves of equal label, where those are left out.
template <class Key>
Index Cursor<Key>::trivial_pairs(const Branch<Key>& branch, Key key1, Key key0) const {
    if (circuit_.leaves.trivial_splits) return 0;
    Index found = 0;
    for (std::size_t l = 0; l < branch.leaf[0].size(); ++l)
        found += branch.leaf[0][l] == key1 && branch.leaf[1][l] == key0;
    return found;
}

/// List them, as numbers of the leaves within the two cells, ascending.
template <class Key>
std::vector<std::pair<Index, Index>> Cursor<Key>::trivial_ranks(const Branch<Key>& branch, Key key1, Key key0) const {
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

/// Count the trees of a pair of cells, with all names of the feature.
template <class Key>
void Cursor<Key>::count_pair(const Node<Key>& node, const Branch<Key>& branch, Index i, Index j, Limb* count) const {
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
void Cursor<Key>::add_pair(const Node<Key>& node, Index branch, Index i, Index j, Choices& choices) const {
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
void Cursor<Key>::add_dense(const Node<Key>& node, Index at, Key key, Choices& choices) const {
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
void Cursor<Key>::match_each(const Node<Key>& node, Index branch, std::span<const Key> keys,
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
void Cursor<Key>::match_all(const Node<Key>& node, Index branch, const SlotTable& slots,
                            std::vector<Choices>& made) const {
    const KeyList<Key>&ones = node.branches[branch].cells[0], &zeros = node.branches[branch].cells[1];
    for (Index i = 0; i < ones.size; ++i)
        for (Index j = 0; j < zeros.size; ++j) {
            const std::int32_t slot = slots.find(ones.keys[i] + zeros.keys[j]);
            if (slot >= 0 && fit_together(ones, i, zeros, j, node.budgets)) add_pair(node, branch, i, j, made[slot]);
        }
}

/// Find out how the cells of some keys, ascending, come about.
template <class Key>
void Cursor<Key>::take_apart(Node<Key>& node, std::span<const Key> keys) {
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
const Choices& Cursor<Key>::choices(Node<Key>& node, Key key) {
    const auto known = node.choices.find(key);
    if (known != node.choices.end()) return known->second;
    take_apart(node, std::span(&key, 1));
    return node.choices.at(key);
}

// --- from numbers to trees -----------------------------------------------------------------------

template <class Key>
Forest Cursor<Key>::unrank(std::span<const Key> keys, std::span<const Limb> ranks, const Control& control) {
    if (circuit_.levels.empty() && !keys.empty()) refuse();
    Grown grown;
    Batch here, next;
    here.clear(limbs());
    for (std::size_t t = 0; t < keys.size(); ++t)
        here.add(0, keys[t], ranks.data() + static_cast<Index>(t) * limbs(), grown.add());
    for (Index level = 0; level <= circuit_.lattice->levels && !here.requests.empty(); ++level) {
        next.clear(level < circuit_.lattice->levels ? limbs_of(level + 1) : 1);
        descend(level, here, next, grown, control);
        std::swap(here, next);
    }
    Forest forest;
    std::vector<Index> stack;
    for (std::size_t t = 0; t < keys.size(); ++t) grown.write(static_cast<Index>(t), stack, forest);
    return forest;
}

/// Part sorted requests by path. Those of the last level are ordered by literals, the largest feature
/// first, so that few rows are selected anew from one to the next.
template <class Key>
auto Cursor<Key>::groups_of(Index level, const Batch& batch) const {
    using Request = typename Batch::Request;
    struct Group {
        std::vector<Index> literals;
        std::span<const Request> requests;
    };
    const auto& requests = batch.requests;
    std::vector<Group> groups;
    for (std::size_t start = 0, stop; start < requests.size(); start = stop) {
        for (stop = start; stop < requests.size() && requests[stop].number == requests[start].number;) ++stop;
        groups.push_back({{}, {requests.data() + start, stop - start}});
        if (level < circuit_.lattice->levels) continue;
        const Path path = path_at(*circuit_.lattice, level, requests[start].number);
        for (Index i = level - 1; i >= 0; --i)
            groups.back().literals.push_back(2 * path.features[i] + (path.signs >> i & 1));
    }
    std::stable_sort(groups.begin(), groups.end(),
                     [](const Group& a, const Group& b) { return a.literals < b.literals; });
    std::vector<std::span<const Request>> found;
    for (const Group& group : groups) found.push_back(group.requests);
    return found;
}

/// Find the roots of some subtrees; their children, if they have paths of their own, are left for later.
template <class Key>
void Cursor<Key>::descend(Index level, Batch& here, Batch& next, Grown& grown, const Control& control) {
    using Request = typename Batch::Request;
    auto& requests = here.requests;
    std::sort(requests.begin(), requests.end(), [](const Request& a, const Request& b) {
        return a.number != b.number ? a.number < b.number : a.key < b.key;
    });
    const auto groups = groups_of(level, here);
    const Index base = circuit_.lattice->base[level];
    std::vector<Key> missing;
    std::vector<const Request*> splitting;
    Found found;
    for (const std::span<const Request> group : groups) {
        const Index number = group[0].number;
        leaf_keys(base + number, leaf_);
        // a cell's first trees are its leaves: nothing needs to be opened for those
        splitting.clear();
        for (const Request& request : group) {
            Limb* const rank = here.ranks.data() + request.rank;
            const bool small = std::all_of(rank + 1, rank + here.limbs, [](Limb limb) { return limb == 0; });
            const Limb count = static_cast<Limb>(std::count(leaf_.begin(), leaf_.end(), request.key));
            if (small && rank[0] < count) {
                grown.parts[request.out].code = -1 - nth_label<Key>(leaf_, request.key, rank[0]);
                continue;
            }
            Limbs<0>{here.limbs}.subtract(rank, count);
            splitting.push_back(&request);
        }
        if (splitting.empty()) continue;
        control.check();
        const NodePtr opened = node(level, number);
        missing.clear();
        for (const Request* request : splitting)
            if ((missing.empty() || missing.back() != request->key) && !opened->choices.contains(request->key))
                missing.push_back(request->key);
        if (!missing.empty()) take_apart(*opened, missing);
        for (const Request* request : splitting) {
            find(*opened, opened->choices.at(request->key), request->key, here.ranks.data() + request->rank, found);
            const Branch<Key>& branch = *found.branch;
            const Key keys[2] = {branch.cells[0].key(found.one), branch.cells[1].key(found.zero)};
            Index child[2];
            for (int s = 0; s < 2; ++s) {
                const std::vector<Limb>& rank = s ? found.rank0 : found.rank1;
                if (branch.below[s] >= 0) {
                    child[s] = grown.add();
                    next.add(branch.below[s], keys[s], rank.data(), child[s]);
                } else {
                    child[s] = unrank_side(*opened, branch, s, keys[s], rank[0], grown);
                }
            }
            grown.split(request->out, twins_, branch.feature, found.twin, child[0], child[1]);
        }
    }
}

/// Find a split by its number among those of a cell.
template <class Key>
void Cursor<Key>::find(const Node<Key>& node, const Choices& choices, Key key, const Limb* rank, Found& found) const {
    const Index limbs = node.limbs;
    const Limb* const until = choices.until.data();
    Index low = 0, high = static_cast<Index>(choices.items.size());
    while (low < high) {
        const Index middle = (low + high) / 2;
        if (is_below(rank, until + middle * limbs, limbs))
            high = middle;
        else
            low = middle + 1;
    }
    if (low == static_cast<Index>(choices.items.size())) refuse();
    const Choices::Item item = choices.items[low];
    found.branch = &node.branches[item.branch];
    found.one = item.one;
    found.zero = item.zero;
    found.rank1.assign(rank, rank + limbs);
    found.rank0.resize(static_cast<std::size_t>(limbs));
    Limb* const pair = found.rank1.data();
    if (low > 0) subtract(pair, until + (low - 1) * limbs, limbs);
    const KeyList<Key>&ones = found.branch->cells[0], &zeros = found.branch->cells[1];
    const Limb names = static_cast<Limb>(twins_.count(found.branch->feature));
    if (item.one < 0 && circuit_.leaves.trivial_splits && limbs <= 2 && ones.limbs == 1) {
        found.twin = static_cast<Index>(divide(pair, limbs, names));
        TwoLimbs left = limbs == 1 ? pair[0] : Limbs<2>::join(pair[0], pair[1]);
        for_each_pair(ones, zeros, key, node.budgets, [&](Index i, Index j) {
            found.one = i;
            found.zero = j;
            const TwoLimbs count = static_cast<TwoLimbs>(ones.values[i]) * zeros.values[j];
            if (left < count) return true;
            left -= count;
            return false;
        });
        // below the product of two limbs
        found.rank0.assign(static_cast<std::size_t>(limbs), 0);
        found.rank1.assign(static_cast<std::size_t>(limbs), 0);
        found.rank1[0] = static_cast<Limb>(left / zeros.values[found.zero]);
        found.rank0[0] = static_cast<Limb>(left % zeros.values[found.zero]);
        return;
    }
    if (item.one < 0) {
        found.count.resize(static_cast<std::size_t>(limbs));
        std::vector<Limb>& count = found.count;
        for_each_pair(ones, zeros, key, node.budgets, [&](Index i, Index j) {
            count_pair(node, *found.branch, i, j, count.data());
            found.one = i;
            found.zero = j;
            if (is_below(pair, count.data(), limbs)) return true;
            subtract(pair, count.data(), limbs);
            return false;
        });
    }
    found.twin = static_cast<Index>(divide(pair, limbs, names));
    const Limb* const count0 = zeros.value(found.zero);
    for (const auto& [one, zero] : trivial_ranks(*found.branch, ones.key(found.one), zeros.key(found.zero))) {
        std::vector<Limb> skipped(static_cast<std::size_t>(limbs));
        Limbs<0>{limbs}.scale(count0, zeros.limbs, static_cast<Limb>(one), skipped.data());
        Limbs<0>{limbs}.add(skipped.data(), static_cast<Limb>(zero));
        if (is_below(pair, skipped.data(), limbs)) break;
        Limbs<0>{limbs}.add(pair, Limb{1});
    }
    divide(pair, limbs, count0, zeros.limbs, found.rank0.data());
}

// --- below the last level ------------------------------------------------------------------------

/// Measure the leaves below the b-th active feature on one side of a branch.
template <class Key>
void Cursor<Key>::measure_stump(const Node<Key>& node, const Branch<Key>& branch, int s, Index b, Stump& stump) const {
    const Leaves<Key>& leaves = circuit_.leaves;
    const Index groups = leaves.groups(), a = branch.active;
    stump.part1.resize(static_cast<std::size_t>(groups));
    stump.part0.resize(static_cast<std::size_t>(groups));
    for (Index g = 0; g < groups; ++g) {
        const Index one = node.pairs.at(g, a, a), both = node.pairs.at(g, a, b);
        stump.part1[g] = s ? node.pairs.at(g, b, b) - both : both;
        stump.part0[g] = (s ? node.counts[g] - one : one) - stump.part1[g];
    }
    stump.exists =
        std::min(support_of(stump.part1, leaves.rule), support_of(stump.part0, leaves.rule)) >= leaves.rule.minsup;
    if (!stump.exists) return;
    stump.leaf1.measure(stump.part1, leaves);
    stump.leaf0.measure(stump.part0, leaves);
}

/// Call `use(b)` for the active features that may have pairs of leaves with a key together on one
/// side of a branch, with those pairs in `stump_`, until it returns true.
template <class Key>
template <class Use>
void Cursor<Key>::for_each_stump(const Node<Key>& node, const Branch<Key>& branch, int s, Key key, Use use) {
    const Leaves<Key>& leaves = circuit_.leaves;
    const Index width = node.pairs.width, labels = leaves.labels();
    if (circuit_.lattice->rest < 2) return;
    weighed_.weigh(node, branch.active, s, leaves);
    hits_.assign(static_cast<std::size_t>(width), 0);
    const Key rest = key - 2 * leaves.key_constant;
    for (Index p = 0; p < labels; ++p)
        for (Index q = 0; q < labels; ++q) {
            if (p == q && !leaves.trivial_splits) continue;
            // keys of the two parts: ones[p] and whole[q] − ones[q]
            const Key *const ones = weighed_.ones.data() + p * width, *const others = weighed_.ones.data() + q * width;
            const Key apart = rest - weighed_.whole[q];
            for (Index b = 0; b < width; ++b) hits_[b] |= ones[b] - others[b] == apart;
        }
    for (Index b = 0; b < width; ++b) {
        if (!hits_[b] || b == branch.active || !weighed_.splits(b, leaves.rule.minsup)) continue;
        match_stump(node, branch, s, b, key);
        if (use(b)) return;
    }
}

/// List the pairs of leaves below the b-th active feature that have a key together, in their order.
template <class Key>
void Cursor<Key>::match_stump(const Node<Key>& node, const Branch<Key>& branch, int s, Index b, Key key) {
    const Leaves<Key>& leaves = circuit_.leaves;
    const Index labels = leaves.labels(), width = node.pairs.width;
    const auto limit = branch.limit[s];
    const bool voted = !is_free(leaves.rule);
    if (voted) measure_stump(node, branch, s, b, stump_);
    stump_.pairs.clear();
    for (Index p = 0; p < labels; ++p)
        for (Index q = 0; q < labels; ++q) {
            const Key one = weighed_.ones[p * width + b] + leaves.key_constant;
            const Key zero = weighed_.whole[q] - weighed_.ones[q * width + b] + leaves.key_constant;
            if (one + zero != key || (p == q && !leaves.trivial_splits)) continue;
            bool fits = true;
            if (voted) fits = stump_.leaf1.key[p] != kNoKey<Key> && stump_.leaf0.key[q] != kNoKey<Key>;
            for (std::size_t d = 0; fits && d < limit.size(); ++d)
                fits = weighed_.cost(static_cast<Index>(d), p, q, b, leaves) <= limit[d];
            if (fits) stump_.pairs.push_back({one, p, q});
        }
    if (stump_.pairs.size() > 1) std::sort(stump_.pairs.begin(), stump_.pairs.end());
}

/// Find a tree of depth at most 1 on one side of a branch; return where it was put.
template <class Key>
Index Cursor<Key>::unrank_side(const Node<Key>& node, const Branch<Key>& branch, int s, Key key, Limb rank,
                               Grown& grown) {
    for (std::size_t l = 0; l < branch.leaf[s].size(); ++l)
        if (branch.leaf[s][l] == key && rank-- == 0) return grown.add(-1 - static_cast<Index>(l));
    Index at = -1;
    for_each_stump(node, branch, s, key, [&](Index b) {
        const Index feature = node.pairs.features[b];
        const Limb names = static_cast<Limb>(twins_.count(feature)), count = names * stump_.pairs.size();
        if (rank >= count) {
            rank -= count;
            return false;
        }
        const auto& pair = stump_.pairs[rank / names];
        at = grown.add();
        const Index one = grown.add(-1 - pair.label1), zero = grown.add(-1 - pair.label0);
        grown.split(at, twins_, feature, static_cast<Index>(rank % names), one, zero);
        return true;
    });
    if (at < 0) refuse();
    return at;
}

// --- from trees to numbers -----------------------------------------------------------------------

template <class Key>
std::vector<Limb> Cursor<Key>::rank(const MeasuredTree<Key>& tree) {
    if (circuit_.levels.empty()) refuse();
    std::size_t at = 0;
    return rank_below(tree, at, 0, 0);
}

/// Find the number of the subtree at `at` below a numbered path; `at` moves behind it.
template <class Key>
std::vector<Limb> Cursor<Key>::rank_below(const MeasuredTree<Key>& tree, std::size_t& at, Index level, Index number) {
    const Index id = circuit_.lattice->base[level] + number, code = tree.codes[at];
    const Key key = tree.keys[at];
    const Index twin = tree.twins[at++];
    leaf_keys(id, leaf_);
    const std::vector<Index> labels = labels_with<Key>(leaf_, key);
    std::vector<Limb> rank(static_cast<std::size_t>(limbs_of(level)));
    const Limbs<0> arithmetic{limbs_of(level)};
    if (code < 0) {
        const auto found = std::find(labels.begin(), labels.end(), -1 - code);
        if (found == labels.end()) refuse();
        rank[0] = static_cast<Limb>(found - labels.begin());
        return rank;
    }
    const NodePtr opened = node(level, number);
    const Branch<Key>& branch = opened->branch(code);
    const Choices& splits = choices(*opened, key);
    const Key key1 = tree.keys[at];
    arithmetic.add(rank.data(), static_cast<Limb>(labels.size()));
    Index zero = -1;
    for (std::size_t k = 0; k < splits.items.size(); ++k) {
        const Choices::Item item = splits.items[k];
        if (&opened->branches[item.branch] != &branch) continue;
        if (item.one >= 0 && branch.cells[0].key(item.one) != key1) continue;
        zero = item.zero;
        if (k > 0) arithmetic.add(rank.data(), splits.until.data() + static_cast<Index>(k - 1) * opened->limbs);
        break;
    }
    if (zero < 0) {
        std::vector<Limb> count(rank.size());
        for_each_pair(branch.cells[0], branch.cells[1], key, opened->budgets, [&](Index i, Index j) {
            if (branch.cells[0].key(i) == key1) {
                zero = j;
                return true;
            }
            count_pair(*opened, branch, i, j, count.data());
            arithmetic.add(rank.data(), count.data());
            return false;
        });
    }
    if (zero < 0) refuse();
    std::vector<Limb> child[2];
    for (int s = 0; s < 2; ++s) {
        if (branch.below[s] >= 0)
            child[s] = rank_below(tree, at, level + 1, branch.below[s]);
        else
            child[s] = {rank_side(tree, at, *opened, branch, s)};
    }
    const KeyList<Key>& zeros = branch.cells[1];
    const Index limbs = opened->limbs;
    std::vector<Limb> pair(rank.size()), skipped(rank.size());
    child[0].resize(static_cast<std::size_t>(zeros.limbs));
    add_product(pair.data(), limbs, child[0].data(), zeros.value(zero), zeros.limbs);
    child[1].resize(rank.size());
    arithmetic.add(pair.data(), child[1].data());
    Limb trivial = 0;
    for (const auto& [r1, r0] : trivial_ranks(branch, key1, zeros.key(zero))) {
        arithmetic.scale(zeros.value(zero), zeros.limbs, static_cast<Limb>(r1), skipped.data());
        arithmetic.add(skipped.data(), static_cast<Limb>(r0));
        trivial += is_below(skipped.data(), pair.data(), limbs);
    }
    arithmetic.subtract(pair.data(), trivial);
    arithmetic.scale(pair.data(), limbs, static_cast<Limb>(twins_.count(code)), pair.data());
    arithmetic.add(pair.data(), static_cast<Limb>(twin));
    arithmetic.add(rank.data(), pair.data());
    return rank;
}

template <class Key>
Limb Cursor<Key>::rank_side(const MeasuredTree<Key>& tree, std::size_t& at, const Node<Key>& node,
                            const Branch<Key>& branch, int s) {
    const Index code = tree.codes[at];
    const Key key = tree.keys[at];
    const Index twin = tree.twins[at++];
    const std::vector<Index> labels = labels_with<Key>(branch.leaf[s], key);
    if (code < 0) {
        const auto found = std::find(labels.begin(), labels.end(), -1 - code);
        if (found == labels.end()) refuse();
        return static_cast<Limb>(found - labels.begin());
    }
    const Index label1 = -1 - tree.codes[at], label0 = -1 - tree.codes[at + 1];
    at += 2;
    Limb rank = labels.size();
    bool found = false;
    for_each_stump(node, branch, s, key, [&](Index b) {
        const Limb names = static_cast<Limb>(twins_.count(node.pairs.features[b]));
        if (node.pairs.features[b] != code) {
            rank += names * stump_.pairs.size();
            return false;
        }
        for (std::size_t k = 0; k < stump_.pairs.size() && !found; ++k) {
            found = stump_.pairs[k].label1 == label1 && stump_.pairs[k].label0 == label0;
            if (found) rank += k * names + static_cast<Limb>(twin);
        }
        return true;
    });
    if (!found) refuse();
    return rank;
}

// --- one step at a time --------------------------------------------------------------------------

template <class Key>
std::vector<Index> Cursor<Key>::labels(Position at, Key key) {
    if (at.side < 0) {
        leaf_keys(at.path, leaf_);
        return labels_with<Key>(leaf_, key);
    }
    const Index level = level_of(at.path);
    const NodePtr opened = node(level, at.path - circuit_.lattice->base[level]);
    const Branch<Key>& branch = opened->branch(at.side / 2);
    const int s = static_cast<int>(at.side % 2);
    if (at.end < 0) return labels_with<Key>(branch.leaf[s], key);
    const auto& features = opened->pairs.features;
    const Index b = std::lower_bound(features.begin(), features.end(), at.end / 2) - features.begin();
    measure_stump(*opened, branch, s, b, stump_);
    if (!stump_.exists) return {};
    return labels_with<Key>(at.end % 2 ? stump_.leaf0.key : stump_.leaf1.key, key);
}

template <class Key>
Splits<Key> Cursor<Key>::splits(Position at, Key key) {
    Splits<Key> found;
    if (at.end >= 0) return found;
    const Index level = level_of(at.path);
    const NodePtr opened = node(level, at.path - circuit_.lattice->base[level]);
    const auto add = [&](Index feature, Key key1, const Limb* count1, Key key0, const Limb* count0, Index limbs) {
        found.features.push_back(feature);
        found.keys1.push_back(key1);
        found.keys0.push_back(key0);
        found.counts1.insert(found.counts1.end(), count1, count1 + limbs);
        found.counts0.insert(found.counts0.end(), count0, count0 + limbs);
        found.limbs = limbs;
    };
    if (at.side < 0) {
        for (const Branch<Key>& branch : opened->branches) {
            const KeyList<Key>&ones = branch.cells[0], &zeros = branch.cells[1];
            for_each_pair(ones, zeros, key, opened->budgets, [&](Index i, Index j) {
                add(branch.feature, ones.key(i), ones.value(i), zeros.key(j), zeros.value(j), ones.limbs);
                return false;
            });
        }
        return found;
    }
    const Branch<Key>& branch = opened->branch(at.side / 2);
    const int s = static_cast<int>(at.side % 2);
    for_each_stump(*opened, branch, s, key, [&](Index b) {
        measure_stump(*opened, branch, s, b, stump_);
        for (std::size_t k = 0; k < stump_.pairs.size(); ++k) {
            const Key key1 = stump_.pairs[k].key1;
            if (k > 0 && stump_.pairs[k - 1].key1 == key1) continue;
            const Limb count1 = static_cast<Limb>(std::count(stump_.leaf1.key.begin(), stump_.leaf1.key.end(), key1));
            const Limb count0 =
                static_cast<Limb>(std::count(stump_.leaf0.key.begin(), stump_.leaf0.key.end(), key - key1));
            add(opened->pairs.features[b], key1, &count1, key - key1, &count0, 1);
        }
        return false;
    });
    return found;
}

template <class Key>
Position Cursor<Key>::child(Position at, Index feature, bool negative) {
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

template class Cursor<Index>;
template class Cursor<WideKey>;

}  // namespace adtc

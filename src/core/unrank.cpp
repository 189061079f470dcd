#include "unrank.h"

#include "big.h"

namespace adtc {
namespace {

/// Return the label of the n-th leaf with a key.
template <class Key>
Index nth_label(std::span<const Key> leaf, Key key, Limb n) {
    Index label = 0;
    while (leaf[label] != key || n-- > 0) ++label;
    return label;
}

}  // namespace

/// Trees to be found below the paths of one level.
template <class Key>
struct Unranker<Key>::Batch {
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
struct Unranker<Key>::Grown {
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
struct Unranker<Key>::Found {
    const Branch<Key>* branch = nullptr;
    Index one = 0, zero = 0;  ///< places of the children's cells
    Index twin = 0;
    std::vector<Limb> rank1, rank0;
    std::vector<Limb> count;  ///< scratch
};

template <class Key>
Forest Unranker<Key>::run(std::span<const Key> keys, std::span<const Limb> ranks, const Control& control) {
    if (opened_.empty() && !keys.empty()) refuse_tree();
    Grown grown;
    Batch here, next;
    const Index limbs = opened_.limbs_of(0);
    here.clear(limbs);
    for (std::size_t t = 0; t < keys.size(); ++t)
        here.add(0, keys[t], ranks.data() + static_cast<Index>(t) * limbs, grown.add());
    for (Index level = 0; level <= opened_.lattice().levels && !here.requests.empty(); ++level) {
        next.clear(level < opened_.lattice().levels ? opened_.limbs_of(level + 1) : 1);
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
auto Unranker<Key>::groups_of(Index level, const Batch& batch) const {
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
        if (level < opened_.lattice().levels) continue;
        const Path path = path_at(opened_.lattice(), level, requests[start].number);
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
void Unranker<Key>::descend(Index level, Batch& here, Batch& next, Grown& grown, const Control& control) {
    using Request = typename Batch::Request;
    auto& requests = here.requests;
    std::sort(requests.begin(), requests.end(), [](const Request& a, const Request& b) {
        return a.number != b.number ? a.number < b.number : a.key < b.key;
    });
    const auto groups = groups_of(level, here);
    const Index base = opened_.lattice().base[level];
    std::vector<Key> missing;
    std::vector<const Request*> splitting;
    Found found;
    for (const std::span<const Request> group : groups) {
        const Index number = group[0].number;
        opened_.leaf_keys(base + number, leaf_);
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
        const auto opened = opened_.node(level, number);
        missing.clear();
        for (const Request* request : splitting)
            if ((missing.empty() || missing.back() != request->key) && !opened->choices.contains(request->key))
                missing.push_back(request->key);
        if (!missing.empty()) opened_.take_apart(*opened, missing);
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
void Unranker<Key>::find(const Node<Key>& node, const Choices& choices, Key key, const Limb* rank, Found& found) const {
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
    if (low == static_cast<Index>(choices.items.size())) refuse_tree();
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
    if (item.one < 0 && opened_.circuit().leaves.trivial_splits && limbs <= 2 && ones.limbs == 1) {
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
            opened_.count_pair(node, *found.branch, i, j, count.data());
            found.one = i;
            found.zero = j;
            if (is_below(pair, count.data(), limbs)) return true;
            subtract(pair, count.data(), limbs);
            return false;
        });
    }
    found.twin = static_cast<Index>(divide(pair, limbs, names));
    const Limb* const count0 = zeros.value(found.zero);
    for (const auto& [one, zero] : opened_.trivial_ranks(*found.branch, ones.key(found.one), zeros.key(found.zero))) {
        std::vector<Limb> skipped(static_cast<std::size_t>(limbs));
        Limbs<0>{limbs}.scale(count0, zeros.limbs, static_cast<Limb>(one), skipped.data());
        Limbs<0>{limbs}.add(skipped.data(), static_cast<Limb>(zero));
        if (is_below(pair, skipped.data(), limbs)) break;
        Limbs<0>{limbs}.add(pair, Limb{1});
    }
    divide(pair, limbs, count0, zeros.limbs, found.rank0.data());
}

/// Find a tree of depth at most 1 on one side of a branch; return where it was put.
template <class Key>
Index Unranker<Key>::unrank_side(const Node<Key>& node, const Branch<Key>& branch, int s, Key key, Limb rank,
                                 Grown& grown) {
    for (std::size_t l = 0; l < branch.leaf[s].size(); ++l)
        if (branch.leaf[s][l] == key && rank-- == 0) return grown.add(-1 - static_cast<Index>(l));
    Index at = -1;
    stumps_.for_each(node, branch, s, key, [&](Index b, const Stump<Key>& stump) {
        const Index feature = node.pairs.features[b];
        const Limb names = static_cast<Limb>(twins_.count(feature)), count = names * stump.pairs.size();
        if (rank >= count) {
            rank -= count;
            return false;
        }
        const auto& pair = stump.pairs[rank / names];
        at = grown.add();
        const Index one = grown.add(-1 - pair.label1), zero = grown.add(-1 - pair.label0);
        grown.split(at, twins_, feature, static_cast<Index>(rank % names), one, zero);
        return true;
    });
    if (at < 0) refuse_tree();
    return at;
}

template class Unranker<Index>;
template class Unranker<WideKey>;

}  // namespace adtc

#include "ranks.h"

#include "big.h"
#include "unrank.h"

namespace adtc {
namespace {

template <class Key>
std::vector<Index> labels_with(std::span<const Key> leaf, Key key) {
    std::vector<Index> labels;
    for (std::size_t l = 0; l < leaf.size(); ++l)
        if (leaf[l] == key) labels.push_back(static_cast<Index>(l));
    return labels;
}

}  // namespace

template <class Key>
Cursor<Key>::Cursor(CircuitView<Key> circuit, Twins twins, Index most_bytes)
    : opened_(std::move(circuit), most_bytes), twins_(twins), stumps_(opened_.circuit()) {}

template <class Key>
Forest Cursor<Key>::unrank(std::span<const Key> keys, std::span<const Limb> ranks, const Control& control) {
    return Unranker<Key>(opened_, stumps_, twins_).run(keys, ranks, control);
}

// --- from trees to numbers -----------------------------------------------------------------------

template <class Key>
std::vector<Limb> Cursor<Key>::rank(const MeasuredTree<Key>& tree) {
    if (opened_.empty()) refuse_tree();
    std::size_t at = 0;
    return rank_below(tree, at, 0, 0);
}

/// Find the number of the subtree at `at` below a numbered path; `at` moves behind it.
template <class Key>
std::vector<Limb> Cursor<Key>::rank_below(const MeasuredTree<Key>& tree, std::size_t& at, Index level, Index number) {
    const Index id = opened_.lattice().base[level] + number, code = tree.codes[at];
    const Key key = tree.keys[at];
    const Index twin = tree.twins[at++];
    opened_.leaf_keys(id, leaf_);
    const std::vector<Index> labels = labels_with<Key>(leaf_, key);
    std::vector<Limb> rank(static_cast<std::size_t>(opened_.limbs_of(level)));
    const Limbs<0> arithmetic{opened_.limbs_of(level)};
    if (code < 0) {
        const auto found = std::find(labels.begin(), labels.end(), -1 - code);
        if (found == labels.end()) refuse_tree();
        rank[0] = static_cast<Limb>(found - labels.begin());
        return rank;
    }
    const auto opened = opened_.node(level, number);
    const Branch<Key>& branch = opened->branch(code);
    const Choices& splits = opened_.choices(*opened, key);
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
            opened_.count_pair(*opened, branch, i, j, count.data());
            arithmetic.add(rank.data(), count.data());
            return false;
        });
    }
    if (zero < 0) refuse_tree();
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
    for (const auto& [r1, r0] : opened_.trivial_ranks(branch, key1, zeros.key(zero))) {
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
        if (found == labels.end()) refuse_tree();
        return static_cast<Limb>(found - labels.begin());
    }
    const Index label1 = -1 - tree.codes[at], label0 = -1 - tree.codes[at + 1];
    at += 2;
    Limb rank = labels.size();
    bool found = false;
    stumps_.for_each(node, branch, s, key, [&](Index b, const Stump<Key>& stump) {
        const Limb names = static_cast<Limb>(twins_.count(node.pairs.features[b]));
        if (node.pairs.features[b] != code) {
            rank += names * stump.pairs.size();
            return false;
        }
        for (std::size_t k = 0; k < stump.pairs.size() && !found; ++k) {
            found = stump.pairs[k].label1 == label1 && stump.pairs[k].label0 == label0;
            if (found) rank += k * names + static_cast<Limb>(twin);
        }
        return true;
    });
    if (!found) refuse_tree();
    return rank;
}

// --- one step at a time --------------------------------------------------------------------------

template <class Key>
std::vector<Index> Cursor<Key>::labels(Position at, Key key) {
    if (at.side < 0) {
        opened_.leaf_keys(at.path, leaf_);
        return labels_with<Key>(leaf_, key);
    }
    const Index level = opened_.level_of(at.path);
    const auto opened = opened_.node(level, at.path - opened_.lattice().base[level]);
    const Branch<Key>& branch = opened->branch(at.side / 2);
    const int s = static_cast<int>(at.side % 2);
    if (at.end < 0) return labels_with<Key>(branch.leaf[s], key);
    const auto& features = opened->pairs.features;
    const Index b = std::lower_bound(features.begin(), features.end(), at.end / 2) - features.begin();
    const Stump<Key>& stump = stumps_.measure(*opened, branch, s, b);
    if (!stump.exists) return {};
    return labels_with<Key>(at.end % 2 ? stump.leaf0.key : stump.leaf1.key, key);
}

template <class Key>
Splits<Key> Cursor<Key>::splits(Position at, Key key) {
    Splits<Key> found;
    if (at.end >= 0) return found;
    const Index level = opened_.level_of(at.path);
    const auto opened = opened_.node(level, at.path - opened_.lattice().base[level]);
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
    stumps_.for_each(*opened, branch, s, key, [&](Index b, const Stump<Key>& stump) {
        stumps_.measure(*opened, branch, s, b);
        for (std::size_t k = 0; k < stump.pairs.size(); ++k) {
            const Key key1 = stump.pairs[k].key1;
            if (k > 0 && stump.pairs[k - 1].key1 == key1) continue;
            const Limb count1 = static_cast<Limb>(std::count(stump.leaf1.key.begin(), stump.leaf1.key.end(), key1));
            const Limb count0 =
                static_cast<Limb>(std::count(stump.leaf0.key.begin(), stump.leaf0.key.end(), key - key1));
            add(opened->pairs.features[b], key1, &count1, key - key1, &count0, 1);
        }
        return false;
    });
    return found;
}

template <class Key>
Position Cursor<Key>::child(Position at, Index feature, bool negative) {
    const Lattice& lattice = opened_.lattice();
    const Index level = opened_.level_of(at.path), literal = 2 * feature + negative;
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

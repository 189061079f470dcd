// Trees that begin like a given partial tree: tensors along its fixed splits alone, and how many good
// trees go on with each test or label at a place that is still open.
//
// A list holds the trees that may stand at a place. A context says, for each key there, how many ways
// the rest of a good tree has, and, where good keys are ranked, the least rank among these. Numbers are
// modulo 2^(64 · limbs), with limbs enough for all trees of the circuit, so every number of good trees
// comes out exactly.
#pragma once

#include <limits>
#include <memory>
#include <unordered_map>
#include <vector>

#include "key_slots.h"
#include "opened.h"
#include "ranks.h"

namespace adtc {

template <class Key>
struct TreeList {
    Index limbs = 1;
    Index functionals = 0;
    std::vector<Key> keys;
    std::vector<Limb> values;           ///< [cell][limb]
    std::vector<Index> costs;           ///< [cell][functional]; none at the root
    std::vector<std::uint64_t> labels;  ///< [cell]: a bit for each label of a single leaf in it

    Index size() const { return static_cast<Index>(keys.size()); }
    const Limb* value(Index at) const { return values.data() + at * limbs; }
    const Index* cost(Index at) const { return costs.data() + at * functionals; }
};

/// The rank where there is no good tree, or none with a rank.
constexpr Index kNoRank = std::numeric_limits<Index>::max();

template <class Key>
struct Context {
    std::vector<Limb> weights;  ///< [key][limb]
    std::vector<Index> ranks;   ///< [key]: the least one of a good tree, or `kNoRank`; empty if keys are not ranked
    KeySlots<Key> slots;
};

/// How many good trees test a feature at a place.
struct SplitCounts {
    std::vector<Index> features;  ///< distinct ones that split the place
    std::vector<Limb> counts;     ///< [feature][limb]: for one of the user's features behind it
};

/// The least rank of a good tree that tests a feature at a place.
struct SplitRanks {
    std::vector<Index> features;  ///< distinct ones that split the place
    std::vector<Index> ranks;     ///< [feature]
};

/// Not for several threads at once.
template <class Key>
class PartialTrees {
public:
    PartialTrees(const CircuitView<Key>& circuit, Index limbs) : circuit_(circuit), limbs_(limbs), opener_(circuit) {}

    /// List all trees at a place; none where no good tree passes.
    TreeList<Key> every(Position at);
    /// List the leaf with a label.
    TreeList<Key> leaf(Position at, Index label);
    /// List the trees at a place with these children.
    TreeList<Key> join(Position at, const TreeList<Key>& ones, const TreeList<Key>& zeros);

    /// The context of the root: one way for each good key. Ranks are one for each of them, or none.
    Context<Key> root(std::span<const Key> good, std::span<const Index> ranks) const;
    /// The context of a child's splits, from that of its parent at a place and its sibling's trees.
    Context<Key> below(Position at, const Context<Key>& context, const TreeList<Key>& child,
                       const TreeList<Key>& sibling);

    /// Count the good trees with one of the listed trees in their context.
    std::vector<Limb> count(const Context<Key>& context, const TreeList<Key>& trees) const;
    SplitCounts split_counts(Position at, const Context<Key>& context);
    /// Find the least rank of a good tree with one of the listed trees in its context.
    Index least_rank(const Context<Key>& context, const TreeList<Key>& trees) const;
    SplitRanks split_ranks(Position at, const Context<Key>& context);

    Position child(Position at, Index feature, bool negative) const;
    /// Write the rows at a place by group.
    std::vector<Index> rows(Position at);
    Index limbs() const { return limbs_; }

private:
    using NodePtr = std::shared_ptr<const Node<Key>>;

    Index level_of(Index path) const;
    NodePtr open(Index path);
    const Branch<Key>* branch_of(const Node<Key>& node, Index feature) const;
    std::span<const Index> budgets(Position at);
    void add_leaf(TreeList<Key>& list, std::span<const Index> counts, std::span<const Index> budgets,
                  Index label) const;
    void add_leaves(TreeList<Key>& list, std::span<const Index> counts, std::span<const Index> budgets) const;
    template <int L>
    void add_pairs(Position at, const Context<Key>& context, const TreeList<Key>& ones, const TreeList<Key>& zeros,
                   Limbs<L> arithmetic, Limb* total);
    Index trivial_pairs(const TreeList<Key>& ones, Index i, const TreeList<Key>& zeros, Index j) const;
    bool any_pair(const TreeList<Key>& ones, Index i, const TreeList<Key>& zeros, Index j) const;
    std::vector<Index> splitting(Position at);

    const CircuitView<Key>& circuit_;
    Index limbs_;
    LastOpener<Key> opener_;
    std::unordered_map<Index, NodePtr> nodes_;
};

}  // namespace adtc

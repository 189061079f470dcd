// Walks down a circuit: every tree has a number within its cell, and every number a tree.
//
// The order within a cell, at the root and at every subtree alike: leaves by label, then splits by
// feature, by the key of child 1, by the number of child 1 within its cell, by that of child 0, and
// last by which of the equal or complementary features is written. Child 1 is the side where the
// distinct feature is 1.
//
// Many numbers are looked up together, level by level: each path that trees pass is opened once, and
// each of its cells is taken apart once. What was opened is cached.
#pragma once

#include "cache.h"
#include "control.h"
#include "opened.h"

namespace adtc {

/// The original features behind each distinct one, in the order in which trees are numbered.
struct Twins {
    std::span<const Index> starts;    ///< [feature + 1]
    std::span<const Index> features;  ///< [twin]: the original feature
    std::span<const bool> flipped;    ///< [twin]: it is the complement, so its children change sides

    Index count(Index feature) const { return starts[feature + 1] - starts[feature]; }
};

/// Trees, each in preorder, child 1 first: an original feature, or −1 − label for a leaf.
struct Forest {
    std::vector<Index> starts{0};  ///< [tree + 1]
    std::vector<Index> codes;
};

/// A tree whose parts have been measured, in preorder, child 1 of the distinct feature first.
template <class Key>
struct MeasuredTree {
    std::span<const Index> codes;  ///< a distinct feature, or −1 − label
    std::span<const Index> twins;  ///< which of its original features is written
    std::span<const Key> keys;     ///< of the subtrees
};

/// Where one stands in a circuit: at a numbered path, or up to two literals below one of the last
/// level. A literal is 2 · feature + (1 if negative), −1 if there is none.
struct Position {
    Index path = 0;
    Index side = -1;
    Index end = -1;
};

/// The splits of a cell, by feature and then by the key of child 1; trivial ones are not left out.
template <class Key>
struct Splits {
    std::vector<Index> features;
    std::vector<Key> keys1, keys0;
    std::vector<Limb> counts1, counts0;  ///< [split][limb]: trees of the children's cells
    Index limbs = 1;
};

/// Finds trees by number and numbers of trees. Not for several threads at once.
template <class Key>
class Cursor {
public:
    /// `most_bytes`: what opened paths may hold.
    Cursor(CircuitView<Key> circuit, Twins twins, Index most_bytes);

    /// Return how many limbs the numbers of the root's cells have.
    Index limbs() const { return limbs_of(0); }
    Index bytes() const { return lists_.bytes() + nodes_.bytes(); }

    /// Find the trees with numbers within the cells of keys. Ranks are [tree][limb], `limbs()` each,
    /// and below the number of trees of their cells; else `std::out_of_range`.
    Forest unrank(std::span<const Key> keys, std::span<const Limb> ranks, const Control& control);

    /// Find the number of a tree within its cell; `std::out_of_range` if it is not in the circuit.
    std::vector<Limb> rank(const MeasuredTree<Key>& tree);

    std::vector<Index> labels(Position at, Key key);
    Splits<Key> splits(Position at, Key key);
    Position child(Position at, Index feature, bool negative);

private:
    struct Batch;
    struct Grown;
    struct Found;
    struct SlotTable;
    /// The leaves below a feature on one side of another, and pairs of them.
    struct Stump {
        struct Pair {
            Key key1;
            Index label1, label0;
            auto operator<=>(const Pair&) const = default;
        };
        std::vector<Index> part1, part0;
        MeasuredLeaf<Key> leaf1, leaf0;
        bool exists = false;
        std::vector<Pair> pairs;  ///< by key of child 1, then by label
    };
    using NodePtr = std::shared_ptr<Node<Key>>;
    using ListPtr = std::shared_ptr<const KeyLists<Key>>;

    Index limbs_of(Index level) const { return circuit_.levels.empty() ? 1 : circuit_.levels[level].cells.limbs; }
    Index level_of(Index path) const;
    void leaf_keys(Index path, std::vector<Key>& keys) const;

    NodePtr node(Index level, Index number);
    void open_upper(Node<Key>& node, Index level);
    ListPtr list(Index level, Index number);

    const Choices& choices(Node<Key>& node, Key key);
    void take_apart(Node<Key>& node, std::span<const Key> keys);
    void match_each(const Node<Key>& node, Index branch, std::span<const Key> keys, std::vector<Choices>& made) const;
    void match_all(const Node<Key>& node, Index branch, const SlotTable& slots, std::vector<Choices>& made) const;
    void add_pair(const Node<Key>& node, Index branch, Index i, Index j, Choices& choices) const;
    void add_dense(const Node<Key>& node, Index branch, Key key, Choices& choices) const;
    void count_pair(const Node<Key>& node, const Branch<Key>& branch, Index i, Index j, Limb* count) const;
    Index trivial_pairs(const Branch<Key>& branch, Key key1, Key key0) const;
    std::vector<std::pair<Index, Index>> trivial_ranks(const Branch<Key>& branch, Key key1, Key key0) const;

    auto groups_of(Index level, const Batch& batch) const;
    void descend(Index level, Batch& here, Batch& next, Grown& grown, const Control& control);
    void find(const Node<Key>& node, const Choices& choices, Key key, const Limb* rank, Found& found) const;
    Index unrank_side(const Node<Key>& node, const Branch<Key>& branch, int s, Key key, Limb rank, Grown& grown);

    void measure_stump(const Node<Key>& node, const Branch<Key>& branch, int s, Index b, Stump& stump) const;
    template <class Use>
    void for_each_stump(const Node<Key>& node, const Branch<Key>& branch, int s, Key key, Use use);
    void match_stump(const Node<Key>& node, const Branch<Key>& branch, int s, Index b, Key key);

    std::vector<Limb> rank_below(const MeasuredTree<Key>& tree, std::size_t& at, Index level, Index number);
    Limb rank_side(const MeasuredTree<Key>& tree, std::size_t& at, const Node<Key>& node, const Branch<Key>& branch,
                   int s);

    CircuitView<Key> circuit_;
    Twins twins_;
    Cache<const KeyLists<Key>> lists_;
    Cache<Node<Key>> nodes_;
    LastOpener<Key> opener_;

    // room
    std::vector<Key> leaf_;
    WeighedSide<Key> weighed_;
    std::vector<char> hits_;
    Stump stump_;
};

}  // namespace adtc

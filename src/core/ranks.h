// Walks down a circuit: every tree has a number within its cell, and every number a tree.
//
// The order within a cell, at the root and at every subtree alike: leaves by label, then splits by
// feature, by the key of child 1, by the number of child 1 within its cell, by that of child 0, and
// last by which of the equal or complementary features is written. Child 1 is the side where the
// distinct feature is 1.
#pragma once

#include "control.h"
#include "forest.h"
#include "opened_circuit.h"
#include "side_stumps.h"

namespace adtc {

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
    Index limbs() const { return opened_.limbs_of(0); }
    Index bytes() const { return opened_.bytes(); }

    /// Find the trees with numbers within the cells of keys. Ranks are [tree][limb], `limbs()` each,
    /// and below the number of trees of their cells; else `std::out_of_range`.
    Forest unrank(std::span<const Key> keys, std::span<const Limb> ranks, const Control& control);

    /// Find the number of a tree within its cell; `std::out_of_range` if it is not in the circuit.
    std::vector<Limb> rank(const MeasuredTree<Key>& tree);

    std::vector<Index> labels(Position at, Key key);
    Splits<Key> splits(Position at, Key key);
    Position child(Position at, Index feature, bool negative);

private:
    std::vector<Limb> rank_below(const MeasuredTree<Key>& tree, std::size_t& at, Index level, Index number);
    Limb rank_side(const MeasuredTree<Key>& tree, std::size_t& at, const Node<Key>& node, const Branch<Key>& branch,
                   int s);

    OpenedCircuit<Key> opened_;
    Twins twins_;
    SideStumps<Key> stumps_;
    std::vector<Key> leaf_;  // scratch
};

}  // namespace adtc

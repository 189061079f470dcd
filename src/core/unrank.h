// From numbers to trees. Many are looked up together, level by level: each path that trees pass is opened
// once, and each of its cells is taken apart once.
#pragma once

#include "control.h"
#include "forest.h"
#include "opened_circuit.h"
#include "side_stumps.h"

namespace adtc {

template <class Key>
class Unranker {
public:
    Unranker(OpenedCircuit<Key>& opened, SideStumps<Key>& stumps, const Twins& twins)
        : opened_(opened), stumps_(stumps), twins_(twins) {}

    /// Find the trees with numbers within the cells of keys: see `Cursor::unrank`.
    Forest run(std::span<const Key> keys, std::span<const Limb> ranks, const Control& control);

private:
    struct Batch;
    struct Grown;
    struct Found;

    auto groups_of(Index level, const Batch& batch) const;
    void descend(Index level, Batch& here, Batch& next, Grown& grown, const Control& control);
    void find(const Node<Key>& node, const Choices& choices, Key key, const Limb* rank, Found& found) const;
    Index unrank_side(const Node<Key>& node, const Branch<Key>& branch, int s, Key key, Limb rank, Grown& grown);

    OpenedCircuit<Key>& opened_;
    SideStumps<Key>& stumps_;
    const Twins& twins_;
    std::vector<Key> leaf_;  // scratch
};

}  // namespace adtc

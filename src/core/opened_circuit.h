// A circuit that is walked down: paths are opened, and cells taken apart, when a walk comes to them.
//
// Each path is opened once and each of its cells is taken apart once; what was opened is cached.
#pragma once

#include "cache.h"
#include "opened.h"

namespace adtc {

[[noreturn]] inline void refuse_tree() { throw std::out_of_range("the circuit holds no such tree"); }

/// Not for several threads at once.
template <class Key>
class OpenedCircuit {
public:
    using NodePtr = std::shared_ptr<Node<Key>>;

    /// `most_bytes`: what opened paths may hold.
    OpenedCircuit(CircuitView<Key> circuit, Index most_bytes);
    OpenedCircuit(const OpenedCircuit&) = delete;  // its opener looks at its circuit

    const CircuitView<Key>& circuit() const { return circuit_; }
    const Lattice& lattice() const { return *circuit_.lattice; }
    bool empty() const { return circuit_.levels.empty(); }
    /// Return how many limbs the numbers of a level's cells have.
    Index limbs_of(Index level) const { return empty() ? 1 : circuit_.levels[level].cells.limbs; }
    Index level_of(Index path) const;
    Index bytes() const { return lists_.bytes() + nodes_.bytes(); }

    /// Write the keys of a path's leaf by label; `kNoKey` where there is none within the budgets.
    void leaf_keys(Index path, std::vector<Key>& keys) const;
    /// Open a path of a level.
    NodePtr node(Index level, Index number);

    /// Find out how the cells of some keys, ascending, come about.
    void take_apart(Node<Key>& node, std::span<const Key> keys);
    const Choices& choices(Node<Key>& node, Key key);
    /// Count the trees of a pair of cells, with all names of the feature.
    void count_pair(const Node<Key>& node, const Branch<Key>& branch, Index i, Index j, Limb* count) const;
    /// List the pairs of two cells that are leaves of equal label, where those are left out, as numbers of
    /// the leaves within the two cells, ascending.
    std::vector<std::pair<Index, Index>> trivial_ranks(const Branch<Key>& branch, Key key1, Key key0) const;

private:
    struct SlotTable;
    using ListPtr = std::shared_ptr<const KeyLists<Key>>;

    void open_upper(Node<Key>& node, Index level);
    ListPtr list(Index level, Index number);
    void match_each(const Node<Key>& node, Index branch, std::span<const Key> keys, std::vector<Choices>& made) const;
    void match_all(const Node<Key>& node, Index branch, const SlotTable& slots, std::vector<Choices>& made) const;
    void add_pair(const Node<Key>& node, Index branch, Index i, Index j, Choices& choices) const;
    void add_dense(const Node<Key>& node, Index branch, Key key, Choices& choices) const;
    Index trivial_pairs(const Branch<Key>& branch, Key key1, Key key0) const;

    CircuitView<Key> circuit_;
    Cache<const KeyLists<Key>> lists_;
    Cache<Node<Key>> nodes_;
    LastOpener<Key> opener_;
    std::vector<Key> leaf_;  // scratch
};

}  // namespace adtc

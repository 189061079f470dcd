// What lies below a path of a circuit, opened to walk further down.
#pragma once

#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "circuit.h"
#include "key_list.h"
#include "pairs.h"

namespace adtc {

/// The key of a leaf that may not be.
template <class Key>
constexpr Key kNoKey = std::numeric_limits<Key>::min();

/// How the trees of a cell that are no leaves come about, in their order.
struct Choices {
    /// A pair of children's cells below a feature; or all pairs below it, where these are many.
    struct Item {
        std::int32_t branch;
        std::int32_t one;  ///< its place in the list of child 1; −1 for all pairs
        std::int32_t zero;
    };
    std::vector<Item> items;
    std::vector<Limb> until;  ///< [item][limb]: the number of trees up to and with it

    Index bytes() const { return static_cast<Index>(items.size() * sizeof(Item) + 8 * until.size()) + 96; }
};

/// A feature that splits a path, with the cells of both children; side 0 is child 1.
template <class Key>
struct Branch {
    Index feature = 0;
    Index below[2] = {-1, -1};                     ///< the children's numbers within their level, if they have any
    std::shared_ptr<const KeyList<Key>> cells[2];
    std::vector<Key> leaf[2];                      ///< [label]: keys of the child's leaves, or `kNoKey`
    std::vector<Index> limit[2];                   ///< [functional]: what a child below the last level may cost
    Index active = 0;                              ///< at the last level: its place among the active features
};

/// Counts of pairs among the features that split a path: [group][a][b], in 32 bits where these do.
struct ActivePairs {
    std::vector<Index> features;  ///< ascending
    Index width = 0;              ///< how many
    std::vector<std::int32_t> narrow;
    std::vector<Index> wide;

    Index at(Index g, Index a, Index b) const {
        const Index place = (g * width + a) * width + b;
        return wide.empty() ? narrow[place] : wide[place];
    }
    Index bytes() const { return static_cast<Index>(4 * narrow.size() + 8 * wide.size() + 8 * features.size()); }
};

struct KeyHash {
    template <class Key>
    std::size_t operator()(Key key) const {
        return static_cast<std::size_t>(hash_of(key));
    }
};

template <class Key>
struct Node {
    Path path;
    Index id = 0;                           ///< the path's number
    Index limbs = 1;                        ///< of its numbers of trees
    std::span<const Index> counts;          ///< [group]: rows
    std::span<const Index> budgets;         ///< [functional]
    std::vector<Branch<Key>> branches;      ///< by feature
    std::unordered_map<Key, Choices, KeyHash> choices;
    ActivePairs pairs;                      ///< at the last level

    /// Find the branch of a feature.
    const Branch<Key>& branch(Index feature) const {
        return *std::lower_bound(branches.begin(), branches.end(), feature,
                                 [](const Branch<Key>& branch, Index f) { return branch.feature < f; });
    }
};

/// A leaf measured under every label.
template <class Key>
struct MeasuredLeaf {
    std::vector<Key> key;      ///< [label]; `kNoKey` if it may not carry the label
    std::vector<Index> cost;   ///< [label][functional]
    Index functionals = 0;

    void measure(std::span<const Index> counts, const Leaves<Key>& leaves);
    const Index* costs(Index label) const { return cost.data() + label * functionals; }
};

/// Opens the longest numbered paths, where trees have depth at most 2: counts pairs, and lists the
/// trees on either side of each feature as far as two fit together.
template <class Key>
class LastOpener {
  public:
    explicit LastOpener(const CircuitView<Key>& circuit);

    void open(Node<Key>& node);

  private:
    /// The trees of depth at most 1 on one side of a feature, not merged yet.
    struct Side {
        std::vector<Index> counts;  ///< [group]
        std::vector<Index> limit;   ///< [functional]: what they may cost
        std::vector<Index> least;   ///< [functional]: what they cost at least
        std::vector<Key> keys;
        std::vector<Limb> values;
        std::vector<Index> costs;
    };

    void select(const Path& path);
    void count(Node<Key>& node);
    template <class T>
    void count_as(Node<Key>& node, std::vector<T>& counted, std::vector<T>& kept);
    bool list_sides(const Node<Key>& node, Index a);
    bool bound_sides(const Node<Key>& node, Index a);
    template <class T>
    void bound_stumps(const Node<Key>& node, const std::vector<T>& pairs, Index a);
    void list(const Node<Key>& node, Index a, int s);
    void list_stumps(const Node<Key>& node, Index a, int s, Index b);
    void push(Side& side, Key key, Limb value, const Index* cost1, const Index* cost0);
    std::shared_ptr<const KeyList<Key>> merged(const Side& side);

    const CircuitView<Key>& circuit_;
    std::vector<std::pair<Index, bool>> literals_;  ///< (feature, negative) of the rows selected last
    std::vector<Rows> rows_;                        ///< of the table, and after each literal
    Slices slices_;
    std::vector<std::int32_t> counted_narrow_;
    std::vector<Index> counted_wide_;
    Side side_[2];
    std::vector<Index> part1_, part0_;
    MeasuredLeaf<Key> leaf1_, leaf0_;
    std::vector<Index> stump_[2];  ///< [b]: what two leaves below a and b cost at least by the first functional
    std::vector<Index> room_;
    std::vector<Index> order_;
};

}  // namespace adtc

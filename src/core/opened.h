// What lies below a path of a circuit, opened to walk further down.
#pragma once

#include <memory>
#include <stdexcept>
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
    Index active = 0;           ///< at the last level: its place among the active features
    Index below[2] = {-1, -1};  ///< the children's numbers within their level, if they have any
    KeyList<Key> cells[2];
    std::span<const Key> leaf[2];     ///< [label]: keys of the child's leaves, or `kNoKey`
    std::span<const Index> limit[2];  ///< [functional]: what a child below the last level may cost
};

/// Counts of pairs among the features that split a path: [group][a][b], in 32 bits where these do.
struct ActivePairs {
    std::vector<Index> features;  ///< ascending
    Index width = 0;              ///< how many
    std::vector<std::int32_t> narrow;
    std::vector<Index> wide;
    std::vector<Index> single;  ///< [group][b]: rows with one of them

    /// Call `use` with the matrix.
    template <class Use>
    void read(Use use) const {
        if (wide.empty())
            use(narrow.data());
        else
            use(wide.data());
    }
    Index at(Index g, Index a, Index b) const {
        const Index place = (g * width + a) * width + b;
        return wide.empty() ? narrow[place] : wide[place];
    }
    Index bytes() const {
        return static_cast<Index>(4 * narrow.size() + 8 * (wide.size() + features.size() + single.size()));
    }
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
    Index id = 0;                       ///< the path's number
    Index limbs = 1;                    ///< of its numbers of trees
    std::span<const Index> counts;      ///< [group]: rows
    std::span<const Index> budgets;     ///< [functional]
    std::vector<Branch<Key>> branches;  ///< by feature
    std::unordered_map<Key, Choices, KeyHash> choices;
    ActivePairs pairs;  ///< at the last level

    // what the branches look at
    std::vector<std::shared_ptr<const KeyLists<Key>>> lists;
    std::vector<Key> leaf_keys;  ///< [branch][side][label]
    std::vector<Index> limits;   ///< [branch][side][functional]

    /// Find the branch of a feature.
    const Branch<Key>& branch(Index feature) const {
        const auto found = std::lower_bound(branches.begin(), branches.end(), feature,
                                            [](const Branch<Key>& branch, Index f) { return branch.feature < f; });
        if (found == branches.end() || found->feature != feature)
            throw std::out_of_range("the feature does not split the path");
        return *found;
    }
    /// Let the branches look at leaf keys and limits, when these are complete.
    void connect(Index labels, Index functionals) {
        for (std::size_t b = 0; b < branches.size(); ++b)
            for (std::size_t s = 0; s < 2; ++s) {
                const std::size_t l = static_cast<std::size_t>(labels), d = static_cast<std::size_t>(functionals);
                branches[b].leaf[s] = {leaf_keys.data() + (2 * b + s) * l, l};
                if (!limits.empty()) branches[b].limit[s] = {limits.data() + (2 * b + s) * d, d};
            }
    }
    Index bytes() const {
        return static_cast<Index>(sizeof(*this) + branches.size() * sizeof(Branch<Key>) +
                                  leaf_keys.size() * sizeof(Key) + 8 * limits.size()) +
               pairs.bytes();
    }
};

/// A leaf measured under every label.
template <class Key>
struct MeasuredLeaf {
    std::vector<Key> key;     ///< [label]; `kNoKey` if it may not carry the label
    std::vector<Index> cost;  ///< [label][functional]
    Index functionals = 0;

    void measure(std::span<const Index> counts, const Leaves<Key>& leaves);
    const Index* costs(Index label) const { return cost.data() + label * functionals; }
};

/// Tell whether every leaf with enough rows may carry every label.
inline bool is_unconstrained(const LabelRule& rule) { return !rule.majority && rule.share_top == 0; }

/// What the parts of one side of a feature are worth, for all other active features at once: keys
/// are linear in rows, so those of the other part are differences.
template <class Key>
struct WeighedSide {
    Index support = 0;              ///< rows of the side, of the table itself
    std::vector<Index> rows;        ///< [b]: those of them with b
    std::vector<Key> ones;          ///< [label][b]: keys of the rows with b, without the constant
    std::vector<Key> whole;         ///< [label]: keys of all rows
    std::vector<Index> ones_cost;   ///< [functional][label][b]: the same for costs
    std::vector<Index> whole_cost;  ///< [functional][label]
    std::vector<Index> part;

    void weigh(const Node<Key>& node, Index a, int s, const Leaves<Key>& leaves);
    /// What two leaves below b cost, which carry the labels p and q.
    Index cost(Index d, Index p, Index q, Index b, const Leaves<Key>& leaves) const {
        const Index width = static_cast<Index>(rows.size()), row = d * leaves.labels();
        return 2 * leaves.cost_constants[d] + ones_cost[(row + p) * width + b] + whole_cost[row + q] -
               ones_cost[(row + q) * width + b];
    }
    bool splits(Index b, Index minsup) const { return rows[b] >= minsup && support - rows[b] >= minsup; }
};

/// Opens the longest numbered paths, where trees have depth at most 2: counts pairs, and lists the
/// trees on either side of each feature as far as two fit together.
template <class Key>
class LastOpener {
public:
    explicit LastOpener(const CircuitView<Key>& circuit);

    void open(Node<Key>& node);
    /// Choose the features that split a path of any length, and count their pairs.
    void count(Node<Key>& node);

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
    template <class T>
    void count_as(Node<Key>& node, std::vector<T>& counted, std::vector<T>& kept);
    bool list_sides(const Node<Key>& node, Index a);
    void weigh_costs(const Node<Key>& node);
    bool bound_sides(const Node<Key>& node, Index a);
    template <class T>
    void bound_stumps(const Node<Key>& node, const T* pairs, Index a);
    void list(const Node<Key>& node, Index a, int s);
    void list_freely(const Node<Key>& node, Index a, int s);
    void list_within(const Node<Key>& node, Index a, int s);
    void list_stumps(const Node<Key>& node, Index a, int s, Index b);
    void push(Side& side, Key key, Limb value, const Index* cost1, const Index* cost0);
    void merge(const Side& side, KeyLists<Key>& lists);
    void sort_by_key(const Side& side);

    const CircuitView<Key>& circuit_;
    std::vector<std::pair<Index, bool>> literals_;  ///< (feature, negative) of the rows selected last
    std::vector<Rows> rows_;                        ///< of the table, and after each literal
    Slices slices_;
    std::vector<std::int32_t> counted_narrow_;
    std::vector<Index> counted_wide_;
    Side side_[2];
    std::vector<Index> part1_, part0_;
    MeasuredLeaf<Key> leaf1_, leaf0_;
    WeighedSide<Key> weighed_;
    std::vector<Index> single_costs_;  ///< [label][b]: what the rows with b cost by the first functional
    std::vector<Index> stump_[2];      ///< [b]: what two leaves below a and b cost at least by it
    std::vector<Index> both_costs_, least_;
    std::vector<Index> cost_;
    std::vector<Index> order_, starts_, sorted_;
};

}  // namespace adtc

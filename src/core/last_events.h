// Leaves below the last level: how many good trees have each, in closed form from counts of pairs.
//
// Where a feature splits a path, the adjoint of the trees of depth at most 1 on one of its sides is
// the path's own, correlated with the trees on the other side. Of such a tree the leaves are known.
#pragma once

#include "adjoint_table.h"
#include "opened.h"
#include "path_events.h"

namespace adtc {

/// What a job has added up over its paths.
template <class N>
struct Tally {
    using Word = typename N::Word;

    Index features = 0, labels = 0, wide = 1;
    std::vector<Word> uses;    ///< [depth][feature][word]: splits, once per tree that has them
    std::vector<Word> leaves;  ///< [depth][label][word]

    void begin(const N& numbers, Index depths, Index n_features, Index n_labels) {
        features = n_features, labels = n_labels, wide = numbers.wide();
        uses.assign(static_cast<std::size_t>((depths + 1) * features * wide), Word{0});
        leaves.assign(static_cast<std::size_t>((depths + 1) * labels * wide), Word{0});
    }
    Word* use(Index depth, Index feature) { return uses.data() + (depth * features + feature) * wide; }
    Word* leaf(Index depth, Index label) { return leaves.data() + (depth * labels + label) * wide; }
    void merge(const N& numbers, const Tally& other) {
        for (std::size_t i = 0; i < uses.size(); i += static_cast<std::size_t>(wide))
            numbers.merge_wide(uses.data() + i, other.uses.data() + i);
        for (std::size_t i = 0; i < leaves.size(); i += static_cast<std::size_t>(wide))
            numbers.merge_wide(leaves.data() + i, other.leaves.data() + i);
    }
};

/// Finds the leaves below paths of the last level. Not for several threads at once.
template <class Key, class N>
class LastEvents {
public:
    using Word = typename N::Word;

    LastEvents(const CircuitView<Key>& circuit, const N& numbers);

    /// Fill `events` with the leaves below a path, but for those at the path itself. `flush` is called where leaves
    /// must be taken away before more come.
    template <class Flush>
    void find(Index number, const AdjointTable<Key, N>& adjoints, PathEvents<N>& events, Tally<N>& tally, Flush flush) {
        open(number);
        begin(events);
        for (const Branch<Key>& branch : node_->branches) {
            if (!correlate(adjoints, branch)) continue;
            add_leaves(adjoints, branch, events, tally);
            for (int s = 0; s < 2; ++s) add_stumps(branch, s, events, tally);
            if (events.by_branch()) flush();
        }
    }

private:
    void open(Index number);
    void begin(PathEvents<N>& events) const;
    bool correlate(const AdjointTable<Key, N>& adjoints, const Branch<Key>& branch);
    bool correlate_dense(const AdjointTable<Key, N>& adjoints, const Branch<Key>& branch);
    void add_leaves(const AdjointTable<Key, N>& adjoints, const Branch<Key>& branch, PathEvents<N>& events,
                    Tally<N>& tally);
    void add_stumps(const Branch<Key>& branch, int s, PathEvents<N>& events, Tally<N>& tally);
    bool admits_stump(const Branch<Key>& branch, int s, Index b, Index p, Index q);
    bool find_range(const KeyList<Key>& cells, int s);
    void choose(Index p, Index q);

    const CircuitView<Key>& circuit_;
    N numbers_;
    LastOpener<Key> opener_;
    std::unique_ptr<Node<Key>> node_;
    std::vector<Word> below_[2];  ///< [cell of a side][word]: adjoints, without the feature's multiplicity
    WeighedSide<Key> weighed_;
    Key low_ = 0, high_ = 0;  ///< of the trees with adjoints on a side
    std::vector<Index> chosen_;
    std::vector<Index> part1_, part0_;
    std::vector<Word> weight_, sum_;
};

}  // namespace adtc

// Sums over all trees of prior × evidence, and what they say of leaves: Bayesian averaging.
//
// With d = |I|, the value of a path I is
//     V(I) = stay(d) · evidence(I) + split(d) Σ_f m_f · V(I ∪ f) · V(I ∪ ¬f)
// over the splits f with enough rows on both sides; feature f stands for m_f that are alike. Upwards,
// the last two levels come from counts of pairs. Downwards, outer(I) · V(I) / V(∅) is the posterior
// probability that a tree has the node I. Next to the sum over all trees, *channels* hold the sums over
// those that leave out one group of features, and `best` holds the largest single product.
//
// Where trees have a limited number of leaves, every value is a list by number of leaves, from 1.
#pragma once

#include <memory>
#include <vector>

#include "control.h"
#include "evidence.h"
#include "lattice.h"
#include "leaf_list.h"
#include "scaled.h"
#include "table.h"

namespace adtc {

/// What a node may become: a leaf, or a split on a feature with so many leaves on side 1.
struct WeightedChoices {
    Scaled leaf;
    Index valid = 0;             ///< features that can split it
    std::vector<Scaled> splits;  ///< [feature][leaves on side 1 − 1]; one column if any number may be
};

/// One pass over all paths, up and then down.
class BayesPass {
public:
    /// `counts` is [path][label]; `groups[f][g]` says how many of the features that f stands for are
    /// in group g. Channel 0 has all features, channel c ≤ excluded leaves out group c − 1.
    BayesPass(const Table& table, const Lattice& lattice, Grid<const Index> counts, const Evidence& evidence,
              const TreePrior& prior, Grid<const Index> groups, Index excluded);
    ~BayesPass();

    /// Fill in the paths of the last level whose first feature is in a range, and that are `wanted`:
    /// see walk.h. Ranges are independent jobs.
    void sum_last(Index first, Index stop, std::span<const bool> wanted, const Control& control);
    /// Fill in the shorter paths.
    void sum_above(const Control& control);

    Index channels() const;
    Index slots() const;  ///< numbers of leaves told apart: 1 or the largest
    std::span<const Scaled> total(Index channel) const;
    std::span<const Scaled> best() const;

    /// List what the node of a path may become, with the weights of all trees below it, or of the
    /// best one; `size` is its number of leaves, 0 for any.
    WeightedChoices choices(const Path& path, Index size, bool best) const;

    /// Hand probabilities down to all numbered paths. Marks in `live` those that a tree has with
    /// probability `least` or more; nothing is handed down from others. Lists leaves above the last level.
    LeafList hand_down(double least, std::span<bool> live, const Control& control);
    /// List the leaves at and below the last level's live paths, at most `most`; each number is that of a path
    /// in the lattice `names`, whose levels reach down to the leaves.
    LeafList leaves_last(Index first, Index stop, std::span<const bool> wanted, double least, const Lattice& names,
                         Index most, const Control& control) const;

private:
    struct Inner;
    std::unique_ptr<Inner> inner_;
};

}  // namespace adtc

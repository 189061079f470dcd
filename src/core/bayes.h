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
#include "lattice.h"
#include "scaled.h"
#include "table.h"

namespace adtc {

/// The probability of the labels at a leaf whose class shares have a Dirichlet prior.
class Evidence {
public:
    /// Prepare for up to totals[label] rows; `blank` gives every leaf the evidence 1.
    Evidence(std::span<const double> rho, std::span<const Index> totals, bool blank);

    Index labels() const { return static_cast<Index>(rising_.size()); }
    Scaled of(const Index* counts) const {
        if (blank_) return {1, 0};
        Index rows = 0;
        for (std::size_t l = 0; l < rising_.size(); ++l) rows += counts[l];
        Scaled product = falling_[rows];
        for (std::size_t l = 0; l < rising_.size(); ++l) product = product * rising_[l][counts[l]];
        return many_ ? tidy(product) : product;
    }

private:
    std::vector<std::vector<Scaled>> rising_;  ///< [label][rows]: ρ (ρ + 1) … (ρ + rows − 1)
    std::vector<Scaled> falling_;              ///< [rows]: 1 / the same of the sum of all ρ
    bool blank_ = false;
    bool many_ = false;  ///< so many labels that a product of digits may leave its range
};

enum class SplitRule : int { valid, all, flat };

/// Which trees there are, and how probable each is beforehand.
struct TreePrior {
    std::span<const double> leaf;   ///< [depth]: probability of a leaf where a split is possible
    std::span<const double> split;  ///< [depth]: probability of a split there
    SplitRule rule = SplitRule::valid;
    Index features = 0;     ///< among which a split is chosen under `all`
    Index minsup = 0;       ///< rows that each leaf holds at least
    Index most_leaves = 0;  ///< 0: any number

    /// The factor of a leaf, given how many splits are valid there.
    double stay(Index depth, Index valid) const {
        return rule == SplitRule::flat || valid == 0 ? 1 : leaf[static_cast<std::size_t>(depth)];
    }
    /// The factor of each split.
    double part(Index depth, Index valid) const {
        if (rule == SplitRule::flat) return 1;
        return split[static_cast<std::size_t>(depth)] / static_cast<double>(rule == SplitRule::all ? features : valid);
    }
};

/// The leaves that trees have with some probability; the same leaf may come several times, each time with a
/// part of its probability.
struct LeafList {
    std::vector<Index> number;  ///< of its path
    std::vector<double> mass;   ///< posterior probability that a tree has it, found on one way
    std::vector<Index> counts;  ///< [leaf][label]: its rows
    double lost = 0;            ///< no row has more of its probability at leaves that were left out
};

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

/// Leaves as rows of literals 2·feature + negative, ascending, −1 behind the last, in the order of a trie.
struct LeafPaths {
    Grid<const std::int32_t> literals;  ///< [leaf][depth]
    Grid<const double> shares;          ///< [leaf][label]: its probability times that of each label
};

/// Add to out[row][label] the shares of the leaves that the row reaches. `ones[feature][row]` is the share
/// of the features alike that are 1 in the row: 0 or 1 where they agree.
void mix_leaves(const LeafPaths& leaves, Grid<const double> ones, Grid<double> out, const Control& control);

}  // namespace adtc

// What a tree is worth to Bayesian averaging: the evidence of its leaves, and its prior probability.
#pragma once

#include <span>
#include <vector>

#include "lattice.h"
#include "scaled.h"

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

}  // namespace adtc

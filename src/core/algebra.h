// ⊕ and ⊗ of a user's semiring, with the sum over no tree set apart: the user's functions never see it.
#pragma once

#include "semiring.h"

namespace adtc {

/// The leaves on some rows: their ⊕, and each by its label.
struct LeafSums {
    bool enough = false;  ///< are there rows for a leaf?
    Sum total;
    std::vector<Sum> by_label;
};

/// ⊕ and ⊗ of what there is.
class Algebra {
public:
    Algebra(const SemiringFunctions& functions, const LeafMetrics& leaves)
        : functions_(functions), leaves_(leaves), values_(static_cast<std::size_t>(leaves.metrics())) {}

    Sum add(Sum a, Sum b) const {
        if (!a.any || !b.any) return a.any ? a : b;
        return {functions_.add(a.value, b.value), true};
    }
    Sum mul(Sum a, Sum b) const { return a.any && b.any ? Sum{functions_.mul(a.value, b.value), true} : Sum{}; }

    /// Add a value several times: once for each of the features that are alike.
    void add_times(Sum& total, Sum value, Index times) const {
        for (; times > 0; --times) total = add(total, value);
    }

    void measure(std::span<const Index> counts, LeafSums& out) {
        const LabelRule& rule = leaves_.rule;
        out.enough = support_of(counts, rule) >= rule.minsup;
        out.total = {};
        out.by_label.assign(static_cast<std::size_t>(rule.labels), Sum{});
        for_each_label(counts, rule, [&](Index label) {
            out.by_label[label] = {value(label, counts), true};
            out.total = add(out.total, out.by_label[label]);
        });
    }

    /// Sum over the splits into two leaves, of unequal labels if they must be.
    Sum two_leaves(const LeafSums& one, const LeafSums& zero) const {
        if (leaves_.trivial_splits) return mul(one.total, zero.total);
        Sum total;
        for (std::size_t l1 = 0; l1 < one.by_label.size(); ++l1)
            for (std::size_t l0 = 0; l0 < zero.by_label.size(); ++l0)
                if (l1 != l0) total = add(total, mul(one.by_label[l1], zero.by_label[l0]));
        return total;
    }

    /// Sum over all trees with one given test at the root, from the leaves and other trees below it.
    Sum split(const LeafSums& one, Sum others1, const LeafSums& zero, Sum others0) const {
        Sum total = two_leaves(one, zero);
        total = add(total, mul(one.total, others0));
        total = add(total, mul(others1, zero.total));
        return add(total, mul(others1, others0));
    }

    /// The value of a leaf with a label.
    double value(Index label, std::span<const Index> counts) {
        for (Index a = 0; a < leaves_.metrics(); ++a) {
            const double* const weights = leaves_.weights[a][label];
            double total = leaves_.constants[a];
            for (std::size_t g = 0; g < counts.size(); ++g) total += weights[g] * static_cast<double>(counts[g]);
            values_[a] = total;
        }
        return functions_.leaf(label, values_.data(), leaves_.metrics());
    }

private:
    const SemiringFunctions& functions_;
    const LeafMetrics& leaves_;
    std::vector<double> values_;  ///< [metric]: scratch
};

}  // namespace adtc

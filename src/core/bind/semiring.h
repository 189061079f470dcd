// What a user's semiring adds up, with the arrays that hold it.
#pragma once

#include <utility>

#include "../semiring.h"
#include "costs.h"

namespace adtc {

/// `LeafMetrics` and the arrays that they look at; the rule is that of some costs.
struct BoundLeafMetrics : LeafMetrics {
    Array<const double, 3> weights_;
    Array<const double, 1> constants_;

    BoundLeafMetrics(Array<const double, 3> weights, Array<const double, 1> constants, const BoundCosts& costs,
                     bool trivial_splits)
        : weights_(std::move(weights)), constants_(std::move(constants)) {
        LeafMetrics& leaves = *this;
        leaves.weights = cube_of(weights_);
        leaves.constants = span_of(constants_);
        leaves.rule = costs.rule;
        leaves.trivial_splits = trivial_splits;
        if (leaves.constants.size() != weights_.shape(0) ||
            (metrics() > 0 && (leaves.weights.rows != costs.labels() || leaves.weights.columns != costs.groups())))
            throw nb::value_error("the arrays of the metrics do not belong together");
    }
};

}  // namespace adtc

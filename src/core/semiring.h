// Sums over all trees in a semiring of doubles that brings its own C functions.
//
// Every path gets the ⊕ over the trees below it of the ⊗ over their leaves. Single leaves are kept
// apart, so that splits into two leaves of one label can be left out where they must be; a sum over
// no tree is marked as such, and the user's functions never see it.
#pragma once

#include <vector>

#include "control.h"
#include "costs.h"
#include "lattice.h"
#include "table.h"

namespace adtc {

/// The functions of a semiring. They may be called from several threads at once, and must not throw.
struct SemiringFunctions {
    double (*add)(double, double) = nullptr;
    double (*mul)(double, double) = nullptr;
    /// Its label, and the values of n metrics on it.
    double (*leaf)(std::int64_t label, const double* values, std::int64_t n) = nullptr;
};

/// What a leaf brings to the semiring: metric values, linear in its rows.
struct LeafMetrics {
    Cube<const double> weights;         ///< [metric][label][group]
    std::span<const double> constants;  ///< [metric]: per leaf
    LabelRule rule;
    bool trivial_splits = true;  ///< may both children of a split be leaves of one label?

    Index metrics() const { return weights.planes; }
};

/// A ⊕ over trees; `any` is false if there are none.
struct Sum {
    double value = 0;
    bool any = false;
};

/// The sums of all numbered paths over their trees that are no single leaf.
struct PathSums {
    std::span<double> value;  ///< [path]
    std::span<bool> any;      ///< [path]: are there such trees? All false in the beginning
};

/// Fill in the paths of the last level whose first feature is in a range, and that are `wanted`: see
/// walk.h. Feature f stands for multiplicity[f] features that are alike.
void sum_last(Index first, Index stop, const Table& table, const Lattice& lattice, const SemiringFunctions& functions,
              const LeafMetrics& leaves, std::span<const Index> multiplicity, std::span<const bool> wanted,
              PathSums sums, const Control& control);

/// Fill in the shorter paths, and return the sum over all trees; `counts` is [path][group].
Sum sum_above(const Lattice& lattice, const SemiringFunctions& functions, const LeafMetrics& leaves,
              std::span<const Index> multiplicity, Grid<const Index> counts, PathSums sums, const Control& control);

}  // namespace adtc

// Paths as sets of literals, and their numbers.
//
// A path of length k has the number base[k] + (rank << k) + signs, with rank = Σ C(f_i, i + 1) over
// its ascending features f_0 < f_1 < …; bit i of signs is set if its i-th literal is negative.
// Walked in ascending order, both signs, each set of literals is met once.
#pragma once

#include <algorithm>

#include "views.h"

namespace adtc {

/// Where paths are numbered, down to the *last level*, `rest` levels above the leaves.
struct Lattice {
    Grid<const Index> binomial;   ///< [feature + 2][levels + 3], capped where no rank can reach
    std::span<const Index> base;  ///< [levels + 1]: the first number of each length
    Index features = 0;           ///< distinct features
    Index levels = 0;             ///< length of the longest numbered paths
    Index rest = 0;               ///< depth of the trees below those: 0, 1 or 2

    Index paths(Index level) const { return binomial[features][level] << level; }
    Index size() const { return base[levels] + paths(levels); }
};

/// A path taken apart: ascending features, and a bit for each negative literal.
struct Path {
    static constexpr Index kLongest = 62;

    Index length = 0;
    Index features[kLongest] = {};
    Index signs = 0;

    bool has(Index feature) const { return std::find(features, features + length, feature) != features + length; }
    Index number(const Lattice& lattice) const {
        Index rank = 0;
        for (Index i = 0; i < length; ++i) rank += lattice.binomial[features[i]][i + 1];
        return lattice.base[length] + (rank << length) + signs;
    }
    /// Append a literal whose feature comes after all others.
    Path then(Index feature, bool negative) const {
        Path longer = *this;
        longer.features[length] = feature;
        longer.signs |= Index{negative} << length;
        ++longer.length;
        return longer;
    }
};

/// The two numbers of a path extended by a literal: feature is 1, feature is 0.
struct Children {
    Index one;
    Index zero;
};

/// Number the children of a path, given by its features and signs, for a feature not on it.
inline Children children(const Lattice& lattice, const Index* features, Index level, Index signs, Index f) {
    Index rank = 0, at = 0;
    for (; at < level && features[at] < f; ++at) rank += lattice.binomial[features[at]][at + 1];
    rank += lattice.binomial[f][at + 1];
    for (Index i = at; i < level; ++i) rank += lattice.binomial[features[i]][i + 2];
    const Index low = signs & ((Index{1} << at) - 1), high = (signs >> at) << (at + 1);
    const Index one = lattice.base[level + 1] + (rank << (level + 1)) + high + low;
    return {one, one + (Index{1} << at)};
}

/// Call `use(feature, children)` for every feature that is not on a path, ascending.
template <class Use>
void for_each_child(const Lattice& lattice, const Index* features, Index level, Index signs, Use use) {
    // features after the new one move up one place
    Index rank = 0;
    for (Index i = 0; i < level; ++i) rank += lattice.binomial[features[i]][i + 2];
    for (Index at = 0, f = 0; at <= level; ++at, ++f) {
        const Index step = Index{1} << at;
        const Index first = lattice.base[level + 1] + ((signs >> at) << (at + 1)) + (signs & (step - 1));
        for (const Index stop = at < level ? features[at] : lattice.features; f < stop; ++f) {
            const Index one = first + ((rank + lattice.binomial[f][at + 1]) << (level + 1));
            use(f, Children{one, one + step});
        }
        if (at < level) rank += lattice.binomial[f][at + 1] - lattice.binomial[f][at + 2];
    }
}

/// Number the path without its literal at position `at`.
inline Index parent(const Lattice& lattice, const Index* features, Index level, Index signs, Index at) {
    Index rank = 0;
    for (Index i = 0; i < at; ++i) rank += lattice.binomial[features[i]][i + 1];
    for (Index i = at + 1; i < level; ++i) rank += lattice.binomial[features[i]][i];
    const Index low = signs & ((Index{1} << at) - 1), high = (signs >> (at + 1)) << at;
    return lattice.base[level - 1] + (rank << (level - 1)) + high + low;
}

/// Find the features of the set with a given rank: largest feature first.
inline void seek(const Lattice& lattice, Index level, Index rank, Index* features) {
    Index top = lattice.features;
    for (Index i = level - 1; i >= 0; --i) {
        Index f = top - 1;
        while (lattice.binomial[f][i + 1] > rank) --f;
        features[i] = f;
        rank -= lattice.binomial[f][i + 1];
        top = f;
    }
}

/// Take apart the number of a path within its level.
inline Path path_at(const Lattice& lattice, Index level, Index number) {
    Path path;
    path.length = level;
    path.signs = number & ((Index{1} << level) - 1);
    seek(lattice, level, number >> level, path.features);
    return path;
}

/// Start the enumeration of ascending feature sets in the order of their ranks.
inline void first_set(Index* features, Index level) {
    for (Index i = 0; i < level; ++i) features[i] = i;
}

/// Step to the next feature set: raise the first feature that can be raised.
inline void next_set(Index* features, Index level) {
    Index i = 0;
    for (; i + 1 < level && features[i] + 1 == features[i + 1]; ++i) features[i] = i;
    ++features[i];
}

}  // namespace adtc

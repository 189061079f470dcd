// What both directions of Bayesian averaging share: the model, and products of values by number of leaves.
#pragma once

#include <span>
#include <vector>

#include "evidence.h"
#include "lattice.h"
#include "leaf.h"
#include "table.h"

namespace adtc {

/// What all parts of a pass share.
struct Model {
    const Table& table;
    const Lattice& lattice;
    Grid<const Index> counts;
    const Evidence& evidence;
    TreePrior prior;
    Index groups = 0;  ///< of features
    Index channels = 1;
    Index slots = 1;
    bool bounded = false;             ///< is the number of leaves limited?
    std::vector<Index> multiplicity;  ///< [feature]
    std::vector<double> times;        ///< [channel][feature]: how many features are not left out
    std::vector<Index> starts;        ///< [feature + 1]: its entries in the next two
    std::vector<Index> group;         ///< [entry]
    std::vector<double> held;         ///< [entry]: features of that group

    double times_of(Index channel, Index f) const {
        return times[static_cast<std::size_t>(channel * lattice.features + f)];
    }
    bool enough(std::span<const Index> rows) const { return sum_of(rows) >= prior.minsup; }
};

inline Model model_of(const Table& table, const Lattice& lattice, Grid<const Index> counts, const Evidence& evidence,
                      const TreePrior& prior, Grid<const Index> groups, Index excluded) {
    Model model{table, lattice, counts, evidence, prior, groups.columns, excluded + 1, 1, prior.most_leaves > 0,
                {},    {},      {},     {},       {}};
    if (model.bounded) model.slots = prior.most_leaves;
    model.starts.assign(1, 0);
    for (Index f = 0; f < lattice.features; ++f) {
        model.multiplicity.push_back(sum_of(groups.row(f)));
        for (Index g = 0; g < groups.columns; ++g)
            if (groups[f][g] > 0) {
                model.group.push_back(g);
                model.held.push_back(static_cast<double>(groups[f][g]));
            }
        model.starts.push_back(static_cast<Index>(model.group.size()));
    }
    for (Index c = 0; c < model.channels; ++c)
        for (Index f = 0; f < lattice.features; ++f)
            model.times.push_back(static_cast<double>(model.multiplicity[f] - (c > 0 ? groups[f][c - 1] : 0)));
    return model;
}

using Values = std::span<const Scaled>;

/// Add factor · one · zero to out, by number of leaves; or keep the largest product.
template <bool kBest>
void multiply(Values one, Values zero, double factor, bool bounded, std::span<Scaled> out) {
    for (std::size_t i = 0; i < one.size(); ++i) {
        if (one[i].zero()) continue;
        const Scaled first = one[i] * factor;
        for (std::size_t j = 0; j < zero.size(); ++j) {
            const std::size_t at = bounded ? i + j + 1 : 0;
            if (at >= out.size()) break;
            if constexpr (kBest)
                keep_larger(out[at], first * zero[j]);
            else
                add(out[at], first * zero[j]);
        }
    }
}

/// Hand a node's outer values to one of its children; `other` are the values of the other one.
inline void hand_over(Values outer, Values other, double factor, bool bounded, std::span<Scaled> out) {
    for (std::size_t j = 0; j < other.size(); ++j) {
        if (other[j].zero()) continue;
        const Scaled second = other[j] * factor;
        for (std::size_t i = 0; i < out.size(); ++i) {
            const std::size_t at = bounded ? i + j + 1 : 0;
            if (at >= outer.size()) break;
            add(out[i], outer[at] * second);
        }
    }
}

inline void tidy_all(std::span<Scaled> values) {
    for (Scaled& value : values) value = tidy(value);
}

inline Scaled sum_of(Values values) {
    Scaled sum;
    for (const Scaled value : values) add(sum, value);
    return sum;
}

/// Insert a literal into a path.
inline Path with(const Path& path, Index feature, bool negative) {
    Path longer;
    Index at = 0;
    while (at < path.length && path.features[at] < feature) ++at;
    std::copy(path.features, path.features + at, longer.features);
    longer.features[at] = feature;
    std::copy(path.features + at, path.features + path.length, longer.features + at + 1);
    const Index low = path.signs & ((Index{1} << at) - 1), high = (path.signs >> at) << (at + 1);
    longer.signs = high | (Index{negative} << at) | low;
    longer.length = path.length + 1;
    return longer;
}

}  // namespace adtc

// What the trees of a circuit test: numbers of trees under any weights on tests, and the sets of
// variables that trees use.
//
// All three are one pass over the circuit, children before parents, from the cells of the last level
// to chosen cells of the root; each cell's value is found once.
#pragma once

#include <vector>

#include "circuit.h"
#include "control.h"

namespace adtc {

/// Which trees to add up: those of root cells in a group, each group by itself.
struct RootGroups {
    std::span<const Index> of;  ///< [root cell]: its group, or −1 to leave it out
    Index count = 0;
};

/// The variables behind each distinct feature: feature f stands for counts[k] features of variable
/// variables[k], for k from starts[f] to starts[f + 1].
struct FeatureVariables {
    std::span<const Index> starts;
    std::span<const Index> variables;
    std::span<const Index> counts;
    Index total = 0;  ///< variables there are
};

/// Sum over trees the product of their tests' weights, once per lane. A test of feature f with d tests
/// above it weighs weights[d][f][lane]. Numbers are [group][lane][limb], modulo 2^(64 · limbs).
template <class Key>
std::vector<Limb> weighted_counts(const CircuitView<Key>& circuit, const RootGroups& groups, Cube<const Limb> weights,
                                  Index limbs, Index most_bytes, const Control& control);

/// Find the minimal sets of variables that some tree manages with: masks of `words` words each.
template <class Key>
std::vector<std::uint64_t> minimal_variable_sets(const CircuitView<Key>& circuit, const RootGroups& groups,
                                                 const FeatureVariables& variables, Index words, Index most_bytes,
                                                 const Control& control);

/// Trees by the set of variables that they use.
struct VariableSetCounts {
    std::vector<Index> groups;
    std::vector<std::uint64_t> masks;  ///< [entry][word]
    std::vector<Limb> counts;          ///< [entry][limb]
};

template <class Key>
VariableSetCounts variable_set_counts(const CircuitView<Key>& circuit, const RootGroups& groups,
                                      const FeatureVariables& variables, Index words, Index limbs, Index most_bytes,
                                      const Control& control);

}  // namespace adtc

// Stumps below the last level: pairs of leaves on one side of a feature that have a key together.
#pragma once

#include "opened.h"

namespace adtc {

/// The leaves below a feature on one side of another, and pairs of them.
template <class Key>
struct Stump {
    struct Pair {
        Key key1;
        Index label1, label0;
        auto operator<=>(const Pair&) const = default;
    };
    std::vector<Index> part1, part0;
    MeasuredLeaf<Key> leaf1, leaf0;
    bool exists = false;
    std::vector<Pair> pairs;  ///< by key of child 1, then by label
};

/// Finds them. Not for several threads at once.
template <class Key>
class SideStumps {
public:
    explicit SideStumps(const CircuitView<Key>& circuit) : lattice_(*circuit.lattice), leaves_(circuit.leaves) {}

    /// Measure the leaves below the b-th active feature on one side of a branch.
    const Stump<Key>& measure(const Node<Key>& node, const Branch<Key>& branch, int s, Index b) {
        const Index groups = leaves_.groups(), a = branch.active;
        stump_.part1.resize(static_cast<std::size_t>(groups));
        stump_.part0.resize(static_cast<std::size_t>(groups));
        for (Index g = 0; g < groups; ++g) {
            const Index one = node.pairs.at(g, a, a), both = node.pairs.at(g, a, b);
            stump_.part1[g] = s ? node.pairs.at(g, b, b) - both : both;
            stump_.part0[g] = (s ? node.counts[g] - one : one) - stump_.part1[g];
        }
        stump_.exists = std::min(support_of(stump_.part1, leaves_.rule), support_of(stump_.part0, leaves_.rule)) >=
                        leaves_.rule.minsup;
        if (!stump_.exists) return stump_;
        stump_.leaf1.measure(stump_.part1, leaves_);
        stump_.leaf0.measure(stump_.part0, leaves_);
        return stump_;
    }

    /// Call `use(b, stump)` for the active features that may have pairs of leaves with a key together on one
    /// side of a branch, with those pairs in the stump, until it returns true.
    template <class Use>
    void for_each(const Node<Key>& node, const Branch<Key>& branch, int s, Key key, Use use) {
        const Index width = node.pairs.width, labels = leaves_.labels();
        if (lattice_.rest < 2) return;
        weighed_.weigh(node, branch.active, s, leaves_);
        hits_.assign(static_cast<std::size_t>(width), 0);
        const Key rest = key - 2 * leaves_.key_constant;
        for (Index p = 0; p < labels; ++p)
            for (Index q = 0; q < labels; ++q) {
                if (p == q && !leaves_.trivial_splits) continue;
                // keys of the two parts: ones[p] and whole[q] − ones[q]
                const Key* const ones = weighed_.ones.data() + p * width;
                const Key* const others = weighed_.ones.data() + q * width;
                const Key apart = rest - weighed_.whole[q];
                for (Index b = 0; b < width; ++b) hits_[b] |= ones[b] - others[b] == apart;
            }
        for (Index b = 0; b < width; ++b) {
            if (!hits_[b] || b == branch.active || !weighed_.splits(b, leaves_.rule.minsup)) continue;
            match(node, branch, s, b, key);
            if (use(b, stump_)) return;
        }
    }

private:
    /// List the pairs of leaves below the b-th active feature that have a key together, in their order.
    void match(const Node<Key>& node, const Branch<Key>& branch, int s, Index b, Key key) {
        const Index labels = leaves_.labels(), width = node.pairs.width;
        const auto limit = branch.limit[s];
        const bool voted = !is_unconstrained(leaves_.rule);
        if (voted) measure(node, branch, s, b);
        stump_.pairs.clear();
        for (Index p = 0; p < labels; ++p)
            for (Index q = 0; q < labels; ++q) {
                const Key one = weighed_.ones[p * width + b] + leaves_.key_constant;
                const Key zero = weighed_.whole[q] - weighed_.ones[q * width + b] + leaves_.key_constant;
                if (one + zero != key || (p == q && !leaves_.trivial_splits)) continue;
                bool fits = true;
                if (voted) fits = stump_.leaf1.key[p] != kNoKey<Key> && stump_.leaf0.key[q] != kNoKey<Key>;
                for (std::size_t d = 0; fits && d < limit.size(); ++d)
                    fits = weighed_.cost(static_cast<Index>(d), p, q, b, leaves_) <= limit[d];
                if (fits) stump_.pairs.push_back({one, p, q});
            }
        if (stump_.pairs.size() > 1) std::sort(stump_.pairs.begin(), stump_.pairs.end());
    }

    const Lattice& lattice_;
    const Leaves<Key>& leaves_;

    // scratch
    WeighedSide<Key> weighed_;
    std::vector<char> hits_;
    Stump<Key> stump_;
};

}  // namespace adtc

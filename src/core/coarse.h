// Trees of depth at most 1 on either side of a feature where keys are coarse.
//
// A coarse key is rounded down leaf by leaf, so it is not linear in the rows: the key of a leaf must
// come from the counts of its own rows, never from a difference of keys. All trees are listed.
#pragma once

#include "sides.h"

namespace adtc {

template <class Key, class T>
class CoarseSides {
public:
    CoarseSides(const Leaves<Key>& leaves, std::span<const Index> multiplicity, Index rest)
        : leaves_(leaves), multiplicity_(multiplicity), rest_(rest) {}

    /// List the trees on both sides of a feature that the cheapest on the other side leaves room for;
    /// return false if there is none.
    bool list(const SplittingPairs<T>& path, Index a, std::span<const Index> budgets, Side<Key>* sides) {
        const Index functionals = leaves_.functionals();
        for (int s = 0; s < 2; ++s) {
            sides[s].begin(path, a, s, functionals);
            list_side(path, a, s, sides[s]);
            if (sides[s].listed.size() == 0) return false;
        }
        for (int s = 0; s < 2; ++s) {
            for (Index d = 0; d < functionals; ++d) sides[s].limit[d] = budgets[d] - sides[1 - s].least[d];
            sides[s].merge();
            if (sides[s].merged.size() == 0) return false;
        }
        return true;
    }

private:
    void list_side(const SplittingPairs<T>& path, Index a, int s, Side<Key>& side) {
        whole_.find(side.counts, leaves_);
        for (Index i = 0; i < whole_.size(); ++i) take(side, whole_.keys[i], whole_.cost(i), nullptr, 1);
        if (rest_ < 2) return;
        const auto groups = static_cast<std::size_t>(path.groups());
        rows1_.resize(groups), rows0_.resize(groups);
        for (Index b = 0; b < path.size(); ++b) {
            if (b == a) continue;
            for (Index g = 0; g < path.groups(); ++g) {
                const Index both = path.row(g, a)[b];
                rows1_[g] = s == 0 ? both : path.ones(g, b) - both;
                rows0_[g] = side.counts[g] - rows1_[g];
            }
            ones_.find(rows1_, leaves_);
            if (ones_.size() == 0) continue;
            zeros_.find(rows0_, leaves_);
            const Limb twins = static_cast<Limb>(multiplicity_[path.features[b]]);
            for (Index i = 0; i < ones_.size(); ++i)
                for (Index j = 0; j < zeros_.size(); ++j)
                    if (leaves_.trivial_splits || ones_.labels[i] != zeros_.labels[j])
                        take(side, ones_.keys[i] + zeros_.keys[j], ones_.cost(i), zeros_.cost(j), twins);
        }
    }

    /// The leaves on some rows: labels, keys and costs.
    struct Found {
        std::vector<Index> labels;
        std::vector<Key> keys;
        std::vector<Index> costs;  ///< [leaf][functional]
        Index functionals = 0;

        Index size() const { return static_cast<Index>(labels.size()); }
        const Index* cost(Index i) const { return costs.data() + i * functionals; }
        void find(std::span<const Index> counts, const Leaves<Key>& leaves) {
            functionals = leaves.functionals();
            labels.clear(), keys.clear(), costs.clear();
            for_each_label(counts, leaves.rule, [&](Index label) {
                labels.push_back(label);
                keys.push_back(leaves.key(label, counts));
                for (Index d = 0; d < functionals; ++d) costs.push_back(leaves.cost(d, label, counts));
            });
        }
    };

    void take(Side<Key>& side, Key key, const Index* cost1, const Index* cost0, Limb value) const {
        const Index at = side.listed.size();
        side.push(key, value);
        for (Index d = 0; d < leaves_.functionals(); ++d) {
            const Index cost = cost1[d] + (cost0 == nullptr ? 0 : cost0[d]);
            side.listed.cost(at)[d] = cost;
            side.least[d] = std::min(side.least[d], cost);
        }
    }

    const Leaves<Key>& leaves_;
    std::span<const Index> multiplicity_;
    Index rest_;
    Found whole_, ones_, zeros_;
    std::vector<Index> rows1_, rows0_;  ///< [group]: of the two leaves below a side
};

}  // namespace adtc

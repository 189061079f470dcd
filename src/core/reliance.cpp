#include "reliance.h"

#include <array>

#include "hybrid_leaves.h"

namespace adtc {
namespace {

constexpr Index kNobody = Index{1} << 61;  // more errors than any tree makes; two of them fit

/// What a cell's best trees are, lane by lane; see `SwitchedErrors`.
template <class Key>
class BestTrees {
public:
    using Store = SwitchedErrors::Store;

    BestTrees(HybridLeaves<Key>& leaves, Index last_level, Index most_bytes)
        : leaves_(leaves),
          columns_(leaves.columns()),
          labels_(leaves.labels()),
          last_level_(last_level),
          most_bytes_(most_bytes) {
        for (Measured& leaf : measured_) leaf.errors.resize(static_cast<std::size_t>(labels_ * columns_));
        sums_.resize(static_cast<std::size_t>(lanes()));
    }

    std::vector<Store> levels;  ///< those that are complete, the last one first

    Store make(Index size) const {
        const Index width = SwitchedErrors::kParts * lanes();
        if (8 * size * width > most_bytes_) throw OutOfMemory();
        Store store(static_cast<std::size_t>(size * width));
        for (Index at = 0; at < size; ++at) std::fill_n(store.begin() + at * width, lanes(), kNobody);
        return store;
    }
    void add_leaf(Store& to, Index at, Index label, const LeafPlace<Key>& place) {
        const Index* const errors = measured(0, place) + label * columns_;
        for (Index v = 0; v < columns_; ++v) {
            sums_[v] = errors[v];
            sums_[columns_ + v] = -errors[v];
        }
        improve(to, at, [&](Index) { return Parts{-1 - label, 0, 0}; });
    }
    void add_stump(Store& to, Index at, Index, Index f, Index p, Index q, LeafPlace<Key> place) {
        place.t = 0;
        const Index* const ones = measured(1, place) + p * columns_;
        place.t = 1;
        const Index* const zeros = measured(2, place) + q * columns_;
        for (Index v = 0; v < columns_; ++v) {
            sums_[v] = ones[v] + zeros[v];
            sums_[columns_ + v] = -sums_[v];
        }
        improve(to, at, [&](Index) { return Parts{(f * labels_ + p) * labels_ + q, 0, 0}; });
    }
    void add_split(Store& to, Index at, Index level, Index f, const Store& from1, Index one, const Store& from0,
                   Index zero) {
        const Index *const ones = row(from1, one), *const zeros = row(from0, zero);
        for (Index l = 0; l < lanes(); ++l) sums_[l] = ones[l] + zeros[l];
        if (level == last_level_)
            improve(to, at, [&](Index l) { return Parts{f, ones[lanes() + l], zeros[lanes() + l]}; });
        else
            improve(to, at, [&](Index) { return Parts{f, one, zero}; });
    }
    void finish(Store&, Index) const {}
    void release(Store&) const {}
    void retire(Store& store) { levels.push_back(std::move(store)); }

private:
    using Parts = std::array<Index, 3>;
    /// A leaf that was measured last, as one of several labels asks for it after the other.
    struct Measured {
        std::array<Index, 5> place{-1, -1, -1, -1, -1};
        std::vector<Index> errors;  ///< [label][column]
    };

    Index lanes() const { return 2 * columns_; }
    const Index* row(const Store& store, Index at) const {
        return store.data() + SwitchedErrors::kParts * at * lanes();
    }

    const Index* measured(std::size_t slot, const LeafPlace<Key>& at) {
        Measured& known = measured_[slot];
        const std::array<Index, 5> place{at.id, at.a, at.s, at.b, at.t};
        if (known.place != place) {
            leaves_.measure(at, known.errors.data());
            known.place = place;
        }
        return known.errors.data();
    }

    /// Take `sums_` where they are less; `how(lane)` says what tree has them.
    template <class How>
    void improve(Store& to, Index at, How how) const {
        Index* const least = to.data() + SwitchedErrors::kParts * at * lanes();
        Index better = 0;
        for (Index l = 0; l < lanes(); ++l) better |= sums_[l] - least[l];
        if (better >= 0) return;
        for (Index l = 0; l < lanes(); ++l) {
            if (sums_[l] >= least[l]) continue;
            least[l] = sums_[l];
            const auto parts = how(l);
            for (Index part = 0; part < 3; ++part) least[(part + 1) * lanes() + l] = parts[part];
        }
    }

    HybridLeaves<Key>& leaves_;
    Index columns_, labels_, last_level_, most_bytes_;
    std::array<Measured, 3> measured_;  ///< a leaf, and the two of a stump
    std::vector<Index> sums_;           ///< [lane]
};

}  // namespace

void SwitchedErrors::append_tree(Index group, Index lane, const Spelling& spelling, Forest& forest) const {
    append(0, group, lane, spelling, forest.codes);
    forest.starts.push_back(static_cast<Index>(forest.codes.size()));
}

void SwitchedErrors::append(std::size_t level, Index place, Index lane, const Spelling& spelling,
                            std::vector<Index>& codes) const {
    const Index* const parts = levels[level].data() + kParts * place * lanes() + lane;
    const Index test = parts[lanes()];
    codes.push_back(test < 0 ? test : spelling.features[test]);
    if (test < 0) return;
    Index below[2] = {parts[2 * lanes()], parts[3 * lanes()]};
    if (spelling.flipped[test]) std::swap(below[0], below[1]);
    for (const Index side : below) {
        if (level + 1 < levels.size())
            append(level + 1, side, lane, spelling, codes);
        else
            append_side(side, spelling, codes);
    }
}

/// Append a tree of depth at most 1 below the last level.
void SwitchedErrors::append_side(Index number, const Spelling& spelling, std::vector<Index>& codes) const {
    if (number < 0) {
        codes.push_back(number);
        return;
    }
    const Index test = number / labels / labels;
    Index below[2] = {-1 - number / labels % labels, -1 - number % labels};
    if (spelling.flipped[test]) std::swap(below[0], below[1]);
    codes.push_back(spelling.features[test]);
    codes.insert(codes.end(), below, below + 2);
}

template <class Key>
SwitchedErrors switched_errors(const CircuitView<Key>& circuit, const RootGroups& groups,
                               std::span<const Index> column_of, Index columns, Index most_bytes,
                               const Control& control) {
    const Index rows = support_of(circuit.table->totals, circuit.leaves.rule);
    if (rows >= Index{1} << 30) throw std::invalid_argument("more rows than pairs of them can be counted");
    if (!circuit.leaves.trivial_splits) throw std::invalid_argument("trivial splits are left out");
    HybridLeaves<Key> leaves(circuit, column_of, columns, most_bytes / 4);
    BestTrees<Key> best(leaves, circuit.lattice->levels, most_bytes / 4);
    auto root = GoodCells<Key, BestTrees<Key>>(circuit, groups, best, control).add_up();
    best.levels.push_back(std::move(root));
    std::reverse(best.levels.begin(), best.levels.end());
    return {columns, groups.count, circuit.leaves.labels(), circuit.lattice->features, std::move(best.levels)};
}

template SwitchedErrors switched_errors(const CircuitView<Index>&, const RootGroups&, std::span<const Index>, Index,
                                        Index, const Control&);
template SwitchedErrors switched_errors(const CircuitView<WideKey>&, const RootGroups&, std::span<const Index>, Index,
                                        Index, const Control&);

}  // namespace adtc

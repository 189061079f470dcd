#include "semiring.h"

#include "algebra.h"
#include "walk.h"

namespace adtc {
namespace {

constexpr Index kOften = 16;  ///< paths between two looks at the limits

/// Trees of depth at most 2 on counts of pairs.
class Closing {
public:
    Closing(Algebra& algebra, const Lattice& lattice, std::span<const Index> multiplicity, Index groups)
        : algebra_(algebra), rest_(lattice.rest), multiplicity_(multiplicity) {
        for (auto& quadrant : counts_) quadrant.resize(static_cast<std::size_t>(groups));
    }

    /// Sum over those that are no single leaf.
    Sum close(const PairCounts<Index>& path) {
        const std::size_t slots = rest_ > 0 ? path.slots.size() : 0;
        sides_.resize(slots);
        for (std::size_t i = 0; i < slots; ++i) open(path, i);
        if (rest_ > 1)
            for (std::size_t i = 0; i < slots; ++i)
                for (std::size_t j = i + 1; j < slots; ++j)
                    if (sides_[i].exists() && sides_[j].exists()) pair(path, i, j);
        Sum total;
        for (std::size_t i = 0; i < slots; ++i) {
            const Sides& s = sides_[i];
            if (!s.exists()) continue;
            const Sum here = algebra_.split(s.one, s.others1, s.zero, s.others0);
            algebra_.add_times(total, here, multiplicity_[path.slots[i]]);
        }
        return total;
    }

private:
    /// The two sides of a feature: leaves there, and sums over splits into two leaves.
    struct Sides {
        LeafSums one, zero;
        Sum others1, others0;

        bool exists() const { return one.enough && zero.enough; }
    };

    void open(const PairCounts<Index>& path, std::size_t i) {
        for (std::size_t g = 0; g < path.totals.size(); ++g) {
            counts_[0][g] = path.row(g, i)[path.slots[i]];
            counts_[1][g] = path.totals[g] - counts_[0][g];
        }
        Sides& s = sides_[i];
        s.others1 = s.others0 = {};
        algebra_.measure(counts_[0], s.one);
        algebra_.measure(counts_[1], s.zero);
    }

    /// Add the splits on one of two features below the other; each quadrant is measured once.
    void pair(const PairCounts<Index>& path, std::size_t i, std::size_t j) {
        const Index fi = path.slots[i], fj = path.slots[j];
        for (std::size_t g = 0; g < path.totals.size(); ++g) {
            const Index both = path.row(g, i)[fj], one = path.row(g, i)[fi], other = path.row(g, j)[fj];
            counts_[0][g] = both;
            counts_[1][g] = one - both;
            counts_[2][g] = other - both;
            counts_[3][g] = path.totals[g] - one - other + both;
        }
        for (int q = 0; q < 4; ++q) algebra_.measure(counts_[q], quadrants_[q]);
        const auto& [q11, q10, q01, q00] = quadrants_;
        add_stumps(sides_[i].others1, q11, q10, fj);
        add_stumps(sides_[i].others0, q01, q00, fj);
        add_stumps(sides_[j].others1, q11, q01, fi);
        add_stumps(sides_[j].others0, q10, q00, fi);
    }

    void add_stumps(Sum& total, const LeafSums& one, const LeafSums& zero, Index feature) const {
        if (one.enough && zero.enough)
            algebra_.add_times(total, algebra_.two_leaves(one, zero), multiplicity_[feature]);
    }

    Algebra& algebra_;
    Index rest_;
    std::span<const Index> multiplicity_;
    std::vector<Sides> sides_;      ///< [slot]
    std::vector<Index> counts_[4];  ///< by quadrant 11, 10, 01, 00
    LeafSums quadrants_[4];
};

}  // namespace

void sum_last(Index first, Index stop, const Table& table, const Lattice& lattice, const SemiringFunctions& functions,
              const LeafMetrics& leaves, std::span<const Index> multiplicity, std::span<const bool> wanted,
              PathSums sums, const Control& control) {
    Algebra algebra(functions, leaves);
    Closing closing(algebra, lattice, multiplicity, table.groups());
    PairWalk<Index> walk(table, lattice, leaves.rule, wanted, control);
    walk.run(first, stop, [&](const PairCounts<Index>& path) {
        control.check();  // the user's functions may be slow
        const Index node = path.path.number(lattice);
        const Sum sum = closing.close(path);
        sums.value[node] = sum.value;
        sums.any[node] = sum.any;
    });
}

Sum sum_above(const Lattice& lattice, const SemiringFunctions& functions, const LeafMetrics& leaves,
              std::span<const Index> multiplicity, Grid<const Index> counts, PathSums sums, const Control& control) {
    Algebra algebra(functions, leaves);
    LeafSums one, zero;
    for (Index level = lattice.levels - 1; level >= 0; --level)
        for (Index number = 0; number < lattice.paths(level); ++number) {
            if (number % kOften == 0) control.check();
            const Index node = lattice.base[level] + number;
            if (support_of(counts.row(node), leaves.rule) < leaves.rule.minsup) continue;
            const Path path = path_at(lattice, level, number);
            Sum total;
            for_each_child(lattice, path.features, level, path.signs, [&](Index f, Children sides) {
                const auto counts1 = counts.row(sides.one), counts0 = counts.row(sides.zero);
                if (std::min(support_of(counts1, leaves.rule), support_of(counts0, leaves.rule)) < leaves.rule.minsup)
                    return;
                algebra.measure(counts1, one);
                algebra.measure(counts0, zero);
                const Sum others1{sums.value[sides.one], sums.any[sides.one]};
                const Sum others0{sums.value[sides.zero], sums.any[sides.zero]};
                algebra.add_times(total, algebra.split(one, others1, zero, others0), multiplicity[f]);
            });
            sums.value[node] = total.value;
            sums.any[node] = total.any;
        }
    algebra.measure(counts.row(0), one);
    return algebra.add(one.total, {sums.value[0], sums.any[0]});
}

}  // namespace adtc

// A walk over paths in canonical order that counts pairs of features at each path.
//
// A path is a set of literals; walked in the order f1 < f2 < …, both signs, each set is met once. Each
// step counts pairs in the smaller half of the rows only; the other half is the difference to the
// parent's counts. A feature that cannot split a path cannot split any path below it, so the matrices
// shrink on the way.
#pragma once

#include <functional>
#include <vector>

#include "control.h"
#include "lattice.h"
#include "leaf.h"
#include "pairs.h"

namespace adtc {

/// A path and its rows, as far as counts of pairs tell them.
template <class T>
struct PairCounts {
    Path path;
    std::vector<Index> totals;  ///< [group]: rows
    std::vector<Index> slots;   ///< ascending: the features that `pairs` has a row for
    std::vector<Index> row_of;  ///< [feature]: its row in `pairs`, −1 if there is none
    std::vector<T> pairs;       ///< [group][slot][lane]: rows where both features are 1
    Index lanes = 0;

    Index rows() const { return sum_of(totals); }
    const T* row(Index group, Index slot) const {
        return pairs.data() + (group * static_cast<Index>(slots.size()) + slot) * lanes;
    }
    T* row(Index group, Index slot) { return pairs.data() + (group * static_cast<Index>(slots.size()) + slot) * lanes; }

    /// Choose the features with counts; these are not initialised.
    void set_slots(Index features, std::span<const Index> chosen) {
        slots.assign(chosen.begin(), chosen.end());
        row_of.assign(static_cast<std::size_t>(features), -1);
        for (std::size_t i = 0; i < slots.size(); ++i) row_of[slots[i]] = static_cast<Index>(i);
        lanes = padded(features);
        pairs.resize(totals.size() * slots.size() * static_cast<std::size_t>(lanes));
    }
};

/// Visits all wanted paths of the last level whose first feature is in a range.
template <class T>
class PairWalk {
public:
    using Visit = std::function<void(const PairCounts<T>&)>;

    /// `wanted[path]` marks the paths of the last level to be visited, and those that lead to one.
    PairWalk(const Table& table, const Lattice& lattice, const LabelRule& rule, std::span<const bool> wanted,
             const Control& control)
        : table_(table),
          lattice_(lattice),
          rule_(rule),
          wanted_(wanted),
          control_(control),
          levels_(static_cast<std::size_t>(lattice.levels + 1)) {
        Level& root = levels_[0];
        root.rows[0] = records_of(table);
        PairCounts<T>& counts = root.side[0];
        counts.totals.assign(table.totals.begin(), table.totals.end());
        std::vector<Index> all(static_cast<std::size_t>(table.features()));
        std::iota(all.begin(), all.end(), 0);
        counts.set_slots(table.features(), all);
        count(root.rows[0], counts);
    }

    void run(Index first, Index stop, const Visit& visit) {
        if (lattice_.levels == 0)
            visit(levels_[0].side[0]);
        else
            descend(0, 0, first, stop, visit);
    }

private:
    struct Level {
        PairCounts<T> side[2];
        Rows rows[2];
    };

    void descend(Index level, int s, Index first, Index stop, const Visit& visit) {
        for (Index f = first; f < stop; ++f) {
            if (levels_[level].side[s].row_of[f] < 0) continue;
            bool wanted[2];
            Index number[2];
            for (int t = 0; t < 2; ++t) {
                number[t] = levels_[level].side[s].path.then(f, t == 1).number(lattice_);
                wanted[t] = wanted_[number[t]];
            }
            if (!wanted[0] && !wanted[1]) continue;
            control_.check();
            open(level, s, f, wanted);
            for (int t = 0; t < 2; ++t) {
                if (!wanted[t]) continue;
                if (level + 1 == lattice_.levels)
                    visit(levels_[level + 1].side[t]);
                else
                    descend(level + 1, t, f + 1, lattice_.features, visit);
            }
        }
    }

    /// Count the rows on both sides of a feature.
    void open(Index level, int s, Index f, const bool* wanted) {
        const PairCounts<T>& from = levels_[level].side[s];
        Level& to = levels_[level + 1];
        for (int t = 0; t < 2; ++t) {
            to.side[t].path = from.path.then(f, t == 1);
            to.side[t].totals.resize(from.totals.size());
        }
        for (std::size_t g = 0; g < from.totals.size(); ++g) {
            to.side[0].totals[g] = from.row(g, from.row_of[f])[f];
            to.side[1].totals[g] = from.totals[g] - to.side[0].totals[g];
        }
        choose_slots(from, f, level + 1 < lattice_.levels, support_of(to.side[0].totals, rule_),
                     support_of(to.side[1].totals, rule_));
        const int small = to.side[0].rows() <= to.side[1].rows() ? 0 : 1;
        for (int t = 0; t < 2; ++t) {
            if (t == small || (wanted[t] && level + 1 < lattice_.levels))
                select_rows(levels_[level].rows[s], f, t == 1, to.rows[t]);
            if (t == small || wanted[t]) to.side[t].set_slots(lattice_.features, chosen_);
        }
        count(to.rows[small], to.side[small]);
        if (wanted[1 - small]) subtract(from, to.side[small], to.side[1 - small]);
    }

    /// Keep the features that can still split a side, and those that can still extend its path.
    void choose_slots(const PairCounts<T>& from, Index f, bool extends, Index support1, Index support0) {
        chosen_.clear();
        for (const Index i : from.slots) {
            if (i == f) continue;
            bool keep = extends && i > f;
            if (!keep) {
                Index both = 0, alone = 0;
                for (Index g = 0; g < rule_.own; ++g) {
                    both += from.row(g, from.row_of[f])[i];
                    alone += from.row(g, from.row_of[i])[i];
                }
                const Index minsup = rule_.minsup;
                keep = (minsup <= both && both <= support1 - minsup) ||
                       (minsup <= alone - both && alone - both <= support0 - minsup);
            }
            if (keep) chosen_.push_back(i);
        }
    }

    void count(const Rows& rows, PairCounts<T>& counts) {
        slice_rows(rows, lattice_.features, slices_);
        count_pairs(
            slices_, table_, counts.slots,
            Cube<T>{counts.pairs.data(), table_.groups(), static_cast<Index>(counts.slots.size()), counts.lanes});
    }

    static void subtract(const PairCounts<T>& from, const PairCounts<T>& small, PairCounts<T>& large) {
        for (std::size_t g = 0; g < from.totals.size(); ++g)
            for (std::size_t i = 0; i < small.slots.size(); ++i) {
                const T* const whole = from.row(g, from.row_of[small.slots[i]]);
                const T* const part = small.row(g, i);
                T* const rest = large.row(g, i);
                for (Index j = 0; j < small.lanes; ++j) rest[j] = whole[j] - part[j];
            }
    }

    const Table& table_;
    const Lattice& lattice_;
    const LabelRule rule_;
    std::span<const bool> wanted_;
    const Control& control_;
    std::vector<Level> levels_;
    std::vector<Index> chosen_;
    Slices slices_;
};

}  // namespace adtc

// The tropical inside pass: the rows of every path, and the least cost of the trees below the longest.
//
// Pairs of features are counted only among rows where the last literals of a path hold on their
// minority sides; with M for pair counts, other signs follow by differences: M(f ¬h) = M(f) − M(f h),
// M(¬f ¬h) = M − M(f) − M(h) + M(f h). All of it is linear in counts, so matrices hold *channels*:
// the rows, and for each functional what each label costs. From a path's channels follow the best
// stumps on both sides of every feature, all features in one vector, and so the best tree of depth 2.
//
// Legend: a *prefix* is walked literal by literal; below it come *sets* of up to `spread` features,
// each in both signs. K path length, P prefix length, K = P + spread.
#pragma once

#include <memory>

#include "control.h"
#include "costs.h"
#include "lattice.h"
#include "table.h"

namespace adtc {

/// Where an inside pass writes.
struct InsideResult {
    Grid<Index> counts;  ///< [path][group]: rows; 0 where they are too few for a leaf
    Grid<Index> least;   ///< [functional][path]: at the last level the least cost, else untouched
    Grid<Index> splits;  ///< [functional][path of the last level]: the same of trees that are no leaf
};

/// One pass over all paths. Each phase must have been run for all features before the next begins;
/// within a phase, ranges of features are independent jobs. The last phase may be run for some
/// features only: it fills in the paths whose least feature is one of them.
class InsidePass {
public:
    virtual ~InsidePass() = default;
    virtual Index phases() const = 0;
    virtual void run(Index phase, Index first, Index stop, const InsideResult& result, const Control& control) = 0;
};

/// Count the bytes that each job of a pass holds at least, for pairs of features.
Index inside_job_bytes(const Table& table, const Costs& costs);

/// Choose number widths, and as many signs by differences as fit `memory` bytes for each of
/// `threads` jobs; no more than `most_spread` of them.
std::unique_ptr<InsidePass> make_inside_pass(const Table& table, const Lattice& lattice, const Costs& costs,
                                             Index memory, Index threads, Index most_spread);

}  // namespace adtc

#include "../forecast.h"

#include <utility>

#include "costs.h"
#include "tensors.h"
#include "types.h"

namespace adtc {
namespace {

/// `Ways` and the arrays that they look at.
struct BoundWays : Ways {
    std::vector<WideKey> key_weights_;
    bool wide = false;  ///< do keys take 128 bits?
    Array<const Index, 1> multiplicity_;
    Array<const Index, 2> counts_;
    Array<const Index, 1> support_, largest_;
    Array<const bool, 1> live_;
    Array<const Index, 2> least_, budgets_;

    BoundWays(const BoundLattice& lattice, const BoundCosts& costs, const BoundLeaves& leaves, bool trivial_splits,
              Array<const Index, 1> multiplicity, Array<const Index, 2> counts, Array<const Index, 1> support,
              Array<const Index, 1> largest, Array<const bool, 1> live, Array<const Index, 2> least,
              Array<const Index, 2> budgets)
        : wide(leaves.wide()),
          multiplicity_(std::move(multiplicity)),
          counts_(std::move(counts)),
          support_(std::move(support)),
          largest_(std::move(largest)),
          live_(std::move(live)),
          least_(std::move(least)),
          budgets_(std::move(budgets)) {
        Ways& ways = *this;
        ways.lattice = &lattice;
        ways.costs = &costs;
        leaves.any([&](const auto& of) {
            const auto n = of.key_weights.rows * of.key_weights.columns;
            key_weights_.assign(of.key_weights.data, of.key_weights.data + n);
            ways.key_weights = {key_weights_.data(), of.key_weights.rows, of.key_weights.columns};
            ways.key_constant = of.key_constant;
        });
        ways.trivial_splits = trivial_splits;
        ways.multiplicity = span_of(multiplicity_);
        ways.counts = grid_of(counts_);
        ways.support = span_of(support_);
        ways.largest = span_of(largest_);
        ways.live = span_of(live_);
        ways.least = grid_of(least_);
        ways.budgets = grid_of(budgets_);
        check_shapes();
    }

private:
    void check_shapes() const {
        const Index paths = lattice->size();
        const auto size = static_cast<std::size_t>(paths);
        if (key_weights.rows != costs->labels() || key_weights.columns != costs->groups() ||
            multiplicity.size() != static_cast<std::size_t>(lattice->features) || counts.rows != paths ||
            counts.columns != costs->groups() || support.size() != size || largest.size() != size ||
            live.size() != size || least.rows != costs->forms() || least.columns != paths || budgets.rows != paths ||
            budgets.columns != costs->forms())
            throw nb::value_error("the arrays of the ways do not belong together");
    }
};

/// `Bounds` and the arrays that they fill.
struct BoundBounds : Bounds {
    Array<double, 2> trees_;
    Array<double, 1> splitting_;
    Array<double, 2> active_;
    Array<std::uint64_t, 3> candidates_;
    Array<bool, 1> looked_;
    Array<double, 3> splits_;

    BoundBounds(Array<double, 2> trees, Array<double, 1> splitting, Array<double, 2> active,
                Array<std::uint64_t, 3> candidates, Array<bool, 1> looked, Array<double, 3> splits, Index leaf)
        : trees_(std::move(trees)),
          splitting_(std::move(splitting)),
          active_(std::move(active)),
          candidates_(std::move(candidates)),
          looked_(std::move(looked)),
          splits_(std::move(splits)) {
        Bounds& bounds = *this;
        bounds.trees = grid_of(trees_);
        bounds.splitting = span_of(splitting_);
        bounds.active = grid_of(active_);
        bounds.candidates = cube_of(candidates_);
        bounds.looked = span_of(looked_);
        bounds.splits = cube_of(splits_);
        bounds.leaf = leaf;
    }

    /// Refuse to work with ways of another lattice, or to look at features without room for that.
    void require(const Ways& ways, bool looks) const {
        const Lattice& lattice = *ways.lattice;
        const Index above = lattice.base[lattice.levels], last = lattice.paths(lattice.levels);
        const bool drawable = candidates.planes == last && static_cast<Index>(looked.size()) == last &&
                              candidates.rows == 3 && candidates.columns * 64 >= lattice.features &&
                              splits.planes == above && splits.rows == sizes() && splits.columns == lattice.features;
        if (trees.rows != above || static_cast<Index>(splitting.size()) != above || active.rows != last ||
            active.columns != 3 || leaf < 0 || leaf >= sizes() || (splits.planes > 0 && !drawable))
            throw nb::value_error("the arrays of the bounds do not belong to these paths");
        if (looks && !drawable) throw nb::value_error("these bounds have no room for the features of each path");
    }
};

/// `Spans` and the arrays that they look at.
struct BoundSpans : Spans {
    Array<const Index, 3> weights_;
    Array<const Index, 1> per_leaf_;

    BoundSpans(Array<const Index, 3> weights, Array<const Index, 1> per_leaf)
        : weights_(std::move(weights)), per_leaf_(std::move(per_leaf)) {
        Spans::weights = cube_of(weights_);
        Spans::per_leaf = span_of(per_leaf_);
        if (weights_.shape(0) != per_leaf_.shape(0))
            throw nb::value_error("the arrays of the spans do not belong together");
    }
};

std::tuple<NumpyArray<double>, NumpyArray<double>> bound_bound_levels(const BoundWays& ways, const BoundSpans& spans,
                                                                      BoundBounds& bounds, bool fine,
                                                                      const Control* control) {
    bounds.require(ways, fine);
    if (spans.weights.planes > 0 &&
        (spans.weights.rows != ways.costs->labels() || spans.weights.columns != ways.costs->groups()))
        throw nb::value_error("the spans must have a weight for each label and group of the costs");
    LevelBounds found;
    {
        const nb::gil_scoped_release release;
        found = bound_levels(ways, spans, bounds, fine, control);
    }
    return {to_numpy(std::move(found.trees)), to_numpy(std::move(found.cells))};
}

NumpyArray<double> bound_bounds_by_size(const BoundWays& ways, const BoundBounds& bounds, Index level) {
    bounds.require(ways, false);
    if (level < 0 || level > ways.lattice->levels) throw nb::value_error("level must be one of the lattice's");
    std::vector<double> found;
    std::size_t paths = 0;
    {
        const nb::gil_scoped_release release;
        const std::vector<Index> numbers = live_numbers(ways, level);
        paths = numbers.size();
        found = bounds_by_size(ways, bounds, level, numbers);
    }
    const Index sizes = level == ways.lattice->levels ? kClosed : bounds.sizes();
    return to_numpy(std::move(found), {paths, static_cast<std::size_t>(sizes)});
}

std::tuple<NumpyArray<Index>, NumpyArray<Index>, NumpyArray<bool>, Index> bound_draw_trees(
    const BoundWays& ways, BoundBounds& bounds, const BoundTable& table, Index level, Index attempts,
    std::uint64_t seed, bool free, Index most_leaves, const Control* control) {
    bounds.require(ways, true);
    if (level < 0 || level > ways.lattice->levels) throw nb::value_error("level must be one of the lattice's");
    if (table.features() != ways.lattice->features || table.groups() != ways.costs->groups())
        throw nb::value_error("the table must have the features and groups of the ways");
    DrawnTrees found;
    Buffer<bool> trivial;
    {
        const nb::gil_scoped_release release;
        found = draw_trees(ways, bounds, table, level, {seed, attempts, most_leaves, free}, control);
        trivial.resize(static_cast<Index>(found.trivial.size()));
        std::copy(found.trivial.begin(), found.trivial.end(), trivial.data());
    }
    const std::size_t kept = found.keys.size(), words = ways.wide ? 2 : 1;
    Buffer<Index> keys(static_cast<Index>(kept * words));
    for (std::size_t i = 0; i < kept; ++i) {
        keys.data()[i * words] = static_cast<Index>(found.keys[i]);
        if (ways.wide) keys.data()[i * words + 1] = static_cast<Index>(found.keys[i] >> 64);
    }
    auto told = ways.wide ? to_numpy(std::move(keys), {kept, words}) : to_numpy(std::move(keys), {kept});
    return {std::move(told), to_numpy(std::move(found.owners)), to_numpy(std::move(trivial), {kept}), found.tried};
}

Index bound_choose(Array<const double, 1> weights, double share) { return choose(span_of(weights), share); }

}  // namespace

void bind_forecast(nb::module_& module) {
    nb::class_<BoundWays>(module, "Ways")
        .def(nb::init<const BoundLattice&, const BoundCosts&, const BoundLeaves&, bool, Array<const Index, 1>,
                      Array<const Index, 2>, Array<const Index, 1>, Array<const Index, 1>, Array<const bool, 1>,
                      Array<const Index, 2>, Array<const Index, 2>>(),
             nb::keep_alive<1, 2>(), nb::keep_alive<1, 3>(), nb::arg("lattice"), nb::arg("costs"), nb::arg("leaves"),
             nb::arg("trivial_splits"), nb::arg("multiplicity"), nb::arg("counts"), nb::arg("support"),
             nb::arg("largest"), nb::arg("live"), nb::arg("least"), nb::arg("budgets"))
        .def_ro("support", &BoundWays::support_)
        .def_ro("largest", &BoundWays::largest_)
        .def_ro("live", &BoundWays::live_);
    nb::class_<BoundBounds>(module, "Bounds")
        .def(nb::init<Array<double, 2>, Array<double, 1>, Array<double, 2>, Array<std::uint64_t, 3>, Array<bool, 1>,
                      Array<double, 3>, Index>(),
             nb::arg("trees"), nb::arg("splitting"), nb::arg("active"), nb::arg("candidates"), nb::arg("looked"),
             nb::arg("splits"), nb::arg("leaf"))
        .def_ro("trees", &BoundBounds::trees_)
        .def_ro("splitting", &BoundBounds::splitting_)
        .def_ro("active", &BoundBounds::active_)
        .def_ro("candidates", &BoundBounds::candidates_)
        .def_ro("looked", &BoundBounds::looked_)
        .def_ro("splits", &BoundBounds::splits_)
        .def_ro("leaf", &BoundBounds::leaf);
    nb::class_<BoundSpans>(module, "Spans")
        .def(nb::init<Array<const Index, 3>, Array<const Index, 1>>(), nb::arg("weights"), nb::arg("per_leaf"))
        .def_ro("weights", &BoundSpans::weights_)
        .def_ro("per_leaf", &BoundSpans::per_leaf_);
    module.def("bound_levels", &bound_bound_levels, nb::arg("ways"), nb::arg("spans"), nb::arg("bounds"),
               nb::arg("fine"), nb::arg("control") = nb::none(),
               "Bound the trees and cells of all levels, root first, and fill in the bounds of every path.");
    module.def("bounds_by_size", &bound_bounds_by_size, nb::arg("ways"), nb::arg("bounds"), nb::arg("level"),
               "Return bounds on the trees below each live path of a level: [path, size].");
    module.def("draw_trees", &bound_draw_trees, nb::arg("ways"), nb::arg("bounds"), nb::arg("table"), nb::arg("level"),
               nb::arg("attempts"), nb::arg("seed"), nb::arg("free"), nb::arg("most_leaves"),
               nb::arg("control") = nb::none(),
               "Draw trees below the live paths of a level; returns keys, paths, whether each has a trivial split, "
               "and the attempts made.");
    module.def("choose", &bound_choose, nb::arg("weights"), nb::arg("share"),
               "Choose a position in proportion to weights by a number in [0, 1); -1 if all are zero.");
}

}  // namespace adtc

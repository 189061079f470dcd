#include "../bayes.h"

#include <nanobind/stl/pair.h>

#include <utility>

#include "../mixture.h"
#include "types.h"

namespace adtc {
namespace {

/// A `TreePrior` and the arrays that it looks at.
struct BoundPrior : TreePrior {
    Array<const double, 1> leaf_, split_;

    BoundPrior(Array<const double, 1> leaf, Array<const double, 1> split, int rule, Index features, Index minsup,
               Index most_leaves)
        : leaf_(std::move(leaf)), split_(std::move(split)) {
        TreePrior::leaf = span_of(leaf_);
        TreePrior::split = span_of(split_);
        TreePrior::rule = static_cast<SplitRule>(rule);
        TreePrior::features = features;
        TreePrior::minsup = minsup;
        TreePrior::most_leaves = most_leaves;
        require(TreePrior::leaf.size() == TreePrior::split.size() && rule >= 0 && rule <= 2 && minsup >= 0 &&
                    most_leaves >= 0 && features >= 0,
                "the parts of the prior do not belong together");
    }
};

using Numbers = std::pair<NumpyArray<double>, NumpyArray<Index>>;
using LeafArrays = std::tuple<NumpyArray<Index>, NumpyArray<double>, NumpyArray<Index>, double>;

/// Hand numbers over as digits and exponents.
Numbers numbers_of(std::span<const Scaled> values) {
    std::vector<double> digits;
    std::vector<Index> exponents;
    for (const Scaled value : values) {
        digits.push_back(value.digits);
        exponents.push_back(value.exponent);
    }
    return {to_numpy(std::move(digits)), to_numpy(std::move(exponents))};
}

LeafArrays leaves_of(LeafList&& list, Index labels) {
    const std::size_t n = list.number.size();
    const double lost = list.lost;
    return {to_numpy(std::move(list.number)), to_numpy(std::move(list.mass)),
            to_numpy(std::move(list.counts), {n, static_cast<std::size_t>(labels)}), lost};
}

/// A `BayesPass` and what it looks at.
struct BoundPass {
    const BoundLattice& lattice;
    const BoundTable& table;
    Array<const Index, 2> counts, groups;
    BayesPass pass;

    BoundPass(const BoundTable& table, const BoundLattice& lattice, Array<const Index, 2> counts,
              const Evidence& evidence, const BoundPrior& prior, Array<const Index, 2> groups, Index excluded)
        : lattice(lattice),
          table(table),
          counts(std::move(counts)),
          groups(std::move(groups)),
          pass(begun(evidence, prior, excluded)) {}

    /// Make room for the sums, which takes seconds where it is large.
    BayesPass begun(const Evidence& evidence, const BoundPrior& prior, Index excluded) const {
        const nb::gil_scoped_release release;
        return BayesPass(table, lattice, grid_of(counts), evidence, prior, grid_of(groups), excluded);
    }

    static void check(const BoundTable& table, const BoundLattice& lattice, const Array<const Index, 2>& counts,
                      const Evidence& evidence, const BoundPrior& prior, const Array<const Index, 2>& groups,
                      Index excluded) {
        require(table.features() == lattice.features && counts.shape(0) == static_cast<std::size_t>(lattice.size()) &&
                    counts.shape(1) == static_cast<std::size_t>(table.groups()) &&
                    evidence.labels() == table.groups() &&
                    groups.shape(0) == static_cast<std::size_t>(lattice.features) && excluded >= 0 &&
                    excluded <= static_cast<Index>(groups.shape(1)) &&
                    static_cast<Index>(prior.leaf.size()) > lattice.levels + lattice.rest,
                "table, lattice, counts, evidence, prior and groups do not belong together");
    }

    void require_range(Index first, Index stop, const Array<const bool, 1>& wanted) const {
        require(wanted.shape(0) == static_cast<std::size_t>(lattice.size()) && first >= 0 &&
                    stop <= std::max<Index>(lattice.features, 1),
                "wanted must hold a truth for each path, first and stop must be features");
    }

    void sum_last(Index first, Index stop, Array<const bool, 1> wanted, const Control& control) {
        require_range(first, stop, wanted);
        const nb::gil_scoped_release release;
        pass.sum_last(first, stop, span_of(wanted), control);
    }
    void sum_above(const Control& control) {
        const nb::gil_scoped_release release;
        pass.sum_above(control);
    }
    Numbers total(Index channel) const {
        require(channel >= 0 && channel < pass.channels(), "there is no such channel");
        return numbers_of(pass.total(channel));
    }
    Numbers best() const { return numbers_of(pass.best()); }

    std::tuple<Numbers, Index> choices(Array<const Index, 1> features, Array<const bool, 1> negative, Index size,
                                       bool best) const {
        Path path;
        bool fits = features.shape(0) == negative.shape(0) &&
                    static_cast<Index>(features.shape(0)) <= lattice.levels + lattice.rest;
        for (std::size_t i = 0; fits && i < features.shape(0); ++i) {
            const Index f = features(i);
            fits = f < lattice.features && f > (i == 0 ? -1 : features(i - 1));
            if (fits) path = path.then(f, negative(i));
        }
        require(fits, "a path has ascending features, no more than the trees are deep");
        WeightedChoices found;
        {
            const nb::gil_scoped_release release;
            found = pass.choices(path, size, best);
        }
        found.splits.insert(found.splits.begin(), found.leaf);
        return {numbers_of(found.splits), found.valid};
    }

    LeafArrays hand_down(double least, Array<bool, 1> live, const Control& control) {
        require(live.shape(0) == static_cast<std::size_t>(lattice.size()), "live must hold a truth for each path");
        LeafList list;
        {
            const nb::gil_scoped_release release;
            list = pass.hand_down(least, span_of(live), control);
        }
        return leaves_of(std::move(list), table.groups());
    }

    LeafArrays leaves_last(Index first, Index stop, Array<const bool, 1> wanted, double least,
                           const BoundLattice& names, Index most, const Control& control) const {
        require_range(first, stop, wanted);
        require(names.features == lattice.features &&
                    names.levels >= std::min(lattice.features, lattice.levels + lattice.rest),
                "names must number paths down to the leaves");
        LeafList list;
        {
            const nb::gil_scoped_release release;
            list = pass.leaves_last(first, stop, span_of(wanted), least, names, most, control);
        }
        return leaves_of(std::move(list), table.groups());
    }
};

void bound_mix(Array<const std::int32_t, 2> literals, Array<const double, 2> shares, Array<const double, 2> ones,
               Array<double, 2> out, const Control& control) {
    const LeafPaths leaves{grid_of(literals), grid_of(shares)};
    bool fits =
        leaves.literals.rows == leaves.shares.rows && out.shape(0) == ones.shape(1) && out.shape(1) == shares.shape(1);
    const Index codes = leaves.literals.rows * leaves.literals.columns;
    for (Index i = 0; fits && i < codes; ++i)
        fits = leaves.literals.data[i] < 2 * static_cast<std::int32_t>(ones.shape(0));
    require(fits, "leaves, rows and shares do not belong together");
    const nb::gil_scoped_release release;
    mix_leaves(leaves, grid_of(ones), grid_of(out), control);
}

/// Take paths apart: literals 2·feature + negative, ascending, −1 behind the last.
NumpyArray<std::int32_t> literals_of(const BoundLattice& names, Array<const Index, 1> numbers, Index depth) {
    std::vector<std::int32_t> literals(numbers.shape(0) * static_cast<std::size_t>(depth), -1);
    for (std::size_t i = 0; i < numbers.shape(0); ++i) {
        Index level = 0;
        while (level < names.levels && numbers(i) >= names.base[level + 1]) ++level;
        require(numbers(i) >= 0 && level <= depth && numbers(i) - names.base[level] < names.paths(level),
                "there is no path of that number and depth");
        const Path path = path_at(names, level, numbers(i) - names.base[level]);
        for (Index k = 0; k < level; ++k)
            literals[i * depth + k] = static_cast<std::int32_t>(2 * path.features[k] + (path.signs >> k & 1));
    }
    return to_numpy(std::move(literals), {numbers.shape(0), static_cast<std::size_t>(depth)});
}

}  // namespace

void bind_bayes(nb::module_& module) {
    nb::class_<Evidence>(module, "Evidence")
        .def(
            "__init__",
            [](Evidence* self, Array<const double, 1> rho, Array<const Index, 1> totals, bool blank) {
                require(rho.shape(0) == totals.shape(0), "there must be one rho for each label");
                new (self) Evidence(span_of(rho), span_of(totals), blank);
            },
            nb::arg("rho"), nb::arg("totals"), nb::arg("blank"));
    nb::class_<BoundPrior>(module, "TreePrior")
        .def(nb::init<Array<const double, 1>, Array<const double, 1>, int, Index, Index, Index>(), nb::arg("leaf"),
             nb::arg("split"), nb::arg("rule"), nb::arg("features"), nb::arg("minsup"), nb::arg("most_leaves"));
    nb::class_<BoundPass>(module, "BayesPass")
        .def(
            "__init__",
            [](BoundPass* self, const BoundTable& table, const BoundLattice& lattice, Array<const Index, 2> counts,
               const Evidence& evidence, const BoundPrior& prior, Array<const Index, 2> groups, Index excluded) {
                BoundPass::check(table, lattice, counts, evidence, prior, groups, excluded);
                new (self) BoundPass(table, lattice, counts, evidence, prior, groups, excluded);
            },
            nb::keep_alive<1, 2>(), nb::keep_alive<1, 3>(), nb::keep_alive<1, 5>(), nb::keep_alive<1, 6>(),
            nb::arg("table"), nb::arg("lattice"), nb::arg("counts"), nb::arg("evidence"), nb::arg("prior"),
            nb::arg("groups"), nb::arg("excluded"))
        .def("sum_last", &BoundPass::sum_last, nb::arg("first"), nb::arg("stop"), nb::arg("wanted"), nb::arg("control"),
             "Sum over the trees below paths of the last level that start with these features.")
        .def("sum_above", &BoundPass::sum_above, nb::arg("control"), "Fill in the shorter paths.")
        .def("total", &BoundPass::total, nb::arg("channel"),
             "Give the sums over all trees by number of leaves, as digits and exponents of two.")
        .def("best", &BoundPass::best, "Give the largest single products, likewise.")
        .def("choices", &BoundPass::choices, nb::arg("features"), nb::arg("negative"), nb::arg("size"), nb::arg("best"),
             "Weigh what a path's node may become: a leaf, then each feature by leaves on side 1. Also "
             "returns how many features can split it.")
        .def("hand_down", &BoundPass::hand_down, nb::arg("least"), nb::arg("live"), nb::arg("control"),
             "Hand probabilities down; list leaves above the last level: numbers, probabilities, rows, and what "
             "a row may have lost at leaves left out.")
        .def("leaves_last", &BoundPass::leaves_last, nb::arg("first"), nb::arg("stop"), nb::arg("wanted"),
             nb::arg("least"), nb::arg("names"), nb::arg("most"), nb::arg("control"),
             "List the leaves at and below the last level's live paths.");
    module.def("mix_leaves", &bound_mix, nb::arg("literals"), nb::arg("shares"), nb::arg("ones"), nb::arg("out"),
               nb::arg("control"), "Add to each row the shares of the leaves that it reaches.");
    module.def("literals_of", &literals_of, nb::arg("names"), nb::arg("numbers"), nb::arg("depth"),
               "Take numbered paths apart into literals 2 * feature + negative.");
}

}  // namespace adtc

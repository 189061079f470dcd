#include "../adjoint.h"

#include <nanobind/stl/vector.h>

#include "circuit.h"

namespace adtc {
namespace {

template <class Key, class N>
using BackwardPtr = std::unique_ptr<Backward<Key, N>>;

/// A `Backward` over keys of either width and numbers of any kind, with the arrays that it looks at.
class BoundBackward {
    using Any = std::variant<BackwardPtr<Index, Exact<1>>, BackwardPtr<Index, Exact<2>>, BackwardPtr<Index, Exact<0>>,
                             BackwardPtr<Index, Real>, BackwardPtr<WideKey, Exact<0>>, BackwardPtr<WideKey, Real>>;

    template <class Use>
    auto visit_pass(Use use) {
        return std::visit([&](auto& pass) { return use(*pass); }, pass_);
    }
    template <class Pass>
    using WordOf = typename std::remove_reference_t<Pass>::Word;

public:
    BoundBackward(const BoundTable& table, const BoundLattice& lattice, const BoundLeaves& leaves,
                  Array<const Index, 1> multiplicity, Array<const Index, 2> counts, Array<const Index, 2> budgets,
                  Array<const bool, 1> live, const std::vector<BoundLevel>& levels, Index limbs, Index most_bytes)
        : circuit_(table, lattice, leaves, std::move(multiplicity), std::move(counts), std::move(budgets),
                   std::move(live), levels) {
        if (limbs < 0) throw nb::value_error("numbers have a limb at least, or none for floats");
        std::visit(
            [&]<class Key>(const Leaves<Key>& of) {
                const auto make = [&]<class N>(const N& numbers) {
                    pass_ = std::make_unique<Backward<Key, N>>(circuit_.view(of), numbers, most_bytes);
                };
                if (limbs == 0) return make(Real{});
                with_limbs<Key>(limbs, [&]<int L>(Limbs<L> arithmetic) { make(Exact<L>{arithmetic}); });
            },
            circuit_.leaves().leaves);
        levels_ = static_cast<Index>(levels.size());
        cells_ = levels.empty() ? 0 : static_cast<Index>(levels[0].keys_.shape(0));
    }

    /// Rows to vote on: records of the distinct features, and their numbers; those on which equal
    /// features differ apart; how many in all; and whether to list leaves.
    void watch(Array<const std::uint64_t, 2> records, Array<const Index, 1> names, Array<const Index, 2> mixed,
               Array<const Index, 1> mixed_names, Index rows, bool list) {
        const Index features = circuit_.lattice().features;
        const std::size_t words = static_cast<std::size_t>(std::max<Index>(1, (features + 63) / 64));
        bool fits = records.shape(1) == words && names.shape(0) == records.shape(0) &&
                    static_cast<Index>(mixed.shape(0)) == features && mixed_names.shape(0) == mixed.shape(1) &&
                    rows >= 0;
        for (const Index name : span_of(names)) fits = fits && 0 <= name && name < rows;
        for (const Index name : span_of(mixed_names)) fits = fits && 0 <= name && name < rows;
        if (!fits) throw nb::value_error("the arrays of the rows do not belong together");
        VotingRows voting;
        voting.rows.words = static_cast<Index>(words);
        voting.rows.starts = {0, static_cast<Index>(records.shape(0))};
        voting.rows.bits.assign(records.data(), records.data() + records.size());
        voting.rows.bits.resize(records.size() + 8);
        voting.names.assign(names.data(), names.data() + names.size());
        mixed_ = mixed;
        mixed_names_ = mixed_names;
        const MixedRows others{grid_of(mixed_), span_of(mixed_names_), circuit_.multiplicity()};
        visit_pass([&](auto& pass) { pass.watch(std::move(voting), others, rows, list); });
    }

    /// Begin with the weights of the root's cells: exact ones [cell, limb], or floats [cell].
    void begin(Array<const Limb, 2> weights) { begin_with<Limb>(weights.data(), weights.shape(0), weights.shape(1)); }
    void begin_real(Array<const double, 1> weights) { begin_with<double>(weights.data(), weights.shape(0), 1); }

    Index open(Index level) {
        check_level(level, levels_ - 1);
        nb::gil_scoped_release release;
        return visit_pass([&](auto& pass) { return pass.open(level); });
    }
    void fill(Index level, Index job, Index first, Index stop, const Control& control) {
        check_level(level, levels_ - 1);
        nb::gil_scoped_release release;
        visit_pass([&](auto& pass) { pass.fill(level, job, first, stop, control); });
    }
    void close(Index level) {
        check_level(level, levels_ - 1);
        nb::gil_scoped_release release;
        visit_pass([&](auto& pass) { pass.close(level); });
    }
    Index start_visits(Index level) {
        check_level(level, levels_);
        return visit_pass([&](auto& pass) {
            pass.start_visits();
            return pass.reached(level);
        });
    }
    void visit(Index level, Index job, Index first, Index stop, const Control& control) {
        check_level(level, levels_);
        nb::gil_scoped_release release;
        visit_pass([&](auto& pass) {
            if (first < 0 || stop > pass.reached(level)) throw std::out_of_range("there are no such paths");
            pass.visit(level, job, first, stop, control);
        });
    }

    /// The rows' totals: [label, row, word].
    nb::object totals() {
        return visit_pass([&](auto& pass) {
            const std::size_t labels = static_cast<std::size_t>(pass.labels()),
                              rows = static_cast<std::size_t>(pass.rows());
            return nb::cast(
                to_numpy(std::move(pass.totals()), {labels, rows, static_cast<std::size_t>(pass.numbers().size())}));
        });
    }
    /// Uses of features and leaves, by depth: [depth, feature, word] and [depth, label, word].
    nb::object tally() {
        return visit_pass([&](auto& pass) {
            auto tally = pass.tally();
            const std::size_t depths = static_cast<std::size_t>(pass.depths()) + 1,
                              wide = static_cast<std::size_t>(tally.wide);
            return nb::object(nb::make_tuple(
                to_numpy(std::move(tally.uses), {depths, static_cast<std::size_t>(tally.features), wide}),
                to_numpy(std::move(tally.leaves), {depths, static_cast<std::size_t>(tally.labels), wide})));
        });
    }
    /// The leaves: where each one's literals start, literals, labels and weights.
    nb::object events() {
        return visit_pass([&](auto& pass) {
            auto& events = pass.events();
            const std::size_t n = events.labels.size(), size = static_cast<std::size_t>(pass.numbers().size());
            return nb::object(nb::make_tuple(to_numpy(std::move(events.starts)), to_numpy(std::move(events.literals)),
                                             to_numpy(std::move(events.labels)),
                                             to_numpy(std::move(events.weights), {n, size})));
        });
    }

private:
    template <class Word>
    void begin_with(const Word* weights, std::size_t cells, std::size_t words) {
        visit_pass([&](auto& pass) {
            if constexpr (std::is_same_v<Word, WordOf<decltype(pass)>>) {
                if (static_cast<Index>(cells) == cells_ && static_cast<Index>(words) == pass.numbers().size())
                    return pass.begin({weights, cells * words});
            }
            throw nb::value_error("the weights are not those of the root's cells");
        });
    }
    static void check_level(Index level, Index levels) {
        if (level < 0 || level >= levels) throw nb::value_error("there is no such level");
    }

    BoundCircuit circuit_;
    Array<const Index, 2> mixed_;
    Array<const Index, 1> mixed_names_;
    Index levels_ = 0, cells_ = 0;
    Any pass_;
};

}  // namespace

void bind_adjoint(nb::module_& module) {
    nb::class_<BoundBackward>(module, "Backward")
        .def(nb::init<const BoundTable&, const BoundLattice&, const BoundLeaves&, Array<const Index, 1>,
                      Array<const Index, 2>, Array<const Index, 2>, Array<const bool, 1>,
                      const std::vector<BoundLevel>&, Index, Index>(),
             nb::arg("table"), nb::arg("lattice"), nb::arg("leaves"), nb::arg("multiplicity"), nb::arg("counts"),
             nb::arg("budgets"), nb::arg("live"), nb::arg("levels"), nb::arg("limbs"), nb::arg("most_bytes"))
        .def("watch", &BoundBackward::watch, nb::arg("records"), nb::arg("names"), nb::arg("mixed"),
             nb::arg("mixed_names"), nb::arg("rows"), nb::arg("list"))
        .def("begin", &BoundBackward::begin, nb::arg("weights"))
        .def("begin_real", &BoundBackward::begin_real, nb::arg("weights"))
        .def("open", &BoundBackward::open, nb::arg("level"))
        .def("fill", &BoundBackward::fill, nb::arg("level"), nb::arg("job"), nb::arg("first"), nb::arg("stop"),
             nb::arg("control"))
        .def("close", &BoundBackward::close, nb::arg("level"))
        .def("start_visits", &BoundBackward::start_visits, nb::arg("level"))
        .def("visit", &BoundBackward::visit, nb::arg("level"), nb::arg("job"), nb::arg("first"), nb::arg("stop"),
             nb::arg("control"))
        .def("totals", &BoundBackward::totals)
        .def("tally", &BoundBackward::tally)
        .def("events", &BoundBackward::events);
}

}  // namespace adtc

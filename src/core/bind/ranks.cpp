#include "../ranks.h"

#include <nanobind/stl/vector.h>

#include <mutex>

#include "../cell_sums.h"
#include "../routing.h"
#include "circuit.h"
#include "semiring.h"

namespace adtc {
namespace {

using At = std::tuple<Index, Index, Index>;
using SplitArrays =
    std::tuple<NumpyArray<Index>, NumpyArray<Index>, NumpyArray<Limb>, NumpyArray<Index>, NumpyArray<Limb>>;

template <class Key>
Key key_of(nb::int_ key) {
    if constexpr (sizeof(Key) == sizeof(Index))
        return nb::cast<Index>(key);
    else
        return wide_of(key);
}

template <class Key>
std::span<const Key> keys_of(const AnyKeys& keys) {
    const bool wide = sizeof(Key) > sizeof(Index);
    const bool fits = keys.ndim() == (wide ? 2 : 1) && (!wide || keys.shape(1) == 2) &&
                      reinterpret_cast<std::uintptr_t>(keys.data()) % alignof(Key) == 0;
    if (!fits) throw nb::value_error("the keys are not as wide as the circuit's");
    return {reinterpret_cast<const Key*>(keys.data()), keys.shape(0)};
}

template <class Key>
NumpyArray<Index> keys_to_numpy(std::vector<Key>&& keys) {
    if constexpr (sizeof(Key) == sizeof(Index)) {
        return to_numpy(std::move(keys));
    } else {
        std::vector<Index> words;
        for (const Key key : keys) words.insert(words.end(), {static_cast<Index>(key), static_cast<Index>(key >> 64)});
        return to_numpy(std::move(words), {keys.size(), 2});
    }
}

/// A cursor with the arrays that it looks at; calls of several threads wait for one another.
class BoundCursor {
    template <class Key>
    using CursorPtr = std::unique_ptr<Cursor<Key>>;

    template <class Use>
    auto visit(Use use) {
        return std::visit([&](auto& cursor) { return use(*cursor); }, cursor_);
    }

public:
    BoundCursor(const BoundTable& table, const BoundLattice& lattice, const BoundLeaves& leaves,
                Array<const Index, 1> multiplicity, Array<const Index, 2> counts, Array<const Index, 2> budgets,
                Array<const bool, 1> live, const std::vector<BoundLevel>& levels, Array<const Index, 1> twin_starts,
                Array<const Index, 1> twin_features, Array<const bool, 1> twin_flipped, Index most_bytes)
        : circuit_(table, lattice, leaves, std::move(multiplicity), std::move(counts), std::move(budgets),
                   std::move(live), levels),
          twin_starts_(std::move(twin_starts)),
          twin_features_(std::move(twin_features)),
          twin_flipped_(std::move(twin_flipped)) {
        std::visit([&]<class Key>(const Leaves<Key>& made) { cursor_ = opened(made, most_bytes); },
                   circuit_.leaves().leaves);
    }

    std::tuple<NumpyArray<Index>, NumpyArray<Index>> unrank(AnyKeys keys, Array<const Limb, 2> ranks,
                                                            const Control& control) {
        if (ranks.shape(0) != keys.shape(0) || static_cast<Index>(ranks.shape(1)) != limbs())
            throw nb::value_error("the ranks do not belong to the keys");
        Forest forest = visit([&]<class Key>(Cursor<Key>& cursor) {
            const auto wanted = keys_of<Key>(keys);
            nb::gil_scoped_release release;
            const std::lock_guard lock(mutex_);
            return cursor.unrank(wanted, {ranks.data(), ranks.size()}, control);
        });
        return {to_numpy(std::move(forest.starts)), to_numpy(std::move(forest.codes))};
    }

    std::vector<Limb> rank(Array<const Index, 1> codes, Array<const Index, 1> twins, AnyKeys keys) {
        const Index starts[2] = {0, static_cast<Index>(codes.shape(0))};
        bool fits = codes.shape(0) == keys.shape(0) && twins.shape(0) == keys.shape(0) &&
                    is_forest({starts, span_of(codes)}, circuit_.lattice().features,
                              circuit_.leaves().any([](const auto& leaves) { return leaves.labels(); }));
        for (std::size_t at = 0; fits && at < codes.shape(0); ++at)
            fits = codes(at) < 0 || (twins(at) >= 0 && twins(at) < circuit_.multiplicity()[codes(at)]);
        if (!fits) throw nb::value_error("the arrays of the tree do not belong together");
        return visit([&]<class Key>(Cursor<Key>& cursor) {
            const MeasuredTree<Key> tree{span_of(codes), span_of(twins), keys_of<Key>(keys)};
            nb::gil_scoped_release release;
            const std::lock_guard lock(mutex_);
            return cursor.rank(tree);
        });
    }

    std::vector<Index> labels(At at, nb::int_ key) {
        return visit([&]<class Key>(Cursor<Key>& cursor) {
            const Key wanted = key_of<Key>(key);
            const Position place = position(at);
            nb::gil_scoped_release release;
            const std::lock_guard lock(mutex_);
            return cursor.labels(place, wanted);
        });
    }

    /// Return features, keys and numbers of trees of child 1, and those of child 0.
    SplitArrays splits(At at, nb::int_ key) {
        return visit([&]<class Key>(Cursor<Key>& cursor) {
            const Key wanted = key_of<Key>(key);
            const Position place = position(at);
            Splits<Key> found;
            {
                nb::gil_scoped_release release;
                const std::lock_guard lock(mutex_);
                found = cursor.splits(place, wanted);
            }
            const std::size_t n = found.features.size(), limbs = static_cast<std::size_t>(found.limbs);
            return SplitArrays{to_numpy(std::move(found.features)), keys_to_numpy(std::move(found.keys1)),
                               to_numpy(std::move(found.counts1), {n, limbs}), keys_to_numpy(std::move(found.keys0)),
                               to_numpy(std::move(found.counts0), {n, limbs})};
        });
    }

    At child(At at, Index feature, bool negative) {
        return visit([&](auto& cursor) {
            if (feature < 0 || feature >= circuit_.lattice().features)
                throw nb::value_error("there is no such feature");
            const Position found = cursor.child(position(at), feature, negative);
            return At{found.path, found.side, found.end};
        });
    }

    /// Return the sums over the trees of the root's cells in a user's semiring, cell by cell; each has trees.
    NumpyArray<double> sums(AnyKeys keys, const BoundTable& rows, const SemiringFunctions& functions,
                            const BoundLeafMetrics& leaves, Index most_bytes, const Control& control) {
        const Lattice& lattice = circuit_.lattice();
        if (rows.features() != lattice.features || rows.groups() != static_cast<Index>(leaves.rule.group_label.size()))
            throw nb::value_error("the rows and the circuit do not belong together");
        std::vector<double> values;
        visit([&]<class Key>(Cursor<Key>& cursor) {
            const auto wanted = keys_of<Key>(keys);
            nb::gil_scoped_release release;  // functions written in Python take it back for themselves
            const std::lock_guard lock(mutex_);
            CellSums<Key> cells(cursor, lattice, circuit_.multiplicity(), rows, functions, leaves, most_bytes, control);
            for (const Key key : wanted) {
                const Sum sum = cells.of(key);
                if (!sum.any) throw nb::value_error("a cell without trees has no value");
                values.push_back(sum.value);
            }
        });
        return to_numpy(std::move(values));
    }

    Index limbs() {
        return visit([](auto& cursor) { return cursor.limbs(); });
    }
    Index bytes() {
        return visit([](auto& cursor) { return cursor.bytes(); });
    }

private:
    Position position(const At& at) const {
        const Position found{std::get<0>(at), std::get<1>(at), std::get<2>(at)};
        const Index literals = 2 * circuit_.lattice().features;
        if (found.path < 0 || found.path >= circuit_.lattice().size() || found.side >= literals ||
            found.end >= literals)
            throw nb::value_error("there is no such place in the circuit");
        return found;
    }

    template <class Key>
    CursorPtr<Key> opened(const Leaves<Key>& leaves, Index most_bytes) const {
        if (!belong_together()) throw nb::value_error("the arrays of the twins do not belong together");
        const Twins twins{span_of(twin_starts_), span_of(twin_features_), span_of(twin_flipped_)};
        return std::make_unique<Cursor<Key>>(circuit_.view(leaves), twins, most_bytes);
    }

    /// Nobody looks at the ends of arrays later.
    bool belong_together() const {
        const auto multiplicity = circuit_.multiplicity();
        const std::size_t n = static_cast<std::size_t>(circuit_.lattice().features);
        bool fits = multiplicity.size() == n && twin_starts_.shape(0) == n + 1 &&
                    twin_features_.shape(0) == twin_flipped_.shape(0) && twin_starts_(0) == 0 &&
                    twin_starts_(n) == static_cast<Index>(twin_features_.shape(0));
        for (std::size_t f = 0; fits && f < n; ++f) fits = twin_starts_(f + 1) - twin_starts_(f) == multiplicity[f];
        return fits;
    }

    BoundCircuit circuit_;
    Array<const Index, 1> twin_starts_, twin_features_;
    Array<const bool, 1> twin_flipped_;
    std::mutex mutex_;
    std::variant<CursorPtr<Index>, CursorPtr<WideKey>> cursor_;
};

}  // namespace

void bind_ranks(nb::module_& module) {
    nb::class_<BoundCursor>(module, "Cursor")
        .def(
            nb::init<const BoundTable&, const BoundLattice&, const BoundLeaves&, Array<const Index, 1>,
                     Array<const Index, 2>, Array<const Index, 2>, Array<const bool, 1>, const std::vector<BoundLevel>&,
                     Array<const Index, 1>, Array<const Index, 1>, Array<const bool, 1>, Index>(),
            nb::arg("table"), nb::arg("lattice"), nb::arg("leaves"), nb::arg("multiplicity"), nb::arg("counts"),
            nb::arg("budgets"), nb::arg("live"), nb::arg("levels"), nb::arg("twin_starts"), nb::arg("twin_features"),
            nb::arg("twin_flipped"), nb::arg("most_bytes"))
        .def("unrank", &BoundCursor::unrank, nb::arg("keys"), nb::arg("ranks"), nb::arg("control"))
        .def("rank", &BoundCursor::rank, nb::arg("codes"), nb::arg("twins"), nb::arg("keys"))
        .def("labels", &BoundCursor::labels, nb::arg("at"), nb::arg("key"))
        .def("splits", &BoundCursor::splits, nb::arg("at"), nb::arg("key"))
        .def("child", &BoundCursor::child, nb::arg("at"), nb::arg("feature"), nb::arg("negative"))
        .def("sums", &BoundCursor::sums, nb::arg("keys"), nb::arg("rows"), nb::arg("functions"), nb::arg("leaves"),
             nb::arg("most_bytes"), nb::arg("control"))
        .def_prop_ro("limbs", &BoundCursor::limbs)
        .def_prop_ro("bytes", &BoundCursor::bytes);
}

}  // namespace adtc

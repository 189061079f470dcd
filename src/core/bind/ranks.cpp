#include "../ranks.h"

#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/vector.h>

#include <mutex>
#include <stdexcept>

#include "types.h"

namespace adtc {
namespace {

/// Keys as Python sees them: whole numbers, or pairs of words, the lower one first.
template <class Key>
struct KeysOf;

template <>
struct KeysOf<Index> {
    static constexpr int kDimensions = 1;
    using In = Array<const Index, 1>;
    using Scalar = Index;
    static std::span<const Index> read(const In& keys, std::vector<Index>&) { return span_of(keys); }
    static Index one(Scalar key) { return key; }
    static NumpyArray<Index> write(std::vector<Index>&& keys) { return to_numpy(std::move(keys)); }
};

template <>
struct KeysOf<WideKey> {
    using In = Array<const Index, 2>;
    using Scalar = std::tuple<std::uint64_t, Index>;
    static std::span<const WideKey> read(const In& keys, std::vector<WideKey>& room) {
        if (keys.shape(1) != 2) throw nb::value_error("wide keys are pairs of words");
        for (std::size_t i = 0; i < keys.shape(0); ++i) room.push_back(joined(static_cast<std::uint64_t>(keys(i, 0)), keys(i, 1)));
        return room;
    }
    static WideKey one(const Scalar& key) { return joined(std::get<0>(key), std::get<1>(key)); }
    static NumpyArray<Index> write(std::vector<WideKey>&& keys) {
        std::vector<Index> words;
        for (const WideKey key : keys) words.insert(words.end(), {static_cast<Index>(key), static_cast<Index>(key >> 64)});
        return to_numpy(std::move(words), {keys.size(), 2});
    }
    static WideKey joined(std::uint64_t low, Index high) { return static_cast<WideKey>(high) << 64 | low; }
};

template <class Key>
using KeyArray = typename KeysOf<Key>::In;
using LimbArray = Array<const Limb, 2>;

/// A cursor with the arrays that it looks at; calls of several threads wait for one another.
template <class Key>
class BoundCursor {
  public:
    using Level = std::tuple<KeyArray<Key>, LimbArray, Array<const Index, 2>, Array<const Index, 1>, Array<const Index, 1>>;

    BoundCursor(const BoundTable& table, const BoundLattice& lattice, KeyArray<Key> key_weights,
                typename KeysOf<Key>::Scalar key_constant, Array<const Index, 3> cost_weights,
                Array<const Index, 1> cost_constants, Array<const Index, 1> group_label, Index minsup, bool majority,
                Index share_top, Index share_bottom, bool trivial_splits, Array<const Index, 1> multiplicity,
                Array<const Index, 2> counts, Array<const Index, 2> budgets, Array<const bool, 1> live,
                std::vector<Level> levels, Array<const Index, 1> twin_starts, Array<const Index, 1> twin_features,
                Array<const bool, 1> twin_flipped, Index most_bytes)
        : table_(table),
          lattice_(lattice),
          key_weights_(std::move(key_weights)),
          cost_weights_(std::move(cost_weights)),
          cost_constants_(std::move(cost_constants)),
          group_label_(std::move(group_label)),
          multiplicity_(std::move(multiplicity)),
          counts_(std::move(counts)),
          budgets_(std::move(budgets)),
          live_(std::move(live)),
          levels_(std::move(levels)),
          twin_starts_(std::move(twin_starts)),
          twin_features_(std::move(twin_features)),
          twin_flipped_(std::move(twin_flipped)) {
        CircuitView<Key> circuit;
        circuit.table = &table_;
        circuit.lattice = &lattice_;
        Leaves<Key>& leaves = circuit.leaves;
        const Index groups = table_.groups(), labels = static_cast<Index>(cost_weights_.shape(1));
        leaves.key_weights = {KeysOf<Key>::read(key_weights_, weights_room_).data(), labels, groups};
        leaves.key_constant = KeysOf<Key>::one(key_constant);
        leaves.cost_weights = cube_of(cost_weights_);
        leaves.cost_constants = span_of(cost_constants_);
        leaves.rule = {span_of(group_label_), labels, minsup, majority, share_top, share_bottom};
        leaves.trivial_splits = trivial_splits;
        circuit.multiplicity = span_of(multiplicity_);
        circuit.counts = grid_of(counts_);
        circuit.budgets = grid_of(budgets_);
        circuit.live = span_of(live_);
        rooms_.resize(levels_.size());
        for (std::size_t at = 0; at < levels_.size(); ++at) {
            const auto& [keys, values, costs, starts, stops] = levels_[at];
            LevelView<Key> level;
            const auto read = KeysOf<Key>::read(keys, rooms_[at]);
            level.cells = {read.data(), values.data(), costs.data(), static_cast<Index>(read.size()),
                           static_cast<Index>(values.shape(1)), static_cast<Index>(costs.shape(1))};
            level.starts = span_of(starts);
            level.stops = span_of(stops);
            circuit.levels.push_back(level);
        }
        check(circuit);
        const Twins twins{span_of(twin_starts_), span_of(twin_features_), span_of(twin_flipped_)};
        cursor_ = std::make_unique<Cursor<Key>>(std::move(circuit), twins, most_bytes);
    }

    std::tuple<NumpyArray<Index>, NumpyArray<Index>> unrank(KeyArray<Key> keys, LimbArray ranks, const Control& control) {
        if (ranks.shape(0) != keys.shape(0) || static_cast<Index>(ranks.shape(1)) != cursor_->limbs())
            throw nb::value_error("the ranks do not belong to the keys");
        Forest forest;
        {
            nb::gil_scoped_release release;
            const std::lock_guard lock(mutex_);
            std::vector<Key> room;
            forest = cursor_->unrank(KeysOf<Key>::read(keys, room), {ranks.data(), ranks.size()}, control);
        }
        return {to_numpy(std::move(forest.starts)), to_numpy(std::move(forest.codes))};
    }

    std::vector<Limb> rank(Array<const Index, 1> codes, Array<const Index, 1> twins, KeyArray<Key> keys) {
        if (codes.shape(0) != keys.shape(0) || twins.shape(0) != keys.shape(0) || codes.shape(0) == 0)
            throw nb::value_error("the arrays of the tree do not belong together");
        nb::gil_scoped_release release;
        const std::lock_guard lock(mutex_);
        std::vector<Key> room;
        return cursor_->rank({span_of(codes), span_of(twins), KeysOf<Key>::read(keys, room)});
    }

    std::vector<Index> labels(std::tuple<Index, Index, Index> at, typename KeysOf<Key>::Scalar key) {
        const std::lock_guard lock(mutex_);
        return cursor_->labels(position(at), KeysOf<Key>::one(key));
    }

    auto splits(std::tuple<Index, Index, Index> at, typename KeysOf<Key>::Scalar key) {
        const std::lock_guard lock(mutex_);
        Splits<Key> found = cursor_->splits(position(at), KeysOf<Key>::one(key));
        const std::size_t n = found.features.size(), limbs = static_cast<std::size_t>(found.limbs);
        return std::tuple(to_numpy(std::move(found.features)), KeysOf<Key>::write(std::move(found.keys1)),
                          to_numpy(std::move(found.counts1), {n, limbs}), KeysOf<Key>::write(std::move(found.keys0)),
                          to_numpy(std::move(found.counts0), {n, limbs}));
    }

    std::tuple<Index, Index, Index> child(std::tuple<Index, Index, Index> at, Index feature, bool negative) {
        const std::lock_guard lock(mutex_);
        const Position found = cursor_->child(position(at), feature, negative);
        return {found.path, found.side, found.end};
    }

    Index limbs() const { return cursor_->limbs(); }
    Index bytes() const { return cursor_->bytes(); }

  private:
    static Position position(const std::tuple<Index, Index, Index>& at) {
        return {std::get<0>(at), std::get<1>(at), std::get<2>(at)};
    }
    /// Refuse arrays that do not belong together: nobody looks at their ends later.
    void check(const CircuitView<Key>& circuit) const {
        const Index n = lattice_.features, groups = table_.groups(), paths = lattice_.size();
        const Index functionals = circuit.leaves.functionals(), labels = circuit.leaves.labels();
        const std::size_t levels = static_cast<std::size_t>(lattice_.levels) + 1;
        bool fits = table_.features() == n && circuit.multiplicity.size() == static_cast<std::size_t>(n) &&
                    static_cast<Index>(key_weights_.shape(0)) == labels * groups && labels > 0 &&
                    cost_weights_.shape(0) == static_cast<std::size_t>(functionals) &&
                    cost_weights_.shape(2) == static_cast<std::size_t>(groups) &&
                    group_label_.shape(0) == static_cast<std::size_t>(groups) && circuit.counts.rows == paths &&
                    circuit.counts.columns == groups && circuit.budgets.rows == paths &&
                    circuit.budgets.columns == functionals && live_.shape(0) == static_cast<std::size_t>(paths) &&
                    (levels_.empty() || levels_.size() == levels) && twin_starts_.shape(0) == static_cast<std::size_t>(n) + 1 &&
                    twin_features_.shape(0) == twin_flipped_.shape(0) && twin_starts_(0) == 0 &&
                    twin_starts_(static_cast<std::size_t>(n)) == static_cast<Index>(twin_features_.shape(0));
        for (Index f = 0; fits && f < n; ++f) fits = twin_starts_(f + 1) - twin_starts_(f) == multiplicity_(f) && multiplicity_(f) > 0;
        for (std::size_t at = 0; fits && at < levels_.size(); ++at) {
            const LevelView<Key>& level = circuit.levels[at];
            const std::size_t here = static_cast<std::size_t>(lattice_.paths(static_cast<Index>(at)));
            const auto& costs = std::get<2>(levels_[at]);
            const auto& values = std::get<1>(levels_[at]);
            fits = level.starts.size() == here && level.stops.size() == here && level.cells.limbs > 0 &&
                   (at == 0 || level.cells.functionals == functionals) &&
                   costs.shape(0) == static_cast<std::size_t>(level.cells.size) &&
                   values.shape(0) == static_cast<std::size_t>(level.cells.size);
            for (std::size_t p = 0; fits && p < here; ++p)
                fits = 0 <= level.starts[p] && level.starts[p] <= level.stops[p] && level.stops[p] <= level.cells.size;
        }
        if (!fits) throw nb::value_error("the arrays of the circuit do not belong together");
    }

    BoundTable table_;
    BoundLattice lattice_;
    KeyArray<Key> key_weights_;
    Array<const Index, 3> cost_weights_;
    Array<const Index, 1> cost_constants_, group_label_, multiplicity_;
    Array<const Index, 2> counts_, budgets_;
    Array<const bool, 1> live_;
    std::vector<Level> levels_;
    Array<const Index, 1> twin_starts_, twin_features_;
    Array<const bool, 1> twin_flipped_;
    std::vector<Key> weights_room_;
    std::vector<std::vector<Key>> rooms_;
    std::mutex mutex_;
    std::unique_ptr<Cursor<Key>> cursor_;
};

template <class Key>
void bind_cursor(nb::module_& module, const char* name) {
    using Bound = BoundCursor<Key>;
    nb::class_<Bound>(module, name)
        .def(nb::init<const BoundTable&, const BoundLattice&, KeyArray<Key>, typename KeysOf<Key>::Scalar,
                      Array<const Index, 3>, Array<const Index, 1>, Array<const Index, 1>, Index, bool, Index, Index, bool,
                      Array<const Index, 1>, Array<const Index, 2>, Array<const Index, 2>, Array<const bool, 1>,
                      std::vector<typename Bound::Level>, Array<const Index, 1>, Array<const Index, 1>,
                      Array<const bool, 1>, Index>(),
             nb::arg("table"), nb::arg("lattice"), nb::arg("key_weights"), nb::arg("key_constant"),
             nb::arg("cost_weights"), nb::arg("cost_constants"), nb::arg("group_label"), nb::arg("minsup"),
             nb::arg("majority"), nb::arg("share_top"), nb::arg("share_bottom"), nb::arg("trivial_splits"),
             nb::arg("multiplicity"), nb::arg("counts"), nb::arg("budgets"), nb::arg("live"), nb::arg("levels"),
             nb::arg("twin_starts"), nb::arg("twin_features"), nb::arg("twin_flipped"), nb::arg("most_bytes"))
        .def("unrank", &Bound::unrank, nb::arg("keys"), nb::arg("ranks"), nb::arg("control"))
        .def("rank", &Bound::rank, nb::arg("codes"), nb::arg("twins"), nb::arg("keys"))
        .def("labels", &Bound::labels, nb::arg("at"), nb::arg("key"))
        .def("splits", &Bound::splits, nb::arg("at"), nb::arg("key"))
        .def("child", &Bound::child, nb::arg("at"), nb::arg("feature"), nb::arg("negative"))
        .def_prop_ro("limbs", &Bound::limbs)
        .def_prop_ro("bytes", &Bound::bytes);
}

}  // namespace

void bind_ranks(nb::module_& module) {
    bind_cursor<Index>(module, "Cursor");
    bind_cursor<WideKey>(module, "WideCursor");
}

}  // namespace adtc

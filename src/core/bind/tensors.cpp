#include "tensors.h"

#include "../axes.h"
#include "../last_level.h"

namespace adtc {

WideKey wide_of(nb::int_ value) {
    const nb::object high = nb::steal(PyNumber_Rshift(value.ptr(), nb::int_(64).ptr()));
    const nb::object mask = nb::int_(std::numeric_limits<Limb>::max());
    const nb::object low = nb::steal(PyNumber_And(value.ptr(), mask.ptr()));
    return static_cast<WideKey>(static_cast<TwoLimbs>(nb::cast<Index>(high)) << 64 | nb::cast<Limb>(low));
}

nb::int_ int_of(WideKey value) {
    const nb::object high =
        nb::steal(PyNumber_Lshift(nb::int_(static_cast<Index>(value >> 64)).ptr(), nb::int_(64).ptr()));
    return nb::steal<nb::int_>(PyNumber_Or(high.ptr(), nb::int_(static_cast<Limb>(value)).ptr()));
}

namespace {

/// Tell whether keys have 128 bits: then they have one dimension more.
bool are_wide(const AnyKeys& keys, std::size_t dimensions) {
    const bool wide = keys.ndim() == dimensions + 1 && keys.shape(dimensions) == 2;
    if (!wide && keys.ndim() != dimensions)
        throw nb::value_error("keys are int64 [..., n], or int64 [..., n, 2] where wide");
    if (wide && reinterpret_cast<std::uintptr_t>(keys.data()) % alignof(WideKey) != 0)
        throw nb::value_error("wide keys must lie at an address that 16 divides");
    return wide;
}

template <class Key>
const Key* key_data(const AnyKeys& keys) {
    return reinterpret_cast<const Key*>(keys.data());
}

}  // namespace

BoundLeaves::BoundLeaves(AnyKeys key_weights, nb::int_ key_constant, Array<const Index, 3> cost_weights,
                         Array<const Index, 1> cost_constants, Array<const Index, 1> group_label, Index minsup,
                         bool majority, bool trivial_splits, bool dense, Index most_leaves, Index share_top,
                         Index share_bottom, bool root_leaf)
    : key_weights_(std::move(key_weights)),
      cost_weights_(std::move(cost_weights)),
      cost_constants_(std::move(cost_constants)),
      group_label_(std::move(group_label)),
      key_constant_(wide_of(key_constant)) {
    const bool wide = are_wide(key_weights_, 2);
    const auto labels = static_cast<Index>(key_weights_.shape(0)), groups = static_cast<Index>(key_weights_.shape(1));
    const bool fit = cost_weights_.shape(0) == cost_constants_.shape(0) &&
                     static_cast<Index>(cost_weights_.shape(1)) == labels &&
                     static_cast<Index>(cost_weights_.shape(2)) == groups &&
                     static_cast<Index>(group_label_.shape(0)) == groups && share_bottom > 0 && share_top >= 0;
    const bool fits = wide || key_constant_ == static_cast<Index>(key_constant_);
    if (!fit || !fits || labels < 1) throw nb::value_error("the arrays of the leaves do not belong together");
    if (!are_labels(span_of(group_label_), labels)) throw nb::value_error("a row group's label is no label");
    const auto make = [&]<class Key>(const Key* weights) {
        Leaves<Key> made;
        made.key_weights = {weights, labels, groups};
        made.key_constant = static_cast<Key>(key_constant_);
        made.cost_weights = cube_of(cost_weights_);
        made.cost_constants = span_of(cost_constants_);
        made.rule = {span_of(group_label_),
                     labels,
                     minsup,
                     majority,
                     share_top,
                     share_bottom,
                     own_groups(span_of(group_label_))};
        made.trivial_splits = trivial_splits;
        made.dense = dense;
        made.most_leaves = most_leaves;
        made.root_leaf = root_leaf;
        leaves = made;
    };
    if (wide)
        make(key_data<WideKey>(key_weights_));
    else
        make(key_data<Index>(key_weights_));
}

void BoundLeaves::coarsen(Array<const Index, 3> weights, Array<const Index, 1> constants, Array<const Index, 1> widths,
                          Array<const Index, 1> strides) {
    const std::size_t axes = widths.shape(0);
    bool fits = !wide() && weights.shape(0) == axes && constants.shape(0) == axes && strides.shape(0) == axes &&
                weights.shape(1) == key_weights_.shape(0) && weights.shape(2) == key_weights_.shape(1);
    for (const Index width : span_of(widths)) fits = fits && width >= 1;
    if (!fits) throw nb::value_error("the arrays of the coarse keys do not belong together");
    coarse_weights_ = std::move(weights);
    coarse_constants_ = std::move(constants);
    coarse_widths_ = std::move(widths);
    coarse_strides_ = std::move(strides);
    std::get<Leaves<Index>>(leaves).coarse = {cube_of(coarse_weights_), span_of(coarse_constants_),
                                              span_of(coarse_widths_), span_of(coarse_strides_)};
}

BoundLevel::BoundLevel(AnyKeys keys, Array<const Limb, 2> values, Array<const Index, 2> costs,
                       Array<const Index, 1> starts, Array<const Index, 1> stops)
    : keys_(std::move(keys)),
      values_(std::move(values)),
      costs_(std::move(costs)),
      starts_(std::move(starts)),
      stops_(std::move(stops)) {
    const bool wide = are_wide(keys_, 1);
    const auto size = static_cast<Index>(keys_.shape(0));
    bool fits = static_cast<Index>(values_.shape(0)) == size && static_cast<Index>(costs_.shape(0)) == size &&
                starts_.shape(0) == stops_.shape(0);
    for (std::size_t p = 0; fits && p < starts_.shape(0); ++p)
        fits = 0 <= starts_(p) && starts_(p) <= stops_(p) && stops_(p) <= size;
    if (!fits) throw nb::value_error("the arrays of the level do not belong together");
    const auto make = [&]<class Key>(const Key* data) {
        level = Level<Key>{{data, values_.data(), costs_.data(), size, static_cast<Index>(values_.shape(1)),
                            static_cast<Index>(costs_.shape(1))},
                           span_of(starts_),
                           span_of(stops_)};
    };
    if (wide)
        make(key_data<WideKey>(keys_));
    else
        make(key_data<Index>(keys_));
}

namespace {

/// A `Pool` of keys of either width.
struct BoundPool {
    std::variant<std::monostate, Pool<Index>, Pool<WideKey>> pool;

    BoundPool(Index limbs, Index functionals, bool wide) {
        if (limbs < 1 || functionals < 0) throw nb::value_error("a pool's numbers have at least one limb");
        if (wide)
            pool.emplace<Pool<WideKey>>(limbs, functionals);
        else
            pool.emplace<Pool<Index>>(limbs, functionals);
    }
    template <class Key>
    Pool<Key>& of() {
        if (auto* found = std::get_if<Pool<Key>>(&pool)) return *found;
        throw nb::value_error("the pool's keys are not as wide as the leaves'");
    }
    bool wide() const { return std::holds_alternative<Pool<WideKey>>(pool); }
    Index bytes() { return wide() ? of<WideKey>().bytes() : of<Index>().bytes(); }
};

using Arrays = std::tuple<NumpyArray<Index>, NumpyArray<Limb>, NumpyArray<Index>>;

/// Hand the cells over to NumPy: keys, values [cell, limb], costs [cell, functional].
template <class Key>
Arrays arrays_of(Cells<Key>&& cells) {
    const auto n = static_cast<std::size_t>(cells.size()), limbs = static_cast<std::size_t>(cells.limbs),
               functionals = static_cast<std::size_t>(cells.functionals);
    auto values = to_numpy(std::move(cells.values), {n, limbs});
    auto costs = to_numpy(std::move(cells.costs), {n, functionals});
    if constexpr (sizeof(Key) == sizeof(Index)) {
        return {to_numpy(std::move(cells.keys), {n}), std::move(values), std::move(costs)};
    } else {
        Buffer<Key> keys = std::move(cells.keys);
        void* data = keys.release();
        if (data == nullptr) data = std::malloc(sizeof(Key));
        nb::capsule owner(data, [](void* memory) noexcept { std::free(memory); });
        return {NumpyArray<Index>(data, {n, std::size_t{2}}, owner), std::move(values), std::move(costs)};
    }
}

Arrays release(BoundPool& pool) {
    return pool.wide() ? arrays_of(pool.of<WideKey>().release()) : arrays_of(pool.of<Index>().release());
}

void check(bool fits) {
    if (!fits) throw nb::value_error("the arrays of the paths do not belong together");
}

/// Check the arrays with an entry for every path, and those with one for every path of a level.
void check_paths(const Lattice& lattice, Index level, Index budgets, Index marks, Index starts, Index stops) {
    check(budgets == lattice.size() && marks == lattice.size());
    check(0 <= level && level <= lattice.levels && starts == lattice.paths(level) && stops == starts);
}

void check_numbers(std::span<const Index> numbers, const Lattice& lattice, Index level) {
    for (const Index number : numbers) check(0 <= number && number < lattice.paths(level));
}

template <class A>
Index length(const A& array) {
    return static_cast<Index>(array.shape(0));
}

Index fill_last_paths(const Control& control, BoundPool& pool, Index job, const BoundTable& table,
                      const BoundLattice& lattice, const BoundLeaves& leaves, Array<const Index, 1> multiplicity,
                      Index first, Index stop, Array<const bool, 1> wanted, Array<const Index, 2> budgets,
                      Index most_bytes, Array<Index, 1> starts, Array<Index, 1> stops) {
    check_paths(lattice, lattice.levels, length(budgets), length(wanted), length(starts), length(stops));
    check(lattice.features == table.features() && length(multiplicity) == table.features());
    check(0 <= first && stop <= std::max<Index>(1, lattice.features));
    return std::visit(
        [&]<class Key>(const Leaves<Key>& of) {
            check(of.groups() == table.groups() && of.functionals() == static_cast<Index>(budgets.shape(1)));
            Pool<Key>& into = pool.of<Key>();
            nb::gil_scoped_release release;
            Part<Key> part = into.open(job);
            const LastLevelTask<Key> task{table,           lattice,          of,        span_of(multiplicity),
                                          span_of(wanted), grid_of(budgets), most_bytes};
            const Index pairs = fill_last(task, first, stop, control, part);
            into.commit(job, std::move(part), span_of(starts), span_of(stops));
            return pairs;
        },
        leaves.leaves);
}

void fill_single_leaves(BoundPool& pool, Index job, const BoundLattice& lattice, const BoundLeaves& leaves,
                        Array<const Index, 1> numbers, Array<const Index, 2> counts, Array<const Index, 2> budgets,
                        Array<Index, 1> starts, Array<Index, 1> stops) {
    check_paths(lattice, lattice.levels, length(budgets), length(counts), length(starts), length(stops));
    check_numbers(span_of(numbers), lattice, lattice.levels);
    std::visit(
        [&]<class Key>(const Leaves<Key>& of) {
            check(of.groups() == static_cast<Index>(counts.shape(1)) &&
                  of.functionals() == static_cast<Index>(budgets.shape(1)));
            Pool<Key>& into = pool.of<Key>();
            nb::gil_scoped_release release;
            Part<Key> part = into.open(job);
            fill_single(lattice, of, grid_of(counts), grid_of(budgets), span_of(numbers), part);
            into.commit(job, std::move(part), span_of(starts), span_of(stops));
        },
        leaves.leaves);
}

Index fill_level_paths(const Control& control, BoundPool& pool, Index job, const BoundLattice& lattice, Index level,
                       Array<const Index, 1> numbers, const BoundLeaves& leaves, Array<const Index, 1> multiplicity,
                       Array<const Index, 2> counts, Array<const bool, 1> live, Array<const Index, 2> budgets,
                       const BoundLevel& below, Index most_bytes, Array<Index, 1> starts, Array<Index, 1> stops,
                       Index share, Index shares) {
    check(0 <= share && share < shares && (shares == 1 || length(numbers) == 1));
    check_paths(lattice, level, length(budgets), length(live), length(starts), length(stops));
    check(level < lattice.levels && length(below.starts_) == lattice.paths(level + 1));
    check(length(counts) == lattice.size() && length(multiplicity) == lattice.features);
    check_numbers(span_of(numbers), lattice, level);
    return std::visit(
        [&]<class Key>(const Leaves<Key>& of) {
            const auto* from = std::get_if<Level<Key>>(&below.level);
            check(from != nullptr && of.groups() == static_cast<Index>(counts.shape(1)) &&
                  of.functionals() == static_cast<Index>(budgets.shape(1)) &&
                  of.functionals() == from->cells.functionals);
            Pool<Key>& into = pool.of<Key>();
            nb::gil_scoped_release release;
            Part<Key> part = into.open(job);
            const LevelTask<Key> task{lattice,
                                      of,
                                      level,
                                      span_of(multiplicity),
                                      grid_of(counts),
                                      span_of(live),
                                      grid_of(budgets),
                                      *from,
                                      most_bytes,
                                      share,
                                      shares};
            part.continued = share > 0;
            const Index pairs = fill_level(task, span_of(numbers), control, part);
            into.commit(job, std::move(part), span_of(starts), span_of(stops));
            return pairs;
        },
        leaves.leaves);
}

double bound_level_paths(const BoundLattice& lattice, Index level, Array<const Index, 1> numbers, Index labels,
                         Array<const Index, 1> multiplicity, Array<const bool, 1> live, Array<const double, 1> below,
                         Array<double, 1> bounds) {
    check(0 <= level && level < lattice.levels && length(live) == lattice.size());
    check(length(below) == lattice.paths(level + 1) && length(bounds) == lattice.paths(level));
    check(length(multiplicity) == lattice.features);
    check_numbers(span_of(numbers), lattice, level);
    nb::gil_scoped_release release;
    return bound_level(lattice, level, span_of(numbers), labels, span_of(multiplicity), span_of(live), span_of(below),
                       span_of(bounds));
}

/// Count the trees of every path of a level, as floats.
NumpyArray<double> tree_counts(const BoundLevel& level) {
    const auto paths = static_cast<std::size_t>(level.starts_.shape(0));
    Buffer<double> sums(static_cast<Index>(paths));
    {
        nb::gil_scoped_release release;
        std::visit(
            [&](const auto& of) {
                for (std::size_t p = 0; p < paths; ++p) sums[p] = count_trees(of.tensor(static_cast<Index>(p)));
            },
            level.level);
    }
    return to_numpy(std::move(sums), {paths});
}

/// Unpack one axis: (key − low) // stride % radix + offset.
NumpyArray<Index> axis_column(AnyKeys keys, nb::int_ low, nb::int_ stride, nb::int_ radix, Index offset) {
    const bool wide = are_wide(keys, 1);
    const WideKey from = wide_of(low), step = wide_of(stride), base = wide_of(radix);
    if (step < 1 || base < 1) throw nb::value_error("stride and radix are at least 1");
    const auto n = keys.shape(0);
    Buffer<Index> column(static_cast<Index>(n));
    {
        nb::gil_scoped_release release;
        if (wide)
            unpack_axis<WideKey>({key_data<WideKey>(keys), n}, {from, step, base, offset}, column.data());
        else
            unpack_axis<Index>({keys.data(), n},
                               {static_cast<Index>(from), static_cast<Index>(step), static_cast<Index>(base), offset},
                               column.data());
    }
    return to_numpy(std::move(column), {n});
}

/// Copy the cells that are marked: keys and values.
std::tuple<NumpyArray<Index>, NumpyArray<Limb>> marked_cells(AnyKeys keys, Array<const Limb, 2> values,
                                                             Array<const bool, 1> marked) {
    const std::size_t n = keys.shape(0), words = are_wide(keys, 1) ? 2 : 1, limbs = values.shape(1);
    check(values.shape(0) == n && marked.shape(0) == n);
    const std::span<const bool> good = span_of(marked);
    const auto count = static_cast<std::size_t>(std::count(good.begin(), good.end(), true));
    Buffer<Index> some_keys(static_cast<Index>(count * words));
    Buffer<Limb> some_values(static_cast<Index>(count * limbs));
    {
        nb::gil_scoped_release release;
        const Grid<const Index> all_keys{keys.data(), static_cast<Index>(n), static_cast<Index>(words)};
        copy_marked(all_keys, good, some_keys.data());
        copy_marked(grid_of(values), good, some_values.data());
    }
    auto chosen = words == 2 ? to_numpy(std::move(some_keys), {count, words}) : to_numpy(std::move(some_keys), {count});
    return {std::move(chosen), to_numpy(std::move(some_values), {count, limbs})};
}

void bind_leaves(nb::module_& module) {
    nb::class_<BoundLeaves>(module, "Leaves")
        .def(nb::init<AnyKeys, nb::int_, Array<const Index, 3>, Array<const Index, 1>, Array<const Index, 1>, Index,
                      bool, bool, bool, Index, Index, Index, bool>(),
             nb::arg("key_weights"), nb::arg("key_constant"), nb::arg("cost_weights"), nb::arg("cost_constants"),
             nb::arg("group_label"), nb::arg("minsup"), nb::arg("majority"), nb::arg("trivial_splits"),
             nb::arg("dense"), nb::arg("most_leaves"), nb::arg("share_top") = 0, nb::arg("share_bottom") = 1,
             nb::arg("root_leaf") = true)
        .def("coarsen", &BoundLeaves::coarsen, nb::arg("weights"), nb::arg("constants"), nb::arg("widths"),
             nb::arg("strides"))
        .def_ro("key_weights", &BoundLeaves::key_weights_)
        .def_prop_ro("key_constant", [](const BoundLeaves& of) { return int_of(of.key_constant_); })
        .def_ro("cost_weights", &BoundLeaves::cost_weights_)
        .def_ro("cost_constants", &BoundLeaves::cost_constants_)
        .def_ro("group_label", &BoundLeaves::group_label_)
        .def_prop_ro("minsup", [](const BoundLeaves& of) { return of.any([](auto& l) { return l.rule.minsup; }); })
        .def_prop_ro("majority", [](const BoundLeaves& of) { return of.any([](auto& l) { return l.rule.majority; }); })
        .def_prop_ro("trivial_splits",
                     [](const BoundLeaves& of) { return of.any([](auto& l) { return l.trivial_splits; }); })
        .def_prop_ro("dense", [](const BoundLeaves& of) { return of.any([](auto& l) { return l.dense; }); })
        .def_prop_ro("most_leaves", [](const BoundLeaves& of) { return of.any([](auto& l) { return l.most_leaves; }); })
        .def_prop_ro("share_top",
                     [](const BoundLeaves& of) { return of.any([](auto& l) { return l.rule.share_top; }); })
        .def_prop_ro("share_bottom",
                     [](const BoundLeaves& of) { return of.any([](auto& l) { return l.rule.share_bottom; }); })
        .def_prop_ro("root_leaf", [](const BoundLeaves& of) { return of.any([](auto& l) { return l.root_leaf; }); })
        .def("__reduce__",
             [](nb::handle self) {
                 return remade(self, "key_weights", "key_constant", "cost_weights", "cost_constants", "group_label",
                               "minsup", "majority", "trivial_splits", "dense", "most_leaves", "share_top",
                               "share_bottom", "root_leaf");
             })
        .def_prop_ro("wide", &BoundLeaves::wide);
}

}  // namespace

void bind_tensors(nb::module_& module) {
    bind_leaves(module);
    nb::class_<BoundPool>(module, "Pool")
        .def(nb::init<Index, Index, bool>(), nb::arg("limbs"), nb::arg("functionals"), nb::arg("wide") = false)
        .def_prop_ro("bytes", &BoundPool::bytes)
        .def("release", &release, "Hand over the cells: keys, values and costs.");
    nb::class_<BoundLevel>(module, "Level")
        .def(nb::init<AnyKeys, Array<const Limb, 2>, Array<const Index, 2>, Array<const Index, 1>,
                      Array<const Index, 1>>(),
             nb::arg("keys"), nb::arg("values"), nb::arg("costs"), nb::arg("starts"), nb::arg("stops"))
        .def_ro("keys", &BoundLevel::keys_)
        .def_ro("values", &BoundLevel::values_)
        .def_ro("costs", &BoundLevel::costs_)
        .def_ro("starts", &BoundLevel::starts_)
        .def_ro("stops", &BoundLevel::stops_);
    module.def("fill_last", &fill_last_paths, nb::arg("control"), nb::arg("pool"), nb::arg("job"), nb::arg("table"),
               nb::arg("lattice"), nb::arg("leaves"), nb::arg("multiplicity"), nb::arg("first"), nb::arg("stop"),
               nb::arg("wanted"), nb::arg("budgets"), nb::arg("most_bytes"), nb::arg("starts"), nb::arg("stops"));
    module.def("fill_single", &fill_single_leaves, nb::arg("pool"), nb::arg("job"), nb::arg("lattice"),
               nb::arg("leaves"), nb::arg("numbers"), nb::arg("counts"), nb::arg("budgets"), nb::arg("starts"),
               nb::arg("stops"));
    module.def("fill_level", &fill_level_paths, nb::arg("control"), nb::arg("pool"), nb::arg("job"), nb::arg("lattice"),
               nb::arg("level"), nb::arg("numbers"), nb::arg("leaves"), nb::arg("multiplicity"), nb::arg("counts"),
               nb::arg("live"), nb::arg("budgets"), nb::arg("below"), nb::arg("most_bytes"), nb::arg("starts"),
               nb::arg("stops"), nb::arg("share") = 0, nb::arg("shares") = 1);
    module.def("bound_level", &bound_level_paths, nb::arg("lattice"), nb::arg("level"), nb::arg("numbers"),
               nb::arg("labels"), nb::arg("multiplicity"), nb::arg("live"), nb::arg("below"), nb::arg("bounds"));
    module.def("tree_counts", &tree_counts, nb::arg("level"));
    module.def("axis_column", &axis_column, nb::arg("keys"), nb::arg("low"), nb::arg("stride"), nb::arg("radix"),
               nb::arg("offset"));
    module.def("marked_cells", &marked_cells, nb::arg("keys"), nb::arg("values"), nb::arg("marked"));
}

}  // namespace adtc

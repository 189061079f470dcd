#include "../partial.h"

#include <nanobind/stl/vector.h>

#include <cstring>
#include <mutex>

#include "whole_circuit.h"

namespace adtc {
namespace {

using At = std::tuple<Index, Index, Index>;

/// Copy keys, wherever they lie.
template <class Key>
std::vector<Key> copied(const AnyKeys& keys) {
    std::vector<Key> found(keys.shape(0));
    if (!found.empty()) std::memcpy(found.data(), keys.data(), found.size() * sizeof(Key));
    return found;
}

/// A `TreeList` or a `Context` of keys of either width.
struct BoundList {
    std::variant<TreeList<Index>, TreeList<WideKey>> list;

    template <class Key>
    const TreeList<Key>& of() const {
        if (const auto* found = std::get_if<TreeList<Key>>(&list)) return *found;
        throw nb::value_error("the list belongs to another circuit");
    }
};
struct BoundContext {
    std::variant<Context<Index>, Context<WideKey>> context;

    template <class Key>
    const Context<Key>& of() const {
        if (const auto* found = std::get_if<Context<Key>>(&context)) return *found;
        throw nb::value_error("the context belongs to another circuit");
    }
};

/// Partial trees of a circuit that stays alive with them; calls of several threads wait for one another.
class BoundPartialTrees {
    template <class Key>
    using Ptr = std::unique_ptr<PartialTrees<Key>>;

    /// Call `use` without Python's lock.
    template <class Use>
    auto visit(Use use) {
        return std::visit(
            [&](auto& trees) {
                nb::gil_scoped_release release;
                const std::lock_guard lock(mutex_);
                return use(*trees);
            },
            trees_);
    }

public:
    BoundPartialTrees(const WholeCircuit& circuit, Index limbs) : lattice_(circuit.lattice()) {
        if (limbs < 1) throw nb::value_error("numbers have at least one limb");
        circuit.visit([&]<class Key>(const CircuitView<Key>& view) {
            if (view.leaves.labels() > 64) throw nb::value_error("at most 64 labels");
            labels_ = view.leaves.labels();
            trees_ = std::make_unique<PartialTrees<Key>>(view, limbs);
        });
    }

    BoundList every(At at) {
        const Position place = position(at);
        return visit([&](auto& trees) { return BoundList{trees.every(place)}; });
    }
    BoundList leaf(At at, Index label) {
        const Position place = position(at);
        if (label < 0 || label >= labels_) throw nb::value_error("there is no such label");
        return visit([&](auto& trees) { return BoundList{trees.leaf(place, label)}; });
    }
    BoundList join(At at, const BoundList& ones, const BoundList& zeros) {
        const Position place = position(at);
        return visit([&]<class Key>(PartialTrees<Key>& trees) {
            return BoundList{trees.join(place, ones.of<Key>(), zeros.of<Key>())};
        });
    }
    BoundContext root(AnyKeys good, Array<const Index, 1> ranks) {
        if (ranks.shape(0) != 0 && ranks.shape(0) != good.shape(0))
            throw nb::value_error("there is a rank for each good key, or none");
        return visit([&]<class Key>(PartialTrees<Key>& trees) {
            const bool wide = sizeof(Key) > sizeof(Index);
            if (good.ndim() != (wide ? 2u : 1u))
                throw std::invalid_argument("the keys are not as wide as the circuit's");
            return BoundContext{trees.root(std::span<const Key>(copied<Key>(good)), span_of(ranks))};
        });
    }
    BoundContext below(At at, const BoundContext& context, const BoundList& child, const BoundList& sibling) {
        const Position place = position(at);
        return visit([&]<class Key>(PartialTrees<Key>& trees) {
            return BoundContext{trees.below(place, context.of<Key>(), child.of<Key>(), sibling.of<Key>())};
        });
    }
    std::vector<Limb> count(const BoundContext& context, const BoundList& list) {
        return visit(
            [&]<class Key>(PartialTrees<Key>& trees) { return trees.count(context.of<Key>(), list.of<Key>()); });
    }
    std::tuple<NumpyArray<Index>, NumpyArray<Limb>> split_counts(At at, const BoundContext& context) {
        const Position place = position(at);
        SplitCounts found =
            visit([&]<class Key>(PartialTrees<Key>& trees) { return trees.split_counts(place, context.of<Key>()); });
        const std::size_t n = found.features.size();
        const std::size_t limbs = n ? found.counts.size() / n : 1;
        return {to_numpy(std::move(found.features)), to_numpy(std::move(found.counts), {n, limbs})};
    }
    Index least_rank(const BoundContext& context, const BoundList& list) {
        return visit([&]<class Key>(PartialTrees<Key>& trees) {
            return trees.least_rank(ranked(context.of<Key>()), list.of<Key>());
        });
    }
    std::tuple<NumpyArray<Index>, NumpyArray<Index>> split_ranks(At at, const BoundContext& context) {
        const Position place = position(at);
        SplitRanks found = visit(
            [&]<class Key>(PartialTrees<Key>& trees) { return trees.split_ranks(place, ranked(context.of<Key>())); });
        return {to_numpy(std::move(found.features)), to_numpy(std::move(found.ranks))};
    }
    /// Return for each of some keys how many trees of a list have it.
    NumpyArray<Limb> counts_of(const BoundList& list, AnyKeys keys) {
        return std::visit(
            [&]<class Key>(const TreeList<Key>& trees) {
                const bool wide = sizeof(Key) > sizeof(Index);
                if (keys.ndim() != (wide ? 2u : 1u)) throw nb::value_error("the keys are not as wide as the circuit's");
                const std::vector<Key> wanted = copied<Key>(keys);
                KeySlots<Key> slots;
                slots.build(trees.keys.data(), trees.size());
                std::vector<Limb> found(keys.shape(0) * static_cast<std::size_t>(trees.limbs), 0);
                for (std::size_t i = 0; i < keys.shape(0); ++i)
                    if (const Index at = slots.find(wanted[i]); at >= 0)
                        std::copy_n(trees.value(at), trees.limbs,
                                    found.data() + i * static_cast<std::size_t>(trees.limbs));
                return to_numpy(std::move(found), {keys.shape(0), static_cast<std::size_t>(trees.limbs)});
            },
            list.list);
    }
    At child(At at, Index feature, bool negative) {
        if (feature < 0 || feature >= lattice_.features) throw nb::value_error("there is no such feature");
        const Position place = position(at);
        const Position found = visit([&](auto& trees) { return trees.child(place, feature, negative); });
        return {found.path, found.side, found.end};
    }

private:
    template <class Key>
    static const Context<Key>& ranked(const Context<Key>& context) {
        if (context.ranks.empty() && !context.weights.empty()) throw std::invalid_argument("the keys have no ranks");
        return context;
    }
    Position position(const At& at) const {
        const Position found{std::get<0>(at), std::get<1>(at), std::get<2>(at)};
        const Index literals = 2 * lattice_.features;
        if (found.path < 0 || found.path >= lattice_.size() || found.side >= literals || found.end >= literals)
            throw nb::value_error("there is no such place in the circuit");
        return found;
    }

    const Lattice& lattice_;
    Index labels_ = 0;
    std::mutex mutex_;
    std::variant<Ptr<Index>, Ptr<WideKey>> trees_;
};

}  // namespace

void bind_partial(nb::module_& module) {
    nb::class_<BoundList>(module, "TreeList");
    nb::class_<BoundContext>(module, "TreeContext");
    nb::class_<BoundPartialTrees>(module, "PartialTrees")
        .def(nb::init<const WholeCircuit&, Index>(), nb::arg("circuit"), nb::arg("limbs"), nb::keep_alive<1, 2>())
        .def("every", &BoundPartialTrees::every, nb::arg("at"))
        .def("leaf", &BoundPartialTrees::leaf, nb::arg("at"), nb::arg("label"))
        .def("join", &BoundPartialTrees::join, nb::arg("at"), nb::arg("ones"), nb::arg("zeros"))
        .def("root", &BoundPartialTrees::root, nb::arg("good"), nb::arg("ranks"))
        .def("below", &BoundPartialTrees::below, nb::arg("at"), nb::arg("context"), nb::arg("child"),
             nb::arg("sibling"))
        .def("count", &BoundPartialTrees::count, nb::arg("context"), nb::arg("trees"))
        .def("counts_of", &BoundPartialTrees::counts_of, nb::arg("trees"), nb::arg("keys"))
        .def("split_counts", &BoundPartialTrees::split_counts, nb::arg("at"), nb::arg("context"))
        .def("least_rank", &BoundPartialTrees::least_rank, nb::arg("context"), nb::arg("trees"))
        .def("split_ranks", &BoundPartialTrees::split_ranks, nb::arg("at"), nb::arg("context"))
        .def("child", &BoundPartialTrees::child, nb::arg("at"), nb::arg("feature"), nb::arg("negative"));
}

}  // namespace adtc

#include "variables.h"

#include <array>
#include <bit>
#include <numeric>

#include "good_cells.h"

namespace adtc {
namespace {

using Labels = std::uint64_t;  // a bit for each label of a leaf in a cell

constexpr Index kMostLabels = 64;

/// Count the pairs of leaves of equal label in two cells, where such splits do not count.
inline Index trivial_pairs(Labels one, Labels zero, bool counted) { return counted ? 0 : std::popcount(one & zero); }

/// Numbers of trees by lane, modulo 2^(64 · limbs).
template <int L>
struct WeightedCounts {
    struct Store {
        std::vector<Limb> values;  ///< [place][lane][limb]
        std::vector<Labels> labels;
    };

    Cube<const Limb> weights;  ///< [level][feature][lane]
    Limbs<L> limbs;
    bool trivial_splits;
    Index most_bytes;
    std::vector<Limb> product{}, scaled{};

    Index lanes() const { return weights.columns; }
    Index width() const { return lanes() * limbs.size(); }

    Store make(Index size) {
        if (size * (8 * width() + 8) > most_bytes) throw OutOfMemory();
        return {std::vector<Limb>(static_cast<std::size_t>(size * width())),
                std::vector<Labels>(static_cast<std::size_t>(size))};
    }
    template <class Place>
    void add_leaf(Store& to, Index at, Index label, const Place&) const {
        to.labels[at] |= Labels{1} << label;
        for (Index lane = 0; lane < lanes(); ++lane)
            limbs.add(to.values.data() + at * width() + lane * limbs.size(), Limb{1});
    }
    template <class Place>
    void add_stump(Store& to, Index at, Index level, Index f, Index, Index, const Place&) const {
        const Limb* const weight = weights[level][f];
        for (Index lane = 0; lane < lanes(); ++lane)
            limbs.add(to.values.data() + at * width() + lane * limbs.size(), weight[lane]);
    }
    void add_split(Store& to, Index at, Index level, Index f, const Store& from1, Index one, const Store& from0,
                   Index zero) {
        const Limb* const weight = weights[level][f];
        const Limb* const a = from1.values.data() + one * width();
        const Limb* const b = from0.values.data() + zero * width();
        Limb* const out = to.values.data() + at * width();
        const Limb trivial = static_cast<Limb>(trivial_pairs(from1.labels[one], from0.labels[zero], trivial_splits));
        if constexpr (L == 1) {
            for (Index lane = 0; lane < lanes(); ++lane) out[lane] += weight[lane] * (a[lane] * b[lane] - trivial);
        } else {
            product.resize(static_cast<std::size_t>(limbs.size()));
            scaled.resize(product.size());
            for (Index lane = 0; lane < lanes(); ++lane) {
                const Index place = lane * limbs.size();
                limbs.clear(product.data());
                limbs.add_product(product.data(), a + place, b + place, limbs.size());
                limbs.subtract(product.data(), trivial);
                limbs.scale(product.data(), limbs.size(), weight[lane], scaled.data());
                limbs.add(out + place, scaled.data());
            }
        }
    }
    void finish(Store&, Index) const {}
    void release(Store&) const {}
    void retire(Store&) const {}
};

/// A set of variables, a bit for each.
template <int Words>
struct Mask {
    std::array<std::uint64_t, Words> words{};

    static Mask of(Index variable) {
        Mask mask;
        mask.words[static_cast<std::size_t>(variable / 64)] = std::uint64_t{1} << (variable % 64);
        return mask;
    }
    Mask operator|(const Mask& other) const {
        Mask both;
        for (int w = 0; w < Words; ++w) both.words[w] = words[w] | other.words[w];
        return both;
    }
    bool within(const Mask& other) const {
        std::uint64_t more = 0;
        for (int w = 0; w < Words; ++w) more |= words[w] & ~other.words[w];
        return more == 0;
    }
    auto operator<=>(const Mask&) const = default;
};

/// Keep the sets that contain no other one; tell whether a new one was added.
template <int Words>
bool insert(std::vector<Mask<Words>>& sets, const Mask<Words>& set) {
    for (const auto& other : sets)
        if (other.within(set)) return false;
    std::erase_if(sets, [&](const auto& other) { return set.within(other); });
    sets.push_back(set);
    return true;
}

/// The minimal sets of variables of a cell's trees. Those of trees that are no leaf are kept; a leaf
/// needs none.
template <int Words>
struct MinimalSets {
    using Sets = std::vector<Mask<Words>>;
    struct Store {
        std::vector<Sets> splits;
        std::vector<Labels> labels;
    };

    const FeatureVariables& variables;
    bool trivial_splits;
    Index most_bytes;
    Sets united{};

    Store make(Index size) {
        if (size * static_cast<Index>(sizeof(Sets) + 8 * Words + 8) > most_bytes) throw OutOfMemory();
        return {std::vector<Sets>(static_cast<std::size_t>(size)), std::vector<Labels>(static_cast<std::size_t>(size))};
    }
    template <class Place>
    void add_leaf(Store& to, Index at, Index label, const Place&) const {
        to.labels[at] |= Labels{1} << label;
    }
    template <class Place>
    void add_stump(Store& to, Index at, Index, Index f, Index, Index, const Place&) const {
        add(to.splits[at], {}, f);
    }
    void add_split(Store& to, Index at, Index, Index f, const Store& from1, Index one, const Store& from0, Index zero) {
        const Labels labels1 = from1.labels[one], labels0 = from0.labels[zero];
        Sets& sets = to.splits[at];
        const bool same = labels1 == labels0 && std::popcount(labels1) == 1;
        if (labels1 && labels0 && (trivial_splits || !same)) return add(sets, {}, f);  // no set is smaller
        united.clear();
        for (const auto& a : from1.splits[one]) {
            if (labels0) insert(united, a);
            for (const auto& b : from0.splits[zero]) insert(united, a | b);
        }
        if (labels1)
            for (const auto& b : from0.splits[zero]) insert(united, b);
        for (const auto& set : united) add(sets, set, f);
    }
    void finish(Store&, Index) const {}
    void release(Store&) const {}
    void retire(Store&) const {}

private:
    void add(Sets& sets, const Mask<Words>& below, Index f) const {
        for (Index k = variables.starts[f]; k < variables.starts[f + 1]; ++k)
            insert(sets, below | Mask<Words>::of(variables.variables[k]));
    }
};

/// Numbers of trees by set of variables.
template <int Words>
struct SetCounts {
    /// The trees of a cell: entries may come twice until they are merged.
    struct Bag {
        std::vector<Mask<Words>> masks;
        std::vector<Limb> counts;  ///< [entry][limb]
        std::size_t merged = 0;    ///< entries that differ
        Labels labels = 0;
    };
    using Store = std::vector<Bag>;

    const FeatureVariables& variables;
    Limbs<0> limbs;
    bool trivial_splits;
    Index most_bytes;
    Index held = 0;  ///< bytes of all entries
    std::vector<Limb> product{};
    std::vector<std::size_t> order{};

    Store make(Index size) const { return Store(static_cast<std::size_t>(size)); }
    template <class Place>
    void add_leaf(Store& to, Index at, Index label, const Place&) {
        to[at].labels |= Labels{1} << label;
        product.assign(static_cast<std::size_t>(limbs.size()), 0);
        product[0] = 1;
        push(to[at], {}, 1);
    }
    template <class Place>
    void add_stump(Store& to, Index at, Index, Index f, Index, Index, const Place&) {
        product.assign(static_cast<std::size_t>(limbs.size()), 0);
        product[0] = 1;
        add(to[at], {}, f);
    }
    void add_split(Store& to, Index at, Index, Index f, const Store& from1, Index one, const Store& from0, Index zero) {
        const Bag &ones = from1[one], &zeros = from0[zero];
        const Limb trivial = static_cast<Limb>(trivial_pairs(ones.labels, zeros.labels, trivial_splits));
        product.resize(static_cast<std::size_t>(limbs.size()));
        const Mask<Words> none;
        for (std::size_t i = 0; i < ones.masks.size(); ++i)
            for (std::size_t j = 0; j < zeros.masks.size(); ++j) {
                const Mask<Words> both = ones.masks[i] | zeros.masks[j];
                limbs.clear(product.data());
                limbs.add_product(product.data(), ones.counts.data() + i * product.size(),
                                  zeros.counts.data() + j * product.size(), limbs.size());
                if (trivial && both == none) limbs.subtract(product.data(), trivial);
                add(to[at], both, f);
            }
    }
    /// Merge equal entries.
    void finish(Store& store, Index at) {
        Bag& bag = store[at];
        if (bag.merged == bag.masks.size()) return;
        const std::size_t width = static_cast<std::size_t>(limbs.size());
        order.resize(bag.masks.size());
        std::iota(order.begin(), order.end(), std::size_t{0});
        std::sort(order.begin(), order.end(), [&](auto a, auto b) { return bag.masks[a] < bag.masks[b]; });
        std::vector<Mask<Words>> masks;
        std::vector<Limb> counts;
        for (const std::size_t i : order) {
            const Limb* const count = bag.counts.data() + i * width;
            if (!masks.empty() && masks.back() == bag.masks[i]) {
                limbs.add(counts.data() + counts.size() - width, count);
            } else {
                masks.push_back(bag.masks[i]);
                counts.insert(counts.end(), count, count + width);
            }
        }
        held -= entry_bytes() * static_cast<Index>(bag.masks.size() - masks.size());
        bag.masks = std::move(masks);
        bag.counts = std::move(counts);
        bag.merged = bag.masks.size();
    }

    void release(const Store& store) {
        for (const Bag& bag : store) held -= entry_bytes() * static_cast<Index>(bag.masks.size());
    }
    void retire(const Store& store) { release(store); }

private:
    Index entry_bytes() const { return 8 * (Words + limbs.size()); }

    void add(Bag& bag, const Mask<Words>& below, Index f) {
        for (Index k = variables.starts[f]; k < variables.starts[f + 1]; ++k)
            push(bag, below | Mask<Words>::of(variables.variables[k]), static_cast<Limb>(variables.counts[k]));
    }
    /// Note `product` times a factor.
    void push(Bag& bag, const Mask<Words>& mask, Limb factor) {
        if (bag.masks.size() > 2 * bag.merged + 64) {
            Store one(1);
            std::swap(one[0], bag);
            const std::vector<Limb> kept = product;
            finish(one, 0);
            product = kept;
            std::swap(one[0], bag);
        }
        bag.masks.push_back(mask);
        bag.counts.resize(bag.counts.size() + product.size());
        limbs.scale(product.data(), limbs.size(), factor, bag.counts.data() + bag.counts.size() - product.size());
        held += entry_bytes();
        if (held > most_bytes) throw OutOfMemory();
    }
};

/// Call `use` with enough words for a bit for each variable: a few sizes only, each is compiled anew.
template <class Key, class Use>
auto with_words(Index words, Use use) {
    if constexpr (sizeof(Key) == sizeof(Index))
        if (words <= 2) return use.template operator()<2>();
    if (words <= 16) return use.template operator()<16>();
    throw std::invalid_argument("more variables than masks hold");
}

template <class Key>
void check_labels(const CircuitView<Key>& circuit) {
    if (circuit.leaves.labels() > kMostLabels) throw std::invalid_argument("more labels than masks hold");
}

}  // namespace

template <class Key>
std::vector<Limb> weighted_counts(const CircuitView<Key>& circuit, const RootGroups& groups, Cube<const Limb> weights,
                                  Index limbs, Index most_bytes, const Control& control) {
    check_labels(circuit);
    return with_limbs<Key>(limbs, [&]<int L>(Limbs<L> arithmetic) {
        WeightedCounts<L> sums{weights, arithmetic, circuit.leaves.trivial_splits, most_bytes};
        return GoodCells<Key, WeightedCounts<L>>(circuit, groups, sums, control).add_up().values;
    });
}

template <class Key>
std::vector<std::uint64_t> minimal_variable_sets(const CircuitView<Key>& circuit, const RootGroups& groups,
                                                 const FeatureVariables& variables, Index words, Index most_bytes,
                                                 const Control& control) {
    check_labels(circuit);
    return with_words<Key>(words, [&]<int Words>() {
        MinimalSets<Words> sums{variables, circuit.leaves.trivial_splits, most_bytes};
        const auto total = GoodCells<Key, MinimalSets<Words>>(circuit, groups, sums, control).add_up();
        typename MinimalSets<Words>::Sets sets;
        for (std::size_t g = 0; g < total.splits.size(); ++g) {
            if (total.labels[g]) insert(sets, Mask<Words>{});
            for (const auto& set : total.splits[g]) insert(sets, set);
        }
        std::vector<std::uint64_t> found;
        for (const auto& set : sets) found.insert(found.end(), set.words.begin(), set.words.begin() + words);
        return found;
    });
}

template <class Key>
VariableSetCounts variable_set_counts(const CircuitView<Key>& circuit, const RootGroups& groups,
                                      const FeatureVariables& variables, Index words, Index limbs, Index most_bytes,
                                      const Control& control) {
    check_labels(circuit);
    return with_words<Key>(words, [&]<int Words>() {
        SetCounts<Words> sums{variables, Limbs<0>{limbs}, circuit.leaves.trivial_splits, most_bytes};
        const auto total = GoodCells<Key, SetCounts<Words>>(circuit, groups, sums, control).add_up();
        VariableSetCounts found;
        for (std::size_t g = 0; g < total.size(); ++g) {
            for (const auto& mask : total[g].masks) {
                found.groups.push_back(static_cast<Index>(g));
                found.masks.insert(found.masks.end(), mask.words.begin(), mask.words.begin() + words);
            }
            found.counts.insert(found.counts.end(), total[g].counts.begin(), total[g].counts.end());
        }
        return found;
    });
}

template std::vector<Limb> weighted_counts(const CircuitView<Index>&, const RootGroups&, Cube<const Limb>, Index, Index,
                                           const Control&);
template std::vector<Limb> weighted_counts(const CircuitView<WideKey>&, const RootGroups&, Cube<const Limb>, Index,
                                           Index, const Control&);
template std::vector<std::uint64_t> minimal_variable_sets(const CircuitView<Index>&, const RootGroups&,
                                                          const FeatureVariables&, Index, Index, const Control&);
template std::vector<std::uint64_t> minimal_variable_sets(const CircuitView<WideKey>&, const RootGroups&,
                                                          const FeatureVariables&, Index, Index, const Control&);
template VariableSetCounts variable_set_counts(const CircuitView<Index>&, const RootGroups&, const FeatureVariables&,
                                               Index, Index, Index, const Control&);
template VariableSetCounts variable_set_counts(const CircuitView<WideKey>&, const RootGroups&, const FeatureVariables&,
                                               Index, Index, Index, const Control&);

}  // namespace adtc

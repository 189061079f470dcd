#include "opened.h"

namespace adtc {
namespace {

constexpr Index kUnlimited = Index{1} << 60;  // more than any cost

}  // namespace

template <class Key>
void MeasuredLeaf<Key>::measure(std::span<const Index> counts, const Leaves<Key>& leaves) {
    functionals = leaves.functionals();
    key.resize(static_cast<std::size_t>(leaves.labels()));
    cost.resize(static_cast<std::size_t>(leaves.labels() * functionals));
    std::fill(key.begin(), key.end(), kNoKey<Key>);
    for_each_label(counts, leaves.rule, [&](Index label) {
        key[label] = leaves.key(label, counts);
        leaves.costs(label, counts, cost.data() + label * functionals);
    });
}

template <class Key>
void WeighedSide<Key>::weigh(const Node<Key>& node, Index a, int s, const Leaves<Key>& leaves) {
    const Index width = node.pairs.width, groups = leaves.groups(), labels = leaves.labels();
    support = 0;
    rows.assign(static_cast<std::size_t>(width), 0);
    part.resize(static_cast<std::size_t>(width));
    ones.assign(static_cast<std::size_t>(labels * width), 0);
    whole.assign(static_cast<std::size_t>(labels), 0);
    ones_cost.assign(static_cast<std::size_t>(leaves.functionals() * labels * width), 0);
    whole_cost.assign(static_cast<std::size_t>(leaves.functionals() * labels), 0);
    node.pairs.read([&](const auto* pairs) {
        for (Index g = 0; g < groups; ++g) {
            const auto* const both = pairs + (g * width + a) * width;
            const Index* const single = node.pairs.single.data() + g * width;
            for (Index b = 0; b < width; ++b) part[b] = s ? single[b] - both[b] : both[b];
            const Index here = s ? node.counts[g] - both[a] : both[a];
            if (g < leaves.rule.own) {
                support += here;
                for (Index b = 0; b < width; ++b) rows[b] += part[b];
            }
            for (Index l = 0; l < labels; ++l) {
                const Key weight = leaves.key_weights[l][g];
                whole[l] += weight * here;
                Key* const out = ones.data() + l * width;
                for (Index b = 0; b < width; ++b) out[b] += weight * part[b];
            }
            for (Index r = 0; r < leaves.functionals() * labels; ++r) {
                const Index weight = leaves.cost_weights.data[r * groups + g];
                if (weight == 0) continue;
                whole_cost[r] += weight * here;
                Index* const out = ones_cost.data() + r * width;
                for (Index b = 0; b < width; ++b) out[b] += weight * part[b];
            }
        }
    });
}

template <class Key>
LastOpener<Key>::LastOpener(const CircuitView<Key>& circuit) : circuit_(circuit) {
    rows_.push_back(records_of(*circuit.table));
    const std::size_t groups = circuit.table->totals.size();
    part1_.resize(groups);
    part0_.resize(groups);
    for (Side& side : side_) {
        side.counts.resize(groups);
        side.limit.resize(static_cast<std::size_t>(circuit.leaves.functionals()));
        side.least.resize(side.limit.size());
    }
}

/// Select a path's rows. Its largest feature comes first: neighbouring numbers share that, and then
/// only the rows after the first difference are selected anew.
template <class Key>
void LastOpener<Key>::select(const Path& path) {
    std::size_t same = 0;
    for (; same < literals_.size() && same < static_cast<std::size_t>(path.length); ++same) {
        const Index at = path.length - 1 - static_cast<Index>(same);
        if (literals_[same] != std::pair(path.features[at], (path.signs >> at & 1) != 0)) break;
    }
    literals_.resize(same);
    rows_.resize(std::max(rows_.size(), static_cast<std::size_t>(path.length) + 1));
    for (Index at = path.length - 1 - static_cast<Index>(same); at >= 0; --at) {
        literals_.emplace_back(path.features[at], (path.signs >> at & 1) != 0);
        select_rows(rows_[literals_.size() - 1], literals_.back().first, literals_.back().second,
                    rows_[literals_.size()]);
    }
}

template <class Key>
void LastOpener<Key>::count(Node<Key>& node) {
    select(node.path);
    slice_rows(rows_[static_cast<std::size_t>(node.path.length)], circuit_.table->features(), slices_);
    if (sum_of(circuit_.table->totals) < (Index{1} << 31))
        count_as(node, counted_narrow_, node.pairs.narrow);
    else
        count_as(node, counted_wide_, node.pairs.wide);
}

template <class Key>
template <class T>
void LastOpener<Key>::count_as(Node<Key>& node, std::vector<T>& counted, std::vector<T>& kept) {
    const Table& table = *circuit_.table;
    const Index n = table.features(), lanes = padded(n), groups = table.groups();
    const LabelRule& rule = circuit_.leaves.rule;
    const Index support = support_of(node.counts, rule), minsup = rule.minsup;
    std::vector<Index> free;
    for (Index f = 0; f < n; ++f)
        if (!node.path.has(f)) free.push_back(f);
    const Index rows = static_cast<Index>(free.size());
    counted.resize(static_cast<std::size_t>(groups * rows * lanes));
    count_pairs(slices_, table, free, Cube<T>{counted.data(), groups, rows, lanes});
    std::vector<Index> chosen;
    for (Index r = 0; r < rows; ++r) {
        Index ones = 0;
        for (Index g = 0; g < rule.own; ++g) ones += counted[(g * rows + r) * lanes + free[r]];
        if (minsup <= ones && ones <= support - minsup) chosen.push_back(r);
    }
    ActivePairs& pairs = node.pairs;
    pairs.width = static_cast<Index>(chosen.size());
    for (const Index r : chosen) pairs.features.push_back(free[r]);
    kept.reserve(static_cast<std::size_t>(groups * pairs.width * pairs.width));
    for (Index g = 0; g < groups; ++g)
        for (const Index r : chosen)
            for (const Index f : pairs.features) kept.push_back(counted[(g * rows + r) * lanes + f]);
    for (Index g = 0; g < groups; ++g)
        for (Index b = 0; b < pairs.width; ++b) pairs.single.push_back(kept[(g * pairs.width + b) * pairs.width + b]);
}

template <class Key>
void LastOpener<Key>::open(Node<Key>& node) {
    const Leaves<Key>& leaves = circuit_.leaves;
    if (circuit_.lattice->rest == 0) return;
    count(node);
    weigh_costs(node);
    auto lists = std::make_shared<KeyLists<Key>>();
    lists->functionals = leaves.functionals();
    for (Index a = 0; a < node.pairs.width; ++a) {
        if (!list_sides(node, a)) continue;
        Branch<Key> branch;
        branch.feature = node.pairs.features[a];
        branch.active = a;
        node.branches.push_back(branch);
        for (const Side& side : side_) {
            merge(side, *lists);
            node.limits.insert(node.limits.end(), side.limit.begin(), side.limit.end());
            leaf1_.measure(side.counts, leaves);
            for (Index l = 0; l < leaves.labels(); ++l)
                node.leaf_keys.push_back(within(leaf1_.costs(l), side.limit) ? leaf1_.key[l] : kNoKey<Key>);
        }
    }
    for (std::size_t b = 0; b < node.branches.size(); ++b)
        for (std::size_t s = 0; s < 2; ++s) node.branches[b].cells[s] = (*lists)[2 * b + s];
    node.connect(leaves.labels(), leaves.functionals());
    node.lists.push_back(std::move(lists));
}

/// List both sides of the a-th active feature; tell whether any two trees fit the budgets together.
template <class Key>
bool LastOpener<Key>::list_sides(const Node<Key>& node, Index a) {
    for (std::size_t g = 0; g < part1_.size(); ++g) {
        side_[0].counts[g] = node.pairs.at(static_cast<Index>(g), a, a);
        side_[1].counts[g] = node.counts[g] - side_[0].counts[g];
    }
    if (!bound_sides(node, a)) return false;
    for (int s = 0; s < 2; ++s) {
        list(node, a, s);
        if (side_[s].keys.empty()) return false;
    }
    for (std::size_t d = 0; d < node.budgets.size(); ++d) {
        // costs may be negative, so each side is limited by what the other one costs at least
        side_[0].limit[d] = node.budgets[d] - side_[1].least[d];
        side_[1].limit[d] = node.budgets[d] - side_[0].least[d];
        if (side_[0].least[d] > side_[0].limit[d]) return false;
    }
    return true;
}

/// Write what the rows with each active feature cost under each label, by the first functional.
template <class Key>
void LastOpener<Key>::weigh_costs(const Node<Key>& node) {
    if (node.budgets.empty()) return;
    const Leaves<Key>& leaves = circuit_.leaves;
    const Index width = node.pairs.width;
    single_costs_.assign(static_cast<std::size_t>(leaves.labels() * width), 0);
    for (Index l = 0; l < leaves.labels(); ++l)
        for (Index g = 0; g < leaves.groups(); ++g) {
            const Index weight = leaves.cost_weights[0][l][g];
            for (Index b = 0; b < width; ++b) single_costs_[l * width + b] += weight * node.pairs.single[g * width + b];
        }
}

/// Limit each side by what the other one costs at least by the first functional, as if each leaf
/// could take the cheapest label; tell whether the cheapest two fit.
template <class Key>
bool LastOpener<Key>::bound_sides(const Node<Key>& node, Index a) {
    if (node.budgets.empty()) return true;
    const Leaves<Key>& leaves = circuit_.leaves;
    Index least[2];
    for (int s = 0; s < 2; ++s) {
        least[s] = kUnlimited;
        for (Index l = 0; l < leaves.labels(); ++l) least[s] = std::min(least[s], leaves.cost(0, l, side_[s].counts));
        std::fill(side_[s].limit.begin(), side_[s].limit.end(), kUnlimited);
    }
    if (circuit_.lattice->rest > 1) {
        node.pairs.read([&](const auto* pairs) { bound_stumps(node, pairs, a); });
        for (int s = 0; s < 2; ++s)
            for (Index b = 0; b < node.pairs.width; ++b) least[s] = std::min(least[s], stump_[s][b]);
    }
    for (int s = 0; s < 2; ++s) side_[s].limit[0] = node.budgets[0] - least[1 - s];
    return least[0] + least[1] <= node.budgets[0];
}

/// Bound what two leaves below a and each other active feature cost, on either side of a.
template <class Key>
template <class T>
void LastOpener<Key>::bound_stumps(const Node<Key>& node, const T* pairs, Index a) {
    const Leaves<Key>& leaves = circuit_.leaves;
    const Index width = node.pairs.width, groups = leaves.groups(), twice = 2 * leaves.cost_constants[0];
    both_costs_.resize(static_cast<std::size_t>(width));
    least_.assign(static_cast<std::size_t>(4 * width), kUnlimited);
    Index* const both = both_costs_.data();
    Index *const least11 = least_.data(), *const least10 = least11 + width;
    Index *const least01 = least10 + width, *const least00 = least01 + width;
    for (Index l = 0; l < leaves.labels(); ++l) {
        std::fill_n(both, width, 0);
        Index one = 0, whole = 0;
        for (Index g = 0; g < groups; ++g) {
            const Index weight = leaves.cost_weights[0][l][g];
            if (weight == 0) continue;
            one += weight * side_[0].counts[g];
            whole += weight * node.counts[g];
            const T* const row = pairs + (g * width + a) * width;
            for (Index b = 0; b < width; ++b) both[b] += weight * row[b];
        }
        const Index* const other = single_costs_.data() + l * width;
        for (Index b = 0; b < width; ++b) {
            least11[b] = std::min(least11[b], both[b]);
            least10[b] = std::min(least10[b], one - both[b]);
            least01[b] = std::min(least01[b], other[b] - both[b]);
            least00[b] = std::min(least00[b], whole - one - other[b] + both[b]);
        }
    }
    for (int s = 0; s < 2; ++s) {
        stump_[s].resize(static_cast<std::size_t>(width));
        const Index *const first = s ? least01 : least11, *const second = s ? least00 : least10;
        for (Index b = 0; b < width; ++b) stump_[s][b] = first[b] + second[b] + twice;
        stump_[s][a] = kUnlimited;
    }
}

/// List the trees on one side of the a-th active feature that fit the side's limit.
template <class Key>
void LastOpener<Key>::list(const Node<Key>& node, Index a, int s) {
    Side& side = side_[s];
    side.keys.clear();
    side.values.clear();
    side.costs.clear();
    std::fill(side.least.begin(), side.least.end(), kUnlimited);
    leaf1_.measure(side.counts, circuit_.leaves);
    for (std::size_t l = 0; l < leaf1_.key.size(); ++l)
        if (leaf1_.key[l] != kNoKey<Key>) push(side, leaf1_.key[l], 1, leaf1_.costs(static_cast<Index>(l)), nullptr);
    if (circuit_.lattice->rest < 2) return;
    if (is_unconstrained(circuit_.leaves.rule)) {
        weighed_.weigh(node, a, s, circuit_.leaves);
        return node.budgets.empty() ? list_freely(node, a, s) : list_within(node, a, s);
    }
    for (Index b = 0; b < node.pairs.width; ++b)
        if (b != a && (node.budgets.empty() || stump_[s][b] <= side.limit[0])) list_stumps(node, a, s, b);
}

/// List the stumps on one side where neither budgets nor votes matter.
template <class Key>
void LastOpener<Key>::list_freely(const Node<Key>& node, Index a, int s) {
    const Leaves<Key>& leaves = circuit_.leaves;
    const Index width = node.pairs.width, labels = leaves.labels();
    Side& side = side_[s];
    std::size_t n = side.keys.size();
    side.keys.resize(n + static_cast<std::size_t>(width * labels * labels));
    side.values.resize(side.keys.size());
    for (Index b = 0; b < width; ++b) {
        if (b == a || !weighed_.splits(b, leaves.rule.minsup)) continue;
        const Limb twins = static_cast<Limb>(circuit_.multiplicity[node.pairs.features[b]]);
        for (Index p = 0; p < labels; ++p)
            for (Index q = 0; q < labels; ++q) {
                if (p == q && !leaves.trivial_splits) continue;
                side.keys[n] = 2 * leaves.key_constant + weighed_.ones[p * width + b] + weighed_.whole[q] -
                               weighed_.ones[q * width + b];
                side.values[n++] = twins;
            }
    }
    side.keys.resize(n);
    side.values.resize(n);
}

/// List the stumps on one side within its limit, where votes do not matter.
template <class Key>
void LastOpener<Key>::list_within(const Node<Key>& node, Index a, int s) {
    const Leaves<Key>& leaves = circuit_.leaves;
    const Index width = node.pairs.width, labels = leaves.labels();
    Side& side = side_[s];
    cost_.resize(side.limit.size());
    for (Index b = 0; b < width; ++b) {
        if (b == a || stump_[s][b] > side.limit[0] || !weighed_.splits(b, leaves.rule.minsup)) continue;
        const Limb twins = static_cast<Limb>(circuit_.multiplicity[node.pairs.features[b]]);
        for (Index p = 0; p < labels; ++p)
            for (Index q = 0; q < labels; ++q) {
                if (p == q && !leaves.trivial_splits) continue;
                cost_[0] = weighed_.cost(0, p, q, b, leaves);
                if (cost_[0] > side.limit[0]) continue;
                for (std::size_t d = 1; d < cost_.size(); ++d)
                    cost_[d] = weighed_.cost(static_cast<Index>(d), p, q, b, leaves);
                push(side,
                     2 * leaves.key_constant + weighed_.ones[p * width + b] + weighed_.whole[q] -
                         weighed_.ones[q * width + b],
                     twins, cost_.data(), nullptr);
            }
    }
}

template <class Key>
void LastOpener<Key>::list_stumps(const Node<Key>& node, Index a, int s, Index b) {
    Side& side = side_[s];
    for (std::size_t g = 0; g < part1_.size(); ++g) {
        const Index group = static_cast<Index>(g), both = node.pairs.at(group, a, b);
        part1_[g] = s ? node.pairs.at(group, b, b) - both : both;
        part0_[g] = side.counts[g] - part1_[g];
    }
    const Leaves<Key>& leaves = circuit_.leaves;
    if (std::min(support_of(part1_, leaves.rule), support_of(part0_, leaves.rule)) < leaves.rule.minsup) return;
    leaf1_.measure(part1_, leaves);
    leaf0_.measure(part0_, leaves);
    const Limb twins = static_cast<Limb>(circuit_.multiplicity[node.pairs.features[b]]);
    for (Index p = 0; p < leaves.labels(); ++p)
        for (Index q = 0; q < leaves.labels(); ++q)
            if (leaf1_.key[p] != kNoKey<Key> && leaf0_.key[q] != kNoKey<Key> && (p != q || leaves.trivial_splits))
                push(side, leaf1_.key[p] + leaf0_.key[q], twins, leaf1_.costs(p), leaf0_.costs(q));
}

/// Note some trees of one key, if they fit the side's limit.
template <class Key>
void LastOpener<Key>::push(Side& side, Key key, Limb value, const Index* cost1, const Index* cost0) {
    const std::size_t functionals = side.limit.size(), start = side.costs.size();
    for (std::size_t d = 0; d < functionals; ++d) {
        const Index cost = cost1[d] + (cost0 == nullptr ? 0 : cost0[d]);
        if (cost > side.limit[d]) {
            side.costs.resize(start);
            return;
        }
        side.costs.push_back(cost);
    }
    for (std::size_t d = 0; d < functionals; ++d) side.least[d] = std::min(side.least[d], side.costs[start + d]);
    side.keys.push_back(key);
    side.values.push_back(value);
}

/// Put the trees of one key that fit the limit together, as another list.
template <class Key>
void LastOpener<Key>::merge(const Side& side, KeyLists<Key>& lists) {
    const Index n = static_cast<Index>(side.keys.size());
    if (lists.functionals == 0) {
        const auto [low, high] = std::minmax_element(side.keys.begin(), side.keys.end());
        if (is_narrow<Key>(*high - *low, n)) {
            Limb* const values = lists.add_dense(*low, static_cast<Index>(*high - *low) + 1);
            for (Index i = 0; i < n; ++i) values[static_cast<Index>(side.keys[i] - *low)] += side.values[i];
            return;
        }
    }
    order_.clear();
    for (Index i = 0; i < n; ++i)
        if (within(side.costs.data() + i * lists.functionals, side.limit)) order_.push_back(i);
    sort_by_key(side);
    lists.add_sparse();
    for (const Index i : order_) {
        if (lists.places.back().size > 0 && lists.keys.back() == side.keys[i])
            lists.values.back() += side.values[i];
        else
            lists.add_cell(side.keys[i], &side.values[i], side.costs.data() + i * lists.functionals);
    }
}

/// Sort the trees in `order_` by key: by counting, where keys lie close together.
template <class Key>
void LastOpener<Key>::sort_by_key(const Side& side) {
    const std::size_t n = order_.size();
    if (n < 2) return;
    Key low = side.keys[order_[0]], high = low;
    for (const Index i : order_) {
        low = std::min(low, side.keys[i]);
        high = std::max(high, side.keys[i]);
    }
    if (!is_narrow<Key>(high - low, static_cast<Index>(n))) {
        std::sort(order_.begin(), order_.end(), [&](Index i, Index j) { return side.keys[i] < side.keys[j]; });
        return;
    }
    starts_.assign(static_cast<std::size_t>(high - low) + 2, 0);
    for (const Index i : order_) ++starts_[static_cast<std::size_t>(side.keys[i] - low) + 1];
    for (std::size_t k = 1; k < starts_.size(); ++k) starts_[k] += starts_[k - 1];
    sorted_.resize(n);
    for (const Index i : order_) sorted_[starts_[static_cast<std::size_t>(side.keys[i] - low)]++] = i;
    std::swap(order_, sorted_);
}

template struct MeasuredLeaf<Index>;
template struct MeasuredLeaf<WideKey>;
template struct WeighedSide<Index>;
template struct WeighedSide<WideKey>;
template class LastOpener<Index>;
template class LastOpener<WideKey>;

}  // namespace adtc

#include "last_events.h"

namespace adtc {

template <class Key, class N>
LastEvents<Key, N>::LastEvents(const CircuitView<Key>& circuit, const N& numbers)
    : circuit_(circuit),
      numbers_(numbers),
      opener_(circuit),
      weight_(static_cast<std::size_t>(numbers.size())),
      sum_(weight_.size()) {}

template <class Key, class N>
void LastEvents<Key, N>::open(Index number) {
    const Lattice& lattice = *circuit_.lattice;
    node_ = std::make_unique<Node<Key>>();
    node_->path = path_at(lattice, lattice.levels, number);
    node_->id = lattice.base[lattice.levels] + number;
    node_->counts = circuit_.counts.row(node_->id);
    node_->budgets = circuit_.budgets.row(node_->id);
    opener_.open(*node_);
}

template <class Key, class N>
void LastEvents<Key, N>::begin(PathEvents<N>& events) const {
    events.features.assign(node_->pairs.features.begin(), node_->pairs.features.end());
    events.widen(node_->pairs.width);
}

/// Find the adjoints of both sides of a feature; tell whether there are any.
template <class Key, class N>
bool LastEvents<Key, N>::correlate(const AdjointTable<Key, N>& adjoints, const Branch<Key>& branch) {
    const KeyList<Key>&ones = branch.cells[0], &zeros = branch.cells[1];
    const Index size = numbers_.size();
    below_[0].assign(static_cast<std::size_t>(ones.size * size), Word{0});
    below_[1].assign(static_cast<std::size_t>(zeros.size * size), Word{0});
    if (correlate_dense(adjoints, branch)) return true;
    bool any = false;
    const auto add = [&](Index i, Index j, const Word* adjoint) {
        numbers_.add_times(below_[0].data() + i * size, adjoint, zeros.value(j), zeros.limbs);
        numbers_.add_times(below_[1].data() + j * size, adjoint, ones.value(i), ones.limbs);
        any = true;
    };
    if (adjoints.size() * (ones.size + zeros.size) < ones.size * zeros.size) {
        for (Index k = 0; k < adjoints.size(); ++k) {
            const Word* const adjoint = adjoints.find(adjoints.key(k));
            for_each_pair(ones, zeros, adjoints.key(k), node_->budgets, [&](Index i, Index j) {
                add(i, j, adjoint);
                return false;
            });
        }
        return any;
    }
    for (Index i = 0; i < ones.size; ++i) {
        if (ones.is_dense() && ones.values[i] == 0) continue;
        for (Index j = 0; j < zeros.size; ++j) {
            if (zeros.is_dense() && zeros.values[j] == 0) continue;
            const Word* const adjoint = adjoints.find(ones.key(i) + zeros.key(j));
            if (adjoint != nullptr && fit_together(ones, i, zeros, j, node_->budgets)) add(i, j, adjoint);
        }
    }
    return any;
}

/// Do so by plain sums over ranges of keys, where everything lies by key.
template <class Key, class N>
bool LastEvents<Key, N>::correlate_dense(const AdjointTable<Key, N>& adjoints, const Branch<Key>& branch) {
    if constexpr (N::kNative) {
        const Index size = numbers_.size();
        if (!branch.cells[0].is_dense() || !branch.cells[1].is_dense() || !adjoints.is_dense()) return false;
        for (int s = 0; s < 2; ++s) {
            const KeyList<Key>&own = branch.cells[s], &other = branch.cells[1 - s];
            for (Index i = 0; i < own.size; ++i) {
                if (own.values[i] == 0) continue;
                // the other's place j meets the adjoint at place j + apart
                const Key apart = own.base + i + other.base - adjoints.base();
                const Index first = static_cast<Index>(std::max<Key>(0, -apart));
                const Index last = static_cast<Index>(std::min<Key>(other.size, adjoints.places() - apart));
                const Word* const from = adjoints.words() + static_cast<Index>(apart) * size;
                typename N::Native sum = 0;
                for (Index j = first; j < last; ++j)
                    sum += N::load(from + j * size) * static_cast<typename N::Native>(other.values[j]);
                N::store(sum, below_[s].data() + i * size);
            }
        }
        return true;
    }
    return false;
}

/// Add the leaves right below a feature, and the feature's own uses.
template <class Key, class N>
void LastEvents<Key, N>::add_leaves(const AdjointTable<Key, N>& adjoints, const Branch<Key>& branch,
                                    PathEvents<N>& events, Tally<N>& tally) {
    const KeyList<Key>&ones = branch.cells[0], &zeros = branch.cells[1];
    const Index size = numbers_.size(), depth = node_->path.length;
    const Limb twins = static_cast<Limb>(circuit_.multiplicity[branch.feature]);
    std::fill(sum_.begin(), sum_.end(), Word{0});
    for (Index i = 0; i < ones.size; ++i)
        numbers_.add_times(sum_.data(), below_[0].data() + i * size, ones.value(i), ones.limbs);
    for (Index l = 0; l < circuit_.leaves.labels(); ++l) {
        Index at[2];
        for (int s = 0; s < 2; ++s) {
            const Key key = branch.leaf[s][l];
            at[s] = key == kNoKey<Key> ? -1 : branch.cells[s].find(key);
        }
        const Word* lost = nullptr;  // two leaves of equal label, if there is no such split
        if (!circuit_.leaves.trivial_splits && at[0] >= 0 && at[1] >= 0 &&
            fit_together(ones, at[0], zeros, at[1], node_->budgets))
            lost = adjoints.find(branch.leaf[0][l] + branch.leaf[1][l]);
        if (lost != nullptr) numbers_.subtract(sum_.data(), lost);
        for (int s = 0; s < 2; ++s) {
            if (at[s] < 0) continue;
            std::copy_n(below_[s].data() + at[s] * size, size, weight_.data());
            if (lost != nullptr) numbers_.subtract(weight_.data(), lost);
            numbers_.scale(weight_.data(), twins);
            events.add_side(branch.active, s, l, weight_.data());
            numbers_.add_wide(tally.leaf(depth + 1, l), weight_.data());
        }
    }
    numbers_.scale(sum_.data(), twins);
    numbers_.add_wide(tally.use(depth, branch.feature), sum_.data());
}

/// Tell whether two leaves below the b-th active feature may carry labels p and q.
template <class Key, class N>
bool LastEvents<Key, N>::admits_stump(const Branch<Key>& branch, int s, Index b, Index p, Index q) {
    const Leaves<Key>& leaves = circuit_.leaves;
    if (is_unconstrained(leaves.rule)) return true;
    const std::size_t groups = static_cast<std::size_t>(leaves.groups());
    part1_.resize(groups);
    part0_.resize(groups);
    for (Index g = 0; g < leaves.groups(); ++g) {
        const Index one = node_->pairs.at(g, branch.active, branch.active), both = node_->pairs.at(g, branch.active, b);
        part1_[g] = s ? node_->pairs.at(g, b, b) - both : both;
        part0_[g] = (s ? node_->counts[g] - one : one) - part1_[g];
    }
    const LabelRule& rule = leaves.rule;
    return admits(p, part1_, support_of(part1_, rule), rule) && admits(q, part0_, support_of(part0_, rule), rule);
}

/// Find between which first costs, or keys where nothing costs, the trees with adjoints lie on a side; tell whether
/// there are any.
template <class Key, class N>
bool LastEvents<Key, N>::find_range(const KeyList<Key>& cells, int s) {
    bool any = false;
    for (Index i = 0; i < cells.size; ++i) {
        if (!numbers_.positive(below_[s].data() + i * numbers_.size())) continue;
        const Key at = cells.functionals > 0 ? static_cast<Key>(cells.cost(i)[0]) : cells.key(i);
        low_ = any ? std::min(low_, at) : at;
        high_ = any ? std::max(high_, at) : at;
        any = true;
    }
    return any;
}

/// Choose the features below which two leaves with labels p and q may be trees with adjoints: most are not.
template <class Key, class N>
void LastEvents<Key, N>::choose(Index p, Index q) {
    const Leaves<Key>& leaves = circuit_.leaves;
    const Index width = node_->pairs.width;
    chosen_.resize(static_cast<std::size_t>(width) + 1);
    Index n = 0;
    const auto choose_by = [&](const auto* ones, const auto* others, auto rest) {
        const auto low = static_cast<decltype(rest)>(low_) - rest, high = static_cast<decltype(rest)>(high_) - rest;
        for (Index b = 0; b < width; ++b) {
            chosen_[n] = b;
            n += (ones[b] - others[b] >= low) & (ones[b] - others[b] <= high);
        }
    };
    if (leaves.functionals() > 0)
        choose_by(weighed_.ones_cost.data() + p * width, weighed_.ones_cost.data() + q * width,
                  2 * leaves.cost_constants[0] + weighed_.whole_cost[q]);
    else
        choose_by(weighed_.ones.data() + p * width, weighed_.ones.data() + q * width,
                  2 * leaves.key_constant + weighed_.whole[q]);
    chosen_.resize(static_cast<std::size_t>(n));
}

/// Add the leaves of the trees of depth 1 on one side of a feature.
template <class Key, class N>
void LastEvents<Key, N>::add_stumps(const Branch<Key>& branch, int s, PathEvents<N>& events, Tally<N>& tally) {
    const Leaves<Key>& leaves = circuit_.leaves;
    const KeyList<Key>& cells = branch.cells[s];
    if (circuit_.lattice->rest < 2 || !find_range(cells, s)) return;
    const auto limit = branch.limit[s];
    const Index size = numbers_.size(), width = node_->pairs.width, a = branch.active;
    const Index depth = node_->path.length + 1;
    const Limb twins = static_cast<Limb>(circuit_.multiplicity[branch.feature]);
    weighed_.weigh(*node_, a, s, leaves);
    for (Index p = 0; p < leaves.labels(); ++p)
        for (Index q = 0; q < leaves.labels(); ++q) {
            if (p == q && !leaves.trivial_splits) continue;
            choose(p, q);
            for (const Index b : chosen_) {
                if (b == a || !weighed_.splits(b, leaves.rule.minsup)) continue;
                bool fits = true;
                for (std::size_t d = 0; fits && d < limit.size(); ++d)
                    fits = weighed_.cost(static_cast<Index>(d), p, q, b, leaves) <= limit[d];
                if (!fits) continue;
                const Key key = weighed_.ones[p * width + b] + weighed_.whole[q] - weighed_.ones[q * width + b] +
                                2 * leaves.key_constant;
                const Index at = cells.find(key), feature = node_->pairs.features[b];
                if (at < 0 || !numbers_.positive(below_[s].data() + at * size) || !admits_stump(branch, s, b, p, q))
                    continue;
                std::copy_n(below_[s].data() + at * size, size, weight_.data());
                numbers_.scale(weight_.data(), twins * static_cast<Limb>(circuit_.multiplicity[feature]));
                events.add_corner(a, s, b, 0, p, weight_.data());
                events.add_corner(a, s, b, 1, q, weight_.data());
                numbers_.add_wide(tally.use(depth, feature), weight_.data());
                numbers_.add_wide(tally.leaf(depth + 1, p), weight_.data());
                numbers_.add_wide(tally.leaf(depth + 1, q), weight_.data());
            }
        }
}

template class LastEvents<Index, Exact<1>>;
template class LastEvents<Index, Exact<2>>;
template class LastEvents<Index, Exact<0>>;
template class LastEvents<Index, Real>;
template class LastEvents<WideKey, Exact<0>>;
template class LastEvents<WideKey, Real>;

}  // namespace adtc

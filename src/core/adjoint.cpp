#include "adjoint.h"

namespace adtc {

template <class Key, class N>
struct Backward<Key, N>::Worker {
    Worker(const CircuitView<Key>& circuit, const N& numbers, const VotingRows& voting, const MixedRows& mixed)
        : last(circuit, numbers), votes(numbers, voting, mixed, circuit.lattice->features, circuit.leaves.labels()) {}

    std::vector<Word> sum;    ///< [own cell][word]: what comes from one parent
    std::vector<Word> lost;   ///< [label][word]: leaves with siblings of the same label
    std::vector<Limb> dense;  ///< the other child's numbers by key
    std::vector<Word> total, scaled;
    std::vector<Index> cost;
    std::vector<std::pair<Key, Index>> own;  ///< cells by key
    AdjointTable<Key, N> table;
    PathEvents<N> events;
    LastEvents<Key, N> last;
    RowVotes<N> votes;
};

template <class Key, class N>
Backward<Key, N>::Backward(CircuitView<Key> circuit, const N& numbers, Index most_bytes)
    : circuit_(std::move(circuit)), numbers_(numbers), most_bytes_(most_bytes), levels_(circuit_.levels.size()) {
    tally_.begin(numbers_, depths(), circuit_.lattice->features, labels());
}

template <class Key, class N>
Backward<Key, N>::~Backward() = default;

template <class Key, class N>
void Backward<Key, N>::reserve(Index bytes) {
    held_ += bytes;
    if (held_ > most_bytes_) throw OutOfMemory();
}

template <class Key, class N>
void Backward<Key, N>::watch(VotingRows rows, MixedRows mixed, Index all, bool list) {
    voting_ = std::move(rows);
    mixed_ = mixed;
    rows_ = all;
    list_ = list;
    reserve(2 * 8 * labels() * rows_ * numbers_.size());
    totals_.assign(static_cast<std::size_t>(labels() * rows_ * numbers_.size()), Word{0});
    idle_.clear();
}

template <class Key, class N>
void Backward<Key, N>::begin(std::span<const Word> weights) {
    if (circuit_.levels.empty()) return;
    LevelAdjoints& root = levels_[0];
    reserve(8 * static_cast<Index>(weights.size()));
    root.values.assign(weights.begin(), weights.end());
    root.paths = {0};
    begin_leaves();
}

/// Find the adjoints of the root's leaves.
template <class Key, class N>
void Backward<Key, N>::begin_leaves() {
    auto worker = take_worker();
    worker->lost.assign(static_cast<std::size_t>(labels() * numbers_.size()), Word{0});
    levels_[0].leaf.assign(worker->lost.size(), Word{0});
    add_leaf_adjoints(0, 0, 0, *worker);
    return_worker(std::move(worker));
}

template <class Key, class N>
std::unique_ptr<typename Backward<Key, N>::Worker> Backward<Key, N>::take_worker() {
    {
        const std::lock_guard lock(mutex_);
        if (!idle_.empty()) {
            auto worker = std::move(idle_.back());
            idle_.pop_back();
            return worker;
        }
    }
    return std::make_unique<Worker>(circuit_, numbers_, voting_, mixed_);
}

template <class Key, class N>
void Backward<Key, N>::return_worker(std::unique_ptr<Worker> worker) {
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(worker));
}

// --- from a level to the next --------------------------------------------------------------------

template <class Key, class N>
Index Backward<Key, N>::open(Index level) {
    const Lattice& lattice = *circuit_.lattice;
    const LevelAdjoints& here = levels_[level];
    const Level<Key>&tensors = circuit_.levels[level], &below = circuit_.levels[level + 1];
    tables_.resize(here.paths.size());
    table_of_.assign(static_cast<std::size_t>(lattice.paths(level)), -1);
    for (std::size_t k = 0; k < here.paths.size(); ++k) {
        const Index number = here.paths[k];
        tables_[k].build(numbers_, tensors.tensor(number),
                         here.values.data() + tensors.starts[number] * numbers_.size());
        held_ += tables_[k].bytes();
        if (tables_[k].size() > 0) table_of_[number] = static_cast<std::int32_t>(k);
    }
    LevelAdjoints& next = levels_[level + 1];
    const Index first = lattice.base[level + 1];
    for (Index number = 0; number < lattice.paths(level + 1); ++number)
        if (circuit_.live[first + number] && below.starts[number] < below.stops[number]) next.paths.push_back(number);
    const Index words = below.cells.size * numbers_.size();
    const Index leaves = static_cast<Index>(next.paths.size()) * labels() * numbers_.size();
    reserve(8 * (words + leaves + static_cast<Index>(next.paths.size())));
    next.values.assign(static_cast<std::size_t>(words), Word{0});
    next.leaf.assign(static_cast<std::size_t>(leaves), Word{0});
    turn_.reset();
    return static_cast<Index>(next.paths.size());
}

template <class Key, class N>
void Backward<Key, N>::fill(Index level, Index job, Index first, Index stop, const Control& control) {
    auto worker = take_worker();
    Part part;
    part.tally.begin(numbers_, depths(), circuit_.lattice->features, labels());
    for (Index at = first; at < stop; ++at) {
        control.check();
        fill_path(level, at, *worker, part.tally);
    }
    return_worker(std::move(worker));
    commit(job, std::move(part));
}

template <class Key, class N>
void Backward<Key, N>::close(Index level) {
    for (const auto& table : tables_) held_ -= table.bytes();
    tables_.clear();
    LevelAdjoints& next = levels_[level + 1];
    const Level<Key>& tensors = circuit_.levels[level + 1];
    const Index size = numbers_.size(), leaf = labels() * size;
    // by literals, the largest feature first: neighbours then share most of their rows
    std::vector<std::pair<std::vector<Index>, Index>> kept;
    for (std::size_t k = 0; k < next.paths.size(); ++k) {
        const Index number = next.paths[k];
        bool any = false;
        for (Index i = tensors.starts[number]; !any && i < tensors.stops[number]; ++i)
            any = numbers_.positive(next.values.data() + i * size);
        if (!any) continue;
        const Path path = path_at(*circuit_.lattice, level + 1, number);
        kept.push_back({{}, static_cast<Index>(k)});
        for (Index i = level; i >= 0; --i) kept.back().first.push_back(2 * path.features[i] + (path.signs >> i & 1));
    }
    std::sort(kept.begin(), kept.end());
    std::vector<Index> paths;
    std::vector<Word> leaves;
    for (const auto& [literals, k] : kept) {
        paths.push_back(next.paths[k]);
        leaves.insert(leaves.end(), next.leaf.data() + k * leaf, next.leaf.data() + (k + 1) * leaf);
    }
    next.paths = std::move(paths);
    next.leaf = std::move(leaves);
    if (level > 0) {  // nobody asks for these again
        held_ -= 8 * static_cast<Index>(levels_[level].values.size());
        levels_[level].values = {};
    }
}

/// Add up the adjoints of a path over its parents.
template <class Key, class N>
void Backward<Key, N>::fill_path(Index level, Index at, Worker& worker, Tally<N>& tally) {
    const Lattice& lattice = *circuit_.lattice;
    const Level<Key>& tensors = circuit_.levels[level + 1];
    LevelAdjoints& next = levels_[level + 1];
    const Index number = next.paths[at], base = lattice.base[level + 1], size = numbers_.size();
    const Path path = path_at(lattice, level + 1, number);
    const CellView<Key> own = tensors.tensor(number);
    Word* const values = next.values.data() + tensors.starts[number] * size;
    worker.lost.assign(static_cast<std::size_t>(labels() * size), Word{0});
    worker.own.clear();
    bool any = false;
    for (Index i = 0; i <= level; ++i) {
        const Index up = parent(lattice, path.features, level + 1, path.signs, i);
        const Index table = table_of_[up - lattice.base[level]], sibling = number ^ (Index{1} << i);
        if (table < 0 || !circuit_.live[base + sibling]) continue;
        const CellView<Key> other = tensors.tensor(sibling);
        if (other.size == 0) continue;
        any = true;
        const Index f = path.features[i];
        const Limb twins = static_cast<Limb>(circuit_.multiplicity[f]);
        pull(tables_[table], own, other, circuit_.budgets.row(up), worker);
        worker.total.assign(static_cast<std::size_t>(size), Word{0});
        const bool counts = (path.signs >> i & 1) == 0;  // each split once
        for (Index c = 0; c < own.size; ++c) {
            Word* const sum = worker.sum.data() + c * size;
            if (!numbers_.positive(sum)) continue;
            if (counts) numbers_.add_times(worker.total.data(), sum, own.value(c), own.limbs);
            numbers_.scale(sum, twins);
            numbers_.add(values + c * size, sum);
        }
        numbers_.scale(worker.total.data(), twins);
        if (!circuit_.leaves.trivial_splits) add_lost(base + number, up, base + sibling, twins, tables_[table], worker);
        if (counts) numbers_.add_wide(tally.use(level, f), worker.total.data());
    }
    if (any) add_leaf_adjoints(level + 1, at, number, worker);
}

/// Correlate a parent's adjoints with the tensor of the other child.
template <class Key, class N>
void Backward<Key, N>::pull(const AdjointTable<Key, N>& from, const CellView<Key>& own, const CellView<Key>& other,
                            std::span<const Index> budgets, Worker& worker) {
    const Index size = numbers_.size();
    worker.sum.assign(static_cast<std::size_t>(own.size * size), Word{0});
    if constexpr (N::kNative)
        if (budgets.empty() && from.is_dense() &&
            is_narrow<Key>(other.keys[other.size - 1] - other.keys[0], other.size))
            return pull_dense(from, own, other, worker);
    const Index pairs = count_pairs_within(Summand<Key>{own, other, 1}, budgets);
    if (4 * from.size() * other.size < pairs) {
        // few cells have adjoints: look for the child's cell instead
        if (worker.own.empty()) {
            for (Index i = 0; i < own.size; ++i) worker.own.emplace_back(own.keys[i], i);
            std::sort(worker.own.begin(), worker.own.end());
        }
        for (Index k = 0; k < from.size(); ++k) {
            const Key key = from.key(k);
            const Word* const adjoint = from.find(key);
            for (Index j = 0; j < other.size; ++j) {
                const auto found =
                    std::lower_bound(worker.own.begin(), worker.own.end(), std::pair(key - other.keys[j], Index{0}));
                if (found == worker.own.end() || found->first != key - other.keys[j]) continue;
                const Index i = found->second;
                const bool within = budgets.empty() || (own.cost(i)[0] + other.cost(j)[0] <= budgets[0] &&
                                                        fits(own.cost(i), other.cost(j), budgets));
                if (within) numbers_.add_times(worker.sum.data() + i * size, adjoint, other.value(j), other.limbs);
            }
        }
        return;
    }
    Index stop = other.size;
    for (Index i = 0; i < own.size; ++i) {
        const Index* const cost = own.cost(i);
        if (!budgets.empty()) stop = affordable(other.part(0, stop), budgets[0] - cost[0]);
        if (stop == 0) break;  // sorted: no later cell is cheaper
        Word* const sum = worker.sum.data() + i * size;
        for (Index j = 0; j < stop; ++j) {
            if (budgets.size() > 1 && !fits(cost, other.cost(j), budgets)) continue;
            const Word* const adjoint = from.find(own.keys[i] + other.keys[j]);
            if (adjoint != nullptr) numbers_.add_times(sum, adjoint, other.value(j), other.limbs);
        }
    }
}

/// Do so by plain sums over ranges of keys.
template <class Key, class N>
void Backward<Key, N>::pull_dense(const AdjointTable<Key, N>& from, const CellView<Key>& own,
                                  const CellView<Key>& other, Worker& worker)
    requires N::kNative
{
    const Key low = other.keys[0];  // no budgets: sorted by key
    const Index range = static_cast<Index>(other.keys[other.size - 1] - low) + 1;
    const Index size = numbers_.size();
    worker.scaled.assign(static_cast<std::size_t>(range * size), Word{0});
    for (Index j = 0; j < other.size; ++j) {
        const Word one[2] = {1, 0};
        numbers_.add_times(worker.scaled.data() + static_cast<Index>(other.keys[j] - low) * size, one, other.value(j),
                           other.limbs);
    }
    for (Index i = 0; i < own.size; ++i) {
        // the other's place j meets the adjoint at place j + apart
        const Key apart = own.keys[i] + low - from.base();
        const Index first = static_cast<Index>(std::max<Key>(0, -apart));
        const Index last = static_cast<Index>(std::min<Key>(range, from.places() - apart));
        const Word* const words = from.words() + static_cast<Index>(apart) * size;
        typename N::Native sum = 0;
        if (size > 1 && other.limbs == 1)  // a shorter factor is cheaper
            for (Index j = first; j < last; ++j)
                sum += N::load(words + j * size) * static_cast<typename N::Native>(worker.scaled[j * size]);
        else
            for (Index j = first; j < last; ++j)
                sum += N::load(words + j * size) * N::load(worker.scaled.data() + j * size);
        N::store(sum, worker.sum.data() + i * size);
    }
}

/// Note the pairs of leaves of equal label, which are no trees, below a parent.
template <class Key, class N>
void Backward<Key, N>::add_lost(Index path, Index up, Index sibling, Limb twins, const AdjointTable<Key, N>& from,
                                Worker& worker) {
    const Leaves<Key>& leaves = circuit_.leaves;
    const Index size = numbers_.size();
    const auto counts1 = circuit_.counts.row(path), counts0 = circuit_.counts.row(sibling),
               budgets = circuit_.budgets.row(up);
    const Index support = support_of(counts0, leaves.rule);
    if (support < leaves.rule.minsup) return;
    for_each_label(counts1, leaves.rule, [&](Index label) {
        if (!admits(label, counts0, support, leaves.rule)) return;
        for (Index d = 0; d < leaves.functionals(); ++d)
            if (leaves.cost(d, label, counts1) + leaves.cost(d, label, counts0) > budgets[d]) return;
        const Word* const adjoint = from.find(leaves.key(label, counts1) + leaves.key(label, counts0));
        if (adjoint == nullptr) return;
        worker.scaled.assign(adjoint, adjoint + size);
        numbers_.scale(worker.scaled.data(), twins);
        numbers_.add(worker.lost.data() + label * size, worker.scaled.data());
        numbers_.subtract(worker.total.data(), worker.scaled.data());
    });
}

/// Find how many good trees have each leaf at a path.
template <class Key, class N>
void Backward<Key, N>::add_leaf_adjoints(Index level, Index at, Index number, Worker& worker) {
    const Leaves<Key>& leaves = circuit_.leaves;
    const Level<Key>& tensors = circuit_.levels[level];
    const Index id = circuit_.lattice->base[level] + number, size = numbers_.size();
    if (id == 0 && !leaves.root_leaf) return;
    const CellView<Key> own = tensors.tensor(number);
    const auto counts = circuit_.counts.row(id), budgets = circuit_.budgets.row(id);
    for_each_label(counts, leaves.rule, [&](Index label) {
        for (Index d = 0; d < leaves.functionals(); ++d)
            if (leaves.cost(d, label, counts) > budgets[d]) return;
        const Key* const found = std::find(own.keys, own.keys + own.size, leaves.key(label, counts));
        if (found == own.keys + own.size) return;
        Word* const weight = levels_[level].leaf.data() + (at * labels() + label) * size;
        std::copy_n(levels_[level].values.data() + (tensors.starts[number] + (found - own.keys)) * size, size, weight);
        numbers_.subtract(weight, worker.lost.data() + label * size);
    });
}

// --- leaves --------------------------------------------------------------------------------------

/// Tell whether any cell with an adjoint holds more than leaves.
template <class Key, class N>
bool Backward<Key, N>::has_splits(Index number, Worker& worker) {
    const Lattice& lattice = *circuit_.lattice;
    const Leaves<Key>& leaves = circuit_.leaves;
    if (lattice.rest == 0) return false;
    const CellView<Key> cells = circuit_.levels[lattice.levels].tensor(number);
    const Index id = lattice.base[lattice.levels] + number;
    std::vector<Key> keys;
    for_each_leaf(circuit_.counts.row(id), leaves, circuit_.budgets.row(id), worker.cost,
                  [&](Key key, const Index*) { keys.push_back(key); });
    for (Index i = 0; i < cells.size; ++i) {
        const Word* const adjoint = worker.table.find(cells.keys[i]);
        if (adjoint == nullptr || !numbers_.positive(adjoint)) continue;
        const Limb single = static_cast<Limb>(std::count(keys.begin(), keys.end(), cells.keys[i]));
        const bool large =
            std::any_of(cells.value(i) + 1, cells.value(i) + cells.limbs, [](Limb limb) { return limb != 0; });
        if (large || cells.value(i)[0] != single) return true;
    }
    return false;
}

template <class Key, class N>
void Backward<Key, N>::visit(Index level, Index job, Index first, Index stop, const Control& control) {
    const Lattice& lattice = *circuit_.lattice;
    const Level<Key>& tensors = circuit_.levels[level];
    const LevelAdjoints& here = levels_[level];
    const Index size = numbers_.size();
    auto worker = take_worker();
    Part part;
    part.tally.begin(numbers_, depths(), lattice.features, labels());
    part.totals.assign(totals_.size(), Word{0});
    PathEvents<N>& events = worker->events;
    for (Index at = first; at < stop; ++at) {
        control.check();
        const Index number = here.paths[at];
        events.begin(numbers_, labels(), path_at(lattice, level, number));
        for (Index l = 0; l < labels(); ++l) {
            const Word* const weight = here.leaf.data() + (at * labels() + l) * size;
            numbers_.add(events.constant(l), weight);
            numbers_.add_wide(part.tally.leaf(level, l), weight);
        }
        if (level == lattice.levels) {
            worker->table.build(numbers_, tensors.tensor(number), here.values.data() + tensors.starts[number] * size);
            if (has_splits(number, *worker))
                worker->last.find(number, worker->table, events, part.tally, [&] {
                    hand_over(events, *worker, part);
                    events.clear();
                });
        }
        hand_over(events, *worker, part);
    }
    return_worker(std::move(worker));
    commit(job, std::move(part));
}

template <class Key, class N>
void Backward<Key, N>::hand_over(const PathEvents<N>& events, Worker& worker, Part& part) {
    if (rows_ > 0) worker.votes.add(events, part.totals.data(), rows_);
    if (!list_) return;
    list(events, part.events);
    const Index bytes = 8 * static_cast<Index>(part.events.literals.size() + part.events.weights.size());
    if (bytes > most_bytes_ - held_) throw OutOfMemory();
}

template <class Key, class N>
void Backward<Key, N>::list(const PathEvents<N>& events, LeafEvents<N>& into) const {
    const Index size = numbers_.size();
    const auto push = [&](std::initializer_list<Index> below, const Word* weights) {
        for (Index l = 0; l < labels(); ++l) {
            const Word* const weight = weights + l * size;
            if (!numbers_.positive(weight)) continue;
            for (Index i = 0; i < events.path.length; ++i)
                into.literals.push_back(2 * events.path.features[i] + (events.path.signs >> i & 1));
            into.literals.insert(into.literals.end(), below);
            into.starts.push_back(static_cast<Index>(into.literals.size()));
            into.labels.push_back(l);
            into.weights.insert(into.weights.end(), weight, weight + size);
        }
    };
    push({}, events.constant(0));
    events.for_each_side([&](Index a) {
        for (int s = 0; s < 2; ++s) push({2 * events.features[a] + s}, events.side(a, s, 0));
    });
    events.for_each_pair([&](Index a, Index b, Index place) {
        for (int s = 0; s < 2; ++s)
            for (int t = 0; t < 2; ++t)
                push({2 * events.features[a] + s, 2 * events.features[b] + t}, events.corner(place, s, t, 0));
    });
}

template <class Key, class N>
void Backward<Key, N>::commit(Index job, Part&& part) {
    const std::lock_guard lock(mutex_);
    turn_.waiting.emplace(job, std::move(part));
    for (auto at = turn_.waiting.find(turn_.next); at != turn_.waiting.end(); at = turn_.waiting.find(turn_.next)) {
        Part& ready = at->second;
        tally_.merge(numbers_, ready.tally);
        for (std::size_t i = 0; i < ready.totals.size(); i += static_cast<std::size_t>(numbers_.size()))
            numbers_.add(totals_.data() + i, ready.totals.data() + i);
        const Index before = static_cast<Index>(events_.literals.size());
        for (std::size_t k = 1; k < ready.events.starts.size(); ++k)
            events_.starts.push_back(before + ready.events.starts[k]);
        const auto append = [](auto& all, const auto& some) { all.insert(all.end(), some.begin(), some.end()); };
        append(events_.literals, ready.events.literals);
        append(events_.labels, ready.events.labels);
        append(events_.weights, ready.events.weights);
        held_ += 8 * static_cast<Index>(ready.events.literals.size() + ready.events.weights.size());
        turn_.waiting.erase(at);
        ++turn_.next;
    }
}

template class Backward<Index, Exact<1>>;
template class Backward<Index, Exact<2>>;
template class Backward<Index, Exact<0>>;
template class Backward<Index, Real>;
template class Backward<WideKey, Exact<0>>;
template class Backward<WideKey, Real>;

}  // namespace adtc

#include "inside.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <numeric>

#include "stumps.h"

namespace adtc {
namespace {

/// How channels are made of row groups, and which of them say what.
struct Mixing {
    std::vector<std::vector<Index>> weights;  ///< [channel][group]; channel 0 counts those of the table itself
    Index votes = 0;                          ///< the first channel of votes by label; 0: none
    Index share = 0;                          ///< the first channel of shares by label; 0: none
    Index costs = 0;                          ///< the first channel of costs: [functional][label − 1]
    std::vector<bool> turned;                 ///< [functional]: labels 1 and 0 have changed places

    Index channels() const { return static_cast<Index>(weights.size()); }
};

/// Leaves simply take the cheaper of two labels.
bool takes_cheaper(const LabelRule& rule) { return rule.labels == 2 && !rule.majority && rule.share_top == 0; }

/// The largest sums of a channel's positive and negative weights over all rows.
std::pair<Index, Index> reach(const std::vector<Index>& weights, std::span<const Index> totals) {
    Index up = 0, down = 0;
    for (std::size_t g = 0; g < totals.size(); ++g) (weights[g] < 0 ? down : up) += std::abs(weights[g]) * totals[g];
    return {up, down};
}

Mixing mixing_of(const Table& table, const Costs& costs) {
    const LabelRule& rule = costs.rule;
    const std::size_t groups = table.totals.size();
    Mixing mixing;
    mixing.weights.emplace_back(groups, 0);
    std::fill_n(mixing.weights[0].begin(), rule.own, 1);
    const auto by_label = [&](Index& first, auto weight) {
        first = mixing.channels();
        for (Index l = 0; l < rule.labels; ++l) {
            mixing.weights.emplace_back();
            for (std::size_t g = 0; g < groups; ++g)
                mixing.weights.back().push_back(static_cast<Index>(g) < rule.own ? weight(rule.group_label[g] == l)
                                                                                 : 0);
        }
    };
    if (rule.majority) by_label(mixing.votes, [](bool own) { return Index{own}; });
    if (rule.share_top)
        by_label(mixing.share, [&](bool own) { return (own ? rule.share_bottom : 0) - rule.share_top; });
    mixing.costs = mixing.channels();
    mixing.turned.assign(static_cast<std::size_t>(costs.forms()), false);
    for (Index d = 0; d < costs.forms(); ++d)
        for (Index l = 1; l < rule.labels; ++l) {
            std::vector<Index> weights(costs.weights[d][l], costs.weights[d][l] + groups);
            // with the smaller sums on the negative side narrow numbers suffice more often
            const auto [up, down] = reach(weights, table.totals);
            if (takes_cheaper(rule) && down > up) {
                mixing.turned[static_cast<std::size_t>(d)] = true;
                for (Index& w : weights) w = -w;
            }
            mixing.weights.push_back(std::move(weights));
        }
    return mixing;
}

/// The largest gains and costs of all leaves of a tree together, whatever labels they take.
std::pair<Index, Index> cost_reach(const Mixing& mixing, const Table& table, const Costs& costs, Index form) {
    const Index others = costs.rule.labels - 1;
    Index up = 0, down = 0;
    for (std::size_t g = 0; g < table.totals.size(); ++g) {
        Index dearest = 0, cheapest = 0;
        for (Index ch = mixing.costs + form * others; ch < mixing.costs + (form + 1) * others; ++ch) {
            const Index weight = mixing.weights[static_cast<std::size_t>(ch)][g];
            dearest = std::max(dearest, weight), cheapest = std::min(cheapest, weight);
        }
        up += dearest * table.totals[g], down -= cheapest * table.totals[g];
    }
    return {takes_cheaper(costs.rule) ? 0 : up, down};
}

/// Eight times a leaf's constant, more than trees of depth 2 have leaves.
Index constants_of(const Costs& costs, Index form) {
    return 8 * std::abs(costs.constants[static_cast<std::size_t>(form)]);
}

/// The least number that no tree costs: from it on, values are infinite ones with finite costs added.
Index unreal_of(const Mixing& mixing, const Table& table, const Costs& costs) {
    Index unreal = 1;
    for (Index d = 0; d < costs.forms(); ++d)
        unreal = std::max(unreal, cost_reach(mixing, table, costs, d).first + constants_of(costs, d) + 1);
    return unreal;
}

/// Tell whether all channels, costs and infinities fit a type.
template <class T>
bool fits(const Mixing& mixing, const Table& table, const Costs& costs) {
    constexpr Index largest = std::numeric_limits<T>::max();
    for (const Index total : table.totals)  // pairs are counted by group first
        if (total > largest) return false;
    for (const auto& weights : mixing.weights) {
        const auto [up, down] = reach(weights, table.totals);
        if (up > largest || down > largest) return false;
    }
    for (const Index constant : costs.constants)  // two infinities fit without them: see `kInfinite`
        if (std::abs(constant) > largest / 16) return false;
    const Index unreal = unreal_of(mixing, table, costs);
    for (Index d = 0; d < costs.forms(); ++d)
        if (unreal > kInfinite<T> - cost_reach(mixing, table, costs, d).second - constants_of(costs, d)) return false;
    return true;
}

/// Bytes that the matrices of all sets below a prefix take.
Index bytes_for(Index spread, Index features, Index groups, Index channels, Index width) {
    const Index matrix = features * padded(features) * width;
    const Index singles = spread >= 2 ? features : 0, doubles = spread >= 3 ? features * (features - 1) / 2 : 0;
    return matrix * (groups * (1 + (spread >= 3 ? features : 0)) + channels * (1 + singles + doubles));
}

/// The matrices of all sets of fewer than `spread` features below one prefix.
template <class T>
struct Sets {
    Rows rows;  ///< of the prefix; every feature turned to its minority side
    Path prefix;
    Index first = 0;                     ///< the least feature that may extend the prefix
    std::vector<Index> totals;           ///< [group]
    std::vector<std::uint64_t> flipped;  ///< a bit per feature that was turned
    std::vector<T> diagonal;             ///< [channel][lane] of the prefix itself
    std::vector<T> groups0;              ///< [group][feature][lane]: pairs among the prefix's rows
    std::vector<T> groups1;              ///< [feature][group][feature][lane]: pairs among those with a feature
    std::vector<T> channels0;            ///< [channel][feature][lane]
    std::vector<T> channels1;            ///< [feature][channel][feature][lane]
    std::vector<T> channels2;            ///< [pair of features][channel][feature][lane]

    bool is_flipped(Index f) const { return flipped[static_cast<std::size_t>(f / 64)] >> (f % 64) & 1; }
};

/// Where one job works.
template <class T>
struct Room {
    Slices slices;
    Rows rows1, rows2, rows3;
    std::vector<T> groups, channels;   ///< [group or channel][chosen feature][lane]
    std::vector<T> ones, whole;        ///< [channel][pattern][lane]; [channel][pattern]
    std::vector<T> best1, best0;       ///< [pattern][lane]
    std::vector<Index> chosen;         ///< features that split some pattern
    std::vector<std::uint8_t> splits;  ///< [chosen]: a bit for each pattern that it splits
    std::vector<Index> counts;         ///< [pattern][group]
};

template <class T>
class Pass final : public InsidePass {
public:
    Pass(const Table& table, const Lattice& lattice, const Costs& costs, Mixing mixing, Index spread)
        : table_(table),
          lattice_(lattice),
          costs_(costs),
          mixing_(std::move(mixing)),
          spread_(spread),
          unreal_(static_cast<T>(unreal_of(mixing_, table, costs))),
          lanes_(padded(table.features())),
          everything_(static_cast<std::size_t>(table.features())) {
        std::iota(everything_.begin(), everything_.end(), 0);
        if (prefix_length() == 0) {
            Room<T> room;
            open(records_of(table), Path{}, shared_, room);
        }
    }

    Index phases() const override { return prefix_length() ? 1 : 1 + counts_singles() + counts_doubles(); }

    void run(Index phase, Index first, Index stop, const InsideResult& result, const Control& control) override {
        Room<T> room;
        make_room(room);
        if (first == 0) note(table_.totals, 0, result);  // by one job only
        if (prefix_length()) {
            const Rows rows = records_of(table_);
            walk(rows, Path{}, first, stop, result, room, control);
        } else if (phase + 1 == phases()) {
            solve(shared_, first, stop, result, room, control);
        } else if (phase == 0) {
            for (Index a = first; a < stop; ++a) control.check(), count_single(shared_, a, room);
        } else {
            for (Index a = first; a < stop; ++a) count_doubles(shared_, a, room, control);
        }
    }

private:
    Index n() const { return table_.features(); }
    Index prefix_length() const { return lattice_.levels - spread_; }
    Index matrix() const { return n() * lanes_; }
    bool counts_singles() const { return spread_ == 3 || (spread_ == 2 && costs_.forms() > 0); }
    bool counts_doubles() const { return spread_ == 3 && costs_.forms() > 0; }

    void make_room(Room<T>& room) const {
        const auto size = [](Index n) { return static_cast<std::size_t>(n); };
        room.groups.resize(size(table_.groups() * matrix()));
        room.channels.resize(size(mixing_.channels() * matrix()));
        room.ones.resize(size(mixing_.channels() * 8 * lanes_));
        room.whole.resize(size(mixing_.channels() * 8));
        room.best1.resize(size(8 * lanes_));
        room.best0.resize(size(8 * lanes_));
        room.counts.resize(size(8 * table_.groups()));
    }

    /// Visit the prefixes that start with some features, and what is below them.
    void walk(const Rows& rows, const Path& path, Index first, Index stop, const InsideResult& result, Room<T>& room,
              const Control& control) const {
        Rows side;
        for (Index f = first; f < stop; ++f)
            for (const bool negative : {false, true}) {
                control.check();
                select_rows(rows, f, negative, side);
                const Path longer = path.then(f, negative);
                if (!note(weights_of(side), longer.number(lattice_), result)) continue;
                if (longer.length < prefix_length()) {
                    walk(side, longer, f + 1, n(), result, room, control);
                } else {
                    Sets<T> sets;
                    open(std::move(side), longer, sets, room);
                    for (Index a = f + 1; a < n() && counts_singles(); ++a) count_single(sets, a, room);
                    for (Index a = f + 1; a < n() && counts_doubles(); ++a) count_doubles(sets, a, room, control);
                    solve(sets, f + 1, n(), result, room, control);
                    side = Rows{};
                }
            }
    }

    std::vector<Index> weights_of(const Rows& rows) const {
        std::vector<Index> totals(static_cast<std::size_t>(table_.groups()));
        for (Index p = 0; p < table_.planes(); ++p)
            totals[static_cast<std::size_t>(table_.plane_group[p])] += (rows.starts[p + 1] - rows.starts[p])
                                                                       << table_.plane_shift[p];
        return totals;
    }

    /// Record the rows of a path; false if they are too few for a leaf.
    bool note(std::span<const Index> counts, Index node, const InsideResult& result) const {
        if (support_of(counts, costs_.rule) < costs_.rule.minsup) return false;
        std::copy(counts.begin(), counts.end(), result.counts[node]);
        return true;
    }

    /// Make a prefix: its rows with features turned, and their pairs.
    void open(Rows rows, const Path& prefix, Sets<T>& sets, Room<T>& room) const {
        sets.prefix = prefix;
        sets.first = prefix.length ? prefix.features[prefix.length - 1] + 1 : 0;
        sets.totals = weights_of(rows);
        sets.flipped.assign(static_cast<std::size_t>(rows.words), 0);
        sets.groups0.assign(static_cast<std::size_t>(table_.groups() * matrix()), 0);
        sets.channels0.resize(static_cast<std::size_t>(mixing_.channels() * matrix()));
        sets.rows = std::move(rows);
        if (prefix.length) turn_to_minority(sets, room);
        slice_rows(sets.rows, n(), room.slices);
        count_pairs(room.slices, table_, everything_, Cube<T>{sets.groups0.data(), table_.groups(), n(), lanes_});
        blend(sets.groups0.data(), n(), sets.channels0.data());
        sets.diagonal.assign(static_cast<std::size_t>(mixing_.channels() * lanes_), 0);
        for (Index ch = 0; ch < mixing_.channels(); ++ch)
            for (Index f = 0; f < n(); ++f)
                sets.diagonal[ch * lanes_ + f] = sets.channels0[ch * matrix() + f * lanes_ + f];
        const Index literals = n() - sets.first;
        if (counts_singles()) {
            if (costs_.forms())
                sets.channels1.resize(static_cast<std::size_t>(literals * mixing_.channels() * matrix()));
            if (spread_ == 3) sets.groups1.resize(static_cast<std::size_t>(literals * table_.groups() * matrix()));
        }
        if (counts_doubles())
            sets.channels2.resize(
                static_cast<std::size_t>(literals * (literals - 1) / 2 * mixing_.channels() * matrix()));
    }

    /// Turn features whose 1 is the larger side: then sets with many features have few rows.
    void turn_to_minority(Sets<T>& sets, Room<T>& room) const {
        slice_rows(sets.rows, n(), room.slices);
        Index all_rows = 0;
        std::vector<Index> ones(static_cast<std::size_t>(n()));
        for (Index p = 0; p < table_.planes(); ++p) {
            for (Index s = room.slices.starts[p]; s < room.slices.starts[p + 1]; ++s)
                for (Index f = 0; f < n(); ++f) ones[f] += __builtin_popcount(room.slices.bits[s * lanes_ + f]);
            all_rows += sets.rows.starts[p + 1] - sets.rows.starts[p];
        }
        for (Index f = 0; f < n(); ++f)
            if (2 * ones[f] > all_rows) sets.flipped[f / 64] |= std::uint64_t{1} << (f % 64);
        flip_features(sets.rows, sets.flipped);
    }

    /// Turn counts by group into channels, for the first rows of the matrices.
    void blend(const T* groups, Index rows, T* channels) const {
        for (Index ch = 0; ch < mixing_.channels(); ++ch) {
            T* out = channels + ch * matrix();
            for (Index g = 0; g < table_.groups(); ++g) {
                const T weight =
                    static_cast<T>(mixing_.weights[static_cast<std::size_t>(ch)][static_cast<std::size_t>(g)]);
                const T* in = groups + g * matrix();
                if (g == 0)
                    for (Index k = 0; k < rows * lanes_; ++k) out[k] = static_cast<T>(weight * in[k]);
                else
                    for (Index k = 0; k < rows * lanes_; ++k) out[k] = static_cast<T>(out[k] + weight * in[k]);
            }
        }
    }

    T* single(const Sets<T>& sets, Index a) const {
        return const_cast<T*>(sets.channels1.data()) + (a - sets.first) * mixing_.channels() * matrix();
    }
    T* group_single(const Sets<T>& sets, Index a) const {
        return const_cast<T*>(sets.groups1.data()) + (a - sets.first) * table_.groups() * matrix();
    }
    T* twofold(const Sets<T>& sets, Index a, Index b) const {
        const Index i = a - sets.first, j = b - sets.first;
        return const_cast<T*>(sets.channels2.data()) + (j * (j - 1) / 2 + i) * mixing_.channels() * matrix();
    }

    void count_single(Sets<T>& sets, Index a, Room<T>& room) const {
        slice_side(sets.rows, a, n(), room.rows1, room.slices);
        T* groups = spread_ == 3 ? group_single(sets, a) : room.groups.data();
        count_pairs(room.slices, table_, everything_, Cube<T>{groups, table_.groups(), n(), lanes_});
        if (costs_.forms()) blend(groups, n(), single(sets, a));
    }

    void count_doubles(Sets<T>& sets, Index a, Room<T>& room, const Control& control) const {
        select_rows(sets.rows, a, false, room.rows1);
        for (Index b = a + 1; b < n(); ++b) {
            control.check();
            slice_side(room.rows1, b, n(), room.rows2, room.slices);
            count_pairs(room.slices, table_, everything_, Cube<T>{room.groups.data(), table_.groups(), n(), lanes_});
            blend(room.groups.data(), n(), twofold(sets, a, b));
        }
    }

    /// Visit all paths below a prefix whose next feature is one of some.
    void solve(const Sets<T>& sets, Index first, Index stop, const InsideResult& result, Room<T>& room,
               const Control& control) const {
        if (spread_ == 0) {
            if (note(sets.totals, 0, result)) solve_set<1>(sets, {}, sets.rows, result, room);
            return;
        }
        for (Index a = first; a < stop; ++a) {
            control.check();
            if (spread_ == 1) {
                solve_set<2>(sets, {a}, sets.rows, result, room);
                continue;
            }
            note_set<2>(sets, {a}, result, room);
            select_rows(sets.rows, a, false, room.rows1);
            for (Index b = a + 1; b < n(); ++b) {
                if (spread_ == 2) {
                    solve_set<4>(sets, {a, b}, room.rows1, result, room);
                    continue;
                }
                control.check();
                note_set<4>(sets, {a, b}, result, room);
                select_rows(room.rows1, b, false, room.rows2);
                if constexpr (kThree)
                    for (Index c = b + 1; c < n(); ++c) solve_set<8>(sets, {a, b, c}, room.rows2, result, room);
            }
        }
    }

    using Three = std::array<Index, 3>;
    static constexpr bool kThree = sizeof(T) < sizeof(Index);  ///< sets of three, in common widths only

    static constexpr int size_of(int patterns) { return patterns == 1 ? 0 : patterns == 2 ? 1 : patterns == 4 ? 2 : 3; }

    /// Number the path of a set's first pattern, and the bits that turned features exchange.
    template <int Patterns>
    std::pair<Index, Index> number(const Sets<T>& sets, const Three& set) const {
        Path path = sets.prefix;
        Index turned = 0;
        for (int k = 0; k < size_of(Patterns); ++k) {
            path = path.then(set[static_cast<std::size_t>(k)], false);
            turned |= Index{sets.is_flipped(set[static_cast<std::size_t>(k)])} << k;
        }
        return {path.number(lattice_), turned};
    }

    /// Write the rows by group of every sign pattern of a set to `room.counts`.
    template <int Patterns>
    void count_set(const Sets<T>& sets, const Three& set, Room<T>& room) const {
        const auto [a, b, c] = set;
        for (Index g = 0; g < table_.groups(); ++g) {
            const T* pairs = sets.groups0.data() + g * matrix();
            Index v[Patterns] = {sets.totals[static_cast<std::size_t>(g)]};
            if constexpr (Patterns >= 2) v[1] = pairs[a * lanes_ + a];
            if constexpr (Patterns >= 4) v[2] = pairs[b * lanes_ + b], v[3] = pairs[a * lanes_ + b];
            if constexpr (Patterns == 8) {
                v[4] = pairs[c * lanes_ + c], v[5] = pairs[a * lanes_ + c], v[6] = pairs[b * lanes_ + c];
                v[7] = group_single(sets, a)[g * matrix() + b * lanes_ + c];
            }
            to_patterns<Patterns>(v);
            for (int s = 0; s < Patterns; ++s) room.counts[static_cast<std::size_t>(s * table_.groups() + g)] = v[s];
        }
    }

    std::span<const Index> counts_at(int s, const Room<T>& room) const {
        return {room.counts.data() + s * table_.groups(), static_cast<std::size_t>(table_.groups())};
    }

    template <int Patterns>
    void note_set(const Sets<T>& sets, const Three& set, const InsideResult& result, Room<T>& room) const {
        count_set<Patterns>(sets, set, room);
        const auto [first, turned] = number<Patterns>(sets, set);
        for (int s = 0; s < Patterns; ++s)
            note(counts_at(s, room), first + ((s ^ turned) << sets.prefix.length), result);
    }

    /// Fill in all sign patterns of a set at the last level; `rows` have all its features but the last.
    template <int Patterns>
    void solve_set(const Sets<T>& sets, const Three& set, const Rows& rows, const InsideResult& result,
                   Room<T>& room) const {
        note_set<Patterns>(sets, set, result, room);
        if (costs_.forms() == 0) return;
        const bool split = lattice_.rest > 0 && choose<Patterns>(sets, set, room);
        if (split && lattice_.rest == 2) count_chosen<Patterns>(set, rows, room);
        const auto [first, turned] = number<Patterns>(sets, set);
        for (Index d = 0; d < costs_.forms(); ++d) {
            std::array<Index, Patterns> best;
            best.fill(costs_.infinity);
            if (split) best_splits<Patterns>(sets, set, d, room, best);
            for (int s = 0; s < Patterns; ++s) {
                const auto counts = counts_at(s, room);
                if (support_of(counts, costs_.rule) < costs_.rule.minsup) continue;
                const Index node = first + ((s ^ turned) << sets.prefix.length);
                result.splits[d][node - lattice_.base[lattice_.levels]] = best[static_cast<std::size_t>(s)];
                result.least[d][node] = std::min(best[static_cast<std::size_t>(s)], least_leaf(costs_, d, counts));
            }
        }
    }

    /// The matrices of a set's subsets in one channel, by index; the set's own come from the room.
    template <int Patterns>
    void matrices(const Sets<T>& sets, const Three& set, Index ch, const Room<T>& room, const T** out) const {
        const auto [a, b, c] = set;
        const Index at = ch * matrix();
        out[0] = sets.channels0.data() + at;
        if constexpr (Patterns >= 4) out[1] = single(sets, a) + at, out[2] = single(sets, b) + at;
        if constexpr (Patterns == 8) {
            out[3] = twofold(sets, a, b) + at, out[4] = single(sets, c) + at;
            out[5] = twofold(sets, a, c) + at, out[6] = twofold(sets, b, c) + at;
        }
        out[Patterns - 1] = room.channels.data() + at;
    }

    /// Write each channel's diagonals by pattern: those of a set are a row of a smaller set's matrix.
    template <int Patterns>
    void spread_diagonals(const Sets<T>& sets, const Three& set, Room<T>& room) const {
        const auto [a, b, c] = set;
        for (Index ch = 0; ch < mixing_.channels(); ++ch) {
            const Index at = ch * matrix();
            const T* rows[Patterns] = {sets.diagonal.data() + ch * lanes_};
            if constexpr (Patterns >= 2) rows[1] = sets.channels0.data() + at + a * lanes_;
            if constexpr (Patterns >= 4) {
                rows[2] = sets.channels0.data() + at + b * lanes_;
                rows[3] = single(sets, a) + at + b * lanes_;
            }
            if constexpr (Patterns == 8) {
                rows[4] = sets.channels0.data() + at + c * lanes_;
                rows[5] = single(sets, a) + at + c * lanes_;
                rows[6] = single(sets, b) + at + c * lanes_;
                rows[7] = twofold(sets, a, b) + at + c * lanes_;
            }
            T* out = room.ones.data() + ch * 8 * lanes_;
            for (Index block = 0; block < lanes_; block += kLanes<T>) {
                Vector<T> v[Patterns];
                for (int m = 0; m < Patterns; ++m) v[m] = load(rows[m] + block);
                to_patterns<Patterns>(v);
                for (int s = 0; s < Patterns; ++s) store(out + s * lanes_ + block, v[s]);
            }
            for (int s = 0; s < Patterns; ++s) {
                Index total = 0;
                for (Index g = 0; g < table_.groups(); ++g)
                    total += mixing_.weights[static_cast<std::size_t>(ch)][static_cast<std::size_t>(g)] *
                             room.counts[static_cast<std::size_t>(s * table_.groups() + g)];
                room.whole[static_cast<std::size_t>(ch * 8 + s)] = static_cast<T>(total);
            }
        }
    }

    /// List the features that split at least one pattern; false if there are none.
    template <int Patterns>
    bool choose(const Sets<T>& sets, const Three& set, Room<T>& room) const {
        const Index minsup = costs_.rule.minsup;
        Path path = sets.prefix;
        for (int k = 0; k < size_of(Patterns); ++k) path = path.then(set[static_cast<std::size_t>(k)], false);
        bool large = false;
        for (int s = 0; s < Patterns; ++s) large |= support_of(counts_at(s, room), costs_.rule) >= 2 * minsup;
        if (!large) return false;
        spread_diagonals<Patterns>(sets, set, room);
        room.chosen.clear();
        room.splits.clear();
        for (Index block = 0; block < n(); block += kLanes<T>) {
            std::uint64_t some = 0, own[Patterns];
            for (int s = 0; s < Patterns; ++s) some |= own[s] = bits_of<T>(splitting(s, block, room));
            for (; some; some &= some - 1) {
                const int lane = std::countr_zero(some);
                const Index f = block + lane;
                // without a smallest leaf, even the path's own features seem to split it
                if (minsup == 0 && (f >= n() || path.has(f))) continue;
                unsigned bits = 0;
                for (int s = 0; s < Patterns; ++s) bits |= static_cast<unsigned>(own[s] >> lane & 1) << s;
                room.chosen.push_back(f);
                room.splits.push_back(static_cast<std::uint8_t>(bits));
            }
        }
        return !room.chosen.empty();
    }

    /// Tell which lanes of a block leave enough rows on both sides of a pattern.
    Vector<T> splitting(int s, Index block, const Room<T>& room) const {
        const T few = static_cast<T>(costs_.rule.minsup),
                most = static_cast<T>(room.whole[static_cast<std::size_t>(s)] - few);
        const Vector<T> ones = load(room.ones.data() + s * lanes_ + block);
        return (ones >= few) & (ones <= most);
    }

    /// Count the pairs among the rows that have all features of a set.
    template <int Patterns>
    void count_chosen(const Three& set, const Rows& rows, Room<T>& room) const {
        const Index chosen = static_cast<Index>(room.chosen.size());
        if constexpr (Patterns == 1)
            slice_rows(rows, n(), room.slices);
        else
            slice_side(rows, set[static_cast<std::size_t>(size_of(Patterns) - 1)], n(), room.rows3, room.slices);
        for (Index g = 0; g < table_.groups(); ++g)
            std::fill_n(room.groups.data() + g * matrix(), chosen * lanes_, T{});
        for (Index p = 0; p < table_.planes(); ++p)
            add_pairs(room.slices, p, room.chosen, static_cast<T>(T{1} << table_.plane_shift[p]),
                      room.groups.data() + table_.plane_group[p] * matrix(), lanes_);
        blend(room.groups.data(), chosen, room.channels.data());
    }

    template <int Patterns>
    Channel<T> channel(const Sets<T>& sets, const Three& set, Index ch, const Room<T>& room) const {
        Channel<T> made{{}, room.ones.data() + ch * 8 * lanes_, room.whole.data() + ch * 8};
        matrices<Patterns>(sets, set, ch, room, made.sets);
        return made;
    }

    /// Rules that are rarely asked for are compiled for small sets only.
    static constexpr int kMostPatternsOfAnyRule = 4;

    /// Find the least cost of trees that are no single leaf, for every pattern of a set.
    template <int Patterns>
    void best_splits(const Sets<T>& sets, const Three& set, Index d, Room<T>& room,
                     std::array<Index, Patterns>& best) const {
        const LabelRule& rule = costs_.rule;
        const auto at = [&](Index ch) { return channel<Patterns>(sets, set, ch, room); };
        const T minsup = static_cast<T>(rule.minsup);
        if (takes_cheaper(rule)) {
            const Index cost = mixing_.costs + d;
            // a leaf is never worth having for its own sake, nor one with no rows: then an empty
            // side is as good as no split, and nobody needs to count
            if (rule.minsup == 1 && costs_.constants[static_cast<std::size_t>(d)] >= 0 && looks_at_own(d))
                best_under<Patterns>(TwoLabels<T, false>{at(cost), at(0), minsup}, d, room, best);
            else
                best_under<Patterns>(TwoLabels<T, true>{at(cost), at(0), minsup}, d, room, best);
            if (mixing_.turned[static_cast<std::size_t>(d)]) turn_back<Patterns>(cost, room, best);
            return;
        }
        if constexpr (Patterns <= kMostPatternsOfAnyRule) {
            AnyLabels<T> any;
            any.rows = at(0);
            any.minsup = minsup;
            for (Index l = 0; l < rule.labels; ++l) {
                if (mixing_.votes) any.votes.push_back(at(mixing_.votes + l));
                if (mixing_.share) any.share.push_back(at(mixing_.share + l));
                if (l > 0) any.cost.push_back(at(mixing_.costs + d * (rule.labels - 1) + l - 1));
            }
            best_under<Patterns>(any, d, room, best);
        }
    }

    /// Tell whether a form costs nothing on rows of further tables: on those even an empty leaf may gain.
    bool looks_at_own(Index d) const {
        for (Index l = 0; l < costs_.labels(); ++l)
            for (Index g = costs_.rule.own; g < costs_.groups(); ++g)
                if (costs_.weights[d][l][g] != 0) return false;
        return true;
    }

    template <int Patterns, class Rule>
    void best_under(const Rule& rule, Index d, Room<T>& room, std::array<Index, Patterns>& best) const {
        const Index constant = costs_.constants[static_cast<std::size_t>(d)];
        T *best1 = room.best1.data(), *best0 = room.best0.data();
        for (int s = 0; s < Patterns; ++s) {
            rule.leaves(s, lanes_, true, best1 + s * lanes_);
            rule.leaves(s, lanes_, false, best0 + s * lanes_);
        }
        for (Index k = 0; k < Patterns * lanes_; ++k) {
            best1[k] = static_cast<T>(best1[k] - static_cast<T>(constant));
            best0[k] = static_cast<T>(best0[k] - static_cast<T>(constant));
        }
        if (lattice_.rest == 2)
            rule.template update<Patterns>(Pairs{room.chosen, room.splits, lanes_, costs_.rule.minsup == 0}, best1,
                                           best0);
        if (costs_.rule.minsup == 0) forget_others<Patterns>(room);
        const Vector<T> unreal = all(unreal_);
        for (int s = 0; s < Patterns; ++s) {
            Vector<T> least = unreal;
            for (Index block = 0; block < n(); block += kLanes<T>) {
                const Vector<T> both = load(best1 + s * lanes_ + block) + load(best0 + s * lanes_ + block);
                least = smaller(least, splitting(s, block, room) ? both : unreal);
            }
            const T found = least_lane<T>(least);
            if (found < unreal_) best[static_cast<std::size_t>(s)] = found + 4 * constant;
        }
    }

    /// Keep features on the path, and lanes of none, from being taken for a split.
    template <int Patterns>
    void forget_others(Room<T>& room) const {
        for (Index f = 0; f < lanes_; ++f)
            if (!std::binary_search(room.chosen.begin(), room.chosen.end(), f))
                for (int s = 0; s < Patterns; ++s) room.best1[s * lanes_ + f] = kInfinite<T>;
    }

    /// Give the cost of label 1 back where labels have changed places.
    template <int Patterns>
    void turn_back(Index cost, const Room<T>& room, std::array<Index, Patterns>& best) const {
        for (int s = 0; s < Patterns; ++s)
            if (best[static_cast<std::size_t>(s)] < costs_.infinity)
                best[static_cast<std::size_t>(s)] -= room.whole[static_cast<std::size_t>(cost * 8 + s)];
    }

    const Table& table_;
    const Lattice& lattice_;
    const Costs& costs_;
    const Mixing mixing_;
    const Index spread_;
    const T unreal_;
    const Index lanes_;
    std::vector<Index> everything_;
    Sets<T> shared_;
};

template <class T>
std::unique_ptr<InsidePass> make(const Table& table, const Lattice& lattice, const Costs& costs, Mixing mixing,
                                 Index memory, Index threads, Index most_spread) {
    // sets of three features only where leaves take the cheaper of two labels: see `best_splits`
    const Index longest = takes_cheaper(costs.rule) && sizeof(T) < sizeof(Index) ? 3 : 2;
    Index spread = std::min({lattice.levels, most_spread, longest});
    const auto need = [&](Index d) {
        const Index jobs = d == lattice.levels ? 1 : threads;  // below prefixes each job has its own
        return jobs * bytes_for(d, table.features(), table.groups(), mixing.channels(), sizeof(T));
    };
    while (spread > 1 && need(spread) > memory) --spread;
    return std::make_unique<Pass<T>>(table, lattice, costs, std::move(mixing), spread);
}

}  // namespace

std::unique_ptr<InsidePass> make_inside_pass(const Table& table, const Lattice& lattice, const Costs& costs,
                                             Index memory, Index threads, Index most_spread) {
    Mixing mixing = mixing_of(table, costs);
    const auto task = [&]<class T>(T) {
        return make<T>(table, lattice, costs, std::move(mixing), memory, threads, most_spread);
    };
    if (fits<std::int16_t>(mixing, table, costs)) return task(std::int16_t{});
    if (fits<std::int32_t>(mixing, table, costs)) return task(std::int32_t{});
    if (fits<std::int64_t>(mixing, table, costs)) return task(std::int64_t{});
    throw std::overflow_error("costs do not fit 64 bits");
}

}  // namespace adtc

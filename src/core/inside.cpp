#include "inside.h"

#include <algorithm>
#include <array>
#include <bit>

#include "feature_sets.h"
#include "stumps.h"

namespace adtc {
namespace {

/// Working memory of one job.
template <class T>
struct Scratch : CountingScratch<T> {
    Rows rows3;
    std::vector<T> channels;           ///< [channel][chosen feature][lane]
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
          counter_(table, mixing_, spread, costs.forms() > 0),
          lanes_(counter_.lanes()) {
        if (prefix_length() == 0) {
            Scratch<T> scratch;
            counter_.open(records_of(table), Path{}, shared_, scratch);
        }
    }

    Index phases() const override {
        return prefix_length() ? 1 : 1 + counter_.counts_singles() + counter_.counts_doubles();
    }

    void run(Index phase, Index first, Index stop, const InsideResult& result, const Control& control) override {
        Scratch<T> scratch;
        prepare(scratch);
        if (first == 0) note(table_.totals, 0, result);  // by one job only
        if (prefix_length()) {
            const Rows rows = records_of(table_);
            walk(rows, Path{}, first, stop, result, scratch, control);
        } else if (phase + 1 == phases()) {
            solve(shared_, first, stop, result, scratch, control);
        } else if (phase == 0) {
            for (Index a = first; a < stop; ++a) control.check(), counter_.count_single(shared_, a, scratch);
        } else {
            for (Index a = first; a < stop; ++a) counter_.count_doubles(shared_, a, scratch, control);
        }
    }

private:
    Index n() const { return counter_.n(); }
    Index prefix_length() const { return lattice_.levels - spread_; }
    Index matrix() const { return counter_.matrix(); }

    void prepare(Scratch<T>& scratch) const {
        const auto size = [](Index n) { return static_cast<std::size_t>(n); };
        scratch.groups.resize(size(table_.groups() * matrix()));
        scratch.channels.resize(size(mixing_.channels() * matrix()));
        scratch.ones.resize(size(mixing_.channels() * 8 * lanes_));
        scratch.whole.resize(size(mixing_.channels() * 8));
        scratch.best1.resize(size(8 * lanes_));
        scratch.best0.resize(size(8 * lanes_));
        scratch.counts.resize(size(8 * table_.groups()));
    }

    /// Visit the prefixes that start with some features, and what is below them.
    void walk(const Rows& rows, const Path& path, Index first, Index stop, const InsideResult& result,
              Scratch<T>& scratch, const Control& control) const {
        Rows side;
        for (Index f = first; f < stop; ++f)
            for (const bool negative : {false, true}) {
                control.check();
                select_rows(rows, f, negative, side);
                const Path longer = path.then(f, negative);
                if (!note(counter_.weights_of(side), longer.number(lattice_), result)) continue;
                if (longer.length < prefix_length()) {
                    walk(side, longer, f + 1, n(), result, scratch, control);
                } else {
                    FeatureSets<T> sets;
                    counter_.open(std::move(side), longer, sets, scratch);
                    for (Index a = f + 1; a < n() && counter_.counts_singles(); ++a)
                        counter_.count_single(sets, a, scratch);
                    for (Index a = f + 1; a < n() && counter_.counts_doubles(); ++a)
                        counter_.count_doubles(sets, a, scratch, control);
                    solve(sets, f + 1, n(), result, scratch, control);
                    side = Rows{};
                }
            }
    }

    /// Record the rows of a path; false if they are too few for a leaf.
    bool note(std::span<const Index> counts, Index node, const InsideResult& result) const {
        if (support_of(counts, costs_.rule) < costs_.rule.minsup) return false;
        std::copy(counts.begin(), counts.end(), result.counts[node]);
        return true;
    }

    /// Visit all paths below a prefix whose next feature is one of some.
    void solve(const FeatureSets<T>& sets, Index first, Index stop, const InsideResult& result, Scratch<T>& scratch,
               const Control& control) const {
        if (spread_ == 0) {
            if (note(sets.totals, 0, result)) solve_set<1>(sets, {}, sets.rows, result, scratch);
            return;
        }
        for (Index a = first; a < stop; ++a) {
            control.check();
            if (spread_ == 1) {
                solve_set<2>(sets, {a}, sets.rows, result, scratch);
                continue;
            }
            note_set<2>(sets, {a}, result, scratch);
            select_rows(sets.rows, a, false, scratch.rows1);
            for (Index b = a + 1; b < n(); ++b) {
                if (spread_ == 2) {
                    solve_set<4>(sets, {a, b}, scratch.rows1, result, scratch);
                    continue;
                }
                control.check();
                note_set<4>(sets, {a, b}, result, scratch);
                select_rows(scratch.rows1, b, false, scratch.rows2);
                if constexpr (kThree)
                    for (Index c = b + 1; c < n(); ++c) solve_set<8>(sets, {a, b, c}, scratch.rows2, result, scratch);
            }
        }
    }

    using Three = std::array<Index, 3>;
    static constexpr bool kThree = sizeof(T) < sizeof(Index);  ///< sets of three, in common widths only

    static constexpr int size_of(int patterns) { return patterns == 1 ? 0 : patterns == 2 ? 1 : patterns == 4 ? 2 : 3; }

    /// Number the path of a set's first pattern, and the bits that turned features exchange.
    template <int Patterns>
    std::pair<Index, Index> number(const FeatureSets<T>& sets, const Three& set) const {
        Path path = sets.prefix;
        Index turned = 0;
        for (int k = 0; k < size_of(Patterns); ++k) {
            path = path.then(set[static_cast<std::size_t>(k)], false);
            turned |= Index{sets.is_flipped(set[static_cast<std::size_t>(k)])} << k;
        }
        return {path.number(lattice_), turned};
    }

    /// Write the rows by group of every sign pattern of a set to `scratch.counts`.
    template <int Patterns>
    void count_set(const FeatureSets<T>& sets, const Three& set, Scratch<T>& scratch) const {
        const auto [a, b, c] = set;
        for (Index g = 0; g < table_.groups(); ++g) {
            const T* pairs = sets.groups0.data() + g * matrix();
            Index v[Patterns] = {sets.totals[static_cast<std::size_t>(g)]};
            if constexpr (Patterns >= 2) v[1] = pairs[a * lanes_ + a];
            if constexpr (Patterns >= 4) v[2] = pairs[b * lanes_ + b], v[3] = pairs[a * lanes_ + b];
            if constexpr (Patterns == 8) {
                v[4] = pairs[c * lanes_ + c], v[5] = pairs[a * lanes_ + c], v[6] = pairs[b * lanes_ + c];
                v[7] = counter_.group_single(sets, a)[g * matrix() + b * lanes_ + c];
            }
            to_patterns<Patterns>(v);
            for (int s = 0; s < Patterns; ++s) scratch.counts[static_cast<std::size_t>(s * table_.groups() + g)] = v[s];
        }
    }

    std::span<const Index> counts_at(int s, const Scratch<T>& scratch) const {
        return {scratch.counts.data() + s * table_.groups(), static_cast<std::size_t>(table_.groups())};
    }

    template <int Patterns>
    void note_set(const FeatureSets<T>& sets, const Three& set, const InsideResult& result, Scratch<T>& scratch) const {
        count_set<Patterns>(sets, set, scratch);
        const auto [first, turned] = number<Patterns>(sets, set);
        for (int s = 0; s < Patterns; ++s)
            note(counts_at(s, scratch), first + ((s ^ turned) << sets.prefix.length), result);
    }

    /// Fill in all sign patterns of a set at the last level; `rows` have all its features but the last.
    template <int Patterns>
    void solve_set(const FeatureSets<T>& sets, const Three& set, const Rows& rows, const InsideResult& result,
                   Scratch<T>& scratch) const {
        note_set<Patterns>(sets, set, result, scratch);
        if (costs_.forms() == 0) return;
        const bool split = lattice_.rest > 0 && choose<Patterns>(sets, set, scratch);
        if (split && lattice_.rest == 2) count_chosen<Patterns>(set, rows, scratch);
        const auto [first, turned] = number<Patterns>(sets, set);
        for (Index d = 0; d < costs_.forms(); ++d) {
            std::array<Index, Patterns> best;
            best.fill(costs_.infinity);
            if (split) best_splits<Patterns>(sets, set, d, scratch, best);
            for (int s = 0; s < Patterns; ++s) {
                const auto counts = counts_at(s, scratch);
                if (support_of(counts, costs_.rule) < costs_.rule.minsup) continue;
                const Index node = first + ((s ^ turned) << sets.prefix.length);
                result.splits[d][node - lattice_.base[lattice_.levels]] = best[static_cast<std::size_t>(s)];
                result.least[d][node] = std::min(best[static_cast<std::size_t>(s)], least_leaf(costs_, d, counts));
            }
        }
    }

    /// The matrices of a set's subsets in one channel, by index; the set's own come from the scratch.
    template <int Patterns>
    void matrices(const FeatureSets<T>& sets, const Three& set, Index ch, const Scratch<T>& scratch,
                  const T** out) const {
        const auto [a, b, c] = set;
        const Index at = ch * matrix();
        out[0] = sets.channels0.data() + at;
        if constexpr (Patterns >= 4) out[1] = counter_.single(sets, a) + at, out[2] = counter_.single(sets, b) + at;
        if constexpr (Patterns == 8) {
            out[3] = counter_.twofold(sets, a, b) + at, out[4] = counter_.single(sets, c) + at;
            out[5] = counter_.twofold(sets, a, c) + at, out[6] = counter_.twofold(sets, b, c) + at;
        }
        out[Patterns - 1] = scratch.channels.data() + at;
    }

    /// Write each channel's diagonals by pattern: those of a set are a row of a smaller set's matrix.
    template <int Patterns>
    void spread_diagonals(const FeatureSets<T>& sets, const Three& set, Scratch<T>& scratch) const {
        const auto [a, b, c] = set;
        for (Index ch = 0; ch < mixing_.channels(); ++ch) {
            const Index at = ch * matrix();
            const T* rows[Patterns] = {sets.diagonal.data() + ch * lanes_};
            if constexpr (Patterns >= 2) rows[1] = sets.channels0.data() + at + a * lanes_;
            if constexpr (Patterns >= 4) {
                rows[2] = sets.channels0.data() + at + b * lanes_;
                rows[3] = counter_.single(sets, a) + at + b * lanes_;
            }
            if constexpr (Patterns == 8) {
                rows[4] = sets.channels0.data() + at + c * lanes_;
                rows[5] = counter_.single(sets, a) + at + c * lanes_;
                rows[6] = counter_.single(sets, b) + at + c * lanes_;
                rows[7] = counter_.twofold(sets, a, b) + at + c * lanes_;
            }
            T* out = scratch.ones.data() + ch * 8 * lanes_;
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
                             scratch.counts[static_cast<std::size_t>(s * table_.groups() + g)];
                scratch.whole[static_cast<std::size_t>(ch * 8 + s)] = static_cast<T>(total);
            }
        }
    }

    /// List the features that split at least one pattern; false if there are none.
    template <int Patterns>
    bool choose(const FeatureSets<T>& sets, const Three& set, Scratch<T>& scratch) const {
        const Index minsup = costs_.rule.minsup;
        Path path = sets.prefix;
        for (int k = 0; k < size_of(Patterns); ++k) path = path.then(set[static_cast<std::size_t>(k)], false);
        bool large = false;
        for (int s = 0; s < Patterns; ++s) large |= support_of(counts_at(s, scratch), costs_.rule) >= 2 * minsup;
        if (!large) return false;
        spread_diagonals<Patterns>(sets, set, scratch);
        scratch.chosen.clear();
        scratch.splits.clear();
        for (Index block = 0; block < n(); block += kLanes<T>) {
            std::uint64_t some = 0, own[Patterns];
            for (int s = 0; s < Patterns; ++s) some |= own[s] = bits_of<T>(splitting(s, block, scratch));
            for (; some; some &= some - 1) {
                const int lane = std::countr_zero(some);
                const Index f = block + lane;
                // without a smallest leaf, even the path's own features seem to split it
                if (minsup == 0 && (f >= n() || path.has(f))) continue;
                unsigned bits = 0;
                for (int s = 0; s < Patterns; ++s) bits |= static_cast<unsigned>(own[s] >> lane & 1) << s;
                scratch.chosen.push_back(f);
                scratch.splits.push_back(static_cast<std::uint8_t>(bits));
            }
        }
        return !scratch.chosen.empty();
    }

    /// Tell which lanes of a block leave enough rows on both sides of a pattern.
    Vector<T> splitting(int s, Index block, const Scratch<T>& scratch) const {
        const T few = static_cast<T>(costs_.rule.minsup),
                most = static_cast<T>(scratch.whole[static_cast<std::size_t>(s)] - few);
        const Vector<T> ones = load(scratch.ones.data() + s * lanes_ + block);
        return (ones >= few) & (ones <= most);
    }

    /// Count the pairs among the rows that have all features of a set.
    template <int Patterns>
    void count_chosen(const Three& set, const Rows& rows, Scratch<T>& scratch) const {
        const Index chosen = static_cast<Index>(scratch.chosen.size());
        if constexpr (Patterns == 1)
            slice_rows(rows, n(), scratch.slices);
        else
            slice_side(rows, set[static_cast<std::size_t>(size_of(Patterns) - 1)], n(), scratch.rows3, scratch.slices);
        for (Index g = 0; g < table_.groups(); ++g)
            std::fill_n(scratch.groups.data() + g * matrix(), chosen * lanes_, T{});
        for (Index p = 0; p < table_.planes(); ++p)
            add_pairs(scratch.slices, p, scratch.chosen, static_cast<T>(T{1} << table_.plane_shift[p]),
                      scratch.groups.data() + table_.plane_group[p] * matrix(), lanes_);
        counter_.blend(scratch.groups.data(), chosen, scratch.channels.data());
    }

    template <int Patterns>
    Channel<T> channel(const FeatureSets<T>& sets, const Three& set, Index ch, const Scratch<T>& scratch) const {
        Channel<T> made{{}, scratch.ones.data() + ch * 8 * lanes_, scratch.whole.data() + ch * 8};
        matrices<Patterns>(sets, set, ch, scratch, made.sets);
        return made;
    }

    /// Rules that are rarely asked for are compiled for small sets only.
    static constexpr int kMostPatternsOfAnyRule = 4;

    /// Find the least cost of trees that are no single leaf, for every pattern of a set.
    template <int Patterns>
    void best_splits(const FeatureSets<T>& sets, const Three& set, Index d, Scratch<T>& scratch,
                     std::array<Index, Patterns>& best) const {
        const LabelRule& rule = costs_.rule;
        const auto at = [&](Index ch) { return channel<Patterns>(sets, set, ch, scratch); };
        const T minsup = static_cast<T>(rule.minsup);
        if (takes_cheaper(rule)) {
            const Index cost = mixing_.costs + d;
            // a leaf is never worth having for its own sake, nor one with no rows: then an empty
            // side is as good as no split, and nobody needs to count
            if (rule.minsup == 1 && costs_.constants[static_cast<std::size_t>(d)] >= 0 && looks_at_own(d))
                best_under<Patterns>(TwoLabels<T, false>{at(cost), at(0), minsup}, d, scratch, best);
            else
                best_under<Patterns>(TwoLabels<T, true>{at(cost), at(0), minsup}, d, scratch, best);
            if (mixing_.turned[static_cast<std::size_t>(d)]) turn_back<Patterns>(cost, scratch, best);
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
            best_under<Patterns>(any, d, scratch, best);
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
    void best_under(const Rule& rule, Index d, Scratch<T>& scratch, std::array<Index, Patterns>& best) const {
        const Index constant = costs_.constants[static_cast<std::size_t>(d)];
        T *best1 = scratch.best1.data(), *best0 = scratch.best0.data();
        for (int s = 0; s < Patterns; ++s) {
            rule.leaves(s, lanes_, true, best1 + s * lanes_);
            rule.leaves(s, lanes_, false, best0 + s * lanes_);
        }
        for (Index k = 0; k < Patterns * lanes_; ++k) {
            best1[k] = static_cast<T>(best1[k] - static_cast<T>(constant));
            best0[k] = static_cast<T>(best0[k] - static_cast<T>(constant));
        }
        if (lattice_.rest == 2)
            rule.template update<Patterns>(Pairs{scratch.chosen, scratch.splits, lanes_, costs_.rule.minsup == 0},
                                           best1, best0);
        if (costs_.rule.minsup == 0) forget_others<Patterns>(scratch);
        const Vector<T> unreal = all(unreal_);
        for (int s = 0; s < Patterns; ++s) {
            Vector<T> least = unreal;
            for (Index block = 0; block < n(); block += kLanes<T>) {
                const Vector<T> both = load(best1 + s * lanes_ + block) + load(best0 + s * lanes_ + block);
                least = smaller(least, splitting(s, block, scratch) ? both : unreal);
            }
            const T found = least_lane<T>(least);
            if (found < unreal_) best[static_cast<std::size_t>(s)] = found + 4 * constant;
        }
    }

    /// Keep features on the path, and lanes of none, from being taken for a split.
    template <int Patterns>
    void forget_others(Scratch<T>& scratch) const {
        for (Index f = 0; f < lanes_; ++f)
            if (!std::binary_search(scratch.chosen.begin(), scratch.chosen.end(), f))
                for (int s = 0; s < Patterns; ++s) scratch.best1[s * lanes_ + f] = kInfinite<T>;
    }

    /// Give the cost of label 1 back where labels have changed places.
    template <int Patterns>
    void turn_back(Index cost, const Scratch<T>& scratch, std::array<Index, Patterns>& best) const {
        for (int s = 0; s < Patterns; ++s)
            if (best[static_cast<std::size_t>(s)] < costs_.infinity)
                best[static_cast<std::size_t>(s)] -= scratch.whole[static_cast<std::size_t>(cost * 8 + s)];
    }

    const Table& table_;
    const Lattice& lattice_;
    const Costs& costs_;
    const Mixing mixing_;
    const Index spread_;
    const T unreal_;
    const SetCounter<T> counter_;
    const Index lanes_;
    FeatureSets<T> shared_;
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

/// Call `use` with a number of the narrowest width that holds all counts and costs.
template <class Use>
decltype(auto) with_width(const Mixing& mixing, const Table& table, const Costs& costs, Use use) {
    if (fits<std::int16_t>(mixing, table, costs)) return use(std::int16_t{});
    if (fits<std::int32_t>(mixing, table, costs)) return use(std::int32_t{});
    if (fits<std::int64_t>(mixing, table, costs)) return use(std::int64_t{});
    throw std::overflow_error("costs do not fit 64 bits");
}

}  // namespace

Index inside_job_bytes(const Table& table, const Costs& costs) {
    const Mixing mixing = mixing_of(table, costs);
    return with_width(mixing, table, costs, [&]<class T>(T) {
        return bytes_for(1, table.features(), table.groups(), mixing.channels(), sizeof(T));
    });
}

std::unique_ptr<InsidePass> make_inside_pass(const Table& table, const Lattice& lattice, const Costs& costs,
                                             Index memory, Index threads, Index most_spread) {
    Mixing mixing = mixing_of(table, costs);
    return with_width(mixing, table, costs,
                      [&]<class T>(T) { return make<T>(table, lattice, costs, mixing, memory, threads, most_spread); });
}

}  // namespace adtc

#include "cell_sums.h"

#include <bit>

namespace adtc {
namespace {

constexpr Index kEntry = 160;  ///< bytes of a cell that is remembered, about

/// The literals of a position: those of its path, and up to two below it.
struct Literals {
    std::vector<std::pair<Index, bool>> all;  ///< feature, and whether it is negative

    Literals(const Lattice& lattice, Position at) {
        Index level = 0;
        while (level < lattice.levels && at.path >= lattice.base[level + 1]) ++level;
        const Path path = path_at(lattice, level, at.path - lattice.base[level]);
        for (Index i = 0; i < path.length; ++i) all.emplace_back(path.features[i], (path.signs >> i & 1) != 0);
        for (const Index literal : {at.side, at.end})
            if (literal >= 0) all.emplace_back(literal / 2, literal % 2 != 0);
    }
};

/// The bits of a plane's word that stand for rows.
std::uint64_t used_bits(Index rows, Index word) {
    const Index left = rows - 64 * word;
    return left >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << left) - 1;
}

}  // namespace

template <class Key>
std::size_t CellSums<Key>::Hash::operator()(const Where& where) const {
    std::uint64_t hash = 0;
    const auto mix = [&](std::uint64_t part) {
        hash = (hash ^ part) * 0x9E3779B97F4A7C15u;
        hash ^= hash >> 29;
    };
    mix(static_cast<std::uint64_t>(where.at.path));
    mix(static_cast<std::uint64_t>(where.at.side) << 32 ^ static_cast<std::uint64_t>(where.at.end));
    mix(static_cast<std::uint64_t>(where.key));
    if constexpr (sizeof(Key) > sizeof(Index)) mix(static_cast<std::uint64_t>(where.key >> 64));
    return hash;
}

template <class Key>
auto CellSums<Key>::cell(Position at, Key key, Index trees) -> const Cell& {
    const Where where{at, key};
    if (const auto known = cells_.find(where); known != cells_.end()) return known->second;
    control_.check();  // the user's functions may be slow
    Cell made;
    const std::vector<Index> labels = cursor_.labels(at, key);
    if (!labels.empty()) add_leaves(at, labels, made);
    // where a cell holds nothing but leaves, nothing needs to be opened
    if (trees != static_cast<Index>(labels.size())) made.splits = splits(at, key);
    for (const auto& [label, value] : made.leaves) made.whole = algebra_.add(made.whole, {value, true});
    made.whole = algebra_.add(made.whole, made.splits);
    bytes_ += kEntry;
    if (bytes_ + cursor_.bytes() > most_bytes_) throw OutOfMemory();
    return cells_.emplace(where, std::move(made)).first->second;
}

template <class Key>
Sum CellSums<Key>::splits(Position at, Key key) {
    const Splits<Key> found = cursor_.splits(at, key);
    const auto trees = [&](const std::vector<Limb>& counts, std::size_t split) {
        const Limb* const count = counts.data() + split * static_cast<std::size_t>(found.limbs);
        for (Index limb = 1; limb < found.limbs; ++limb)
            if (count[limb] != 0) return kMany;
        return count[0] >> 62 != 0 ? kMany : static_cast<Index>(count[0]);
    };
    Sum total;
    for (std::size_t i = 0; i < found.features.size(); ++i) {
        const Index f = found.features[i];
        const Cell& one = cell(cursor_.child(at, f, false), found.keys1[i], trees(found.counts1, i));
        const Cell& zero = cell(cursor_.child(at, f, true), found.keys0[i], trees(found.counts0, i));
        algebra_.add_times(total, product(one, zero), multiplicity_[f]);
    }
    return total;
}

template <class Key>
Sum CellSums<Key>::product(const Cell& one, const Cell& zero) const {
    if (trivial_splits_) return algebra_.mul(one.whole, zero.whole);
    Sum total = algebra_.mul(one.splits, zero.whole);
    for (const auto& [label, value] : one.leaves) {
        Sum others = zero.splits;
        for (const auto& [other, leaf] : zero.leaves)
            if (other != label) others = algebra_.add(others, {leaf, true});
        total = algebra_.add(total, algebra_.mul({value, true}, others));
    }
    return total;
}

template <class Key>
void CellSums<Key>::add_leaves(Position at, const std::vector<Index>& labels, Cell& cell) {
    count_rows(at);
    for (const Index label : labels) cell.leaves.emplace_back(label, algebra_.value(label, counts_));
}

/// Count the rows of a position by group.
template <class Key>
void CellSums<Key>::count_rows(Position at) {
    const Literals literals(lattice_, at);
    counts_.assign(static_cast<std::size_t>(rows_.groups()), 0);
    for (Index plane = 0; plane < rows_.planes(); ++plane) {
        const Index start = rows_.offsets[plane], words = rows_.offsets[plane + 1] - start;
        Index held = 0;
        for (Index word = 0; word < words; ++word) {
            std::uint64_t bits = used_bits(rows_.rows[plane], word);
            for (const auto& [feature, negative] : literals.all) {
                const std::uint64_t ones = rows_.words[feature][start + word];
                bits &= negative ? ~ones : ones;
            }
            held += std::popcount(bits);
        }
        counts_[static_cast<std::size_t>(rows_.plane_group[plane])] += held << rows_.plane_shift[plane];
    }
}

template class CellSums<Index>;
template class CellSums<WideKey>;

}  // namespace adtc

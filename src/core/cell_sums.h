// Sums over the trees of a circuit in a semiring of doubles that brings its own C functions.
//
// The value of a cell is the ⊕ of its leaves and, for each choice of a test and two children's cells,
// the ⊗ of their values. It is found by going down, once per position and cell: the same walk as
// `adtc.engine.fold`, which takes values of any kind.
#pragma once

#include <unordered_map>
#include <utility>

#include "algebra.h"
#include "ranks.h"

namespace adtc {

/// Sums over cells of one circuit. Not for several threads at once.
template <class Key>
class CellSums {
public:
    /// `rows` has the circuit's features, and groups as fine as the metrics need; `most_bytes` is what
    /// the values of cells and the cursor may hold together.
    CellSums(Cursor<Key>& cursor, const Lattice& lattice, std::span<const Index> multiplicity, const Table& rows,
             const SemiringFunctions& functions, const LeafMetrics& leaves, Index most_bytes, const Control& control)
        : cursor_(cursor),
          lattice_(lattice),
          multiplicity_(multiplicity),
          rows_(rows),
          algebra_(functions, leaves),
          trivial_splits_(leaves.trivial_splits),
          most_bytes_(most_bytes),
          control_(control) {}

    /// Sum over the trees of a cell of the root.
    Sum of(Key key) { return cell(Position{}, key, kMany).whole; }

private:
    static constexpr Index kMany = -1;  ///< trees: an unknown number

    struct Where {
        Position at;
        Key key;
        bool operator==(const Where& other) const {
            return at.path == other.at.path && at.side == other.at.side && at.end == other.at.end && key == other.key;
        }
    };
    struct Hash {
        std::size_t operator()(const Where& where) const;
    };
    /// The values of a cell's leaves, by label, and the sums over its other and over all trees.
    struct Cell {
        std::vector<std::pair<Index, double>> leaves;
        Sum splits, whole;
    };

    const Cell& cell(Position at, Key key, Index trees);
    Sum splits(Position at, Key key);
    Sum product(const Cell& one, const Cell& zero) const;
    void add_leaves(Position at, const std::vector<Index>& labels, Cell& cell);
    void count_rows(Position at);

    Cursor<Key>& cursor_;
    const Lattice& lattice_;
    std::span<const Index> multiplicity_;
    const Table& rows_;
    Algebra algebra_;
    bool trivial_splits_;
    Index most_bytes_;
    const Control& control_;
    std::unordered_map<Where, Cell, Hash> cells_;
    Index bytes_ = 0;
    std::vector<Index> counts_;  ///< [group]: scratch
};

}  // namespace adtc

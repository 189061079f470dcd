// Leaves' weights added up over rows: how many good trees predict each label for each row.
//
// The rows of a path are selected and sliced, 16 rows in a lane by feature; a leaf's weight is then
// added to all rows under a mask at once. For exact numbers, leaves on all sides of two features are
// first turned into a constant, what each feature adds, and what both add together.
#pragma once

#include "pairs.h"
#include "path_events.h"

namespace adtc {

/// Rows by the values of the distinct features.
struct VotingRows {
    Rows rows;                 ///< one plane of records
    std::vector<Index> names;  ///< [row]: its number

    Index count() const { return rows.count(); }
};

/// Rows on which features that are equal on the table differ: how many of them have each literal.
struct MixedRows {
    Grid<const Index> ones;               ///< [feature][row]: original features behind it that have the value 1
    std::span<const Index> names;         ///< [row]: its number
    std::span<const Index> multiplicity;  ///< [feature]: how many there are

    Index count() const { return ones.columns; }
};

/// Adds the leaves of paths to rows. Not for several threads at once.
template <class N>
class RowVotes {
public:
    using Word = typename N::Word;

    RowVotes(const N& numbers, const VotingRows& all, const MixedRows& mixed, Index features, Index labels);

    /// Add the leaves below a path to `totals`, [label][row][word] with `stride` rows.
    void add(const PathEvents<N>& events, Word* totals, Index stride);

private:
    /// A weight for the rows with feature a, or without where inverted, and likewise b; −1 for any.
    struct Step {
        std::int32_t a, b;
        std::uint16_t invert_a, invert_b;
    };

    void select(const Path& path);
    void compile(const PathEvents<N>& events);
    void compile_exact(const PathEvents<N>& events);
    void compile_real(const PathEvents<N>& events);
    void push(Index a, Index b, bool invert_a, bool invert_b, const Word* weights);
    void split(const Word* weights, Word* digits) const;
    void run(Word* totals, Index stride);
    void run_block(Index first, Index slices, Index from, Index to);
    void scatter(Index first, Index slices, Word* totals, Index stride);
    void add_mixed(const PathEvents<N>& events, Word* totals, Index stride);
    void add_mixed_leaf(const Word* weights, Limb ways, const Index* share, const PathEvents<N>& events, Word* totals,
                        Index stride);

    N numbers_;
    const VotingRows& all_;
    const MixedRows& mixed_;
    Index features_;
    Index labels_;
    Index planes_;  ///< words of a sum of digits; 1 where no carry is needed
    std::vector<std::pair<Index, bool>> literals_;
    std::vector<VotingRows> selected_;  ///< after each literal
    const VotingRows* here_ = nullptr;
    Slices slices_;
    Index places_[16] = {};            ///< which bit of a lane each row of 16 has
    std::vector<Word> constant_;       ///< [label][word]
    std::vector<Word> linear_, both_;  ///< [feature][label][word], [label][word]
    std::vector<char> touched_;
    std::vector<Step> steps_;
    std::vector<Word> weights_;  ///< [step][label][plane]
    std::vector<Word> start_;    ///< [label][plane]
    std::vector<Word> sums_;     ///< [label][plane][row of a block]
    std::vector<Index> path_share_, side_share_, share_;
};

}  // namespace adtc

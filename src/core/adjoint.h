// The backward pass: adjoints of all cells of a circuit, from weights on the root's cells down.
//
// A(∅) is the weight of a tree by its cell. Below, with m for the original features behind f,
//     A(I ∪ f)(k1) += m · Σ over k0 of A(I)(k1 + k0) · T(I ∪ ¬f)(k0)
// over pairs of cells within the budgets of I, and the same for ¬f. Each path adds up what comes from
// all of its parents, so paths of one level are independent of one another. A leaf with key k at I is
// part of A(I)(k) good trees; without trivial splits, less those where its sibling is a leaf of the
// same label.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>

#include "circuit.h"
#include "control.h"
#include "last_events.h"
#include "row_votes.h"

namespace adtc {

/// Leaves by path: how many good trees have each.
template <class N>
struct LeafEvents {
    using Word = typename N::Word;

    std::vector<Index> starts{0};  ///< [event + 1]: where its literals begin
    std::vector<Index> literals;   ///< 2 · feature + (1 if negative)
    std::vector<Index> labels;     ///< [event]
    std::vector<Word> weights;     ///< [event][word]
};

/// One pass over a circuit: `begin`, for each level `open`, `fill` and `close`, and then `visit` for
/// each level. Jobs of `fill` and of `visit` may run at once; what they add up is put together in the
/// order of their numbers, so that it does not depend on threads.
template <class Key, class N>
class Backward {
public:
    using Word = typename N::Word;

    /// `most_bytes`: what the pass may hold.
    Backward(CircuitView<Key> circuit, const N& numbers, Index most_bytes);
    ~Backward();

    /// Which rows to add leaves to, if any, out of `rows` numbered ones; and whether to list leaves.
    void watch(VotingRows rows, MixedRows mixed, Index all, bool list);

    /// Begin with the weights of the root's cells, [cell][word].
    void begin(std::span<const Word> weights);

    /// Get ready to fill the adjoints one level below; return for how many paths.
    Index open(Index level);
    void fill(Index level, Index job, Index first, Index stop, const Control& control);
    void close(Index level);

    /// Return how many paths of a level have adjoints, and visit some of them to find leaves.
    Index reached(Index level) const { return static_cast<Index>(levels_[level].paths.size()); }
    void start_visits() { turn_.reset(); }
    void visit(Index level, Index job, Index first, Index stop, const Control& control);

    const N& numbers() const { return numbers_; }
    Index labels() const { return circuit_.leaves.labels(); }
    Index depths() const { return circuit_.lattice->levels + circuit_.lattice->rest; }
    const Tally<N>& tally() const { return tally_; }
    std::vector<Word>& totals() { return totals_; }  ///< [label][row][word]
    Index rows() const { return rows_; }
    LeafEvents<N>& events() { return events_; }

private:
    struct LevelAdjoints {
        std::vector<Word> values;  ///< [cell][word], aligned with the level's cells
        std::vector<Index> paths;  ///< numbers of those with adjoints; while they are filled, of all that might
        std::vector<Word> leaf;    ///< [path][label][word]: leaves at the path
    };
    /// Room that jobs hand on to one another.
    struct Worker;
    /// What a job of `visit` hands over.
    struct Part {
        Tally<N> tally;
        std::vector<Word> totals;
        LeafEvents<N> events;
    };
    /// Lets jobs hand over in the order of their numbers.
    struct Turn {
        std::map<Index, Part> waiting;
        Index next = 0;
        void reset() {
            waiting.clear();
            next = 0;
        }
    };

    void begin_leaves();
    void fill_path(Index level, Index at, Worker& worker, Tally<N>& tally);
    void pull(const AdjointTable<Key, N>& from, const CellView<Key>& own, const CellView<Key>& other,
              std::span<const Index> budgets, Worker& worker);
    void pull_dense(const AdjointTable<Key, N>& from, const CellView<Key>& own, const CellView<Key>& other,
                    Worker& worker)
        requires N::kNative;
    void add_lost(Index path, Index parent, Index sibling, Limb twins, const AdjointTable<Key, N>& from,
                  Worker& worker);
    void add_leaf_adjoints(Index level, Index at, Index number, Worker& worker);
    bool has_splits(Index number, Worker& worker);
    void hand_over(const PathEvents<N>& events, Worker& worker, Part& part);
    void list(const PathEvents<N>& events, LeafEvents<N>& into) const;
    void commit(Index job, Part&& part);
    std::unique_ptr<Worker> take_worker();
    void return_worker(std::unique_ptr<Worker> worker);
    void reserve(Index bytes);

    CircuitView<Key> circuit_;
    N numbers_;
    Index most_bytes_;
    std::atomic<Index> held_ = 0;
    std::vector<LevelAdjoints> levels_;
    std::vector<AdjointTable<Key, N>> tables_;  ///< of the paths of the level that was opened
    std::vector<std::int32_t> table_of_;        ///< [path of that level]; −1 if it has no adjoints
    VotingRows voting_;
    MixedRows mixed_;
    Index rows_ = 0;
    bool list_ = false;
    Tally<N> tally_;
    std::vector<Word> totals_;
    LeafEvents<N> events_;
    std::mutex mutex_;
    Turn turn_;
    std::vector<std::unique_ptr<Worker>> idle_;
};

}  // namespace adtc

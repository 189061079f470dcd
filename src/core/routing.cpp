#include "routing.h"

#include <bit>
#include <vector>

namespace adtc {
namespace {

/// One tree after the other goes through this: the rows at each node of the way are kept as bits.
class Router {
public:
    explicit Router(const Table& table) : table_(table), words_(table.words.columns) {
        all_.assign(static_cast<std::size_t>(words_), 0);
        for (Index p = 0; p < table.planes(); ++p)
            for (Index r = 0; r < table.rows[p]; r += 64) {
                const Index here = std::min<Index>(64, table.rows[p] - r);
                all_[table.offsets[p] + r / 64] = ~std::uint64_t{0} >> (64 - here);
            }
    }

    void route(const Index* codes, Grid<Index> out) {
        at_ = codes;
        out_ = out;
        descend(all_.data(), 0);
    }

private:
    void descend(const std::uint64_t* rows, std::size_t depth) {
        const Index code = *at_++;
        if (code < 0) {
            count(-1 - code, [=](Index w) { return rows[w]; });
            return;
        }
        const std::uint64_t* const column = table_.words[code];
        if (stack_.size() <= depth) stack_.emplace_back(static_cast<std::size_t>(words_));
        for (const std::uint64_t flip : {std::uint64_t{0}, ~std::uint64_t{0}}) {
            if (*at_ < 0) {
                count(-1 - *at_++, [=](Index w) { return rows[w] & (column[w] ^ flip); });
                continue;
            }
            std::uint64_t* const below = stack_[depth].data();
            for (Index w = 0; w < words_; ++w) below[w] = rows[w] & (column[w] ^ flip);
            descend(below, depth + 1);
        }
    }

    template <class Word>
    void count(Index label, Word word) {
        for (Index p = 0; p < table_.planes(); ++p) {
            Index ones = 0;
            for (Index w = table_.offsets[p]; w < table_.offsets[p + 1]; ++w) ones += std::popcount(word(w));
            out_[label][table_.plane_group[p]] += ones << table_.plane_shift[p];
        }
    }

    const Table& table_;
    Index words_;
    std::vector<std::uint64_t> all_;
    std::vector<std::vector<std::uint64_t>> stack_;  ///< [depth][word]
    const Index* at_ = nullptr;
    Grid<Index> out_;
};

}  // namespace

bool is_forest(const ForestView& forest, Index features, Index labels) {
    const auto starts = forest.starts;
    if (starts.empty() || starts.front() != 0 || starts.back() != static_cast<Index>(forest.codes.size())) return false;
    for (std::size_t t = 0; t + 1 < starts.size(); ++t) {
        Index open = 1;  // nodes that are still to come
        for (Index at = starts[t]; at < starts[t + 1]; ++at) {
            const Index code = forest.codes[at];
            if (open == 0 || code >= features || code < -labels) return false;
            open += code < 0 ? -1 : 1;
        }
        if (open != 0 || starts[t] >= starts[t + 1]) return false;
    }
    return true;
}

void route_rows(const Table& table, const ForestView& forest, Cube<Index> out, const Control& control) {
    Router router(table);
    for (Index t = 0; t < out.planes; ++t) {
        if (t % 64 == 0) control.check();
        router.route(forest.codes.data() + forest.starts[t], out[t]);
    }
}

}  // namespace adtc

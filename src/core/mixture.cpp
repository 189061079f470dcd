#include "mixture.h"

#include <algorithm>
#include <vector>

namespace adtc {

void mix_leaves(const LeafPaths& leaves, Grid<const double> ones, Grid<double> out, const Control& control) {
    struct Reached {
        std::vector<std::int32_t> row;
        std::vector<double> share;
    };
    const Index depth = leaves.literals.columns;
    std::vector<Reached> reached(static_cast<std::size_t>(depth + 1));  // by literals of the leaf at hand
    for (Index r = 0; r < ones.columns; ++r) {
        reached[0].row.push_back(static_cast<std::int32_t>(r));
        reached[0].share.push_back(1);
    }
    const std::int32_t* before = nullptr;
    Index known = 0;  // literals of the leaf before whose rows are at hand
    for (Index at = 0; at < leaves.literals.rows; ++at) {
        if (at % 256 == 0) control.check();
        const std::int32_t* const literals = leaves.literals[at];
        Index length = 0, same = 0;
        while (length < depth && literals[length] >= 0) ++length;
        while (before != nullptr && same < known && literals[same] == before[same]) ++same;
        before = literals;
        // the last literal is looked at where it is needed: most leaves share all others with the one before
        for (known = same; known + 1 < length; ++known) {
            const Reached& from = reached[known];
            Reached& to = reached[known + 1];
            to.row.clear(), to.share.clear();
            const double* const one = ones[literals[known] / 2];
            const bool negative = literals[known] % 2 == 1;
            for (std::size_t i = 0; i < from.row.size(); ++i) {
                const double share = from.share[i] * (negative ? 1 - one[from.row[i]] : one[from.row[i]]);
                if (share == 0) continue;
                to.row.push_back(from.row[i]);
                to.share.push_back(share);
            }
        }
        known = std::max<Index>(0, std::min(known, length - 1));
        const Reached& rows = reached[known];
        const double* const shares = leaves.shares[at];
        const double* const one = length > 0 ? ones[literals[length - 1] / 2] : nullptr;
        const double sign = length > 0 && literals[length - 1] % 2 == 1 ? -1 : 1, start = sign < 0 ? 1 : 0;
        for (std::size_t i = 0; i < rows.row.size(); ++i) {
            const Index r = rows.row[i];
            const double share = one == nullptr ? 1 : rows.share[i] * (start + sign * one[r]);
            for (Index l = 0; l < out.columns; ++l) out[r][l] += share * shares[l];
        }
    }
}

}  // namespace adtc

// Leaves with the posterior probability that a tree has them.
#pragma once

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "views.h"

namespace adtc {

/// The leaves that trees have with some probability; the same leaf may come several times, each time with a
/// part of its probability.
struct LeafList {
    std::vector<Index> number;  ///< of its path
    std::vector<double> mass;   ///< posterior probability that a tree has it, found on one way
    std::vector<Index> counts;  ///< [leaf][label]: its rows
    double lost = 0;            ///< no row has more of its probability at leaves that were left out
};

inline void put_leaf(LeafList& list, Index number, double mass, std::span<const Index> counts) {
    list.number.push_back(number);
    list.mass.push_back(mass);
    list.counts.insert(list.counts.end(), counts.begin(), counts.end());
}

/// Put together what was found of each leaf; in the order of their numbers.
inline void merge_leaves(LeafList& list, Index labels) {
    struct Entry {
        Index number, at;
    };
    std::vector<Entry> order(list.number.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = {list.number[i], static_cast<Index>(i)};
    std::sort(order.begin(), order.end(), [](const Entry& a, const Entry& b) {
        return a.number < b.number || (a.number == b.number && a.at < b.at);
    });
    LeafList merged;
    merged.lost = list.lost;
    for (const Entry& entry : order)
        if (!merged.number.empty() && merged.number.back() == entry.number)
            merged.mass.back() += list.mass[entry.at];
        else
            put_leaf(merged, entry.number, list.mass[entry.at],
                     {list.counts.data() + entry.at * labels, static_cast<std::size_t>(labels)});
    list = std::move(merged);
}

}  // namespace adtc

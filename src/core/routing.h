// Rows sent down trees: how many of each group a tree gives each label.
#pragma once

#include "control.h"
#include "table.h"

namespace adtc {

/// Trees in preorder, child 1 first: a feature of the table, or −1 − label for a leaf.
struct ForestView {
    std::span<const Index> starts;  ///< [tree + 1]
    std::span<const Index> codes;
};

/// Tell whether codes make up trees over so many features and labels.
bool is_forest(const ForestView& forest, Index features, Index labels);

/// Add to out[tree][label][group] the rows that arrive at leaves of the label, by weight.
void route_rows(const Table& table, const ForestView& forest, Cube<Index> out, const Control& control);

}  // namespace adtc

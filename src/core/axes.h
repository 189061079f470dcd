// Reading the values of axes out of packed keys, and choosing among cells by what was read.
#pragma once

#include "cells.h"

namespace adtc {

/// One digit of packed keys: (key − low) / stride mod radix, plus the axis's least value.
template <class Key>
struct AxisDigit {
    Key low = 0;     ///< the least key
    Key stride = 1;  ///< at least 1
    Key radix = 1;   ///< at least 1
    Index offset = 0;
};

/// Read an axis's value in every key. Divisions round down, also below `low`.
template <class Key>
void unpack_axis(std::span<const Key> keys, const AxisDigit<Key>& axis, Index* out);

/// Copy the rows of a matrix that are marked.
template <class N>
void copy_marked(Grid<const N> rows, std::span<const bool> marked, N* out);

}  // namespace adtc

// Views of arrays that somebody else owns: contiguous, row-major, of two and three dimensions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace adtc {

using Index = std::int64_t;

/// A matrix [row][column].
template <class T>
struct Grid {
    T* data = nullptr;
    Index rows = 0;
    Index columns = 0;

    T* operator[](Index row) const { return data + row * columns; }
    std::span<T> row(Index at) const { return {data + at * columns, static_cast<std::size_t>(columns)}; }
};

/// An array [plane][row][column].
template <class T>
struct Cube {
    T* data = nullptr;
    Index planes = 0;
    Index rows = 0;
    Index columns = 0;

    Grid<T> operator[](Index plane) const { return {data + plane * rows * columns, rows, columns}; }
};

}  // namespace adtc

// NumPy arrays in and out: typed, contiguous, without a copy.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/tuple.h>

#include <memory>
#include <vector>

#include "../buffer.h"
#include "../views.h"

namespace adtc {

namespace nb = nanobind;

/// An array that Python owns; `const T` for those that are only read.
template <class T, int D>
using Array = nb::ndarray<T, nb::ndim<D>, nb::c_contig, nb::device::cpu>;

template <class T>
std::span<T> span_of(const Array<T, 1>& array) {
    return {array.data(), array.shape(0)};
}

template <class T>
Grid<T> grid_of(const Array<T, 2>& array) {
    return {array.data(), static_cast<Index>(array.shape(0)), static_cast<Index>(array.shape(1))};
}

template <class T>
Cube<T> cube_of(const Array<T, 3>& array) {
    return {array.data(), static_cast<Index>(array.shape(0)), static_cast<Index>(array.shape(1)),
            static_cast<Index>(array.shape(2))};
}

template <class T>
using NumpyArray = nb::ndarray<nb::numpy, T>;

/// Hand a buffer over to NumPy.
template <class T>
NumpyArray<T> to_numpy(Buffer<T>&& buffer, std::initializer_list<std::size_t> shape) {
    T* data = buffer.release();
    if (data == nullptr) data = static_cast<T*>(std::malloc(sizeof(T)));  // NumPy wants an address
    nb::capsule owner(data, [](void* memory) noexcept { std::free(memory); });
    return NumpyArray<T>(data, shape, owner);
}

/// Hand a vector over to NumPy.
template <class T>
NumpyArray<T> to_numpy(std::vector<T>&& values, std::initializer_list<std::size_t> shape) {
    auto* kept = new std::vector<T>(std::move(values));
    nb::capsule owner(kept, [](void* vector) noexcept { delete static_cast<std::vector<T>*>(vector); });
    return NumpyArray<T>(kept->data(), shape, owner);
}

template <class T>
NumpyArray<T> to_numpy(std::vector<T>&& values) {
    const std::size_t size = values.size();
    return to_numpy(std::move(values), {size});
}

/// Refuse arrays that do not belong together.
inline void require(bool fits, const char* what) {
    if (!fits) throw nb::value_error(what);
}

/// Say how to make a value anew from its attributes, for copies of it.
template <class... Names>
nb::tuple remade(nb::handle self, Names... names) {
    return nb::make_tuple(self.type(), nb::make_tuple(self.attr(names)...));
}

using ReleaseGil = nb::call_guard<nb::gil_scoped_release>;

}  // namespace adtc

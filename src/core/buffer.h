// An array that grows without being cleared or, where the system can help it, copied.
#pragma once

#include <cstdlib>
#include <new>
#include <type_traits>
#include <utility>

#include "views.h"

namespace adtc {

template <class T>
class Buffer {
    static_assert(std::is_trivially_copyable_v<T>);

public:
    Buffer() = default;
    explicit Buffer(Index size) { resize(size); }
    Buffer(Buffer&& other) noexcept { swap(other); }
    Buffer& operator=(Buffer&& other) noexcept {
        swap(other);
        return *this;
    }
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;
    ~Buffer() { std::free(data_); }

    T* data() { return data_; }
    const T* data() const { return data_; }
    Index size() const { return size_; }
    Index capacity() const { return capacity_; }
    T& operator[](Index at) { return data_[at]; }
    const T& operator[](Index at) const { return data_[at]; }

    /// Make room; large blocks are moved by the system's page tables, not copied.
    void reserve(Index capacity) {
        if (capacity <= capacity_) return;
        void* moved = std::realloc(data_, static_cast<std::size_t>(capacity) * sizeof(T));
        if (moved == nullptr) throw std::bad_alloc();
        data_ = static_cast<T*>(moved);
        capacity_ = capacity;
    }
    /// Change the size; what is new is not initialised.
    void resize(Index size) {
        if (size > capacity_) reserve(size > 2 * capacity_ ? size : 2 * capacity_);
        size_ = size;
    }
    /// Give up the memory that is not used.
    void shrink() {
        if (size_ == capacity_ || size_ == 0) return;
        if (void* moved = std::realloc(data_, static_cast<std::size_t>(size_) * sizeof(T))) {
            data_ = static_cast<T*>(moved);
            capacity_ = size_;
        }
    }
    /// Hand the memory over; it is to be released with `std::free`.
    T* release() {
        size_ = capacity_ = 0;
        return std::exchange(data_, nullptr);
    }
    void swap(Buffer& other) noexcept {
        std::swap(data_, other.data_);
        std::swap(size_, other.size_);
        std::swap(capacity_, other.capacity_);
    }

private:
    T* data_ = nullptr;
    Index size_ = 0;
    Index capacity_ = 0;
};

}  // namespace adtc

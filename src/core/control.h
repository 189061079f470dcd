// How a run is stopped from outside: cancelled, out of time, or out of the memory it may use.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <limits>
#include <stdexcept>

#include "resident.h"

namespace adtc {

/// Somebody asked the run to stop.
struct Cancelled : std::runtime_error {
    Cancelled() : std::runtime_error("the run was cancelled") {}
};

/// The time limit has passed.
struct OutOfTime : std::runtime_error {
    OutOfTime() : std::runtime_error("the time limit has passed") {}
};

/// Tensors would need more memory than the run may use.
struct OutOfMemory : std::runtime_error {
    OutOfMemory() : std::runtime_error("the tensors do not fit into the memory limit") {}
};

/// One per run, shared by its threads. Kernels call `check` between pieces of work of at most a few
/// milliseconds, so a limit is noticed at once; the exception ends that thread's call alone.
class Control {
public:
    using Clock = std::chrono::steady_clock;

    void cancel() noexcept { cancelled_.store(true, std::memory_order_relaxed); }
    bool cancelled() const noexcept { return cancelled_.load(std::memory_order_relaxed); }

    /// Let the run end so many seconds from now; a negative number removes the limit.
    void set_time_limit(double seconds) noexcept {
        const double soon = 1e9 * (seconds < 1e9 ? seconds : 1e9);
        deadline_.store(seconds < 0 ? kNever : now() + static_cast<std::int64_t>(soon));
    }

    /// End the run while the process holds more than so many resident bytes; 0 removes the limit.
    void set_resident_limit(std::int64_t bytes) noexcept {
        if (bytes > 0) keep_little_memory();
        most_resident_.store(bytes);
    }

    void check() const {
        if (cancelled()) throw Cancelled();
        const auto deadline = deadline_.load(std::memory_order_relaxed);
        const auto most = most_resident_.load(std::memory_order_relaxed);
        if (deadline == kNever && most == 0) return;
        const auto time = now();
        if (time > deadline) throw OutOfTime();
        // asking the system takes microseconds: not at every check
        if (most == 0 || time < next_look_.load(std::memory_order_relaxed)) return;
        next_look_.store(time + kLook, std::memory_order_relaxed);
        if (resident_bytes() > most) throw OutOfMemory();
    }

private:
    static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

    static std::int64_t now() noexcept {
        return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now().time_since_epoch()).count();
    }

    std::atomic<bool> cancelled_{false};
    static constexpr std::int64_t kLook = 5'000'000;  // nanoseconds between looks at the memory

    std::atomic<std::int64_t> deadline_{kNever};
    std::atomic<std::int64_t> most_resident_{0};
    mutable std::atomic<std::int64_t> next_look_{0};
};

}  // namespace adtc

// How a run is stopped from outside: cancelled, out of time, or out of the memory it may use.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <limits>
#include <stdexcept>

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

    void check() const {
        if (cancelled()) throw Cancelled();
        const auto deadline = deadline_.load(std::memory_order_relaxed);
        if (deadline != kNever && now() > deadline) throw OutOfTime();
    }

  private:
    static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

    static std::int64_t now() noexcept {
        return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now().time_since_epoch())
            .count();
    }

    std::atomic<bool> cancelled_{false};
    std::atomic<std::int64_t> deadline_{kNever};
};

}  // namespace adtc

// How much memory the process holds, as the system sees it from outside.
#pragma once

#include <cstdint>
#include <cstdio>

#if defined(__GLIBC__)
#include <malloc.h>
#endif
#if defined(__linux__)
#include <unistd.h>
#endif

namespace adtc {

/// Return the resident bytes of this process; 0 where the system does not tell.
inline std::int64_t resident_bytes() noexcept {
#if defined(__linux__)
    std::FILE* const file = std::fopen("/proc/self/statm", "re");
    if (file == nullptr) return 0;
    long long total = 0, resident = 0;
    const int read = std::fscanf(file, "%lld %lld", &total, &resident);
    std::fclose(file);
    return read == 2 ? resident * sysconf(_SC_PAGESIZE) : 0;
#else
    return 0;
#endif
}

/// Give freed memory back to the system, where the allocator keeps it.
inline void return_memory() noexcept {
#if defined(__GLIBC__)
    malloc_trim(0);
#endif
}

/// Let the allocator keep little of what is freed from now on: the more it was asked for at once, the more it
/// keeps for each thread, up to 64 MB, which `return_memory` does not reach at the end of a thread's memory.
inline void keep_little_memory() noexcept {
#if defined(__GLIBC__)
    mallopt(M_MMAP_THRESHOLD, 4 << 20);
    mallopt(M_TRIM_THRESHOLD, 8 << 20);
#endif
}

}  // namespace adtc

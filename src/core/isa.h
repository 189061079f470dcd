// Instruction-set levels: which one this code was compiled for, and which ones the machine has.
#pragma once

#include <string_view>

namespace adtc {

#define ADTC_TEXT_OF(x) #x
#define ADTC_TEXT(x) ADTC_TEXT_OF(x)
inline constexpr const char* kLevel = ADTC_TEXT(ADTC_LEVEL);

/// Tell whether the machine has every instruction that code of a level may use.
inline bool supports(std::string_view level) {
    if (level == "portable") return true;
#if defined(__x86_64__)
    __builtin_cpu_init();
    const bool v2 = __builtin_cpu_supports("popcnt") && __builtin_cpu_supports("sse4.2");
    const bool v3 = v2 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
                    __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("fma");
    const bool v4 = v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                    __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
                    __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512vpopcntdq") &&
                    __builtin_cpu_supports("avx512bitalg") && __builtin_cpu_supports("avx512vbmi") &&
                    __builtin_cpu_supports("avx512vbmi2") && __builtin_cpu_supports("avx512ifma") &&
                    __builtin_cpu_supports("gfni");
    if (level == "v2") return v2;
    if (level == "v3") return v3;
    if (level == "v4") return v4;
#endif
    return false;
}

}  // namespace adtc

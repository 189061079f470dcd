// Instruction-set levels: which one this code was compiled for, and which ones the machine has.
#pragma once

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include <string_view>

namespace adtc {

#define ADTC_TEXT_OF(x) #x
#define ADTC_TEXT(x) ADTC_TEXT_OF(x)
inline constexpr const char* kLevel = ADTC_TEXT(ADTC_LEVEL);

#if defined(__x86_64__)
/// The features that CPUID tells in leaves 1 and 7, as far as the system keeps the registers they use.
///
/// Read here, not by `__builtin_cpu_supports`: not every compiler's own library can be linked into a shared one.
struct Processor {
    unsigned basic = 0;     ///< leaf 1, ECX
    unsigned extended = 0;  ///< leaf 7, EBX
    unsigned further = 0;   ///< leaf 7, ECX
    bool keeps_avx = false;
    bool keeps_avx512 = false;

    Processor() {
        unsigned a = 0, b = 0, d = 0;
        if (!__get_cpuid(1, &a, &b, &basic, &d)) return;
        if (!__get_cpuid_count(7, 0, &a, &extended, &further, &d)) extended = further = 0;
        if (!(basic & bit_OSXSAVE)) return;
        unsigned low = 0, high = 0;
        __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
        keeps_avx = (low & 0x06) == 0x06;
        keeps_avx512 = (low & 0xe6) == 0xe6;
    }
};
#endif

/// Tell whether the machine has every instruction that code of a level may use.
inline bool supports(std::string_view level) {
    if (level == "portable") return true;
#if defined(__x86_64__)
    static const Processor has;
    constexpr unsigned kBasic2 = bit_SSE3 | bit_SSSE3 | bit_SSE4_1 | bit_SSE4_2 | bit_POPCNT | bit_CMPXCHG16B;
    constexpr unsigned kBasic3 = kBasic2 | bit_AVX | bit_FMA | bit_F16C | bit_MOVBE;
    constexpr unsigned kExtended3 = bit_AVX2 | bit_BMI | bit_BMI2;
    constexpr unsigned kExtended4 =
        kExtended3 | bit_AVX512F | bit_AVX512BW | bit_AVX512CD | bit_AVX512DQ | bit_AVX512VL | bit_AVX512IFMA;
    constexpr unsigned kFurther4 = bit_AVX512VPOPCNTDQ | bit_AVX512BITALG | bit_AVX512VBMI | bit_AVX512VBMI2 | bit_GFNI;
    const auto all = [](unsigned found, unsigned asked) { return (found & asked) == asked; };
    if (level == "v2") return all(has.basic, kBasic2);
    const bool v3 = has.keeps_avx && all(has.basic, kBasic3) && all(has.extended, kExtended3);
    if (level == "v3") return v3;
    if (level == "v4") return v3 && has.keeps_avx512 && all(has.extended, kExtended4) && all(has.further, kFurther4);
#endif
    return false;
}

}  // namespace adtc

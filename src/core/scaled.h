// Doubles with an exponent of their own: the evidence of many rows neither overflows nor vanishes.
//
// They do what logarithms are used for, with +, · and powers of two alone: no exp or log per term, the
// same digits at every instruction-set level, and an error of one rounding per operation.
#pragma once

#include <bit>
#include <cmath>

#include "views.h"

namespace adtc {

/// The number digits · 2^exponent, never negative.
struct Scaled {
    double digits = 0;   ///< 0, or within 2^±150; products of a few such numbers stay in a double's range
    Index exponent = 0;  ///< of no meaning where digits are 0

    bool zero() const { return digits == 0; }
};

/// So far below another number that it changes nothing there; well within a double's exponents.
constexpr Index kFarBelow = 700;

/// 2^e for −1022 ≤ e ≤ 1023.
inline double power_of_two(Index e) { return std::bit_cast<double>(static_cast<std::uint64_t>(e + 1023) << 52); }

inline Scaled operator*(Scaled a, Scaled b) { return {a.digits * b.digits, a.exponent + b.exponent}; }
inline Scaled operator*(Scaled a, double b) { return {a.digits * b, a.exponent}; }

/// Bring the digits into [0.5, 1).
inline Scaled tidy(Scaled a) {
    int shift = 0;
    const double digits = std::frexp(a.digits, &shift);
    return {digits, digits == 0 ? 0 : a.exponent + shift};
}

/// Add a term; what is far below the other one is dropped.
inline void add(Scaled& sum, Scaled term) {
    if (term.zero()) return;
    const Index above = term.exponent - sum.exponent;
    if (sum.zero() || above > kFarBelow) {
        sum = term;
    } else if (above > 0) {
        sum.digits = sum.digits * power_of_two(-above) + term.digits;
        sum.exponent = term.exponent;
    } else if (above >= -kFarBelow) {
        sum.digits += term.digits * power_of_two(above);
    }
}

inline bool less(Scaled a, Scaled b) {
    if (a.zero() || b.zero()) return a.zero() && !b.zero();
    const Index above = b.exponent - a.exponent;
    if (above > kFarBelow || above < -kFarBelow) return above > 0;
    return above > 0 ? a.digits * power_of_two(-above) < b.digits : a.digits < b.digits * power_of_two(above);
}

inline void keep_larger(Scaled& largest, Scaled other) {
    if (less(largest, other)) largest = other;
}

/// a / b as a double, 0 where it is far below 1; b is not 0.
inline double ratio(Scaled a, Scaled b) {
    a = tidy(a), b = tidy(b);
    const Index e = a.exponent - b.exponent;
    return a.zero() || e < -1000 ? 0 : std::ldexp(a.digits / b.digits, static_cast<int>(e));
}

}  // namespace adtc

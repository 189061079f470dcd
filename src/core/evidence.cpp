#include "evidence.h"

#include "leaf.h"

namespace adtc {
namespace {

constexpr std::size_t kMany = 16;  ///< labels whose digits may be multiplied without a look at their range

/// ρ (ρ + 1) … (ρ + i − 1) for i = 0 … rows, or its inverse; ρ = high + low. The product is kept in two
/// doubles, so that only the last rounding of each entry counts.
std::vector<Scaled> rising(double high, double low, Index rows, bool inverse) {
    std::vector<Scaled> found(static_cast<std::size_t>(rows + 1));
    double p = 1, q = 0;
    Index exponent = 0;
    for (Index i = 0; i <= rows; ++i) {
        if (inverse) {
            const double r = 1 / p;
            found[i] = {r - r * (q * r), -exponent};
        } else {
            found[i] = {p, exponent};
        }
        const double step = static_cast<double>(i), factor = high + step, part = factor - high;
        const double rest = ((high - (factor - part)) + (step - part)) + low;
        const double x = p * factor, y = std::fma(p, factor, -x) + (p * rest + q * factor);
        const double sum = x + y;
        int shift = 0;
        p = std::frexp(sum, &shift);
        q = std::ldexp(y - (sum - x), -shift);
        exponent += shift;
    }
    return found;
}

}  // namespace

Evidence::Evidence(std::span<const double> rho, std::span<const Index> totals, bool blank)
    : rising_(rho.size()), blank_(blank), many_(rho.size() > kMany) {
    if (blank) return;
    double high = 0, low = 0;
    for (std::size_t l = 0; l < rho.size(); ++l) {
        rising_[l] = rising(rho[l], 0, totals[l], false);
        const double sum = high + rho[l], part = sum - high;
        low += (high - (sum - part)) + (rho[l] - part);
        high = sum;
    }
    falling_ = rising(high, low, sum_of(totals), true);
}

}  // namespace adtc

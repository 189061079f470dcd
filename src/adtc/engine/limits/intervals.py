"""Confidence intervals for shares, from draws with replacement: Clopper and Pearson's.

The interval of k hits among n draws holds every share under which as many hits, or as few, are
likely enough. It covers the true share at least as often as it promises, whatever n and k; no hit
at all still gives an upper end.
"""

import math

_STEPS, _TINY, _CLOSE = 400, 1e-300, 1e-15
_SURE = 1e-9  # relative: beyond the rounding of everything below


def share_interval(hits: int, draws: int, risk: float) -> tuple[float, float]:
    """Return ends that miss the true share with at most the probability ``risk``.

    Examples
    --------
    >>> [round(end, 4) for end in share_interval(0, 100, 0.05)]
    [0.0, 0.0362]
    >>> [round(end, 4) for end in share_interval(50, 100, 0.05)]
    [0.3983, 0.6017]
    """
    low = _solve(hits, draws - hits + 1, risk / 2) if hits else 0.0
    high = 1 - _solve(draws - hits, hits + 1, risk / 2) if hits < draws else 1.0
    return low * (1 - _SURE), min(1.0, high * (1 + _SURE))


def _solve(a: int, b: int, goal: float) -> float:
    """Find where the incomplete beta function reaches a goal, by halving."""
    low, middle, high = 0.0, 0.5, 1.0
    while low < middle < high:  # until there is no float between
        if _beta(middle, a, b) < goal:
            low = middle
        else:
            high = middle
        middle = (low + high) / 2
    return low


def _beta(x: float, a: int, b: int) -> float:
    """Compute the regularised incomplete beta function: P(at least a of a + b − 1 draws hit)."""
    if not 0 < x < 1:
        return float(x >= 1)
    front = math.exp(
        math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    )
    if x * (a + b + 2) < a + 1:  # here the fraction converges fast
        return front * _fraction(x, a, b) / a
    return 1 - front * _fraction(1 - x, b, a) / b


def _fraction(x: float, a: int, b: int) -> float:
    """Evaluate the continued fraction of the incomplete beta function (Lentz's method)."""
    c, d = 1.0, 1 / _away(1 - (a + b) * x / (a + 1))
    value = d
    for m in range(1, _STEPS + math.isqrt(a + b)):
        for top in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1 / _away(1 + top * d)
            c = _away(1 + top / c)
            value *= c * d
        if abs(c * d - 1) < _CLOSE:
            break
    return value


def _away(number: float) -> float:
    """Keep a denominator away from zero."""
    return number if abs(number) > _TINY else _TINY

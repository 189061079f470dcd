"""Confidence intervals of shares, held against sums of binomial probabilities."""

import math

from hypothesis import given
from hypothesis import strategies as st

from adtc.engine.limits.intervals import share_interval


def tail(hits: int, draws: int, share: float) -> float:
    """Add up the probability of at least so many hits."""
    return math.fsum(
        math.comb(draws, k) * share**k * (1 - share) ** (draws - k) for k in range(hits, draws + 1)
    )


@given(
    st.integers(1, 60).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))),
    st.sampled_from([0.5, 0.05, 1e-4, 1e-9]),
)
def test_ends_are_where_tails_are_as_rare_as_asked(drawn, risk):
    hits, draws = drawn
    low, high = share_interval(hits, draws, risk)
    assert 0 <= low <= hits / draws <= high <= 1
    if hits:
        assert tail(hits, draws, low) <= risk / 2 * (1 + 1e-9)
        assert tail(hits, draws, low * (1 + 1e-6)) > risk / 2
    else:
        assert low == 0
    if hits < draws:
        # as few hits, which are as many misses
        assert tail(draws - hits, draws, 1 - high) <= risk / 2 * (1 + 1e-6)
        assert tail(draws - hits, draws, 1 - high * (1 - 1e-6)) > risk / 2
    else:
        assert high == 1


def test_many_draws():
    low, high = share_interval(500_000, 1_000_000, 0.05)
    assert abs(low - 0.49902) < 1e-5
    assert abs(high - 0.50098) < 1e-5
    assert share_interval(0, 10**6, 0.05)[1] < 4e-6

"""Sums of numbers of several limbs are the sums of the Python integers they stand for."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from adtc.engine.exact.limbs import counts_of, limbs_of, sums_of, total_of

COUNTS = st.lists(st.integers(0, 2**200), max_size=20)


@given(COUNTS)
def test_limbs_hold_what_was_written(counts):
    assert counts_of(limbs_of(counts)) == counts


@given(COUNTS)
def test_the_total_is_exact(counts):
    assert total_of(limbs_of(counts)) == sum(counts)


@given(st.data())
def test_sums_by_group_are_exact_and_leave_out_group_minus_one(draw):
    counts = draw.draw(COUNTS)
    groups = draw.draw(st.lists(st.integers(-1, 4), min_size=len(counts), max_size=len(counts)))
    expected = [sum(c for c, g in zip(counts, groups, strict=True) if g == i) for i in range(5)]
    assert sums_of(limbs_of(counts), np.array(groups, np.int64), 5) == expected


def test_sums_of_full_limbs_do_not_wrap():
    counts = [2**64 - 1] * 1000
    assert sums_of(limbs_of(counts), np.zeros(1000, np.int64), 1) == [1000 * (2**64 - 1)]

"""Packed rows, and rows that are equal."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from adtc.data.bits import distinct


@given(st.lists(st.integers(-2, 5) | st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=30))
def test_distinct_numbers(numbers):
    first, group = distinct(np.array(numbers))
    ascending = sorted(set(numbers))
    assert [numbers[at] for at in first] == ascending
    assert first.tolist() == [numbers.index(n) for n in ascending]
    assert [ascending[g] for g in group] == numbers

"""The number of features that can split a table is that of all merged ones."""

from hypothesis import given
from hypothesis import strategies as st

from adtc import Data
from adtc.engine.lattice import count_splitting, distinct_features


@given(
    rows=st.lists(st.lists(st.booleans(), min_size=3, max_size=3), min_size=1, max_size=70),
    weight=st.integers(1, 3),
    minsup=st.integers(0, 4),
)
def test_it_counts_twins_each(rows: list[list[bool]], weight: int, minsup: int) -> None:
    weights = [1 + (weight - 1) * (at % 2) for at in range(len(rows))]
    data = Data.from_arrays(rows, [0] * len(rows), weights=weights)
    found = distinct_features(data, minsup)
    assert count_splitting(data, minsup) == found.multiplicity.sum()

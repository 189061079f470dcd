"""Distinct features, bit planes and numbered paths: what the kernels walk over."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import adtc
from adtc.algebra.metrics import RowGroup
from adtc.engine import lattice
from adtc.engine.switches import Switches


@st.composite
def tables(draw, min_weight=0):
    """Draw a table with twins, complements and constant columns among its features."""
    n_rows, n_features = draw(st.integers(1, 9)), draw(st.integers(1, 5))
    bit = st.integers(0, 1)
    columns = draw(
        st.lists(
            st.lists(bit, min_size=n_rows, max_size=n_rows),
            min_size=n_features,
            max_size=n_features,
        )
    )
    for at, flip in draw(st.lists(st.tuples(st.integers(0, n_features - 1), bit), max_size=4)):
        columns.append([value ^ flip for value in columns[at]])
    weights = draw(
        st.lists(st.integers(min_weight, 5), min_size=n_rows, max_size=n_rows).filter(any)
    )
    y = draw(st.lists(bit, min_size=n_rows, max_size=n_rows))
    X = np.array(columns).T
    return adtc.Data.from_arrays(X, y, weights=weights, labels=[0, 1])


def splits(data, minsup):
    """List the features that leave ``minsup`` rows on either side, straight from the table."""
    ones = data.dense().T.astype(int) @ data.weights
    return [f for f in range(data.n_features) if minsup <= ones[f] <= data.total - minsup]


@given(tables(), st.integers(0, 3), st.booleans())
def test_each_splitting_feature_stands_behind_exactly_one_column(data, minsup, merge):
    features = lattice.distinct_features(data, minsup, merge=merge)
    behind = [twin.feature for twins in features.twins for twin in twins]
    assert sorted(behind) == splits(data, minsup)
    assert features.multiplicity.tolist() == [len(twins) for twins in features.twins]
    dense = data.dense().T
    for column, twins in zip(features.columns, features.twins, strict=True):
        assert 2 * (column @ data.weights) <= data.total  # 1 is the smaller side
        for twin in twins:
            assert column.tolist() == (dense[twin.feature] ^ twin.flipped).tolist()


@given(tables(min_weight=1))
def test_equal_and_complementary_columns_become_one(data):
    features = lattice.distinct_features(data, 1)
    kinds = {min(column.tobytes(), (1 - column).tobytes()) for column in data.dense().T}
    constant = np.zeros(data.n_rows, np.uint8)
    kinds -= {constant.tobytes()}
    assert len(features.twins) == len(kinds)


def test_complements_of_half_the_rows_become_one():
    data = adtc.Data.from_arrays([[1, 0, 1], [1, 0, 0], [0, 1, 1], [0, 1, 0]], [1, 0, 0, 1])
    features = lattice.distinct_features(data, 1)
    assert [[twin.feature for twin in twins] for twins in features.twins] == [[0, 1], [2]]
    assert [twin.flipped for twin in features.twins[0]] == [True, False]


@pytest.mark.parametrize(("minsup", "merge"), [(0, True), (1, False)])
def test_twins_stay_apart(minsup, merge):
    # with minsup 0 a second split on a twin exists: its empty child is a leaf
    data = adtc.Data.from_arrays([[1, 1, 0], [0, 0, 1], [0, 0, 1]], [1, 0, 0])
    assert len(lattice.distinct_features(data, minsup, merge=merge).twins) == 3


def test_no_feature_may_be_left():
    data = adtc.Data.from_arrays([[1, 0], [1, 0], [1, 0]], [1, 0, 0])
    features = lattice.distinct_features(data, 1)
    assert features.twins == ()
    assert features.columns.shape == (0, 3)


@pytest.mark.parametrize("n_rows", [1, 63, 64, 65, 200])
@pytest.mark.parametrize("heaviest", [1, 6])
def test_bit_planes_count_every_pair_by_group_and_weight(n_rows, heaviest):
    rng = np.random.default_rng(n_rows + heaviest)
    weights = rng.integers(0, heaviest + 1, n_rows)
    weights[0] = heaviest
    data = adtc.Data.from_arrays(
        rng.integers(0, 2, (n_rows, 7)), rng.integers(0, 2, n_rows), weights=weights, labels=[0, 1]
    )
    groups = rng.integers(0, 3, n_rows)
    features = lattice.distinct_features(data, 0)
    table = lattice.bit_planes(features, data, groups, 3)
    X = features.columns.astype(np.int64)
    pairs = lattice.pairs_below(table, ())
    for g in range(3):
        here = np.where(groups == g, weights, 0)
        assert int(table.totals[g]) == here.sum()
        assert pairs[g].tolist() == (X * here @ X.T).tolist()
    assert table.rows.sum() == sum(int(w).bit_count() for w in weights.tolist())
    assert (table.offsets[1:] - table.offsets[:-1]).tolist() == (-(-table.rows // 64)).tolist()


def test_rows_whose_group_has_no_weight_are_in_no_group():
    data = adtc.Data.from_arrays([[1], [0], [1]], [0, 1, 2], weights=[3, 0, 1])
    groups = ((RowGroup(0),), (RowGroup(2),))
    assert lattice.group_of_rows(data, groups).tolist() == [0, -1, 1]


@pytest.mark.parametrize(("n", "max_depth"), [(0, 3), (1, 5), (4, 0), (4, 2), (5, 4), (3, 9)])
def test_paths_are_numbered_without_gaps(n, max_depth):
    paths = lattice.numbered_paths(n, max_depth)
    assert paths.levels == min(n, max(0, max_depth - 2))
    assert paths.rest == min(2, max_depth)
    numbers = []
    for k in range(paths.levels + 1):
        for features in itertools.combinations(range(n), k):
            rank = sum(int(paths.binomial[f, i + 1]) for i, f in enumerate(features))
            assert rank == sum(math.comb(f, i + 1) for i, f in enumerate(features))
            numbers += [int(paths.base[k]) + (rank << k) + signs for signs in range(1 << k)]
    assert sorted(numbers) == list(range(sum(lattice.path_counts(paths))))


def test_ranks_look_ahead_at_numbers_beyond_a_word():
    binomial = lattice.numbered_paths(n := 200_000, 4).binomial
    assert binomial[n, 2] == math.comb(n, 2)
    assert math.comb(n, 4) > binomial[n, 4] == 2**62


@given(tables(), st.integers(0, 2), st.integers(0, 3))
@settings(max_examples=30)
def test_merging_features_does_not_change_the_number_of_trees(data, minsup, max_depth):
    space = adtc.Space(max_depth=max_depth, minsup=min(minsup, data.total))
    merged, apart = (
        adtc.count(data, space, engine="fast", switches=Switches(merge_features=merge))
        for merge in (True, False)
    )
    assert merged == apart == adtc.count(data, space, engine="spec")

"""The lifting lemma: tensors over a semiring, indexed by metrics, are a semiring again."""

import math
from collections import Counter
from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adtc.algebra.laws import check_laws
from adtc.algebra.metrics import DEPTH, ERROR, LEAF_LABEL, SIZE, SUPPORT, Primitive
from adtc.algebra.minimal import minimal_sets, pareto_front
from adtc.algebra.semirings import (
    BOOLEAN,
    COUNT,
    FEATURE_SETS,
    MAX_PLUS,
    MIN_PLUS,
    REAL,
    Semiring,
    pareto,
)
from adtc.algebra.tensors import Scan, lift, singleton
from adtc.errors import LawError

SMALL = st.integers(-3, 3)
BASES: dict[str, tuple[Semiring, st.SearchStrategy]] = {
    "boolean": (BOOLEAN, st.just(True)),
    "count": (COUNT, st.integers(1, 2**70)),
    "min-plus": (MIN_PLUS, SMALL),
    "max-plus": (MAX_PLUS, SMALL),
    "real": (REAL, st.builds(Fraction, SMALL.filter(bool), st.integers(1, 4))),  # may cancel
    "pareto": (pareto(2), st.lists(st.tuples(SMALL, SMALL), min_size=1).map(pareto_front)),
    "feature sets": (
        FEATURE_SETS,
        st.lists(st.frozensets(st.integers(0, 3)), min_size=1).map(minimal_sets),
    ),
}
# (metrics, largest index kept): sums, maxima and minima, whole and truncated.
SHAPES: dict[str, tuple[tuple[Primitive, ...], tuple[float, ...]]] = {
    "none": ((), ()),
    "size": ((SIZE,), (math.inf,)),
    "size up to 4": ((SIZE,), (4,)),
    "error": ((ERROR,), (math.inf,)),
    "depth": ((DEPTH,), (math.inf,)),
    "depth up to 2": ((DEPTH,), (2,)),
    "support": ((SUPPORT,), (math.inf,)),
    "size and error up to 3": ((SIZE, ERROR), (math.inf, 3)),
    "size up to 5, depth, support": ((SIZE, DEPTH, SUPPORT), (5, math.inf, math.inf)),
}


def tensors(values: st.SearchStrategy, shape: tuple[float, ...]) -> st.SearchStrategy[dict]:
    axes = [st.integers(0, int(min(4, largest))) for largest in shape]
    return st.dictionaries(st.tuples(*axes), values, max_size=3)


@pytest.mark.parametrize("axes", SHAPES)
@pytest.mark.parametrize("base", BASES)
@given(data=st.data())
@settings(max_examples=3)
def test_lifted_tensors_are_a_semiring(base, axes, data):
    (R, values), (metrics, shape) = BASES[base], SHAPES[axes]
    some = data.draw(st.lists(tensors(values, shape), min_size=2, max_size=2))
    check_laws(lift(R, metrics, shape=shape), some)


def test_truncating_a_minimum_from_above_breaks_the_unit():
    """Say why ``support`` is never truncated: its unit is ∞, beyond every bound."""
    with pytest.raises(LawError, match="one is neutral"):
        check_laws(lift(COUNT, [SUPPORT], shape=[3]), [{(5,): 1}])


@pytest.mark.parametrize("base", BASES)
@given(data=st.data())
@settings(max_examples=20)
def test_the_whole_of_a_product_is_the_product_of_the_wholes(base, data):
    """Forgetting the indices is a homomorphism from tensors to values."""
    (R, values), (metrics, shape) = BASES[base], SHAPES["size and error up to 3"]
    shape = tuple(math.inf for _ in shape)
    T1, T0 = (data.draw(tensors(values, shape)) for _ in range(2))
    lifted = lift(R, metrics, shape=shape)

    def whole(T):
        total = R.zero
        for cell in T.values():
            total = R.add(total, cell)
        return total

    assert R.same(whole(lifted.mul(T1, T0)), R.mul(whole(T1), whole(T0)))
    assert R.same(whole(lifted.add(T1, T0)), R.add(whole(T1), whole(T0)))


@given(tensors(st.integers(1, 9), (4, 4, 4)), tensors(st.integers(1, 9), (4, 4, 4)))
def test_each_axis_combines_its_own_way(T1, T0):
    lifted = lift(COUNT, [SIZE, DEPTH, SUPPORT], shape=[5, math.inf, math.inf])
    expected: Counter = Counter()
    for (k1, a), (k0, b) in product(T1.items(), T0.items()):
        k = (k1[0] + k0[0], max(k1[1], k0[1]), min(k1[2], k0[2]))
        if k[0] <= 5:
            expected[k] += a * b
    assert lifted.mul(T1, T0) == dict(expected)


@given(st.data())
def test_no_cell_holds_zero(data):
    """Opposite values cancel and their cell goes: tensors compare equal as dicts."""
    values = st.sampled_from([-2, -1, 1, 2])
    T1, T0 = (data.draw(tensors(values, (3,))) for _ in range(2))
    lifted = lift(REAL, [SIZE], shape=[math.inf])
    assert 0 not in lifted.add(T1, T0).values()
    assert 0 not in lifted.mul(T1, T0).values()
    assert lifted.add(T1, {k: -v for k, v in T1.items()}) == lifted.zero


def test_singletons():
    assert singleton((1, 2), 5, COUNT) == {(1, 2): 5}
    assert singleton((1, 2), 0, COUNT) == {}
    assert singleton((0,), math.inf, MIN_PLUS) == {}


def test_scanned_cell_pairs_are_counted_even_if_they_are_cut_off():
    scan = Scan()
    lifted = lift(COUNT, [SIZE], shape=[2], scan=scan)
    T = {(1,): 1, (2,): 1, (0,): 1}
    assert lifted.mul(T, T) == {(0,): 1, (1,): 2, (2,): 3}
    assert scan.cells == 9


def test_trivial_splits_are_cut_where_they_would_arise():
    """Two leaves of equal label do not join; whatever is no leaf joins with everything."""
    lifted = lift(COUNT, [LEAF_LABEL], shape=[math.inf])
    leaves = {(0,): 1, (1,): 1}
    stumps = lifted.mul(leaves, leaves)
    assert stumps == {(-1,): 2}
    assert lifted.mul(stumps, leaves) == {(-1,): 4}
    assert lifted.mul(stumps, stumps) == {(-1,): 4}


def test_a_split_is_told_its_feature():
    lifted = lift(FEATURE_SETS, [SIZE], shape=[math.inf])
    leaf = {(1,): FEATURE_SETS.one}
    assert lifted.node(7, leaf, leaf) == {(2,): frozenset({frozenset({7})})}

"""Every built-in semiring keeps the laws; the checker names the law that a broken one breaks."""

import math
import operator
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adtc.algebra import minimal, moments
from adtc.algebra.laws import LAWS, check_laws
from adtc.algebra.semirings import (
    COUNT,
    FEATURE_SETS,
    MIN_PLUS,
    SEMIRINGS,
    Semiring,
    get_semiring,
    min_plus_witness,
    product,
)
from adtc.algebra.trees import Leaf, Split
from adtc.algebra.witnesses import Costed, Drawn, Found
from adtc.errors import LawError

SMALL = st.integers(-5, 5)
COUNTS = st.integers(0, 2**70)
TREES = st.none() | st.builds(Leaf, st.integers(0, 1)) | st.just(Split(0, Leaf(1), Leaf(0)))
COSTED = st.builds(Costed, SMALL, TREES)
POSITIVE = st.floats(1e-6, 1e6)
PARAMETERS = {
    "k-best": 3,
    "k-best-trees": 2,
    "pareto": 2,
    "counting-draw": np.random.default_rng(7),
    "expectation": 2,
}


def by_cost(values: list[Costed]) -> tuple[Costed, ...]:
    return tuple(sorted(values, key=lambda value: value.cost))


def points(d: int) -> st.SearchStrategy[minimal.Front]:
    return st.lists(st.tuples(*[SMALL] * d), max_size=5).map(minimal.pareto_front)


@st.composite
def sums_over_trees(draw: st.DrawFn) -> moments.Moments:
    total = moments.nothing(2)
    for values in draw(st.lists(st.tuples(SMALL, SMALL), max_size=4)):
        total = moments.add(total, moments.of(values))
    return total


VALUES = {
    "boolean": st.booleans(),
    "count": COUNTS,
    "min-plus": SMALL | st.just(math.inf),
    "max-plus": SMALL | st.just(-math.inf),
    "viterbi": st.floats(0, 1, allow_subnormal=False).filter(lambda p: p == 0 or p > 1e-6),
    "real": POSITIVE | st.just(0),
    "log-sum-exp": st.floats(-1e3, 1e3) | st.just(-math.inf),
    "feature-sets": st.lists(st.frozensets(st.integers(0, 4))).map(minimal.minimal_sets),
    "witness": st.builds(Found, st.booleans(), TREES),
    "min-plus-witness": COSTED | st.just(Costed(math.inf)),
    "k-best": st.lists(SMALL, max_size=3).map(sorted).map(tuple),
    "k-best-trees": st.lists(COSTED, max_size=2).map(by_cost),
    "pareto": points(2),
    "counting-draw": st.builds(Drawn, COUNTS, TREES),
    "expectation": sums_over_trees(),
}


def built_in(name: str) -> Semiring:
    return get_semiring(name, *([PARAMETERS[name]] if name in PARAMETERS else []))


def test_every_built_in_semiring_has_values():
    assert set(VALUES) == set(SEMIRINGS)


@pytest.mark.parametrize("name", VALUES)
@given(data=st.data())
@settings(max_examples=40)
def test_laws(name, data):
    check_laws(built_in(name), [data.draw(VALUES[name]) for _ in "abc"])


@pytest.mark.parametrize("d", [1, 3, 4])
@given(data=st.data())
@settings(max_examples=30)
def test_laws_of_fronts_in_other_dimensions(d, data):
    check_laws(get_semiring("pareto", d), [data.draw(points(d)) for _ in "abc"])


@given(data=st.data())
@settings(max_examples=30)
def test_laws_of_products(data):
    names = ("count", "min-plus-witness", "log-sum-exp")
    values = [tuple(data.draw(VALUES[name]) for name in names) for _ in "abc"]
    check_laws(product(*map(built_in, names)), values)


MIN_MAX = Semiring("min-max", 9, 0, min, max)
BROKEN = {
    "⊕ is commutative": replace(COUNT, add=lambda a, b: a),
    "⊕ is associative": replace(COUNT, add=lambda a, b: abs(a - b)),
    "zero is neutral for ⊕": replace(COUNT, zero=1),
    "⊗ is commutative": replace(COUNT, mul=lambda a, b: a),
    "⊗ is associative": replace(COUNT, mul=lambda a, b: a * b * (a + b)),
    "one is neutral for ⊗": replace(COUNT, one=0),
    "zero absorbs": replace(COUNT, mul=operator.add, one=0),
    "⊗ distributes over ⊕": Semiring("broken", 0, math.inf, operator.add, min),
    "split distributes over ⊕ in child 1": replace(COUNT, split=lambda f, a, b: a * a * b),
    "split distributes over ⊕ in child 0": replace(COUNT, split=lambda f, a, b: a * b * b),
    "split of zero is zero in child 1": replace(MIN_MAX, split=lambda f, a, b: min(b, 8)),
    "split of zero is zero in child 0": replace(MIN_MAX, split=lambda f, a, b: a),
}


def test_there_is_a_broken_semiring_for_every_law():
    assert list(BROKEN) == [law.name for law in LAWS]


@pytest.mark.parametrize("law", BROKEN)
def test_checker_names_the_broken_law(law):
    with pytest.raises(LawError, match=f'breaks the law "{law}"'):
        check_laws(BROKEN[law], [2, 3, 5])


def test_checker_names_the_values_and_both_sides():
    with pytest.raises(LawError) as caught:
        check_laws(Semiring("minus", 0, 1, operator.sub, operator.mul), [2, 3])
    assert str(caught.value) == (
        "semiring 'minus' breaks the law \"⊕ is commutative\" (a ⊕ b = b ⊕ a) for a = 2, b = 3:"
        " the left side is -1, the right side is 1."
    )


def test_checker_reports_an_operation_that_fails():
    with pytest.raises(LawError, match=r"cannot compute the law .* a = 'x', b = inf: TypeError"):
        check_laws(MIN_PLUS, ["x"])


def test_checker_accepts_a_semiring_of_ones_own():
    check_laws(Semiring("bottleneck", -math.inf, math.inf, max, min), [1, 2, 7])


def test_laws_with_trees_hold_up_to_the_tree_only():
    exact = replace(min_plus_witness(), equal=None)
    with pytest.raises(LawError, match="⊕ is commutative"):
        check_laws(exact, [Costed(1, Leaf(0)), Costed(1, Leaf(1))])


def test_checker_sees_a_set_of_features_that_is_not_minimal():
    union = replace(FEATURE_SETS, add=lambda a, b: a | b)
    with pytest.raises(LawError):
        check_laws(union, [frozenset([frozenset([1])]), frozenset([frozenset([1, 2])])])

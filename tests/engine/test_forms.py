"""Exact linear algebra behind plans."""

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from adtc.engine.plan.forms import Span, solve

NUMBERS = st.integers(-(10**18), 10**18) | st.integers(-3, 3)


def vectors(length: int) -> st.SearchStrategy[list[int]]:
    return st.lists(NUMBERS, min_size=length, max_size=length)


def combined(factors: list[Fraction], basis: list[list[int]], length: int) -> list[Fraction]:
    columns = zip(*basis, strict=True) if basis else [()] * length
    return [sum((f * x for f, x in zip(factors, c, strict=True)), Fraction()) for c in columns]


@given(basis=st.lists(vectors(4), max_size=4), target=vectors(4))
def test_a_solution_solves(basis, target):
    solution = solve(basis, target)
    if solution is not None:
        assert combined(list(solution), basis, 4) == target


@given(basis=st.lists(vectors(4), max_size=4), data=st.data())
def test_a_combination_is_found(basis, data):
    factors = data.draw(st.lists(NUMBERS, min_size=len(basis), max_size=len(basis)))
    target = [int(x) for x in combined([Fraction(f) for f in factors], basis, 4)]
    assert solve(basis, target) is not None


def test_none_where_there_is_no_solution():
    assert solve([[1, 0, 1], [0, 2, 2]], [1, 1, 1]) is None
    assert solve([[1, 0, 1], [0, 2, 2]], [1, 1, 2]) == (1, Fraction(1, 2))
    assert solve([], [0, 0]) == ()
    assert solve([], [0, 1]) is None
    assert solve([[2, 4], [1, 2]], [3, 6]) == (Fraction(3, 2), 0)


@given(basis=st.lists(vectors(4), max_size=5), target=vectors(4))
def test_a_span_holds_what_has_a_solution(basis, target):
    span = Span()
    for at, vector in enumerate(basis):
        assert span.add(vector) == (solve(basis[:at], vector) is None)
    assert (target in span) == (solve(basis, target) is not None)
    assert all(vector in span for vector in basis)

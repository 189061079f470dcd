"""Numbers that are not exactly known: bounds tighten, and only what is exact is an integer."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

import adtc
from adtc.engine.limits.bracket import Bracket, Interval
from adtc.engine.results import Count, Existence, number_of_trees
from adtc.errors import NotExactError

DATA = adtc.Data.from_arrays([[1], [1], [0]], [1, 1, 0])
RECORD = adtc.count(DATA, adtc.Space(max_depth=1)).record


def around(number: int) -> st.SearchStrategy[Bracket]:
    """Make brackets that hold a number."""
    ends = st.none() | st.integers(0, 50)
    return st.builds(
        lambda below, above, draws: Bracket(
            None if below is None else number - below,
            None if above is None else number + above,
            None
            if draws is None
            else Interval(number + 7, number - 60, number + 60, 0.95, draws, 0),
        ),
        ends,
        ends,
        st.none() | st.integers(1, 9),
    )


@given(st.integers(0, 1000).flatmap(lambda n: st.tuples(st.just(n), around(n), around(n))))
def test_bounds_only_tighten(given_):
    number, one, other = given_
    both = one.tightened(other)
    assert number in both
    for before in (one, other):
        assert before.lower is None or both.lower >= before.lower
        assert before.upper is None or both.upper <= before.upper
    swapped = other.tightened(one)
    assert (both.lower, both.upper) == (swapped.lower, swapped.upper)
    if both.estimate is not None:
        assert {both.estimate.low, both.estimate.value, both.estimate.high} <= {
            n for n in range(-60, 1100) if n in both
        }
    if both.status == "exact":
        assert int(both) == both.value == number
        assert isinstance(number_of_trees(both, RECORD), Count)
    else:
        with pytest.raises(NotExactError, match=rf"{both.status}, not exact"):
            int(both)


def test_bounds_that_contradict_each_other_are_a_defect():
    with pytest.raises(AssertionError, match="contradict"):
        Bracket(0, 3).tightened(Bracket(4, 9))


DRAWN = Interval(20, 10, 40, 0.95, 100, 1)


@pytest.mark.parametrize(
    ("found", "status", "words"),
    [
        (Bracket(3, 3, DRAWN, "depth at most 2"), "exact", "3"),
        (Bracket(3, 70), "bounded", "between 3 and 70"),
        (Bracket(None, 70), "bounded", "at most 70"),
        (Bracket(3), "bounded", "at least 3"),
        (Bracket(3, None, finished="depth at most 2"), "partial", "at least 3"),
        (Bracket(0, 70, DRAWN), "estimated", "about 20, between 0 and 70"),
        (Bracket(), "bounded", "unknown"),
    ],
)
def test_the_status_says_what_kind_of_number_it_is(found, status, words):
    assert (found.status, str(found)) == (status, words)
    told = json.loads(json.dumps(found.to_json()))
    assert (told["status"], told["count"]) == (status, 3 if status == "exact" else None)
    assert (told["lower"], told["upper"]) == (found.lower, found.upper)


def test_whether_a_number_is_zero_may_be_decided_without_the_number():
    assert Bracket(1, None)
    assert not Bracket(0, 0)
    with pytest.raises(NotExactError, match="not decided"):
        bool(Bracket(0, 5))


def test_what_is_not_decided_is_neither_true_nor_false():
    undecided = Existence(None, RECORD, decided=False)
    assert undecided.exists is None
    assert "not decided" in undecided._repr_html_()
    with pytest.raises(NotExactError, match="not decided"):
        bool(undecided)
    assert Existence(None, RECORD).exists is False


def test_an_exact_count_has_the_same_face():
    n = adtc.count(DATA, adtc.Space(max_depth=1))
    assert (n.lower, n.value, n.upper, n.estimate, n.status) == (6, 6, 6, None, "exact")
    assert isinstance(n, int)
    assert n.to_json() == {"count": 6, "log10": n.log10, "status": "exact"}

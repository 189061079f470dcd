"""Rounded budgets admit every good tree, and lose next to nothing."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

import adtc
from adtc.algebra.semirings import COUNT
from adtc.engine import fast
from adtc.engine.plan import Budget, make_plan
from adtc.engine.plan.forms import SMALL, Form
from adtc.engine.plan.multipliers import _simple
from adtc.engine.plan.rounding import rounded
from adtc.engine.prepare import prepare
from adtc.engine.query import ask
from adtc.engine.switches import Switches

SPACE = adtc.Space(max_depth=3, relminsup="0.05")


@st.composite
def trees(draw):
    """Draw a form with large coefficients, and leaves: each a label and rows by group."""
    labels, groups = draw(st.integers(2, 3)), draw(st.integers(1, 4))
    weight = st.integers(-(10**9), 10**9) | st.integers(-50, 50)
    rows = [[0] * groups] + [[draw(weight) for _ in range(groups)] for _ in range(labels - 1)]
    form = Form("f", draw(weight), tuple(map(tuple, rows)))
    counts = st.lists(st.integers(0, 2000), min_size=groups, max_size=groups)
    leaves = draw(st.lists(st.tuples(st.integers(0, labels - 1), counts), min_size=1, max_size=8))
    return form, leaves


def cost(form: Form, leaves: list[tuple[int, list[int]]]) -> int:
    return sum(
        form.per_leaf + sum(w * n for w, n in zip(form.weights[label], rows, strict=True))
        for label, rows in leaves
    )


@given(trees(), st.integers(0, 3), st.integers(0, 10**6))
def test_a_tree_within_the_limit_is_within_the_rounded_one(drawn, more_leaves, below):
    form, leaves = drawn
    totals = tuple(map(sum, zip(*(rows for _, rows in leaves), strict=True)))
    limit = cost(form, leaves) + below
    found = rounded(Budget(form, limit, "it"), totals, len(leaves) + more_leaves)
    assert cost(found.form, leaves) <= found.limit
    if found.form != form:
        assert found.form.reach(totals) < SMALL <= 8 * form.reach(totals)


def test_small_budgets_stay_as_they_are():
    budget = Budget(Form("error", 0, ((0, 0), (1, -1))), 7, "error <= 7")
    assert rounded(budget, (300, 700), 8) is budget


def test_a_budget_that_rounding_would_loosen_much_stays_exact():
    budget = Budget(Form("gap", 0, ((0, 0), (10**6 + 1, -700_001))), 7, "dp <= 0.1")
    assert rounded(budget, (10**6, 10**6), 8) is budget
    few = rounded(budget, (1000, 1000), 8)
    assert few.form.reach((1000, 1000)) < SMALL
    scale = Fraction(max(map(abs, few.form.vector())), 10**6 + 1)
    width = (10**6 + 1 + 700_001) * 1000
    assert -1 < few.limit - scale * 7 <= scale * width / 2000


def test_every_leaf_may_be_rounded_up():
    rows, leaves = SMALL // 8 - 1, 8  # so many rows that the largest coefficient becomes 1
    form = Form("f", 600, ((0,), (1000,)))
    found = rounded(Budget(form, 600 * leaves, "it"), (rows,), leaves)
    assert (found.form.per_leaf, found.form.weights) == (1, ((0,), (1,)))
    every_row_costs_nothing = [(0, [rows]), *[(0, [0])] * (leaves - 1)]
    assert cost(form, every_row_costs_nothing) == 600 * leaves
    assert cost(found.form, every_row_costs_nothing) == leaves == found.limit


@pytest.fixture(scope="module")
def adult() -> adtc.Data:
    return adtc.load_dataset("adult")


def test_fairness_on_a_real_table_needs_no_wide_numbers(adult):
    where = "acc >= 0.8 and eopp <= 0.02 and dp <= 0.1"
    question = ask(adult, SPACE, semiring=COUNT, where=where)
    reach = {}
    for on in (True, False):
        plan = prepare(make_plan(question), adult, Switches(round=on), adtc.Monitor()).plan
        reach[on] = max(budget.form.reach(plan.totals) for budget in plan.budgets)
    assert reach[True] < SMALL <= reach[False]
    runs = [fast.run(question, adult, switches=Switches(round=on)) for on in (True, False)]
    assert runs[0].total == runs[1].total > 0
    live = [sum(run.circuit.outside.live_paths) for run in runs]
    assert live[1] <= live[0] <= 1.02 * live[1]


def test_two_sides_of_one_bound_are_not_combined(adult):
    question = ask(adult, SPACE, semiring=COUNT, where="0.79 <= acc <= 0.82 and dp <= 0.1")
    prepared = prepare(make_plan(question), adult, Switches(), adtc.Monitor())
    mixed = [b for b in prepared.plan.budgets if b.mixed]
    assert mixed
    for budget in mixed:
        assert any(budget.form.vector())
        (_, first), (_, other) = budget.mixed
        assert first.form.vector() != tuple(-c for c in other.form.vector())


@given(st.fractions(Fraction(1, 10**5), 10**5), st.integers(1, 2**26), st.integers(1, 2**26))
def test_simple_multipliers_are_near_and_keep_numbers_small(multiplier, reach, other):
    found = _simple(multiplier, reach, other)
    assert abs(found - multiplier) <= multiplier / 8
    p, q = found.numerator, found.denominator
    if 10 * (reach + multiplier * other) <= SMALL and multiplier >= 1:
        assert p * other + q * reach < SMALL

"""Negations and disjunctions become budgets where they imply a bound, and answers stay the same."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import adtc
import oracle
from adtc.algebra.formula import And, Not, Or, parse
from adtc.algebra.semirings import COUNT
from adtc.engine import fast
from adtc.engine.plan import make_plan
from adtc.engine.plan.pushing import normal, parts_of
from adtc.engine.query import ask
from adtc.engine.switches import Switches
from strategies import Formula, conjunction, disjunction, draw_bound, negation, problems
from test_agreement import data_of, space_of

SPACE = adtc.Space(max_depth=3, relminsup=0.1)


@pytest.fixture(scope="module")
def credit() -> adtc.Data:
    return adtc.load_dataset("german-credit")


@pytest.mark.parametrize(
    ("told", "written"),
    [
        ("not (error > 5 and size > 4)", "error <= 5 or size <= 4"),
        ("not (error > 5 or size > 4)", "error <= 5 and size <= 4"),
        ("not not error <= 5", "error <= 5"),
        ("not 2 <= size <= 4", "2 > size or size > 4"),
        ("not (error = 3 or not size != 2)", "error != 3 and size != 2"),
        ("not true or error <= 1", "false or error <= 1"),
    ],
)
def test_negations_end_at_atoms(told: str, written: str) -> None:
    assert str(normal(parse(told))) == written


def bounds(data: adtc.Data, where: str) -> dict[str, int]:
    """Return the budgets by their forms' names."""
    plan = make_plan(ask(data, SPACE, semiring=COUNT, where=where))
    return {budget.form.name: budget.limit for budget in plan.budgets}


@pytest.mark.parametrize(
    ("where", "alone"),
    [
        ("error <= 250 or error <= 280", "error <= 280"),
        ("error <= 250 and size <= 3 or acc >= 0.72", "error <= 280"),
        ("not (error > 250 and acc < 0.72)", "error <= 280"),
        ("(size <= 3 or size <= 4) and (size <= 6 or size <= 5)", "size <= 4"),
        ("dp <= 0.1 and acc >= 0.7 or dp <= 0.2 and f1 >= 0.5", "dp <= 0.2"),
        ("error <= 250 or false", "error <= 250"),
        ("not (error > 280 or size > 4)", "error <= 280 and size <= 4"),
    ],
)
def test_what_all_branches_bound_is_pushed(credit: adtc.Data, where: str, alone: str) -> None:
    assert bounds(credit, where) == bounds(credit, alone) != {}


@pytest.mark.parametrize(
    ("where", "reason"),
    [
        ("error <= 250 or size <= 3", "its branches bound different sums of counts"),
        ("error <= 250 or f1 != 0.5", "one of its branches bounds no sum of counts"),
        ("error <= 250 or error >= 300", "its branches bound different sums of counts"),
        ("f1 != 0.5", "!= is no bound"),
        ("size * error <= 900", "it bounds no sum of counts"),
    ],
)
def test_what_is_not_pushed_says_why(credit: adtc.Data, where: str, reason: str) -> None:
    assert bounds(credit, where) == {}
    (left,) = adtc.explain(credit, SPACE, where).filtered
    assert (left.atom, left.reason) == (where, reason)


def test_fewer_paths_are_live(credit: adtc.Data) -> None:
    where = "acc >= 0.74 and size <= 6 or acc >= 0.735 and dp <= 0.1"
    assert isinstance(parse(where), Or)
    question = ask(credit, SPACE, semiring=COUNT, where=where)
    pushed = fast.run(question, credit)
    every = fast.run(question, credit, switches=Switches(push=False))
    assert pushed.total == every.total > 0
    assert sum(pushed.circuit.outside.live_paths) < sum(every.circuit.outside.live_paths) / 2


@st.composite
def nested(draw: st.DrawFn, names: tuple[str, ...], height: int) -> Formula:
    """Draw bounds under and, or and not."""
    if height == 0:
        return draw_bound(draw, names)
    members = [draw(nested(names, height - 1)) for _ in range(draw(st.integers(1, 2)))]
    joined = draw(st.sampled_from([conjunction, disjunction, disjunction]))(members)
    return negation(joined) if draw(st.booleans()) else joined


@given(problems(), st.data())
@settings(max_examples=60)
def test_engines_agree_on_nested_formulas(problem, data) -> None:
    table, space = problem
    names = data.draw(st.sampled_from([("error",), ("error", "size"), ("acc", "size", "error")]))
    formula = data.draw(nested(names, 2))
    expected = oracle.model_tensor(table, space, ["size", "error"], formula.holds)
    for engine in ("spec", "fast"):
        found = adtc.model_tensor(
            data_of(table), space_of(space), ["size", "error"], where=formula.text, engine=engine
        )
        assert dict(found) == expected, (engine, formula.text)


@given(problems(), st.data())
@settings(max_examples=60)
def test_the_normal_form_means_the_same(problem, data) -> None:
    table, space = problem
    formula = data.draw(nested(tuple(oracle.metric_names(table))[:8], 2))
    written = normal(parse(formula.text))
    assert not _has_negation(written)
    answers = [
        adtc.count(data_of(table), space_of(space), where, engine="spec")
        for where in (formula.text, written)
    ]
    assert answers[0] == answers[1]


def _has_negation(formula: object) -> bool:
    if isinstance(formula, And | Or):
        return any(map(_has_negation, formula.parts))
    return isinstance(formula, Not)


def test_true_is_no_part() -> None:
    assert list(parts_of(parse("true and not false"))) == []

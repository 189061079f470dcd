"""Limits that still answer: what is finished is exact for what it names, and bounds the rest."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import adtc
import oracle
from adtc.algebra.semirings import COUNT
from adtc.engine.limits.beforehand import no_better
from adtc.engine.limits.within import Reached, deepest, most_trees
from adtc.engine.monitor import Monitor
from adtc.engine.query import ask
from adtc.engine.run import Run
from adtc.errors import CancelledError, LimitError, NotExactError
from adtc.show.heatmap import heatmap_data
from test_agreement import plain, questions


class Stopping(Monitor):
    """Stops runs of trees deeper than ``deepest``: by what they ask, not by a clock."""

    deepest: int


def stopping(depth: int) -> Stopping:
    monitor = Stopping(exact=False)
    monitor.deepest = depth
    return monitor


@pytest.fixture(autouse=True)
def _stop_by_depth(monkeypatch):
    def checked(honest):
        def asked(self, question, *args):
            if (
                isinstance(self.monitor, Stopping)
                and question.space.max_depth > self.monitor.deepest
            ):
                raise LimitError("out of time: raise the limit.")
            return honest(self, question, *args)

        return asked

    for name in ("fast", "spec", "best"):
        monkeypatch.setattr(Run, name, checked(getattr(Run, name)))


@settings(max_examples=40)
@given(questions(), st.integers(-1, 3), st.sampled_from(["spec", "auto"]))
def test_brackets_hold_the_number_and_lower_bounds_are_counts(question, reached, engine):
    data, asked = question.given
    expected = len(question.good())
    found = adtc.count(data, asked, question.where, monitor=stopping(reached), engine=engine)
    assert found.lower <= expected
    assert found.upper is None or expected <= found.upper
    assert isinstance(found, int) == (found.status == "exact")
    if found.status == "partial":
        smaller = replace(question.space, max_depth=reached)
        assert found.lower == len(oracle.good_trees(question.table, smaller, question.holds))
        assert found.finished == f"depth at most {reached}"
        assert (found.stopped, found.advice) == ("out of time", "raise the limit")
        assert found.record.status == "partial"
        with pytest.raises(NotExactError):
            int(found)


@settings(max_examples=25)
@given(questions(), st.integers(-1, 3))
def test_what_is_not_decided_is_none(question, reached):
    data, asked = question.given
    good = question.good()
    found = adtc.exists(data, asked, question.where, monitor=stopping(reached))
    assert found.exists in (None, bool(good))
    if found.exists:
        assert plain(found.tree) in [tree for tree, _ in good]
    if found.exists is None:
        assert found.record.status in ("partial", "bounded")


@settings(max_examples=40)
@given(questions(), st.integers(-1, 3), st.sampled_from([1, -1]), st.data())
def test_an_optimum_stopped_early_lies_between_its_value_and_its_bound(
    question, reached, sign, drawn
):
    data, asked = question.given
    metric = drawn.draw(
        st.sampled_from(["error", "size", "acc", *(["f1"] if data.positive else [])])
    )
    choose = min if sign > 0 else max
    expected = oracle.best(question.table, question.space, metric, choose, question.holds)
    goal = {"minimize" if sign > 0 else "maximize": metric}
    found = adtc.optimize(data, asked, **goal, where=question.where, monitor=stopping(reached))
    if found.proved:
        assert found.value == expected
        return
    assert found.record.status in ("partial", "bounded")
    if found.bound is not None and expected is not None:
        assert sign * found.bound <= sign * expected
    if found.tree is not None:
        assert sign * found.value >= sign * expected
        assert found.value == dict(question.good())[plain(found.tree)][metric]


@settings(max_examples=30)
@given(questions(), st.integers(-1, 3))
def test_a_partial_profile_is_the_profile_of_its_depth(question, reached):
    data, asked = question.given
    found = adtc.profile(
        data, asked, ["size", "error"], where=question.where, monitor=stopping(reached)
    )
    depth = found.record.conventions["max_depth"]
    smaller = replace(question.space, max_depth=depth)
    expected = oracle.model_tensor(question.table, smaller, ["size", "error"], question.holds)
    names = found.names
    columns = [found.values(name) for name in names]
    cells = {}
    for at, trees in enumerate(found.trees):
        index = tuple(column.distinct[column.codes[at]] for column in columns)
        cells[index] = cells.get(index, 0) + int(trees[0])
    assert cells == expected
    assert (found.status == "exact") == (depth == question.space.max_depth)
    assert found.count.lower == found.total
    assert isinstance(found.count, int) == (found.status == "exact")
    if found.status == "partial":
        assert found.record.details["asked_max_depth"] == question.space.max_depth
        assert len(question.good()) in found.count


DATA = adtc.load_dataset("german-credit", nbins=2)
SPACE = adtc.Space(max_depth=4, relminsup=0.1)


def test_a_partial_profile_is_kept_and_read_again(tmp_path):
    made = adtc.profile(DATA, SPACE, ["size", "acc"], monitor=stopping(2))
    assert (made.status, made.source.space.max_depth) == ("partial", 2)
    again = adtc.load_profile(made.save(tmp_path / "part.adtc", circuit=True))
    assert (again.status, again.count) == ("partial", made.count)
    assert (again.total, repr(again)) == (made.total, repr(made))
    assert adtc.verify(tmp_path / "part.adtc").valid
    assert again.draw(1, seed=0)[0].tree == made.draw(1, seed=0)[0].tree


def test_all_that_is_made_of_a_partial_profile_says_so():
    made = adtc.profile(DATA, SPACE, ["size", "acc"], monitor=stopping(1))
    said = "partial: exact for depth at most 1"
    table, votes, variables = made.crosstab("size", "acc"), made.vote_shares(), made.variables()
    for one in (table, votes, variables, made.pareto(maximize="acc", minimize="size")):
        assert one.status == "partial"
    for text in (
        repr(made),
        str(table),
        repr(votes),
        *(one._repr_html_() for one in (table, votes, variables)),
    ):
        assert said in text
    assert heatmap_data(table).scale == "trees, partial"
    assert (table.to_json()["count"], table.to_json()["status"]) == (None, "partial")
    exact = adtc.profile(DATA, adtc.Space(1), ["size", "acc"]).crosstab("size", "acc")
    assert (exact.status, exact.part, heatmap_data(exact).scale) == ("exact", "", "trees")


def test_near_best_formulas_of_a_smaller_space_bound_nothing():
    where = "error <= 1.05 * least(error)"
    made = adtc.profile(DATA, SPACE, ["error"], where=where, monitor=stopping(3))
    assert made.status == "partial"
    assert made.count.lower == 0 < made.total


def test_a_result_that_cannot_be_read_is_too_large(monkeypatch):
    monkeypatch.setattr("adtc.engine.monitor.SECONDS_PER_VALUE", 1.0)
    monitor = Monitor(time_limit=200)
    made = adtc.profile(DATA, adtc.Space(2, relminsup=0.2), ["size", "acc"], monitor=monitor)
    assert made.status == "partial"
    assert (
        "cells of the result cannot be read within the time limit" in made.record.details["stopped"]
    )


def test_memory_that_is_not_enough_gives_the_deepest_that_fits():
    asked = DATA, SPACE, ["size", "acc", "dp"]
    found = adtc.profile(*asked, monitor=Monitor(memory_limit=3_000_000))
    assert found.status == "partial"
    assert 0 < found.record.conventions["max_depth"] < 4
    with pytest.raises(LimitError):
        adtc.profile(*asked, monitor=Monitor(memory_limit=3_000_000, exact=True))


def test_without_a_limit_only_exact_answers_count():
    assert not Monitor().answers
    assert Monitor(exact=False).answers
    assert Monitor(time_limit=1).answers
    assert not Monitor(time_limit=1).strict().answers


# --- in which order depths are tried ----------------------------------------------------------


def asked(monitor: Monitor, *, fits: int, depth: int = 5, **options) -> tuple[list[int], Reached]:
    """Try depths of which those beyond ``fits`` are too large; return the order and the end."""
    tried = []

    def attempt(at: int) -> int:
        tried.append(at)
        if at > fits:
            raise LimitError("too large: ask for less.")
        return at

    return tried, deepest(attempt, depth, monitor, lambda reached: reached, **options)


@pytest.mark.parametrize(
    ("monitor", "fits", "order", "depth"),
    [
        (Monitor(exact=False), 5, [5], 5),
        (Monitor(exact=False), 3, [5, 0, 1, 2, 3, 4], 3),
        (Monitor(exact=False, patient=True), 5, [2, 3, 5], 5),
        (Monitor(exact=False, patient=True), 3, [2, 3, 5, 4], 3),
        (Monitor(time_limit=100), 5, [2, 3, 4, 5], 5),
        (Monitor(time_limit=100), 3, [2, 3, 4], 3),
        (Monitor(time_limit=100), 1, [2, 0, 1], 1),
        (Monitor(time_limit=100), -1, [2, 0], None),
    ],
)
def test_which_depths_are_tried(monitor, fits, order, depth):
    tried, reached = asked(monitor, fits=fits)
    assert (tried, reached.depth, reached.answer) == (order, depth, depth)
    assert reached.reason == (None if fits == 5 else "too large: ask for less.")


def test_an_answer_that_settles_the_question_ends_it():
    tried, reached = asked(Monitor(time_limit=100), fits=5, enough=lambda at: at == 3)
    assert (tried, reached) == ([2, 3], Reached(3, 3))


def test_what_is_finished_can_be_taken_while_the_run_goes_on():
    monitor = Monitor(time_limit=100)

    def attempt(at: int) -> int:
        if at == 4:
            raise CancelledError("stopped")
        return at

    with pytest.raises(CancelledError):
        deepest(attempt, 5, monitor, lambda reached: reached)
    assert monitor.finished("late") == Reached(3, 3, "late")


# --- bounds that need no search ---------------------------------------------------------------


@settings(max_examples=40)
@given(questions(), st.sampled_from([1, -1]), st.data())
def test_no_tree_is_better_than_the_bound(question, sign, drawn):
    data, asked_space = question.given
    metric = drawn.draw(st.sampled_from(oracle.metric_names(question.table)))
    asked_ = ask(data, asked_space, semiring=COUNT, metrics=[metric])
    bound = no_better(asked_, data, sign)
    best = oracle.best(question.table, question.space, metric, min if sign > 0 else max)
    if bound is not None and best is not None:
        assert sign * bound <= sign * best
    if metric == "error" and sign > 0:
        assert bound is not None


@settings(max_examples=30)
@given(questions())
def test_there_are_no_more_trees_than_the_bound(question):
    data, asked_space = question.given
    bound = most_trees(ask(data, asked_space, semiring=COUNT), data)
    assert len(oracle.good_trees(question.table, question.space)) <= bound


def test_errors_that_equal_rows_make_are_a_bound():
    X = np.array([[0, 1], [0, 1], [1, 1], [1, 0]])
    data = adtc.Data.from_arrays(X, [0, 1, 1, 0], weights=[3, 2, 1, 1])
    asked_ = ask(data, adtc.Space(max_depth=6), semiring=COUNT, metrics=["error + 0.5 * size"])
    assert no_better(asked_, data, 1) == 2 + Fraction(1, 2)


def test_a_number_of_trees_that_nobody_can_read_is_no_bound():
    data = adtc.Data.from_arrays(np.eye(40, dtype=int), [0, 1] * 20)
    assert most_trees(ask(data, adtc.Space(max_depth=30), semiring=COUNT), data) is None


def test_exact_means_are_given_more_time_than_rounded_ones():
    cells = 10**7  # 6 s and 40 s of reading
    Monitor(time_limit=20).reserve_reading(cells, 4)
    with pytest.raises(LimitError, match="cannot be read within the time limit"):
        Monitor(time_limit=20, exact_means=True).reserve_reading(cells, 4)
    with pytest.raises(LimitError, match="time limit"):
        Monitor(time_limit=2).reserve_reading(cells, 4)


def test_what_is_held_already_leaves_no_room_for_reading(monkeypatch):
    limits = Monitor(memory_limit=10**9, resident_limit=11 * 10**8)
    monkeypatch.setattr("adtc._core.resident_bytes", lambda: 10**8)
    limits.reserve_reading(10**7, 4)  # 800 MB
    monkeypatch.setattr("adtc._core.resident_bytes", lambda: 5 * 10**8)
    with pytest.raises(LimitError, match="memory limit"):
        limits.reserve_reading(10**7, 4)

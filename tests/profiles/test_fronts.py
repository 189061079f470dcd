"""Fronts found by search, held against those of profiles, which look at every tree."""

import itertools
import time
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st

import adtc
from adtc.algebra.semirings import COUNT
from adtc.engine.limits.beforehand import lower_limit
from adtc.engine.query import ask
from adtc.errors import CancelledError, QueryError, TooLargeError, UnknownMetricError
from adtc.profiles import fronts
from adtc.profiles.zones import cut_out
from oracle import metric_names
from strategies import formulas, problems
from test_agreement import data_of, space_of

TERMS = ["abs(error - 2)", "acc - size / 10", "max(error, size)", "error * size", "size / error"]


def small() -> adtc.Data:
    rng = np.random.default_rng(1)
    return adtc.Data.from_arrays(
        rng.integers(0, 2, (40, 5)), rng.integers(0, 2, 40), z=rng.integers(0, 2, 40)
    )


@st.composite
def asked(draw):
    """Draw a table, a space, a formula or None, and criteria."""
    table, space = draw(problems(max_rows=9, max_features=4))
    formula = draw(st.none() | formulas(table))
    known = [*metric_names(table), *TERMS]
    chosen = draw(st.lists(st.sampled_from(known), min_size=1, max_size=4, unique=True))
    cut = draw(st.integers(0, len(chosen)))
    where = None if formula is None else formula.text
    note(f"where={where!r}, maximize={chosen[:cut]}, minimize={chosen[cut:]}")
    return data_of(table), space_of(space), where, chosen[:cut], chosen[cut:]


@given(asked(), st.sampled_from(["auto", "auto", "auto", "spec"]), st.booleans())
@settings(max_examples=150)
def test_searched_fronts_equal_those_of_profiles(question, engine, tabled):
    data, space, where, up, down = question
    names = [*up, *down]
    whole = adtc.profile(data, space, names, where=where)
    expected = whole.pareto(maximize=up, minimize=down)
    with pytest.MonkeyPatch.context() as patch:
        if not tabled:  # ties are then searched one criterion after the other
            patch.setattr(fronts, "_TABLED", 0)
        front = adtc.pareto(
            data, space, maximize=up, minimize=down, where=where, counts=True, engine=engine
        )
    assert front.points == expected.points
    assert front.trees == expected.trees
    assert (front.status, front.stopped) == ("exact", None)
    for i, point in enumerate(front.points):
        tree = front.tree(i).tree
        assert tuple(adtc.score(tree, data, names).values()) == point
        where_it_is = front.condition(i) if where is None else f"({where}) and {front.condition(i)}"
        assert adtc.count(data, space, where_it_is) == front.trees[i]


@given(asked())
@settings(max_examples=60)
def test_fronts_at_once_equal_searched_ones(question):
    data, space, where, up, down = question
    search = fronts.Search(data, space, maximize=up, minimize=down, where=where, counts=True)
    found = search.at_once()
    if found is None:  # only where depths or variables are told apart
        return
    expected = adtc.pareto(data, space, maximize=up, minimize=down, where=where, counts=True)
    assert (found.points, found.trees) == (expected.points, expected.trees)
    for point, tree in zip(found.points, found.witnesses, strict=True):
        assert tuple(adtc.score(tree, data, [*up, *down]).values()) == point


def test_what_takes_longer_than_a_moment_is_not_found_at_once(monkeypatch):
    monkeypatch.setattr(fronts, "_MOMENT", 0.0)
    assert fronts.Search(small(), adtc.Space(max_depth=2), minimize="error").at_once() is None


@given(problems(max_rows=9, max_features=4), st.data())
@settings(max_examples=100)
def test_no_tree_falls_below_a_limit(problem, drawn):
    table, space = problem
    name = drawn.draw(st.sampled_from([*metric_names(table), *TERMS]))
    data, trees = data_of(table), space_of(space)
    question = ask(data, trees, semiring=COUNT, metrics=[name])
    limit = lower_limit(question.metrics[0][1], question)
    for (value,) in adtc.model_tensor(data, trees, [name]):
        assert value is None or limit is None or value >= limit


COSTS = st.tuples(*[st.integers(0, 3)] * 3)


@given(st.lists(COSTS, min_size=1, max_size=6))
def test_zones_keep_everything_that_no_point_reaches(points):
    zones = [(None,) * 3]
    for point in points:
        zones = cut_out(zones, point)
    for costs in itertools.product(range(4), repeat=3):
        reached = any(all(a <= b for a, b in zip(p, costs, strict=True)) for p in points)
        held = any(
            all(b is None or cost < b for cost, b in zip(costs, zone, strict=True))
            for zone in zones
        )
        assert held != reached


def test_gaps_have_the_limit_zero_whatever_the_number_of_groups():
    rng = np.random.default_rng(0)
    for groups in (2, 3, 4):
        data = adtc.Data.from_arrays(
            rng.integers(0, 2, (40, 2)), rng.integers(0, 2, 40), z=np.arange(40) % groups
        )
        names = ["dp", "eopp", "eodd_max", "eodd_sum"]
        question = ask(data, adtc.Space(), semiring=COUNT, metrics=names)
        assert [lower_limit(term, question) for _, term in question.metrics] == [0] * 4


def test_a_front_without_counts_says_so():
    front = adtc.pareto(small(), adtc.Space(max_depth=2), maximize="acc", minimize="dp")
    assert front.trees == ()
    with pytest.raises(QueryError, match="not counted: find it with counts=True"):
        _ = front.count
    assert "trees" not in front.to_text()
    told = front.to_json()
    assert told["count"] is None
    assert told["status"] == "exact"
    assert [point["trees"] for point in told["points"]] == [None] * len(front)
    assert all(point["rules"] and point["tree"] for point in told["points"])


def test_points_are_proved_by_few_searches():
    data, space = small(), adtc.Space(max_depth=2)
    front = adtc.pareto(data, space, maximize="acc", minimize="dp")
    assert front.points[-1][1] == 0
    # per point the best, near and far, all ties and a tree; the limit 0 needs no proof
    most = (len(fronts._FLOORS) + 3) * len(front)
    assert len(front) < front.record.details["searches"] <= most


def test_the_search_of_one_criterion_is_its_optimum():
    data, space = small(), adtc.Space(max_depth=2)
    front = adtc.pareto(data, space, maximize="acc", where="size <= 3")
    best = adtc.optimize(data, space, maximize="acc", where="size <= 3")
    assert front.points == ((best.value,),)


def test_extreme_values_in_a_formula_are_found_once(monkeypatch):
    data, space = small(), adtc.Space(max_depth=2)
    where = "error <= least(error) + 4"
    front = adtc.pareto(data, space, maximize="acc", minimize="dp", where=where)
    expected = adtc.profile(data, space, ["acc", "dp"], where=where)
    assert front.points == expected.pareto(maximize="acc", minimize="dp").points
    assert front.record.details["extremes"].keys() == {"least(error)"}
    search = fronts.Search(data, space, maximize="acc", minimize="dp", where=where)
    search.run()
    assert "least" not in str(search.good)


def test_nothing_is_found_where_no_tree_is():
    front = adtc.pareto(
        small(), adtc.Space(max_depth=1), minimize=["error", "size"], where="error < 0"
    )
    assert (len(front), front.count, front.status) == (0, 0, "exact")
    assert str(front) == "no tree has all criteria defined"
    assert "no tree" in front._repr_html_()


def test_a_limit_leaves_the_points_found_so_far(monkeypatch):
    data, space = small(), adtc.Space(max_depth=2)
    whole = adtc.pareto(data, space, maximize="acc", minimize="dp")
    asked = fronts.optimize

    def slow(*args, **options):
        if len(search._found) == 1:
            raise TooLargeError("the run did not finish within the time limit of 1 s.")
        return asked(*args, **options)

    monkeypatch.setattr(fronts, "optimize", slow)
    search = fronts.Search(data, space, maximize="acc", minimize="dp")
    front = search.run()
    assert front.points == whole.points[:1] != whole.points
    assert front.status == front.record.status == "partial"
    assert "time limit of 1 s" in front.stopped
    assert front.to_json()["stopped"] == front.stopped


def test_the_time_limit_is_for_the_whole_search():
    data, space = small(), adtc.Space(max_depth=2)
    late = adtc.Monitor(time_limit=1.0, started=time.monotonic() - 2)
    front = adtc.pareto(data, space, maximize="acc", minimize="dp", monitor=late)
    assert (len(front), front.status) == (0, "partial")
    assert "time limit" in front.stopped
    assert str(front) == "no point found"


def test_a_cancelled_search_gives_no_front():
    monitor = adtc.Monitor()
    monitor.cancel()
    with pytest.raises(CancelledError):
        adtc.pareto(small(), adtc.Space(max_depth=1), minimize="error", monitor=monitor)


def test_progress_tells_the_points_found():
    told = []
    monitor = adtc.Monitor(progress=lambda *report: told.append(report))
    front = adtc.pareto(
        small(), adtc.Space(max_depth=2), maximize="acc", minimize="dp", monitor=monitor
    )
    assert told[-1] == (f"front, {len(front)} points found", 1000, 1000)
    shares = [done for stage, done, total in told if ";" not in stage]
    assert shares == sorted(shares)


def test_criteria_must_be_good():
    data, space = small(), adtc.Space(max_depth=1)
    with pytest.raises(QueryError, match="a front needs a criterion"):
        adtc.pareto(data, space)
    with pytest.raises(QueryError, match="'acc' is named twice"):
        adtc.pareto(data, space, maximize="acc", minimize="acc")
    with pytest.raises(UnknownMetricError, match="Did you mean 'error'"):
        adtc.pareto(data, space, minimize="eror")


def test_a_searched_front_names_its_trees_and_has_no_profile(tmp_path):
    front = adtc.pareto(
        small(), adtc.Space(max_depth=2), maximize="acc - size / 100", minimize="dp"
    )
    with pytest.raises(QueryError, match="found by search"):
        front.point(0)
    with pytest.raises(QueryError, match="there is no point 99"):
        front.tree(99)
    path = tmp_path / "front.csv"
    front.to_csv(path)
    head, first, *_ = path.read_text().splitlines()
    assert head == "acc - size / 100,acc - size / 100_exact,dp,dp_exact"
    assert Fraction(first.split(",")[1]) == front.points[0][0]


def test_own_metrics_are_criteria():
    data, space = small(), adtc.Space(max_depth=2)
    define = {"cost": "N01 + 5 * N10"}
    front = adtc.pareto(data, space, minimize=["cost", "size"], define=define, counts=True)
    whole = adtc.profile(data, space, ["cost", "size"], define=define)
    expected = whole.pareto(minimize=["cost", "size"])
    assert (front.points, front.trees) == (expected.points, expected.trees)


def test_without_any_point_the_front_is_that_of_a_small_depth():
    data = adtc.load_dataset("german-credit", nbins=2)
    space, goals = adtc.Space(max_depth=3, relminsup=0.1), {"maximize": "acc", "minimize": "dp"}
    few = adtc.pareto(data, space, **goals, monitor=adtc.Monitor(memory_limit=2_000))
    shallow = adtc.pareto(data, replace(space, max_depth=2), **goals)
    assert (few.status, few.finished) == ("partial", "depth at most 2")
    assert few.points == shallow.points
    assert few.to_json()["finished"] == "depth at most 2"
    assert few.record.conventions["max_depth"] == 2
    alone = adtc.pareto(data, space, **goals, monitor=adtc.Monitor(memory_limit=2_000, exact=True))
    assert (alone.status, alone.points, alone.finished) == ("partial", (), None)


def test_the_trees_of_some_points_are_no_number_of_all():
    front = adtc.profiles.pareto.Front((), ("size",), ((1,),), (2,), stopped="out of time")
    assert (front.count.lower, front.count.upper, front.count.status) == (2, None, "partial")
    assert front.to_json()["count"] is None

"""Sizes are foreseen: bounds hold, drawn trees exist, and what cannot fit is refused in time."""

import re

import numpy as np
import pytest
from hypothesis import given, settings

import adtc
from adtc import _core
from adtc.algebra.semirings import COUNT
from adtc.engine import circuit
from adtc.engine.bounds import outside_pass
from adtc.engine.forecast import refusal
from adtc.engine.forecast.estimate import box, ceiling, draw, estimated_distinct
from adtc.engine.forecast.foresee import drawn_sizes
from adtc.engine.forecast.occupancy import CLUMP, boxes, clump_size
from adtc.engine.forecast.refusal import refuse_if_too_large
from adtc.engine.monitor import Monitor
from adtc.engine.plan import make_plan
from adtc.engine.prepare import prepare
from adtc.engine.query import ask
from adtc.engine.switches import Switches
from adtc.errors import CancelledError, TooLargeError
from strategies import problems
from test_agreement import data_of, space_of

FAIR = ("size", "acc", "dp", "eopp")


@pytest.fixture(scope="module")
def credit() -> adtc.Data:
    return adtc.load_dataset("german-credit")


def grown(data: adtc.Data, space: adtc.Space, metrics=("error",), where=None) -> circuit.Circuit:
    """Make the whole circuit, which tells what was to be foreseen."""
    question = ask(data, space, semiring=COUNT, metrics=metrics, where=where)
    prepared = prepare(make_plan(question), data, Switches(), Monitor())
    limits = [budget.limit for budget in prepared.plan.budgets]
    return circuit.grow(prepared, limits, Monitor())


def trees_of(level: circuit.Level) -> int:
    limbs = level.cells.values.astype(object)
    return sum(int(limb) << 64 * at for row in limbs for at, limb in enumerate(row))


@given(problems())
@settings(max_examples=80)
def test_ceilings_and_drawn_trees(problem) -> None:
    table, space = problem
    for where in (None, "2 * error <= N", "size <= 3"):
        made = grown(data_of(table), space_of(space), ("error", "size"), where)
        if not made.levels:
            continue
        for fine in (False, True):
            top = ceiling(made.prepared, made.outside, fine=fine)
            for level, trees, cells in zip(made.levels, top.trees, top.cells, strict=True):
                assert trees_of(level) <= trees * (1 + 1e-9)
                assert len(level.cells.keys) <= cells
        root = set(made.root.keys.tolist())
        for free in (False, True):
            assert set(draw(top, 0, 40, free=free).keys.tolist()) <= root
        for number, level in enumerate(made.levels):
            sample = draw(top, number, 40)
            for path, key in zip(sample.owners, sample.keys, strict=True):
                assert key in level.cells.keys[level.starts[path] : level.stops[path]]


@pytest.mark.parametrize(
    ("space", "where"),
    [
        (adtc.Space(max_depth=3, relminsup=0.2), None),
        (adtc.Space(max_depth=4, relminsup=0.2, max_size=5), None),
        (adtc.Space(max_depth=3, relminsup=0.2, trivial_splits=False), None),
        (adtc.Space(max_depth=3, relminsup=0.15, labels="majority"), None),
        (adtc.Space(max_depth=2, relminsup=0.1), None),
        (adtc.Space(max_depth=1), None),
        (adtc.Space(max_depth=0), None),
        (adtc.Space(max_depth=3, relminsup=0.2), "acc >= 0.6"),
    ],
)
def test_trees_and_cells_are_estimated(credit, space, where) -> None:
    made = grown(credit, space, FAIR, where)
    found = drawn_sizes(made.prepared, made.outside, Monitor())
    assert found is not None
    for at, level in enumerate(made.levels):
        cells, trees = len(level.cells.keys), trees_of(level)
        assert found.trees[at] == pytest.approx(trees, rel=0.6 if at else 0.15)
        assert cells / 3 <= found.cells[at] <= 3 * cells
    assert len(made.root.keys) <= found.most_cells


def test_lower_bounds_hold(credit) -> None:
    made = grown(credit, adtc.Space(max_depth=3, relminsup=0.15), FAIR)
    top = ceiling(made.prepared, made.outside, fine=True)
    actual = len(made.root.keys)
    for free, share in ((False, 0), (True, 1 / 50)):
        sample = draw(top, 0, 20_000, free=free)
        assert share * actual < sample.at_least <= actual
        assert sample.cells <= 1.2 * actual


def test_nothing_live_is_nothing_to_estimate(credit) -> None:
    space = adtc.Space(max_depth=2, relminsup=0.2)
    made = grown(credit, space, (), "error <= 1")
    found = drawn_sizes(made.prepared, made.outside, Monitor())
    assert found is not None
    assert (found.cells, found.pairs) == ((0.0,), 0.0)
    refuse_if_too_large(made.prepared, made.outside, Monitor(memory_limit=1))


def test_a_budget_narrows_the_box(credit) -> None:
    space = adtc.Space(max_depth=3, relminsup=0.2)
    made = grown(credit, space, ("N11", "N01"), "270 <= error <= 280")
    plan, least = made.prepared.plan, made.prepared.inside.root
    bound = box(plan, least, [budget.limit for budget in plan.budgets])
    assert len(made.root.keys) <= bound <= 11 * 701


def test_a_forecast_can_be_cancelled(credit) -> None:
    made = grown(credit, adtc.Space(max_depth=3, relminsup=0.2), FAIR)
    monitor = Monitor()
    monitor.cancel()
    with pytest.raises(CancelledError):
        drawn_sizes(made.prepared, made.outside, monitor)


def test_even_draws_fill_their_range_and_few_trees_do_not() -> None:
    line = np.random.default_rng(0).integers(0, 500, (4000, 1)).astype(float)
    assert boxes(line, 1e9, 0.0).cells(1.0) == pytest.approx(500, rel=0.2)
    wide = np.random.default_rng(0).integers(0, 10**6, (4000, 1)).astype(float)
    assert boxes(wide, 8000.0, 0.0).cells(4.0) == pytest.approx(2000, rel=0.1)
    assert clump_size([boxes(wide, 8000.0, 0.0)]) < 1.01
    assert clump_size([boxes(line, 1e9, 0.0)]) == CLUMP


def test_kinds_that_were_not_seen() -> None:
    assert estimated_distinct(np.array([1, 1, 1, 1])) == 4 + 4 * 3 / 2
    assert estimated_distinct(np.array([5, 7])) == 2


# --- refusing ---------------------------------------------------------------------------------


def asked(data: adtc.Data, space: adtc.Space, metrics, where=None):
    question = ask(data, space, semiring=COUNT, metrics=metrics, where=where)
    prepared = prepare(make_plan(question), data, Switches(), Monitor())
    limits = np.array([budget.limit for budget in prepared.plan.budgets], np.int64)
    return prepared, outside_pass(prepared.lattice, prepared.inside, limits, Monitor())


LARGE = adtc.Space(max_depth=4, relminsup=0.1)
METRICS = ("size", "acc", "f1", "dp", "eodd_sum", "eopp")
MEMORY = 20_000_000


@pytest.fixture(scope="module")
def sentence(credit) -> str:
    with pytest.raises(TooLargeError) as caught:
        refuse_if_too_large(*asked(credit, LARGE, METRICS), Monitor(memory_limit=MEMORY))
    return str(caught.value)


def test_what_cannot_fit_is_refused(sentence: str) -> None:
    assert re.search(r"at least [\d.e+]+ cells \(estimated from [\d,]+ drawn trees\)", sentence)
    assert "fit into the 0.02 GB" in sentence
    assert sentence.endswith("or a constraint that can be pushed down (such as acc >= 0.8).")


def test_what_would_fit_is_true(credit, sentence: str) -> None:
    leaves = int(re.search(r"at most (\d+) leaves", sentence)[1])
    share = int(re.search(r"minsup of (\d+) %", sentence)[1])
    names = re.search(r"rows, (.*) alone", sentence)[1].split(" and ")
    assert 2 <= leaves < 16
    assert 10 < share <= 40
    assert set(names) < set(METRICS)
    for space, metrics in (
        (adtc.Space(max_depth=4, relminsup=0.1, max_size=leaves), METRICS),
        (adtc.Space(max_depth=4, relminsup=share / 100), METRICS),
    ):
        monitor = Monitor(memory_limit=4 * MEMORY)  # the run itself wants room to grow
        made = adtc.profile(credit, space, metrics, monitor=monitor)
        assert 48 * made.num_cells <= MEMORY


@pytest.mark.parametrize("memory", [10**8, 10**9, None])
def test_what_may_fit_is_not_refused(credit, memory) -> None:
    space = adtc.Space(max_depth=3, relminsup=0.15)
    made = grown(credit, space, FAIR)
    monitor = Monitor(memory_limit=memory)
    assert 48 * len(made.root.keys) < monitor.memory
    refuse_if_too_large(made.prepared, made.outside, monitor)


def test_a_constraint_makes_it_fit(credit) -> None:
    prepared, outside = asked(credit, LARGE, METRICS, "acc >= 0.745")
    refuse_if_too_large(prepared, outside, Monitor(memory_limit=MEMORY))


def test_the_root_alone_decides(credit) -> None:
    prepared, outside = asked(credit, LARGE, ("error",))
    top = ceiling(prepared, outside)
    assert refusal.sample_root(prepared, outside, top, 10**6) is None


def test_rounding_never_draws_what_has_no_weight() -> None:
    # taken from their sum one after another, these leave something
    assert _core.choose(np.array([0.1, 0.1, 0.4, 0.0]), 1 - 2.0**-53) == 2

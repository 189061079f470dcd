"""An explanation says what the engine then does, and says it before."""

import json
from collections.abc import Sequence

import pytest

import adtc
from adtc.algebra.semirings import COUNT
from adtc.engine import fast, prepare
from adtc.engine.forecast import explain as explaining
from adtc.engine.forecast.estimate import bits_of_all_trees
from adtc.engine.forecast.explain import analyze
from adtc.engine.lattice import numbered_paths, path_counts
from adtc.engine.monitor import Monitor
from adtc.engine.query import ask
from adtc.engine.record import RunRecord
from adtc.engine.run import Engine
from adtc.engine.tensors import all_trees
from adtc.errors import QueryError, TooLargeError, UnknownMetricError

SPACE = adtc.Space(max_depth=3, relminsup=0.2)


@pytest.fixture(scope="module")
def credit() -> adtc.Data:
    return adtc.load_dataset("german-credit")


@pytest.mark.parametrize(
    ("where", "metrics", "engine"),
    [
        (None, (), "fast"),
        ("acc >= 0.72 and dp <= 0.1", ("size",), "fast"),
        ("acc >= 0.72 and support <= 300", (), "spec"),
        (None, ("support",), "spec"),
    ],
)
def test_the_engine_is_the_one_that_answers(
    credit: adtc.Data, where: str | None, metrics: Sequence[str], engine: str
) -> None:
    space = adtc.Space(max_depth=1, relminsup=0.2)
    explanation, record = analyze(credit, space, where, metrics)
    assert explanation.engine == record.engine == engine


def test_the_metric_that_forces_the_specification_is_named(credit: adtc.Data) -> None:
    assert "'support'" in adtc.explain(credit, SPACE, "acc >= 0.7 and support <= 300").reason
    assert "'support'" in adtc.explain(credit, SPACE, metrics=["acc", "support"]).reason
    assert adtc.explain(credit, SPACE, engine="spec").reason == "it was asked for"
    with pytest.raises(QueryError, match="does not handle the metric 'support'"):
        adtc.explain(credit, SPACE, "support <= 300", engine="fast")


def test_nothing_runs(credit: adtc.Data, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fast, "run", lambda *args, **options: pytest.fail("it ran"))
    monkeypatch.setattr(prepare, "inside_pass", lambda *args, **options: pytest.fail("it ran"))
    assert adtc.explain(credit, adtc.Space(max_depth=9), "acc >= 0.7").seconds > 1e5


@pytest.mark.parametrize("max_depth", [0, 1, 2, 3, 4, 5])
def test_features_subproblems_axes_and_groups_are_those_of_the_run(
    credit: adtc.Data, max_depth: int
) -> None:
    space = adtc.Space(max_depth=max_depth, relminsup=0.25)
    where = "acc >= 0.74 and dp <= 0.1"
    given = adtc.explain(credit, space, where, ["size"])
    result = fast.run(ask(credit, space, semiring=COUNT, where=where, metrics=["size"]), credit)
    prepared = result.circuit.prepared
    n = len(prepared.features.twins)
    assert given.distinct_features == n
    assert given.usable_features == prepared.features.multiplicity.sum()
    assert list(given.subproblems) == path_counts(numbered_paths(n, max_depth))
    assert len(given.subproblems) == len(result.circuit.outside.live_paths)
    assert given.row_groups == len(result.plan.groups)
    assert len(given.axes) == len(result.plan.axes)
    assert given.key_bits is not None
    assert all(int(key).bit_length() <= 62 for key in result.keys)


def test_twins_and_rare_features_are_left_out() -> None:
    rows = [[1, 0, 1, 1], [1, 0, 0, 0], [0, 1, 1, 0], [0, 1, 0, 0]]  # the second is not the first
    data = adtc.Data.from_arrays(rows, [1, 0, 0, 1])
    given = adtc.explain(data, adtc.Space(max_depth=2, minsup=2))
    assert (given.features, given.usable_features, given.distinct_features) == (4, 3, 2)
    assert "2 of 4: 1 cannot split the table, 1 merges with a twin" in str(given)


def test_atoms_are_told_in_the_words_of_the_question(credit: adtc.Data) -> None:
    where = (
        "acc >= 0.72 and (f1 >= 0.5 or size <= 4) and 10 <= error and bacc != 0.5 "
        "and size <= 100 and not dp > 0.1 and error <= 290"
    )
    given = adtc.explain(credit, SPACE, where)
    pushed = {p.atom: (p.bounds, p.idle) for p in given.pushed}
    assert pushed["acc >= 0.72"] == (("error <= 280",), ())
    assert pushed["10 <= error"] == (("error >= 10",), ())
    assert pushed["size <= 100"] == ((), ("size <= 100",))  # no tree is that large
    assert pushed["error <= 290"] == ((), ("error <= 290",))  # the first atom is tighter
    assert pushed["dp <= 0.1"] == (
        ("-69·N[*,1,0] + 31·N[*,1,1] <= 2139", "69·N[*,1,0] - 31·N[*,1,1] <= 2139"),
        (),
    )
    assert [(f.atom, f.reason) for f in given.filtered] == [
        ("f1 >= 0.5 or size <= 4", "its branches bound different sums of counts"),
        ("bacc != 0.5", "!= is no bound"),
    ]


@pytest.mark.parametrize(
    "where", ["acc >= 0.72", "error <= 280 and dp <= 0.1", "0.6 <= f1 <= 0.9", "N11 >= 600"]
)
def test_pushed_bounds_may_be_asked_instead(credit: adtc.Data, where: str) -> None:
    given = adtc.explain(credit, SPACE, where)
    bounds = " and ".join(b for p in given.pushed for b in (*p.bounds, *p.idle))
    assert adtc.count(credit, SPACE, bounds) == adtc.count(credit, SPACE, where) > 0


def test_axes_hold_every_value_that_occurs(credit: adtc.Data) -> None:
    space = adtc.Space(max_depth=2, relminsup=0.2)
    metrics = ["error", "size", "N11"]
    given = adtc.explain(credit, space, metrics=metrics)
    cells = adtc.model_tensor(credit, space, metrics)
    for at, name in enumerate(["error", "size", "N[1,1]"]):
        (axis,) = [axis for axis in given.axes if axis.name == name]
        values = {cell[at] for cell in cells}
        assert axis.low is not None
        assert axis.high is not None
        assert axis.low <= min(values) <= max(values) <= axis.high


@pytest.mark.parametrize("labels", [2, 3])
@pytest.mark.parametrize("depth", range(6))
@pytest.mark.parametrize("features", [0, 1, 2, 5, 70])
def test_the_number_width_holds_all_trees(depth: int, features: int, labels: int) -> None:
    exact = all_trees(depth, features, labels).bit_length()
    assert exact <= bits_of_all_trees(depth, features, labels) <= exact + 1


@pytest.mark.parametrize("max_depth", [0, 3, 20, 900])
def test_any_depth_is_explained(credit: adtc.Data, max_depth: int) -> None:
    given = adtc.explain(credit, adtc.Space(max_depth=max_depth, minsup=0), "acc >= 0.7")
    lines = (14 if given.live is None else 15) + len(given.advice)
    assert len(str(given).splitlines()) == lines
    assert json.loads(json.dumps(given.to_json()))["max_depth"] == max_depth


@pytest.mark.parametrize("engine", ["fast", "spec"])
def test_a_run_beside_its_estimate(credit: adtc.Data, engine: Engine) -> None:
    space = adtc.Space(max_depth=2, relminsup=0.25)
    explanation, record = analyze(credit, space, "acc >= 0.72", engine=engine)
    counted = adtc.count(credit, space, "acc >= 0.72", engine=engine).record
    assert (record.cell_scan, record.num_cells) == (counted.cell_scan, counted.num_cells)
    compared = explanation.compared_with(record)
    told = {cost.what: (cost.estimated, cost.actual) for cost in compared.costs}
    assert told["cell_scan"] == (explanation.pairs, record.cell_scan)
    assert told["seconds"][0] == explanation.seconds
    assert ("live subproblems, level 0" in told) == (engine == "fast")
    head, *rows = str(compared).splitlines()
    assert head.split() == ["estimated", "actual"]
    assert len({len(row) for row in (head, *rows)}) == 1
    assert compared.to_json()[-1]["what"] == "seconds"


def test_cells_and_memory_are_foreseen(credit: adtc.Data) -> None:
    explanation, record = analyze(credit, adtc.Space(max_depth=3, relminsup=0.2), None, ["acc"])
    told = {cost.what: cost for cost in explanation.compared_with(record).costs}
    for what in ("cells, level 0", "cells, level 1", "num_cells", "memory of tensors, MB"):
        estimated, actual = told[what].estimated, told[what].actual
        assert estimated is not None
        assert estimated == pytest.approx(actual, rel=0.01)
    assert explanation.tried
    assert explanation.live == tuple(record.details["live_subproblems"])
    assert f"cells        {explanation.cells:,.0f} for" in str(explanation)


def test_cells_are_foreseen_where_a_moment_is_not_enough(
    credit: adtc.Data, monkeypatch: pytest.MonkeyPatch
) -> None:
    space = adtc.Space(max_depth=3, relminsup=0.15)
    counted = adtc.explain(credit, space, None, ["acc", "dp"])
    monkeypatch.setattr(explaining, "_MOMENT", 0.0)
    foreseen = adtc.explain(credit, space, None, ["acc", "dp"])
    assert (counted.tried, foreseen.tried) == (True, False)
    assert counted.cells is not None
    assert foreseen.cells is not None
    assert counted.cells / 3 <= foreseen.cells <= 3 * counted.cells


@pytest.mark.parametrize(
    ("monitor", "status"),
    [
        (Monitor(), "exact"),
        (Monitor(memory_limit=2 * 10**7), "estimated"),
        (Monitor(memory_limit=2 * 10**7, time_limit=1e-3), "partial"),
        (Monitor(memory_limit=2 * 10**7, exact=True), None),
    ],
)
def test_the_status_of_the_answer_is_foreseen(
    credit: adtc.Data, monitor: Monitor, status: str | None
) -> None:
    space, metrics = adtc.Space(max_depth=4, relminsup=0.15), ["size", "acc", "f1", "dp"]
    given = adtc.explain(credit, space, None, metrics, monitor=monitor)
    assert given.status == status
    assert f"status       {status or 'none'}" in str(given)


def test_a_question_without_good_trees_has_no_cells(credit: adtc.Data) -> None:
    given = adtc.explain(credit, SPACE, "error <= 1")
    assert (given.live, given.cells, given.most_cells) == ((0, 0), 0, 0)
    assert "cells        0 for 0 trees" in str(given)


def test_what_would_be_refused_is_told(credit: adtc.Data) -> None:
    space = adtc.Space(max_depth=4, relminsup=0.1)
    metrics = ["size", "acc", "f1", "dp", "eodd_sum"]
    given = adtc.explain(credit, space, None, metrics, monitor=Monitor(memory_limit=2 * 10**7))
    assert given.refusal is not None
    assert given.cells is None
    assert f"refused      {given.refusal}" in str(given)
    tiny = adtc.explain(credit, space, monitor=Monitor(memory_limit=1000))
    assert "the table of subproblems would need" in str(tiny)
    assert adtc.explain(credit, space).refusal is None


def test_a_record_without_levels_is_compared(credit: adtc.Data) -> None:
    record = RunRecord({}, {}, {}, "fast", cell_scan=7, num_cells=3, seconds=1.5)
    compared = adtc.explain(credit, SPACE).compared_with(record)
    assert [cost.actual for cost in compared.costs] == [7, 3, 1.5]


def test_mistakes_are_told_before_any_run(credit: adtc.Data) -> None:
    with pytest.raises(UnknownMetricError, match="eror"):
        adtc.explain(credit, SPACE, "eror <= 1")
    heavy = adtc.Data.from_arrays([[0, 1]] * 4, [0, 1, 0, 1], z=[0, 0, 1, 1], weights=[2**45] * 4)
    with pytest.raises(TooLargeError, match="possible cells"):
        adtc.explain(heavy, SPACE, metrics=["N010", "N011", "N110", "N111"])

"""What a question will cost, before it runs: the query plan in the words of the question.

`explain` plans, and where that takes seconds at most also runs the bounds passes. What a moment is
enough for is then tried; otherwise the tensors of some first tests are made (`piloting`), or, where
that takes too long, trees are drawn (`foresee`).
`analyze` runs the question and sets what came out beside what was foreseen.
"""

import math
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from adtc.algebra.formula import Formula, Truth, parse
from adtc.algebra.metrics import DEPTH
from adtc.data import Data
from adtc.engine.allowed import tests_in_words
from adtc.engine.bounds import Outside, outside_pass
from adtc.engine.circuit import Circuit, grow
from adtc.engine.exact.limbs import total_of
from adtc.engine.forecast import refusal
from adtc.engine.forecast.advice import FITS, least_of, levels_of, unforeseen
from adtc.engine.forecast.estimate import bits_of_all_trees, ceiling
from adtc.engine.forecast.explanation import Explanation
from adtc.engine.forecast.foresee import drawn_sizes
from adtc.engine.forecast.piloting import foreseen_by_pilots, seconds_at_least
from adtc.engine.forecast.pricing import (
    HELD,
    START,
    Forecast,
    bounds_bytes,
    bounds_seconds,
    last_seconds,
    patience,
    priced,
    spec_seconds,
)
from adtc.engine.forecast.sharing import estimate_fits, fits_memory
from adtc.engine.forecast.wording import (
    AxisRange,
    FilteredAtom,
    axis_in_words,
    parts_in_words,
)
from adtc.engine.lattice import distinct_features, rows_of
from adtc.engine.monitor import Monitor
from adtc.engine.plan import Plan, make_plan
from adtc.engine.plan.narrow import by_depth
from adtc.engine.plan.pushing import parts_of
from adtc.engine.prepare import Prepared, prepare
from adtc.engine.query import Definitions, Question, Space
from adtc.engine.record import RunRecord, Status, tests_in
from adtc.engine.run import Engine, fast_question, opened
from adtc.engine.switches import Switches
from adtc.errors import TooLargeError

SECONDS_FOR_BOUNDS = 1.5  # beyond that nothing is run, not even to foresee cells
_MOMENT, _LITTLE = 0.5, 10**8  # seconds and bytes for trying
_FLOAT_BITS = 1024


def explain(
    data: Data,
    space: Space,
    where: str | Formula | None = None,
    metrics: Sequence[str] = (),
    define: Definitions | None = None,
    *,
    engine: Engine = "auto",
    monitor: Monitor | None = None,
) -> Explanation:
    """Say how a question would be answered, and what it would cost, without answering it.

    Parameters
    ----------
    where
        The constraint φ; None admits every tree.
    metrics
        Metrics by which trees are to be told apart, as in `model_tensor`; none for `count`.
    monitor
        Progress, cancelling and limits: a question that its memory cannot hold is told so.

    Examples
    --------
    >>> import adtc
    >>> data = adtc.load_dataset("german-credit")
    >>> plan = adtc.explain(data, adtc.Space(max_depth=4, relminsup=0.15), where="acc >= 0.72")
    >>> plan.engine, plan.distinct_features, plan.subproblems
    ('fast', 42, (1, 84, 3444))
    >>> plan.pushed[0].atom, plan.pushed[0].bounds
    ('acc >= 0.72', ('error <= 280',))
    """
    asked = {"ask": "explain"}
    with opened(data, space, asked, define=define, engine=engine, monitor=monitor) as run:
        question = run.ask(where=where, metrics=metrics)
    told = parse(where) if isinstance(where, str) else where or Truth(True)
    narrow, constraint = fast_question(engine, question), question.constraint
    reason = _reason(engine, narrow or question)
    if fast := narrow is not None:
        question, space = narrow, narrow.space
    plan = make_plan(question) if fast else None
    rows = data if plan is None else rows_of(data, plan.groups, merge=False)
    features = distinct_features(rows, question.minsup, allowed=question.allowed)
    usable, distinct = int(features.multiplicity.sum()), len(features.twins)
    groups = sum(n > 0 for n in question.schema.totals.values())
    if plan is not None:
        pushed, filtered = parts_in_words(plan, told, constraint)
        subproblems = levels_of(distinct, space.max_depth)
        details: dict[str, Any] = {
            "engine": "fast",
            "row_groups": len(plan.groups),
            "axes": tuple(axis_in_words(plan, at) for at in range(len(plan.axes))),
            "pushed": pushed,
            "filtered": filtered,
            "subproblems": subproblems,
            "key_bits": (math.prod(axis.radix for axis in plan.axes) - 1).bit_length(),
            "memory": bounds_bytes(subproblems, len(plan.groups), len(plan.budgets)),
            "seconds": bounds_seconds(subproblems, len(plan.budgets), distinct),
        }
    else:
        n, deepest = data.n_features, min(space.max_depth, data.n_features)
        subproblems = tuple(math.perm(n, k) << k for k in range(deepest + 1))
        details = {
            "engine": "spec",
            "row_groups": groups,
            "axes": tuple(AxisRange(axis.name, None, None) for axis in question.axes),
            "pushed": (),
            "filtered": _all_filtered(told),
            "subproblems": subproblems,
            "key_bits": None,
            "memory": None,
            "seconds": spec_seconds(subproblems),
        }
    explanation = Explanation(
        reason=reason,
        rows=data.total,
        features=data.n_features,
        usable_features=usable,
        distinct_features=distinct,
        all_row_groups=groups,
        max_depth=space.max_depth,
        min_rows_per_leaf=question.minsup,
        max_size=space.max_size,
        tests=tuple(tests_in_words(tests_in(space))),
        tables=tuple((name, table.total) for name, table in data.tables),
        number_bits=bits_of_all_trees(space.max_depth, usable, question.schema.labels),
        **details,
    )
    monitor = monitor or Monitor()
    soon = explanation.seconds <= SECONDS_FOR_BOUNDS * patience()
    if plan is not None and soon and not by_depth(question):
        explanation = _with_cells(explanation, plan, data, monitor)
    if plan is not None and explanation.cells is None and explanation.refusal is None:
        explanation = replace(explanation, **unforeseen(explanation))
    explanation = replace(explanation, status=_status(explanation, monitor))
    if plan is None or (explanation.status == "exact" and explanation.seconds <= FITS):
        return explanation
    return replace(explanation, advice=least_of(plan, data, distinct).advice(monitor.time_left))


def _with_cells(explanation: Explanation, plan: Plan, data: Data, monitor: Monitor) -> Explanation:
    """Run the bounds passes, then try or foresee how large the tensors will be."""
    start = time.process_time()
    try:
        prepared = prepare(plan, data, Switches(), monitor)
    except TooLargeError as error:
        return replace(explanation, refusal=str(error))
    limits = np.array([budget.limit for budget in prepared.plan.budgets], np.int64)
    outside = outside_pass(
        prepared.lattice, prepared.inside, limits, monitor, first=prepared.first_tests
    )
    bounds = START + time.process_time() - start
    explanation = replace(explanation, live=outside.live_paths, seconds=bounds)
    try:
        refusal.refuse_if_too_large(prepared, outside, monitor)
    except TooLargeError as error:
        most = ceiling(prepared, outside).cells[0]
        return replace(explanation, refusal=str(error), most_cells=most)
    n = len(prepared.features.twins)
    last = last_seconds(n, outside.live_paths[-1])
    about = prepared, outside, limits.tolist(), monitor
    tried = _tried(*about) if last <= 2 * _MOMENT * patience() else None
    found = tried or _foreseen(*about, last)
    if found is None:
        return replace(explanation, seconds=bounds + seconds_at_least(outside, n))
    return replace(
        explanation,
        tried=tried is not None,
        most_cells=found.most_cells,
        trees=found.trees,
        cells=found.cells[0],
        level_cells=found.cells,
        pairs=round(found.pairs),
        tensor_memory=round(found.memory),
        seconds=bounds + found.seconds,
    )


def _tried(
    prepared: Prepared, outside: Outside, limits: Sequence[int], monitor: Monitor
) -> Forecast | None:
    """Make the tensors if a moment is enough for them."""
    moment = Monitor(
        time_limit=_MOMENT * patience(),
        memory_limit=min(_LITTLE, monitor.memory),
        threads=1,
        exact=True,
    )
    start = time.process_time()
    try:
        made = grow(prepared, limits, moment, foresee=False)
    except TooLargeError:
        monitor.check()
        return None
    seconds = time.process_time() - start
    told = _tensors(made)
    cells = tuple(map(float, told["cells"])) or (0.0,) * len(outside.live_paths)
    trees = total_of(made.root.values)
    many = float(trees) if trees.bit_length() < _FLOAT_BITS else math.inf
    return Forecast(many, cells, cells[0], made.cell_scan, told["bytes"], seconds)


def _foreseen(
    prepared: Prepared, outside: Outside, limits: Sequence[int], monitor: Monitor, last: float
) -> Forecast | None:
    """Foresee the tensors from some first tests, or else from drawn trees; None if that is long."""
    if (found := foreseen_by_pilots(prepared, outside, limits, monitor)) is not None:
        return found
    drawn = drawn_sizes(prepared, outside, monitor) if last <= SECONDS_FOR_BOUNDS else None
    if drawn is None or not drawn.trees[0]:  # none was found, though there may be many
        return None
    return priced(prepared, outside.live_paths, drawn)


def _status(explanation: Explanation, monitor: Monitor) -> Status | Literal["unknown"] | None:
    """Say what kind of answer a question would get within limits.

    A question that does not fit is answered for the deepest depth that does; where metrics are
    asked for and there is time, drawn trees tell about the asked one (`sharing`).
    """
    left = monitor.time_left
    fits = fits_memory(explanation, monitor)
    fits = fits and (left is None or explanation.seconds <= left * monitor.threads)
    if fits:
        return (
            "exact" if explanation.engine == "spec" or explanation.cells is not None else "unknown"
        )
    if not monitor.answers:
        return None
    drawn = bool(explanation.axes) and estimate_fits(explanation, monitor)
    return "estimated" if drawn else "partial"


def analyze(
    data: Data,
    space: Space,
    where: str | Formula | None = None,
    metrics: Sequence[str] = (),
    define: Definitions | None = None,
    *,
    engine: Engine = "auto",
    monitor: Monitor | None = None,
) -> tuple[Explanation, RunRecord]:
    """Explain a question, run it, and return the explanation with the record of the run.

    Examples
    --------
    >>> import adtc
    >>> data = adtc.Data.from_arrays([[1, 0], [1, 1], [0, 1], [0, 0]], [1, 1, 0, 0])
    >>> plan, record = analyze(data, adtc.Space(max_depth=2), where="acc >= 0.75")
    >>> record.engine, record.details["live_subproblems"]
    ('fast', [1])
    """
    about = data, space, where, metrics, define
    explanation = explain(*about, engine=engine, monitor=monitor)
    return explanation, measure(*about, engine=engine, monitor=monitor)


def measure(
    data: Data,
    space: Space,
    where: str | Formula | None = None,
    metrics: Sequence[str] = (),
    define: Definitions | None = None,
    *,
    engine: Engine = "auto",
    monitor: Monitor | None = None,
) -> RunRecord:
    """Run a question as `explain` foresees it; the record tells what it needed."""
    asked = {
        "ask": "analyze",
        "metrics": list(metrics) or None,
        "where": None if where is None else str(where),
    }
    with opened(data, space, asked, define=define, engine=engine, monitor=monitor) as run:
        question = run.ask(where=where, metrics=metrics)
        if (narrow := run.narrowed(question)) is not None:
            run.record.details["tensors"] = _tensors(run.fast(narrow).circuit)
        else:
            run.spec(question)
    return run.record


def _reason(engine: str, question: Question) -> str:
    if engine != "auto":
        return "it was asked for"
    for axis in question.axes:
        if axis.functional is None and axis.public and axis is not DEPTH:
            return f"the metric '{axis.name}' does not add up over leaves"
    return "every metric needed adds up over leaves"


def _tensors(circuit: Circuit) -> dict[str, Any]:
    """Tell how large the tensors of a run are, with the room that they need while they grow."""
    some = [level.cells for level in circuit.levels]
    size = sum(cells.keys.nbytes + cells.values.nbytes + cells.costs.nbytes for cells in some)
    return {"cells": [len(cells.keys) for cells in some], "bytes": round(HELD * size)}


def _all_filtered(told: Formula) -> tuple[FilteredAtom, ...]:
    """List the parts of a constraint for an engine that pushes nothing."""
    reason = "the specification engine pushes nothing"
    return tuple(FilteredAtom(str(part), reason) for part in parts_of(told))

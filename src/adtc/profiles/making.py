"""Make a profile: one run of an engine, kept with its circuit."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from adtc.algebra.formula import Formula
from adtc.algebra.semirings import COUNT
from adtc.data import Data
from adtc.engine.exact.limbs import limbs_of
from adtc.engine.limits.within import Beforehand, Reached, deepest, most_trees
from adtc.engine.monitor import Monitor
from adtc.engine.plan import AxisColumns
from adtc.engine.plan.keys import ascending
from adtc.engine.query import Definitions, Space, ask
from adtc.engine.record import RunRecord
from adtc.engine.run import Engine, Run, opened
from adtc.engine.switches import Switches
from adtc.errors import QueryError
from adtc.profiles.profile import Profile, Source

if TYPE_CHECKING:
    from adtc.engine.fast import Result

T = TypeVar("T")
A = TypeVar("A")
_ALL_ON = Switches()


def profile(
    data: Data,
    space: Space,
    metrics: Sequence[str] = ("size", "acc"),
    *,
    where: str | Formula | None = None,
    define: Definitions | None = None,
    engine: Engine = "auto",
    switches: Switches = _ALL_ON,
    monitor: Monitor | None = None,
) -> Profile:
    """Count the good trees of a space by several metrics at once.

    Parameters
    ----------
    metrics
        Names of metrics, or terms over them: the columns of the profile.
    where
        The constraint φ; None admits every tree.
    define
        The user's own metrics: a `Primitive`, or the text of a term over other metrics.
    engine, switches, monitor
        As in `count`.

    Examples
    --------
    >>> import adtc
    >>> data = adtc.Data.from_arrays([[1], [1], [0]], [1, 1, 0])
    >>> found = adtc.profile(data, adtc.Space(max_depth=1), ["size", "error"])
    >>> found.count, found.where("error <= 1").count
    (6, 3)
    """
    return profile_and_read(
        data, space, metrics, _nothing, where=where, define=define, engine=engine,
        switches=switches, monitor=monitor, give=_alone,
    )  # fmt: skip


def profile_and_read(
    data: Data,
    space: Space,
    metrics: Sequence[str],
    read: Callable[[Profile, Monitor], T],
    *,
    where: str | Formula | None = None,
    define: Definitions | None = None,
    engine: Engine = "auto",
    switches: Switches = _ALL_ON,
    monitor: Monitor | None = None,
    give: Callable[[Profile, T], A],
) -> A:
    """Make a profile and read something off it, both of the deepest depth for which both fit.

    Parameters
    ----------
    read
        Takes the profile and what watches over the run, and raises a `LimitError` if there is no
        more time or memory: a smaller depth is answered then, as if its profile did not fit.
    give
        Makes the answer of both, also for whoever stops the run.
    """
    if isinstance(metrics, str) or not metrics:
        raise QueryError(
            f"metrics is {metrics!r}, expected a list of one or more metrics such as "
            f"['size', 'acc']."
        )
    asked = {
        "ask": "profile",
        "metrics": list(metrics),
        "where": None if where is None else str(where),
        "define": texts_of_definitions(define),
    }
    with opened(
        data, space, asked, define=define, engine=engine, switches=switches, monitor=monitor
    ) as run:
        upper = Beforehand(lambda: most_trees(ask(data, space, semiring=COUNT), data))

        def make(depth: int) -> tuple[Profile, T]:
            upper.find(run.monitor)
            made = _made(run.up_to(depth), tuple(metrics), where)
            return made, read(made, run.monitor)

        def present(reached: Reached[tuple[Profile, T]]) -> A:
            if reached.answer is None:  # a single leaf always fits
                alone = Monitor(exact=True)
                made = _made(replace(run, monitor=alone).up_to(0), tuple(metrics), where)
                reached = replace(reached, depth=0, answer=(made, read(made, alone)))
            assert reached.answer is not None
            made, found = reached.answer
            if reached.reason is None or reached.depth == space.max_depth:
                return give(_counted(made), found)
            reached.note(run.record, run.monitor)
            return give(_partial(made, reached.depth or 0, run, upper.get()), found)

        return deepest(make, space.max_depth, run.monitor, present)


def _nothing(made: Profile, monitor: Monitor) -> None:
    """Read nothing off a profile."""


def _alone(made: Profile, nothing: None) -> Profile:
    """Give the profile alone."""
    return made


def texts_of_definitions(define: Definitions | None) -> dict[str, str] | None:
    """Return the user's own metrics that a record can tell; None if there are none."""
    return {n: text for n, text in (define or {}).items() if isinstance(text, str)} or None


def _made(run: Run, metrics: tuple[str, ...], where: str | Formula | None) -> Profile:
    """Make a profile with one of the engines."""
    question, record = run.ask(where=where, metrics=metrics), run.record
    if (narrow := run.narrowed(question)) is not None:
        result = run.fast(narrow)
        run.monitor.reserve_reading(len(result.keys), len(metrics))
        return profile_of(result, run.data, run.space, record)
    found = sorted(run.spec(question).items())
    names = [axis.name for axis in question.axes]
    indices = np.array([index for index, _ in found], np.int64).reshape(-1, len(names))
    columns = {name: indices[:, i] for i, name in enumerate(names)}
    trees = limbs_of([n for _, n in found])
    return Profile(columns, trees, dict(question.metrics), record)


def _partial(made: Profile, depth: int, run: Run, upper: int | None) -> Profile:
    """Mark the profile of a smaller depth: all it says is about its own, smaller space."""
    record = run.record
    record.status = "partial"
    record.details["asked_max_depth"] = run.space.max_depth
    record.details["upper"] = upper
    record.conventions["max_depth"] = depth
    return _counted(made)


def profile_of(result: "Result", data: Data, space: Space, record: RunRecord) -> Profile:
    """Make a profile of what the fast engine found."""
    order = ascending(result.keys)
    keys, trees, terms = result.keys[order], result.values[order], result.terms()
    if result.depths is not None:  # a cell of a circuit holds trees of several depths
        axes = {name: column[order] for name, column in result.axes().items()}
        return _counted(Profile(axes, trees, terms, record))
    source = Source(data, space, result.circuit)
    cells = AxisColumns(result.plan.axes, keys)
    return _counted(Profile(cells, trees, terms, record, keys, source))


def _counted(made: Profile) -> Profile:
    """Let the record count the combinations of metric values once somebody reads it."""
    made.record.num_cells = lambda: made.num_cells
    return made

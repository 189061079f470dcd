"""The questions one asks of a space of trees: count, exists, optimize, evaluate, model_tensor.

Each checks its query once, hands it to an engine and filters the tensor by φ (Sec. 3.4).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

from adtc.algebra import trees
from adtc.algebra.formula import Formula, holds, value
from adtc.algebra.semirings import COUNT, Semiring, get_semiring, witness
from adtc.algebra.tensors import Scan, Tensor
from adtc.data import Data
from adtc.engine import emt
from adtc.engine.query import Aggregation, Definitions, Question, Space, ask
from adtc.engine.record import RunRecord, Status, log10, recording
from adtc.errors import QueryError

Engine = Literal["auto", "spec"]
Where = str | Formula | None


class Count(int):
    """A number of trees: an ordinary integer that also carries its run record.

    Examples
    --------
    >>> import adtc
    >>> data = adtc.Data.from_arrays([[1], [1], [0]], [1, 1, 0])
    >>> n = adtc.count(data, adtc.Space(max_depth=1))
    >>> n, n.status
    (6, 'exact')
    """

    record: RunRecord

    @property
    def status(self) -> Status:
        """Say whether the number is exact, bounded or estimated."""
        return self.record.status

    @property
    def log10(self) -> float | None:
        """Return the decimal logarithm, None for zero."""
        return log10(self)


@dataclass(frozen=True, slots=True)
class Existence:
    """Whether a tree exists, with one that does: true or false in a condition."""

    tree: trees.Tree | None
    record: RunRecord

    def __bool__(self) -> bool:
        return self.tree is not None


@dataclass(frozen=True, slots=True)
class Optimum:
    """The best tree under a constraint; ``tree`` and ``value`` are None when none exists."""

    tree: trees.Tree | None
    value: Fraction | int | None
    metrics: dict[str, Fraction | int | None]
    proved: bool
    record: RunRecord


def count(
    data: Data,
    space: Space,
    where: Where = None,
    *,
    define: Definitions | None = None,
    engine: Engine = "auto",
) -> Count:
    """Count the trees of a space that satisfy a constraint.

    Examples
    --------
    >>> import adtc
    >>> data = adtc.Data.from_arrays([[1], [1], [0]], [1, 1, 0])
    >>> int(adtc.count(data, adtc.Space(max_depth=1), where="error <= 1"))
    3
    """
    with recording(data, space, engine, {"ask": "count", "where": _text(where)}) as record:
        question = ask(data, space, semiring=COUNT, where=where, define=define)
        answer = Count(_total(question, _good(question, data, record)))
    answer.record = record
    return answer


def exists(
    data: Data,
    space: Space,
    where: Where = None,
    *,
    define: Definitions | None = None,
    engine: Engine = "auto",
) -> Existence:
    """Decide whether a tree satisfies a constraint, and show one if so."""
    with recording(data, space, engine, {"ask": "exists", "where": _text(where)}) as record:
        question = ask(data, space, semiring=witness(), where=where, define=define)
        found = _total(question, _good(question, data, record))
    return Existence(found.tree, record)


def optimize(
    data: Data,
    space: Space,
    *,
    minimize: str | None = None,
    maximize: str | None = None,
    where: Where = None,
    define: Definitions | None = None,
    engine: Engine = "auto",
) -> Optimum:
    """Find a tree with the best value of a metric among those that satisfy a constraint.

    Parameters
    ----------
    minimize, maximize
        The metric, or a term over metrics; ``minimize="error"`` if neither is given.

    Examples
    --------
    >>> import adtc
    >>> data = adtc.Data.from_arrays([[1], [1], [0]], [1, 1, 0])
    >>> best = adtc.optimize(data, adtc.Space(max_depth=1), minimize="error")
    >>> best.value, best.proved
    (0, True)
    """
    if minimize is not None and maximize is not None:
        raise QueryError("give either minimize or maximize, not both.")
    objective = minimize or maximize or "error"
    sign = 1 if maximize is None else -1
    asked = {"ask": "optimize", "minimize" if sign > 0 else "maximize": objective}
    with recording(data, space, engine, asked | {"where": _text(where)}) as record:
        question = ask(
            data, space, semiring=witness(), metrics=[objective], where=where, define=define
        )
        scored = (
            (score, found.tree)
            for index, found in _good(question, data, record).items()
            if (score := _scores(question, index)[0]) is not None
        )
        best = min(scored, key=lambda pair: sign * pair[0], default=None)
    if best is None:
        return Optimum(None, None, {}, True, record)
    return Optimum(best[1], best[0], {objective: best[0]}, True, record)


def evaluate(
    data: Data,
    space: Space,
    semiring: Semiring[Any] | str,
    *,
    aggregation: Aggregation = None,
    where: Where = None,
    define: Definitions | None = None,
    engine: Engine = "auto",
) -> Any:
    """Compute ADTC(Q, D): the sum over all good trees of the product over their leaves.

    Parameters
    ----------
    semiring
        A `Semiring`, or the name of a built-in one.
    aggregation
        α: None for the constant one; a metric or a sum of metrics, such as
        ``"error + 10 * size"``; several of them; or a function of label and leaf rows.

    Examples
    --------
    >>> import adtc
    >>> data = adtc.Data.from_arrays([[1], [1], [0]], [1, 1, 0])
    >>> adtc.evaluate(data, adtc.Space(max_depth=1), "min-plus", aggregation="error")
    0
    """
    R = get_semiring(semiring) if isinstance(semiring, str) else semiring
    with recording(data, space, engine, {"ask": "evaluate", "where": _text(where)}) as record:
        question = ask(data, space, semiring=R, aggregation=aggregation, where=where, define=define)
        return _total(question, _good(question, data, record))


def model_tensor(
    data: Data,
    space: Space,
    metrics: Sequence[str],
    *,
    where: Where = None,
    semiring: Semiring[Any] = COUNT,
    aggregation: Aggregation = None,
    define: Definitions | None = None,
    engine: Engine = "auto",
) -> Tensor[Any]:
    """Compute MT[Q, D]: the values of all good trees by the metrics asked for.

    Returns
    -------
    dict
        From the metrics' values, in the order asked for, to the semiring value: integers for
        primitive metrics, fractions for rational ones, None where a ratio is undefined.

    Examples
    --------
    >>> import adtc
    >>> data = adtc.Data.from_arrays([[1], [1], [0]], [1, 1, 0])
    >>> sorted(adtc.model_tensor(data, adtc.Space(max_depth=1), ["size", "error"]).items())
    [((1, 1), 1), ((1, 2), 1), ((2, 0), 1), ((2, 1), 1), ((2, 2), 1), ((2, 3), 1)]
    """
    with recording(data, space, engine, {"ask": "tensor", "where": _text(where)}) as record:
        question = ask(
            data,
            space,
            semiring=semiring,
            aggregation=aggregation,
            metrics=metrics,
            where=where,
            define=define,
        )
        tensor: Tensor[Any] = {}
        for index, cell in _good(question, data, record).items():
            scores = _scores(question, index)
            tensor[scores] = semiring.add(tensor[scores], cell) if scores in tensor else cell
    return tensor


def _good(question: Question, data: Data, record: RunRecord) -> Tensor[Any]:
    """Run the engine and keep the cells of φ-good trees."""
    scan = Scan()
    tensor = emt.model_tensor(question, data, scan)
    good = {
        index: cell
        for index, cell in tensor.items()
        if holds(question.constraint, question.environment(index))
    }
    record.engine, record.cell_scan, record.num_cells = "spec", scan.cells, len(good)
    return good


def _total(question: Question, tensor: Tensor[Any]) -> Any:
    total = question.semiring.zero
    for cell in tensor.values():
        total = question.semiring.add(total, cell)
    return total


def _scores(question: Question, index: Sequence[float]) -> tuple[Any, ...]:
    """Evaluate the requested metrics on an index; whole numbers come as integers."""
    environment = question.environment(index)
    scores = (value(term, environment) for _, term in question.metrics)
    return tuple(int(s) if s is not None and s.denominator == 1 else s for s in scores)


def _text(where: Where) -> str | None:
    return None if where is None else str(where)

"""The questions one asks of a space of trees: count, exists, optimize, evaluate, model_tensor.

Each checks its query once, hands it to an engine and filters the tensor by φ (Sec. 3.4). The
specification engine answers everything; the fast engine whatever adds up over leaves.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal

from adtc.algebra import trees
from adtc.algebra.affine import Affine, affine, as_term, ratio
from adtc.algebra.formula import Comparison, Formula, Negate, Number, all_of, holds, value
from adtc.algebra.metrics import DEPTH
from adtc.algebra.semirings import COUNT, Semiring, get_semiring, witness
from adtc.algebra.tensors import Scan, Tensor
from adtc.data import Data
from adtc.engine import emt
from adtc.engine.monitor import Monitor
from adtc.engine.narrow import by_depth, narrowed
from adtc.engine.query import Aggregation, Definitions, Question, Space, ask
from adtc.engine.record import RunRecord, Status, log10, recording
from adtc.engine.scoring import plain, score_form
from adtc.engine.switches import Switches
from adtc.errors import QueryError

if TYPE_CHECKING:
    from adtc.engine.fast import Result

Engine = Literal["auto", "spec", "fast"]
Where = str | Formula | None
_ALL_ON = Switches()


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
    switches: Switches = _ALL_ON,
    monitor: Monitor | None = None,
) -> Count:
    """Count the trees of a space that satisfy a constraint.

    Parameters
    ----------
    where
        The constraint φ; None admits every tree.
    define
        The user's own metrics: a `Primitive`, or the text of a term over other metrics.
    engine
        ``"auto"`` takes the fast engine where it can answer, ``"spec"`` the paper's algorithm.
    switches
        Which optimisations of the fast engine are on; the answer does not depend on them.
    monitor
        Progress, cancelling, limits and threads.

    Examples
    --------
    >>> import adtc
    >>> data = adtc.Data.from_arrays([[1], [1], [0]], [1, 1, 0])
    >>> int(adtc.count(data, adtc.Space(max_depth=1), where="error <= 1"))
    3
    """
    with recording(data, space, engine, {"ask": "count", "where": _text(where)}) as record:
        question = ask(data, space, semiring=COUNT, where=where, define=define)
        if takes_fast(engine, question):
            answer = Count(run_fast(question, data, switches, monitor, record).total)
        else:
            answer = Count(_total(question, good_cells(question, data, record)))
    answer.record = record
    return answer


def exists(
    data: Data,
    space: Space,
    where: Where = None,
    *,
    define: Definitions | None = None,
    engine: Engine = "auto",
    switches: Switches = _ALL_ON,
    monitor: Monitor | None = None,
) -> Existence:
    """Decide whether a tree satisfies a constraint, and show one if so."""
    with recording(data, space, engine, {"ask": "exists", "where": _text(where)}) as record:
        question = ask(data, space, semiring=COUNT, where=where, define=define)
        if takes_fast(engine, question):
            result = run_fast(question, data, switches, monitor, record)
            tree = result.tree(0) if len(result.keys) else None
        else:
            question = ask(data, space, semiring=witness(), where=where, define=define)
            tree = _total(question, good_cells(question, data, record)).tree
    return Existence(tree, record)


def optimize(
    data: Data,
    space: Space,
    *,
    minimize: str | None = None,
    maximize: str | None = None,
    where: Where = None,
    define: Definitions | None = None,
    engine: Engine = "auto",
    switches: Switches = _ALL_ON,
    monitor: Monitor | None = None,
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
        question = ask(data, space, semiring=COUNT, metrics=[objective], where=where, define=define)
        if takes_fast(engine, question):
            best = _best_fast(
                question, data, sign, switches=switches, monitor=monitor, record=record
            )
        else:
            question = ask(
                data, space, semiring=witness(), metrics=[objective], where=where, define=define
            )
            best = _best_cell(question, good_cells(question, data, record), sign)
    if best is None:
        return Optimum(None, None, {}, True, record)
    score, tree = best
    return Optimum(tree, score, {objective: score}, True, record)


def evaluate(
    data: Data,
    space: Space,
    semiring: Semiring[Any] | str,
    *,
    aggregation: Aggregation = None,
    where: Where = None,
    define: Definitions | None = None,
    engine: Engine = "auto",
    switches: Switches = _ALL_ON,
    monitor: Monitor | None = None,
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
        if engine != "spec" and R.adds_up and not callable(aggregation):
            texts = (aggregation,) if isinstance(aggregation, str) else tuple(aggregation or ())
            counted = ask(data, space, semiring=COUNT, metrics=texts, where=where, define=define)
            if takes_fast(engine, counted):
                cells = run_fast(counted, data, switches, monitor, record).tensor()
                return _sum_of_cells(R, cells, bool(texts))
        if engine != "spec" and R.compiled and not callable(aggregation):
            from adtc.engine import scalar

            tight = narrowed(question)
            if scalar.summable(tight, R) and takes_fast(engine, tight):
                texts = (aggregation,) if isinstance(aggregation, str) else tuple(aggregation or ())
                record.engine = "fast"
                return scalar.sum_over_trees(
                    tight, data, texts, define, switches=switches, monitor=monitor or Monitor()
                )
        _refuse_fast(engine, f"the semiring '{R.name}' with this aggregation")
        return _total(question, good_cells(question, data, record))


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
    switches: Switches = _ALL_ON,
    monitor: Monitor | None = None,
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
        if semiring is COUNT and aggregation is None and takes_fast(engine, question):
            return run_fast(question, data, switches, monitor, record).tensor()
        _refuse_fast(engine, f"tensors over the semiring '{semiring.name}'")
        tensor: Tensor[Any] = {}
        for index, cell in good_cells(question, data, record).items():
            scores = _scores(question, index)
            tensor[scores] = semiring.add(tensor[scores], cell) if scores in tensor else cell
    return tensor


def takes_fast(engine: Engine, question: Question) -> bool:
    """Decide whether the fast engine answers; ask for it in vain and you are told why."""
    if engine not in ("auto", "spec", "fast"):
        raise QueryError(f"engine is {engine!r}, expected 'auto', 'spec' or 'fast'.")
    if engine == "spec":
        return False
    unfit = [
        axis.name
        for axis in narrowed(question).axes
        if axis.functional is None and axis.public and axis is not DEPTH
    ]
    if unfit:
        _refuse_fast(engine, f"the metric '{unfit[0]}'")
        return False
    return True


def _refuse_fast(engine: Engine, what: str) -> None:
    if engine == "fast":
        raise QueryError(f"the fast engine does not handle {what}: use engine='auto' or 'spec'.")


def run_fast(
    question: Question,
    data: Data,
    switches: Switches,
    monitor: Monitor | None,
    record: RunRecord,
    *,
    sign: int = 0,
) -> "Result":
    """Count the good trees, or with a ``sign`` only those near the best."""
    from adtc.engine import fast  # Numba is loaded with the first question, not before

    question = narrowed(question)
    if sign:
        result = fast.optimum(question, data, sign, switches=switches, monitor=monitor)
    else:
        result = fast.run(question, data, switches=switches, monitor=monitor)
    record.engine, record.num_cells = "fast", len(result.keys)
    record.cell_scan = result.circuit.cell_scan
    record.details["live_subproblems"] = list(result.circuit.outside.live_paths)
    record.details.pop("proof_of_none", None)  # of an earlier attempt, under a tighter limit
    if proof := result.circuit.proof_of_none:
        budget, least = proof
        record.details["proof_of_none"] = {
            "every good tree": budget.source,
            "so its value of": budget.form.name,
            "is at most": budget.limit,
            "but every tree has at least": least,
        }
    return result


def _best_fast(
    question: Question,
    data: Data,
    sign: int,
    *,
    switches: Switches,
    monitor: Monitor | None,
    record: RunRecord,
) -> tuple[Fraction | int, trees.Tree] | None:
    """Find the best value of the first metric in the cheapest way that can."""
    from adtc.engine import search
    from adtc.engine.plan import make_plan

    watch = monitor or Monitor()
    question = narrowed(question)
    term = question.metrics[0][1]
    if by_depth(question):
        return run_fast(question, data, switches, watch, record, sign=sign).best(sign)

    def least(objective: Affine) -> tuple[Fraction | int, trees.Tree] | None:
        record.details["searches"] = record.details.get("searches", 0) + 1
        if search.free(question):
            found = search.least_of_all(question, data, objective, switches, watch)
            if found is not None:
                record.engine, record.num_cells = "fast", 1
                return found
        asked = replace(question, metrics=(("objective", as_term(objective)),))
        return run_fast(asked, data, switches, watch, record, sign=1).best(1)

    if (form := affine(term)) is not None and form.coefficients:
        best = least(form.scaled(Fraction(sign)))
        return None if best is None else (plain(sign * best[0]), best[1])
    over = ratio(term)
    defined = make_plan(question, push=False).reader.never_negative
    if over is not None and over[1].coefficients and defined(over[1]):
        best = search.largest_ratio(
            over[0].scaled(Fraction(-sign)),
            over[1],
            least,
            lambda tree, form: score_form(tree, data, question, form),
        )
        return None if best is None else (plain(-sign * best[0]), best[1])
    # A gap is the largest of several forms: look below a threshold that rises until a tree is
    # there. At the first one, which no tree can beat, shallow trees may do.
    op, reader = "<=" if sign > 0 else ">=", make_plan(question, push=False).reader
    deepest = question.space.max_depth
    depths: Iterable[int] = range(deepest + 1)
    for threshold in search.thresholds(term if sign > 0 else Negate(term), reader):
        limit = Comparison((term, Number(sign * threshold)), (op,))
        for depth in depths:
            asked = replace(
                question,
                space=replace(question.space, max_depth=depth),
                constraint=all_of(question.constraint, limit),
            )
            record.details["searches"] = record.details.get("searches", 0) + 1
            best = run_fast(asked, data, switches, watch, record).best(sign)
            if best is not None:
                return best
        depths = (deepest,)
    return run_fast(question, data, switches, watch, record, sign=sign).best(sign)


def good_cells(question: Question, data: Data, record: RunRecord) -> Tensor[Any]:
    """Run the specification engine and keep the cells of φ-good trees."""
    scan = Scan()
    tensor = emt.model_tensor(question, data, scan)
    good = {
        index: cell
        for index, cell in tensor.items()
        if holds(question.constraint, question.environment(index))
    }
    record.engine, record.cell_scan, record.num_cells = "spec", scan.cells, len(good)
    return good


def _best_cell(
    question: Question, tensor: Tensor[Any], sign: int
) -> tuple[Fraction | int, trees.Tree] | None:
    scored = (
        (score, found.tree)
        for index, found in tensor.items()
        if (score := _scores(question, index)[0]) is not None
    )
    return min(scored, key=lambda pair: sign * pair[0], default=None)


def _sum_of_cells(R: Semiring[Any], cells: dict[Any, int], embedded: bool) -> Any:
    """Sum over trees from how many have which metric values: see `Semiring.adds_up`."""
    total = R.zero
    for values, trees_here in cells.items():
        here = R.embed(0, values) if embedded and R.embed else R.one
        total = R.add(total, R.times(trees_here, here))
    return total


def _total(question: Question, tensor: Tensor[Any]) -> Any:
    total = question.semiring.zero
    for cell in tensor.values():
        total = question.semiring.add(total, cell)
    return total


def _scores(question: Question, index: Sequence[float]) -> tuple[Any, ...]:
    """Evaluate the requested metrics on an index; whole numbers come as integers."""
    environment = question.environment(index)
    return tuple(plain(value(term, environment)) for _, term in question.metrics)


def _text(where: Where) -> str | None:
    return None if where is None else str(where)

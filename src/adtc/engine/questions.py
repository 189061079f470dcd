"""The questions one asks of a space of trees: count, exists, optimize, evaluate, model_tensor.

Each checks its query once, hands it to an engine and filters the tensor by φ (Sec. 3.4); all take
the `Options` of a run. The
specification engine answers everything; the fast engine whatever adds up over leaves, and any
semiring over the trees it has found.
"""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Unpack

from adtc.algebra import trees
from adtc.algebra.formula import Formula, value
from adtc.algebra.semiring import Semiring
from adtc.algebra.semirings import COUNT, get_semiring, witness
from adtc.algebra.tensors import Tensor
from adtc.data import Data
from adtc.engine import scalar
from adtc.engine.limits.beforehand import no_better
from adtc.engine.limits.within import (
    Beforehand,
    Reached,
    count_within,
    deepest,
    most_trees,
    shallower,
)
from adtc.engine.query import Aggregation, Question, Space, texts_of
from adtc.engine.results import Existence, ModelTensor, Number, Optimum, number_of_trees
from adtc.engine.run import Options, Run, opened, refuse_fast
from adtc.engine.score import as_integer
from adtc.errors import QueryError

Where = str | Formula | None


def count(
    data: Data,
    space: Space,
    where: Where = None,
    **options: Unpack[Options],
) -> Number:
    """Count the trees of a space that satisfy a constraint.

    Parameters
    ----------
    where
        The constraint φ; None admits every tree.
    **options
        ``define``, ``engine``, ``switches`` and ``monitor``: see `adtc.engine.run.Options`.

    Examples
    --------
    >>> import adtc
    >>> data = adtc.Data.from_arrays([[1], [1], [0]], [1, 1, 0])
    >>> int(adtc.count(data, adtc.Space(max_depth=1), where="error <= 1"))
    3
    """
    asked = {"ask": "count", "where": _text(where)}
    with opened(data, space, asked, **options) as run:
        question = run.ask(where=where)
        upper = Beforehand(lambda: most_trees(question, data))

        def total(depth: int) -> int:
            upper.find(run.monitor)
            asked = shallower(question, depth)
            if (narrow := run.narrowed(asked)) is not None:
                return run.fast(narrow).total
            return int(COUNT.total(run.spec(asked).values()))

        def present(reached: Reached[int]) -> Number:
            reached.note(run.record, run.monitor)
            return number_of_trees(count_within(reached, upper.get()), run.record)

        return deepest(total, _depth(run, question), run.monitor, present)


def exists(
    data: Data,
    space: Space,
    where: Where = None,
    **options: Unpack[Options],
) -> Existence:
    """Decide whether a tree satisfies a constraint, and show one if so."""
    asked = {"ask": "exists", "where": _text(where)}
    with opened(data, space, asked, **options) as run:
        question = run.ask(where=where)

        def search(depth: int) -> trees.Tree | None:
            asked = shallower(question, depth)
            if (narrow := run.narrowed(asked)) is not None:
                result = run.fast(narrow)
                return result.tree(0) if len(result.keys) else None
            asked = shallower(run.ask(where=where, semiring=witness()), depth)
            found: trees.Tree | None = asked.semiring.total(run.spec(asked).values()).tree
            return found

        def present(reached: Reached[trees.Tree | None]) -> Existence:
            decided = reached.answer is not None or reached.reason is None
            if not decided:
                reached.note(run.record, run.monitor)
                run.record.status = "bounded" if reached.depth is None else "partial"
            return Existence(reached.answer, run.record, decided, data.feature_names)

        return deepest(
            search, _depth(run, question), run.monitor, present, lambda tree: tree is not None
        )


def optimize(
    data: Data,
    space: Space,
    *,
    minimize: str | None = None,
    maximize: str | None = None,
    where: Where = None,
    **options: Unpack[Options],
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
    better = "minimize" if sign > 0 else "maximize"
    asked = {"ask": "optimize", better: objective, "where": _text(where)}
    with opened(data, space, asked, **options) as run:
        question = run.ask(where=where, metrics=[objective])
        deepest_asked = _depth(run, question)
        known = Beforehand(lambda: no_better(question, data, sign))
        proofs: list[Fraction] = []

        def bound() -> Fraction | None:
            proved = [b for b in (known.get(), *proofs) if b is not None]
            return sign * max(sign * b for b in proved) if proved else None

        def search(depth: int) -> tuple[Fraction | int, trees.Tree] | None:
            known.find(run.monitor)
            asked = shallower(question, depth)
            if (narrow := run.narrowed(asked)) is not None:
                # what no tree of a smaller depth beats, a deeper one may
                return run.best(narrow, sign, proofs.append if depth == deepest_asked else None)
            asked = run.ask(where=where, metrics=[objective], semiring=witness())
            asked = shallower(asked, depth)
            return _best_cell(asked, run.spec(asked), sign)

        def present(reached: Reached[tuple[Fraction | int, trees.Tree] | None]) -> Optimum:
            score, tree = reached.answer or (None, None)
            metrics = {} if tree is None else {objective: score}
            if reached.reason is None or (score is not None and score == bound()):
                return Optimum(tree, score, metrics, True, run.record, score, data.feature_names)
            reached.note(run.record, run.monitor)
            run.record.status = "bounded" if reached.depth is None else "partial"
            return Optimum(
                tree, score, metrics, False, run.record, as_integer(bound()), data.feature_names
            )

        def unbeaten(best: tuple[Fraction | int, trees.Tree] | None) -> bool:
            return best is not None and best[0] == bound()

        return deepest(search, deepest_asked, run.monitor, present, unbeaten)


def evaluate(
    data: Data,
    space: Space,
    semiring: Semiring[Any] | str,
    *,
    aggregation: Aggregation = None,
    where: Where = None,
    **options: Unpack[Options],
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
    asked = {"ask": "evaluate", "where": _text(where)}
    with opened(data, space, asked, **options) as run:
        question = run.ask(where=where, semiring=R, aggregation=aggregation)
        if run.engine != "spec" and R.adds_up and not callable(aggregation):
            counted = run.ask(where=where, metrics=texts_of(aggregation))
            if (narrow := run.narrowed(counted)) is not None:
                return R.sum_of(run.fast(narrow).tensor().items())
        if run.engine != "spec" and R.compiled and not callable(aggregation):
            narrow = run.narrowed(question)
            if narrow is not None and scalar.summable(narrow, R):
                run.record.engine = "fast"
                return scalar.sum_over_trees(
                    narrow,
                    data,
                    texts_of(aggregation),
                    run.define,
                    switches=run.switches,
                    monitor=run.monitor,
                )
        if (folded := run.fold(question, where, aggregation=aggregation)) is not None:
            return R.total(cell for _, cell in folded)
        refuse_fast(run.engine, f"the semiring '{R.name}' on conditions that need the depth")
        return R.total(run.spec(question).values())


def model_tensor(
    data: Data,
    space: Space,
    metrics: Sequence[str],
    *,
    where: Where = None,
    semiring: Semiring[Any] = COUNT,
    aggregation: Aggregation = None,
    **options: Unpack[Options],
) -> ModelTensor:
    """Compute MT[Q, D]: the values of all good trees by the metrics asked for.

    Returns
    -------
    ModelTensor
        A dictionary from the metrics' values, in the order asked for, to the semiring value.
        Values are integers for primitive metrics, fractions for rational ones, None where a ratio
        is undefined.

    Examples
    --------
    >>> import adtc
    >>> data = adtc.Data.from_arrays([[1], [1], [0]], [1, 1, 0])
    >>> sorted(adtc.model_tensor(data, adtc.Space(max_depth=1), ["size", "error"]).items())
    [((1, 1), 1), ((1, 2), 1), ((2, 0), 1), ((2, 1), 1), ((2, 2), 1), ((2, 3), 1)]
    """
    asked = {"ask": "tensor", "where": _text(where)}
    with opened(data, space, asked, **options) as run:
        question = run.ask(where=where, metrics=metrics, semiring=semiring, aggregation=aggregation)
        tensor = ModelTensor()
        counted = run.narrowed(question) if semiring is COUNT and aggregation is None else None
        if counted is not None:
            tensor.update(run.fast(counted).tensor())
        else:
            folded = run.fold(question, where, metrics, aggregation=aggregation)
            if folded is None:
                refuse_fast(run.engine, f"tensors over '{semiring.name}' that need the depth")
                cells = run.spec(question)
                folded = [(_scores(question, index), cell) for index, cell in cells.items()]
            for scores, cell in folded:
                tensor[scores] = semiring.add(tensor[scores], cell) if scores in tensor else cell
    tensor.record = run.record
    return tensor


def _best_cell(
    question: Question, tensor: Tensor[Any], sign: int
) -> tuple[Fraction | int, trees.Tree] | None:
    scored = (
        (score, found.tree)
        for index, found in tensor.items()
        if (score := _scores(question, index)[0]) is not None
    )
    return min(scored, key=lambda pair: sign * pair[0], default=None)


def _scores(question: Question, index: Sequence[float]) -> tuple[Any, ...]:
    """Evaluate the requested metrics on an index; whole numbers come as integers."""
    environment = question.environment(index)
    return tuple(as_integer(value(term, environment)) for _, term in question.metrics)


def _depth(run: Run, question: Question) -> int:
    """Return how deep the trees of a question may be, by its formula as well."""
    return (run.narrowed(question) or question).space.max_depth


def _text(where: Where) -> str | None:
    return None if where is None else str(where)

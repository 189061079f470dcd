"""One call of a question: its record, which engine answers, and the table it is bound to.

Whoever asks opens a `Run`. What ``least(…)`` and ``largest(…)`` found on the way then serves the
question itself, too: that is how one asks for trees near the best, `error <= 1.05 * least(error)`.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, Literal, TypedDict

import numpy as np
import numpy.typing as npt

from adtc.algebra.affine import Affine, affine
from adtc.algebra.formula import Call, Formula, Term, holds, settle, value
from adtc.algebra.metrics import DEPTH
from adtc.algebra.semiring import Semiring
from adtc.algebra.semirings import COUNT
from adtc.algebra.tensors import Scan, Tensor
from adtc.algebra.trees import Tree
from adtc.data import Data
from adtc.engine import emt, fast, scalar, search
from adtc.engine.bounds import INFINITY
from adtc.engine.circuit import Circuit
from adtc.engine.fold import fold
from adtc.engine.forecast.advice import advised
from adtc.engine.lattice import alike
from adtc.engine.monitor import Monitor
from adtc.engine.optimum import Proved, best_tree
from adtc.engine.plan.keys import key_integers
from adtc.engine.plan.narrow import by_depth, narrowed
from adtc.engine.prepare import Prepared, prepare
from adtc.engine.query import (
    Aggregation,
    Definitions,
    Question,
    Space,
    ask,
    further_tables,
    texts_of,
)
from adtc.engine.record import RunRecord, note_checkpoint, recording
from adtc.engine.switches import Switches
from adtc.errors import LimitError, QueryError

Engine = Literal["auto", "spec", "fast"]


class Options(TypedDict, total=False):
    """What every question takes, whatever it asks.

    Parameters
    ----------
    define
        The user's own metrics: a `Primitive`, or the text of a term over other metrics.
    engine
        ``"auto"`` takes the fast engine where it can answer, ``"spec"`` the paper's algorithm;
        ``"fast"`` refuses what the fast engine cannot.
    switches
        Which optimisations of the fast engine are on; the answer does not depend on them.
    monitor
        Progress, cancelling, limits and threads.
    """

    define: Definitions | None
    engine: Engine
    switches: Switches
    monitor: Monitor | None


def with_extremes(formula: Formula, extremes: Mapping[str, str | None]) -> Formula:
    """Put in the values of ``least(…)`` and ``largest(…)`` that a record tells.

    Examples
    --------
    >>> from adtc.algebra.formula import parse
    >>> str(with_extremes(parse("error <= 1.1 * least(error)"), {"least(error)": "40"}))
    'error <= 1.1 * 40'
    """

    def found(call: Call) -> Fraction | None:
        text = extremes[str(call)]
        return None if text is None else Fraction(text)

    try:
        return settle(formula, found)
    except KeyError:  # one within another: the engine finds it anew
        return formula


@dataclass(slots=True)
class Run:
    """Binds questions to one table and space, and has them answered by one of the engines.

    Parameters
    ----------
    prepared
        What the last extreme value stands on, if that can serve other questions.
    """

    data: Data
    space: Space
    define: Definitions | None
    engine: Engine
    switches: Switches
    monitor: Monitor
    record: RunRecord
    prepared: Prepared | None = None
    _extremes: dict[str, Fraction | None] = field(default_factory=dict)

    def ask(
        self,
        *,
        where: str | Formula | None = None,
        metrics: Sequence[str] = (),
        semiring: Semiring[Any] = COUNT,
        aggregation: Aggregation = None,
    ) -> Question:
        """Check a query and resolve its names; see `query.ask`."""
        return ask(
            self.data,
            self.space,
            semiring=semiring,
            aggregation=aggregation,
            metrics=metrics,
            where=where,
            define=self.define,
            best=self.extreme,
        )

    def up_to(self, depth: int) -> "Run":
        """Return a run about the trees up to a smaller depth, with the same record."""
        if depth == self.space.max_depth:
            return self
        space = replace(self.space, max_depth=depth)
        return replace(self, space=space, prepared=None, _extremes={})

    def narrowed(self, question: Question) -> Question | None:
        """Return the question as the fast engine takes it; None if the specification answers."""
        return fast_question(self.engine, question)

    def fast(self, question: Question) -> fast.Result:
        """Count the good trees of a narrowed question, on what an extreme value stands on."""
        result = fast.run(
            question, self.data, switches=self.switches, monitor=self.monitor, known=self.prepared
        )
        fast.note(self.record, result)
        return result

    def spec(self, question: Question) -> Tensor[Any]:
        """Run the specification engine and keep the cells of φ-good trees."""
        scan = Scan()
        tensor = emt.model_tensor(question, self.data, scan, self.monitor.check)
        good = {
            index: cell
            for index, cell in tensor.items()
            if holds(question.constraint, question.environment(index))
        }
        self.record.engine, self.record.num_cells = "spec", len(good)
        self.record.cell_scan = scan.cells
        return good

    def best(
        self, question: Question, sign: int, proved: Proved | None = None
    ) -> tuple[Fraction | int, Tree] | None:
        """Find the least (sign 1) or largest (−1) value of a narrowed question's first metric."""
        return best_tree(
            question,
            self.data,
            sign,
            switches=self.switches,
            monitor=self.monitor,
            record=self.record,
            proved=proved,
        )

    def fold(
        self,
        question: Question,
        where: str | Formula | None,
        metrics: Sequence[str] = (),
        *,
        aggregation: Aggregation = None,
    ) -> list[tuple[tuple[Any, ...], Any]] | None:
        """Count the good trees, then sum over them in the question's semiring, cell by cell.

        Returns metric values and sums; None if the specification engine must, or shall.
        """
        if self.engine == "spec":
            return None
        counted = self.narrowed(self.ask(where=where, metrics=metrics))
        if counted is None or by_depth(counted) or counted.allowed.selective:
            return None
        result = self.fast(counted)
        if not _can_fold(result.circuit, self.data, question, aggregation, self.define):
            apart = replace(self.switches, merge_features=False)
            result = replace(self, switches=apart, prepared=None).fast(counted)
        values = fold_cells(
            result.circuit,
            result.keys,
            self.data,
            question,
            aggregation=aggregation,
            define=self.define,
            monitor=self.monitor,
        )
        return list(zip(result.indices(), values, strict=True))

    def extreme(self, question: Question, sign: int) -> Fraction | None:
        """Return the least (sign 1) or largest (−1) value of the question's only metric."""
        ((text, term),) = question.metrics
        if text not in self._extremes:  # a call may ask several questions with the same formula
            self._extremes[text] = self._extreme(question, sign, term)
        found = self._extremes[text]
        self.record.details.setdefault("extremes", {})[text] = None if found is None else str(found)
        return found

    def _extreme(self, question: Question, sign: int, term: Term) -> Fraction | None:
        form = affine(term)
        if form is not None and not form.coefficients:
            return form.constant
        if (narrow := self.narrowed(question)) is not None:
            return self._fast_extreme(narrow, sign, form)
        tensor = emt.model_tensor(question, self.data, Scan(), self.monitor.check)
        scores = (value(term, question.environment(index)) for index in tensor)
        return min((s for s in scores if s is not None), key=lambda s: sign * s, default=None)

    def _fast_extreme(self, question: Question, sign: int, form: Affine | None) -> Fraction | None:
        if form is not None and (
            planned := search.planned(question, self.data, form.scaled(Fraction(sign)))
        ):
            plan, scale, constant = planned
            self.prepared = prepare(plan, self.data, self.switches, self.monitor)
            least = self.prepared.inside.root[0]
            return None if least >= INFINITY else sign * (scale * least + constant)
        best = self.best(question, sign)
        return None if best is None else Fraction(best[0])


def fold_cells(
    circuit: Circuit,
    keys: npt.NDArray[np.int64],
    data: Data,
    question: Question,
    *,
    aggregation: Aggregation,
    define: Definitions | None,
    monitor: Monitor,
) -> list[Any]:
    """Sum over the trees of some root cells: C functions in the core, all else in Python."""
    if not _can_fold(circuit, data, question, aggregation, define):
        raise QueryError(
            "features that are alike on the table differ on a further one that the aggregation "
            "looks at, and these trees were found without it: make them with a metric of that "
            "table among their metrics, or ask the table itself."
        )
    if question.semiring.compiled and not callable(aggregation) and len(keys):
        texts = texts_of(aggregation)
        return scalar.sum_over_cells(
            circuit, keys, data, question, texts=texts, define=define, monitor=monitor
        )
    return fold(
        circuit, key_integers(keys), data, question.semiring, question.aggregate, monitor=monitor
    )


def _can_fold(
    circuit: Circuit,
    data: Data,
    question: Question,
    aggregation: Aggregation,
    define: Definitions | None,
) -> bool:
    """Tell whether merged features are alike on all rows that an aggregation looks at."""
    tables = further_tables(aggregation, question.schema, define)
    return not tables or alike(circuit.prepared.features, data.stack(tables))


@contextmanager
def opened(
    data: Data,
    space: Space,
    asked: Mapping[str, Any],
    *,
    define: Definitions | None = None,
    engine: Engine = "auto",
    switches: Switches = Switches(),  # noqa: B008  # frozen
    monitor: Monitor | None = None,
) -> Iterator[Run]:
    """Open a run with its record; ``asked`` is the call in words, the rest its `Options`."""
    with recording(data, space, engine, asked) as record:
        run = Run(data, space, define, engine, switches, monitor or Monitor(), record)
        try:
            yield run
        except LimitError as error:
            budgets = int(any(asked.get(name) for name in ("where", "minimize", "maximize")))
            axes = len(asked.get("metrics") or ())
            raise advised(
                error, data, space, axes=axes, budgets=budgets, monitor=run.monitor
            ) from None
        note_checkpoint(record, run.monitor)


def fast_question(engine: Engine, question: Question) -> Question | None:
    """Narrow a question for the fast engine; None if the specification answers it.

    Whoever asks for the fast engine in vain is told why.
    """
    if engine not in ("auto", "spec", "fast"):
        raise QueryError(f"engine is {engine!r}, expected 'auto', 'spec' or 'fast'.")
    if engine == "spec":
        return None
    question = narrowed(question)
    unfit = [
        axis.name
        for axis in question.axes
        if axis.functional is None and axis.public and axis is not DEPTH
    ]
    if unfit:
        refuse_fast(engine, f"the metric '{unfit[0]}'")
        return None
    return question


def refuse_fast(engine: Engine, what: str) -> None:
    """Say that the fast engine was asked for in vain."""
    if engine == "fast":
        raise QueryError(f"the fast engine does not handle {what}: use engine='auto' or 'spec'.")

"""One call of a question: its record, the way it is bound to the table, the way it is run.

Whoever asks opens a `Run`; what ``least(…)`` and ``largest(…)`` found on the way then serves the
question itself, too.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from adtc.algebra.formula import Formula
from adtc.algebra.semiring import Semiring
from adtc.algebra.semirings import COUNT
from adtc.data import Data
from adtc.engine.extremes import Extremes
from adtc.engine.monitor import Monitor
from adtc.engine.narrow import by_depth, narrowed
from adtc.engine.query import Aggregation, Definitions, Question, Space, ask
from adtc.engine.record import RunRecord, recording
from adtc.engine.running import Engine, run_fast, takes_fast
from adtc.engine.switches import Switches

if TYPE_CHECKING:
    from adtc.engine.fast import Result


@dataclass(frozen=True, slots=True)
class Run:
    """Binds questions to one table and space, and counts their trees with the fast engine."""

    data: Data
    space: Space
    define: Definitions | None
    switches: Switches
    monitor: Monitor | None
    record: RunRecord
    extremes: Extremes

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
            best=self.extremes,
        )

    def fold(
        self, question: Question, where: str | Formula | None, metrics: Sequence[str] = ()
    ) -> list[tuple[tuple[Any, ...], Any]] | None:
        """Count the good trees, then sum over them in the question's semiring, cell by cell.

        Returns metric values and sums; None if the specification engine must, or shall.
        """
        if self.extremes.engine == "spec":
            return None
        counted = self.ask(where=where, metrics=metrics)
        if not takes_fast(self.extremes.engine, counted) or by_depth(narrowed(counted)):
            return None
        from adtc.engine.folding import fold

        result = self.fast(counted)
        values = fold(
            result.circuit,
            result.keys.tolist(),
            self.data,
            question.semiring,
            question.aggregate,
            monitor=self.monitor or Monitor(),
        )
        return list(zip(result.indices(), values, strict=True))

    def fast(self, question: Question) -> "Result":
        """Count the good trees, on the ground of the least value if there was one."""
        return run_fast(
            question,
            self.data,
            self.switches,
            self.monitor,
            self.record,
            known=self.extremes.ground,
        )


@contextmanager
def opened(
    data: Data,
    space: Space,
    asked: Mapping[str, Any],
    *,
    define: Definitions | None,
    engine: Engine,
    switches: Switches = Switches(),  # noqa: B008  # frozen
    monitor: Monitor | None,
) -> Iterator[Run]:
    """Open a run with its record; ``asked`` is the call in words."""
    with recording(data, space, engine, asked) as record:
        extremes = Extremes(data, engine, switches, monitor, record)
        yield Run(data, space, define, switches, monitor, record, extremes)

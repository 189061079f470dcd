"""Which engine answers, and the fast one's run noted in the record."""

from typing import TYPE_CHECKING, Literal

from adtc.algebra.metrics import DEPTH
from adtc.data import Data
from adtc.engine.monitor import Monitor
from adtc.engine.narrow import narrowed
from adtc.engine.query import Question
from adtc.engine.record import RunRecord
from adtc.engine.switches import Switches
from adtc.errors import QueryError

if TYPE_CHECKING:
    from adtc.engine.fast import Result
    from adtc.engine.prepare import Prepared

Engine = Literal["auto", "spec", "fast"]


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
        refuse_fast(engine, f"the metric '{unfit[0]}'")
        return False
    return True


def refuse_fast(engine: Engine, what: str) -> None:
    """Say that the fast engine was asked for in vain."""
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
    known: "Prepared | None" = None,
) -> "Result":
    """Count the good trees, or with a ``sign`` only those near the best.

    ``known`` is the ground of an earlier question about the same data and space, if there was one.
    """
    from adtc.engine import fast

    question = narrowed(question)
    if sign:
        result = fast.optimum(question, data, sign, switches=switches, monitor=monitor)
    else:
        result = fast.run(question, data, switches=switches, monitor=monitor, known=known)
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

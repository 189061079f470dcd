"""Answers within limits: for the asked depth if it fits, else for the deepest one that does.

The trees of a smaller depth are trees of the space, so what holds of them is exact for them: their
number bounds that of all trees from below, and a tree found among them exists.
"""

import gc
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from adtc import _core
from adtc.data import Data
from adtc.engine.forecast.estimate import bits_of_all_trees
from adtc.engine.lattice import count_splitting
from adtc.engine.limits.bracket import Bracket
from adtc.engine.monitor import Monitor
from adtc.engine.query import Question
from adtc.engine.record import RunRecord, note_checkpoint
from adtc.engine.tensors import all_trees
from adtc.errors import LimitError

T = TypeVar("T")
A = TypeVar("A")
_AT_ONCE = 2  # trees of this depth are counted in one step
_PATIENCE = 5.0  # seconds
_LONGEST = 2**14  # bits of a bound that is worth being told


@dataclass(frozen=True, slots=True)
class Reached(Generic[T]):
    """The deepest finished answer.

    Parameters
    ----------
    depth, answer
        None if no depth was finished.
    reason
        Why it is not that of the asked depth: what stopped the run, and after a colon how to go
        on. None if it is.
    """

    depth: int | None = None
    answer: T | None = None
    reason: str | None = None

    @property
    def finished(self) -> str | None:
        """Name what was finished, if a limit stopped the run."""
        if self.reason is None or self.depth is None:
            return None
        return f"depth at most {self.depth}"

    @property
    def stopped(self) -> str | None:
        """Say what stopped the run."""
        return None if self.reason is None else self.reason.split(": ")[0]

    @property
    def advice(self) -> str | None:
        """Say how to go on."""
        return None if self.reason is None else self.reason.partition(": ")[2].rstrip(".") or None

    def note(self, record: RunRecord, monitor: Monitor) -> None:
        """Write into the record what was finished, what stopped the run and how to go on."""
        record.seconds = time.monotonic() - monitor.started  # it may not come to its own end
        note_checkpoint(record, monitor)
        told = {"finished": self.finished, "stopped": self.stopped, "advice": self.advice}
        record.details.update({name: text for name, text in told.items() if text is not None})


def deepest(
    ask: Callable[[int], T],
    depth: int,
    monitor: Monitor,
    present: Callable[[Reached[T]], A],
    enough: Callable[[T], bool] = lambda _: False,
) -> A:
    """Answer a question for the asked depth, or within limits for the deepest that fits.

    Parameters
    ----------
    ask
        Answers for trees up to a depth, or raises a `LimitError`.
    present
        Makes the final answer of what was reached; also called if the run is stopped from outside.
    enough
        Tells whether an answer for a smaller depth settles the question.
    """
    if not monitor.answers:
        return present(Reached(depth, ask(depth)))
    best: Reached[T] = Reached()
    failed, reason = depth, None
    # under a time limit shallow depths come first: each costs a fraction of the next
    for at in [*_before(depth, monitor), depth]:
        _offer(monitor, present, best)
        answer, reason = _attempt(ask, at)
        if reason is not None:
            failed = at
            break
        best = Reached(at, answer)
        if answer is not None and enough(answer):
            return present(best)
    if reason is None:
        return present(best)
    # what does not fit is said at once, so that less is not worth more time than was spent on it
    with monitor.hurried(max(_PATIENCE, time.monotonic() - monitor.started)):
        for at in range(0 if best.depth is None else best.depth + 1, failed):
            _offer(monitor, present, best)
            answer, more = _attempt(ask, at)
            if more is not None:
                break
            best = Reached(at, answer)
            if answer is not None and enough(answer):
                return present(best)
    return present(replace(best, reason=reason))


def _before(depth: int, monitor: Monitor) -> Iterator[int]:
    """Yield the depths to finish before the asked one."""
    if monitor.time_limit is not None:
        yield from range(min(_AT_ONCE, depth), depth)
    elif monitor.patient:
        yield from range(_AT_ONCE, depth - 1)


def _attempt(ask: Callable[[int], T], depth: int) -> tuple[T | None, str | None]:
    """Return an answer, or why there is none."""
    try:
        return ask(depth), None
    except LimitError as error:
        reason = str(error)
    gc.collect()
    _core.return_memory()  # what the attempt held is needed for a smaller one
    return None, reason


def _offer(monitor: Monitor, present: Callable[[Reached[T]], A], best: Reached[T]) -> None:
    """Let whoever stops the run from outside have the best so far."""
    monitor.finished = lambda reason: present(replace(best, reason=reason))
    monitor.reached = best.depth is not None


@dataclass(slots=True)
class Beforehand(Generic[T]):
    """What an answer within limits needs beside the run: found first, as there may be no time left.

    Not found at all where only exact answers count.
    """

    make: Callable[[], T]
    value: T | None = None
    found: bool = False

    def find(self, monitor: Monitor) -> None:
        """Find it, once."""
        if monitor.answers and not self.found:
            self.value, self.found = self.make(), True

    def get(self) -> T | None:
        """Return it, or None if it was not found."""
        return self.value


def shallower(question: Question, depth: int) -> Question:
    """Ask the same of trees up to a smaller depth."""
    if depth == question.space.max_depth:
        return question
    return replace(question, space=replace(question.space, max_depth=depth))


def count_within(reached: Reached[int], upper: int | None) -> Bracket:
    """Bracket the number of good trees by those of the depth reached and by all trees."""
    if reached.reason is None:
        return Bracket(reached.answer, reached.answer)
    return Bracket(
        reached.answer or 0,
        upper,
        None,
        reached.finished,
        reached.stopped,
        reached.advice,
    )


def most_trees(question: Question, data: Data) -> int | None:
    """Bound the number of trees from above, whatever the rows; None where that is no help."""
    features = count_splitting(data, question.minsup)
    depth, labels = min(question.space.max_depth, features), question.schema.labels
    if bits_of_all_trees(depth, features, labels) > _LONGEST:
        return None
    return all_trees(depth, features, labels)

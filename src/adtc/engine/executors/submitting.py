"""Tasks of a run on workers: named by content, watched over, given up where the run ends."""

import time
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from adtc import _core
from adtc.engine.executors import tasks
from adtc.engine.executors.checkpoint import Finished
from adtc.engine.executors.parts import content_key
from adtc.engine.monitor import Monitor
from adtc.errors import QueryError, TooLargeError

Future = Any
_WATCH = 0.02  # seconds between looks at the tasks
_LOOK, _DEAD = 5.0, 60.0  # seconds: between looks at the workers; without any, to give up


@dataclass(slots=True)
class Tasks:
    """Submits tasks and waits for their results, under a monitor."""

    monitor: Monitor
    pending: list[Future] = field(default_factory=list)

    @property
    def memory(self) -> int | None:
        """Return how much memory a part may use, if that was said."""
        return self.monitor.memory_limit

    @property
    def threads(self) -> int:
        """Count what the workers can do at once."""
        with self._cancelling():
            threads: int = sum(self.monitor.client.nthreads().values())
        return max(1, threads)

    def submit(self, key: str, work: Callable[..., Any], *args: Any) -> Future:
        """Have something computed; a task of that key that is known already serves."""
        with self._cancelling(), warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Sending large graph")
            future = self.monitor.client.submit(
                work, *args, key=f"adtc-{work.__name__}-{key}", pure=True
            )
        self.pending.append(future)
        return future

    def table(self, table: _core.Table) -> Future:
        """Have the table there."""
        return self.submit(content_key(table), tasks.table, tasks.ship(table))

    def result(self, future: Future, stage: str) -> Any:
        """Wait for a result; progress is that of all tasks submitted so far."""
        with self._cancelling():
            self._watch([future], stage)
            return future.result()

    def finish(self, futures: Mapping[range, Future], stage: str, finished: Finished) -> None:
        """Wait for all of some parts, and tell each one when it is there.

        What it took is the time since the one before: more than that is not lost with it.
        """
        left, started = dict(futures), time.monotonic()
        while left:
            with self._cancelling():
                self._watch(left.values(), stage)
            for units in [units for units, future in left.items() if future.done()]:
                del left[units]
                now = time.monotonic()
                finished(units, now - started)
                started = now

    def _watch(self, futures: Collection[Future], stage: str) -> None:
        """Wait until one of some tasks is done."""
        looked = alive = time.monotonic()
        while not any(future.done() for future in futures):
            self.monitor.check()
            time.sleep(_WATCH)
            if (now := time.monotonic()) - looked > _LOOK:
                looked = now
                alive = now if self.monitor.client.nthreads() else alive
                if now - alive > _DEAD:
                    raise QueryError(
                        f"the cluster has had no workers for {_DEAD:.0f} s: start some with "
                        f"dask worker, and ask again."
                    )
            done = sum(one.done() for one in self.pending)
            self.monitor.report(stage, done, len(self.pending))

    @contextmanager
    def _cancelling(self) -> Iterator[None]:
        """Cancel what was submitted if the run ends before; say what ended workers or cluster."""
        from distributed import KilledWorker
        from distributed.client import ClosedClientError

        try:
            yield
        except KilledWorker as error:
            self.cancel()
            raise TooLargeError(
                f"a part of the run ended each of the {error.allowed_failures + 1} workers that "
                f"tried it, most likely for want of memory: give workers more of it or fewer "
                f"threads, or ask for less with a constraint, a larger minsup or less depth."
            ) from None
        except (CancelledError, ClosedClientError, OSError):  # of connections
            raise QueryError(
                "the cluster that holds the parts of this answer is no longer there: ask again, "
                "with a client of one that is."
            ) from None
        except BaseException:
            self.cancel()
            raise

    def cancel(self, kept: Sequence[Future] = ()) -> None:
        """Give tasks up: what nobody wants is not begun, and forgotten where it is done."""
        keys = {future.key for future in kept}
        for future in self.pending:
            if future.key not in keys:
                future.release()

"""Running independent jobs: one after another or on threads, with the same results in order.

Kernels release the interpreter lock, so plain threads suffice; between jobs the monitor can
report progress, stop at a limit or cancel.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from time import perf_counter
from typing import TypeVar

from adtc.engine.monitor import Monitor

_SOON = 0.002  # seconds: work that is done by then is not worth other threads
J = TypeVar("J")
T = TypeVar("T")


def run_jobs(work: Callable[[J], T], jobs: Sequence[J], stage: str, monitor: Monitor) -> list[T]:
    """Apply ``work`` to every job and return the results in the order of the jobs."""

    def guarded(job: J) -> T:
        monitor.check()
        with monitor.translated():
            return work(job)

    results: list[T] = []
    started = perf_counter()
    for job in jobs:
        if monitor.threads > 1 and perf_counter() - started > _SOON:
            break
        results.append(guarded(job))
        monitor.report(stage, len(results), len(jobs))
    rest = jobs[len(results) :]
    if not rest:
        return results
    with ThreadPoolExecutor(monitor.threads) as pool:
        futures = [pool.submit(guarded, job) for job in rest]
        try:
            for done, future in enumerate(as_completed(futures), len(results) + 1):
                future.result()
                monitor.report(stage, done, len(jobs))
        except BaseException:
            for future in futures:
                future.cancel()
            raise
        return [*results, *(future.result() for future in futures)]

"""Running independent jobs: one after another or on threads, with the same results in order.

Kernels release the interpreter lock, so plain threads suffice; between jobs the monitor can
report progress, stop at a limit or cancel.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import TypeVar

from adtc.engine.monitor import Monitor

J = TypeVar("J")
T = TypeVar("T")


def run_jobs(work: Callable[[J], T], jobs: Sequence[J], stage: str, monitor: Monitor) -> list[T]:
    """Apply ``work`` to every job and return the results in the order of the jobs."""

    def guarded(job: J) -> T:
        monitor.check()
        with monitor.translated():
            return work(job)

    if monitor.threads <= 1 or len(jobs) <= 1:
        results = []
        for done, job in enumerate(jobs, 1):
            results.append(guarded(job))
            monitor.report(stage, done, len(jobs))
        return results
    with ThreadPoolExecutor(monitor.threads) as pool:
        futures = [pool.submit(guarded, job) for job in jobs]
        try:
            for done, future in enumerate(as_completed(futures), 1):
                future.result()
                monitor.report(stage, done, len(jobs))
        except BaseException:
            for future in futures:
                future.cancel()
            raise
        return [future.result() for future in futures]

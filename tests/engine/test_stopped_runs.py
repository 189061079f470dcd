"""Runs that are stopped: nothing is leaked, and no error goes unseen in another thread."""

import gc
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import adtc
from adtc import _core
from adtc.errors import ADTCError, CancelledError, LimitError

STATM = Path("/proc/self/statm")
FEW, MANY = 20, 200
SPACE = adtc.Space(max_depth=3, relminsup=0.1)
METRICS = ["size", "acc", "f1", "dp"]


@pytest.fixture(scope="module")
def data() -> adtc.Data:
    return adtc.load_dataset("german-credit", nbins=2)


def cancelled(data: adtc.Data, at: int) -> None:
    """Stop a run at a report of its progress."""
    seen = 0

    def stop(stage: str, done: int, total: int) -> None:
        nonlocal seen
        seen += 1
        if seen == 1 + at % 3:
            monitor.cancel()

    monitor = adtc.Monitor(stop, threads=2)
    with pytest.raises(CancelledError):
        adtc.model_tensor(data, SPACE, METRICS, monitor=monitor)


def out_of_time(data: adtc.Data, at: int) -> None:
    monitor = adtc.Monitor(time_limit=1e-4 * (1 + at % 20), exact=True, threads=2)
    with pytest.raises(LimitError):
        adtc.model_tensor(data, SPACE, METRICS, monitor=monitor)


def out_of_memory(data: adtc.Data, at: int) -> None:
    monitor = adtc.Monitor(memory_limit=200_000 * (1 + at % 5), exact=True, threads=2)
    with pytest.raises(LimitError):
        adtc.model_tensor(data, SPACE, METRICS, monitor=monitor)


def resident() -> int:
    """Measure the process's memory once nobody needs to hold on to any."""
    gc.collect()
    _core.return_memory()
    return int(STATM.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.skipif(not STATM.exists(), reason="measures memory by /proc")
@pytest.mark.parametrize("stopped", [cancelled, out_of_time, out_of_memory])
def test_memory_after_200_stopped_runs_is_that_after_20(data, stopped) -> None:
    _core.Control().set_resident_limit(10**15)  # what is freed is not kept
    for at in range(FEW):
        stopped(data, at)
    before = resident()
    for at in range(FEW, MANY):
        stopped(data, at)
    assert resident() - before < 8 << 20


FREEING = """
import threading
from adtc import _core

def hold():
    for _ in range(3):  # the allocator learns from the first that such sizes come back
        held = b"x" * 30_000_000
        del held

_core.Control().set_resident_limit(10**15)
before = _core.resident_bytes()
thread = threading.Thread(target=hold)
thread.start()
thread.join()
_core.return_memory()
print(_core.resident_bytes() - before)
"""


@pytest.mark.skipif(not STATM.exists(), reason="measures memory by /proc")
def test_under_a_limit_what_a_thread_has_freed_is_given_back() -> None:
    told = subprocess.run([sys.executable, "-c", FREEING], check=True, capture_output=True)
    assert int(told.stdout) < 8 << 20


@pytest.mark.parametrize("stopped", [cancelled, out_of_time, out_of_memory])
def test_no_error_ends_in_another_thread(data, stopped, monkeypatch) -> None:
    unseen: list[object] = []
    monkeypatch.setattr(threading, "excepthook", unseen.append)
    running = threading.active_count()
    for at in range(5):
        stopped(data, at)
    assert not unseen
    assert threading.active_count() == running


def test_a_run_goes_through_after_one_was_stopped(data) -> None:
    expected = adtc.count(data, SPACE, "acc >= 0.7")
    for stopped in (cancelled, out_of_time, out_of_memory):
        stopped(data, 0)
        assert adtc.count(data, SPACE, "acc >= 0.7") == expected
    with pytest.raises(ADTCError):
        adtc.count(data, SPACE, "acc >= x")


def test_a_limit_beyond_any_memory_is_none(data) -> None:
    monitor = adtc.Monitor(resident_limit=10**25)
    assert adtc.count(data, adtc.Space(max_depth=1), monitor=monitor) > 0

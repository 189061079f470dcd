"""Kernels are compiled ahead for what counting calls, in processes that leave nothing behind."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from adtc.engine import compiling
from adtc.engine.kernels.jit import JIT_ENABLED
from adtc.engine.monitor import Monitor
from adtc.errors import CancelledError

pytestmark = pytest.mark.skipif(not JIT_ENABLED, reason="kernels run as plain Python here")

CALLS = """
    import sys
    from adtc.engine.kernels import jit

    called = set()
    honest = jit._Kernel.compile

    def compile(self, sig):  # also where it is loaded from disk
        called.add(f"{self.py_func.__module__} {self.py_func.__name__} {sig}")
        return honest(self, sig)

    jit._Kernel.compile = compile
    import adtc

    data = adtc.load_dataset("german-credit", nbins=2)
    space = adtc.Space(max_depth=3, relminsup=0.2)
    adtc.count(data, space)
    adtc.count(data, space, where="acc >= 0.7")
    adtc.count(data, space, where="error + 10 * size <= 1.05 * least(error + 10 * size)")
    adtc.count(data, adtc.Space(max_depth=3, relminsup=0.2, labels="majority", max_size=6))
    print("\\n".join(called))
"""
NOTED = """
    import base64, pickle, sys
    from adtc.engine import compiling
    from adtc.engine.kernels import noting

    def show(line):
        _, module, name, types = line.split()
        print(module, name, pickle.loads(base64.b64decode(types)))

    with noting.calls_noted(show):
        compiling.count_on_few_rows()
"""


def lines_of(program: str, **environment: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", textwrap.dedent(program)],
        env=os.environ | environment, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return set(done.stdout.splitlines())


def test_what_counting_calls_is_noted():
    called = lines_of(CALLS)
    assert len(called) > 8
    assert called - lines_of(NOTED, NUMBA_DISABLE_JIT="1") == set()


CREW = """
    import sys, time
    if sys.argv[1] == "note":
        for size in (3, 1, 2):
            print(size, "module", f"kernel_{size}", "types", flush=True)
    else:
        for line in sys.stdin:
            if "dies" in sys.argv[0]:
                break
            with open(sys.argv[0] + ".log", "a") as log:
                print(line.split()[2], file=log)
            while "hangs" in sys.argv[0]:
                time.sleep(0.1)
            print(flush=True)
"""


@pytest.fixture
def crew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Path:
    """Put a program in the place of the processes; it writes down what it was to compile."""
    program = tmp_path / f"{getattr(request, 'param', 'works')}.py"
    program.write_text(textwrap.dedent(CREW))
    monkeypatch.setattr(compiling, "_COMMAND", (sys.executable, str(program)))
    monkeypatch.setattr(compiling, "_done", lambda: tmp_path / "compiled")
    monkeypatch.setattr(compiling, "_cores", lambda: 2)
    return program


def log_of(crew: Path) -> list[str]:
    log = crew.with_name(crew.name + ".log")
    return sorted(log.read_text().split()) if log.exists() else []


def test_every_noted_kernel_is_compiled_once(crew):
    seen: list[tuple[str, int, int]] = []
    monitor = Monitor(progress=lambda *step: seen.append(step))
    compiling.compile_kernels(monitor)
    assert log_of(crew) == ["kernel_1", "kernel_2", "kernel_3"]
    assert {stage for stage, *_ in seen} == {"compiling kernels, once"}
    assert all(done < total for _, done, total in seen)
    compiling.compile_kernels(monitor)  # done already
    assert len(log_of(crew)) == 3


def test_one_core_compiles_what_is_called(crew, monkeypatch):
    monkeypatch.setattr(compiling, "_cores", lambda: 1)
    compiling.compile_kernels(Monitor())
    assert log_of(crew) == []


@pytest.mark.parametrize("crew", ["dies"], indirect=True)
def test_processes_that_die_hold_nothing_up(crew):
    compiling.compile_kernels(Monitor())
    assert compiling._done().exists()  # not tried again with every question


def test_processes_that_cannot_start_hold_nothing_up(crew, monkeypatch):
    monkeypatch.setattr(compiling, "_COMMAND", (str(crew.with_name("nothing")),))
    compiling.compile_kernels(Monitor())
    assert log_of(crew) == []


@pytest.mark.parametrize("crew", ["hangs"], indirect=True)
def test_cancelling_ends_the_processes(crew, monkeypatch):
    started: list[subprocess.Popen[str]] = []
    honest = subprocess.Popen
    monkeypatch.setattr(
        subprocess, "Popen", lambda *a, **k: started.append(honest(*a, **k)) or started[-1]
    )
    monitor = Monitor()

    def cancel(*_: object) -> None:
        if len(log_of(crew)) == 2:  # both are at work
            monitor.cancel()

    monitor.progress = cancel
    with pytest.raises(CancelledError):
        compiling.compile_kernels(monitor)  # of itself it would never end
    assert len(started) == 3
    assert all(process.poll() is not None for process in started)
    assert not compiling._done().exists()

"""Kernels are compiled ahead for what questions call, in processes that leave nothing behind."""

import os
import subprocess
import sys
import textwrap
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import adtc
from adtc.engine import circuit, compiling, search
from adtc.engine.kernels.jit import JIT_ENABLED
from adtc.engine.kernels.noting import Call
from adtc.engine.monitor import Monitor
from adtc.errors import CancelledError

pytestmark = pytest.mark.skipif(not JIT_ENABLED, reason="kernels run as plain Python here")

ASK = """
    def ask(asked, data, depth):
        space = adtc.Space(max_depth=depth, relminsup=0.2)
        if asked == "count":
            near = "error + 10 * size <= 1.05 * least(error + 10 * size)"
            for where in (None, "acc >= 0.7", near):
                adtc.count(data, space, where)
            few = adtc.Space(max_depth=depth, relminsup=0.2, labels="majority", max_size=6)
            adtc.count(data, few)
        else:
            adtc.optimize(data, space)
            adtc.optimize(data, space, maximize="f1")
            adtc.optimize(data, space, minimize="error + 10 * size")
"""
CALLED = f"""
    import sys
    from adtc.engine.kernels import jit

    called = set()
    honest = jit._Kernel.compile

    def compile(self, sig):  # also where it is loaded from disk
        called.add(f"{{self.py_func.__module__}} {{self.py_func.__name__}} {{sig}}")
        return honest(self, sig)

    jit._Kernel.compile = compile
    import adtc
    {ASK}
    ask(sys.argv[1], adtc.load_dataset("german-credit", nbins=2), int(sys.argv[2]))
    print("\\n".join(called))
"""
NOTED = f"""
    import base64, pickle, sys
    import numpy as np
    import adtc
    from adtc.engine import compiling
    from adtc.engine.kernels import noting
    {ASK}
    def show(call):
        if call.whole:
            print(call.module, call.name, pickle.loads(base64.b64decode(call.types)))

    with noting.calls_noted(show):
        if sys.argv[2:] == ["heavy"]:
            rng = np.random.default_rng(0)
            X, weights = rng.integers(0, 2, (40, 4)), rng.integers(1, 2**22, 40)
            data = adtc.Data.from_arrays(X, np.arange(40) % 2, z=X[:, 1], weights=weights)
            for depth in (2, 3, 4):
                ask(sys.argv[1], data, depth)
        else:
            for question in compiling._QUESTIONS[sys.argv[1]]:
                question(compiling.few_rows(sys.argv[2]))
"""


def lines_of(program: str, *given: str, **environment: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", textwrap.dedent(program), *given],
        env=os.environ | environment, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return set(done.stdout.splitlines())


@cache
def noted(asked: str, of: str) -> set[str]:
    return lines_of(NOTED, asked, of, NUMBA_DISABLE_JIT="1")


@pytest.mark.parametrize("depth", [1, *compiling.DEPTHS, 6])
@pytest.mark.parametrize("asked", ["count", "optimize"])
def test_what_a_question_calls_is_noted(asked, depth):
    called = lines_of(CALLED, asked, str(depth))
    assert len(called) > 1
    assert called - noted(asked, "int32") == set()


@pytest.mark.parametrize("asked", ["count", "optimize"])
def test_what_heavy_rows_call_is_noted(asked):
    called = noted(asked, "heavy")
    assert called - noted(asked, "int64") == set()
    assert len(called - noted(asked, "int32")) > 1


@pytest.mark.parametrize(
    ("weight", "goal", "kind"),
    [
        (1, "error", np.int32),
        (2**25, "error", np.int64),
        (2**11, "error + 1.001 * size", np.int64),  # counted in thousandths
    ],
)
def test_kernels_are_compiled_for_the_numbers_that_a_question_needs(
    monkeypatch, weight, goal, kind
):
    compiled: list[tuple[str, type]] = []
    monkeypatch.setattr(circuit, "compile_to_count", lambda k, _: compiled.append(("count", k)))
    monkeypatch.setattr(search, "compile_to_optimize", lambda k, _: compiled.append(("best", k)))
    data = adtc.Data.from_arrays([[0, 1], [1, 0], [1, 1], [0, 0]] * 5, [0, 1, 1, 0] * 5,
                                 weights=[weight] * 20)  # fmt: skip
    best = adtc.optimize(data, adtc.Space(2), minimize=goal)
    assert best.value == adtc.optimize(data, adtc.Space(2), minimize=goal, engine="spec").value
    assert compiled == [("best", kind)]
    compiled.clear()
    adtc.count(data, adtc.Space(2), "error <= 3")
    # what a condition counts in small parts is rounded so that 32 bits hold it
    assert compiled == [("count", np.int64 if weight == 2**25 else np.int32)]


PARTS = """
    from adtc.engine import compiling
    from adtc.engine.kernels import noting

    with noting.calls_noted(lambda call: call.whole or print(call.name)):
        compiling.count_as_if_many(compiling.few_rows("int32"))
"""


def test_parts_that_only_large_tensors_call_are_noted():
    """Left out, they would be translated within the largest kernels, one after another."""
    large = {"append_large", "_go_on", "doubled", "_sort_many", "choose_active", "majority_label"}
    assert large <= lines_of(PARTS, NUMBA_DISABLE_JIT="1")


def test_limits_are_not_lowered_where_they_would_be_compiled():
    with pytest.raises(AssertionError, match="would be compiled"):
        compiling.count_as_if_many(compiling.few_rows("int32"))


INNER = Call("m", "inner", "types", False, (), 1)
OUTER = Call("m", "outer", "types", False, ("m.inner",), 2)
SMALL = Call("m", "small", "types", True, ("m.inner",), 5)
LARGE = Call("m", "large", "types", True, ("m.outer", "m.inner", "m.not_noted"), 9)
CALLS = (LARGE, OUTER, INNER, SMALL)


def order_of(calls: Iterable[Call]) -> compiling._Order:
    order = compiling._Order()
    for call in calls:
        order.add(call)
    return order


@pytest.mark.parametrize("early", [False, True])
def test_parts_come_first_and_need_not_wait_until_all_calls_are_known(early):
    order = order_of(CALLS)
    if not early:
        order.complete()
    assert order.take() == INNER  # the only one without parts: it need not wait for other calls
    order.done(INNER)
    if early:
        order.complete()
    assert order.take() == OUTER
    assert order.take() == SMALL
    order.done(SMALL)
    order.done(OUTER)
    assert order.take() == LARGE
    order.done(LARGE)
    assert [order.take(), order.take()] == [None, None]


def test_wholes_wait_until_no_part_is_left():
    huge = Call("m", "huge", "types", True, ("m.inner",), 100)
    order = order_of([*CALLS, huge])
    order.complete()
    order.take()
    order.done(INNER)
    assert [order.take(), order.take(), order.take()] == [OUTER, huge, SMALL]


def test_what_is_being_compiled_when_all_calls_are_known_is_waited_for():
    order = order_of([INNER, OUTER, Call("m", "other", "types", True, ("m.not_noted",), 1)])
    assert order.take() == INNER
    order.complete()
    taken = order.take()
    assert taken is not None
    assert taken.name == "other"  # nothing that it calls was noted
    order.done(INNER)
    assert order.take() == OUTER


def test_nothing_to_compile_ends_at_once():
    order = order_of([])
    order.complete()
    assert order.take() is None


def test_calls_go_through_pipes():
    assert [Call.of_line(call.as_line()) for call in CALLS] == [*CALLS]
    assert not any("\n" in call.as_line() for call in CALLS)


CREW = """
    import json, sys, time
    if sys.argv[1] == "note":
        assert sys.argv[2:] == ["count", "int32"]
        while "never_notes" in sys.argv[0]:
            time.sleep(0.1)
        print({calls!r})
    else:
        for line in sys.stdin:
            if "dies" in sys.argv[0]:
                break
            with open(sys.argv[0] + ".log", "a") as log:
                print(json.loads(line)[1], file=log)
            while "hangs" in sys.argv[0]:
                time.sleep(0.1)
            print(flush=True)
"""


@pytest.fixture
def crew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Path:
    """Put a program in the place of the processes; it writes down what it was to compile."""
    program = tmp_path / f"{getattr(request, 'param', 'works')}.py"
    calls = "\n".join(call.as_line() for call in CALLS)
    program.write_text(textwrap.dedent(CREW).format(calls=calls))
    monkeypatch.setattr(compiling, "_COMMAND", (sys.executable, str(program)))
    monkeypatch.setattr(compiling, "_done", lambda asked, _kind: tmp_path / asked)
    monkeypatch.setattr(compiling, "_cores", lambda: 2)
    return program


def log_of(crew: Path) -> list[str]:
    log = crew.with_name(crew.name + ".log")
    return log.read_text().split() if log.exists() else []


def test_every_noted_kernel_is_compiled_once(crew):
    seen: list[tuple[str, int, int]] = []
    monitor = Monitor(progress=lambda *step: seen.append(step))
    compiling.compile_to_count(np.int32, monitor)
    assert sorted(log_of(crew)) == ["inner", "large", "outer", "small"]
    assert [name for name in log_of(crew) if name != "small"] == ["inner", "outer", "large"]
    assert {stage for stage, *_ in seen} == {"compiling kernels, once"}
    work = sum(call.work for call in CALLS)
    assert {total for *_, total in seen} <= {1, work, work + 1}  # unknown, known, just done
    assert all(done < total for _, done, total in seen)
    compiling.compile_to_count(np.int32, monitor)  # done already
    assert len(log_of(crew)) == 4


def test_one_core_compiles_what_is_called(crew, monkeypatch):
    monkeypatch.setattr(compiling, "_cores", lambda: 1)
    compiling.compile_to_count(np.int32, Monitor())
    assert log_of(crew) == []


@pytest.mark.parametrize("cores", [1, 2])
def test_only_one_core_asks_few_rows_itself(crew, monkeypatch, cores):
    asked: list[str] = []
    monkeypatch.setattr(compiling, "_cores", lambda: cores)
    monkeypatch.setattr(compiling, "come_near", lambda _: asked.append("here"))
    if cores == 2:
        compiling._done("come-near", "int32").touch()
    compiling.compile_to_come_near(np.int32, Monitor())
    assert asked == (["here"] if cores == 1 else [])


@pytest.mark.parametrize("crew", ["dies"], indirect=True)
def test_processes_that_die_hold_nothing_up(crew):
    compiling.compile_to_count(np.int32, Monitor())
    assert compiling._done("count", "int32").exists()  # not tried again with every question


def test_processes_that_cannot_start_hold_nothing_up(crew, monkeypatch):
    monkeypatch.setattr(compiling, "_COMMAND", (str(crew.with_name("nothing")),))
    compiling.compile_to_count(np.int32, Monitor())
    assert log_of(crew) == []


@pytest.mark.parametrize("crew", ["hangs", "never_notes"], indirect=True)
def test_cancelling_ends_the_processes(crew, monkeypatch):
    started: list[subprocess.Popen[str]] = []
    honest = subprocess.Popen
    monkeypatch.setattr(
        subprocess, "Popen", lambda *a, **k: started.append(honest(*a, **k)) or started[-1]
    )
    monitor = Monitor()

    def cancel(*_: object) -> None:
        if log_of(crew) or crew.stem == "never_notes":  # one is at work, others wait for it
            monitor.cancel()

    monitor.progress = cancel
    with pytest.raises(CancelledError):
        compiling.compile_to_count(np.int32, monitor)  # of itself it would never end
    assert len(started) == 3
    assert all(process.poll() is not None for process in started)
    assert not compiling._done("count", "int32").exists()


OPTIONS = """
    from itertools import product
    from numba.core.compiler import Flags
    from adtc.engine.kernels.noting import get_ready

    flags = [Flags(), Flags(), Flags(), Flags(), None]
    flags[1].nrt = False  # as unset
    flags[2].nrt = True
    flags[3].nrt, flags[3].release_gil = True, True
    before = [a == b for a, b in product(flags, flags)]
    get_ready()
    after = [a == b for a, b in product(flags, flags)]
    assert before == after, (before, after)
    assert len({*flags}) == len(flags) - 1
    print("same")
"""


def test_a_process_that_compiles_compares_options_as_numba_does():
    assert lines_of(OPTIONS) == {"same"}

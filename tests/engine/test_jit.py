"""A kernel is whole where Python calls it, and a part where another kernel does."""

import os
import pickle
import subprocess
import sys
import textwrap
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest
from numba import types
from numba.core.errors import NumbaError

from adtc.engine.kernels import jit
from adtc.engine.kernels.jit import (
    JIT_ENABLED,
    bare_kernel,
    hot_kernel,
    kernel,
    kernel_of_this_process,
)

pytestmark = pytest.mark.skipif(not JIT_ENABLED, reason="kernels run as plain Python here")


@kernel_of_this_process
def _square(values, k):
    if values[k] < 0:
        raise ValueError("a negative number came")
    return values[k] * values[k]


@kernel_of_this_process
def _double_square(values, k):
    return 2 * _square(values, k)


@kernel_of_this_process
def _sum_of_squares(values):
    total = values[0] - values[0]
    for k in range(len(values)):
        total += _square(values, k) + _double_square(values, k)
    return total


def test_parts_are_not_assembled():
    assert _sum_of_squares(np.array([1, 2, 3])) == 3 * 14
    assert len(_sum_of_squares.signatures) == 1
    assert not _double_square.signatures  # Python has not called it


def test_a_part_can_be_called_from_python_too():
    assert _sum_of_squares(np.array([1.5])) == 3 * 2.25
    assert _square(np.array([3]), 0) == 9
    assert _double_square(np.array([0.5]), 0) == 0.5
    assert _sum_of_squares(np.array([3], np.int16)) == 27


def test_errors_inside_a_part_arrive():
    with pytest.raises(ValueError, match="a negative number came"):
        _sum_of_squares(np.array([1, -1]))


@bare_kernel
def _sum_of_rows(table, out):
    for k in range(len(table)):
        row = table[k]
        for number in row:
            out[k] += number


@kernel_of_this_process
def _row_sums(table):
    out = np.zeros(len(table), np.int64)
    _sum_of_rows(table, out)
    return out


def test_bare_parts_count_no_references():
    assert _row_sums(np.arange(6).reshape(3, 2)).tolist() == [1, 5, 9]
    (part,) = _sum_of_rows._part.overloads.values()
    assert "NRT_" not in part.library.get_llvm_str()
    out = np.zeros(1, np.int64)
    _sum_of_rows(np.array([[3, 4]]), out)  # Python may call it, too
    assert out.tolist() == [7]


@bare_kernel
def _new_array(n):
    total = 0
    for number in np.zeros(n, np.int64):
        total += number
    return total


@bare_kernel
def _itself(table):
    return table


@bare_kernel
def _length_of_sums(table):
    return len(_row_sums(table))


@pytest.mark.parametrize(
    ("part", "given", "why"),
    [
        (_new_array, 2, "Only accept returning of array passed into the function"),
        (_itself, np.zeros((2, 2)), "_itself is a bare kernel, but hands over an array"),
        (_length_of_sums, np.zeros((2, 2), np.int64), "hands over an array: _row_sums"),
    ],
)
def test_bare_kernels_may_not_own_arrays(part, given, why):
    @kernel_of_this_process
    def caller(x):
        return part(x)

    with pytest.raises(NumbaError, match=why):
        caller(given)


def _long_function():
    """Make a function that is too long to be taken into its callers, and ignores an array."""
    lines = "\n".join(f"    x = x * used[{k} % len(used)] + {k}" for k in range(60))
    made: dict[str, Callable[..., int]] = {}
    exec(f"def long(used, unused):\n    x = used[0]\n{lines}\n    return x", made)
    return made["long"]


def test_a_part_gets_what_it_uses_and_is_never_taken_for_another():
    plain = _long_function()
    part = kernel(plain)

    def call(used, unused):
        return part(used, unused)

    own, others = kernel(call), kernel_of_this_process(call)
    used, unused = np.array([1, 2, 1]), np.zeros((4, 4))
    with np.errstate(over="ignore"):
        right = plain(used, unused)
    # parts of one name, called in different ways: whoever is loaded second must not find the first
    assert own(used, unused) == others(used, unused) == right
    assert _arguments_of_parts(own) < _arguments_of_parts(others)


def _arguments_of_parts(compiled):
    """Count what a kernel hands over to the long function."""
    (whole,) = compiled.overloads.values()
    (part,) = (
        function
        for function in whole.library.get_defined_functions()
        if "long" in function.name and not function.name.startswith("_ZN7cpython")
    )
    return len([*part.arguments])


def _add_products(a, b, out):
    for k in range(len(a)):
        out[k] += a[k] * b[k]


@pytest.mark.parametrize(("decorate", "vectors"), [(hot_kernel, True), (kernel, False)])
def test_loops_are_made_of_vectors_where_the_time_goes(decorate, vectors, monkeypatch):
    digest = sha256(os.urandom(16)).hexdigest()  # nothing is taken from a cache
    monkeypatch.setattr(jit, "digest_of_kernels", lambda: digest)
    part = decorate(_add_products)

    @kernel
    def caller(a, b, out):
        part(a, b, out)

    out = np.ones(100)
    caller(np.full(100, 2.0), np.arange(100.0), out)
    assert out.tolist() == [1 + 2 * k for k in range(100)]
    (whole,) = caller.overloads.values()
    assert ("x double>" in whole.library.get_llvm_str()) == vectors


POWERS = """
    import sys
    import numpy as np
    from numba.core import event
    from adtc.engine.kernels.jit import kernel

    @kernel
    def square(values, k):
        if values[k] < 0:
            raise ValueError("a negative number came")
        return values[k] * values[k]

    @kernel
    def fourth_power(values):
        return square(values, 0) * square(values, 0)

    @kernel
    def two_squares(values):
        return 2 * square(values, 0)

    compiled = []

    class Listener(event.Listener):
        def on_start(self, event):
            compiled.append(event.data["dispatcher"].py_func.__name__)

        def on_end(self, event):
            pass

    event.register("numba:compile", Listener())
    for asked in sys.argv[1:]:
        name, number = asked.split(":")
        try:
            print(globals()[name](np.array([int(number)])))
        except ValueError as error:
            print(error)
    print(*compiled)
"""


@pytest.fixture
def powers(tmp_path: Path) -> Callable[..., list[str]]:
    """Give a program that calls kernels with numbers; at last it tells what it compiled."""
    (tmp_path / "powers.py").write_text(textwrap.dedent(POWERS))
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache")}

    def run(*calls: str) -> list[str]:
        program = [sys.executable, "powers.py", *calls]
        done = subprocess.run(
            program, cwd=tmp_path, env=environment, check=True, capture_output=True, text=True
        )
        return done.stdout.splitlines()

    return run


def test_a_cached_kernel_is_not_compiled_again(powers):
    """The second process loads the whole and needs none of its parts."""
    assert powers("fourth_power:3") == ["81", "fourth_power square"]
    assert powers("fourth_power:3") == ["81", ""]


def test_a_part_is_translated_once_for_all_processes(powers):
    assert powers("fourth_power:3") == ["81", "fourth_power square"]
    said = powers("two_squares:3", "two_squares:-3", "fourth_power:2")
    assert said == ["18", "a negative number came", "16", "two_squares"]


def _cube(x):
    return x * x * x


def test_a_kernel_is_compiled_again_when_any_kernel_has_changed(monkeypatch):
    digest = sha256(os.urandom(16)).hexdigest()
    monkeypatch.setattr(jit, "digest_of_kernels", lambda: digest)
    first, second = jit.kernel(_cube), jit.kernel(_cube)
    assert first(2) == second(2) == 8
    assert (first.stats.cache_hits, second.stats.cache_hits) == ({}, {(types.int64,): 1})
    monkeypatch.setattr(jit, "digest_of_kernels", lambda: "another text")
    third = jit.kernel(_cube)
    assert third(2) == 8
    assert not third.stats.cache_hits


def test_an_index_of_other_kernels_is_not_read(monkeypatch):
    """It may name types that are gone: to read it would end in an error of Python's."""
    digest = sha256(os.urandom(16)).hexdigest()
    monkeypatch.setattr(jit, "digest_of_kernels", lambda: digest)
    kept = jit.kernel(_cube)
    assert kept(2) == 8
    index = Path(kept._cache.opened._cache_file._index_path)
    head = pickle.dumps(kept._cache.opened._cache_file._version, protocol=-1)
    assert index.read_bytes().startswith(head)
    index.write_bytes(head.replace(digest.encode(), b"0" * 64) + b"cno_such_module\nStack\n.")
    again = jit.kernel(_cube)
    assert again(2) == 8
    assert not again.stats.cache_hits


def test_what_another_process_put_in_its_place_is_not_taken(monkeypatch):
    digest = sha256(os.urandom(16)).hexdigest()
    monkeypatch.setattr(jit, "digest_of_kernels", lambda: digest)
    kept = jit.kernel(_cube)
    assert (kept(2), kept(0.5)) == (8, 0.125)
    file = kept._cache.opened._cache_file
    places = file._load_index()
    assert len(places) == 2
    file._save_index(dict(zip(places, reversed(places.values()), strict=True)))
    confused = jit.kernel(_cube)
    assert isinstance(confused(2), int)  # not the code for floats
    assert not confused.stats.cache_hits
    assert confused(0.5) == 0.125


def test_without_a_place_for_a_cache_nothing_is_kept(monkeypatch):
    def no_place(function):
        raise RuntimeError(f"cannot cache {function.__name__}: no locator available")

    monkeypatch.setattr(jit, "_KernelCache", no_place)
    alone = jit.kernel(_cube)
    assert alone(2) == 8
    assert jit.cache_folder(alone) is None

"""Semirings of C functions give on the fast engine what the specification gives."""

import ctypes
import ctypes.util
import math
import sys
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import adtc
from adtc import semirings
from adtc.algebra.c_functions import c_functions
from adtc.engine.switches import Switches
from adtc.errors import CancelledError, LimitError, QueryError

LIBM = ctypes.CDLL(ctypes.util.find_library("m"))


def add(a: float, b: float) -> float:
    return a + b


def mul(a: float, b: float) -> float:
    return a * b


SOFT = semirings.compiled(
    "soft",
    0.0,
    1.0,
    semirings.BINARY(add),
    semirings.BINARY(mul),
    leaf=semirings.LEAF(lambda label, values, n: 0.9 ** values[0] * (1 + label)),
)
# the largest, over trees, of the smallest N11 − error of a leaf
BOTTLENECK = semirings.compiled(
    "bottleneck",
    -math.inf,
    math.inf,
    LIBM.fmax,
    LIBM.fmin,
    leaf=semirings.LEAF(lambda label, values, n: values[0] - values[1]),
)
SPACES = [
    adtc.Space(max_depth=0),
    adtc.Space(max_depth=1, trivial_splits=False),
    adtc.Space(max_depth=2, minsup=0),
    adtc.Space(max_depth=3, minsup=2),
    adtc.Space(max_depth=4, minsup=5, trivial_splits=False),
    adtc.Space(max_depth=4, minsup=3, labels="majority", trivial_splits=False),
]


def data(labels: int = 2) -> adtc.Data:
    """Draw a table with a complement and weights."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (50, 4))
    X = np.c_[X, 1 - X[:, 0]]
    y = (X[:, 0] + X[:, 1] * (rng.random(50) < 0.5)) % labels
    return adtc.Data.from_arrays(X, y, weights=rng.integers(1, 3, 50), labels=(0, 1, 2)[:labels])


@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("labels", [2, 3])
def test_sums_agree_with_the_specification(space, labels):
    table = data(labels)
    for switches in (Switches(), Switches(merge_features=False, merge_rows=True)):
        fast = adtc.evaluate(
            table, space, SOFT, aggregation="error", engine="fast", switches=switches
        )
        spec = adtc.evaluate(table, space, SOFT, aggregation="error", engine="spec")
        assert math.isclose(fast, spec, rel_tol=1e-9)


@pytest.mark.parametrize("space", [SPACES[3], SPACES[4]])
@pytest.mark.parametrize("where", [None, "error <= 20"])
def test_python_functions_are_summed_over_the_circuit(space, where):
    own = semirings.compiled(
        "own", 0.0, 1.0, add, mul, leaf=lambda label, values: (0.01 * values).sum() + label
    )
    assert own.compiled is None
    fast, spec = (
        adtc.evaluate(data(), space, own, aggregation=("error", "size"), where=where, engine=engine)
        for engine in ("fast", "spec")
    )
    assert math.isclose(fast, spec, rel_tol=1e-9)


@pytest.mark.parametrize("space", SPACES[:4])
def test_several_metrics_in_an_idempotent_semiring(space):
    found = [
        adtc.evaluate(data(), space, BOTTLENECK, aggregation=["N11", "error"], engine=engine)
        for engine in ("fast", "spec")
    ]
    assert found[0] == found[1]


def test_under_a_constraint_the_sum_is_over_good_trees():
    table, space = data(), adtc.Space(max_depth=2)
    some, same = (
        adtc.evaluate(table, space, SOFT, aggregation="error", where="size <= 2", engine=engine)
        for engine in ("fast", "spec")
    )
    every = adtc.evaluate(table, space, SOFT, aggregation="error")
    assert math.isclose(some, same, rel_tol=1e-9)
    assert 0 < some < every


def test_a_bound_on_the_depth_is_none():
    table = data()
    bounded = adtc.evaluate(
        table, adtc.Space(max_depth=3), SOFT, aggregation="error", where="depth <= 1", engine="fast"
    )
    assert math.isclose(
        bounded, adtc.evaluate(table, adtc.Space(max_depth=1), SOFT, aggregation="error")
    )


def test_without_metrics_every_leaf_is_one():
    space = adtc.Space(max_depth=3, minsup=2)
    assert adtc.evaluate(data(), space, SOFT) == adtc.count(data(), space)


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_threads_change_nothing(threads):
    space = adtc.Space(max_depth=3, minsup=2)
    found = adtc.evaluate(
        data(), space, SOFT, aggregation="error", monitor=adtc.Monitor(threads=threads)
    )
    assert found == adtc.evaluate(data(), space, SOFT, aggregation="error")


def test_a_leaf_needs_its_share_of_rows():
    space = adtc.Space(max_depth=2, min_leaf_share=0.55)
    fast, spec = (
        adtc.evaluate(data(), space, SOFT, aggregation="error", engine=engine)
        for engine in ("fast", "spec")
    )
    assert math.isclose(fast, spec, rel_tol=1e-9)
    every = adtc.evaluate(data(), adtc.Space(max_depth=2), SOFT, aggregation="error")
    assert 0 < fast < every


def test_a_run_can_be_cancelled_from_a_function():
    monitor = adtc.Monitor()

    def leaf(label, values, n):
        monitor.cancel()
        return 1.0

    own = semirings.compiled(
        "own", 0.0, 1.0, SOFT.compiled.owners[0], SOFT.compiled.owners[1], leaf=semirings.LEAF(leaf)
    )
    with pytest.raises(CancelledError):
        adtc.evaluate(data(), adtc.Space(max_depth=4), own, aggregation="error", monitor=monitor)


def test_log_sums_follow_from_counts():
    table, space = data(), adtc.Space(max_depth=3, minsup=2)
    fast, spec = (
        adtc.evaluate(table, space, "log-sum-exp", aggregation="error", engine=engine)
        for engine in ("fast", "spec")
    )
    assert math.isclose(fast, spec, rel_tol=1e-12)


# --- where functions are ----------------------------------------------------------------------


def test_functions_of_other_packages_are_found_by_what_they_offer(monkeypatch):
    """Those of numba.cfunc have an address; those of cffi are cast by the package itself."""
    address = ctypes.cast(LIBM.fmax, ctypes.c_void_p).value
    numba = SimpleNamespace(address=address)
    cdata = type("CData", (), {"__module__": "_cffi_backend"})()

    class FFI:
        @staticmethod
        def cast(kind, function):
            assert (kind, function) == ("intptr_t", cdata)
            return address

    monkeypatch.setitem(sys.modules, "_cffi_backend", SimpleNamespace(FFI=FFI))
    found = c_functions("own", add=numba, mul=cdata, leaf=semirings.LEAF(lambda *_: 0.0))
    assert (found.add, found.mul) == (address, address)
    assert [operation(2, 3) for operation in found.operations()[:2]] == [3.0, 3.0]


INT = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_int)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"add": add}, "all C functions or all Python functions, but add came as Python functions"),
        ({"mul": 3}, "mul must be a function, but 3 came"),
        ({"add": INT(add)}, r"add must be a C function of \(double, double\).*semirings.BINARY"),
        ({"leaf": semirings.BINARY(add)}, r"leaf must be .*\(int64, double \*, int64\).*LEAF"),
        ({"mul": semirings.LEAF(lambda *_: 0.0)}, r"mul must be a C function of \(double, double"),
    ],
)
def test_other_functions_are_refused(given, message):
    functions = dict(zip(("add", "mul", "leaf"), SOFT.compiled.owners, strict=True)) | given
    with pytest.raises(QueryError, match=message):
        semirings.compiled("own", 0.0, 1.0, **functions)


WHERES = (
    "size <= 3",
    "error <= 22",
    "error + 2 * size <= 1.4 * least(error + 2 * size)",
    "acc >= 0.5 and dp <= 0.6",
    "size >= 2 or error <= 15",
    "depth <= 2 and N01 <= 12",
)
FORMS = ("error", "N11 + size", ("N11", "error"), None)


@settings(max_examples=40)
@given(
    seed=st.integers(0, 5),
    space=st.sampled_from([*SPACES, adtc.Space(3, 2, root=("f1",)), adtc.Space(2, max_size=3)]),
    where=st.sampled_from(WHERES),
    aggregation=st.sampled_from(FORMS),
    which=st.sampled_from([SOFT, BOTTLENECK]),
)
def test_the_core_folds_a_circuit_as_python_does(seed, space, where, aggregation, which):
    if which is BOTTLENECK and aggregation not in (None, FORMS[2]):
        which = SOFT  # the other one takes two metrics
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 2, (40, 4))
    table = adtc.Data.from_arrays(
        np.c_[X, 1 - X[:, 0], X[:, 1]],
        (X[:, 0] ^ (rng.random(40) < 0.3)).astype(int),
        z=rng.integers(0, 2, 40),
        weights=rng.integers(1, 3, 40),
    )
    in_python = replace(which, compiled=None)
    native, python = (
        adtc.model_tensor(
            table, space, ["error"], where=where, semiring=R, aggregation=aggregation, engine="fast"
        )
        for R in (which, in_python)
    )
    assert native.keys() == python.keys()
    for cell, value in python.items():
        assert math.isclose(native[cell], value, rel_tol=1e-9)


def test_the_core_folds_circuits_of_wide_keys():
    rng = np.random.default_rng(1)
    X, y = rng.integers(0, 2, (60, 3)), rng.integers(0, 2, 60)
    z, weights = rng.integers(0, 2, 60), rng.integers(1, 2**33, 60)
    table = adtc.Data.from_arrays(X, y, z=z, weights=weights)
    metrics = ["N010", "N011", "N100"]
    tiny = semirings.compiled(
        "tiny",
        0.0,
        1.0,
        semirings.BINARY(add),
        semirings.BINARY(mul),
        leaf=semirings.LEAF(lambda label, values, n: 1 + label + values[0] / 2**40),
    )
    found = [
        adtc.model_tensor(table, adtc.Space(2), metrics, semiring=R, aggregation="error")
        for R in (tiny, replace(tiny, compiled=None))
    ]
    assert found[0].keys() == found[1].keys()
    assert all(math.isclose(found[0][k], found[1][k], rel_tol=1e-9) for k in found[1])


@pytest.mark.parametrize("compiled", [True, False])
def test_features_alike_on_the_table_may_differ_on_a_further_one(compiled):
    rng = np.random.default_rng(2)
    X, y = rng.integers(0, 2, (30, 3)), rng.integers(0, 2, 30)
    X[:, 2] = X[:, 0]
    test = adtc.Data.from_arrays(rng.integers(0, 2, (20, 3)), rng.integers(0, 2, 20))
    table = adtc.Data.from_arrays(X, y).with_table("test", test)
    which = SOFT if compiled else replace(SOFT, compiled=None)
    fast, spec = (
        adtc.evaluate(
            table, adtc.Space(2), which, aggregation="test.error", where="error <= 14", engine=e
        )
        for e in ("fast", "spec")
    )
    assert math.isclose(fast, spec, rel_tol=1e-9)
    blind = adtc.profile(table, adtc.Space(2), ["error"], where="error <= 14")
    assert blind.evaluate(which, aggregation="error") > 0
    with pytest.raises(QueryError, match="differ on a further one"):
        blind.evaluate(which, aggregation="test.error")
    seeing = adtc.profile(table, adtc.Space(2), ["error", "test.error"], where="error <= 14")
    assert math.isclose(seeing.evaluate(which, aggregation="test.error"), spec, rel_tol=1e-9)


def test_a_profile_is_folded_by_the_core():
    space = adtc.Space(max_depth=3, minsup=2)
    profile = adtc.profile(data(), space, ["error"], where="error <= 20")
    native, python = (
        profile.evaluate(R, aggregation="error") for R in (SOFT, replace(SOFT, compiled=None))
    )
    assert math.isclose(native, python, rel_tol=1e-9)
    assert profile.where("error <= 0").evaluate(SOFT, aggregation="error") == SOFT.zero


def test_a_fold_in_the_core_is_cancelled_and_bounded():
    calls = []

    def leaf(label, values, n):
        calls.append(label)
        monitor.cancel()
        return 1.0

    own = semirings.compiled(
        "own", 0.0, 1.0, semirings.BINARY(add), semirings.BINARY(mul), leaf=semirings.LEAF(leaf)
    )
    profile = adtc.profile(data(), adtc.Space(3), ["error"], where="error <= 25")
    monitor = adtc.Monitor()
    with pytest.raises(CancelledError):
        profile.evaluate(own, aggregation="error", monitor=monitor)
    assert 0 < len(calls) < 20
    monitor = adtc.Monitor(memory_limit=1000)
    with pytest.raises(LimitError, match="memory"):
        profile.evaluate(SOFT, aggregation="error", monitor=monitor)

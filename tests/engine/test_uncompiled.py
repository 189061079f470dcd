"""The kernels as plain Python, on any processor and with every index checked, say the same."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

PROGRAM = """
    import itertools, warnings
    import numpy as np
    import adtc
    from adtc.engine.kernels import bits
    from adtc.engine.switches import Switches

    warnings.simplefilter("ignore")  # plain Python warns where a hash is meant to wrap
    rng = np.random.default_rng(7)
    X = rng.integers(0, 2, (70, 4))
    X = np.c_[X, 1 - X[:, 0]]
    data = adtc.Data.from_arrays(X, X[:, 0] ^ (rng.random(70) < 0.3), z=rng.integers(0, 2, 70))
    spaces = [
        adtc.Space(max_depth=3, minsup=4),
        adtc.Space(max_depth=4, minsup=3),
        adtc.Space(max_depth=5, minsup=2),
        adtc.Space(max_depth=5),
        adtc.Space(max_depth=4, minsup=6, max_size=5, trivial_splits=False),
        adtc.Space(max_depth=4, minsup=6, labels="majority"),
    ]
    for space in spaces:  # without a constraint the least costs themselves are the answer
        for goal in ("error", "N01 + 3 * N10 + size", "-N11"):
            best = [
                adtc.optimize(data, space, minimize=goal, engine=engine).value
                for engine in ("spec", "fast")
            ]
            assert best[0] == best[1], (space, goal)
    for space, where, inclusion in itertools.product(
        [spaces[0], *spaces[4:]], (None, "acc >= 0.6 and dp <= 0.2"), (True, False)
    ):
        switches = Switches(inclusion=inclusion)
        answers = [
            adtc.model_tensor(data, space, ["error", "dp"], where=where, engine=engine, **more)
            for engine, more in (("spec", {}), ("fast", {"switches": switches}))
        ]
        assert answers[0] == answers[1], (space, where)
        best = [
            adtc.optimize(data, space, minimize="error", where=where, engine=engine).value
            for engine in ("spec", "fast")
        ]
        assert best[0] == best[1], (space, where)
    print("agreed", bits.HAS_PEXT)
"""


def run(cache: Path, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(PROGRAM)],
        env={**os.environ, **environment, "NUMBA_CACHE_DIR": str(cache)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def test_without_compilation_and_without_bit_extract(tmp_path):
    assert run(tmp_path, NUMBA_DISABLE_JIT="1") == "agreed False\n"


@pytest.mark.slow
def test_with_every_index_checked(tmp_path):
    assert run(tmp_path, NUMBA_BOUNDSCHECK="1").startswith("agreed")

"""Every combination of switches gives the specification engine's answers."""

import itertools
from dataclasses import fields

import numpy as np
import pytest

import adtc
from adtc.engine.monitor import Monitor
from adtc.engine.switches import Switches

NAMES = [field.name for field in fields(Switches)]
COMBINATIONS = list(itertools.product((True, False), repeat=len(NAMES)))


def table(seed: int, rows: int, features: int, labels: int = 2, heaviest: int = 3) -> adtc.Data:
    """Draw a table with a twin and a complement, weights, and two groups."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 2, (rows, features))
    X[:, -1] = 1 - X[:, 0]
    X[:, -2] = X[:, 1]
    noise = rng.random(rows) < 0.2
    y = (X[:, 0] + X[:, 2] + noise) % labels
    weights = rng.integers(1, heaviest + 1, rows)
    return adtc.Data.from_arrays(
        X, y, z=rng.integers(0, 2, rows), weights=weights, labels=(0, 1, 2)[:labels]
    )


CASES = {
    "depth 5, five features": (table(1, 40, 5), adtc.Space(max_depth=5, minsup=3)),
    "depth 4, six features": (table(2, 70, 6), adtc.Space(max_depth=4, minsup=2, max_size=5)),
    "majority": (table(3, 50, 5), adtc.Space(max_depth=4, minsup=2, labels="majority")),
    "three labels": (table(4, 40, 5, labels=3), adtc.Space(max_depth=3, minsup=2)),
    "heavy rows": (table(5, 40, 5, heaviest=3000), adtc.Space(max_depth=3, minsup=2)),
}
WHERE = {
    "three labels": "error <= 40 and size <= 6",
    None: "acc >= 0.6 and dp <= 0.3",
}


def answers(data: adtc.Data, space: adtc.Space, where: str, **how: object) -> tuple:
    """Ask for a number, a table and two optima, one free and one constrained."""
    return (
        int(adtc.count(data, space, where=where, **how)),
        adtc.model_tensor(data, space, ["size", "error"], where=where, **how),
        adtc.optimize(data, space, minimize="error + 2 * size", **how).value,
        adtc.optimize(data, space, minimize="error", where=where, **how).value,
    )


@pytest.fixture(scope="module", params=CASES)
def case(request: pytest.FixtureRequest) -> tuple:
    data, space = CASES[request.param]
    where = WHERE.get(request.param, WHERE[None])
    return data, space, where, answers(data, space, where, engine="spec")


@pytest.mark.parametrize("push", [True, False])
@pytest.mark.parametrize("threads", [1, 2])
def test_every_combination_agrees_with_the_specification(case, push, threads):
    data, space, where, expected = case
    for combination in COMBINATIONS:
        switches = Switches(**dict(zip(NAMES, combination, strict=True)))
        if switches.push == push:
            monitor = Monitor(threads=threads)
            found = answers(data, space, where, engine="fast", switches=switches, monitor=monitor)
            assert found == expected, switches

"""Sums over all trees by C functions, against trees listed in plain Python."""

import ctypes
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import reduce
from itertools import product

import numpy as np
import pytest
from small_tables import (
    CORES,
    Path,
    Rows,
    Rule,
    children,
    costs_of,
    counts_of,
    lattice_of,
    others,
    random_rows,
    random_rule,
    table_of,
)

from adtc.algebra.c_functions import BINARY, LEAF

OPERATIONS = {
    "real": (lambda a, b: a + b, lambda a, b: a * b),
    "bottleneck": (max, min),
    "max-plus": (max, lambda a, b: a + b),
}


def value_of(label: int, values: tuple[float, ...]) -> float:
    """Give a leaf a value; small powers of two, so that sums and products are exact."""
    return 0.5 ** (sum(int(v) for v in values) % 3) * (1 + label)


def leaf_value(label, values, n):
    return value_of(label, tuple(values[i] for i in range(n)))


def trees_below(
    rows: Rows, rule: Rule, weights: np.ndarray, path: Path, depth: int, *, trivial: bool
) -> Iterator[tuple[int | None, list[float]]]:
    """List all trees: the label of a single leaf or None, and the values of the leaves."""
    counts = rows.counts(path)
    for label in rule.admitted(counts):
        values = tuple(
            1.0 + float(weights[a, label] @ np.array(counts)) for a in range(len(weights))
        )
        yield label, [value_of(label, values)]
    for f in others(path, rows.n) if depth else ():
        one, zero = (
            [*trees_below(rows, rule, weights, side, depth - 1, trivial=trivial)]
            for side in children(path, f)
        )
        for (l1, a), (l0, b) in product(one, zero):
            if trivial or l1 is None or l1 != l0:
                yield None, a + b


@dataclass(frozen=True)
class Asked:
    """A table, its leaves, and which trees there are."""

    rows: Rows
    rule: Rule
    weights: np.ndarray  # [metric, label, group]
    levels: int
    rest: int
    trivial: bool
    multiplicity: tuple[int, ...]

    def trees(self) -> Iterator[tuple[int | None, list[float]]]:
        """List all trees."""
        depth = self.levels + self.rest
        return trees_below(self.rows, self.rule, self.weights, (), depth, trivial=self.trivial)


def summed(core, asked: Asked, add, mul, control=None):
    """Sum by the core, the features of the last level in two parts."""
    rows, rule, weights = asked.rows, asked.rule, asked.weights
    lattice = lattice_of(core, rows.n, asked.levels, asked.rest)
    costs = costs_of(core, np.zeros((0, rule.labels, rows.groups), int), np.zeros(0, int), rule)
    kept = BINARY(add), BINARY(mul), LEAF(leaf_value)
    functions = core.SemiringFunctions(
        *(ctypes.cast(function, ctypes.c_void_p).value for function in kept)
    )
    leaves = core.LeafMetrics(weights, np.ones(len(weights)), costs, asked.trivial)
    multiplicity = np.array(asked.multiplicity)
    counts = counts_of(rows, asked.levels)
    behind = np.zeros(len(counts), np.int64)
    core.lead_to_live(lattice, counts.sum(axis=1) >= rule.minsup, behind)
    value, any_tree = np.zeros(len(counts)), np.zeros(len(counts), bool)
    control = control or core.Control()
    for first, stop in [(0, 1), (1, rows.n)] if asked.levels else [(0, 1)]:
        core.sum_last(
            first, stop, table_of(core, rows), lattice, functions, leaves, multiplicity,
            behind > 0, value, any_tree, control,
        )  # fmt: skip
    return core.sum_above(
        lattice, functions, leaves, multiplicity, counts, value, any_tree, control
    )


SHAPES = [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2), (2, 0), (2, 1)]


@pytest.mark.parametrize("core", CORES)
@pytest.mark.parametrize("operations", OPERATIONS)
@pytest.mark.parametrize(
    ("seed", "levels", "rest"), [(s, *shape) for s, shape in enumerate(2 * SHAPES)]
)
def test_the_sum_is_that_over_all_trees(core, operations, seed, levels, rest):
    rng = np.random.default_rng(200 + seed)
    groups, n = int(rng.integers(1, 4)), 3
    rows, rule = random_rows(rng, n, int(rng.integers(6, 30)), groups, 2), random_rule(rng, groups)
    weights = rng.integers(0, 3, (seed % 3, rule.labels, groups)).astype(float)
    asked = Asked(rows, rule, weights, levels, rest, bool(seed // len(SHAPES)), (1,) * n)
    add, mul = OPERATIONS[operations]
    terms = [reduce(mul, values) for _, values in asked.trees()]
    assert summed(core, asked, add, mul) == (reduce(add, terms) if terms else None)


@pytest.mark.parametrize("core", CORES)
@pytest.mark.parametrize("levels", [0, 1])
def test_features_that_are_alike_count_as_often(core, levels):
    rows = random_rows(np.random.default_rng(1), 2, 20, 2, 1)
    twice = Rows(rows.columns[[0, 0, 1]], rows.group, rows.weight, 2)
    # with one row in each leaf, splitting twice on twins leaves an empty child
    merged = Asked(rows, Rule((0, 1), 2, 1, False), np.ones((1, 2, 2)), levels, 2, True, (2, 1))
    apart = replace(merged, rows=twice, multiplicity=(1, 1, 1))
    found = summed(core, merged, *OPERATIONS["real"])
    assert found == summed(core, apart, *OPERATIONS["real"])
    assert found != summed(core, replace(merged, multiplicity=(1, 1)), *OPERATIONS["real"])


def small(minsup: int) -> Asked:
    rows = random_rows(np.random.default_rng(0), 3, 10, 1, 1)
    return Asked(rows, Rule((0,), 2, minsup, False), np.ones((1, 2, 1)), 1, 2, True, (1, 1, 1))


@pytest.mark.parametrize("core", CORES)
def test_no_tree_has_no_sum(core):
    assert summed(core, small(minsup=99), *OPERATIONS["real"]) is None


@pytest.mark.parametrize("core", CORES)
def test_a_cancelled_run_stops(core):
    control = core.Control()
    control.cancel()
    with pytest.raises(core.Cancelled):
        summed(core, small(minsup=1), *OPERATIONS["real"], control)


@pytest.mark.parametrize("core", CORES)
def test_what_does_not_fit_is_refused(core):
    with pytest.raises(ValueError, match="must not be 0"):
        core.SemiringFunctions(1, 1, 0)
    costs = costs_of(core, np.zeros((0, 2, 1), int), np.zeros(0, int), Rule((0,), 2, 1, False))
    with pytest.raises(ValueError, match="metrics do not belong together"):
        core.LeafMetrics(np.zeros((1, 2, 3)), np.zeros(1), costs, True)

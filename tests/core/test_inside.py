"""The inside pass of the native core against a plain search over all trees below every path."""

from functools import cache
from types import ModuleType

import numpy as np
import pytest
from small_tables import (
    CORES,
    INFINITY,
    Path,
    Rows,
    Rule,
    children,
    costs_of,
    lattice_of,
    number_of,
    others,
    paths_of,
    random_rows,
    random_rule,
    table_of,
)

SPREADS = [0, 1, 2, 3]
MEMORY = 2**30


def least_below(rows: Rows, rule: Rule, weights: np.ndarray, constant: int):
    """Return functions for the least cost of all trees below a path, and of those that split."""

    @cache
    def counts(path: Path) -> tuple[int, ...]:
        return rows.counts(path)

    def leaf(path: Path) -> int:
        here = counts(path)
        costs = [
            constant + sum(int(w) * n for w, n in zip(weights[label], here, strict=True))
            for label in rule.admitted(here)
        ]
        return min(costs, default=INFINITY)

    @cache
    def split(path: Path, depth: int) -> int:
        best = INFINITY
        for f in others(path, rows.n) if depth else []:
            sides = children(path, f)
            if min(sum(counts(side)) for side in sides) >= rule.minsup:
                found = [tree(side, depth - 1) for side in sides]
                best = min(best, sum(found) if max(found) < INFINITY else INFINITY)
        return best

    def tree(path: Path, depth: int) -> int:
        return min(leaf(path), split(path, depth))

    return tree, split


def run_inside(core: ModuleType, rows: Rows, levels: int, rest: int, costs: object, *, spread: int):
    table, lattice = table_of(core, rows), lattice_of(core, rows.n, levels, rest)
    paths = sum(len(paths_of(rows.n, k)) for k in range(levels + 1))
    forms = costs.weights.shape[0]  # type: ignore[attr-defined]
    counts = np.zeros((paths, rows.groups), np.int64)
    least = np.full((forms, paths), INFINITY, np.int64)
    splits = np.full((forms, len(paths_of(rows.n, levels))), INFINITY, np.int64)
    run = core.InsidePass(table, lattice, costs, MEMORY, 1, spread)
    for phase in range(run.phases):
        for first in range(max(1, rows.n)):  # any division of the features must do
            run.run(phase, first, first + 1, counts, least, splits, core.Control())
            if levels == 0:
                break
    return counts, least, splits


@pytest.mark.parametrize("core", CORES)
@pytest.mark.parametrize("seed", range(40))
def test_every_path_has_its_rows_and_its_least_costs(core: ModuleType, seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, groups = int(rng.integers(2, 7)), int(rng.integers(1, 4))
    rows = random_rows(rng, n, int(rng.integers(5, 60)), groups, int(rng.integers(1, 6)))
    if not rows.weight.any():
        rows.weight[0] = 1
    rule = random_rule(rng, groups)
    if seed % 3 == 0:  # two labels, each leaf taking the cheaper: the way of most questions
        rule = Rule(tuple(g % 2 for g in range(groups)), 2, rule.minsup, False)
    levels = int(rng.integers(0, min(4, n) + 1))
    rest = 2 if levels else int(rng.integers(0, 3))
    scale = 10 ** int(rng.integers(1, 9))  # 16, 32 and 64 bits
    weights = rng.integers(-scale, scale + 1, (2, rule.labels, groups))
    weights[:, 0] = 0
    constants = rng.integers(-2, 5, 2) * (scale // 10 + 1)
    costs = costs_of(core, weights, constants, rule)
    for spread in SPREADS[min(1, levels) : min(levels, 3) + 1]:
        counts, least, splits = run_inside(core, rows, levels, rest, costs, spread=spread)
        for k in range(levels + 1):
            for path in paths_of(n, k):
                here = rows.counts(path)
                expected = here if sum(here) >= rule.minsup else (0,) * groups
                assert tuple(counts[number_of(path, n)]) == expected
        first = number_of(paths_of(n, levels)[0], n)
        for d in range(2):
            tree, split = least_below(rows, rule, weights[d], int(constants[d]))
            for path in paths_of(n, levels):
                at = number_of(path, n)
                if sum(rows.counts(path)) >= rule.minsup:
                    assert least[d, at] == tree(path, rest)
                    assert splits[d, at - first] == split(path, rest)
                else:
                    assert least[d, at] == INFINITY


@pytest.mark.parametrize("core", CORES)
@pytest.mark.parametrize(
    "total", [8191, 8192, 14334, 14335, 32767, 32768, 2**29, 2**30, 2**31, 2**53]
)
def test_numbers_are_wide_enough_at_their_boundaries(core: ModuleType, total: int) -> None:
    """Rows of one label weigh almost everything; all of it is an error under the other label."""
    columns = np.array([[1, 1, 0, 0], [1, 0, 1, 0], [0, 1, 1, 1]], np.uint8)
    rows = Rows(columns, np.array([0, 1, 0, 1]), np.array([1, total - 4, 2, 1]), 2)
    rule = Rule((0, 1), 2, 1, False)
    weights = np.array([[[0, 0], [1, -1]]])
    costs = costs_of(core, weights, np.array([0]), rule)
    _, least, _ = run_inside(core, rows, 1, 2, costs, spread=1)
    tree, _ = least_below(rows, rule, weights[0], 0)
    for path in paths_of(3, 1):
        assert least[0, number_of(path, 3)] == tree(path, 2)


@pytest.mark.parametrize("core", CORES)
@pytest.mark.parametrize("total", [32767, 32768, 40000, 2**31 - 1, 2**31, 3 * 2**30])
def test_rows_that_cost_nothing_support_leaves(core: ModuleType, total: int) -> None:
    """Each group of rows fits the numbers of costs; only both together may be too many."""
    columns = np.array([[1, 1, 1, 0], [1, 0, 1, 0], [0, 1, 1, 1]], np.uint8)
    half = total // 2 - 1
    rows = Rows(columns, np.array([0, 1, 0, 1]), np.array([1, half, total - half - 2, 1]), 2)
    rule = Rule((0, 1), 2, 1, False)
    weights = np.zeros((1, 2, 2), np.int64)
    costs = costs_of(core, weights, np.array([1]), rule)
    _, least, splits = run_inside(core, rows, 1, 2, costs, spread=1)
    tree, split = least_below(rows, rule, weights[0], 1)
    for path in paths_of(3, 1):
        assert least[0, number_of(path, 3)] == tree(path, 2)
        assert splits[0, number_of(path, 3) - 1] == split(path, 2)


@pytest.mark.parametrize("core", CORES)
@pytest.mark.parametrize("constant", [0, 33, -33, 400, -400])
@pytest.mark.parametrize("beyond", [-1, 0, 1])
@pytest.mark.parametrize("majority", [False, True])
def test_infinite_costs_stay_apart_from_real_ones(
    core: ModuleType, constant: int, beyond: int, majority: bool
) -> None:
    """As many errors and constants as 16 bits hold beside ∞ (14,335), and one more or less."""
    rng = np.random.default_rng(abs(constant) + majority)
    most = (14334 - 16 * abs(constant) + beyond) // (1 + majority)
    columns = rng.integers(0, 2, (4, 12)).astype(np.uint8)
    weight = rng.integers(1, 6, 12)
    weight[[0, 1]] = most - weight[2:].reshape(5, 2).sum(0) + np.array([9, 0])
    rows = Rows(columns, np.arange(12) % 2, weight, 2)  # label 1 has that many rows, label 0 more
    rule = Rule((0, 1), 2, 12, majority)
    weights = np.array([[[0, 0], [1, -1]]])
    costs = costs_of(core, weights, np.array([constant]), rule)
    tree, split = least_below(rows, rule, weights[0], constant)
    for spread in (1, 2):
        _, least, splits = run_inside(core, rows, 2, 2, costs, spread=spread)
        for path in paths_of(4, 2):
            if sum(rows.counts(path)) >= 12:
                at = number_of(path, 4)
                assert least[0, at] == tree(path, 2)
                assert splits[0, at - number_of(paths_of(4, 2)[0], 4)] == split(path, 2)


@pytest.mark.parametrize("core", CORES)
def test_a_gain_beyond_infinity_takes_a_wider_type(core: ModuleType) -> None:
    """Beside a leaf that is too small, which costs ∞ (14,335), the other one gains 16,334."""
    columns = np.array([[1, 1, 0, 0], [1, 0, 1, 0]])
    rows = Rows(columns, np.array([0, 1, 0, 0]), np.array([7300, 8167, 300, 7300]), 2)
    rule = Rule((0, 1), 2, 7500, False)
    weights = np.array([[[0, 0], [2, -2]]])
    costs = costs_of(core, weights, np.array([0]), rule)
    _, least, _ = run_inside(core, rows, 0, 2, costs, spread=0)
    assert least[0, 0] == least_below(rows, rule, weights[0], 0)[0]((), 2) == 2 * (7300 - 8167)


@pytest.mark.parametrize("core", CORES)
def test_pairs_of_many_features_are_told_apart(core: ModuleType) -> None:
    """More than one word of a record, and more than one block of lanes."""
    rng = np.random.default_rng(5)
    rows = random_rows(rng, 70, 90, 2, 1)
    rule = Rule((0, 1), 2, 3, False)
    weights = np.array([[[0, 0], [1, -1]]])
    costs = costs_of(core, weights, np.array([0]), rule)
    _, least, _ = run_inside(core, rows, 1, 2, costs, spread=1)
    tree, _ = least_below(rows, rule, weights[0], 0)
    for path in paths_of(70, 1)[::11]:
        if sum(rows.counts(path)) >= 3:
            assert least[0, number_of(path, 70)] == tree(path, 2)


@pytest.mark.parametrize("core", CORES)
def test_cancelling_ends_a_pass(core: ModuleType) -> None:
    rows = random_rows(np.random.default_rng(0), 5, 30, 2, 1)
    costs = costs_of(core, np.array([[[0, 0], [1, -1]]]), np.array([0]), Rule((0, 1), 2, 1, False))
    run = core.InsidePass(table_of(core, rows), lattice_of(core, 5, 2, 2), costs, MEMORY, 1, 2)
    control = core.Control()
    control.cancel()
    counts, least = np.zeros((51, 2), np.int64), np.zeros((1, 51), np.int64)
    with pytest.raises(core.Cancelled):
        run.run(0, 0, 5, counts, least, np.zeros((1, 40), np.int64), control)

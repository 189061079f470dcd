"""Passes over numbered paths against definitions in plain Python."""

from dataclasses import dataclass
from functools import cached_property
from itertools import product
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
    counts_of,
    lattice_of,
    number_of,
    others,
    paths_of,
    random_rows,
    random_rule,
)

SEEDS = range(12)


@dataclass
class Problem:
    """A table, a rule of leaves, and random linear costs."""

    rows: Rows
    rule: Rule
    weights: np.ndarray
    constants: np.ndarray
    levels: int

    @property
    def forms(self) -> int:
        """Count the forms."""
        return len(self.constants)

    def leaf(self, form: int, counts: tuple[int, ...]) -> int:
        """Return the cost of the cheapest leaf."""
        admitted = self.rule.admitted(counts)
        costs = [
            int(self.constants[form])
            + sum(int(w) * c for w, c in zip(self.weights[form, label], counts, strict=True))
            for label in admitted
        ]
        return min(costs, default=INFINITY)

    def least(self, form: int, path: Path, last: dict[Path, int]) -> int:
        """Return the least cost by the recursion, from given values of the last level."""
        if len(path) == self.levels:
            return last[path]
        if sum(self.rows.counts(path)) < self.rule.minsup:
            return INFINITY
        splits = [
            sum(self.least(form, child, last) for child in children(path, f))
            for f in others(path, self.rows.n)
        ]
        found = min([self.leaf(form, self.rows.counts(path)), *splits])
        return found if found < INFINITY // 2 else INFINITY

    @cached_property
    def last(self) -> np.ndarray:
        """Draw values for the last level, with both signs; ``[form, path]``."""
        rng = np.random.default_rng(self.levels)
        paths = paths_of(self.rows.n, self.levels)
        values = rng.integers(-40, 40, (self.forms, len(paths)))
        short = [sum(self.rows.counts(path)) < self.rule.minsup for path in paths]
        values[:, np.array(short)] = INFINITY
        values[rng.random(values.shape) < 0.05] = INFINITY
        return values


def problem(seed: int, levels: int = 2) -> Problem:
    rng = np.random.default_rng(seed)
    groups = int(rng.integers(1, 5))
    n = int(rng.integers(levels, 6))
    rows = random_rows(rng, n, int(rng.integers(4, 40)), groups, int(rng.integers(1, 4)))
    rule = random_rule(rng, groups)
    forms = int(rng.integers(0, 4))
    weights = rng.integers(-5, 6, (forms, rule.labels, groups))
    return Problem(rows, rule, weights, rng.integers(-3, 4, forms), levels)


def arrays(core: ModuleType, given: Problem) -> tuple[object, object, np.ndarray, np.ndarray]:
    """Make the lattice, the costs, the counts, and least costs with only the last level filled."""
    lattice = lattice_of(core, given.rows.n, given.levels, 2)
    counts = counts_of(given.rows, given.levels)
    least = np.full((given.forms, len(counts)), INFINITY)
    for at, path in enumerate(paths_of(given.rows.n, given.levels)):
        least[:, number_of(path, given.rows.n)] = given.last[:, at]
    return lattice, costs_of(core, given.weights, given.constants, given.rule), counts, least


def expected(given: Problem) -> np.ndarray:
    """Fill in the least costs of all paths by the recursion."""
    n = given.rows.n
    paths = [path for k in range(given.levels + 1) for path in paths_of(n, k)]
    least = np.full((given.forms, len(paths)), INFINITY)
    for form in range(given.forms):
        values = given.last[form].tolist()
        last = dict(zip(paths_of(n, given.levels), values, strict=True))
        for path in paths:
            least[form, number_of(path, n)] = given.least(form, path, last)
    return least


@pytest.mark.parametrize("core", CORES)
@pytest.mark.parametrize(("seed", "levels"), [*product(SEEDS, [0, 1, 2, 3])])
def test_ascending_takes_the_best_leaf_or_split(core, seed, levels):
    given = problem(seed, levels)
    lattice, costs, counts, least = arrays(core, given)
    core.ascend(levels, lattice, costs, counts, least)
    assert (least == expected(given)).all()


@pytest.mark.parametrize("core", CORES)
@pytest.mark.parametrize("seed", SEEDS)
def test_ascending_through_features_fills_the_paths_that_hold_them(core, seed):
    given = problem(seed, 3)
    lattice, costs, counts, least = arrays(core, given)
    n, before, right = given.rows.n, least.copy(), expected(given)
    core.ascend_through(1, n - 1, lattice, costs, counts, least)
    for path in (path for k in range(3) for path in paths_of(n, k)):
        at = number_of(path, n)
        filled = any(1 <= f < n - 1 for f, _ in path)
        # paths without these features keep what they had
        assert filled or (least[:, at] == before[:, at]).all()
    core.ascend_through(0, n, lattice, costs, counts, least)
    core.ascend(1, lattice, costs, counts, least)
    assert (least == right).all()


@pytest.mark.parametrize("core", CORES)
@pytest.mark.parametrize("seed", SEEDS)
def test_budgets_are_what_the_rest_of_a_good_tree_leaves(core, seed):
    given = problem(seed, 3)
    lattice, _, counts, _ = arrays(core, given)
    least = expected(given)
    exists = counts.sum(axis=1) >= given.rule.minsup
    rng = np.random.default_rng(seed)
    budgets = np.zeros((len(counts), given.forms), np.int64)
    live = np.zeros(len(counts), bool)
    root = np.where(least[:, 0] < INFINITY, least[:, 0], 0)
    budgets[0] = root + rng.integers(0, 25, given.forms)
    live[0] = exists[0] and (least[:, 0] <= budgets[0]).all()
    found = np.array([live[0], 0, 0, 0], np.int64)
    right_budgets, right_live = _outside(given, exists, least, budgets[0].tolist(), bool(live[0]))
    core.afford(lattice, exists, least, budgets, live, found)
    n = given.rows.n
    for k in range(4):
        numbers = [number_of(path, n) for path in paths_of(n, k)]
        assert found[k] == sum(right_live[number] for number in numbers)
        for number in numbers:
            assert live[number] == right_live[number]
            assert not live[number] or budgets[number].tolist() == right_budgets[number]


def _outside(given, exists, least, limits, live):
    """Hand budgets down path by path, as the definition says."""
    n, forms = given.rows.n, range(given.forms)
    budgets, alive = {0: limits}, {0: live}
    for path in (path for k in range(1, given.levels + 1) for path in paths_of(n, k)):
        at = number_of(path, n)
        options = []
        for f, _ in path:
            above = number_of(tuple(literal for literal in path if literal[0] != f), n)
            flipped = tuple((g, s != (g == f)) for g, s in path)
            sibling = number_of(flipped, n)
            there = alive[above] and exists[at] and exists[sibling]
            if there and all(least[d, at] + least[d, sibling] <= budgets[above][d] for d in forms):
                options.append([int(budgets[above][d] - least[d, sibling]) for d in forms])
        alive[at] = bool(options)
        budgets[at] = [max(option[d] for option in options) for d in forms] if options else None
    return budgets, alive


@pytest.mark.parametrize("core", CORES)
@pytest.mark.parametrize("levels", [0, 1, 2, 3])
def test_paths_know_how_many_live_ones_lie_behind_them(core, levels):
    n = 5
    lattice = lattice_of(core, n, levels, 2)
    last = paths_of(n, levels)
    rng = np.random.default_rng(levels)
    total = sum(len(paths_of(n, k)) for k in range(levels + 1))
    live, behind = rng.random(total) < 0.4, np.zeros(total, np.int64)
    core.lead_to_live(lattice, live, behind)
    for path in (path for k in range(levels + 1) for path in paths_of(n, k)):
        here = [longer for longer in last if longer[: len(path)] == path]
        assert behind[number_of(path, n)] == sum(live[number_of(longer, n)] for longer in here)


@pytest.mark.parametrize("core", CORES)
@pytest.mark.parametrize(("seed", "rest"), [*product(SEEDS, [1, 2])])
def test_a_small_tree_with_a_known_cost_is_found(core, seed, rest):
    given = problem(seed)
    if given.forms == 0:
        given.weights, given.constants = (
            np.ones((1, given.rule.labels, given.rows.groups), int),
            np.ones(1, int),
        )
    n = given.rows.n
    both = np.zeros((given.rows.groups, n, n), np.int64)
    for i, j in product(range(n), repeat=2):
        both[:, i, j] = given.rows.counts(tuple((f, False) for f in sorted({i, j})))
    on_path = np.zeros(n, bool)
    on_path[1] = seed % 2
    costs = costs_of(core, given.weights, given.constants, given.rule)
    rows = np.array(given.rows.counts(()), np.int64)
    trees = [
        (_cost_of_small(given, f, below1, below0), f, below1, below0)
        for f, below1, below0 in product(range(n), range(-1, n), range(-1, n))
        if not {f, below1, below0} & set(np.flatnonzero(on_path).tolist())
        and f not in (below1, below0)
        and (rest == 2 or (below1, below0) == (-1, -1))
    ]
    least = min((cost for cost, *_ in trees), default=INFINITY)
    found = core.find_tree(least, both, rows, on_path, costs, rest)
    if least >= INFINITY // 2:
        return
    assert (least, *found) in trees
    assert core.find_tree(least - 1, both, rows, on_path, costs, rest) == (-1, -1, -1)


def _cost_of_small(given, f, below1, below0):
    total = 0
    for side, below in zip(children((), f), (below1, below0), strict=True):
        leaves = [side] if below < 0 else children(side, below)
        total += sum(given.leaf(0, given.rows.counts(leaf)) for leaf in leaves)
    return total


@pytest.mark.parametrize("core", CORES)
def test_arrays_that_do_not_fit_are_refused(core):
    given = problem(0)
    lattice, costs, counts, least = arrays(core, given)
    with pytest.raises(ValueError, match="counts must hold a number for each path"):
        core.ascend(2, lattice, costs, counts[1:].copy(), least)
    with pytest.raises(ValueError, match="least must hold a number for each form"):
        core.ascend(2, lattice, costs, counts, least[:, 1:].copy())
    with pytest.raises(ValueError, match="levels must be at most"):
        core.ascend(3, lattice, costs, counts, least)
    with pytest.raises(ValueError, match="do not belong together"):
        core.Costs(given.weights, given.constants, np.zeros(9, np.int64), 1, 1, False)


@pytest.mark.parametrize("core", CORES)
def test_a_cancelled_run_stops(core):
    given = problem(0)
    lattice, costs, counts, least = arrays(core, given)
    control = core.Control()
    control.cancel()
    with pytest.raises(core.Cancelled):
        core.ascend(2, lattice, costs, counts, least, control)

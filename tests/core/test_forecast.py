"""Bounds on trees and cells, and drawn trees, against trees counted in plain Python.

A class of trees is (key, costs, leaves, label of a single leaf or None); trees are counted by it.
"""

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import prod

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
    table_of,
)

SEEDS = range(10)


@dataclass
class Setting:
    """A table, a rule of leaves, weights of keys and costs, and limits for the root."""

    rows: Rows
    rule: Rule
    key_weights: np.ndarray
    weights: np.ndarray
    constants: np.ndarray
    slack: tuple[int, ...]
    multiplicity: np.ndarray
    trivial_splits: bool
    levels: int
    rest: int

    def __post_init__(self) -> None:
        self._known: dict[tuple[Path, int], Counter] = {}

    @property
    def n(self) -> int:
        """Count the distinct features."""
        return self.rows.n

    def trees(self, path: Path) -> Counter:
        """Count all trees below a path by class."""
        return self._trees(path, self.levels + self.rest - len(path))

    def _trees(self, path: Path, depth: int) -> Counter:
        if (path, depth) in self._known:
            return self._known[path, depth]
        counts = self.rows.counts(path)
        found: Counter = Counter()
        for label in self.rule.admitted(counts):
            costs = self.constants + self.weights[:, label] @ np.array(counts)
            key = 1000 + int(self.key_weights[label] @ np.array(counts))
            found[key, tuple(costs.tolist()), 1, label] += 1
        for f in others(path, self.n) if depth else ():
            one, zero = (self._trees(child, depth - 1) for child in children(path, f))
            for (a, m), (b, k) in product(one.items(), zero.items()):
                if self.trivial_splits or a[3] is None or a[3] != b[3]:
                    costs = tuple(x + y for x, y in zip(a[1], b[1], strict=True))
                    both = (a[0] + b[0], costs, a[2] + b[2], None)
                    found[both] += m * k * int(self.multiplicity[f])
        self._known[path, depth] = found
        return found

    @cached_property
    def paths(self) -> list[Path]:
        """List all numbered paths."""
        return [path for k in range(self.levels + 1) for path in paths_of(self.n, k)]

    @cached_property
    def counts(self) -> np.ndarray:
        """Count the rows of every path."""
        return counts_of(self.rows, self.levels)

    @cached_property
    def least(self) -> np.ndarray:
        """Find the least costs of every path."""
        least = np.full((len(self.slack), len(self.paths)), INFINITY)
        for path in self.paths:
            classes = self.trees(path)
            for d in range(len(self.slack) if classes else 0):
                least[d, number_of(path, self.n)] = min(c[1][d] for c in classes)
        return least


def setting(seed: int, *, levels: int = 1, depth: int | None = None) -> Setting:
    rng = np.random.default_rng(100 + seed)
    groups, n, forms = int(rng.integers(1, 4)), int(rng.integers(2, 5)), int(rng.integers(0, 3))
    levels = min(levels, n)
    rows = random_rows(rng, n, int(rng.integers(8, 30)), groups, 2)
    rule = random_rule(rng, groups)
    return Setting(
        rows, rule,
        rng.integers(0, 4, (rule.labels, groups)),
        rng.integers(-2, 3, (forms, rule.labels, groups)),
        rng.integers(0, 2, forms),
        tuple(rng.integers(0, 30, forms).tolist()),
        rng.integers(1, 3, n),
        bool(rng.integers(2)),
        levels,
        int(rng.integers(0, 3)) if depth is None else depth,
    )  # fmt: skip


class Made:
    """A setting as the core sees it, with its bounds."""

    def __init__(self, core, given: Setting, *, fine: bool, sizes: int | None) -> None:
        n, total = given.n, len(given.paths)
        self.core, self.given, self.sizes = core, given, sizes
        lattice = lattice_of(core, n, given.levels, given.rest)
        forms = len(given.slack)
        self.budgets = np.zeros((total, forms), np.int64)
        self.live = np.zeros(total, bool)
        exists = given.counts.sum(axis=1) >= given.rule.minsup
        alive = bool(given.trees(()))
        self.budgets[0] = [
            int(given.least[d, 0]) + s if alive else 0 for d, s in enumerate(given.slack)
        ]
        self.live[0] = alive
        found = np.zeros(given.levels + 1, np.int64)
        core.afford(lattice, exists, given.least, self.budgets, self.live, found)
        rule = given.rule
        leaves = core.Leaves(
            given.key_weights, 1000, given.weights, given.constants,
            np.array(rule.group_label, np.int64), rule.minsup, rule.majority, given.trivial_splits,
            True, 2**40, rule.share.numerator, rule.share.denominator,
        )  # fmt: skip
        self.ways = core.Ways(
            lattice, costs_of(core, given.weights, given.constants, rule), leaves,
            given.trivial_splits, given.multiplicity, given.counts,
            given.counts.sum(axis=1), np.full(total, 2**40), self.live, given.least, self.budgets,
        )  # fmt: skip
        last = len(paths_of(n, given.levels))
        above, columns = total - last, 1 if sizes is None else sizes + 1
        self.bounds = core.Bounds(
            np.zeros((above, columns)), np.zeros(above), np.zeros((last, 3)),
            np.zeros((last, 3, 1), np.uint64), np.zeros(last, bool),
            np.zeros((above, columns, n)), 0 if sizes is None else 1,
        )  # fmt: skip
        spans = core.Spans(given.key_weights[None].copy(), np.array([1000]))
        self.trees, self.cells = core.bound_levels(self.ways, spans, self.bounds, fine)

    def good(self, path: Path) -> Counter:
        """Count the trees below a path within its budgets by class."""
        limits = self.budgets[number_of(path, self.given.n)].tolist()
        classes = self.given.trees(path).items()
        return Counter(
            {c: m for c, m in classes if all(x <= b for x, b in zip(c[1], limits, strict=True))}
        )

    def live_paths(self, level: int) -> list[Path]:
        """List the live paths of a level by number."""
        paths = [
            path
            for path in paths_of(self.given.n, level)
            if self.live[number_of(path, self.given.n)]
        ]
        return sorted(paths, key=lambda path: number_of(path, self.given.n))


# --- the same bounds in plain Python -----------------------------------------------------------


def features_that_split(made: Made, path: Path, *, fine: bool) -> tuple[int, int, int]:
    """Bound the features that split a path of the last level; see `Bounds.active`."""
    given, minsup = made.given, made.given.rule.minsup
    support = {p: sum(given.rows.counts(p)) for p in given.paths}
    twins = given.multiplicity.tolist()
    if not fine:
        fewest = sum(twins)
        for literal in path:
            above = tuple(other for other in path if other != literal)
            splitting = [
                twins[f]
                for f in others(above, given.n)
                if min(support[child] for child in children(above, f)) >= minsup
            ]
            there = support[above] >= 2 * minsup
            own = min(support[child] for child in children(above, literal[0])) >= minsup
            fewest = min(fewest, (sum(splitting) if there else 0) - own * twins[literal[0]])
        fewest = max(fewest, 0)
        return fewest, 2 * fewest, fewest
    active = [0, 0, 0]
    for f in others(path, given.n):
        one = zero = support[()]
        for literal in path:
            sides = children(tuple(other for other in path if other != literal), f)
            one, zero = min(one, support[sides[0]]), min(zero, support[sides[1]])
        if min(one, zero) >= minsup:
            again = (one >= 2 * minsup) + (zero >= 2 * minsup)
            for at, times in enumerate((1, again, again == 2)):
                active[at] += twins[f] * times
    return tuple(active)


def bounds_below(made: Made, path: Path, *, fine: bool) -> Counter:
    """Bound the trees below a live path by leaves (0 where they are not told apart)."""
    given = made.given
    labels = 1 if given.rule.majority else given.rule.labels
    at_leaf = 0 if made.sizes is None else 1
    found: Counter = Counter()
    if len(path) == given.levels:
        splitting, again, both = features_that_split(made, path, fine=fine)
        minsup = given.rule.minsup
        most = sum(given.rows.counts(path)) // minsup if minsup else 4
        terms = {
            1: labels,
            2: splitting * labels**2 if given.rest >= 1 and most >= 2 else 0,
            3: again * splitting * labels**3 if given.rest == 2 and most >= 3 else 0,
            4: both * splitting**2 * labels**4 if given.rest == 2 and most >= 4 else 0,
        }
        for k, term in terms.items():
            found[k * at_leaf] += term
        return found
    at, n = number_of(path, given.n), given.n
    found[at_leaf] = labels
    for f in others(path, n):
        sides = children(path, f)
        one, zero = (number_of(side, n) for side in sides)
        fits = all(
            given.least[d, one] + given.least[d, zero] <= made.budgets[at, d]
            for d in range(len(given.slack))
        )
        if made.live[one] and made.live[zero] and fits:
            below = [bounds_below(made, side, fine=fine) for side in sides]
            for (i, a), (j, b) in product(below[0].items(), below[1].items()):
                if made.sizes is None or i + j <= made.sizes:
                    found[i + j] += int(given.multiplicity[f]) * a * b
    return found


def values_on_axis(made: Made, path: Path) -> int:
    """Bound the keys below a path by the values that the one axis can take."""
    given = made.given
    weights, counts = given.key_weights, given.rows.counts(path)
    width = sum(int(weights[:, g].max() - weights[:, g].min()) * c for g, c in enumerate(counts))
    return width + 1000 * (2 ** (given.levels + given.rest - len(path)) - 1) + 1


@pytest.mark.parametrize("core", CORES)
@pytest.mark.parametrize(("seed", "fine", "sizes"), [*product(SEEDS, [False, True], [None, 3, 8])])
def test_bounds_are_those_of_the_definition(core, seed, fine, sizes):
    made = Made(core, setting(seed, levels=seed % 3), fine=fine, sizes=sizes)
    for level in range(made.given.levels + 1):
        paths = made.live_paths(level)
        expected = [bounds_below(made, path, fine=fine) for path in paths]
        totals = [
            # sizes beyond those that are told apart count at the last level only
            sum(
                m
                for k, m in terms.items()
                if level == made.given.levels or k < made.bounds.trees.shape[1]
            )
            for terms in expected
        ]
        assert made.trees[level] == sum(totals)
        cells = [
            total if total < 4096 else min(total, values_on_axis(made, path))
            for total, path in zip(totals, paths, strict=True)
        ]
        assert made.cells[level] == sum(cells)
        by_size = core.bounds_by_size(made.ways, made.bounds, level)
        assert len(by_size) == len(paths)
        assert by_size.sum(axis=1).tolist() == totals


@pytest.mark.parametrize("core", CORES)
@pytest.mark.parametrize(("seed", "fine"), [*product(SEEDS, [False, True])])
def test_bounds_hold(core, seed, fine):
    made = Made(core, setting(seed, levels=1 + seed % 2), fine=fine, sizes=8)
    for level in range(made.given.levels + 1):
        trees = [made.good(path) for path in made.live_paths(level)]
        told = [sum(m for c, m in good.items() if c[2] <= 8) for good in trees]
        assert made.trees[level] >= sum(told)
        assert made.cells[level] >= sum(len({c[0] for c in good if c[2] <= 8}) for good in trees)


# --- drawing -----------------------------------------------------------------------------------


@pytest.mark.parametrize("core", CORES)
@pytest.mark.parametrize(("seed", "free"), [*product(SEEDS, [False, True])])
def test_drawn_trees_exist(core, seed, free):
    made = Made(core, setting(seed, levels=seed % 3), fine=not free, sizes=None if seed % 2 else 5)
    for level in range(made.given.levels + 1):
        keys, owners, trivial, tried = core.draw_trees(
            made.ways, made.bounds, table_of(core, made.given.rows), level, 400, seed, free, 5
        )
        paths = {number_of(path, made.given.n): path for path in made.live_paths(level)}
        base = sum(len(paths_of(made.given.n, k)) for k in range(level))
        assert len(keys) <= tried <= 400
        assert made.given.trivial_splits or not trivial.any()
        for key, owner in set(zip(keys.tolist(), owners.tolist(), strict=True)):
            assert key in {c[0] for c in made.good(paths[base + owner])}


@pytest.mark.parametrize("core", CORES[:1])
@pytest.mark.parametrize(
    ("seed", "sizes"), [(1, None), (2, 6), (3, None), (4, 4), (5, None), (6, 6), (7, None), (8, 6)]
)
def test_drawn_trees_are_equally_likely(core, seed, sizes):
    made = Made(core, setting(seed, levels=1, depth=2), fine=True, sizes=sizes)
    good = made.good(())
    expected: Counter = Counter()
    for (key, _, size, _), m in good.items():
        if sizes is None or size <= sizes:
            expected[key] += m
    total = sum(expected.values())
    if not total:
        return
    attempts = 60_000
    keys, *_, tried = core.draw_trees(
        made.ways, made.bounds, table_of(core, made.given.rows), 0, attempts, 0, False, sizes or 1
    )
    share = total / made.trees[0]
    deviation = (len(keys) - tried * share) / max(1.0, (tried * share * (1 - share)) ** 0.5)
    assert tried == attempts
    assert abs(deviation) < 5
    seen = Counter(keys.tolist())
    likely = [key for key in expected if len(keys) * expected[key] / total >= 10]
    if len(likely) > 1:
        means = np.array([len(keys) * expected[key] / total for key in likely])
        found = np.array([seen[key] for key in likely])
        square = float((((found - means) ** 2) / means).sum())
        assert square < len(likely) + 5 * (2 * len(likely)) ** 0.5


@pytest.mark.parametrize("core", CORES)
def test_a_seed_gives_the_same_trees_at_every_level(core):
    made = Made(core, setting(3), fine=True, sizes=None)
    drawn = core.draw_trees(
        made.ways, made.bounds, table_of(core, made.given.rows), 0, 500, 7, False, 1
    )
    first = CORES[0].values[0]
    same = Made(first, setting(3), fine=True, sizes=None)
    expected = first.draw_trees(
        same.ways, same.bounds, table_of(first, same.given.rows), 0, 500, 7, False, 1
    )
    assert all((a == b).all() for a, b in zip(drawn[:3], expected[:3], strict=True))
    assert len(drawn[0]) > 10


@pytest.mark.parametrize("core", CORES)
@pytest.mark.parametrize(
    ("weights", "share", "place"),
    [
        ([0.0, 2.0, 2.0], 0.0, 1),
        ([0.0, 2.0, 2.0], 0.49, 1),
        ([0.0, 2.0, 2.0], 0.5, 2),
        ([0.0, 0.0], 0.5, -1),
        ([], 0.5, -1),
        ([0.1, 0.1, 0.4, 0.0], 1 - 2.0**-53, 2),  # something is left by rounding
    ],
)
def test_choosing_in_proportion_to_weights(core, weights, share, place):
    assert core.choose(np.array(weights, float), share) == place


@pytest.mark.parametrize("core", CORES)
def test_arrays_that_do_not_fit_are_refused(core):
    made = Made(core, setting(2), fine=True, sizes=None)
    other = Made(core, setting(2, levels=2), fine=True, sizes=None)
    with pytest.raises(ValueError, match="do not belong to these paths"):
        core.bounds_by_size(made.ways, other.bounds, 0)
    with pytest.raises(ValueError, match="level must be one of the lattice's"):
        core.bounds_by_size(made.ways, made.bounds, 2)
    empty = (np.zeros((0, 3, 1), np.uint64), np.zeros(0, bool), np.zeros((0, 1, made.given.n)))
    bounds = core.Bounds(made.bounds.trees, made.bounds.splitting, made.bounds.active, *empty, 0)
    with pytest.raises(ValueError, match="no room for the features"):
        core.draw_trees(made.ways, bounds, table_of(core, made.given.rows), 0, 9, 0, True, 1)
    assert prod(made.bounds.trees.shape) == len(made.bounds.trees)

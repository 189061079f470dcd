"""Small circuits and all of their trees, listed in plain Python, for tests of the native core."""

import itertools
import math
from collections import defaultdict
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from types import ModuleType
from typing import Any

import numpy as np
from small_tables import (
    Path,
    Rows,
    Rule,
    children,
    counts_of,
    lattice_of,
    number_of,
    others,
    paths_of,
    random_rows,
    random_rule,
    table_of,
)

Tree = Any  # ("leaf", label), or (distinct feature, twin, child 1, child 0)


@dataclass(frozen=True)
class Problem:
    """A space of trees whose keys tell errors and size, so that equal keys have equal costs."""

    rows: Rows
    rule: Rule
    depth: int
    trivial_splits: bool
    twins: tuple[tuple[tuple[int, bool], ...], ...]  # per distinct feature (original, flipped)
    weights: np.ndarray  # [label, group]: what a row costs
    limit: int | None  # of the costs
    scale: int = 1  # of the keys

    @property
    def levels(self) -> int:
        return min(max(0, self.depth - 2), self.rows.n)

    def leaf(self, label: int, counts: tuple[int, ...]) -> tuple[int, int]:
        cost = int(self.weights[label] @ np.array(counts))
        return self.scale * (64 * cost + 1), cost

    def cells(self, path: Path, depth: int) -> dict[int, list[Tree]]:
        """List all trees below a path, cell by cell, in the order that ranks promise."""
        found = defaultdict(list)
        counts = self.rows.counts(path)
        for label in self.rule.admitted(counts):
            found[self.leaf(label, counts)[0]].append(("leaf", label))
        if depth == 0:
            return found
        for f in others(path, self.rows.n):
            one, zero = children(path, f)
            if min(sum(self.rows.counts(one)), sum(self.rows.counts(zero))) < self.rule.minsup:
                continue
            ones, zeros = self.cells(one, depth - 1), self.cells(zero, depth - 1)
            for key1, key0 in itertools.product(sorted(ones), zeros):
                for t1, t0 in itertools.product(ones[key1], zeros[key0]):
                    if t1 == t0 and t1[0] == "leaf" and not self.trivial_splits:
                        continue
                    names = range(len(self.twins[f]))
                    found[key1 + key0] += [(f, twin, t1, t0) for twin in names]
        return found

    def cost(self, key: int) -> int:
        return key // self.scale // 64


def problem(rng: np.random.Generator, **chosen: Any) -> Problem:
    depth = int(rng.integers(0, 5))
    deep = depth > 2
    n = int(rng.integers(2, 4 if deep else 5))
    groups = int(rng.integers(2, 4))
    rows = random_rows(rng, n, 16, groups, int(rng.integers(1, 4)))
    rule = random_rule(rng, groups)
    if rng.integers(3):  # else hardly a tree is left
        rule = replace(rule, minsup=rule.minsup // 2, majority=False, share=Fraction(0))
    originals = itertools.count()
    twins = tuple(
        tuple(
            (next(originals), bool(rng.integers(2)))
            for _ in range(1 if deep and f else rng.integers(1, 3))
        )
        for f in range(n)
    )
    weights = rng.integers(0, 3, (rule.labels, groups))
    limit = int(rng.integers(2, 30)) if rng.integers(2) else None
    made = Problem(rows, rule, depth, bool(rng.integers(2)), twins, weights, limit)
    return replace(made, **chosen)


Cells = dict[int, list[Tree]]  # by key
Lists = dict[Path, Cells]


def listed(p: Problem) -> Lists:
    """List the trees below every numbered path, in the order of the paths' numbers."""
    paths = [path for k in range(p.levels + 1) for path in paths_of(p.rows.n, k)]
    paths.sort(key=lambda path: number_of(path, p.rows.n))
    return {path: p.cells(path, p.depth - len(path)) for path in paths}


@cache
def known(seed: int) -> tuple[Problem, Lists]:
    """Draw a problem; plain Python lists its trees once for all tests."""
    p = problem(np.random.default_rng(seed))
    return p, listed(p)


def scaled(seed: int, scale: int) -> tuple[Problem, Lists]:
    """Multiply all keys."""
    p, cells = known(seed)
    # negative ones turn the order of the cells below a split
    p = replace(p, scale=scale)
    if scale < 0:
        return p, listed(p)
    return p, {path: {scale * k: t for k, t in found.items()} for path, found in cells.items()}


def wide_array(numbers: list[int]) -> np.ndarray:
    words = b"".join(n.to_bytes(16, "little", signed=True) for n in numbers)
    return np.frombuffer(words, np.int64).reshape(-1, 2).copy()


def keys_array(p: Problem, keys: list[int]) -> np.ndarray:
    return np.array(keys, np.int64) if p.scale == 1 else wide_array(keys)


def budgets_of(p: Problem, cells: Lists) -> tuple[np.ndarray, ...]:
    """Hand the limit down: what the rest of a tree leaves for a path, and which paths are live."""
    paths = len(cells)
    if p.limit is None:
        live = np.array([bool(cells[path]) for path in cells])
        return np.zeros((paths, 0), np.int64), live
    least = {path: min(map(p.cost, found), default=math.inf) for path, found in cells.items()}
    budgets = dict.fromkeys(cells, -math.inf)
    budgets[()] = p.limit
    for path in cells:  # shorter ones first
        if len(path) == p.levels or least[path] > budgets[path]:
            continue
        for f in others(path, p.rows.n):
            one, zero = children(path, f)
            for this, other in ((one, zero), (zero, one)):
                budgets[this] = max(budgets[this], budgets[path] - least[other])
    live = np.array([least[path] <= budgets[path] for path in cells])
    known = [max(budgets[path], -(2**40)) for path in cells]
    return np.array(known, np.int64).reshape(-1, 1), live


def circuit_of(core: ModuleType, p: Problem, cells: Lists, limbs: int = 1) -> tuple[dict, Cells]:
    """Write a circuit for the core; return also the lists of all trees of the root's cells."""
    budgets, live = budgets_of(p, cells)
    levels = []
    for k in range(p.levels + 1):
        keys: list[int] = []
        counts: list[int] = []
        stops = [0]
        for at, path in enumerate(cells):
            if len(path) != k:
                continue
            kept = [key for key in cells[path] if p.limit is None or p.cost(key) <= budgets[at, 0]]
            if live[at]:
                kept.sort(key=lambda key: (p.cost(key) if p.limit is not None else 0, key))
                keys += kept
                counts += [len(cells[path][key]) for key in kept]
            stops.append(len(keys))
        values = np.zeros((len(keys), limbs), np.uint64)
        values[:, 0] = counts
        costs = np.array([[p.cost(key)] * (p.limit is not None) for key in keys], np.int64)
        levels.append(
            core.Level(
                keys_array(p, keys),
                values,
                costs.reshape(len(keys), int(p.limit is not None)),
                np.array(stops[:-1], np.int64),
                np.array(stops[1:], np.int64),
            )
        )
    circuit = {
        "table": table_of(core, p.rows),
        "lattice": lattice_of(core, p.rows.n, p.levels, min(2, p.depth - p.levels)),
        "leaves": leaves_of(core, p),
        "multiplicity": np.array([len(some) for some in p.twins], np.int64),
        "counts": counts_of(p.rows, p.levels),
        "budgets": budgets,
        "live": live,
        "levels": levels if live[0] else [],
    }
    whole = {k: t for k, t in cells[()].items() if p.limit is None or p.cost(k) <= p.limit}
    return circuit, whole if live[0] else {}


def leaves_of(core: ModuleType, p: Problem) -> Any:
    key_weights = [p.scale * 64 * int(w) for w in p.weights.ravel()]
    shape = p.weights.shape if p.scale == 1 else (*p.weights.shape, 2)
    functionals = int(p.limit is not None)
    return core.Leaves(
        key_weights=keys_array(p, key_weights).reshape(shape),
        key_constant=p.scale,
        cost_weights=np.array([p.weights] * functionals, np.int64).reshape(-1, *p.weights.shape),
        cost_constants=np.zeros(functionals, np.int64),
        group_label=np.array(p.rule.group_label, np.int64),
        minsup=p.rule.minsup,
        majority=p.rule.majority,
        trivial_splits=p.trivial_splits,
        dense=True,
        most_leaves=2**p.depth,
        share_top=p.rule.share.numerator,
        share_bottom=p.rule.share.denominator,
    )

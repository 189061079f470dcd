"""Trees by number and numbers of trees, against lists of all trees in plain Python."""

import itertools
import math
from collections import defaultdict
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from small_tables import (
    CORES,
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
_ROOM = 2**28


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


Lists = dict[Path, dict[int, list[Tree]]]


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


def cursor_of(
    core: ModuleType, p: Problem, cells: Lists, most_bytes: int = _ROOM, limbs: int = 1
) -> tuple:
    """Make the core's cursor; return also the lists of all trees of the root's cells."""
    n, rows = p.rows.n, p.rows
    rest = min(2, p.depth - p.levels)
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
            keys += kept if live[at] else []
            counts += [len(cells[path][key]) for key in kept] if live[at] else []
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
    names = [name for some in p.twins for name in some]
    cursor = core.Cursor(
        table=table_of(core, rows),
        lattice=lattice_of(core, n, p.levels, rest),
        leaves=leaves_of(core, p),
        multiplicity=np.array([len(some) for some in p.twins], np.int64),
        counts=counts_of(rows, p.levels),
        budgets=budgets,
        live=live,
        levels=levels if live[0] else [],
        twin_starts=np.array([0, *itertools.accumulate(map(len, p.twins))], np.int64),
        twin_features=np.array([f for f, _ in names], np.int64),
        twin_flipped=np.array([flipped for _, flipped in names], bool),
        most_bytes=most_bytes,
    )
    whole = {k: t for k, t in cells[()].items() if p.limit is None or p.cost(k) <= p.limit}
    return cursor, whole if live[0] else {}


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


def written(p: Problem, tree: Tree) -> list[int]:
    """Write a tree as the core does: original features, child 1 of these first."""
    if tree[0] == "leaf":
        return [-1 - tree[1]]
    f, twin, t1, t0 = tree
    name, flipped = p.twins[f][twin]
    first, second = (t0, t1) if flipped else (t1, t0)
    return [name, *written(p, first), *written(p, second)]


def measured(p: Problem, tree: Tree, path: Path = ()) -> list[tuple[int, int, int]]:
    """Write a tree with distinct features, twins and keys."""
    if tree[0] == "leaf":
        return [(-1 - tree[1], 0, p.leaf(tree[1], p.rows.counts(path))[0])]
    f, twin, t1, t0 = tree
    one, zero = children(path, f)
    ones, zeros = measured(p, t1, one), measured(p, t0, zero)
    return [(f, twin, ones[0][2] + zeros[0][2]), *ones, *zeros]


def found_trees(core: ModuleType, p: Problem, cursor: Any, keys: list[int], ranks: list[int]):
    limbs = np.zeros((len(ranks), cursor.limbs), np.uint64)
    limbs[:, 0] = ranks
    starts, codes = cursor.unrank(keys_array(p, keys), limbs, core.Control())
    return [codes[a:b].tolist() for a, b in itertools.pairwise(starts.tolist())]


def check(
    core: ModuleType, p: Problem, lists: Lists, most_bytes: int = _ROOM, limbs: int = 1
) -> int:
    cursor, cells = cursor_of(core, p, lists, most_bytes, limbs)
    numbered = [(key, rank) for key, trees in cells.items() for rank in range(len(trees))]
    every = [tree for trees in cells.values() for tree in trees]
    some = range(0, len(every), max(1, len(every) // 400))
    # in an order that has nothing to do with that of the trees
    mixed = sorted(some, key=lambda at: at * 7919 % 1009)
    trees = found_trees(
        core, p, cursor, [numbered[at][0] for at in mixed], [numbered[at][1] for at in mixed]
    )
    assert trees == [written(p, every[at]) for at in mixed]
    for at in mixed[:60]:
        codes, twins, keys = zip(*measured(p, every[at]), strict=True)
        rank = cursor.rank(
            np.array(codes, np.int64), np.array(twins, np.int64), keys_array(p, list(keys))
        )
        assert rank == [numbered[at][1]] + [0] * (limbs - 1)
    return len(every)


@pytest.mark.parametrize("core", CORES)
def test_all_numbers_lead_to_the_trees_of_a_list_and_back(core):
    sizes = [check(core, *known(seed)) for seed in range(40)]
    assert sum(size > 100 for size in sizes) >= 10  # worth the look


@pytest.mark.parametrize("core", CORES)
def test_wide_keys_lead_to_the_same_trees(core):
    for seed in range(20):
        check(core, *scaled(seed, 2**70 + 1))
        if seed < 6:
            check(core, *scaled(seed, -(2**70)))


@pytest.mark.parametrize("core", CORES)
@pytest.mark.parametrize("limbs", [2, 3])
def test_numbers_of_several_limbs(core, limbs):
    for seed in range(20):
        check(core, *known(seed), limbs=limbs)


@pytest.mark.parametrize("core", CORES)
def test_a_cursor_without_room_finds_the_same(core):
    for seed in range(20):
        check(core, *known(seed), most_bytes=0)


def stepped(p: Problem, cursor: Any, at: tuple, key: int, count: int | None = None) -> list[Tree]:
    """List a cell by going down step by step; ``count`` tells if there are only leaves."""
    found: list[Tree] = [("leaf", label) for label in cursor.labels(at, key)]
    if len(found) == count:
        return found
    columns = [column.tolist() for column in cursor.splits(at, key)]
    for f, key1, [count1], key0, [count0] in zip(*columns, strict=True):
        ones = stepped(p, cursor, cursor.child(at, f, False), key1, count1)
        zeros = stepped(p, cursor, cursor.child(at, f, True), key0, count0)
        assert (len(ones), len(zeros)) == (count1, count0)
        for t1, t0 in itertools.product(ones, zeros):
            if p.trivial_splits or t1 != t0 or t1[0] != "leaf":
                found += [(f, twin, t1, t0) for twin in range(len(p.twins[f]))]
    return found


@pytest.mark.parametrize("core", CORES)
@pytest.mark.parametrize("limit", [None, 6])
def test_cells_taken_apart_step_by_step(core, limit):
    """What `labels` and `splits` tell, put together, are the trees of the cell."""
    rng = np.random.default_rng(4)
    for _ in range(12):
        p = problem(rng, limit=limit)
        cursor, cells = cursor_of(core, p, listed(p))

        for key, expected in list(cells.items())[:20]:
            if len(expected) < 3000:
                assert stepped(p, cursor, (0, -1, -1), key) == expected


@pytest.mark.parametrize("core", CORES)
def test_what_the_circuit_does_not_hold_is_refused(core):
    rule = Rule((0, 1), 2, 1, majority=False, share=Fraction(0))
    p = problem(np.random.default_rng(1), depth=3, rule=rule, limit=None)
    rows = random_rows(np.random.default_rng(3), p.rows.n, 16, 2, 1)
    p = replace(p, rows=rows, weights=np.array([[0, 1], [1, 0]]))
    cursor, cells = cursor_of(core, p, listed(p))
    key, trees = max(cells.items(), key=lambda cell: len(cell[1]))
    for wanted, rank in ((key, len(trees)), (max(cells) + 64, 0)):
        with pytest.raises(IndexError, match="no such tree"):
            found_trees(core, p, cursor, [wanted], [rank])
    with pytest.raises(ValueError, match="do not belong to the keys"):
        cursor.unrank(np.array([key]), np.zeros((2, 1), np.uint64), core.Control())
    with pytest.raises(ValueError, match="not as wide"):
        cursor.unrank(np.zeros((1, 2), np.int64), np.zeros((1, 1), np.uint64), core.Control())
    with pytest.raises(ValueError, match="of the tree"):
        cursor.rank(np.array([0, -1]), np.array([0, 0]), np.array([key, key]))
    with pytest.raises(ValueError, match="no such place"):
        cursor.labels((10**9, -1, -1), key)
    stopped = core.Control()
    stopped.cancel()
    with pytest.raises(core.Cancelled):
        cursor.unrank(np.array([key]), np.array([[len(trees) - 1]], np.uint64), stopped)


# --- rows sent down trees -------------------------------------------------------------------------


@pytest.mark.parametrize("core", CORES)
def test_rows_are_counted_where_they_arrive(core):
    for seed in range(30):
        rng = np.random.default_rng(seed)
        rows = random_rows(rng, 4, int(rng.integers(1, 200)), 3, int(rng.integers(1, 6)))
        if not rows.weight.any():
            continue

        def tree(depth: int, rng=rng) -> list[int]:
            if depth == 0 or rng.random() < 0.2:
                return [-1 - int(rng.integers(3))]
            return [int(rng.integers(4)), *tree(depth - 1), *tree(depth - 1)]

        def arrive(codes: list[int], path: Path, counts: np.ndarray, rows=rows) -> list[int]:
            code, *rest = codes
            if code < 0:
                counts[-1 - code] += rows.counts(path)
                return rest
            rest = arrive(rest, (*path, (code, False)), counts)
            return arrive(rest, (*path, (code, True)), counts)

        trees = [tree(4) for _ in range(20)]
        expected = np.zeros((20, 3, 3), np.int64)
        for codes, counts in zip(trees, expected, strict=True):
            assert arrive(codes, (), counts) == []
        starts = np.array([0, *itertools.accumulate(map(len, trees))], np.int64)
        codes = np.array(list(itertools.chain(*trees)), np.int64)
        found = core.route_rows(table_of(core, rows), starts, codes, 3, core.Control())
        assert np.array_equal(found, expected)


@pytest.mark.parametrize("core", CORES)
@pytest.mark.parametrize("codes", [[], [0], [0, -1], [-1, -1], [4, -1, -1], [0, -1, -4]])
def test_codes_that_are_no_tree_are_refused(core, codes):
    table = table_of(core, random_rows(np.random.default_rng(0), 4, 20, 2, 1))
    starts = np.array([0, len(codes)], np.int64)
    with pytest.raises(ValueError, match="do not make up trees"):
        core.route_rows(table, starts, np.array(codes, np.int64), 3, core.Control())

"""Trees by number and numbers of trees, against lists of all trees in plain Python."""

import itertools
from dataclasses import replace
from fractions import Fraction
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from small_circuits import (
    Lists,
    Problem,
    Tree,
    circuit_of,
    keys_array,
    known,
    listed,
    problem,
    scaled,
)
from small_tables import CORES, Path, Rule, children, random_rows, table_of

_ROOM = 2**28


def cursor_of(
    core: ModuleType, p: Problem, cells: Lists, most_bytes: int = _ROOM, limbs: int = 1
) -> tuple:
    """Make the core's cursor; return also the lists of all trees of the root's cells."""
    circuit, whole = circuit_of(core, p, cells, limbs)
    names = [name for some in p.twins for name in some]
    cursor = core.Cursor(
        **circuit,
        twin_starts=np.array([0, *itertools.accumulate(map(len, p.twins))], np.int64),
        twin_features=np.array([f for f, _ in names], np.int64),
        twin_flipped=np.array([flipped for _, flipped in names], bool),
        most_bytes=most_bytes,
    )
    return cursor, whole


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

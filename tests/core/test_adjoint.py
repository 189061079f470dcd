"""The backward pass of the core against lists of all trees in plain Python."""

from collections import Counter
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from small_circuits import Lists, Problem, Tree, circuit_of, known, scaled
from small_tables import CORES

MUCH = 2**30
DIGITS = 2**64
MOST_TREES = 3000  # that are listed for one example


@dataclass
class Sums:
    """What the listed trees do, by weight."""

    votes: Counter = field(default_factory=Counter)  # (row, label)
    uses: Counter = field(default_factory=Counter)  # (depth, distinct feature)
    leaves: Counter = field(default_factory=Counter)  # (depth, label)
    events: Counter = field(default_factory=Counter)  # (literals, label)


def value(p: Problem, row: list[int], f: int, twin: int) -> int:
    """Return the value of a distinct feature by one of the original ones behind it."""
    original, flipped = p.twins[f][twin]
    return row[original] ^ flipped


def add_tree(p: Problem, tree: Tree, rows: dict, sums: Sums, *, weight: Any, path=()) -> None:
    if tree[0] == "leaf":
        sums.leaves[len(path), tree[1]] += weight
        sums.events[frozenset(path), tree[1]] += weight
        for r in rows:
            sums.votes[r, tree[1]] += weight
        return
    f, twin, *sides = tree
    sums.uses[len(path), f] += weight
    for s, side in enumerate(sides):
        there = {r: row for r, row in rows.items() if value(p, row, f, twin) == 1 - s}
        add_tree(p, side, there, sums, weight=weight, path=(*path, 2 * f + s))


def expected(p: Problem, cells: dict, weights: dict, rows: list[list[int]]) -> Sums:
    sums = Sums()
    for key, weight in weights.items():
        for tree in cells[key]:
            add_tree(p, tree, dict(enumerate(rows)), sums, weight=weight)
    return sums


def original_rows(p: Problem, rng: np.random.Generator, mixed: int) -> list[list[int]]:
    """List the table's rows by original features, and some on which equal features differ."""
    n = sum(map(len, p.twins))
    rows = []
    for column in p.rows.columns.T.tolist():
        row = [0] * n
        for f, twins in enumerate(p.twins):
            for original, flipped in twins:
                row[original] = column[f] ^ flipped
        rows.append(row)
    return rows + rng.integers(0, 2, (mixed, n)).tolist()


def watch(backward: Any, p: Problem, rows: list[list[int]]) -> None:
    """Hand over the rows as the core wants them: clean ones as records, the others apart."""
    ones = [
        [sum(value(p, row, f, t) for t in range(len(p.twins[f]))) for f in range(p.rows.n)]
        for row in rows
    ]
    clean = [
        all(x in (0, len(p.twins[f])) for f, x in enumerate(counted)) for counted in ones
    ]  # fmt: skip
    records = [
        [sum((x > 0) << f for f, x in enumerate(counted))]
        for counted, good in zip(ones, clean, strict=True)
        if good
    ]
    mixed = [counted for counted, good in zip(ones, clean, strict=True) if not good]
    backward.watch(
        np.array(records, np.uint64).reshape(-1, 1),
        np.flatnonzero(clean),
        np.ascontiguousarray(np.array(mixed, np.int64).reshape(-1, p.rows.n).T),
        np.flatnonzero(~np.array(clean, bool)),
        len(rows),
        True,
    )


def run(backward: Any, levels: int, core: ModuleType) -> None:
    """Run all jobs, the last one of each stage first."""
    control = core.Control()

    def jobs(paths: int) -> list[tuple[int, int, int]]:
        return [(job, at, min(at + 3, paths)) for job, at in enumerate(range(0, paths, 3))][::-1]

    for level in range(levels - 1):
        for job in jobs(backward.open(level)):
            backward.fill(level, *job, control)
        backward.close(level)
    for level in range(levels):
        for job in jobs(backward.start_visits(level)):
            backward.visit(level, *job, control)


def numbers(words: np.ndarray) -> np.ndarray:
    """Read limbs as Python integers; floats stay."""
    if words.dtype == np.float64:
        return words[..., 0]
    total = np.zeros(words.shape[:-1], object)
    for place in range(words.shape[-1]):
        total += words[..., place].astype(object) << (64 * place)
    return total


def found(backward: Any) -> Sums:
    def counted(array: np.ndarray) -> Counter:
        return Counter({at: x for at, x in np.ndenumerate(array) if x})

    uses, leaves = (numbers(words) for words in backward.tally())
    sums = Sums(counted(numbers(backward.totals()).T), counted(uses), counted(leaves))
    starts, literals, labels, words = backward.events()
    for at, (label, weight) in enumerate(zip(labels.tolist(), numbers(words), strict=True)):
        path = literals[starts[at] : starts[at + 1]].tolist()
        assert len(set(path)) == len(path)
        sums.events[frozenset(path), label] += weight
    return sums


def pass_over(core, drawn: tuple[Problem, Lists], weights: dict, rows, *, limbs: int, widths=1):
    p, lists = drawn
    circuit, _ = circuit_of(core, p, lists, widths)
    backward = core.Backward(**circuit, limbs=limbs, most_bytes=MUCH)
    watch(backward, p, rows)
    root = circuit["levels"][0]
    keys = [key for key in root.keys.tolist()] if root.keys.ndim == 1 else wide(root.keys)
    each = [weights.get(key, 0) for key in keys]
    if limbs:
        words = [[w >> (64 * i) & (DIGITS - 1) for i in range(limbs)] for w in each]
        backward.begin(np.array(words, np.uint64).reshape(len(keys), limbs))
    else:
        backward.begin_real(np.array(each, np.float64))
    run(backward, p.levels + 1, core)
    return found(backward)


def wide(keys: np.ndarray) -> list[int]:
    return [high * DIGITS + low % DIGITS for low, high in keys.tolist()]


def check(core, p: Problem, lists: Lists, seed: int, *, heavy: int = 5, widths: int = 1) -> int:
    """Give some cells weights below ``heavy``; return how many trees have one."""
    rng = np.random.default_rng(seed)
    _, cells = circuit_of(core, p, lists)
    if not 0 < sum(map(len, cells.values())) <= MOST_TREES:
        return 0
    rows = original_rows(p, rng, 3)
    weights = {key: int(rng.integers(0, 5)) * (heavy // 4) for key in cells}
    total = sum(weight * len(cells[key]) for key, weight in weights.items())
    limbs = max(1, -(-total.bit_length() // 64))
    assert pass_over(core, (p, lists), weights, rows, limbs=limbs, widths=widths) == expected(
        p, cells, weights, rows
    )
    return sum(len(cells[key]) for key, weight in weights.items() if weight)


@pytest.mark.parametrize("core", CORES)
def test_all_sums_are_those_of_the_listed_trees(core):
    sizes = [check(core, *known(seed), seed) for seed in range(40)]
    assert sum(size > 100 for size in sizes) >= 6  # worth the look


@pytest.mark.parametrize("core", CORES)
@pytest.mark.parametrize("heavy", [2**64, 2**130])
def test_numbers_of_several_limbs(core, heavy):
    for seed in range(14):
        check(core, *known(seed), seed, heavy=heavy, widths=2)


@pytest.mark.parametrize("core", CORES)
def test_wide_keys(core):
    for seed in range(14):
        check(core, *scaled(seed, 2**70 + 1), seed)


@pytest.mark.parametrize("core", CORES)
def test_floats(core):
    for seed in range(14):
        p, lists = known(seed)
        rng = np.random.default_rng(seed)
        _, cells = circuit_of(core, p, lists)
        if not 0 < sum(map(len, cells.values())) <= MOST_TREES:
            continue
        rows = original_rows(p, rng, 3)
        weights = {key: float(rng.random()) for key in cells}
        sums = pass_over(core, (p, lists), weights, rows, limbs=0)
        listed = expected(p, cells, weights, rows)
        for name in ("votes", "uses", "leaves", "events"):
            mine, theirs = getattr(sums, name), getattr(listed, name)
            largest = max(theirs.values(), default=1)
            for at in mine.keys() | theirs.keys():
                assert mine[at] == pytest.approx(theirs[at], abs=1e-9 * largest)


def test_levels_agree_bit_by_bit():
    p, lists = known(5)
    _, cells = circuit_of(CORES[0].values[0], p, lists)
    rows = original_rows(p, np.random.default_rng(0), 3)
    weights = {key: 1 / (3 + at) for at, key in enumerate(cells)}
    first, *others = (pass_over(c.values[0], (p, lists), weights, rows, limbs=0) for c in CORES)
    assert all(other == first for other in others)


@pytest.mark.parametrize("core", CORES)
def test_little_memory_is_noticed(core):
    p, lists = known(next(seed for seed in range(40) if known(seed)[0].levels))
    circuit, _ = circuit_of(core, p, lists)
    backward = core.Backward(**circuit, limbs=1, most_bytes=8)
    with pytest.raises(core.OutOfMemory):
        backward.begin(np.ones((len(circuit["levels"][0].keys), 1), np.uint64))


@pytest.mark.parametrize("core", CORES)
def test_a_cancelled_pass_stops(core):
    seed = next(s for s in range(40) if known(s)[0].levels and circuit_of(core, *known(s))[1])
    circuit, _ = circuit_of(core, *known(seed))
    backward = core.Backward(**circuit, limbs=1, most_bytes=MUCH)
    backward.begin(np.ones((len(circuit["levels"][0].keys), 1), np.uint64))
    control = core.Control()
    control.cancel()
    with pytest.raises(core.Cancelled):
        backward.fill(0, 0, 0, backward.open(0), control)


@pytest.mark.parametrize("core", CORES)
def test_arrays_that_do_not_belong_together_are_refused(core):
    circuit, _ = circuit_of(core, *known(0))
    with pytest.raises(ValueError, match="do not belong together"):
        core.Backward(**{**circuit, "live": circuit["live"][:-1].copy()}, limbs=1, most_bytes=MUCH)
    backward = core.Backward(**circuit, limbs=1, most_bytes=MUCH)
    with pytest.raises(ValueError, match="not those of the root's cells"):
        backward.begin(np.ones((99, 1), np.uint64))
    with pytest.raises(ValueError, match="not those of the root's cells"):
        backward.begin_real(np.ones(len(circuit["levels"][0].keys)))
    with pytest.raises(ValueError, match="no such level"):
        backward.open(9)

"""Large tensors: products parted by key give what a plain dictionary gives."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adtc.engine.kernels import parted
from adtc.engine.kernels.cells import Cells, add_cell, find, new_cells, new_table, take_from
from adtc.engine.wide import counts_of

MOST = np.int64(10**6)


def cells(rng: np.random.Generator, n: int, limbs: int, costs: int, spread: int) -> Cells:
    """Make a list of cells with distinct keys, as a circuit has them: sorted by first cost."""
    keys = rng.choice(np.arange(-spread, spread), n, replace=False).astype(np.int64)
    # equal keys must have equal costs: they are linear in the key, the first one coarse
    cost = np.array([keys * (d + 1) // (10 if d == 0 else 1) for d in range(costs)], np.int64)
    cost = cost.reshape(costs, n).T.copy()
    order = np.argsort(cost[:, 0], kind="stable") if costs else np.arange(n)
    values = rng.integers(1, 2**63, (n, limbs), dtype=np.uint64)
    values[:, -1] >>= np.uint64(60)  # so that sums of products stay below 2**(64 · limbs)
    if limbs > 1:
        values[:, 1:] = 0
    return Cells(keys[order], values[order], cost[order])


@st.composite
def problems(draw: st.DrawFn) -> tuple[Cells, np.ndarray, np.ndarray, Cells, int]:
    """Draw lists, pairs of them, budgets and a table with a few cells."""
    limbs, costs = draw(st.integers(1, 2)), draw(st.integers(0, 2))
    spread = draw(st.sampled_from([40, 10**5, 2**40]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    sizes = [int(n) for n in rng.integers(1, 30, 2 * draw(st.integers(1, 4)))]
    if spread > 10**6:
        lists = [cells(rng, n, limbs, costs, 10**5) for n in sizes]
        lists = [Cells(some.keys * 2**22, some.values, some.costs) for some in lists]
    else:
        lists = [cells(rng, n, limbs, costs, spread) for n in sizes]
    below = Cells(*(np.concatenate(columns) for columns in zip(*lists, strict=True)))
    ends = np.cumsum([0, *sizes])
    pairs = [
        [ends[k], ends[k + 1], ends[k + 1], ends[k + 2], k // 2] for k in range(0, len(sizes), 2)
    ]
    b = rng.integers(-spread // 10, spread // 5 + 1, costs).astype(np.int64)
    h = new_table(np.int64(256), limbs, costs)
    size = np.int64(0)
    for _ in range(draw(st.integers(0, 3))):
        size = add_cell(h, size, rng.integers(-9, 9), np.uint64(5), np.zeros(costs, np.int64))
    return below, np.array(pairs, np.int64), b, h, int(size)


def number(limbs: np.ndarray) -> int:
    return sum(int(limb) << 64 * i for i, limb in enumerate(limbs))


def expected(below: Cells, pairs: np.ndarray, b: np.ndarray, h: Cells, factors) -> Counter:
    total: Counter = Counter()
    modulus = 2 ** (64 * below.values.shape[1])
    for key, value in zip(h.keys.tolist(), h.values, strict=True):
        if key != -(2**63):
            total[key] += number(value)
    for start1, stop1, start0, stop0, f in pairs.tolist():
        for i in range(start1, stop1):
            for j in range(start0, stop0):
                if np.all(below.costs[i] + below.costs[j] <= b):
                    product = number(below.values[i]) * number(below.values[j])
                    total[int(below.keys[i] + below.keys[j])] += int(factors[f]) * product
    return Counter({key: n % modulus for key, n in total.items() if n % modulus})


def found(pool: Cells, start: int, stop: int) -> dict[int, int]:
    keys = pool.keys[start:stop].tolist()
    assert keys == sorted(set(keys))
    return dict(zip(keys, counts_of(pool.values[start:stop]), strict=True))


@given(problems(), st.integers(0, 3))
@settings(max_examples=60)
def test_products_parted_by_key_are_all_products(problem, start):
    below, pairs, b, h, size = problem
    limbs, costs = below.values.shape[1], below.costs.shape[1]
    factors = np.arange(1, 5)
    pool, stop, looked, _ = parted.append_large(
        h, size, pairs, pairs[0, 0], below, factors, b, MOST,
        new_cells(np.int64(4), limbs, costs), np.int64(start), new_cells(np.int64(1), limbs, costs),
    )  # fmt: skip
    assert found(pool, start, stop) == expected(below, pairs, b, h, factors)
    if not costs:
        assert looked == sum((p[1] - p[0]) * (p[3] - p[2]) for p in pairs.tolist())
    for key, cost in zip(pool.keys[start:stop], pool.costs[start:stop], strict=True):
        assert h.keys[find(h.keys, key)] == key or (cost <= b).all()


@given(problems(), st.integers(1, 200))
@settings(max_examples=60)
def test_several_sweeps_give_the_same(problem, room):
    below, pairs, b, h, _ = problem
    limbs, costs = below.values.shape[1], below.costs.shape[1]
    factors = np.arange(1, 5)
    bins, _ = parted._count_bins(h, pairs, pairs[0, 0], below, b)
    room = np.int64(max(room, bins.count.max()))
    pool, stop = parted._append_parted(
        h, pairs, pairs[0, 0], below, factors, b, bins, MOST,
        new_cells(np.int64(1), limbs, costs), np.int64(0), new_cells(room, limbs, costs),
    )  # fmt: skip
    assert found(pool, 0, stop) == expected(below, pairs, b, h, factors)


def test_cells_that_cancel_are_left_out():
    one = cells(np.random.default_rng(0), 3, 2, 0, 20)
    below = Cells(*(np.concatenate([column, column]) for column in one))
    below.values[:] = (1, 0)
    pairs = np.array([[0, 3, 3, 6, 0]], np.int64)
    h = new_table(np.int64(256), np.int64(2), np.int64(0))
    key = 2 * below.keys[1]
    size = add_cell(h, np.int64(0), key, np.uint64(0), np.zeros(0, np.int64))
    take_from(h.values[find(h.keys, key)], np.uint64(1))  # before it is given
    none, no_cells = np.zeros(0, np.int64), new_cells(np.int64(1), np.int64(2), np.int64(0))
    pool, stop, *_ = parted.append_large(
        h, size, pairs, pairs[0, 0], below, np.ones(1, np.int64), none, MOST, no_cells,
        np.int64(0), no_cells,
    )  # fmt: skip
    left = found(pool, 0, stop)
    assert left == expected(below, pairs, none, h, np.ones(1, np.int64))
    assert key not in left
    assert sum(left.values()) == 8


@pytest.mark.parametrize("rows", [0, 2, 3])
def test_going_on_in_the_middle_of_a_list(rows):
    rng = np.random.default_rng(1)
    one, two = cells(rng, 3, 1, 1, 50), cells(rng, 4, 1, 1, 50)
    below = Cells(*(np.concatenate(columns) for columns in zip(one, two, strict=True)))
    h = new_table(np.int64(256), np.int64(1), np.int64(1))
    b, factors = np.array([6]), np.ones(1, np.int64)
    pool, stop, *_ = parted.append_large(
        h, np.int64(0), np.array([[0, 3, 3, 7, 0]]), np.int64(rows), below, factors, b, MOST,
        new_cells(np.int64(1), np.int64(1), np.int64(1)), np.int64(0),
        new_cells(np.int64(1), np.int64(1), np.int64(1)),
    )  # fmt: skip
    rest = np.array([[rows, 3, 3, 7, 0]])
    assert found(pool, 0, stop) == expected(below, rest, b, h, factors)


def test_too_many_cells_are_refused():
    below = cells(np.random.default_rng(2), 40, 1, 0, 10**4)
    pairs = np.array([[0, 20, 20, 40, 0]], np.int64)
    h = new_table(np.int64(256), np.int64(1), np.int64(0))
    spare = new_cells(np.int64(1), np.int64(1), np.int64(0))
    _, stop, *_ = parted.append_large(
        h, np.int64(0), pairs, np.int64(0), below, np.ones(1, np.int64), np.zeros(0, np.int64),
        np.int64(100), spare, np.int64(0), spare,
    )  # fmt: skip
    assert stop == -1

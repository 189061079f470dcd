"""The tensors of the native core against plain Python: every cell, at every instruction-set level.

Budgets and live paths are drawn at random, so the twins below need no outside pass: a tensor of the
last level holds the trees of depth at most 2 within the path's budgets, one above it what its
children's tensors multiply to.
"""

import itertools
import math
from collections import Counter
from dataclasses import dataclass, field

import numpy as np
import pytest

from adtc._core import available_levels, load_level

CORES = [load_level(level) for level in available_levels()]
MUCH = 2**40  # bytes


@pytest.fixture(params=CORES, ids=lambda core: core.LEVEL)
def core(request):
    """Return the core of one instruction-set level."""
    return request.param


@dataclass
class Problem:
    """A small table, its lattice, and what leaves are worth; numbers are Python's."""

    X: list[list[int]]  # [row][feature]
    group: list[int]  # [row]
    weight: list[int]  # [row]
    group_label: list[int]
    labels: int
    depth: int
    minsup: int = 1
    majority: bool = False
    share: tuple[int, int] = (0, 1)
    trivial_splits: bool = True
    dense: bool = True
    key_weights: list[list[int]] = field(default_factory=list)  # [label][group]
    key_constant: int = 0
    cost_weights: list[list[list[int]]] = field(default_factory=list)  # [functional][label][group]
    cost_constants: list[int] = field(default_factory=list)
    multiplicity: list[int] = field(default_factory=list)
    wide: bool = False

    @property
    def n(self) -> int:
        return len(self.X[0])

    @property
    def levels(self) -> int:
        return min(max(0, self.depth - 2), self.n)

    @property
    def rest(self) -> int:
        return min(2, self.depth - self.levels)

    def rows(self, path):
        """List the rows of a path, given as (feature, negative)."""
        return [r for r, row in enumerate(self.X) if all(row[f] != neg for f, neg in path)]

    def counts(self, rows):
        found = [0] * len(self.group_label)
        for r in rows:
            found[self.group[r]] += self.weight[r]
        return found

    def leaf_labels(self, counts):
        support = sum(counts)
        votes = [sum(c for c, y in zip(counts, self.group_label, strict=True) if y == label)
                 for label in range(self.labels)]  # fmt: skip
        top, bottom = self.share
        return [
            label
            for label in range(self.labels)
            if support >= self.minsup
            and (not self.majority or label == votes.index(max(votes)))
            and votes[label] * bottom >= support * top
        ]

    def leaf(self, label, counts):
        """Return a leaf's key and costs."""
        dot = lambda weights: sum(w * c for w, c in zip(weights, counts, strict=True))  # noqa: E731
        costs = (
            constant + dot(weights[label])
            for weights, constant in zip(self.cost_weights, self.cost_constants, strict=True)
        )
        return self.key_constant + dot(self.key_weights[label]), tuple(costs)

    def leaves(self, path):
        counts = self.counts(self.rows(path))
        return [(label, *self.leaf(label, counts)) for label in self.leaf_labels(counts)]

    def trees(self, path, depth):
        """Count the trees of a depth or less below a path by (key, costs)."""
        found = Counter((key, cost) for _, key, cost in self.leaves(path))
        for f in range(self.n) if depth else ():
            if any(f == g for g, _ in path):
                continue
            ones, zeros = (self.trees([*path, (f, neg)], depth - 1) for neg in (False, True))
            for (one, a), (zero, b) in itertools.product(ones.items(), zeros.items()):
                found[added(one, zero)] += a * b * self.multiplicity[f]
            self.drop_trivial(found, path, f)
        return +found

    def drop_trivial(self, found, path, f, budgets=None):
        if self.trivial_splits:
            return
        ones, zeros = (self.leaves([*path, (f, neg)]) for neg in (False, True))
        for (p, *one), (q, *zero) in itertools.product(ones, zeros):
            cell = added(tuple(one), tuple(zero))
            if p == q and (budgets is None or fits(cell[1], budgets)):
                found[cell] -= self.multiplicity[f]

    # --- as the core wants it ----------------------------------------------------------------

    def keys(self, numbers):
        """Write integers as int64 [n], or as [n, 2] where keys are wide."""
        if not self.wide:
            return np.array(numbers, np.int64)
        words = [[as_signed(k & (2**64 - 1)), k >> 64] for k in np.ravel(np.array(numbers, object))]
        return np.array(words, np.int64).reshape(*np.shape(np.array(numbers, object)), 2)

    def native_leaves(self, core):
        groups = len(self.group_label)
        return core.Leaves(
            self.keys(self.key_weights), self.key_constant,
            np.array(self.cost_weights, np.int64).reshape(-1, self.labels, groups),
            np.array(self.cost_constants, np.int64), np.array(self.group_label, np.int64),
            self.minsup, self.majority, self.trivial_splits, self.dense, 2**self.depth, *self.share,
        )  # fmt: skip

    def native_table(self, core):
        groups, bits = len(self.group_label), max(self.weight).bit_length()
        planes = [
            (g, b, rows)
            for g in range(groups)
            for b in range(bits)
            if (rows := [r for r, h in enumerate(self.group) if h == g and self.weight[r] >> b & 1])
        ]  # fmt: skip
        words, offsets = [[] for _ in range(self.n)], [0]
        for _, _, rows in planes:
            for f in range(self.n):
                for start in range(0, len(rows), 64):
                    block = rows[start : start + 64]
                    words[f].append(sum(self.X[r][f] << i for i, r in enumerate(block)))
            offsets.append(offsets[-1] + -(-len(rows) // 64))
        return core.Table(
            np.array(words, np.uint64).reshape(self.n, -1), np.array(offsets, np.int64),
            np.array([len(rows) for *_, rows in planes], np.int64),
            np.array([g for g, *_ in planes], np.int64),
            np.array([b for _, b, _ in planes], np.int64),
            np.array(self.counts(range(len(self.X))), np.int64),
        )  # fmt: skip

    def native_lattice(self, core):
        sizes = [math.comb(self.n, k) << k for k in range(self.levels + 1)]
        binomial = [[math.comb(i, j) for j in range(self.levels + 3)] for i in range(self.n + 2)]
        base = [sum(sizes[:k]) for k in range(self.levels + 1)]
        return core.Lattice(
            np.array(binomial, np.int64), np.array(base, np.int64), self.n, self.levels, self.rest
        )

    def paths(self, length):
        """List all paths of a length in the order of their numbers."""
        sets = sorted(
            itertools.combinations(range(self.n), length),
            key=lambda fs: sum(math.comb(f, i + 1) for i, f in enumerate(fs)),
        )
        return [
            [(f, bool(signs >> i & 1)) for i, f in enumerate(fs)]
            for fs in sets
            for signs in range(1 << length)
        ]


def as_signed(word):
    return word - 2**64 if word >= 2**63 else word


def added(one, zero):
    return one[0] + zero[0], tuple(a + b for a, b in zip(one[1], zero[1], strict=True))


def fits(cost, budgets):
    return all(c <= b for c, b in zip(cost, budgets, strict=True))


def read(arrays, starts, stops, *, costs=True):
    """Return the tensors that arrays hold as Counters, and check that they are sorted."""
    keys, values, cost = arrays
    if keys.ndim == 1:
        keys = keys.tolist()
    else:
        keys = [high * 2**64 + low % 2**64 for low, high in keys.tolist()]
    numbers = [sum(limb << (64 * i) for i, limb in enumerate(row)) for row in values.tolist()]
    tensors = []
    for start, stop in zip(starts.tolist(), stops.tolist(), strict=True):
        cells = [(keys[i], tuple(cost[i].tolist()) if costs else ()) for i in range(start, stop)]
        order = [(c[:1], k) for k, c in cells]
        assert order == sorted(order)
        assert len({k for k, _ in cells}) == len(cells)
        tensors.append(Counter(dict(zip(cells, numbers[start:stop], strict=True))))
    return tensors


def random_problem(rng, **more):
    labels, groups = int(rng.integers(2, 4)), int(rng.integers(2, 5))
    n, rows = int(rng.integers(1, 5)), int(rng.integers(4, 70))
    functionals = int(rng.integers(0, 4))
    group_label = [int(rng.integers(labels)) for _ in range(groups)]
    costs = rng.integers(-2, 4, (functionals, labels, groups))
    if functionals:
        costs[:, 0] = 0  # in a budget's form label 0 costs nothing
    # keys tell costs apart: each is an axis, besides one of its own
    forms = [rng.integers(-3, 4, (labels, groups)), *costs]
    constants = [int(rng.integers(-2, 3)), *rng.integers(-1, 3, functionals).tolist()]
    base = 2**40 if more.get("wide") else 10**4
    chosen = {
        "X": rng.integers(0, 2, (rows, n)).tolist(),
        "group": rng.integers(0, groups, rows).tolist(),
        "weight": rng.integers(1, 4, rows).tolist(),
        "group_label": group_label,
        "labels": labels,
        "depth": int(rng.integers(0, 5)),
        "minsup": int(rng.integers(0, 5)),
        "majority": bool(rng.integers(2)),
        "share": [(0, 1), (0, 1), (1, 2), (2, 5)][int(rng.integers(4))],
        "trivial_splits": bool(rng.integers(2)),
        "dense": bool(rng.integers(2)),
        "key_weights": sum(form.astype(object) * base**i for i, form in enumerate(forms)).tolist(),
        "key_constant": sum(c * base**i for i, c in enumerate(constants)),
        "cost_weights": costs.tolist(),
        "cost_constants": constants[1:],
        "multiplicity": rng.integers(1, 4, n).tolist(),
    }
    return Problem(**{**chosen, **more})


def random_budgets(rng, problem, paths):
    """Draw budgets around what trees cost."""
    found = []
    for path in paths:
        support = sum(problem.counts(problem.rows(path)))
        found.append(
            rng.integers(-support - 2, 2 * support + 3, len(problem.cost_constants)).tolist()
        )
    return found


def last_level(core, problem, budgets, limbs):
    """Make the last level: of paths of even numbers from pairs, of others as single leaves."""
    lattice, leaves = problem.native_lattice(core), problem.native_leaves(core)
    paths = problem.paths(problem.levels)
    base = int(lattice.base[-1])
    marked = np.zeros(base + len(paths), bool)
    marked[base::2] = True
    behind = np.zeros(len(marked), np.int64)
    core.lead_to_live(lattice, marked, behind)
    starts, stops = np.zeros(len(paths), np.int64), np.zeros(len(paths), np.int64)
    all_budgets = np.zeros((len(marked), len(problem.cost_constants)), np.int64)
    all_budgets[base:] = np.array(budgets, np.int64).reshape(len(paths), -1)
    counts = [
        problem.counts(problem.rows(p)) for k in range(problem.levels + 1) for p in problem.paths(k)
    ]
    pool = core.Pool(limbs, len(problem.cost_constants), problem.wide)
    core.fill_single(
        pool, 0, lattice, leaves, np.arange(1, len(paths), 2), np.array(counts, np.int64),
        all_budgets, starts, stops,
    )  # fmt: skip
    table, stop = problem.native_table(core), max(1, problem.n)
    multiplicity = np.array(problem.multiplicity, np.int64)
    for job in (2, 1):  # a job may be done before those in front of it
        middle = stop // 2
        first, end = (0, middle) if job == 1 else (middle, stop)
        core.fill_last(
            core.Control(), pool, job, table, lattice, leaves, multiplicity, first, end, behind > 0,
            all_budgets, MUCH, starts, stops,
        )  # fmt: skip
    return pool.release(), starts, stops


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("seed", range(80))
def test_last_level(core, seed, wide):
    rng = np.random.default_rng(seed)
    limbs = int(rng.integers(1, 4))
    problem = random_problem(rng, wide=wide)
    if not problem.levels:
        problem.depth = min(problem.depth, 2)
    paths = problem.paths(problem.levels)
    budgets = random_budgets(rng, problem, paths)
    if problem.levels == 0:  # the root is walked by whichever job; only one may take it
        arrays, starts, stops = single_root(core, problem, budgets, limbs)
    else:
        arrays, starts, stops = last_level(core, problem, budgets, limbs)
    for at, found in enumerate(read(arrays, starts, stops)):
        depth = 0 if at % 2 else problem.rest
        expected = problem.trees(paths[at], depth)
        expected = Counter({c: v for c, v in expected.items() if fits(c[1], budgets[at])})
        assert found == expected, (problem, paths[at], budgets[at])


def single_root(core, problem, budgets, limbs):
    pool = core.Pool(limbs, len(problem.cost_constants), problem.wide)
    starts, stops = np.zeros(1, np.int64), np.zeros(1, np.int64)
    core.fill_last(
        core.Control(), pool, 0, problem.native_table(core), problem.native_lattice(core),
        problem.native_leaves(core), np.array(problem.multiplicity, np.int64), 0, 1,
        np.ones(1, bool), np.array(budgets, np.int64).reshape(1, -1), MUCH, starts, stops,
    )  # fmt: skip
    return pool.release(), starts, stops


@pytest.mark.parametrize(
    ("multiplicity", "minsup", "constant", "wide"),
    [(1, 1, 0, False), (1, 9, 3, True), (300, 1, 0, False), (2**40, 15, -1, True)],
)
def test_histograms(core, multiplicity, minsup, constant, wide):
    """Of 16 bits and of more; with features beyond one vector."""
    rng = np.random.default_rng(5)
    X = rng.integers(0, 2, (50, 35))
    problem = Problem(
        X=X.tolist(), group=(X[:, 0] ^ (rng.random(50) < 0.2)).tolist(), weight=[1] * 50,
        group_label=[0, 1], labels=2, depth=2, minsup=minsup, trivial_splits=minsup > 1,
        key_weights=[[0, 1], [1, 0]], key_constant=constant, multiplicity=[multiplicity] * 35,
        wide=wide,
    )  # fmt: skip
    (found,) = read(*single_root(core, problem, [[]], 3 if multiplicity > 1000 else 1))
    assert found == problem.trees([], 2)


# --- levels above the last ----------------------------------------------------------------------


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("seed", range(40))
def test_level_above_the_last(core, seed, wide):
    rng = np.random.default_rng(seed)
    below_limbs, limbs = sorted(rng.integers(1, 4, 2).tolist())
    problem = random_problem(rng, wide=wide, depth=int(rng.integers(3, 5)))
    level = problem.levels - 1
    if level < 0:
        return
    below, above = problem.paths(level + 1), problem.paths(level)
    budgets = {k: random_budgets(rng, problem, problem.paths(k)) for k in range(level + 2)}
    arrays, starts, stops = last_level(core, problem, budgets[level + 1], below_limbs)
    tensors = read(arrays, starts, stops)
    lattice, functionals = problem.native_lattice(core), len(problem.cost_constants)
    live = rng.random(int(lattice.base[-1]) + len(below)) < 0.8
    every = [b for k in range(level + 2) for b in budgets[k]]
    counts = [problem.counts(problem.rows(p)) for k in range(level + 2) for p in problem.paths(k)]
    numbers = np.arange(len(above))
    pool = core.Pool(limbs, functionals if level else 0, wide)
    new_starts, new_stops = np.zeros(len(above), np.int64), np.zeros(len(above), np.int64)
    scanned = core.fill_level(
        core.Control(), pool, 0, lattice, level, numbers, problem.native_leaves(core),
        np.array(problem.multiplicity, np.int64), np.array(counts, np.int64), live,
        np.array(every, np.int64).reshape(len(every), -1), core.Level(*arrays, starts, stops), MUCH,
        new_starts, new_stops,
    )  # fmt: skip
    place = {tuple(path): at for at, path in enumerate(below)}
    pairs = 0
    found = read(pool.release(), new_starts, new_stops, costs=level > 0)
    for path, budget, tensor in zip(above, budgets[level], found, strict=True):
        cells = ((key, cost) for _, key, cost in problem.leaves(path))
        expected = Counter(cell for cell in cells if fits(cell[1], budget))
        for f in set(range(problem.n)) - {f for f, _ in path}:
            one, zero = (place[tuple(sorted([*path, (f, neg)]))] for neg in (False, True))
            if not live[lattice.base[-1] + one] or not live[lattice.base[-1] + zero]:
                continue
            for (c1, a), (c0, b) in itertools.product(tensors[one].items(), tensors[zero].items()):
                cell = added(c1, c0)
                pairs += fits(cell[1][:1], budget[:1])
                if fits(cell[1], budget):
                    expected[cell] += a * b * problem.multiplicity[f]
            # a trivial split is taken back whether or not its leaves were given: tell them apart
            if not problem.trivial_splits and not given(problem, path, f, tensors, place):
                break
            problem.drop_trivial(expected, path, f, budget)
        else:
            if level == 0:
                expected = Counter({(key, ()): v for (key, _), v in merged(expected).items()})
            assert tensor == Counter({c: v for c, v in expected.items() if v}), (problem, path)
    assert scanned == pairs or not problem.trivial_splits


def given(problem, path, f, tensors, place):
    """Tell whether the leaves on both sides of a feature are within their budgets."""
    for neg in (False, True):
        child = sorted([*path, (f, neg)])
        cells = [(key, cost) for _, key, cost in problem.leaves(child)]
        if not all(cell in tensors[place[tuple(child)]] for cell in cells):
            return False
    return True


def merged(tensor):
    """Add up cells of one key."""
    total = Counter()
    for (key, _), value in tensor.items():
        total[key, ()] += value
    return total


# --- products of large lists ----------------------------------------------------------------------


def product_of_two(
    core, lists, *, limbs, budgets=(), wide=False, dense=True, factor=1, most=MUCH, shares=1
):
    """Multiply two lists of (key, value, costs) as the root of a table with one feature does.

    Returns how many cells each of so many ranges of keys has.
    """
    functionals = len(budgets)
    least, most_key = (sum(end(k for k, *_ in cells) for cells in lists) for end in (min, max))
    problem = Problem(
        X=[[0], [1]], group=[0, 0], weight=[1, 1], group_label=[0], labels=2, depth=3, minsup=2**40,
        dense=dense, key_weights=[[least], [most_key]], cost_weights=[[[0]] * 2] * functionals,
        cost_constants=[0] * functionals, multiplicity=[factor], wide=wide,
    )  # fmt: skip
    lists = [sorted(cells, key=lambda c: (c[2][:1], c[0])) for cells in lists]
    cells = [*lists[0], *lists[1]]
    width = max(1, *(-(-v.bit_length() // 64) for _, v, _ in cells))
    values = [[v >> (64 * i) & (2**64 - 1) for i in range(width)] for _, v, _ in cells]
    below = core.Level(
        problem.keys([k for k, *_ in cells]), np.array(values, np.uint64),
        np.array([c for *_, c in cells], np.int64).reshape(len(cells), functionals),
        np.array([0, len(lists[0])]), np.array([len(lists[0]), len(cells)]),
    )  # fmt: skip
    pool = core.Pool(limbs, 0, wide)
    starts, stops = np.zeros(1, np.int64), np.zeros(1, np.int64)
    scanned, cells = 0, []
    for share in range(shares):
        scanned += core.fill_level(
            core.Control(), pool, share, problem.native_lattice(core), 0, np.zeros(1, np.int64),
            problem.native_leaves(core), np.array([factor]), np.full((3, 1), 1), np.ones(3, bool),
            np.array([budgets] * 3, np.int64).reshape(3, functionals), below,
            most if isinstance(most, int) else most[share], starts, stops, share, shares,
        )  # fmt: skip
        cells.append(int(stops[0]) - sum(cells))
    (found,) = read(pool.release(), starts, stops, costs=False)
    expected = Counter()
    looked = 0
    for (k1, v1, c1), (k0, v0, c0) in itertools.product(*lists):
        looked += not budgets or c1[0] + c0[0] <= budgets[0]
        if fits([a + b for a, b in zip(c1, c0, strict=True)], budgets):
            expected[k1 + k0, ()] += v1 * v0 * factor
    assert scanned == looked
    assert found == expected
    return cells


def cells_of(rng, n, keys, bits=20, functionals=0):
    """Draw a list of cells with distinct keys below a number."""
    chosen = sorted({int.from_bytes(rng.bytes(17), "little") % keys for _ in range(n)})
    return [
        (key, int.from_bytes(rng.bytes(bits // 8 + 1), "little") % 2**bits + 1,
         tuple(rng.integers(0, 50, functionals).tolist()))
        for key in chosen
    ]  # fmt: skip


@pytest.mark.parametrize(("limbs", "wide"), [(1, False), (2, False), (3, True)])
@pytest.mark.parametrize(
    ("keys", "budgets"),
    [
        (2**50, ()),  # range by range
        (2**50, (60,)),
        (2**50, (80, 80)),  # partitioned
        (2**50, (90, 80, 70)),
        (2**13, (60, 40)),  # few keys: hashed
        (2**13, (60,)),
    ],
)
def test_large_products(core, keys, budgets, limbs, wide):
    rng = np.random.default_rng(len(budgets))
    lists = [cells_of(rng, n, keys, 20, len(budgets)) for n in (250, 500)]
    product_of_two(core, lists, limbs=limbs, budgets=budgets, wide=wide, factor=3)


@pytest.mark.parametrize(("limbs", "wide"), [(1, False), (2, False), (3, True)])
def test_large_products_in_several_blocks(core, limbs, wide):
    """An array over so many keys is made in 4 to 12 blocks; some of their ends meet a key."""
    rng = np.random.default_rng(limbs)
    lists = [cells_of(rng, n, keys, 20) for n, keys in ((300, 2**12), (600, 2**18))]
    ends = [(k, 7, ()) for k in range(2**14 - 1, 2**18, 2**14)]
    lists[1] = list({k: (k, v, c) for k, v, c in [*lists[1], *ends]}.values())
    product_of_two(core, lists, limbs=limbs, wide=wide, factor=3)
    product_of_two(core, lists[::-1], limbs=limbs, wide=wide)


@pytest.mark.parametrize("numbers", [(1, False), (2, False), (3, True)])
@pytest.mark.parametrize(
    ("keys", "budgets", "divided"),
    [
        (2**50, (), True),  # range by range
        (2**50, (60,), True),
        (2**18, (), True),  # block by block
        (2**50, (80, 80), False),  # partitioned
        (300, (), None),  # a convolution, or one block
    ],
)
def test_large_products_in_shares(core, keys, budgets, divided, numbers):
    limbs, wide = numbers
    rng = np.random.default_rng(keys % 1009)
    lists = [cells_of(rng, n, keys, 20, len(budgets)) for n in (250, 500)]
    for most in (MUCH, [MUCH, *[60_000] * 4], [60_000, *[MUCH] * 4]):  # how, does not depend on it
        if most == MUCH or divided is None:
            cells = product_of_two(
                core, lists, limbs=limbs, budgets=budgets, wide=wide, shares=5, most=most
            )
    if divided is not None:
        assert [n > 0 for n in cells] == [True, *[divided] * 4]
    if divided and not budgets:
        assert max(cells) < 2 * min(cells)


def test_large_products_in_several_sweeps(core):
    """The sums, 1.6 MB, are within the memory; a sweep holds a quarter of that, no more."""
    rng = np.random.default_rng(2)
    lists = [cells_of(rng, n, 2**50, 20, 2) for n in (250, 500)]
    product_of_two(core, lists, limbs=1, budgets=(80, 80), most=3_000_000)


def test_many_products_of_few_keys_that_lie_far_apart(core):
    rng = np.random.default_rng(1)
    lists = [cells_of(rng, n, 2**19, 9, 2) for n in (300, 400)]
    lists[1].append((2**60, 1, (0, 0)))
    product_of_two(core, lists, limbs=1, budgets=(200, 200), most=5 * 10**6)


def test_products_beyond_the_memory(core):
    rng = np.random.default_rng(1)
    for budgets in ((), (200,), (200, 200)):
        lists = [cells_of(rng, 400, 2**50, 9, len(budgets)) for _ in range(2)]
        with pytest.raises(core.OutOfMemory):
            product_of_two(core, lists, limbs=1, budgets=budgets, most=10**5)


@pytest.mark.parametrize("bits", [10, 25, 31, 32, 33, 51, 52, 53, 63, 64, 65, 127, 128, 129, 400])
@pytest.mark.parametrize("dense", [False, True])
def test_dense_products_of_all_widths(core, bits, dense):
    rng = np.random.default_rng(bits)
    lists = [cells_of(rng, n, 500, bits) for n in (150, 300)]
    ones = [[(k, 2**bits - 1, c) for k, _, c in some] for some in lists]  # the largest there are
    limbs = -(-(2 * bits + 12) // 64)
    product_of_two(core, lists, limbs=limbs, dense=dense)
    product_of_two(core, ones, limbs=limbs, dense=dense, factor=5)


def test_dense_products_of_more_cells_than_a_lane_can_sum(core):
    every = [(k, 2**52 - 1, ()) for k in range(6000)]
    product_of_two(core, [every[:300], every[:5000]], limbs=2)


@pytest.mark.parametrize("power", [31, 32, 63, 64, 127, 128])
@pytest.mark.parametrize("dense", [False, True])
def test_products_that_just_reach_a_width_or_just_do_not(core, power, dense):
    half = power // 2
    for one, other in ((2**half, 2 ** (power - half)), (2**power - 1, 1), (2 ** (power - 1), 2)):
        lists = [[(0, one, ()), (1, one, ())], [(0, other, ()), (3, other, ())]]
        product_of_two(core, lists, limbs=power // 64 + 1, dense=dense)


@pytest.mark.parametrize("limit", [2**31, 2**32, 2**63, 2**64, 2**100])
def test_wide_keys_at_their_boundaries(core, limit):
    rng = np.random.default_rng(3)
    lists = [cells_of(rng, 60, 2 * limit) for _ in range(2)]
    lists = [[(k - limit + d, v, c) for k, v, c in some] for d, some in enumerate(lists)]
    lists[0] += [(limit, 1, ()), (limit - 1, 1, ()), (-limit - 1, 2, ())]
    lists = [list({k: (k, v, c) for k, v, c in some}.values()) for some in lists]
    product_of_two(core, lists, limbs=1, wide=True)


# --- the rest ------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(10))
def test_axis_columns(core, seed):
    rng = np.random.default_rng(seed)
    wide = bool(seed % 2)
    whole = [
        int.from_bytes(rng.bytes(14 if wide else 8), "little", signed=True) for _ in range(300)
    ]
    keys = [k >> int(rng.integers(1, 60)) for k in whole]
    low = min(keys) + seed % 3
    for stride, radix in ((1, 1), (1, 7), (3, 2**40), (2**31, 2**31), (2**62 - 1, 5)):
        column = core.axis_column(
            Problem([[0]], [], [], [], 1, 0, wide=wide).keys(keys), low, stride, radix, -4
        )
        assert column.tolist() == [(k - low) // stride % radix - 4 for k in keys]


def test_marked_cells(core):
    keys, values = np.arange(5), np.arange(10, dtype=np.uint64).reshape(5, 2)
    some, numbers = core.marked_cells(keys, values, np.array([1, 0, 0, 1, 1], bool))
    assert some.tolist() == [0, 3, 4]
    assert numbers.tolist() == [[0, 1], [6, 7], [8, 9]]
    wide, _ = core.marked_cells(values.astype(np.int64), values, np.zeros(5, bool))
    assert wide.shape == (0, 2)


def test_bounds_on_the_number_of_trees(core):
    problem = random_problem(
        np.random.default_rng(4), depth=4, minsup=1, majority=False, share=(0, 1)
    )
    problem.X = np.random.default_rng(1).integers(0, 2, (40, 3)).tolist()
    problem.group, problem.weight, problem.multiplicity = [0] * 40, [1] * 40, [1, 2, 1]
    lattice = problem.native_lattice(core)
    paths = problem.paths(2)
    arrays, starts, stops = last_level(
        core, problem, [[2**40] * len(problem.cost_constants)] * len(paths), 1
    )
    level = core.Level(*arrays, starts, stops)
    totals = core.tree_counts(level)
    assert totals.tolist() == [float(sum(t.values())) for t in read(arrays, starts, stops)]
    bounds, live = np.zeros(6), np.ones(int(lattice.base[-1]) + len(paths), bool)
    multiplicity = np.array(problem.multiplicity, np.int64)
    most = core.bound_level(
        lattice, 1, np.arange(6), problem.labels, multiplicity, live, totals, bounds
    )
    assert most == bounds.max()
    place = {tuple(path): at for at, path in enumerate(paths)}
    for bound, [(f, neg)] in zip(bounds, problem.paths(1), strict=True):
        pairs = [
            problem.multiplicity[g]
            * math.prod(totals[place[tuple(sorted([(f, neg), (g, side)]))]] for side in (0, 1))
            for g in range(3)
            if g != f
        ]  # fmt: skip
        assert bound == problem.labels + sum(pairs)


def test_a_stopped_run(core):
    problem = random_problem(np.random.default_rng(0), depth=3)
    for stop, error in (("cancel", core.Cancelled), ("late", core.OutOfTime)):
        control = core.Control()
        control.cancel() if stop == "cancel" else control.set_time_limit(0)
        pool, lattice = core.Pool(1, 0), problem.native_lattice(core)
        marked, starts = np.ones(1 + 2 * problem.n, bool), np.zeros(2 * problem.n, np.int64)
        problem.cost_weights, problem.cost_constants = [], []
        with pytest.raises(error):
            core.fill_last(
                control, pool, 0, problem.native_table(core), lattice, problem.native_leaves(core),
                np.array(problem.multiplicity, np.int64), 0, problem.n, marked,
                np.zeros((len(marked), 0), np.int64), MUCH, starts, starts.copy(),
            )  # fmt: skip


def test_arrays_that_do_not_belong_together(core):
    with pytest.raises(ValueError, match="belong together"):
        core.Level(np.zeros(3, np.int64), np.zeros((2, 1), np.uint64), np.zeros((3, 0), np.int64),
                   np.zeros(1, np.int64), np.zeros(1, np.int64))  # fmt: skip
    keys, none = np.zeros((2, 2), np.int64), np.zeros(0, np.int64)
    with pytest.raises(ValueError, match="belong together"):  # the constant needs wide keys
        core.Leaves(
            keys, 2**63, np.zeros((0, 2, 2), np.int64), none, keys[0], 1, False, True, True, 4
        )

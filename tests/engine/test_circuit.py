"""Every tensor of the circuit against a count of the trees below its path; wide numbers."""

import itertools
import math
from collections import Counter
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st

import adtc
import oracle
from adtc.algebra.semirings import COUNT
from adtc.engine import circuit as circuits
from adtc.engine import fast, levels
from adtc.engine.exact.limbs import counts_of, total_of
from adtc.engine.executors.parts import ranges
from adtc.engine.monitor import Monitor
from adtc.engine.query import ask, row_groups
from adtc.engine.switches import Switches
from adtc.engine.tensors import all_trees
from strategies import problems

NUMBERS = st.lists(st.integers(0, 9), max_size=12)
Literals = tuple[tuple[int, bool], ...]  # ascending (feature, negative)

SWITCHES = [
    Switches(),
    Switches(push=False),
    Switches(push=False, dense=False),
    Switches(combine=False, merge_features=False),
    Switches(merge_rows=True),
]
FORMULAS = [
    None,
    "error <= 2",
    "acc >= 0.6 and size <= 4",
    "dp <= 0.3 and error <= 4",
    "f1 >= 0.6",
    "error + 2 * size <= 8",
    "N11 > N01 or size = 2",
]


def data_of(table: oracle.Table) -> adtc.Data:
    return adtc.Data.from_arrays(
        table.rows, table.y, z=table.z, weights=table.weights, labels=range(table.n_labels)
    )


@st.composite
def results(draw):
    """Draw a question on a tiny table, with twins and complements, and answer it."""
    table, asked = draw(problems(max_rows=9, max_features=4, labels=(2,), groups=(2,)))
    data = data_of(table)
    doubled = draw(st.sampled_from([(), (0,), (0, 0)]))
    X = data.dense()
    X = np.concatenate([X, *(X[:, [f]] ^ (i & 1) for i, f in enumerate(doubled, 1))], axis=1)
    data = adtc.Data.from_arrays(X, table.y, z=table.z, weights=table.weights)
    space = adtc.Space(
        max_depth=asked.max_depth,
        minsup=max(asked.minsup, draw(st.integers(0, 1))),
        max_size=asked.max_size,
        labels=asked.labels,
        trivial_splits=asked.trivial_splits,
    )
    if data.total < space.minsup:
        space = adtc.Space(max_depth=2)
    where, switches = draw(st.sampled_from(FORMULAS)), draw(st.sampled_from(SWITCHES))
    note(f"{space} where={where!r} {switches}")
    question = ask(data, space, semiring=COUNT, metrics=["error"], where=where)
    return data, fast.run(question, data, switches=switches)


class Below:
    """Counts the trees below a path by their costs, from the definition of a tree."""

    def __init__(self, data: adtc.Data, circuit: circuits.Circuit) -> None:
        self.circuit, self.prepared = circuit, circuit.prepared
        self.space = self.prepared.plan.question.space
        self.data = data
        self.X = data.dense()
        keys, member = row_groups(data)
        place = {k: g for g, members in enumerate(self.prepared.plan.groups) for k in members}
        self.group = [place.get(keys[m], -1) for m in member.tolist()]
        self.forms = [budget.form for budget in self.prepared.plan.budgets]

    def leaves(self, rows: list[int]) -> Iterator[tuple[int, tuple[int, ...]]]:
        """List the labels a leaf may carry with the leaf's costs."""
        weights = self.data.weights
        if sum(int(weights[r]) for r in rows) < self.prepared.plan.question.minsup:
            return
        labels = range(len(self.data.labels))
        if self.space.labels == "majority":
            votes = [sum(int(weights[r]) for r in rows if self.data.y[r] == v) for v in labels]
            labels = [votes.index(max(votes))]
        for v in labels:
            yield (
                v,
                tuple(
                    form.per_leaf
                    + sum(
                        int(weights[r]) * form.weights[v][self.group[r]] for r in rows if weights[r]
                    )
                    for form in self.forms
                ),
            )

    def trees(self, rows: list[int], unused: frozenset[int], depth: int) -> Counter:
        """Count trees by (costs, label of the leaf or −1 for an inner node)."""
        found: Counter = Counter((costs, label) for label, costs in self.leaves(rows))
        if depth == 0:
            return found
        for f in unused:
            sides = [[r for r in rows if self.X[r, f] == v] for v in (1, 0)]
            ones, zeros = (self.trees(side, unused - {f}, depth - 1) for side in sides)
            for ((c1, l1), n1), ((c0, l0), n0) in itertools.product(ones.items(), zeros.items()):
                if self.space.trivial_splits or l1 != l0 or l1 < 0:
                    found[tuple(a + b for a, b in zip(c1, c0, strict=True)), -1] += n1 * n0
        return found

    def expected(self, path: Literals, node: int) -> int:
        """Count the trees below a path that are within all its budgets."""
        twins = self.prepared.features.twins
        rows = list(range(self.data.n_rows))
        unused = {twin.feature for some in twins for twin in some}
        for f, negative in path:
            twin = twins[f][0]
            rows = [r for r in rows if self.X[r, twin.feature] ^ twin.flipped == (not negative)]
            # a twin of a test on the path would leave one side empty; only minsup 0 allows that,
            # and then there are no twins
            unused -= {twin.feature for twin in twins[f]}
        limits = self.circuit.outside.budgets[node].tolist()
        counted = self.trees(rows, frozenset(unused), self.space.max_depth - len(path))
        return sum(
            n
            for (costs, _), n in counted.items()
            if all(c <= b for c, b in zip(costs, limits, strict=True))
        )

    def paths(self) -> Iterator[tuple[int, Literals, int]]:
        lattice = self.prepared.lattice
        for k in range(lattice.levels + 1):
            for features in itertools.combinations(range(len(self.prepared.features.twins)), k):
                rank = sum(math.comb(f, i + 1) for i, f in enumerate(features))
                for signs in range(1 << k):
                    path = tuple((f, bool(signs >> i & 1)) for i, f in enumerate(features))
                    yield k, path, (rank << k) + signs


@given(results())
@settings(max_examples=40)
def test_every_tensor_holds_the_trees_within_its_budgets(drawn):
    data, result = drawn
    circuit = result.circuit
    below = Below(data, circuit)
    if not circuit.levels:
        assert below.expected((), 0) == 0
        return
    for k, path, number in below.paths():
        node = int(circuit.prepared.lattice.base[k]) + number
        if not circuit.outside.live[node]:
            continue
        level = circuit.levels[k]
        part = slice(int(level.starts[number]), int(level.stops[number]))
        assert total_of(level.cells.values[part]) == below.expected(path, node), path
        keys = level.cells.keys[part].tolist()
        assert len(set(keys)) == len(keys)  # one cell per key
        if k or not circuit.prepared.lattice.levels:  # the root's costs are not kept
            assert (level.cells.costs[part] <= circuit.outside.budgets[node]).all()
        assert all(counts_of(level.cells.values[part]))  # no empty cell
        if k and circuit.prepared.plan.budgets:
            first = level.cells.costs[part, 0].tolist()
            assert first == sorted(first)  # products stop early because of this


@given(results())
@settings(max_examples=30)
def test_a_result_has_cells_of_the_root(drawn):
    _, result = drawn
    root = result.circuit.root
    assert set(result.keys.tolist()) <= set(root.keys.tolist())
    assert result.total == sum(result.tensor().values())


@given(results())
@settings(max_examples=60)
def test_a_root_in_shares_is_the_same(drawn):
    """However small the root is, which is made in one go otherwise."""
    prepared = drawn[1].circuit.prepared
    limits = [budget.limit for budget in prepared.plan.budgets]
    circuit = circuits.grow(prepared, limits, Monitor(threads=1))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(levels, "_LITTLE", -1)
        made = circuits.grow(prepared, limits, Monitor(threads=3))
    assert made.cell_scan == circuit.cell_scan
    for one, other in zip(made.levels, circuit.levels, strict=True):
        assert (one.starts.tolist(), one.stops.tolist()) == (
            other.starts.tolist(),
            other.stops.tolist(),
        )
        for array, expected in zip(one.cells, other.cells, strict=True):
            assert array.tolist() == expected.tolist()


# --- number width -----------------------------------------------------------------------------


def without_rows(n_features: int, n_labels: int) -> adtc.Data:
    """Make a table for minsup 0, where the number of trees does not depend on the rows."""
    X = np.arange(3 * n_features).reshape(3, n_features) % 5 % 2
    return adtc.Data.from_arrays(X, [0, 0, 0], labels=range(n_labels))


@pytest.mark.parametrize(
    ("depth", "n_features", "n_labels", "width"),
    [
        (3, 7, 57, 64),
        (3, 7, 58, 65),
        (4, 11, 2, 64),
        (4, 12, 2, 66),
        (6, 6, 2, 128),
        (5, 6, 6, 129),
        (5, 5, 40, 192),
        (5, 5, 41, 193),
        (6, 8, 2, 192),
    ],
)
def test_numbers_that_just_fit_and_just_do_not(depth, n_features, n_labels, width):
    expected = oracle.number_of_trees(n_labels, depth, n_features)
    assert expected.bit_length() == width
    data = without_rows(n_features, n_labels)
    space = adtc.Space(max_depth=depth, minsup=0)
    assert adtc.count(data, space, engine="fast") == expected
    assert all_trees(depth, n_features, n_labels) == expected


def test_wide_numbers_by_size():
    """Spread a number of 129 bits over the axis of size and put it together again."""
    data, space = without_rows(6, 6), adtc.Space(max_depth=5, minsup=0)
    tensor = adtc.model_tensor(data, space, ["size"], engine="fast")
    assert sum(tensor.values()) == oracle.number_of_trees(6, 5, 6)
    assert tensor[(1,)] == 6
    assert tensor[(2,)] == 6 * 36
    # complete trees: 6·5²·4⁴·3⁸·2¹⁶ choices of features and 6³² of labels
    assert tensor[(32,)] == 6 * 5**2 * 4**4 * 3**8 * 2**16 * 6**32


def test_wide_numbers_without_trivial_splits():
    def trees(depth: int, n: int) -> int:
        if depth == 0 or n == 0:
            return 3
        return 3 + n * (trees(depth - 1, n - 1) ** 2 - 3)  # two leaves of equal label: 3 ways

    space = adtc.Space(max_depth=5, minsup=0, trivial_splits=False)
    assert trees(5, 6).bit_length() > 64
    assert adtc.count(without_rows(6, 3), space, engine="fast") == trees(5, 6)


def test_twins_multiply_wide_numbers():
    """Seven twins of each of six features: the recurrence with a factor 7 per split."""
    X = np.array([[r >> f & 1 for f in range(6)] for r in range(64)])
    data = adtc.Data.from_arrays(np.tile(X, 7), [r % 2 for r in range(64)])

    def trees(depth: int, n: int) -> int:
        return 2 if depth == 0 or n == 0 else 2 + 7 * n * trees(depth - 1, n - 1) ** 2

    assert trees(5, 6).bit_length() > 128
    assert adtc.count(data, adtc.Space(max_depth=5), engine="fast") == trees(5, 6)


def test_wide_numbers_at_the_last_level():
    """Two features with 1200 twins each and 300 labels: 65 bits within depth 2 already."""
    twins, labels = 1200, 300
    X = np.repeat([[0, 0], [0, 1], [1, 0], [1, 1]], twins, axis=1)
    data = adtc.Data.from_arrays(X, [0, 1, 0, 1], labels=range(labels))
    expected = labels + 2 * twins * (labels + twins * labels**2) ** 2
    assert expected.bit_length() == 65
    assert adtc.count(data, adtc.Space(max_depth=2), engine="fast") == expected


def test_keys_that_fill_their_word():
    """Few leaves have room in a key beside four counts, 2⁴ leaves have not."""
    X = np.array([[r >> f & 1 for f in range(4)] for r in range(16)])
    data = adtc.Data.from_arrays(X, [0, 0, 1, 1] * 4, z=[0, 1] * 8, weights=[7000] * 16)
    space = adtc.Space(max_depth=4, relminsup=0.25)
    metrics = ["size", "N110", "N111", "N010", "N011"]
    found, expected = (
        adtc.model_tensor(data, space, metrics, engine=engine) for engine in ("fast", "spec")
    )
    assert found == expected


@given(st.lists(st.integers(0, 2**256 - 1), max_size=9))
def test_limbs_become_whole_numbers(numbers):
    limbs = [[n >> 64 * place & 2**64 - 1 for place in range(4)] for n in numbers]
    values = np.array(limbs, np.uint64).reshape(-1, 4)
    assert counts_of(values) == numbers
    assert total_of(values) == sum(numbers)


def test_levels_without_a_live_path():
    """Only a single leaf is good: nothing lives below the root."""
    rng = np.random.default_rng(0)
    data = adtc.Data.from_arrays(rng.integers(0, 2, (30, 5)), rng.integers(0, 2, 30))
    space = adtc.Space(max_depth=4)
    found = adtc.count(data, space, where="error + 40 * size <= 70", engine="fast")
    assert found.record.details["live_subproblems"] == [1, 0, 0]
    assert found == adtc.count(data, space, where="error + 40 * size <= 70", engine="spec") == 2


@given(paths=NUMBERS, least=st.integers(0, 12))
def test_jobs_cover_every_feature_that_has_paths_once(paths, least):
    jobs = ranges(paths, least)
    covered = [f for some in jobs for f in some]
    assert covered == sorted(set(covered))
    assert {f for f, n in enumerate(paths) if n} <= set(covered)
    held = [sum(paths[f] for f in some) for some in jobs]
    assert all(n >= max(1, least) for n in held[:-1])
    assert all(held)

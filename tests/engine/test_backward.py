"""The backward pass against a plain list of all good trees."""

import threading
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import adtc
import oracle
from adtc.algebra.semirings import COUNT
from adtc.data.bits import pack
from adtc.engine import fast
from adtc.engine.backward import run_backward, votes, votes_of_rows
from adtc.engine.plan.keys import key_integers
from adtc.engine.query import ask
from adtc.engine.switches import Switches
from adtc.errors import CancelledError, TooLargeError
from strategies import problems

METRICS = ["size", "error", "dp"]
FORMULAS = ["error <= 3 and size <= 4", None, "error <= 2", "dp <= 0.5 or size <= 2"]
SWITCHES = [Switches(), Switches(push=False, dense=False), Switches(merge_features=False)]


@st.composite
def tiny(draw, **options):
    """Draw a table with copies and complements of its features, and a space of few trees."""
    table, space = draw(problems(shares=True, max_rows=8, max_features=3, **options))
    twins = draw(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 1)), max_size=2))
    added = [(f % table.n_features, flip) for f, flip in twins]
    rows = tuple((*row, *(row[f] ^ flip for f, flip in added)) for row in table.rows)
    table = replace(table, rows=rows)
    return table, replace(space, max_depth=min(space.max_depth, 3 if len(rows[0]) < 4 else 2))


def answered(table, space, where, *, metrics=METRICS, switches=SWITCHES[0]):
    data = adtc.Data.from_arrays(table.rows, table.y, z=table.z, weights=table.weights)
    asked = adtc.Space(
        max_depth=space.max_depth,
        minsup=space.support(table),
        max_size=space.max_size,
        labels=space.labels,
        trivial_splits=space.trivial_splits,
        min_leaf_share=space.min_leaf_share,
    )
    question = ask(data, asked, semiring=COUNT, metrics=metrics, where=where)
    return data, fast.run(question, data, switches=switches)


def good_trees(table, space, where) -> list[oracle.Tree]:
    constraint = None if where is None else oracle.constraint(where)
    return [tree for tree, _ in oracle.good_trees(table, space, constraint)]


def counted(trees, rows, labels) -> list[list[int]]:
    """Let every tree predict every row."""
    decided = [Counter(oracle.predict(tree, row) for tree in trees) for row in rows]
    return [[votes[label] for label in range(labels)] for votes in decided]


@pytest.mark.parametrize("switches", SWITCHES, ids=["all", "no push", "no twins"])
@given(drawn=tiny(labels=(2, 3), groups=(2,)), where=st.sampled_from(FORMULAS), new=st.data())
@settings(max_examples=15, deadline=None)
def test_votes_are_those_of_the_listed_trees(switches, drawn, where, new):
    table, space = drawn
    metrics = METRICS
    if table.n_labels > 2:  # a gap needs a positive class
        metrics, where = ["error"], "error <= 3" if where else None
    data, result = answered(table, space, where, metrics=metrics, switches=switches)
    trees = good_trees(table, space, where)
    found = votes(result.circuit, result.keys, data)
    assert found.tolist() == counted(trees, table.rows, table.n_labels)
    # rows that are not in the table: features that are equal there may differ
    bits = st.tuples(*[st.integers(0, 1)] * table.n_features)
    rows = new.draw(st.lists(bits, min_size=1, max_size=6))
    words = pack(np.array(rows, np.uint8).T)
    found = votes_of_rows(result.circuit, result.keys, words, len(rows))
    assert found.tolist() == counted(trees, rows, table.n_labels)


def splits(tree, depth=0):
    if not oracle.is_leaf(tree):
        yield depth, tree[0]
        for side in tree[1:]:
            yield from splits(side, depth + 1)


def leaves(tree, path=()):
    if oracle.is_leaf(tree):
        yield frozenset(path), tree
    else:
        yield from leaves(tree[1], (*path, (tree[0], 0)))
        yield from leaves(tree[2], (*path, (tree[0], 1)))


@given(drawn=tiny(labels=(2, 3)), where=st.sampled_from([None, "error <= 3"]))
@settings(max_examples=25, deadline=None)
def test_uses_and_leaves_are_those_of_the_listed_trees(drawn, where):
    table, space = drawn
    _, result = answered(table, space, where, metrics=["error"])
    trees = good_trees(table, space, where)
    found = run_backward(result.circuit, result.keys, events=True)
    assert found.total == len(trees)
    twins = result.circuit.prepared.features.twins
    by_name = Counter(at for tree in trees for at in splits(tree))
    for f, some in enumerate(twins):
        for depth in range(len(found.uses)):
            names = {by_name[depth, twin.feature] for twin in some}
            assert names == {found.uses[depth, f] // len(some)}  # each has an equal share
    assert found.uses.sum() == sum(by_name.values())
    ends = Counter((len(path), label) for tree in trees for path, label in leaves(tree))
    assert Counter({at: n for at, n in np.ndenumerate(found.leaves) if n}) == ends
    place = {
        (twin.feature, side): 2 * f + (side ^ twin.flipped)
        for f, some in enumerate(twins)
        for twin in some
        for side in (0, 1)
    }
    by_path = Counter(
        (frozenset(place[literal] for literal in path), label)
        for tree in trees
        for path, label in leaves(tree)
    )
    listed, events = Counter(), found.events
    for at, (label, weight) in enumerate(zip(events.labels, events.weights, strict=True)):
        path = events.literals[events.starts[at] : events.starts[at + 1]]
        listed[frozenset(path.tolist()), int(label)] += weight
    assert listed == by_path


@given(drawn=tiny(labels=(2,)), chosen=st.integers(0, 2**16))
@settings(max_examples=20, deadline=None)
def test_cells_can_be_chosen_and_weighted(drawn, chosen):
    table, space = drawn
    data, result = answered(table, space, None, metrics=["error"])
    weights = [chosen >> int(error) % 16 & 3 for (error,) in result.indices()]
    expected = np.zeros((len(table.rows), table.n_labels), object)
    for tree in good_trees(table, space, None):
        predicted = [oracle.predict(tree, row) for row in table.rows]
        wrong = zip(range(len(table.rows)), predicted, table.y, strict=True)
        error = sum(table.weight(r) for r, p, y in wrong if p != y)
        expected[range(len(predicted)), predicted] += chosen >> error % 16 & 3
    assert (votes(result.circuit, result.keys, data, weights=weights) == expected).all()
    large = [weight << 70 for weight in weights]
    found = votes(result.circuit, result.keys, data, weights=large)
    assert (found == expected << 70).all()
    some = [at for at, weight in enumerate(weights) if weight == 1]
    only = votes(result.circuit, result.keys[some], data)
    ones = votes(result.circuit, result.keys, data, weights=[int(w == 1) for w in weights])
    assert (only == ones).all()
    real = votes(result.circuit, result.keys, data, weights=np.array(weights) / 8)
    assert real.dtype == np.float64
    assert np.allclose(real, expected.astype(float) / 8, rtol=1e-12)


@pytest.fixture(scope="module")
def credit():
    data = adtc.load_dataset("german-credit", nbins=2)
    space = adtc.Space(max_depth=4, minsup=40, trivial_splits=False)
    return data, adtc.profile(data, space, ["error", "size"], where="error + 3 * size <= 290")


def test_threads_change_nothing(credit):
    data, profile = credit
    circuit, keys = profile.source.circuit, profile.keys
    weights = 1 / (1.0 + np.arange(len(keys)))
    one, two = (adtc.Monitor(threads=n) for n in (1, 2))
    assert (
        votes(circuit, keys, data, monitor=one) == votes(circuit, keys, data, monitor=two)
    ).all()
    real = [votes(circuit, keys, data, weights=weights, monitor=m) for m in (one, two)]
    assert real[0].tobytes() == real[1].tobytes()


def test_every_row_is_decided_by_every_tree(credit):
    data, profile = credit
    found = votes(profile.source.circuit, profile.keys, data)
    assert set(found.sum(axis=1)) == {profile.count}
    drawn = [adtc.TreeModel(d.tree, data).predict(data) for d in profile.draw(400, seed=1)]
    share = np.mean(np.array(drawn) == data.labels[1], axis=0)
    assert np.abs(found[:, 1].astype(float) / profile.count - share).max() < 0.12


def test_wide_keys_and_weights():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (12, 3))
    data = adtc.Data.from_arrays(
        X, X[:, 0] ^ (rng.random(12) < 0.3), z=X[:, 1], weights=rng.integers(1, 2**24, 12)
    )
    metrics = ["size", "acc", "bacc", "dp", "eodd_sum"]
    profile = adtc.profile(data, adtc.Space(max_depth=2), metrics, where="bacc >= 0.55")
    assert profile.keys.ndim == 2
    expected = np.zeros((12, 2), int)
    for found in profile.iterate():
        expected[range(12), adtc.TreeModel(found.tree, data).predict(data).astype(int)] += 1
    assert votes(profile.source.circuit, profile.keys, data).tolist() == expected.tolist()
    half = profile.keys[::2]
    assert len(set(key_integers(half))) == len(half)
    part = votes(profile.source.circuit, half, data) + votes(
        profile.source.circuit, profile.keys[1::2], data
    )
    assert part.tolist() == expected.tolist()


def test_no_good_tree_has_no_votes():
    data = adtc.Data.from_arrays([[1], [0], [1]], [1, 1, 0])
    profile = adtc.profile(data, adtc.Space(max_depth=1), ["error"], where="error < 0")
    assert votes(profile.source.circuit, profile.keys, data).tolist() == [[0, 0]] * 3
    real = votes(profile.source.circuit, profile.keys, data, weights=np.zeros(0))
    assert real.tolist() == [[0.0, 0.0]] * 3


def test_a_cell_that_is_not_there_is_refused(credit):
    data, profile = credit
    with pytest.raises(ValueError, match="not among those"):
        votes(profile.source.circuit, profile.keys + 2**40, data)


def test_limits_stop_the_pass(credit):
    data, profile = credit
    circuit, keys = profile.source.circuit, profile.keys
    with pytest.raises(TooLargeError, match="GB of memory"):
        votes(circuit, keys, data, monitor=adtc.Monitor(memory_limit=1000))
    with pytest.raises(TooLargeError, match="time limit"):
        votes(circuit, keys, data, monitor=adtc.Monitor(time_limit=0))
    stages = []
    monitor = adtc.Monitor(progress=lambda stage, done, total: stages.append(stage))
    votes(circuit, keys, data, monitor=monitor)
    assert {"adjoints of level 2", "leaves of level 2"} <= set(stages)
    stopped = adtc.Monitor(progress=lambda *_: threading.Thread(target=stopped.cancel).run())
    with pytest.raises(CancelledError):
        votes(circuit, keys, data, monitor=stopped)


def test_sums_that_do_not_add_up_are_an_error_of_adtc(credit, monkeypatch):
    data, profile = credit
    from adtc.engine import backward

    read = backward._integers
    monkeypatch.setattr(backward, "_integers", lambda words: read(words) + 1)
    with pytest.raises(RuntimeError, match="do not add up"):
        votes(profile.source.circuit, profile.keys, data)

"""Discrepancy, trees that decide cases in given ways, rows left out: against the plain listing."""

from collections import Counter
from fractions import Fraction

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from voting_samples import Sample, baselines, labels_of, samples

import adtc
import oracle
from adtc.algebra.trees import predict
from adtc.errors import DataError, QueryError
from test_agreement import plain, space_of


def changes(sample: Sample, tree: oracle.Tree, h0: list[int]) -> int:
    return sum(
        sample.table.weight(r)
        for r, row in enumerate(sample.table.rows)
        if oracle.predict(tree, row) != h0[r]
    )


@given(samples(), st.data())
@settings(max_examples=25)
def test_discrepancy(sample, data):
    h0 = data.draw(baselines(sample.table))
    found = sample.profile().discrepancy(labels_of(sample.data, h0))
    counts = Counter(changes(sample, tree, h0) for tree in sample.trees)
    assert found.distribution.as_dict() == counts
    if not counts:
        assert (found.tree, found.value, found.mean) == (None, None, None)
        assert "no tree is good" in str(found)
        return
    total = sample.table.total
    assert found.value == Fraction(max(counts), total)
    assert found.least == min(counts)
    assert found.mean == Fraction(sum(k * n for k, n in counts.items()), total * counts.total())
    assert plain(found.tree.tree) in sample.trees
    assert changes(sample, plain(found.tree.tree), h0) == max(counts)


@given(samples(), st.data())
@settings(max_examples=25)
def test_deciding(sample, data):
    every = range(len(sample.table.rows))  # also those of weight 0
    rows = data.draw(st.lists(st.sampled_from(every), max_size=3, unique=True))
    wanted = {r: data.draw(st.integers(0, sample.table.n_labels - 1)) for r in rows}
    profile = sample.profile()
    found = profile.deciding({r: sample.data.labels[c] for r, c in wanted.items()})
    so = [
        tree
        for tree in sample.trees
        if all(oracle.predict(tree, sample.table.rows[r]) == c for r, c in wanted.items())
    ]
    assert (found.count, found.total) == (len(so), len(sample.trees))
    assume(so)
    drawn = found.draw(5, seed=1)
    assert all(plain(one.tree) in so for one in drawn)
    assert [profile.rank(one) for one in drawn] == [one.rank for one in drawn]
    assert [one.tree for one in drawn] == [one.tree for one in found.draw(5, seed=1)]


def test_a_filtered_profile_decides_with_what_is_left():
    table = oracle.Table(((1, 0), (1, 1), (0, 1), (0, 0)), (1, 1, 0, 1))
    sample = Sample(table, oracle.Space(2), "error <= 2")
    profile = sample.profile("size", "error")
    for where in ("size <= 3", "error = 1 or size = 2", "error * size <= 4"):
        kept = oracle.constraint(f"error <= 2 and ({where})")
        trees = [t for t, _ in oracle.good_trees(table, oracle.Space(2), kept)]
        part = profile.where(where)
        assert part.count == len(trees) > 0
        counts = Counter(changes(sample, tree, [1, 0, 1, 0]) for tree in trees)
        found = part.project("size").discrepancy([1, 0, 1, 0])
        assert found.distribution.as_dict() == counts
        assert found.profile.names == ("size", "changed")
        right = [t for t in trees if oracle.predict(t, (1, 1)) == 1]
        assert part.deciding({1: 1}).count == len(right)


def test_new_people_and_further_tables():
    """Decisions on rows that are in no table, of trees chosen by a further table's metric."""
    data = adtc.Data.from_frame({"age": [20, 30, 40, 50], "y": ["n", "n", "p", "p"]}, target="y")
    data = data.with_table("test", {"age": [22, 33, 44], "y": ["n", "p", "p"]})
    profile = adtc.profile(
        data, adtc.Space(max_depth=2), ["error", "test.error"], where="test.error <= 1"
    )
    new = {"age": [10, 37, 60]}
    said = [adtc.TreeModel(one.tree, data).predict(new).tolist() for one in profile.iterate()]
    for wanted in ({1: "p"}, {0: "n", 2: "p"}):
        found = profile.deciding(wanted, new)
        assert found.count == sum(all(row[r] == c for r, c in wanted.items()) for row in said)
        assert found.draw(1, seed=0)[0].metrics["test.error"] <= 1
    assert profile.deciding({}).count == profile.count
    changes = Counter(
        sum(a != "n" for a in adtc.TreeModel(one.tree, data).predict(data))
        for one in profile.iterate()
    )
    assert profile.discrepancy(["n"] * 4).distribution.as_dict() == changes


def test_such_trees_are_drawn_uniformly():
    data = adtc.Data.from_arrays([[1, 0], [1, 1], [0, 1], [0, 0]], [1, 1, 0, 1])
    profile = adtc.profile(data, adtc.Space(max_depth=2), ["error"], where="error <= 1")
    found = profile.deciding({3: 0})
    every = [one.rank for one in profile.iterate() if predict(one.tree, data.dense())[3] == 0]
    seen = Counter(one.rank for one in found.draw(1000, seed=3))
    assert sorted(seen) == every
    assert len(every) == found.count == 5
    assert all(150 < n < 250 for n in seen.values())  # 200 expected, deviation 13


FORMULAS = [
    "error <= {e}",
    "acc >= 0.6",
    "error <= 1.5 * least(error)",
    "error + 2 * size <= {e} + 4",
    "error < {e} and size <= 3",
    "acc > 0.5 or error + size <= 4",
    "error <= 0.3 * N",
]


@given(samples(), st.sampled_from(FORMULAS), st.integers(0, 5))
@settings(max_examples=30)
def test_leave_one_out(sample, text, e):
    """Without a row: the space stays, and so does the least error; N and errors change."""
    where = text.format(e=e)
    table, total = sample.table, sample.table.total
    every = [(t, m["error"], m["size"]) for t, m in oracle.good_trees(table, sample.space)]
    assume(every)
    least = min(error for _, error, _ in every)
    holds = oracle.constraint(where.replace("least(error)", str(least)))

    def good(error: int, size: int, n: int) -> bool:
        acc = Fraction(n - error, n) if n else None
        return holds({"error": error, "size": size, "N": n, "acc": acc}) is True

    found = adtc.profile(
        sample.data, space_of(sample.space), ["error"], where=where
    ).leave_one_out()
    for r, row in enumerate(table.rows):
        w, enter, leave = table.weight(r), 0, 0
        for tree, error, size in every:
            wrong = oracle.predict(tree, row) != table.y[r]
            before = good(error, size, total)
            after = good(error - w * wrong, size, total - w)
            enter += after and not before
            leave += before and not after
        assert (found.enter[r], found.leave[r]) == (enter, leave), r


def small(where: str | None = "error <= 1") -> adtc.Profile:
    X, y = [[1], [1], [0], [0]], [1, 1, 0, 0]
    data = adtc.Data.from_arrays(X, y, weights=[1, 1, 1, 0], z=[0, 1, 1, 1])
    return adtc.profile(data, adtc.Space(max_depth=1), ["error", "size"], where=where)


@pytest.mark.parametrize(
    ("ask", "said"),
    [
        (lambda: small().deciding({4: 1}), "row 4 is out of range: the table has rows 0 to 3"),
        (lambda: small().deciding({"a": 1}), "'a' is no row"),
        (lambda: small().deciding({0: 7}), "unknown label '7'"),
        (lambda: small().deciding({0: 1, 1: 0}).draw(1), "none to draw"),
        (lambda: small("dp <= 1").leave_one_out(), "speaks of dp, and how that changes"),
        (lambda: small(None).leave_one_out(), "every tree of this profile's space is good"),
        (lambda: small().where("size = 1").leave_one_out(), "filtered after it was made"),
    ],
)
def test_mistakes_in_cases(ask, said):
    with pytest.raises((QueryError, DataError), match=said):
        ask()


def test_without_a_row_accuracy_is_that_of_the_others():
    data = adtc.Data.from_arrays([[1], [1], [0]], [1, 1, 0])
    good = adtc.profile(data, adtc.Space(max_depth=1), ["error"], where="acc >= 2/3")
    found = good.leave_one_out()  # one error of three rows is enough, one of two is not
    assert (found.enter.tolist(), found.leave.tolist()) == ([0, 0, 0], [2, 2, 0])


def test_leave_one_out_as_a_table():
    found = small().leave_one_out()
    assert found.table["enter"].to_pylist() == ["2", "2", "0", "0"]
    assert found.without.tolist() == [5, 5, 3, 3]
    assert found.most(1) == [0]
    assert found.record.question["ask"] == "leave_one_out"
    assert "without one row 0 to 2 enter" in str(found)

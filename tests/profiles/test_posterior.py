"""Posteriors against plain listings: every tree with its prior and evidence, in fractions."""

import math
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st

import adtc
import oracle
from adtc.algebra.trees import Leaf, Split, Tree
from adtc.engine.bayes import mixture
from adtc.engine.bayes.likely import LikelyTrees
from adtc.errors import CancelledError, DataError, QueryError, TooLargeError
from strategies import problems

CLOSE = {"rel": 1e-9, "abs": 1e-12}


def rising(rho: Fraction, n: int) -> Fraction:
    return math.prod((rho + i for i in range(n)), start=Fraction(1))


class Listing:
    """All trees of a space, one by one; a leaf carries no label, so each is listed once."""

    def __init__(self, table, space, prior, *, alpha, beta, rho):
        self.table, self.prior, self.alpha, self.beta, self.rho = table, prior, alpha, beta, rho
        self.space = replace(space, labels="majority", trivial_splits=True)
        self.minsup = self.space.support(table)
        every = list(range(len(table.rows))), frozenset(range(table.n_features))
        self.trees = oracle.list_trees(table, self.space)
        self.priors, self.weights = [], []
        for tree in self.trees:
            prior_of_tree, evidence = self.measure(tree, *every, 0)
            self.priors.append(prior_of_tree)
            self.weights.append(prior_of_tree * evidence)
        self.total = sum(self.weights)

    def sides(self, rows, f):
        """Split rows by a feature: where it is 1, and 0."""
        yes = [r for r in rows if self.table.rows[r][f]]
        return yes, [r for r in rows if r not in yes]

    def counts(self, rows):
        found = [0] * self.table.n_labels
        for r in rows:
            found[self.table.y[r]] += self.table.weight(r)
        return found

    def measure(self, tree, rows, unused, depth) -> tuple[Fraction, Fraction]:
        """Return the prior probability of a tree, not divided by Z, and its evidence."""
        valid = [
            f
            for f in unused
            if min(sum(self.counts(side)) for side in self.sides(rows, f)) >= self.minsup
        ]
        split = self.alpha / Fraction(1 + depth) ** self.beta
        if oracle.is_leaf(tree):
            free = self.prior != "flat" and valid and depth < self.space.max_depth
            counts = self.counts(rows)
            evidence = math.prod(map(rising, self.rho, counts)) / rising(sum(self.rho), sum(counts))
            return (1 - split if free else Fraction(1)), evidence
        f, *below = tree
        choices = {"bcart": len(valid), "bcart-all": self.table.n_features}
        prior = Fraction(1) if self.prior == "flat" else split / choices[self.prior]
        evidence = Fraction(1)
        for child, side in zip(below, self.sides(rows, f), strict=True):
            p, e = self.measure(child, side, unused - {f}, depth + 1)
            prior, evidence = prior * p, evidence * e
        return prior, evidence

    def at_leaf(self, tree, row):
        """Return the class probabilities at the leaf that a row reaches."""
        rows = list(range(len(self.table.rows)))
        while not oracle.is_leaf(tree):
            f, t1, t0 = tree
            yes, no = self.sides(rows, f)
            tree, rows = (t1, yes) if row[f] else (t0, no)
        means = [n + rho for n, rho in zip(self.counts(rows), self.rho, strict=True)]
        return [mean / sum(means) for mean in means]

    def predicted(self, row):
        shares = [self.at_leaf(tree, row) for tree in self.trees]
        return [
            float(sum(w * p[c] for w, p in zip(self.weights, shares, strict=True)) / self.total)
            for c in range(self.table.n_labels)
        ]


def shape(tree) -> oracle.Tree:
    """Write a tree without its labels, of whichever side."""
    if isinstance(tree, tuple):
        return tree[0], shape(tree[1]), shape(tree[2])
    return (tree.feature, shape(tree.t1), shape(tree.t0)) if hasattr(tree, "t1") else None


@st.composite
def asked(draw, **options):
    """Draw a listing and the posterior of the same."""
    table, space = draw(problems(**options))
    prior = draw(st.sampled_from(["bcart", "bcart-all", "flat"]))
    alpha, beta = draw(st.sampled_from([(Fraction(19, 20), 1), (Fraction(1, 2), 0), (1, 2)]))
    rho = draw(st.sampled_from([Fraction(5, 2), Fraction(1, 8), None]))
    rhos = [rho or Fraction(1 + 2 * c, 4) for c in range(table.n_labels)]
    listing = Listing(table, space, prior, alpha=Fraction(alpha), beta=beta, rho=rhos)
    note(f"{table}, {space}, {prior}, {alpha}, {beta}, {rho}")
    return listing


def data_of(table: oracle.Table) -> adtc.Data:
    z, weights = (None if x is None else np.array(x) for x in (table.z, table.weights))
    return adtc.Data.from_arrays(
        np.array(table.rows), np.array(table.y), z=z, weights=weights, labels=range(table.n_labels)
    )


def answered(listing: Listing, **options) -> adtc.Posterior:
    space = adtc.Space(listing.space.max_depth, listing.minsup, max_size=listing.space.max_size)
    rho = [float(r) for r in listing.rho]
    return adtc.posterior(
        data_of(listing.table), space, listing.prior,
        alpha=float(listing.alpha), beta=listing.beta, rho=rho, **options,
    )  # fmt: skip


@settings(max_examples=50)
@given(asked())
def test_evidence_inclusion_and_the_best_tree_are_those_of_the_listing(listing):
    if not sum(listing.priors):
        with pytest.raises(QueryError, match="has prior probability above 0"):
            answered(listing)
        return
    found = answered(listing)
    mass = sum(listing.priors)
    assert math.exp(found.log_mass) == pytest.approx(float(mass), **CLOSE)
    assert found.log_evidence == pytest.approx(math.log(listing.total / mass), abs=1e-10)
    if listing.prior != "flat":
        assert found.lost_mass == pytest.approx(float(1 - mass), **CLOSE)
    using = [Fraction(0)] * listing.table.n_features
    for tree, weight in zip(listing.trees, listing.weights, strict=True):
        for f in oracle.features(tree):
            using[f] += weight
    expected = [float(weight / listing.total) for weight in using]
    assert list(found.inclusion.values()) == pytest.approx(expected, **CLOSE)
    shares = {
        shape(t): float(w / listing.total)
        for t, w in zip(listing.trees, listing.weights, strict=True)
    }
    assert shares[shape(found.best.tree)] == pytest.approx(max(shares.values()), **CLOSE)
    assert found.best.probability == pytest.approx(max(shares.values()), **CLOSE)


@settings(max_examples=40)
@given(asked(), st.randoms(use_true_random=False))
def test_predictions_of_own_and_new_rows_are_those_of_the_listing(listing, random):
    if not sum(listing.priors):
        return
    found = answered(listing)
    n = listing.table.n_features
    new = [tuple(random.randint(0, 1) for _ in range(n)) for _ in range(6)]
    frame = {f"f{f}": [row[f] for row in new] for f in range(n)}
    for rows, given_rows in ((listing.table.rows, None), (new, frame)):
        predicted = found.predict_proba(given_rows)
        assert predicted.shape == (len(rows), listing.table.n_labels)
        expected = np.array([listing.predicted(row) for row in rows])
        assert np.abs(predicted - expected).max() <= found.absolute_error + 1e-12
        assert predicted.sum(axis=1) == pytest.approx(np.ones(len(rows)), abs=1e-9)


def drawn_with(trees: LikelyTrees, path=(), size=0):
    """List what may be drawn below a path, with its probability by the whole numbers drawn from."""
    sums = trees.sums
    if len(path) == sums.depth or size == 1:
        yield None, Fraction(1)
        return
    node = trees.node(path, size, False)
    parts = [b - a for a, b in zip([0, *node.until], node.until, strict=False)]
    if parts[0]:
        yield None, Fraction(parts[0], node.until[-1])
    for (f, ones), part in zip(node.splits, parts[1:], strict=True):
        one, zero = (
            list(drawn_with(trees, tuple(sorted((*path, (f, negative)))), leaves))
            for negative, leaves in ((False, ones if size else 0), (True, size and size - ones))
        )
        for (t1, p1), (t0, p0), twin in product(one, zero, sums.features.twins[f]):
            below = (t0, t1) if twin.flipped else (t1, t0)
            chance = Fraction(part, node.until[-1] * len(sums.features.twins[f]))
            yield (twin.feature, *below), chance * p1 * p0


@settings(max_examples=30)
@given(asked())
def test_trees_are_drawn_with_their_probabilities(listing):
    if not sum(listing.priors):
        return
    found = answered(listing)
    trees = LikelyTrees(found.sums)
    chances = Counter()
    if found.sums.most_leaves:
        digits, exponents = found.sums.up.total(0)
        sizes = [
            Fraction(d) * Fraction(2) ** int(e) for d, e in zip(digits, exponents, strict=True)
        ]
        for at, weight in enumerate(sizes):
            for tree, chance in drawn_with(trees, size=at + 1) if weight else ():
                chances[tree] += chance * weight / sum(sizes)
    else:
        for tree, chance in drawn_with(trees):
            chances[tree] += chance
    assert sum(chances.values()) == 1
    for tree, weight in zip(listing.trees, listing.weights, strict=True):
        share = float(weight / listing.total)
        assert float(chances[shape(tree)]) == pytest.approx(share, **CLOSE)
    drawn = found.draw(3, seed=1)
    assert [one.tree for one in drawn] == [one.tree for one in found.draw(3, seed=1)]
    for one in [*drawn, found.best]:
        assert one.probability == pytest.approx(float(chances[shape(one.tree)]), **CLOSE)
        for leaf in one.model.leaves:  # each shows the class that is most probable there
            means = [n + rho for n, rho in zip(leaf.counts, listing.rho, strict=True)]
            assert means[leaf.label] == max(means)


def small() -> adtc.Data:
    """Make a table with twins, a numeric column and a category."""
    return adtc.Data.from_frame(
        {
            "age": [20, 25, 30, 35, 40, 45, 50, 55, 60, 65],
            "job": ["a", "b", "c", "a", "b", "c", "a", "b", "c", "a"],
            "old": ["n", "n", "n", "n", "y", "y", "y", "y", "y", "y"],
            "y": [0, 0, 1, 0, 1, 1, 0, 1, 1, 0],
        },
        target="y",
        nbins=4,
        cuts={"age": [28, 37, 52]},
    )  # fmt: skip


def test_a_source_column_counts_with_all_its_features():
    data = small()
    table = oracle.Table(tuple(map(tuple, data.dense().tolist())), tuple(data.y.tolist()))
    options = {"alpha": Fraction(1, 2), "beta": 1, "rho": [Fraction(5, 2)] * 2}
    listing = Listing(table, oracle.Space(2, 1), "bcart", **options)
    found = adtc.posterior(data, adtc.Space(max_depth=2), alpha=0.5, beta=1)
    assert any(len(twins) > 1 for twins in found.sums.features.twins)  # age and old agree
    for column, share in found.inclusion.items():
        mine = {f for f, feature in enumerate(data.features) if feature.column == column}
        using = [mine & oracle.features(tree) for tree in listing.trees]
        expected = sum(w for w, used in zip(listing.weights, using, strict=True) if used)
        assert share == pytest.approx(float(expected / listing.total), **CLOSE)


def test_source_columns_in_turn_give_the_same_as_at_once():
    data, space = small(), adtc.Space(max_depth=3)
    found = adtc.posterior(data, space)
    passes = Counter()
    monitor = adtc.Monitor(
        memory_limit=1_800,
        progress=lambda stage, done, total: passes.update([stage] * (done == total)),
    )
    little = adtc.posterior(data, space, monitor=monitor)
    assert passes["sums over trees"] == len(found.inclusion)
    assert little.inclusion == pytest.approx(found.inclusion, **CLOSE)


def test_unseen_categories_and_missing_values_are_as_predict_treats_them():
    data, rho = small(), Fraction(5, 2)
    table = oracle.Table(tuple(map(tuple, data.dense().tolist())), tuple(data.y.tolist()))
    listing = Listing(table, oracle.Space(1, 1), "flat", alpha=1, beta=0, rho=[rho] * 2)
    rows = {"age": [30, None], "job": ["zebra", None], "old": ["n", "y"]}
    expected = np.zeros((2, 2))
    for tree, weight in zip(listing.trees, listing.weights, strict=True):
        model = adtc.TreeModel(built(tree), data)
        for row, leaf in enumerate(model.apply(rows)):
            means = np.array(model.leaves[leaf].counts) + float(rho)
            expected[row] += float(weight / listing.total) * means / means.sum()
    found = adtc.posterior(data, adtc.Space(max_depth=1), "flat")
    assert found.predict_proba(rows) == pytest.approx(expected, **CLOSE)


def test_a_further_table_is_predicted_by_its_name():
    rows = {"age": [30, 61], "job": ["b", "a"], "old": ["n", "y"], "y": [0, 1]}
    alone = adtc.posterior(small(), adtc.Space(max_depth=2))
    found = adtc.posterior(small().with_table("test", rows), adtc.Space(max_depth=2))
    assert found.log_evidence == alone.log_evidence
    assert found.predict_proba("test").tolist() == alone.predict_proba(rows).tolist()
    with pytest.raises(DataError, match="unknown further table 'tset'"):
        found.predict_proba("tset")


def built(tree: oracle.Tree) -> Tree:
    """Make one of adtc's trees."""
    return Leaf(tree) if oracle.is_leaf(tree) else Split(tree[0], built(tree[1]), built(tree[2]))


def test_drawn_trees_come_as_often_as_they_are_probable():
    found = adtc.posterior(small(), adtc.Space(max_depth=2, minsup=2))
    n = 4000
    drawn = found.draw(n, seed=7)
    seen = Counter(shape(one.tree) for one in drawn)
    expected = {shape(one.tree): n * one.probability for one in drawn}
    common = [tree for tree, number in expected.items() if number >= 20]
    distance = sum((seen[t] - expected[t]) ** 2 / expected[t] for t in common)
    assert len(common) > 10
    assert distance < len(common) + 4 * math.sqrt(2 * len(common))


def test_rows_of_a_weight_are_repeated_rows():
    X, y, weights = [[1, 0], [0, 1], [1, 1], [0, 0]], [1, 0, 1, 0], [3, 0, 2, 1]
    repeated = np.repeat([0, 1, 2, 3], weights)
    space = adtc.Space(max_depth=2)
    light = adtc.posterior(adtc.Data.from_arrays(X, y, weights=weights), space)
    heavy = adtc.posterior(
        adtc.Data.from_arrays(np.array(X)[repeated], np.array(y)[repeated]), space
    )
    assert light.log_evidence == heavy.log_evidence
    assert light.inclusion == heavy.inclusion


def test_a_flat_prior_counts_the_trees():
    data = adtc.load_dataset("german-credit", nbins=2)
    space = adtc.Space(max_depth=3, relminsup=0.1)
    found = adtc.posterior(data, space, "flat")
    number = adtc.count(data, adtc.Space(max_depth=3, relminsup=0.1, labels="majority"))
    assert math.exp(found.log_mass) == pytest.approx(number, rel=1e-12)
    assert found.lost_mass is None


def test_what_is_left_out_is_part_of_the_error(monkeypatch):
    data = adtc.load_dataset("german-credit", nbins=2)
    space = adtc.Space(max_depth=3, relminsup=0.1)
    every = adtc.posterior(data, space).predict_proba()
    monkeypatch.setattr(mixture, "_LEAST", 1e-4)
    monkeypatch.setattr(mixture, "LOST", 1)
    rough = adtc.posterior(data, space)
    assert 1e-6 < np.abs(rough.predict_proba() - every).max() <= rough.absolute_error < 1
    monkeypatch.setattr(mixture, "_MOST", 2)
    with pytest.raises(TooLargeError, match="more than 2 different leaves"):
        adtc.posterior(data, space).predict_proba()


def test_threads_change_nothing():
    data = adtc.load_dataset("german-credit", nbins=2)
    space = adtc.Space(max_depth=3, relminsup=0.1)
    alone = adtc.posterior(data, space, "bcart-all")
    monitor = adtc.Monitor(threads=2)
    together = adtc.posterior(data, space, "bcart-all", monitor=monitor)
    assert together.log_evidence == alone.log_evidence
    assert together.inclusion == alone.inclusion
    own = together.predict_proba(monitor=monitor)
    assert own.tolist() == alone.predict_proba().tolist()


def test_the_probability_of_a_tree_that_is_not_in_the_space_is_0():
    found = adtc.posterior(small(), adtc.Space(max_depth=1, minsup=3, max_size=2))
    deep = adtc.posterior(small(), adtc.Space(max_depth=3)).draw(30, seed=0)
    larger = [one.tree for one in deep if len(shape(one.tree) or ()) and one.model.depth > 1]
    assert larger
    assert [found.probability(tree) for tree in larger] == [0.0] * len(larger)
    assert found.probability(found.best) == found.best.probability


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"alpha": 0}, "alpha is 0, expected a probability above 0 and at most 1"),
        ({"alpha": 1.5}, r"alpha is 1\.5, expected"),
        ({"alpha": float("nan")}, "alpha is nan"),
        ({"beta": -1}, "beta is -1, expected a number of at least 0"),
        ({"rho": 0}, "rho is 0, expected numbers above 0"),
        ({"rho": [1, 2, 3]}, "rho has 3 numbers, but the target has 2 classes"),
        ({"prior": "bkart"}, "unknown prior 'bkart'. Did you mean 'bcart'"),
    ],
)
def test_priors_that_are_none_are_refused(options, message):
    with pytest.raises(QueryError, match=message):
        adtc.posterior(small(), adtc.Space(), **options)


@pytest.mark.parametrize(
    ("option", "value"),
    [("labels", "majority"), ("trivial_splits", False), ("min_leaf_share", 0.5)],
)
def test_spaces_that_speak_of_labels_are_refused(option, value):
    with pytest.raises(QueryError, match=f"{option} is .*a leaf carries no label"):
        adtc.posterior(small(), adtc.Space(**{option: value}))


def test_a_run_can_be_cancelled_and_limited():
    monitor = adtc.Monitor()
    monitor.cancel()
    with pytest.raises(CancelledError):
        adtc.posterior(small(), adtc.Space(), monitor=monitor)
    with pytest.raises(TooLargeError, match="time limit"):
        adtc.posterior(small(), adtc.Space(), monitor=adtc.Monitor(time_limit=1e-9, exact=True))
    with pytest.raises(TooLargeError, match="the table of subproblems would need"):
        adtc.posterior(small(), adtc.Space(), monitor=adtc.Monitor(memory_limit=100, exact=True))


@pytest.mark.parametrize(("memory", "depth"), [(100, 0), (1_000, 2)])
def test_within_limits_the_posterior_is_that_of_the_deepest_depth_that_fits(memory, depth):
    space, monitor = adtc.Space(max_depth=3), adtc.Monitor(memory_limit=memory)
    found = adtc.posterior(small(), space, monitor=monitor)
    assert (found.status, found.record.details["finished"]) == ("partial", f"depth at most {depth}")
    assert "the table of subproblems would need" in found.record.details["stopped"]
    expected = adtc.posterior(small(), adtc.Space(max_depth=depth))
    assert (found.log_evidence, found.space) == (expected.log_evidence, expected.space)
    assert found.best.tree == expected.best.tree

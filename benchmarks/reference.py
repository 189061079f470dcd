"""Count near-optimal trees with neither adtc nor a peer, to decide who is right where they differ.

A plain recursion in exact integers over all trees, which keeps a dictionary from (errors, leaves,
label if it is a leaf) to the number of trees and drops what is beyond the bound. No memo, nothing
clever. Small tables only. ``python benchmarks/reference.py`` checks it against the tests' oracle,
which lists trees one by one.
"""

import sys
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

Trees = Counter[tuple[int, int, int]]
SPLIT = -1  # in place of the label of a leaf
MOST_WORK = 8_000_000  # leaves looked at: a minute or two; beyond that it is no help


def bits(column: Any) -> int:
    """Give the rows where a 0/1 column is 1 as an integer."""
    return sum(1 << r for r, one in enumerate(column) if one)


class Count:
    """Trees of a table within a bound on errors + penalty · leaves."""

    def __init__(self, X: Any, y: Any, *, labels: str, trivial_splits: bool, ties: int) -> None:
        self.all = (1 << len(y)) - 1
        self.ones = bits(y)
        self.features = [bits(column) for column in X.T]
        self.labels, self.trivial, self.ties = labels, trivial_splits, ties

    def leaves(self, S: int) -> list[tuple[int, int]]:
        """List errors and label of the leaves that rows S may become."""
        wrong = {0: (S & self.ones).bit_count(), 1: (S & ~self.ones).bit_count()}
        if self.labels == "any":
            return [(errors, label) for label, errors in wrong.items()]
        tied = wrong[0] == wrong[1]
        label = self.ties if tied else min(wrong, key=lambda one: wrong[one])
        return [(wrong[label], label)]

    def within(self, depth: int, S: int, penalty: Fraction, limit: Fraction) -> Trees:
        """Count the trees on rows S by errors, leaves and label."""
        found: Trees = Counter()
        for errors, label in self.leaves(S):
            if errors + penalty <= limit:
                found[errors, 1, label] += 1
        if not depth:
            return found
        for rows in self.features:
            S1, S0 = S & rows, S & ~rows
            if not S1 or not S0:
                continue
            rest = limit - penalty  # the other side has a leaf at least
            T1 = self.within(depth - 1, S1, penalty, rest)
            T0 = self.within(depth - 1, S0, penalty, rest) if T1 else {}
            for (e1, n1, l1), c1 in T1.items():
                for (e0, n0, l0), c0 in T0.items():
                    same = l1 == l0 != SPLIT
                    errors, size = e1 + e0, n1 + n0
                    if (self.trivial or not same) and errors + penalty * size <= limit:
                        found[errors, size, SPLIT] += c1 * c0
        return found

    def least(self, depth: int, S: int, penalty: Fraction) -> Fraction:
        """Find the least errors + penalty · leaves."""
        best = min(errors for errors, _ in self.leaves(S)) + penalty
        for rows in self.features if depth else ():
            S1, S0 = S & rows, S & ~rows
            if S1 and S0:
                best = min(
                    best,
                    self.least(depth - 1, S1, penalty) + self.least(depth - 1, S0, penalty),
                )
        return best


def near(case: dict[str, Any], X: Any, y: Any) -> int | None:
    """Answer a question of ``peer_cases``; None if there is too much to look at."""
    work, n = 1, X.shape[1]
    for level in range(case["depth"]):
        work *= 2 * max(1, n - level)
    if case["task"] != "near" or work > MOST_WORK:
        return None
    strict = not case.get("trivial_splits", True)
    count = Count(X, y, labels=case["labels"], trivial_splits=not strict, ties=int(strict))
    penalty = Fraction(str(case["leaf"]))
    # a trivial split never helps, so the least is the same with and without them
    least = count.least(case["depth"], count.all, penalty)
    limit = least * (1 + Fraction(case["share"]))
    return sum(count.within(case["depth"], count.all, penalty, limit).values())


def check() -> None:
    """Compare with the list of all trees that the tests use."""
    import numpy as np

    sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
    import oracle

    rng = np.random.default_rng(0)
    for trial in range(20):
        X, y = rng.integers(0, 2, (12, 4)), rng.integers(0, 2, 12)
        y[:2] = 0, 1
        for labels, trivial in (("any", True), ("majority", True), ("majority", False)):
            table = oracle.Table(tuple(map(tuple, X.tolist())), tuple(y.tolist()))
            space = oracle.Space(2, labels=labels, trivial_splits=trivial)
            trees = [oracle.measure(t, table) for t in oracle.list_trees(table, space)]
            costs = [
                oracle.metric("error", m, table) + 2 * oracle.metric("size", m, table)
                for m in trees
            ]
            limit = min(costs) * Fraction(3, 2)
            count = Count(X, y, labels=labels, trivial_splits=trivial, ties=0)
            assert count.least(2, count.all, Fraction(2)) == min(costs), trial
            counted = sum(count.within(2, count.all, Fraction(2), limit).values())
            assert counted == sum(cost <= limit for cost in costs), (trial, labels, trivial)
    print("the reference agrees with the oracle on 60 random questions")


if __name__ == "__main__":
    check()

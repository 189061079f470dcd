"""Sums of prior × evidence over all trees of a space: the passes up behind `adtc.posterior`.

Kernels compute in doubles with exponents of their own (`src/core/scaled.h`); here such numbers are
`Weight`. Which leaves trees have, and so what rows are predicted, is in `mixture`; single trees are
in `likely`.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np
import numpy.typing as npt

from adtc import _core
from adtc.data import Data
from adtc.engine import lattice as lattices
from adtc.engine.bayes.prior import RULES, Prior
from adtc.engine.bounds import INFINITY, Found, Walker
from adtc.engine.executors import run_jobs
from adtc.engine.monitor import Monitor
from adtc.engine.query import Space
from adtc.engine.scalar import leading
from adtc.engine.switches import Switches
from adtc.errors import QueryError

Ints = npt.NDArray[np.int64]
_SCALED = 16  # bytes of a number in the core
_UNIT = 2.0**-53  # a rounding


@dataclass(frozen=True, slots=True)
class Weight:
    """The number digits · 2^exponent, with digits in [0.5, 1), or 0."""

    digits: float = 0.0
    exponent: int = 0

    @classmethod
    def of(cls, digits: float, exponent: int = 0) -> Self:
        """Bring the digits into their range."""
        tidy, shift = math.frexp(digits)
        return cls(tidy, exponent + shift if tidy else 0)

    @classmethod
    def total(cls, numbers: tuple[npt.NDArray[np.float64], Ints]) -> Self:
        """Add up numbers that the core hands over as digits and exponents."""
        some = [(d, e) for d, e in zip(*map(np.ndarray.tolist, numbers), strict=True) if d]
        top = max((e for _, e in some), default=0)
        return cls.of(math.fsum(math.ldexp(d, e - top) for d, e in some), top)

    def __mul__(self, other: "Weight | float") -> "Weight":
        if isinstance(other, Weight):
            return Weight.of(self.digits * other.digits, self.exponent + other.exponent)
        return Weight.of(self.digits * other, self.exponent)

    def __truediv__(self, other: "Weight") -> float:
        return math.ldexp(self.digits / other.digits, max(-2000, self.exponent - other.exponent))

    @property
    def log(self) -> float:
        """Return the natural logarithm, −∞ for 0."""
        if not self.digits:
            return -math.inf
        return math.log(self.digits) + self.exponent * math.log(2)


@dataclass(frozen=True)
class TreeSums:
    """The values of all paths, and what they stand on.

    Parameters
    ----------
    data
        The table without groups and references; equal rows may be merged.
    counts
        ``[path, label]`` rows.
    groups
        ``[feature, variable]``: how many of the features that are alike belong to a source column.
    most_leaves
        0 if the number of leaves has no bound that matters.
    """

    data: Data
    features: lattices.Features
    table: _core.Table
    lattice: _core.Lattice
    counts: Ints
    variables: tuple[str, ...]
    groups: Ints
    prior: Prior
    max_depth: int
    minsup: int
    n_features: int
    most_leaves: int
    up: _core.BayesPass
    without: tuple[Weight, ...]
    weight: Weight
    prior_mass: Weight

    @property
    def depth(self) -> int:
        """Return how long paths may be."""
        return min(self.lattice.features, self.lattice.levels + self.lattice.rest)

    @cached_property
    def inclusion(self) -> dict[str, float]:
        """Return for each source column the probability that a tree tests it."""
        shares = [max(0.0, 1 - rest / self.weight) for rest in self.without]
        return dict(zip(self.variables, shares, strict=True))

    @cached_property
    def roundings(self) -> int:
        """Bound how many roundings lie behind the sum over all trees, counted as factors."""
        leaf = 2 * len(self.data.labels) + 4
        found = leaf
        for _ in range(self.depth):
            terms = self.lattice.features + len(self.variables) + max(1, self.most_leaves)
            found = 2 * found + terms + 8
        return found

    @property
    def relative_error(self) -> float:
        """Bound the relative error of every sum over trees."""
        return rounding_error(self.roundings)


def rounding_error(roundings: int) -> float:
    """Bound the relative error after so many roundings: ku / (1 − ku)."""
    return roundings * _UNIT / (1 - roundings * _UNIT)


def sum_over_trees(data: Data, space: Space, prior: Prior, monitor: Monitor) -> TreeSums:
    """Run the passes up: over all trees, without each source column, and of the prior alone."""
    minsup = space.min_support(data.total)
    plain = replace(data, z=np.zeros(data.n_rows, np.int32), groups=(), references=(), tables=())
    data = lattices.compact(plain)
    monitor.check()
    features = lattices.distinct_features(data, minsup)
    labels = len(data.labels)
    table = lattices.bit_planes(features, data, data.y.astype(np.int64), labels)
    lattice = lattices.numbered_paths(len(features.twins), space.max_depth)
    variables = tuple(dict.fromkeys(feature.column for feature in data.features))
    groups = _groups(data, features, variables)
    most_leaves = _most_leaves(space, minsup, data.total, lattice.features)
    paths, slots = sum(lattices.path_counts(lattice)), max(1, most_leaves)
    fixed = paths * (8 * labels + 3 * slots * _SCALED) + 2 * _SCALED * data.total
    each = paths * slots * _SCALED
    monitor.reserve("the table of subproblems", fixed + 2 * each)
    counts = _path_counts(table, lattice, minsup, labels, monitor)
    leaf, split = prior.chances(space.max_depth)
    tree_prior = _core.TreePrior(
        leaf, split, RULES[prior.name], data.n_features, minsup, most_leaves
    )
    wanted = leading(lattice, counts.sum(axis=1) >= minsup)
    rho = np.array(prior.rho, np.float64)

    def run(grouped: Ints, excluded: int, *, blank: bool, stage: str) -> _core.BayesPass:
        evidence = _core.Evidence(rho, table.totals, blank)
        up = _core.BayesPass(table, lattice, counts, evidence, tree_prior, grouped, excluded)

        def job(some: range) -> None:
            up.sum_last(some.start, some.stop, wanted, monitor.control)

        run_jobs(job, first_features(lattice, monitor), stage, monitor)
        with monitor.translated():
            up.sum_above(monitor.control)
        return up

    # all source columns at once if they fit, else in turn; each is left out once
    batch = max(1, (monitor.memory // 2 - fixed) // max(1, each) - 1)
    found: list[Weight] = []
    first: _core.BayesPass | None = None
    for start in range(0, max(1, len(variables)), batch):
        some = range(start, min(start + batch, len(variables)))
        up = run(_grouped(groups, some), len(some), blank=False, stage="sums over trees")
        first = first or up
        found += [Weight.total(up.total(1 + at)) for at in range(len(some))]
    assert first is not None
    mass = Weight.of(1.0)
    if prior.name != "bcart" or most_leaves:
        alone = run(_grouped(groups, range(0)), 0, blank=True, stage="prior")
        mass = Weight.total(alone.total(0))
    if not mass.digits:
        raise QueryError(
            f"no tree of at most {space.max_size} leaves has prior probability above 0 with alpha "
            f"{prior.alpha:g} and beta {prior.beta:g}, since every node splits that can: choose a "
            f"smaller alpha or a larger max_size."
        )
    return TreeSums(
        data, features, table, lattice, counts, variables, groups, prior, space.max_depth, minsup,
        data.n_features, most_leaves, first, tuple(found), Weight.total(first.total(0)), mass,
    )  # fmt: skip


def first_features(lattice: _core.Lattice, monitor: Monitor) -> list[range]:
    """Divide the first features of paths into jobs."""
    n = lattice.features if lattice.levels else 1
    step = max(1, n // (8 * monitor.threads))
    return [range(first, min(n, first + step)) for first in range(0, n, step)]


def _most_leaves(space: Space, minsup: int, total: int, features: int) -> int:
    """Return the bound on the number of leaves, 0 where no tree can exceed it."""
    most: int = 2 ** min(space.max_depth, features)
    if minsup:
        most = min(most, total // minsup)
    return 0 if space.max_size is None or space.max_size >= most else int(space.max_size)


def _groups(data: Data, features: lattices.Features, variables: Sequence[str]) -> Ints:
    """Count the twins of each distinct feature by source column."""
    place = {name: at for at, name in enumerate(variables)}
    groups = np.zeros((len(features.twins), max(1, len(variables))), np.int64)
    for f, twins in enumerate(features.twins):
        for twin in twins:
            groups[f, place[data.features[twin.feature].column]] += 1
    return groups


def _grouped(groups: Ints, some: range) -> Ints:
    """Keep some source columns apart and put all others together, behind them."""
    own = groups[:, some.start : some.stop]
    rest = groups.sum(axis=1, keepdims=True) - own.sum(axis=1, keepdims=True)
    return np.ascontiguousarray(np.concatenate([own, rest], axis=1))


def _path_counts(
    table: _core.Table, lattice: _core.Lattice, minsup: int, labels: int, monitor: Monitor
) -> Ints:
    """Count the rows of every numbered path by label."""
    costs = _core.Costs(
        weights=np.zeros((0, labels, labels), np.int64),
        constants=np.zeros(0, np.int64),
        group_label=np.arange(labels),
        infinity=INFINITY,
        minsup=minsup,
        majority=False,
    )
    found = Found.blank(lattice, labels, 0)
    walker = Walker(table, lattice, costs, Switches(), monitor)
    walker.visit(range(lattice.features), found)
    counts: Ints = found.counts
    return counts

"""Sums of prior times evidence, against a plain recursion in fractions, at every level."""

import math
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import pytest
from small_tables import (
    CORES,
    Path,
    Rows,
    children,
    counts_of,
    lattice_of,
    others,
    random_rows,
    table_of,
)

RHO = (Fraction(5, 2), Fraction(1, 4), Fraction(3))
SHAPES = [(0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 0), (2, 2)]
VALID, ALL, FLAT = range(3)


@dataclass(frozen=True)
class Plain:
    """The recursion over paths, by number of leaves; nothing is shared, nothing is rounded."""

    rows: Rows
    depth: int
    minsup: int
    rule: int
    groups: tuple[tuple[int, ...], ...]  # [feature][group]
    most: int  # leaves, 0 for any number

    def leaf(self, counts: tuple[int, ...]) -> Fraction:
        def rising(rho: Fraction, n: int) -> Fraction:
            return math.prod((rho + i for i in range(n)), start=Fraction(1))

        rho = RHO[: len(counts)]
        return math.prod(map(rising, rho, counts)) / rising(sum(rho), sum(counts))

    def valid(self, path: Path) -> list[int]:
        if len(path) == self.depth:
            return []
        sides = {f: children(path, f) for f in others(path, self.rows.n)}
        rows = {f: [sum(self.rows.counts(side)) for side in both] for f, both in sides.items()}
        return [f for f, both in rows.items() if min(both) >= self.minsup]

    def value(self, path: Path, times: list[int], best: bool = False) -> dict[int, Fraction]:
        """Sum over the trees below a path, or find the best; ``times`` counts features."""
        valid = self.valid(path)
        split = Fraction(1) if self.rule == FLAT else Fraction(3, 4 + 4 * len(path))
        stay = 1 if self.rule == FLAT or not valid else 1 - split
        among = {VALID: sum(sum(self.groups[f]) for f in valid), ALL: 7, FLAT: 1}[self.rule]
        found = {1: stay * self.leaf(self.rows.counts(path))}
        for f in valid:
            one, zero = (self.value(side, times, best) for side in children(path, f))
            for i, a in one.items():
                for j, b in zero.items():
                    product = split / among * a * b * (1 if best else times[f])
                    if self.most and i + j > self.most:
                        continue
                    old = found.get(i + j, Fraction(0))
                    found[i + j] = max(old, product) if best else old + product
        return found


def listed(found: dict[int, Fraction], most: int, best: bool = False) -> list[Fraction]:
    """Write values as the core does: by number of leaves if it is limited, else as one."""
    if most:
        return [found.get(size, Fraction(0)) for size in range(1, most + 1)]
    return [max(found.values()) if best else sum(found.values())]


def numbers(given) -> list[Fraction]:
    digits, exponents = given
    return [Fraction(d) * Fraction(2) ** int(e) for d, e in zip(digits, exponents, strict=True)]


def passed(core, plain: Plain, levels: int, rest: int, *, rho=None, control=None):
    """Run the core's pass up, the features of the last level in two parts."""
    rows = plain.rows
    lattice, counts = lattice_of(core, rows.n, levels, rest), counts_of(rows, levels)
    table = table_of(core, rows)
    split = np.array([3 / (4 + 4 * d) for d in range(levels + rest + 1)])
    prior = core.TreePrior(1 - split, split, plain.rule, 7, plain.minsup, plain.most)
    rho = np.array([float(r) for r in RHO[: rows.groups]]) if rho is None else rho
    evidence = core.Evidence(rho, table.totals, False)
    groups = np.array(plain.groups)
    up = core.BayesPass(table, lattice, counts, evidence, prior, groups, groups.shape[1])
    behind = np.zeros(len(counts), np.int64)
    core.lead_to_live(lattice, counts.sum(axis=1) >= plain.minsup, behind)
    control = control or core.Control()
    for first, stop in [(0, 1), (1, rows.n)] if levels else [(0, 1)]:
        up.sum_last(first, stop, behind > 0, control)
    up.sum_above(control)
    return up


def problem(seed: int, levels: int, rest: int) -> Plain:
    rng = np.random.default_rng(seed)
    rows = random_rows(rng, 3, int(rng.integers(6, 25)), int(rng.integers(1, 4)), 2)
    groups = tuple(map(tuple, (rng.integers(0, 2, (3, 2)) + np.array([1, 0])).tolist()))
    return Plain(rows, levels + rest, seed % 3, seed % 3, groups, [0, 3, 1, 5][seed % 4])


@pytest.mark.parametrize(
    ("seed", "levels", "rest"), [(s, *shape) for s, shape in enumerate(2 * SHAPES)]
)
def test_sums_and_best_products_are_those_of_the_recursion(seed, levels, rest):
    plain = problem(seed, levels, rest)
    if sum(plain.rows.counts(())) < plain.minsup:
        pytest.skip("the table is lighter than a leaf must be")
    ups = [passed(core.values[0], plain, levels, rest) for core in CORES]
    for channel in range(3):
        times = [sum(n for g, n in enumerate(each) if g != channel - 1) for each in plain.groups]
        expected = listed(plain.value((), times), plain.most)
        found = [numbers(up.total(channel)) for up in ups]
        assert found[0] == pytest.approx(expected, rel=1e-13)
        assert all(other == found[0] for other in found)  # doubles are the same at every level
    best = listed(plain.value((), times, best=True), plain.most, best=True)
    assert numbers(ups[0].best()) == pytest.approx(best, rel=1e-13)


@pytest.mark.parametrize("core", CORES)
def test_many_rows_neither_overflow_nor_vanish(core):
    n = 300_000
    rows = Rows(np.array([[0, 1]], np.uint8), np.array([0, 1]), np.array([n, n]), 2)
    plain = Plain(rows, 0, 1, VALID, ((1,),), 0)
    up = passed(core, plain, 0, 0, rho=np.array([2.5, 2.5]))
    digits, exponents = up.total(0)
    log = math.log(digits[0]) + exponents[0] * math.log(2)
    expected = (
        2 * (math.lgamma(n + 2.5) - math.lgamma(2.5)) - math.lgamma(2 * n + 5) + math.lgamma(5)
    )
    assert log == pytest.approx(expected, abs=1e-6)
    assert log < -400_000


@pytest.mark.parametrize("core", CORES)
def test_a_cancelled_pass_stops(core):
    control = core.Control()
    control.cancel()
    with pytest.raises(core.Cancelled):
        passed(core, problem(1, 1, 2), 1, 2, control=control)


@pytest.mark.parametrize("core", CORES)
def test_parts_that_do_not_belong_together_are_refused(core):
    with pytest.raises(ValueError, match="one rho for each label"):
        core.Evidence(np.ones(2), np.array([1, 1, 1]), False)
    with pytest.raises(ValueError, match="parts of the prior"):
        core.TreePrior(np.ones(2), np.ones(3), 0, 1, 1, 0)
    with pytest.raises(ValueError, match="do not belong together"):
        passed(core, replace(problem(1, 1, 2), groups=((1,),)), 1, 2)
    up = passed(core, problem(1, 1, 2), 1, 2)
    with pytest.raises(ValueError, match="no such channel"):
        up.total(9)
    with pytest.raises(ValueError, match="ascending features"):
        up.choices(np.array([1, 0]), np.array([True, True]), 0, False)
    with pytest.raises(ValueError, match="leaves, rows and shares"):
        core.mix_leaves(
            np.array([[8]], np.int32), np.ones((1, 2)), np.ones((3, 4)), np.zeros((4, 2)),
            core.Control(),
        )  # fmt: skip
    with pytest.raises(ValueError, match="no path of that number"):
        core.literals_of(lattice_of(core, 3, 1, 0), np.array([99]), 1)

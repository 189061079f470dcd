"""Criteria as costs, and zones: boxes of bounds on costs where a front is still to be searched."""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from adtc.algebra.atoms import MIRRORED
from adtc.algebra.formula import Comparison, Formula, Number, Term

Exact = Fraction | int
Zone = tuple[Exact | None, ...]  # per criterion a cost to stay below; None: no bound


@dataclass(frozen=True, slots=True)
class Criterion:
    """A criterion as a cost, of which less is better.

    Parameters
    ----------
    limit
        A cost that no tree falls below, if one is known.
    total
        Whether every tree has a value.
    linear
        Whether it is a sum over leaves, or a ratio of two.
    width
        How far the costs of trees may lie apart; only the order of the search depends on it.
    """

    name: str
    sign: int
    term: Term
    limit: Fraction | None
    total: bool
    linear: bool
    width: Fraction

    def is_(self, op: str, cost: Exact) -> Formula:
        """Compare the criterion with a cost."""
        shown = op if self.sign > 0 else MIRRORED[op]
        return Comparison((self.term, Number(Fraction(self.sign * cost))), (shown,))

    def defined(self) -> Iterator[Formula]:
        """Yield a condition that holds where the criterion is defined, if that needs one."""
        if not self.total:
            yield Comparison((self.term, self.term), ("=",))


def within(zone: Zone, other: Zone) -> bool:
    """Tell whether a zone lies in another one."""
    return all(b is None or (a is not None and a <= b) for a, b in zip(zone, other, strict=True))


def with_bound(zone: Zone, at: int, cost: Exact | None) -> Zone:
    """Replace the bound on one criterion."""
    return (*zone[:at], cost, *zone[at + 1 :])


def cut_out(zones: list[Zone], point: tuple[Exact, ...]) -> list[Zone]:
    """Take out of all zones what a point is at least as good as."""
    kept: list[Zone] = []
    cut: list[Zone] = []
    for zone in zones:
        if all(b is None or cost < b for cost, b in zip(point, zone, strict=True)):
            cut += [with_bound(zone, at, cost) for at, cost in enumerate(point)]
        else:
            kept.append(zone)
    for at, zone in enumerate(cut):
        rest = (*kept, *cut[at + 1 :])
        if not any(within(zone, other) for other in rest):
            kept.append(zone)
    return kept

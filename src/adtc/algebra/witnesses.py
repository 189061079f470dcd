"""Values that carry a tree: any tree, a cheapest tree, a uniformly drawn tree (Sec. 4.2).

The tree is a witness of the algebraic part and no part of it: costs and counts are compared, trees
never are, and the semiring laws hold up to the tree. A plain ⊗ has no feature to put above two
trees, so its result carries none; `split` of a semiring builds ⟨f, t1, t0⟩.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from adtc.algebra.trees import Split, Tree
from adtc.algebra.uniform import uniform_below

if TYPE_CHECKING:
    from numpy.random import Generator


@dataclass(frozen=True, slots=True)
class Found:
    """Whether there is a tree, and one if there is."""

    exists: bool
    tree: Tree | None = None


@dataclass(frozen=True, slots=True)
class Costed:
    """A cost and a tree that has it."""

    cost: float
    tree: Tree | None = None


@dataclass(frozen=True, slots=True)
class Drawn:
    """A number of trees and one of them, drawn uniformly."""

    count: int
    tree: Tree | None = None


def join(feature: int, t1: Tree | None, t0: Tree | None) -> Tree | None:
    """Build ⟨f, t1, t0⟩ if both children are there."""
    return None if t1 is None or t0 is None else Split(feature, t1, t0)


def cheaper(a: Costed, b: Costed) -> Costed:
    """Keep the cheaper one; ties: compare costs, not trees, and keep the first."""
    return b if b.cost < a.cost else a


def draw_one(rng: "Generator", a: Drawn, b: Drawn) -> Drawn:
    """Add the counts and keep one tree, each side with probability proportional to its count."""
    if a.count == 0 or b.count == 0:
        return b if a.count == 0 else a
    total = a.count + b.count
    chosen = a if uniform_below(rng, total) < a.count else b
    return Drawn(total, chosen.tree)

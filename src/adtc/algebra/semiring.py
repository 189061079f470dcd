"""What a semiring is here: two operations, and what they make of leaves and of tests.

Those that are built in are in `semirings`.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Generic, TypeAlias, TypeVar

from adtc.algebra.c_functions import CFunctions

R = TypeVar("R")
Values: TypeAlias = tuple[int, ...]


# Without slots: on Python 3.11 a frozen slotted generic cannot be made as Semiring[int](...).
@dataclass(frozen=True)
class Semiring(Generic[R]):
    """A commutative semiring (R, ⊕, ⊗, 0, 1).

    Parameters
    ----------
    embed
        Turns a leaf, given by its label and its metric values, into a value. None: a leaf can only
        be ``one``.
    split
        Acts as ⟨f, ·, ·⟩ on the values of the two subtrees: ``split(feature, value1, value0)``.
        None: plain ⊗. Values that hold trees or features need it; it must distribute over ⊕ in
        either subtree.
    equal
        Says when two values are the same for the laws: within rounding, or up to the tree. None:
        ``==``.
    adds_up
        True if ``embed`` turns sums into ⊗ whatever the labels: embed(v) ⊗ embed(w) =
        embed(v + w). Then the sum over all trees follows from how many trees have which metric
        values, and a fast engine need only count.
    compiled
        Where C functions do what ``add``, ``mul`` and ``embed`` do, if values are floats: the fast
        engine then calls these. See `adtc.semirings.compiled`.

    Examples
    --------
    The largest support that the smallest leaf of a tree can have:

    >>> bottleneck = Semiring("bottleneck", 0, float("inf"), max, min)
    >>> bottleneck.add(20, bottleneck.mul(35, 30))
    30
    """

    name: str
    zero: R
    one: R
    add: Callable[[R, R], R]
    mul: Callable[[R, R], R]
    embed: Callable[[int, Values], R] | None = None
    split: Callable[[int, R, R], R] | None = None
    equal: Callable[[R, R], bool] | None = None
    adds_up: bool = False
    compiled: CFunctions | None = None

    def node(self, feature: int, value1: R, value0: R) -> R:
        """Combine the values of two subtrees below a test: ``split``, or plain ⊗."""
        if self.split is None:
            return self.mul(value1, value0)
        return self.split(feature, value1, value0)

    def times(self, n: int, value: R) -> R:
        """Add ``value`` to itself: the ⊕ of ``n`` copies, by doubling."""
        total = self.zero
        while n:
            if n & 1:
                total = self.add(total, value)
            value, n = self.add(value, value), n >> 1
        return total

    def total(self, values: Iterable[R]) -> R:
        """Add values up: ``zero`` if there are none."""
        total = self.zero
        for value in values:
            total = self.add(total, value)
        return total

    def sum_of(self, counted: Iterable[tuple[Values, int]]) -> R:
        """Sum over trees from how many have which metric values: see ``adds_up``."""
        return self.total(
            self.times(trees, self.embed(0, values) if values and self.embed else self.one)
            for values, trees in counted
        )

    def same(self, a: R, b: R) -> bool:
        """Compare two values by ``equal``, or ``==``."""
        return bool(a == b if self.equal is None else self.equal(a, b))

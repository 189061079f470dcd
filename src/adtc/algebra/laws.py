"""The semiring laws (Sec. 2.1) and a checker that names the law a semiring breaks.

It tests the values it is given and proves nothing beyond them.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from inspect import signature
from itertools import product
from typing import Any, TypeVar

from adtc.algebra.semiring import Semiring
from adtc.errors import LawError

R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Law:
    """An equation between values a, b, c: both sides take the semiring and the values."""

    name: str
    equation: str
    left: Callable[..., Any]  # any number of values of any type
    right: Callable[..., Any]

    @property
    def arity(self) -> int:
        """Count the values the equation speaks about."""
        return len(signature(self.left).parameters) - 1


LAWS = (
    Law(
        "⊕ is commutative",
        "a ⊕ b = b ⊕ a",
        lambda R, a, b: R.add(a, b),
        lambda R, a, b: R.add(b, a),
    ),
    Law(
        "⊕ is associative",
        "(a ⊕ b) ⊕ c = a ⊕ (b ⊕ c)",
        lambda R, a, b, c: R.add(R.add(a, b), c),
        lambda R, a, b, c: R.add(a, R.add(b, c)),
    ),
    Law("zero is neutral for ⊕", "a ⊕ 0 = a", lambda R, a: R.add(a, R.zero), lambda R, a: a),
    Law(
        "⊗ is commutative",
        "a ⊗ b = b ⊗ a",
        lambda R, a, b: R.mul(a, b),
        lambda R, a, b: R.mul(b, a),
    ),
    Law(
        "⊗ is associative",
        "(a ⊗ b) ⊗ c = a ⊗ (b ⊗ c)",
        lambda R, a, b, c: R.mul(R.mul(a, b), c),
        lambda R, a, b, c: R.mul(a, R.mul(b, c)),
    ),
    Law("one is neutral for ⊗", "a ⊗ 1 = a", lambda R, a: R.mul(a, R.one), lambda R, a: a),
    Law("zero absorbs", "a ⊗ 0 = 0", lambda R, a: R.mul(a, R.zero), lambda R, a: R.zero),
    Law(
        "⊗ distributes over ⊕",
        "a ⊗ (b ⊕ c) = (a ⊗ b) ⊕ (a ⊗ c)",
        lambda R, a, b, c: R.mul(a, R.add(b, c)),
        lambda R, a, b, c: R.add(R.mul(a, b), R.mul(a, c)),
    ),
    Law(
        "split distributes over ⊕ in child 1",
        "⟨f, a ⊕ b, c⟩ = ⟨f, a, c⟩ ⊕ ⟨f, b, c⟩",
        lambda R, a, b, c: R.node(0, R.add(a, b), c),
        lambda R, a, b, c: R.add(R.node(0, a, c), R.node(0, b, c)),
    ),
    Law(
        "split distributes over ⊕ in child 0",
        "⟨f, a, b ⊕ c⟩ = ⟨f, a, b⟩ ⊕ ⟨f, a, c⟩",
        lambda R, a, b, c: R.node(0, a, R.add(b, c)),
        lambda R, a, b, c: R.add(R.node(0, a, b), R.node(0, a, c)),
    ),
    Law(
        "split of zero is zero in child 1",
        "⟨f, 0, a⟩ = 0",
        lambda R, a: R.node(0, R.zero, a),
        lambda R, a: R.zero,
    ),
    Law(
        "split of zero is zero in child 0",
        "⟨f, a, 0⟩ = 0",
        lambda R, a: R.node(0, a, R.zero),
        lambda R, a: R.zero,
    ),
)
"""Those of a commutative semiring; and ⟨f, ·, ·⟩ is linear in both children, as sums need it."""


def check_laws(semiring: Semiring[R], values: Iterable[R]) -> None:
    """Test every law on all choices of the given values, zero and one.

    Parameters
    ----------
    values
        A handful; the work grows with the cube of their number.

    Raises
    ------
    LawError
        Names the first broken law, the values that break it and what came out on either side.

    Examples
    --------
    >>> minus = Semiring("minus", 0, 1, lambda a, b: a - b, lambda a, b: a * b)
    >>> check_laws(minus, [2])
    Traceback (most recent call last):
    adtc.errors.LawError: semiring 'minus' breaks the law "⊕ is commutative" (a ⊕ b = b ⊕ a) for ...
    """
    tried = (*values, semiring.zero, semiring.one)
    for law in LAWS:
        for chosen in product(tried, repeat=law.arity):
            _check(law, semiring, chosen)


def _check(law: Law, semiring: Semiring[R], chosen: tuple[R, ...]) -> None:
    where = ", ".join(f"{letter} = {value!r}" for letter, value in zip("abc", chosen, strict=False))
    try:
        left, right = law.left(semiring, *chosen), law.right(semiring, *chosen)
        holds = semiring.same(left, right)
    except Exception as error:  # whatever a user's operation raises, say which law met it
        raise LawError(
            f"semiring '{semiring.name}' cannot compute the law \"{law.name}\" ({law.equation}) for"
            f" {where}: {type(error).__name__}: {error}"
        ) from error
    if not holds:
        raise LawError(
            f"semiring '{semiring.name}' breaks the law \"{law.name}\" ({law.equation}) for"
            f" {where}: the left side is {left!r}, the right side is {right!r}."
        )

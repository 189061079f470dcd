"""Where no tree satisfies a formula: how near the trees of the space come to each of its atoms.

Negations are pushed to the atoms and chains cut into links first; Kleene's logic allows both.
"""

from dataclasses import dataclass
from fractions import Fraction

from adtc.algebra.atoms import MIRRORED, atoms, normal
from adtc.algebra.formula import (
    And,
    Arithmetic,
    Comparison,
    Formula,
    Number,
    Term,
    Truth,
    all_of,
    constant,
    holds,
    parse,
)
from adtc.data import Data
from adtc.engine.monitor import Monitor
from adtc.engine.query import Definitions, Space
from adtc.engine.questions import optimize
from adtc.engine.run import Engine, opened

Value = Fraction | int


@dataclass(frozen=True, slots=True)
class Nearest:
    """How near trees come to one atom.

    Parameters
    ----------
    atom
        The comparison, such as ``acc >= 0.95``.
    term, op, asked
        The same with its constant on the right; without one, the difference of both sides and 0.
    alone
        The nearest values of the term among all trees of the space: for an inequality the best
        one, for ``=`` and ``!=`` up to two, one on either side; none where there is no such tree
        or the term is undefined for all of them.
    together
        The same among the trees that satisfy all the other conditions; None if there are none, or
        if the atom is part of a disjunction.

    Examples
    --------
    >>> print(Nearest("acc >= 0.95", "acc", ">=", Fraction("0.95"), (Fraction(6, 7),), ()))
    acc >= 0.95: at most 0.8571 (no tree with the other conditions)
    """

    atom: str
    term: str
    op: str
    asked: Fraction
    alone: tuple[Value, ...]
    together: tuple[Value, ...] | None = None

    @property
    def possible(self) -> bool:
        """Tell whether a tree satisfies the atom, whatever the other conditions."""
        return any(holds(_compared(_number(v), self.op, self.asked), {}) for v in self.alone)

    def __str__(self) -> str:
        what = "" if self.atom.startswith(f"{self.term} {self.op} ") else f"{self.term} is "
        if not self.alone:
            nothing = "no tree has another value" if self.op == "!=" else "undefined for every tree"
            return f"{self.atom}: {nothing}"
        text = f"{self.atom}: {what}{self._bound} {self._shown(self.alone)}"
        if self.together is None:
            return text
        within = self._shown(self.together) if self.together else "no tree"
        return f"{text} ({within} with the other conditions)"

    @property
    def _bound(self) -> str:
        return {"<": "at least", ">": "at most"}.get(self.op[0], "nearest")

    def _shown(self, values: tuple[Value, ...]) -> str:
        return " and ".join(_decimal(Fraction(value), self.asked) for value in values)


def nearest(
    data: Data,
    space: Space,
    where: str | Formula,
    *,
    define: Definitions | None = None,
    engine: Engine = "auto",
    monitor: Monitor | None = None,
) -> tuple[Nearest, ...]:
    """Find the nearest feasible value of each atom of a formula, exactly.

    Parameters
    ----------
    where
        The formula, usually one that no tree satisfies.
    define, engine, monitor
        As in `count`.

    Notes
    -----
    Each value is the answer to an `optimize` of its own: one per atom without the other
    conditions, one with them.

    Examples
    --------
    >>> import adtc
    >>> data = adtc.Data.from_arrays([[1], [1], [0]], [1, 0, 0])
    >>> for found in nearest(data, adtc.Space(max_depth=1), "error = 0 and size <= 1"):
    ...     print(found)
    error = 0: nearest 1 (1 with the other conditions)
    size <= 1: at least 1 (no tree with the other conditions)
    """
    formula = normal(parse(where) if isinstance(where, str) else where)
    strict = None if monitor is None else monitor.strict()
    seeker = _Seeker(data, space, define, engine, strict)
    conditions = formula.parts if isinstance(formula, And) else (formula,)
    found = []
    for at, condition in enumerate(conditions):
        others = conditions[:at] + conditions[at + 1 :]
        if isinstance(condition, Comparison):
            found.append(seeker.nearest(condition, all_of(*others) if others else None))
        else:
            found += [seeker.nearest(atom, None) for atom in atoms(condition)]
    return tuple(found)


@dataclass(frozen=True, slots=True)
class _Seeker:
    """Optimises one side of atoms."""

    data: Data
    space: Space
    define: Definitions | None
    engine: Engine
    monitor: Monitor | None

    def nearest(self, atom: Comparison, others: Formula | None) -> Nearest:
        """Put the constant to the right; without one, compare the difference with zero."""
        (term, right), (op,) = atom.terms, atom.ops
        value, asked = self._constant(term), self._constant(right)
        if value is not None and asked is not None:  # the same for every tree
            other = op != "!=" or value != asked
            return Nearest(str(atom), str(term), op, asked, (value,) if other else ())
        if value is not None:
            term, op, asked = right, MIRRORED[op], value
        elif asked is None:
            term, asked = Arithmetic("-", term, right), Fraction()
        alone = self._values(term, op, asked, Truth(True))
        together = None if others is None else self._values(term, op, asked, others)
        return Nearest(str(atom), str(term), op, asked, alone, together)

    def _constant(self, term: Term) -> Fraction | None:
        """Return the value of a term that is the same for every tree, such as ``least(error)``."""
        asked = {"ask": "nearest", "metrics": [str(term)]}
        with opened(
            self.data,
            self.space,
            asked,
            define=self.define,
            engine=self.engine,
            monitor=self.monitor,
        ) as run:
            question = run.ask(metrics=[str(term)])
        return constant(question.metrics[0][1])

    def _values(self, term: Term, op: str, asked: Fraction, where: Formula) -> tuple[Value, ...]:
        if op[0] == "<":
            return self._best(term, 1, where)
        if op[0] == ">":
            return self._best(term, -1, where)
        low, high = ("<=", ">=") if op == "=" else ("<", ">")
        below = self._best(term, -1, all_of(_compared(term, low, asked), where))
        if below == (asked,):
            return below
        return below + self._best(term, 1, all_of(_compared(term, high, asked), where))

    def _best(self, term: Term, sign: int, where: Formula) -> tuple[Value, ...]:
        """Return the least (sign 1) or largest (−1) value; none if no good tree has one."""
        best = optimize(
            self.data,
            self.space,
            minimize=str(term) if sign > 0 else None,
            maximize=str(term) if sign < 0 else None,
            where=where,
            define=self.define,
            engine=self.engine,
            monitor=self.monitor,
        )
        return () if best.value is None else (best.value,)


def _compared(term: Term, op: str, asked: Fraction) -> Formula:
    return Comparison((term, Number(asked)), (op,))


def _number(value: Value) -> Number:
    return Number(Fraction(value))


def _decimal(value: Fraction, asked: Fraction) -> str:
    """Write a value with as few digits as tell it from the one asked for; four at least."""
    if value.denominator == 1:
        return str(value.numerator)
    for digits in range(4, 18):
        text = f"{float(value):.{digits}g}"
        shown = Fraction(text)
        if (shown > asked) == (value > asked) and (shown < asked) == (value < asked):
            return text
    return str(value)

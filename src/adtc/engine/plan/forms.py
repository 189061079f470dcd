"""Affine forms as integer functionals of leaf counts, and the bounds that atoms imply on them.

Counts that no tree can change go into constants (the paper's model-independent metrics), and forms
are scaled to whole numbers without common factor, so that equal forms look alike.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from operator import index

from adtc.algebra.affine import Affine, convex, ratio
from adtc.algebra.formula import Arithmetic, Term
from adtc.algebra.metrics import SIZE, Functional, Primitive, RowGroup

_COST_LIMIT = 2**56
SMALL = 2**25  # costs below that take 32 bits, with room for sums of four


@dataclass(frozen=True, slots=True)
class Form:
    """An integer functional of leaf counts: ``per_leaf`` per leaf + ``weights[l, g]`` per row."""

    name: str
    per_leaf: int
    weights: tuple[tuple[int, ...], ...]  # [label][row group]

    def vector(self) -> tuple[int, ...]:
        """Return all coefficients in one row."""
        return (self.per_leaf, *(w for row in self.weights for w in row))

    def over_groups(self, kept: Sequence[int]) -> "Form":
        """Return the form on some of the row groups."""
        weights = tuple(tuple(row[g] for g in kept) for row in self.weights)
        return Form(self.name, self.per_leaf, weights)

    def countable(self, totals: Sequence[int]) -> bool:
        """Tell whether every cost on these rows surely fits into a word, with room for sums."""
        largest = max(map(abs, self.vector()))
        return largest * (sum(totals) + 1) < _COST_LIMIT

    def reach(self, totals: Sequence[int]) -> int:
        """Bound the absolute value of every cost on these rows, of parts and whole trees alike."""
        widest = max(map(abs, self.range(totals, sum(totals) + 1)))
        return max(widest, max(map(abs, self.vector())) * sum(totals))

    def range(self, totals: Sequence[int], leaves: int) -> tuple[int, int]:
        """Return the least and largest value over all labellings with 1 to ``leaves`` leaves."""
        low, high = sorted((self.per_leaf, self.per_leaf * leaves))
        for n, column in zip(totals, zip(*self.weights, strict=True), strict=True):
            low += n * min(column)
            high += n * max(column)
        return low, high


@dataclass(frozen=True, slots=True)
class Bounds:
    """What a part of a formula says about forms, each with its largest value.

    Parameters
    ----------
    exact
        Every tree within the bounds satisfies the part: there is nothing else to check.
    """

    limits: list[tuple[Form, int]]
    exact: bool

    @classmethod
    def together(cls, parts: Iterable["Bounds"]) -> "Bounds":
        """Join the bounds of parts that must hold at once."""
        parts = list(parts)
        limits = [limit for part in parts for limit in part.limits]
        return cls(limits, all(part.exact for part in parts))


UNBOUNDED = Bounds([], exact=False)


class Reader:
    """Turns affine forms over primitives into integer functionals of leaf counts."""

    def __init__(
        self,
        primitives: dict[str, Primitive],
        keys: list[RowGroup],
        labels: int,
        totals: list[int],
    ) -> None:
        self.primitives, self.keys, self.labels, self.totals = primitives, keys, labels, totals
        self._reduced: dict[tuple[object, ...], tuple[Form, Fraction, Fraction]] = {}

    def form(self, affine: Affine) -> Form:
        """Scale an affine form to whole numbers without common factor; its constant is dropped."""
        return self.reduced(affine)[0]

    def primitive(self, primitive: Primitive) -> Form:
        """Return a primitive metric as a form of its own."""
        self.primitives.setdefault(primitive.name, primitive)
        return self.form(Affine({primitive.name: Fraction(1)}, Fraction()))

    def unit(self, place: int) -> Form:
        """Return the form whose vector is 1 at one place: size, or a group's rows by label."""
        none = (0,) * len(self.keys)
        if place == 0:
            return Form(SIZE.name, 1, (none,) * self.labels)
        label, g = divmod(place - 1, len(self.keys))
        one = (*none[:g], 1, *none[g + 1 :])
        weights = tuple(one if other == label else none for other in range(self.labels))
        return Form(f"unit[{label},{g}]", 0, weights)

    def bounds(self, atom: tuple[Term, str, Term]) -> Bounds:
        """Return the bounds that an atom implies."""
        left, op, right = atom
        if op == "!=":
            return UNBOUNDED
        sides = []
        if op in ("<=", "<", "="):
            sides.append(self._at_most(Arithmetic("-", left, right), strict=op == "<"))
        if op in (">=", ">", "="):
            sides.append(self._at_most(Arithmetic("-", right, left), strict=op == ">"))
        return Bounds.together(sides)

    def _at_most(self, term: Term, *, strict: bool) -> Bounds:
        """Bound a term that must be at most (or below) zero."""
        over = ratio(term)
        if over is None:
            forms = convex(term)
            if forms is None:
                return UNBOUNDED
            return Bounds.together(self._bound(form, strict=strict) for form in forms)
        top, bottom = over
        if not bottom.coefficients:  # a plain form is over 1
            return self._bound(top, strict=strict)
        if not all(name in self.primitives for name in bottom.coefficients):
            return UNBOUNDED
        if not self.never_negative(bottom):
            return UNBOUNDED
        # p/q ≤ 0 with q ≥ 0 says p ≤ 0, and that q is not 0
        return replace(self._bound(top, strict=strict), exact=False)

    def _bound(self, affine: Affine, *, strict: bool) -> Bounds:
        if any(name not in self.primitives for name in affine.coefficients):
            return UNBOUNDED  # the depth does not add up over leaves
        form, scale, constant = self.reduced(affine)
        if scale == 0:
            return UNBOUNDED
        # form · scale + constant ≤ 0 with scale > 0; a form's values are whole numbers
        limit = -constant / scale
        largest = math.floor(limit)
        return Bounds([(form, largest - 1 if strict and largest == limit else largest)], exact=True)

    def never_negative(self, affine: Affine) -> bool:
        """Tell whether a form cannot be negative, whatever the tree."""
        form, scale, constant = self.reduced(affine)
        low, _ = form.range(self.totals, 1)
        return scale * low + constant >= 0 and form.per_leaf >= 0

    def range(self, affine: Affine) -> tuple[Fraction, Fraction]:
        """Bound a form over all labellings of all rows, whatever the tree."""
        form, scale, constant = self.reduced(affine)
        ends = [scale * end + constant for end in form.range(self.totals, sum(self.totals))]
        return min(ends), max(ends)

    def _coefficients(self, affine: Affine) -> tuple[int, list[list[int]], int]:
        """Return the coefficients per leaf and per row, times a denominator, and that."""
        denominator = math.lcm(*(c.denominator for c in affine.coefficients.values()))
        per_leaf = 0
        weights = [[0] * len(self.keys) for _ in range(self.labels)]
        for name, c in affine.coefficients.items():
            functional = self._functional(name)
            factor = c.numerator * (denominator // c.denominator)
            per_leaf += factor * functional.per_leaf
            for label, row in enumerate(weights):
                for g, key in enumerate(self.keys):
                    row[g] += factor * index(functional.weight(label, key))
        return per_leaf, weights, denominator

    def _functional(self, name: str) -> Functional:
        functional = self.primitives[name].functional
        assert functional is not None  # only such axes are given to a reader
        return functional

    def reduced(self, affine: Affine) -> tuple[Form, Fraction, Fraction]:
        """Return (form, scale, constant) with the affine form = scale · form + constant.

        What label 0 would contribute is the same for every tree and goes into the constant.
        """
        # a plan needs the same form as budget, axis and filter; fractions take long to hash
        whole = {name: c.as_integer_ratio() for name, c in affine.coefficients.items()}
        key = (affine.constant.as_integer_ratio(), *whole.items())
        if key not in self._reduced:
            self._reduced[key] = self._reduce(affine)
        return self._reduced[key]

    def _reduce(self, affine: Affine) -> tuple[Form, Fraction, Fraction]:
        per_leaf, weights, denominator = self._coefficients(affine)
        first = weights[0]
        same = sum(w * total for w, total in zip(first, self.totals, strict=True))
        constant = affine.constant + Fraction(same, denominator)
        shifted = [[w - w0 for w, w0 in zip(row, first, strict=True)] for row in weights]
        divisor = math.gcd(per_leaf, *(w for row in shifted for w in row))
        if divisor == 0:
            zero = tuple(tuple(row) for row in shifted)
            return Form(str(affine.constant), 0, zero), Fraction(), constant
        whole = tuple(tuple(w // divisor for w in row) for row in shifted)
        form = Form(_name(affine), per_leaf // divisor, whole)
        return form, Fraction(divisor, denominator), constant

    def over(self, affine: Affine, basis: Sequence[Form]) -> tuple[tuple[Fraction, ...], Fraction]:
        """Write an affine form as an exact combination of the basis, plus a constant."""
        form, scale, constant = self.reduced(affine)
        solution = solve([b.vector() for b in basis], form.vector())
        assert solution is not None, f"{form.name} is not determined by the axes"
        return tuple(c * scale for c in solution), constant


def _name(affine: Affine) -> str:
    return " + ".join(
        name if c == 1 else f"{c}·{name}" for name, c in sorted(affine.coefficients.items())
    ).replace("+ -", "− ")


def solve(basis: Sequence[Sequence[int]], target: Sequence[int]) -> tuple[Fraction, ...] | None:
    """Solve Σ x_i · basis_i = target exactly by elimination; None if there is no solution."""
    rows = [[*entries, end] for *entries, end in zip(*basis, target, strict=True)]
    pivots: list[int] = []
    for column in range(len(basis)):
        at = len(pivots)
        pivot = next((r for r in range(at, len(rows)) if rows[r][column]), None)
        if pivot is None:
            continue
        rows[at], rows[pivot] = rows[pivot], rows[at]
        head = rows[at]
        for r, row in enumerate(rows):
            if r != at and row[column]:
                # whole numbers throughout, kept small by dividing out what is common
                crossed = [
                    head[column] * x - row[column] * y for x, y in zip(row, head, strict=True)
                ]
                common = math.gcd(*crossed) or 1
                rows[r] = [x // common for x in crossed]
        pivots.append(column)
    if any(row[-1] for row in rows[len(pivots) :]):
        return None
    solution = [Fraction()] * len(basis)
    for at, column in enumerate(pivots):
        solution[column] = Fraction(rows[at][-1], rows[at][column])
    return tuple(solution)


class Span:
    """All combinations of some vectors, which are added one by one.

    Examples
    --------
    >>> span = Span([[1, 0, 1], [0, 2, 2]])
    >>> [1, 1, 2] in span, span.add([3, 3, 6]), span.add([0, 0, 1])
    (True, False, True)
    >>> Span([[1, 0, 1], [0, 2, 0], [1, 1, 1]]).units()
    [1]
    """

    def __init__(self, vectors: Iterable[Sequence[int]] = ()) -> None:
        # each with the place of its first number that is not 0; later ones have a 0 there
        self._heads: list[tuple[int, Sequence[int]]] = []
        for vector in vectors:
            self.add(vector)

    def __contains__(self, vector: Sequence[int]) -> bool:
        return not any(self._rest(vector))

    def add(self, vector: Sequence[int]) -> bool:
        """Add a vector; return False if it was a combination already."""
        rest = self._rest(vector)
        at = next((at for at, x in enumerate(rest) if x), None)
        if at is None:
            return False
        self._heads.append((at, rest))
        return True

    def units(self) -> list[int]:
        """List the places p such that the vector of zeros with a 1 at p is a combination."""
        # with zeros at all other heads, a vector alone can make a 1 at its own
        alone = [
            _without(vector, self._heads[:i] + self._heads[i + 1 :])
            for i, (_, vector) in enumerate(self._heads)
        ]
        places = ([p for p, x in enumerate(vector) if x] for vector in alone)
        return sorted(p for p, *others in places if not others)

    def _rest(self, vector: Sequence[int]) -> Sequence[int]:
        """Return what is left of a multiple of a vector without those that are there."""
        return _without(vector, self._heads)


def _without(vector: Sequence[int], heads: Sequence[tuple[int, Sequence[int]]]) -> Sequence[int]:
    """Take multiples of others from a multiple of a vector, so that it is 0 at their places."""
    for at, head in heads:
        if factor := vector[at]:
            crossed = [head[at] * x - factor * y for x, y in zip(vector, head, strict=True)]
            common = math.gcd(*crossed) or 1  # whole numbers kept small
            vector = [x // common for x in crossed]
    return vector

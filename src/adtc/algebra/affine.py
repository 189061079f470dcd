"""Affine forms of terms: which terms are linear in primitive metrics, and with what coefficients.

Constraints and objectives that are affine can be pushed into the computation leaf by leaf; a term
that is not (a ratio with a tree-dependent denominator, a product, abs, min, max) gives None.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from adtc.algebra.formula import Arithmetic, Call, Name, Negate, Number, Term


@dataclass(frozen=True, slots=True)
class Affine:
    """``constant`` + Σ ``coefficients[name]`` · name, exactly.

    Most numbers are 0 or 1, and to tell that takes much less time than to calculate with them.
    """

    coefficients: Mapping[str, Fraction]
    constant: Fraction

    def __add__(self, other: "Affine") -> "Affine":
        sums = dict(self.coefficients)
        for name, c in other.coefficients.items():
            sums[name] = sums[name] + c if name in sums else c
        kept = {name: c for name, c in sums.items() if c}
        a, b = self.constant, other.constant
        return Affine(kept, a + b if a and b else a or b)

    def __neg__(self) -> "Affine":
        return self.scaled(_MINUS)

    def scaled(self, factor: Fraction) -> "Affine":
        """Multiply the whole form by a number."""
        if factor == 1:
            return self
        kept = {
            name: factor if c == 1 else c * factor
            for name, c in self.coefficients.items()
            if factor
        }
        return Affine(kept, self.constant and self.constant * factor)


_NONE, _ONE, _MINUS = Fraction(), Fraction(1), Fraction(-1)
ZERO = Affine({}, _NONE)


def affine(term: Term) -> Affine | None:
    """Return the affine form of ``term``, or None if it has none.

    Examples
    --------
    >>> from adtc.algebra.formula import parse_term
    >>> affine(parse_term("(100 - error) / 100")).coefficients
    {'error': Fraction(-1, 100)}
    >>> affine(parse_term("size * error")) is None
    True
    """
    match term:
        case Number(value):
            return Affine({}, value)
        case Name(name):
            return Affine({name: _ONE}, _NONE)
        case Negate(inner):
            form = affine(inner)
            return None if form is None else -form
        case Arithmetic(op, left, right):
            a, b = affine(left), affine(right)
            return None if a is None or b is None else _combine(op, a, b)
        case _:
            return None


def as_term(form: Affine) -> Term:
    """Write an affine form as a term: the inverse of `affine`.

    Examples
    --------
    >>> str(as_term(Affine({"error": Fraction(-1, 2)}, Fraction(3))))
    '-0.5 * error + 3'
    """
    terms: list[Term] = [
        Name(name) if c == 1 else Arithmetic("*", Number(c), Name(name))
        for name, c in form.coefficients.items()
    ]
    if form.constant or not terms:
        terms.append(Number(form.constant))
    total, *rest = terms
    for term in rest:
        total = Arithmetic("+", total, term)
    return total


def _combine(op: str, a: Affine, b: Affine) -> Affine | None:
    if op == "+":
        return a + b
    if op == "-":
        return a + -b
    if op == "*":
        if not a.coefficients:
            return b.scaled(a.constant)
        return None if b.coefficients else a.scaled(b.constant)
    if b.coefficients or b.constant == 0:
        return None
    return a.scaled(1 / b.constant)


def parts(term: Term) -> list[Affine]:
    """List the largest affine parts of a term that are not constant: what determines its value."""
    form = affine(term)
    if form is not None:
        return [form] if form.coefficients else []
    match term:
        case Negate(inner):
            return parts(inner)
        case Arithmetic(_, left, right):
            return parts(left) + parts(right)
        case Call(_, arguments):
            return [form for argument in arguments for form in parts(argument)]
        case _:
            return []


def ratio(term: Term) -> tuple[Affine, Affine] | None:
    """Write a term as one affine form over another, or None; a plain affine form is over 1."""
    form = affine(term)
    if form is not None:
        return form, Affine({}, _ONE)
    match term:
        case Negate(inner):
            over = ratio(inner)
            return None if over is None else (-over[0], over[1])
        case Arithmetic("/", left, right):
            top, bottom = affine(left), affine(right)
            if top is None or bottom is None or bottom == ZERO:  # p/0 is undefined for every tree
                return None
            return top, bottom
        case Arithmetic(op, left, right):
            a, b = ratio(left), ratio(right)
            return None if a is None or b is None else _combine_ratios(op, a, b)
        case _:
            return None


def _combine_ratios(
    op: str, a: tuple[Affine, Affine], b: tuple[Affine, Affine]
) -> tuple[Affine, Affine] | None:
    """Add or subtract a constant, or multiply by one: what keeps both forms affine."""
    if op == "-":
        return _combine_ratios("+", a, (-b[0], b[1]))
    if not (b[0].coefficients or b[1].coefficients):
        constant, other = b[0].constant / b[1].constant, a
    elif not (a[0].coefficients or a[1].coefficients):
        constant, other = a[0].constant / a[1].constant, b
    else:
        return None
    if op == "+":
        return other[0] + other[1].scaled(constant), other[1]
    return (other[0].scaled(constant), other[1]) if op == "*" else None


def convex(term: Term) -> list[Affine] | None:
    """Write a term as the maximum of affine forms, or None: ``abs``, max, and sums of such."""
    return _extremum(term, upper=True)


def _extremum(term: Term, *, upper: bool) -> list[Affine] | None:
    """Write a term as the maximum (``upper``) or the minimum of affine forms."""
    form = affine(term)
    if form is not None:
        return [form]
    match term:
        case Negate(inner):
            return _scaled(_extremum(inner, upper=not upper), Fraction(-1))
        case Call("abs", (inner,)) if upper:
            above, below = _extremum(inner, upper=True), _extremum(inner, upper=False)
            mirrored = _scaled(below, Fraction(-1))
            return None if above is None or mirrored is None else above + mirrored
        case Call(function, arguments) if function == ("max" if upper else "min"):
            forms = [_extremum(argument, upper=upper) for argument in arguments]
            return None if None in forms else [form for some in forms for form in some or ()]
        case Arithmetic("+", left, right):
            return _sums(_extremum(left, upper=upper), _extremum(right, upper=upper))
        case Arithmetic("-", left, right):
            minus = _scaled(_extremum(right, upper=not upper), Fraction(-1))
            return _sums(_extremum(left, upper=upper), minus)
        case Arithmetic("/", left, right):
            divisor = affine(right)
            if divisor is None or divisor.coefficients or divisor.constant == 0:
                return None
            return _times(left, 1 / divisor.constant, upper=upper)
        case Arithmetic("*", left, right):
            for factor, other in ((affine(left), right), (affine(right), left)):
                if factor is not None and not factor.coefficients:
                    return _times(other, factor.constant, upper=upper)
            return None
        case _:
            return None


def _times(term: Term, factor: Fraction, *, upper: bool) -> list[Affine] | None:
    return _scaled(_extremum(term, upper=upper if factor > 0 else not upper), factor)


def _scaled(forms: list[Affine] | None, factor: Fraction) -> list[Affine] | None:
    return None if forms is None else [form.scaled(factor) for form in forms]


def _sums(a: list[Affine] | None, b: list[Affine] | None) -> list[Affine] | None:
    return None if a is None or b is None else [x + y for x in a for y in b]

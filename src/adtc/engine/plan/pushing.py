"""What a constraint says about single affine forms: which of its parts become budgets, and why not.

A formula is first written with negations at its atoms only (undefined stays undefined under all
steps). Then it is a conjunction of parts: an atom bounds the forms it compares; of an `or`, what
all branches bound holds with the loosest of their limits. Everything else is left to the final
filter.
"""

from collections.abc import Iterator

from adtc.algebra.atoms import normal
from adtc.algebra.formula import And, Comparison, Formula, Or, Truth
from adtc.engine.plan.forms import UNBOUNDED, Bounds, Form, Reader


def parts_of(formula: Formula) -> Iterator[Formula]:
    """Yield what every good tree must satisfy: atoms of one relation, and disjunctions.

    Examples
    --------
    >>> from adtc.algebra.formula import parse
    >>> [str(part) for part in parts_of(parse("not (error > 5 or 2 <= size <= 4)"))]
    ['error <= 5', '2 > size or size > 4']
    """
    match normal(formula):
        case And(members):
            for member in members:
                yield from parts_of(member)
        case Truth(True):
            return
        case part:
            yield part


def bounds_of(part: Formula, reader: Reader) -> Bounds:
    """Bound forms on the trees that satisfy a part of a formula."""
    match part:
        case Comparison((left, right), (op,)):
            return reader.bounds((left, op, right))
        case And(members):
            return Bounds.together(bounds_of(member, reader) for member in members)
        case Or(members):
            branches = [_tightest(bounds_of(m, reader)) for m in members if m != Truth(False)]
            common = set.intersection(*(set(branch) for branch in branches)) if branches else set()
            first = branches[0] if branches else {}
            limits = [
                (form, max(branch[vector][1] for branch in branches))
                for vector, (form, _) in first.items()
                if vector in common
            ]
            return Bounds(limits, exact=False)
    return UNBOUNDED


def reason_not_pushed(part: Formula, reader: Reader) -> str:
    """Say why a part of a formula gives no budget."""
    match part:
        case Comparison(_, ("!=",)):
            return "!= is no bound"
        case Or(members):
            if all(bounds_of(member, reader).limits for member in members):
                return "its branches bound different sums of counts"
            return "one of its branches bounds no sum of counts"
        case Truth():
            return "it holds for no tree"
    return "it bounds no sum of counts"


def _tightest(bounds: Bounds) -> dict[tuple[int, ...], tuple[Form, int]]:
    best: dict[tuple[int, ...], tuple[Form, int]] = {}
    for form, limit in bounds.limits:
        vector = form.vector()
        if vector not in best or limit < best[vector][1]:
            best[vector] = (form, limit)
    return best

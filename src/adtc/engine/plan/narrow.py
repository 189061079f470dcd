"""Conditions on depth and support, turned into the space itself.

A tree satisfies ``depth <= c`` iff it is in the space of depth c, and ``support >= c`` iff it is in
the space whose leaves hold at least c rows. Such atoms, where every good tree must satisfy them,
leave the formula; what else asks for the depth is answered depth by depth.
"""

import math
from dataclasses import replace
from fractions import Fraction

from adtc.algebra.affine import Affine, affine
from adtc.algebra.atoms import MIRRORED, conjuncts
from adtc.algebra.formula import Arithmetic, Comparison, Formula, Number, Term, Truth, all_of, names
from adtc.algebra.formula import substitute as replace_names
from adtc.algebra.metrics import DEPTH, SUPPORT
from adtc.engine.query import Question

_NONE = Fraction()


def narrowed(question: Question) -> Question:
    """Move bounds on depth and support from the constraint into the space."""
    if not {DEPTH.name, SUPPORT.name} & {axis.name for axis in question.axes}:
        return question
    depth, support = question.space.max_depth, question.minsup
    kept: list[Formula] = []
    for atom in conjuncts(question.constraint):
        match atom:
            case Comparison((left, right), (op,)) if limit := absorbed(left, op, right):
                if limit[0] == DEPTH.name:
                    depth = min(depth, limit[1])
                else:
                    support = max(support, limit[1])
            case _:
                kept.append(atom)
    if depth < 0 or support > question.schema.total:
        kept, depth, support = [Truth(False)], 0, question.minsup
    constraint = all_of(*kept)
    asked = set(names(constraint)).union(*(names(term) for _, term in question.metrics))
    gone = {DEPTH.name, SUPPORT.name} - asked
    pairs = zip(question.axes, question.shape, strict=True)
    axes = [(axis, size) for axis, size in pairs if axis.name not in gone]
    return replace(
        question,
        space=replace(question.space, max_depth=depth, minsup=support, relminsup=None),
        minsup=support,
        axes=tuple(axis for axis, _ in axes),
        shape=tuple(size for _, size in axes),
        constraint=constraint,
    )


def absorbed(left: Term, op: str, right: Term) -> tuple[str, int] | None:
    """Return what an atom says of the space: the largest depth, or the least support."""
    match _bound(left, op, right):
        case (DEPTH.name, "<=" | "<" as sign, limit):
            return DEPTH.name, _at_most(limit, strict=sign == "<")
        case (SUPPORT.name, ">=" | ">" as sign, limit):
            return SUPPORT.name, -_at_most(-limit, strict=sign == ">")
    return None


def by_depth(question: Question) -> bool:
    """Tell whether the question must be answered depth by depth."""
    return any(axis.name == DEPTH.name for axis in question.axes)


def at_depth(question: Question, depth: int) -> Question:
    """Ask the same of trees of one depth: the depth becomes a number in the formula."""
    number = {DEPTH.name: Number(Fraction(depth))}
    return replace(
        question,
        space=replace(question.space, max_depth=depth),
        constraint=replace_names(question.constraint, number),
    )


def without_depth(form: Affine) -> tuple[Affine, Fraction]:
    """Split a form into what adds up over leaves and its coefficient of the depth."""
    if DEPTH.name not in form.coefficients:
        return form, _NONE
    others = {name: c for name, c in form.coefficients.items() if name != DEPTH.name}
    return Affine(others, form.constant), form.coefficients[DEPTH.name]


def _bound(left: Term, op: str, right: Term) -> tuple[str, str, Fraction] | None:
    """Read ``name op limit`` off a comparison of depth or support with a number."""
    form = affine(Arithmetic("-", left, right))
    if form is None or len(form.coefficients) != 1 or op not in MIRRORED:
        return None
    ((name, c),) = form.coefficients.items()
    return name, op if c > 0 else MIRRORED[op], -form.constant / c


def _at_most(limit: Fraction, *, strict: bool) -> int:
    """Return the largest whole number that is at most, or below, a limit."""
    largest = math.floor(limit)
    return largest - 1 if strict and largest == limit else largest

"""The query plan: which integer axes, which budgets, how wide the numbers.

Every metric and atom that a question needs is made of affine forms of leaf counts; the axes are a
basis of the space those forms span, so they are as few as can be. Atoms of the constraint that
follow from a bound on an affine form are *pushed*: engines then drop whatever exceeds the bound.
Counts that no tree can change are taken out first (the paper's model-independent metrics).
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from adtc import _core
from adtc.algebra.affine import Affine, affine, as_term, parts
from adtc.algebra.atoms import atoms
from adtc.algebra.formula import (
    Arithmetic,
    Call,
    Formula,
    Negate,
    Term,
    all_of,
)
from adtc.algebra.metrics import DEPTH, SIZE, RowGroup
from adtc.data import Data
from adtc.engine.exact.columns import Column, Lookup, Ratios, combine, differences
from adtc.engine.plan.forms import UNBOUNDED, Bounds, Form, Reader, Span
from adtc.engine.plan.narrow import without_depth
from adtc.engine.plan.pushing import bounds_of, parts_of
from adtc.engine.query import Question
from adtc.errors import TooLargeError

__all__ = [
    "Axis",
    "AxisColumns",
    "Budget",
    "Form",
    "Plan",
    "Reader",
    "make_plan",
    "plan_of",
    "terms_of",
]

_NARROW = 2**62  # keys up to that take 64 bits
_WIDE = 2**126  # and up to that 128 bits
_KEPT = 2**22  # columns of more cells are unpacked anew each time, to save memory


@dataclass(frozen=True, slots=True)
class Budget:
    """A pushed atom: every good tree has ``form`` ≤ ``limit``.

    Parameters
    ----------
    mixed
        Of a combination: the budgets that it adds up, each with its factor.
    """

    form: Form
    limit: int
    source: str
    mixed: "tuple[tuple[int, Budget], ...]" = ()

    def limit_at(self, objective: int) -> int:
        """Return the limit if trees with a larger value of the objective are of no interest."""
        if self.source == "objective":
            return min(self.limit, objective)
        if self.mixed:
            return sum(factor * part.limit_at(objective) for factor, part in self.mixed)
        return self.limit


@dataclass(frozen=True, slots=True)
class Axis:
    """One digit of the packed index: a form, its least value and its number of values."""

    form: Form
    low: int
    radix: int
    stride: int


class AxisColumns(Mapping[str, Column]):
    """The values of the axes in every cell, unpacked from the keys when they are asked for."""

    def __init__(self, axes: Sequence[Axis], keys: npt.NDArray[np.int64]) -> None:
        self._axes = {f"k{i}": axis for i, axis in enumerate(axes)}
        self._low = sum(axis.low * axis.stride for axis in axes)
        self._keys = keys
        self._made: dict[str, Column] = {}

    def __getitem__(self, name: str) -> Column:
        if name in self._made:
            return self._made[name]
        axis = self._axes[name]
        column: Column = _core.axis_column(self._keys, self._low, axis.stride, axis.radix, axis.low)
        if len(self._keys) < _KEPT:
            self._made[name] = column
        return column

    def __iter__(self) -> Iterator[str]:
        return iter(self._axes)

    def __len__(self) -> int:
        return len(self._axes)

    def of(self, keys: npt.NDArray[np.int64]) -> "AxisColumns":
        """Return the same axes for other keys."""
        return AxisColumns(tuple(self._axes.values()), keys)


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """How the fast engine will answer a question.

    Parameters
    ----------
    groups
        The row groups, as far as the question can tell them apart.
    residual
        What trees within the budgets must still satisfy: the parts of the constraint that were not
        pushed, or not as they are.
    reader, basis
        What writes any affine form of the question as an exact combination of the axes.
    """

    question: Question
    groups: tuple[tuple[RowGroup, ...], ...]
    totals: tuple[int, ...]
    axes: tuple[Axis, ...]
    budgets: tuple[Budget, ...]
    residual: Formula
    reader: "Reader"
    basis: tuple[Form, ...]
    most_leaves: int

    @property
    def wide_keys(self) -> bool:
        """Tell whether keys need 128 bits: with survey weights, or many axes."""
        return largest_key(self.axes) > _NARROW

    def digits(self, keys: npt.NDArray[np.int64]) -> list[Column]:
        """Unpack keys of whole trees into the values of the axes."""
        return list(AxisColumns(self.axes, keys).values())

    def lookup(
        self, keys: npt.NDArray[np.int64], depths: npt.NDArray[np.int64] | None = None
    ) -> Lookup:
        """Say how affine forms are computed for whole trees with these keys (and depths)."""
        columns: list[Column] = []

        def value(form: Affine) -> Ratios:
            if not columns:  # only once a value is asked for: there may be very many keys
                columns.extend(self.digits(keys))
                columns.extend([] if depths is None else [depths])
            form, by_depth = without_depth(form)
            coefficients, constant = self.reader.over(form, self.basis)
            if depths is not None:
                coefficients = (*coefficients, by_depth)
            return combine(coefficients, constant, columns, len(keys))

        return value

    @property
    def axis_names(self) -> list[str]:
        """Name the axes for terms over them; they are no metrics of their own."""
        return list(AxisColumns(self.axes, np.zeros(0, np.int64)))

    def over_axes(self, term: Term) -> Term:
        """Write a term of the question in terms of the axes' values."""
        form = affine(term)
        if form is not None:
            form, by_depth = without_depth(form)
            coefficients, constant = self.reader.over(form, self.basis)
            combined = [*zip(self.axis_names, coefficients, strict=True), (DEPTH.name, by_depth)]
            return as_term(Affine({name: c for name, c in combined if c}, constant))
        match term:
            case Negate(inner):
                return Negate(self.over_axes(inner))
            case Arithmetic(op, left, right):
                return Arithmetic(op, self.over_axes(left), self.over_axes(right))
            case Call(function, arguments):
                return Call(function, tuple(map(self.over_axes, arguments)))
        raise TypeError(f"not a term: {term!r}")


def plan_of(
    question: Question, data: Data, *, push: bool = True, objective: Affine | None = None
) -> Plan:
    """Choose axes, budgets and row groups as `make_plan` does, once for the same question."""
    least = objective and (tuple(objective.coefficients.items()), objective.constant)
    key = "plan", question, push, least
    plan: Plan = data.cache.get(key, lambda: make_plan(question, push=push, objective=objective))
    return plan


def make_plan(
    question: Question,
    *,
    push: bool = True,
    objective: Affine | None = None,
    pushed: Formula | None = None,
) -> Plan:
    """Choose axes, budgets and row groups for a question.

    Parameters
    ----------
    push
        False keeps the constraint out of the budgets; max_size always is one.
    objective
        An affine form to be minimised: it becomes the first budget, with a limit every tree meets.
    pushed
        What every tree of interest satisfies, if that is more than the constraint: the depth may
        be a number there. The axes do not depend on it.
    """
    schema = question.schema
    keys = [key for key, n in schema.totals.items() if n]
    totals = [schema.totals[key] for key in keys]
    primitives = {axis.name: axis for axis in question.axes if axis.functional is not None}
    possible = _possible_leaves(question)
    most_leaves = min(possible, question.space.max_size or possible)
    reader = Reader(primitives, keys, schema.labels, totals)

    bounded = [
        (part, bounds_of(part, reader) if push else UNBOUNDED)
        for part in parts_of(pushed or question.constraint)
    ]
    budgets = [
        Budget(form, limit, str(part)) for part, bounds in bounded for form, limit in bounds.limits
    ]
    if question.space.max_size is not None:
        budgets.append(Budget(reader.primitive(SIZE), question.space.max_size, "max_size"))
    budgets = _tightest(budgets, totals, possible)
    if objective is not None:
        form = reader.form(objective)
        others = [b for b in budgets if b.form.vector() != form.vector()]
        same = [b.limit for b in budgets if b.form.vector() == form.vector()]
        limit = min([form.range(totals, possible)[1], *same])
        if form.countable(totals):
            budgets = [Budget(form, limit, "objective"), *others]

    needed = [b.form for b in budgets if pushed is None or b.source == "max_size"]
    for term in terms_of(question):
        needed += [reader.form(without_depth(part)[0]) for part in parts(term)]
    axes = _packed(_basis(needed, reader, most_leaves), reader, most_leaves)
    merged = _merge_groups(keys, [axis.form for axis in axes], question)
    heads = [members[0] for members in merged]
    return Plan(
        question=question,
        groups=tuple(tuple(keys[g] for g in members) for members in merged),
        totals=tuple(sum(totals[g] for g in members) for members in merged),
        axes=tuple(Axis(a.form.over_groups(heads), a.low, a.radix, a.stride) for a in axes),
        budgets=tuple(Budget(b.form.over_groups(heads), b.limit, b.source) for b in budgets),
        residual=all_of(*(part for part, bounds in bounded if not _pushed_whole(bounds, totals))),
        reader=reader,
        basis=tuple(axis.form for axis in axes),
        most_leaves=most_leaves,
    )


def exactly_pushed(question: Question) -> Iterable[Formula]:
    """Yield the parts of a constraint that are no more and no less than their budgets."""
    schema = question.schema
    keys = [key for key, n in schema.totals.items() if n]
    totals = [schema.totals[key] for key in keys]
    primitives = {axis.name: axis for axis in question.axes if axis.functional is not None}
    reader = Reader(primitives, keys, schema.labels, totals)
    for part in parts_of(question.constraint):
        bounds = bounds_of(part, reader)
        if bounds.limits and _pushed_whole(bounds, totals):
            yield part


def _possible_leaves(question: Question) -> int:
    """Bound the number of leaves of any tree by depth and support."""
    by_depth = 1 << min(question.space.max_depth, 62)
    return min(by_depth, question.schema.total // question.minsup) if question.minsup else by_depth


def terms_of(question: Question) -> Iterable[Term]:
    """Yield every term whose value must be known: requested metrics, and what atoms compare."""
    for _, term in question.metrics:
        yield term
    for comparison in atoms(question.constraint):
        yield from differences(comparison.terms)


def _pushed_whole(bounds: Bounds, totals: Sequence[int]) -> bool:
    """Tell whether a part of the constraint is just what its budgets say."""
    return bounds.exact and all(form.countable(totals) for form, _ in bounds.limits)


def _tightest(budgets: list[Budget], totals: Sequence[int], leaves: int) -> list[Budget]:
    """Keep one budget per form, the smallest; none that every tree meets or no word can hold."""
    best: dict[tuple[int, ...], Budget] = {}
    for budget in budgets:
        key = budget.form.vector()
        if key not in best or budget.limit < best[key].limit:
            best[key] = budget
    return [
        b
        for b in best.values()
        if b.limit < b.form.range(totals, leaves)[1] and b.form.countable(totals)
    ]


def _basis(needed: list[Form], reader: Reader, leaves: int) -> list[Form]:
    """Choose forms that span all needed ones, as few as possible, with small ranges first."""

    def width(form: Form) -> int:
        low, high = form.range(reader.totals, leaves)
        return high - low

    # a budget and the atom it comes from need the same form
    distinct: dict[tuple[int, ...], Form] = {}
    for form in needed:
        distinct.setdefault(form.vector(), form)
    space, taken = Span(), Span()
    spanning = [form for form in sorted(distinct.values(), key=width) if space.add(form.vector())]
    inside = [reader.unit(place) for place in space.units()]
    if not inside:
        return spanning
    ordered = sorted([*spanning, *inside], key=width)
    return [form for form in ordered if taken.add(form.vector())]


def _packed(basis: list[Form], reader: Reader, leaves: int) -> list[Axis]:
    """Lay the axes out as digits of one number, the widest lowest.

    Few axes can have more values than a number holds: a gap between rates is a form with large
    weights. Then the plain counts it is made of, though more of them, take fewer digits.
    """
    axes = _digits(basis, reader.totals, leaves)
    if largest_key(axes) > _NARROW:
        vectors = zip(*(form.vector() for form in basis), strict=True)
        touched = [reader.unit(place) for place, weights in enumerate(vectors) if any(weights)]
        axes = min(axes, _digits(touched, reader.totals, leaves), key=_cost_of_packing)
    if _cost_of_packing(axes) > (False, _WIDE):
        names = ", ".join(axis.form.name for axis in axes)
        raise TooLargeError(
            f"the question needs {len(axes)} axes ({names}) that together have "
            f"{largest_key(axes):.1e} possible cells, more than the {_WIDE:.1e} that can be "
            f"told apart: ask for fewer metrics at once, or divide the weights of the rows by a "
            f"common factor."
        )
    return axes


def _cost_of_packing(axes: list[Axis]) -> tuple[bool, int]:
    """Rank ways to pack: each axis alone should fit one word, then the shorter key is better."""
    return any(largest_key([replace(axis, stride=1)]) > _NARROW for axis in axes), largest_key(axes)


def _digits(basis: list[Form], totals: Sequence[int], leaves: int) -> list[Axis]:
    axes: list[Axis] = []
    stride = 1
    ranges = [(form, *form.range(totals, leaves)) for form in basis]
    for form, low, high in sorted(ranges, key=lambda r: r[1] - r[2]):
        axes.append(Axis(form, low, high - low + 1, stride))
        stride *= high - low + 1
    return axes


def largest_key(axes: Sequence[Axis]) -> int:
    """Bound all keys: where values lie far from zero, they are larger than there are cells."""
    farthest = (max(abs(axis.low), abs(axis.low + axis.radix - 1)) for axis in axes)
    reach = sum(axis.stride * value for axis, value in zip(axes, farthest, strict=True))
    return max(reach, math.prod(axis.radix for axis in axes))


def _merge_groups(keys: list[RowGroup], forms: list[Form], question: Question) -> list[list[int]]:
    """Put row groups together that no form tells apart (nor the labels that a leaf may carry).

    Groups of a further table that no form looks at are left out, and tables stay apart: the rows
    of the table itself say which leaves exist.
    """
    by_votes = question.space.labels == "majority" or question.space.leaf_share
    classes: dict[tuple[object, ...], list[int]] = {}
    for g, key in enumerate(keys):
        seen = tuple(tuple(row[g] for row in form.weights) for form in forms)
        if key.table and not any(map(any, seen)):
            continue
        label = key.y if by_votes and not key.table else None
        classes.setdefault((seen, label, key.table), []).append(g)
    return sorted(classes.values(), key=lambda members: keys[members[0]].table != "")

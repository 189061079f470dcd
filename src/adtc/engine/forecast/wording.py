"""The plan in the words of the question: axes, atoms and bounds as terms over metrics."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from adtc.algebra.affine import Affine
from adtc.algebra.formula import Comparison, Formula
from adtc.algebra.metrics import DEPTH
from adtc.engine.plan import Plan
from adtc.engine.plan.forms import Form
from adtc.engine.plan.narrow import absorbed
from adtc.engine.plan.pushing import bounds_of, parts_of, reason_not_pushed


@dataclass(frozen=True, slots=True)
class AxisRange:
    """An axis of the tensor with its least and largest value; None where it is not known."""

    name: str
    low: int | None
    high: int | None


@dataclass(frozen=True, slots=True)
class PushedAtom:
    """An atom of the constraint, and the bounds that it becomes inside the computation.

    Parameters
    ----------
    idle
        The bounds that change nothing: every tree meets them, or another atom's is tighter.
    """

    atom: str
    bounds: tuple[str, ...]
    idle: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FilteredAtom:
    """A part of the constraint that is only checked at the end, and why."""

    atom: str
    reason: str


def parts_in_words(
    plan: Plan, told: Formula, constraint: Formula
) -> tuple[tuple[PushedAtom, ...], tuple[FilteredAtom, ...]]:
    """Read off which parts became bounds; ``told`` is the constraint in the user's words.

    Replacing metrics by their definitions keeps the shape of a formula, so the user's parts and
    those of the plan come in the same order.
    """
    kept = {(budget.source, budget.limit) for budget in plan.budgets}
    pushed: list[PushedAtom] = []
    filtered: list[FilteredAtom] = []
    for words, meaning in zip(parts_of(told), parts_of(constraint), strict=True):
        bounds = [
            (_bound(plan, form, limit), (str(meaning), limit) in kept)
            for form, limit in bounds_of(meaning, plan.reader).limits
        ]
        narrows = _of_space(meaning)
        if narrows is not None:
            pushed.append(PushedAtom(str(words), (narrows,), ()))
        elif bounds:
            used = tuple(bound for bound, is_used in bounds if is_used)
            idle = tuple(bound for bound, is_used in bounds if not is_used)
            pushed.append(PushedAtom(str(words), used, idle))
        else:
            filtered.append(FilteredAtom(str(words), reason_not_pushed(meaning, plan.reader)))
    return tuple(pushed), tuple(filtered)


def _of_space(part: Formula) -> str | None:
    """Write what an atom says of the space itself; None if it says nothing of it."""
    match part:
        case Comparison((left, right), (op,)) if limit := absorbed(left, op, right):
            name, value = limit
            return f"{name} {'<=' if name == DEPTH.name else '>='} {value} of the space"
    return None


def axis_in_words(plan: Plan, at: int) -> AxisRange:
    """Name an axis and its values, in terms of a metric where it is one up to a constant."""
    form, axis = plan.basis[at], plan.axes[at]
    low, high = axis.low, axis.low + axis.radix - 1
    name, scale, constant = _metric(plan, form)
    ends = sorted((int(scale * low + constant), int(scale * high + constant)))
    return AxisRange(name, *ends)


def _bound(plan: Plan, form: Form, limit: int) -> str:
    """Write a bound so that it may be asked as a constraint of its own."""
    name, scale, constant = _metric(plan, form)
    return f"{name} {'<=' if scale > 0 else '>='} {int(scale * limit + constant)}"


def _metric(plan: Plan, form: Form) -> tuple[str, Fraction, Fraction]:
    """Find a metric = scale · form + constant; failing that, write the form itself out."""
    opposite = tuple(-c for c in form.vector())
    for name in sorted(plan.reader.primitives):
        metric = Affine({name: Fraction(1)}, Fraction())
        if plan.reader.form(metric).vector() in (form.vector(), opposite):
            (scale,), constant = plan.reader.over(metric, [form])
            return name, scale, constant
    return _written_out(plan, form), Fraction(1), Fraction()


def _written_out(plan: Plan, form: Form) -> str:
    """Write a form as a sum of counts N[true, predicted, group] of whole trees."""
    weights: dict[str, int] = {"size": form.per_leaf} if form.per_leaf else {}
    for label in range(1, plan.question.schema.labels):
        tables: dict[str, dict[tuple[int, int], int]] = {}
        for key, weight in zip(plan.reader.keys, form.weights[label], strict=True):
            cells = tables.setdefault(key.table, {})
            if cells.setdefault((key.y, key.z), weight) != weight:
                return form.name  # references tell rows apart that N does not
        for table, cells in tables.items():
            weights |= _counts(label, cells, f"{table}." if table else "")
    terms = [name if w == 1 else f"{w}·{name}" for name, w in weights.items() if w]
    return " + ".join(terms).replace("+ -1·", "- ").replace("+ -", "- ")


def _counts(label: int, cells: Mapping[tuple[int, int], int], prefix: str) -> dict[str, int]:
    """Write the coefficients of one predicted label, by true label and group, as counts N."""
    if len(set(cells.values())) == 1:
        return {f"{prefix}N[*,{label}]": next(iter(cells.values()))}
    by_truth = {y: {w for (v, _), w in cells.items() if v == y} for y, _ in cells}
    by_group = {z: {w for (_, v), w in cells.items() if v == z} for _, z in cells}
    if all(len(found) == 1 for found in by_truth.values()):
        return {f"{prefix}N[{y},{label}]": min(found) for y, found in by_truth.items()}
    if all(len(found) == 1 for found in by_group.values()):
        return {f"{prefix}N[*,{label},{z}]": min(found) for z, found in by_group.items()}
    return {f"{prefix}N[{y},{label},{z}]": w for (y, z), w in cells.items()}

"""Where to begin: trees that a person would consider, and the best of them."""

from collections.abc import Iterator
from fractions import Fraction
from math import ceil, floor

from adtc.profiles.profile import Profile
from adtc.profiles.writing import approximate
from adtc.show import words

QUALITY = ("acc", "bacc", "f1", "error")
NEAR = Fraction(2, 100)  # how far below the best a tree may be and still be near it
_DIGITS = 1000


def order(profile: Profile) -> list[tuple[str, words.Goal]]:
    """List by what a tree is the best: quality, then gaps, then whatever else has a goal."""
    goals = {name: goal for name in profile.names if (goal := words.goal_of(name)) is not None}
    gaps = [name for name in goals if words.definition(profile, name).gap]
    first = [name for name in QUALITY if name in goals]
    rest = [name for name in goals if name not in (*first, *gaps)]
    return [(name, goals[name]) for name in (*first[:1], *gaps, *first[1:], *rest)]


def best(profile: Profile) -> Profile:
    """Keep the best trees: one metric after another decides, in the order of `order`."""
    for name, goal in order(profile):
        value = extreme(profile, name, goal)
        if value is not None:
            profile = profile.where(f"{name} = {value}")
    return profile


def extreme(profile: Profile, name: str, goal: words.Goal) -> Fraction | None:
    """Return the largest or the smallest value of a metric; None where it is never defined."""
    values = set(_values(profile, name))
    return (max if goal == "max" else min)(values) if values else None


def _values(profile: Profile, name: str) -> Iterator[Fraction]:
    column = profile.column(name)
    defined = column.bottom != 0
    pairs = set(zip(column.top[defined].tolist(), column.bottom[defined].tolist(), strict=True))
    return (Fraction(top, bottom) for top, bottom in pairs)


def near_best(profile: Profile) -> tuple[str, str]:
    """Return the formula to begin with, "" for all trees, and a sentence that says which they are.

    A profile with a condition of its own has its floor; otherwise trees near the best are shown.
    """
    where = profile.record.question.get("where")
    if where:
        return "", f"All trees here satisfy the profile's own condition, {where}."
    name = next((name for name in QUALITY if name in profile.names), None)
    found = None if name is None else extreme(profile, name, words.goal_of(name) or "max")
    if name is None or found is None:
        return "", "All trees of the profile are shown."
    if name == "error":
        limit = ceil(found + NEAR * profile.record.data["rows"])
        formula = f"error <= {limit}"
    else:
        formula = f"{name} >= {float(Fraction(floor((found - NEAR) * _DIGITS), _DIGITS)):g}"
    if profile.where(formula).total == profile.total:
        return "", f"All trees of the profile are near the best ({name} {approximate(found)})."
    return formula, (
        f"The start shows the trees near the best: {name} within 2 percentage points of "
        f"{approximate(found)}."
    )

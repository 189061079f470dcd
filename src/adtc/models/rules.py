"""If/then rules: the way to each leaf, shortened for reading without changing its meaning.

A threshold or an equality is 0 where the value is missing, so ``not (age <= 30)`` holds there, too.
It is written ``age > 30`` where the way excludes missing values or the table had none in the
column.
"""

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from fractions import Fraction

from adtc.data import Feature, Scalar
from adtc.data.cuts import interval_name
from adtc.models.texts import evidence_text

Literal = tuple[Feature, bool]
Hole = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Rule:
    """The rule of one leaf.

    Parameters
    ----------
    leaf
        The leaf's number from the left, as `TreeModel.apply` gives it.
    conditions
        What a row must fulfil, to be read as joined by "and"; none at a single leaf.
    literals
        The same as the tree has it: feature names and their values, from the root down.
    support, shares
        Rows of the table that reach the leaf, by weight, and the share of each class among them.
    hidden
        What the text says instead of rows and share, where they are too small to be shown; the
        values themselves are here all the same.
    """

    leaf: int
    conditions: tuple[str, ...]
    literals: tuple[tuple[str, bool], ...]
    label: Scalar
    support: int
    counts: tuple[int, ...]
    shares: tuple[Fraction, ...]
    share: Fraction
    hidden: str | None = None

    @property
    def text(self) -> str:
        """Write the rule in one line."""
        return f"{self.claim}   {self.evidence}"

    @property
    def claim(self) -> str:
        """Write what the rule says, without the rows behind it."""
        start = f"if {' and '.join(self.conditions)} then" if self.conditions else "always"
        return f"{start} {self.label}"

    @property
    def evidence(self) -> str:
        """Write the rows that the rule covers and the share of them that have its label."""
        return self.hidden or evidence_text(self.support, self.share)

    def __str__(self) -> str:
        return self.text


def literal_text(name: str, value: bool) -> str:
    """Write a feature or its negation."""
    if value:
        return name
    return f"not ({name})" if " " in name else f"not {name}"


def reading(literals: Sequence[Literal], may_miss: Collection[str]) -> tuple[str, ...]:
    """Join the tests of a way column by column.

    Parameters
    ----------
    literals
        Features and their values, from the root down.
    may_miss
        The columns in which values may be missing.

    Examples
    --------
    >>> low, high = (Feature.interval("age", None, c) for c in (20, 30))
    >>> reading([(high, True), (low, False)], may_miss=())
    ('20 < age <= 30',)
    """
    columns = dict.fromkeys(feature.column for feature, _ in literals)
    texts: list[str] = []
    for column in columns:
        here = [pair for pair in literals if pair[0].column == column]
        short = _shortened(column, here, column in may_miss)
        # Where no row at all can pass, nothing shorter says the same.
        texts += _plain(here) if short is None else short
    return tuple(texts)


def _plain(literals: Sequence[Literal]) -> list[str]:
    return [literal_text(feature.name, value) for feature, value in literals]


def _shortened(column: str, literals: list[Literal], may_miss: bool) -> list[str] | None:
    """Shorten the tests of one column; None if they contradict one another."""
    indicators = [pair for pair in literals if pair[0].test == "missing"]
    others = [pair for pair in literals if pair[0].test != "missing"]
    positive = [feature for feature, value in others if value]
    if any(value for _, value in indicators):
        return None if positive else _plain(indicators)
    if any(feature.test == "in" for feature, _ in others):
        return _interval(column, others, indicators, may_miss)
    if not positive:
        return _plain(literals)
    if len(positive) > 1:
        return None
    (found,) = positive
    negative = [feature for feature, value in others if not value]
    return _plain([(found, True)]) if all(_excludes(found, f) for f in negative) else None


def _excludes(found: Feature, other: Feature) -> bool:
    """Tell whether a category that passes ``found`` fails ``other`` for sure."""
    if found.test == "equals":
        return (
            found.values != other.values
            if other.test == "equals"
            else (found.values[0] in other.values)
        )
    return other.values[0] in found.values


def _interval(
    column: str, tests: list[Literal], indicators: list[Literal], may_miss: bool
) -> list[str] | None:
    """Put all bounds of a numeric column together."""
    low = max((_low(f) for f, value in tests if value), default=-math.inf)
    high = min((_high(f) for f, value in tests if value), default=math.inf)
    if low >= high:
        return None
    holes = [(_low(f), _high(f)) for f, value in tests if not value]
    found = _without_ends(low, high, holes)
    if found is None:
        return None
    low, high, inner = found
    gaps = [f"not ({interval_name(column, _finite(a), _finite(b))})" for a, b in inner]
    positive = any(value for _, value in tests)
    bounded = math.isfinite(low) or math.isfinite(high)
    if positive or indicators or not may_miss:
        whole = [interval_name(column, _finite(low), _finite(high))] if bounded else []
        return [*whole, *gaps, *([] if bounded else _plain(indicators))]
    ends = [(None, _finite(low)), (_finite(high), None)]
    bounds = [f"not ({interval_name(column, a, b)})" for a, b in ends if a != b]
    return [*bounds, *gaps]


def _without_ends(
    low: float, high: float, holes: list[Hole]
) -> tuple[float, float, list[Hole]] | None:
    """Cut holes off the ends of an interval; give what is left, None if nothing is."""
    for a, b in sorted(holes):
        if a <= low < b:
            low = b
    for a, b in sorted(holes, key=lambda hole: -hole[1]):
        if a < high <= b:
            high = a
    inner = [(a, b) for a, b in sorted(holes) if b > low and a < high]
    return (low, high, inner) if low < high else None


def _low(feature: Feature) -> float:
    return -math.inf if feature.low is None else feature.low


def _high(feature: Feature) -> float:
    return math.inf if feature.high is None else feature.high


def _finite(bound: float) -> float | None:
    return bound if math.isfinite(bound) else None

"""A number that is not exactly known: proved bounds, an estimate, what stopped the run.

Only exact counts are integers. Whatever a limit, coarse axes or drawn trees leave open is a
`Bracket`: between ``lower`` and ``upper`` for certain, with an `Interval` beside it where trees
were drawn. Bounds only ever tighten, and where they meet the number is exact.
"""

from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from adtc.engine.record import RunRecord, Status, log10
from adtc.errors import NotExactError

Exact = Fraction | int


@dataclass(frozen=True, slots=True)
class Interval:
    """What drawn trees say about a number: likely, not certain.

    Parameters
    ----------
    value
        The share of the draws, scaled to the number of trees.
    low, high
        Ends of the confidence interval, both included.
    confidence
        The probability with which an interval made like this one holds the number; that of all
        cells together where a table has several.
    draws, seed
        How many trees were drawn, and what repeats that.
    """

    value: Exact
    low: Exact
    high: Exact
    confidence: float
    draws: int
    seed: int

    def to_json(self) -> dict[str, Any]:
        """Return the interval as plain JSON values; numbers of trees are rounded outwards."""
        return {
            "value": round(self.value),
            "low": self.low.__floor__(),
            "high": self.high.__ceil__(),
            "confidence": self.confidence,
            "draws": self.draws,
            "seed": self.seed,
        }


@dataclass(frozen=True, slots=True)
class Bracket:
    """A number between two bounds that are proved, one of which may be missing.

    Parameters
    ----------
    lower, upper
        The number is at least and at most that; None where nothing is known.
    estimate
        What drawn trees say; never outside the bounds.
    finished
        What was counted exactly, if a limit stopped the run: "depth at most 3".
    stopped
        What kept the run from an exact answer.
    advice
        How to go on.
    record
        The run, if the number is an answer of its own.

    Examples
    --------
    >>> some = Bracket(10, 500, stopped="the time limit of 10 s")
    >>> some.status, 42 in some, some.value
    ('bounded', True, None)
    >>> some.tightened(Bracket(42, 42)).value
    42
    >>> f"{Bracket(1000, 10**6):,}"
    'between 1,000 and 1,000,000'
    """

    lower: Exact | None = None
    upper: Exact | None = None
    estimate: Interval | None = None
    finished: str | None = None
    stopped: str | None = None
    advice: str | None = None
    record: RunRecord | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.lower is not None and self.upper is not None and self.lower > self.upper:
            raise AssertionError(f"bounds contradict each other: {self.lower} > {self.upper}")

    @property
    def status(self) -> Status:
        """Say what kind of answer this is; bounds that meet are exact, however they were found."""
        if self.lower is not None and self.lower == self.upper:
            return "exact"
        if self.estimate is not None:
            return "estimated"
        return "bounded" if self.finished is None else "partial"

    @property
    def value(self) -> Exact | None:
        """Return the number if it is exact, else its estimate; None without one."""
        if self.status == "exact":
            return self.lower
        return None if self.estimate is None else self.estimate.value

    @property
    def log10(self) -> float | None:
        """Return the decimal logarithm of the value; None for zero, or where it is not known."""
        return log10(self.value)

    def tightened(self, other: "Bracket") -> "Bracket":
        """Put together what two brackets know about the same number.

        Of two estimates the one from more draws is kept, cut off at the bounds.
        """
        lower = max((b for b in (self.lower, other.lower) if b is not None), default=None)
        upper = min((b for b in (self.upper, other.upper) if b is not None), default=None)
        known = [one for one in (self.estimate, other.estimate) if one is not None]
        estimate = max(known, key=lambda one: one.draws, default=None)
        return Bracket(
            lower,
            upper,
            None if estimate is None else _clipped(estimate, lower, upper),
            _of_larger(self, other),
            self.stopped or other.stopped,
            self.advice or other.advice,
            self.record or other.record,
        )

    def __contains__(self, number: object) -> bool:
        if not isinstance(number, int | Fraction):
            return False
        return (self.lower is None or self.lower <= number) and (
            self.upper is None or number <= self.upper
        )

    def __int__(self) -> int:
        if self.status == "exact" and self.lower is not None and self.lower.denominator == 1:
            return int(self.lower)
        raise NotExactError(
            f"the number is {self.status}, not exact ({self}): read lower, upper and estimate, or "
            f"ask for an exact answer with exact=True (--exact) and higher limits."
        )

    def __bool__(self) -> bool:
        if self.lower is not None and self.lower > 0:
            return True
        if self.lower is not None and self.lower == self.upper:
            return False
        raise NotExactError(f"whether the number is 0 is not decided: {self} ({self.status}).")

    def __str__(self) -> str:
        return format(self)

    def __format__(self, spec: str) -> str:
        lower, upper = (
            None if end is None else format(end, spec) for end in (self.lower, self.upper)
        )
        if self.status == "exact":
            return str(lower)
        about = "" if self.estimate is None else f"about {float(self.estimate.value):.4g}, "
        if upper is None:
            return f"{about}at least {lower}" if lower is not None else f"{about}unknown"
        if lower is None:
            return f"{about}at most {upper}"
        return f"{about}between {lower} and {upper}"

    def to_json(self) -> dict[str, Any]:
        """Return the number, None unless it is exact, and what is known as plain JSON values."""
        told = {"finished": self.finished, "stopped": self.stopped, "advice": self.advice}
        return {
            "count": _json(self.lower) if self.status == "exact" else None,
            "log10": self.log10,
            "lower": _json(self.lower),
            "upper": _json(self.upper),
            "estimate": None if self.estimate is None else self.estimate.to_json(),
            "status": self.status,
            **{name: text for name, text in told.items() if text is not None},
        }


def _clipped(interval: Interval, lower: Exact | None, upper: Exact | None) -> Interval:
    """Move what lies outside proved bounds onto them."""

    def clip(number: Exact) -> Exact:
        number = number if lower is None else max(number, lower)
        return number if upper is None else min(number, upper)

    return replace(
        interval, value=clip(interval.value), low=clip(interval.low), high=clip(interval.high)
    )


def _of_larger(one: Bracket, other: Bracket) -> str | None:
    """Name the finished part that the larger lower bound belongs to."""
    parts = [b for b in (one, other) if b.finished is not None]
    return max(parts, key=lambda b: b.lower or 0).finished if parts else None


def _json(number: Exact | None) -> int | str | None:
    if number is None or number.denominator == 1:
        return None if number is None else int(number)
    return f"{number.numerator}/{number.denominator}"

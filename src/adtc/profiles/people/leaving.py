"""Leaving rows out: for every row, how many trees enter and leave the good set without it.

The space stays that of the whole table: cuts, support, labels, and the values of ``least(…)``. A
formula over error, acc, size and N is then asked of the table without the row: the row's weight is
taken from N, and from the error of each tree that is wrong on it. So for every weight that rows
have, the cells of a profile by error and size say who would enter and leave, right and wrong ones
apart, and one pass back over its circuit counts them for all rows at once.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from adtc.algebra.formula import (
    Arithmetic,
    Call,
    Formula,
    Name,
    Number,
    Or,
    Term,
    names,
    parse,
    settle,
    substitute,
)
from adtc.engine.exact.columns import from_columns, satisfied
from adtc.engine.monitor import Monitor
from adtc.engine.record import RunRecord, Status
from adtc.errors import QueryError
from adtc.profiles.making import profile as make_profile
from adtc.profiles.people import people_of
from adtc.profiles.people.measures import Array, People
from adtc.profiles.people.voting import votes_of
from adtc.profiles.profile import Profile
from adtc.profiles.tables import RECORD

if TYPE_CHECKING:
    import pyarrow as pa

KNOWN = frozenset({"error", "acc", "size", "N"})
"""What a formula may speak of: with these, a row left out changes what it says by known numbers."""


@dataclass(frozen=True, eq=False, repr=False)
class LeaveOneOut:
    """How the good set changes without each row.

    Parameters
    ----------
    enter, leave
        Per row the number of trees that become good, and that are good no more, without it.
    total
        The number of good trees on the whole table.
    formula
        The formula that makes a tree good.
    """

    enter: Array
    leave: Array
    total: int
    formula: str
    people: People
    record: RunRecord

    @property
    def status(self) -> Status:
        """Say whether the numbers are exact, bounded or estimated."""
        return self.record.status

    @property
    def without(self) -> Array:
        """Per row the number of good trees without it."""
        found: Array = self.total + self.enter - self.leave
        return found

    def most(self, n: int = 10) -> list[int]:
        """List the rows whose absence changes the most trees, ties by row."""
        change = self.enter + self.leave
        return sorted(range(len(change)), key=lambda row: (-change[row], row))[:n]

    @property
    def table(self) -> "pa.Table":
        """One line per row: ``row``, ``weight``, ``enter``, ``leave``; counts as decimal texts."""
        import json

        import pyarrow as pa

        told = json.dumps(self.record.to_json(), default=str).encode()
        return pa.table(
            {
                "row": pa.array(range(len(self.enter)), pa.int64()),
                "weight": pa.array(self.people.weights, pa.int64()),
                "enter": pa.array([str(n) for n in self.enter], pa.string()),
                "leave": pa.array([str(n) for n in self.leave], pa.string()),
            }
        ).replace_schema_metadata({RECORD: told})

    def to_text(self) -> str:
        """Write the ranges in a sentence."""
        ends = [f"{min(column):,} to {max(column):,}" for column in (self.enter, self.leave)]
        return (
            f"{self.total:,} good trees with {self.formula}; without one row {ends[0]} enter and "
            f"{ends[1]} leave"
        )

    def __str__(self) -> str:
        return self.to_text()

    def __repr__(self) -> str:
        return f"<LeaveOneOut: {self.to_text()}>"


def leave_one_out(profile: Profile, *, monitor: Monitor | None = None) -> LeaveOneOut:
    """Count, for every row, the trees that enter and leave the good set without it.

    Notes
    -----
    For profiles whose formula speaks of ``error``, ``acc``, ``size`` and ``N`` alone, such as
    ``error <= 1.05 * least(error)`` or ``acc >= 0.8 and size <= 6``; ``least(…)`` and
    ``largest(…)`` keep the values that they have on the whole table.

    Examples
    --------
    >>> import adtc
    >>> data = adtc.Data.from_arrays([[1], [1], [0]], [1, 1, 0])
    >>> good = adtc.profile(data, adtc.Space(max_depth=1), ["error"], where="error <= 1")
    >>> found = good.leave_one_out()
    >>> found.enter.tolist(), found.leave.tolist()
    ([2, 2, 0], [0, 0, 0])
    """
    started = time.perf_counter()
    source = profile.need_source("leaving rows out")
    data, formula = source.data, _formula(profile)
    weights = sorted({int(w) for w in data.weights} - {0})
    whole = _asked(formula, data.total, 0)
    parts = {w: (_asked(formula, data.total - w, 0), _asked(formula, data.total - w, w))
             for w in weights}  # fmt: skip
    every = Or((whole, *(part for pair in parts.values() for part in pair)))
    strict = (monitor or Monitor()).strict()  # rows enter and leave all good trees or none
    near = make_profile(data, source.space, ["error", "size"], where=every, monitor=strict)
    good = _holds(near, whole)
    if near.take(good).total != profile.total:
        raise QueryError(
            "this profile was filtered after it was made, so its formula does not say which trees "
            "are good: make a profile with the whole formula as where=…."
        )
    enter, leave = (np.full(data.n_rows, 0, object) for _ in range(2))
    for weight, (right, wrong) in parts.items():
        rows = np.flatnonzero(data.weights == weight)
        for still, is_wrong in ((_holds(near, right), False), (_holds(near, wrong), True)):
            for into, cells in ((enter, ~good & still), (leave, good & ~still)):
                into[rows] += _voting(near.take(cells), rows, is_wrong)
    record = replace(
        near.record,
        question={**profile.record.question, "ask": "leave_one_out"},
        seconds=time.perf_counter() - started,
    )
    return LeaveOneOut(enter, leave, profile.total, str(formula), people_of(data), record)


def _formula(profile: Profile) -> Formula:
    """Read the formula that the profile was made with; least(…) and largest(…) become numbers."""
    text = profile.record.question.get("where")
    if text is None:
        raise QueryError(
            "every tree of this profile's space is good, with or without a row: make a profile "
            "with a formula such as where='error <= 1.05 * least(error)'."
        )
    extremes: Mapping[str, Any] = profile.record.details.get("extremes", {})

    def value(call: Call) -> Fraction | None:
        found = extremes.get(str(call))
        return None if found is None else Fraction(found)

    formula = settle(parse(text), value)
    if others := sorted(names(formula) - KNOWN):
        raise QueryError(
            f"'{text}' speaks of {', '.join(others)}, and how that changes without a row does not "
            f"follow from how many trees err on it: rows can be left out where the formula speaks "
            f"of {', '.join(sorted(KNOWN))} alone."
        )
    return formula


def _asked(formula: Formula, total: int, less: int) -> Formula:
    """Ask a formula of a table with so many rows on which trees have so much less error."""
    rows: Term = Number(Fraction(total))
    error: Term = Arithmetic("-", Name("error"), Number(Fraction(less))) if less else Name("error")
    acc = Arithmetic("/", Arithmetic("-", rows, error), rows)
    return substitute(formula, {"N": rows, "error": error, "acc": acc})


def _holds(profile: Profile, formula: Formula) -> npt.NDArray[np.bool_]:
    """Tell which cells satisfy a formula over error and size."""
    terms = substitute(formula, dict(profile.metrics))
    n = len(profile.trees)
    return satisfied(terms, from_columns(profile.axes, n), n)


def _voting(profile: Profile, rows: Array, wrong: bool) -> Array:
    """Count, per row, the trees of a profile that are right on it, or wrong."""
    if not profile.total:
        return np.full(len(rows), 0, object)
    assert profile.source is not None
    right: Array = votes_of(profile).counts[rows, profile.source.data.y[rows]]
    return profile.total - right if wrong else right

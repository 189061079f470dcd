"""Numbers about people: one per row, their mean by row weight, over everybody and by group.

Values are kept as whole numerators over one denominator, so that means and comparisons are exact
and quick; fractions are made when they are read. Under Gibbs weights both are floats.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from adtc.errors import QueryError
from adtc.profiles.bins import Edge, read_number
from adtc.profiles.writing import aligned, fixed, html_table

Array = npt.NDArray[Any]
Mask = npt.NDArray[np.bool_]
Share = Fraction | float | None
"""An exact fraction, a float under Gibbs weights, None where nobody votes or nobody is there."""

EVERYBODY = "everybody"


@dataclass(frozen=True, slots=True)
class People:
    """The rows that votes are about.

    Parameters
    ----------
    weights
        How many people each row stands for.
    z, groups
        Per row its position in ``groups``, the names of the sensitive groups; empty without any.
    sensitive
        The column of the groups.
    """

    weights: npt.NDArray[np.int64]
    z: npt.NDArray[np.int32]
    groups: tuple[str, ...] = ()
    sensitive: str | None = None

    def __len__(self) -> int:
        return len(self.weights)

    @property
    def count(self) -> int:
        """Count the people."""
        return int(self.weights.sum())

    @property
    def sizes(self) -> dict[str, int]:
        """Count the people of each group."""
        return {name: int(self.weights[self.z == g].sum()) for g, name in enumerate(self.groups)}

    def mean(self, tops: Array, bottom: float, rows: Mask | None = None) -> Share:
        """Average numerators over a denominator by row weight; None without people or votes."""
        weights = self.weights if rows is None else self.weights[rows]
        chosen = tops if rows is None else tops[rows]
        return divided(np.dot(chosen, weights.astype(chosen.dtype)), bottom * int(weights.sum()))

    def by_group(self, mean: Callable[[Mask], Share]) -> dict[str, Share]:
        """Compute something for the rows of each group."""
        return {name: mean(self.z == g) for g, name in enumerate(self.groups)}


def divided(top: Any, bottom: Any) -> Share:
    """Divide, exactly unless a float is among them; None where the denominator is 0."""
    if not bottom:
        return None
    if isinstance(top, float | np.floating) or isinstance(bottom, float | np.floating):
        return float(top / bottom)
    return Fraction(int(top), int(bottom))


def read_share(name: str, given: Edge) -> Fraction:
    """Read a share as it is written: 0.05 is 1/20."""
    share = read_number(given)
    if not 0 <= share <= 1:
        raise QueryError(f"{name} is {given}, expected a share between 0 and 1.")
    return share


def share_text(share: Share) -> str:
    """Write a share for people.

    Examples
    --------
    >>> share_text(Fraction(1, 3)), share_text(None)
    ('0.3333', 'undefined')
    """
    return "undefined" if share is None else fixed(Fraction(share), 4)


class _ByGroup(ABC):
    """Something with a value for everybody and one per group."""

    __slots__ = ()
    name: str
    people: People

    @property
    @abstractmethod
    def overall(self) -> Share:
        """The value over everybody."""

    @property
    @abstractmethod
    def by_group(self) -> Mapping[str, Share]:
        """The value within each sensitive group; empty without a sensitive column."""

    def to_text(self) -> str:
        """Write a line for everybody and one per group."""
        return aligned(self._lines())

    def to_json(self) -> dict[str, Any]:
        """Return the values as plain JSON; exact ones also as text."""
        return {
            **share_json("overall", self.overall),
            "by_group": {n: share_json("share", v) for n, v in self.by_group.items()},
        }

    def _lines(self) -> list[list[str]]:
        sizes = {EVERYBODY: self.people.count, **self.people.sizes}
        values = {EVERYBODY: self.overall, **self.by_group}
        rows = [[name, f"{sizes[name]:,}", share_text(v)] for name, v in values.items()]
        return [[self.people.sensitive or "", "people", self.name], *rows]

    def __str__(self) -> str:
        return self.to_text()

    def _repr_html_(self) -> str:
        return html_table(self._lines(), self.name)


def share_json(name: str, share: Share) -> dict[str, Any]:
    """Write a share as a float and, if it is exact, as text."""
    fields: dict[str, Any] = {name: None if share is None else float(share)}
    if not isinstance(share, float):
        fields[f"{name}_exact"] = None if share is None else str(share)
    return fields


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class PersonMeasure(_ByGroup):
    """One number per person.

    Parameters
    ----------
    name, formula
        What it is called, and what it is; V votes in all, V_c for class c.
    tops, bottom
        Row i has ``tops[i] / bottom``; a denominator of 0 says that nobody votes.
    """

    name: str
    formula: str
    tops: Array
    bottom: float
    people: People

    @property
    def values(self) -> tuple[Share, ...]:
        """The value of each row, exact; None where nobody votes."""
        return tuple(divided(top, self.bottom) for top in self.tops)

    @property
    def floats(self) -> npt.NDArray[np.float64]:
        """The value of each row as a float; NaN where nobody votes."""
        if not self.bottom:
            return np.full(len(self.tops), np.nan)
        return np.array([top / self.bottom for top in self.tops.tolist()], np.float64)

    @property
    def overall(self) -> Share:
        """The mean over everybody, by row weight."""
        return self.people.mean(self.tops, self.bottom)

    @property
    def by_group(self) -> Mapping[str, Share]:
        """The mean within each sensitive group."""
        return self.people.by_group(lambda rows: self.people.mean(self.tops, self.bottom, rows))

    def above(self, limit: Edge) -> "PeopleShare":
        """Find the people whose value is larger than a limit."""
        return self._marked(f"{self.name} > {limit}", read_number(limit), 1)

    def below(self, limit: Edge) -> "PeopleShare":
        """Find the people whose value is smaller than a limit."""
        return self._marked(f"{self.name} < {limit}", read_number(limit), -1)

    def _marked(self, name: str, limit: Fraction, sign: int) -> "PeopleShare":
        if not self.bottom:
            return PeopleShare(name, None, self.people)
        if self.tops.dtype == object:  # whole numbers of any size: multiply crosswise
            over = self.tops * limit.denominator - limit.numerator * self.bottom
        else:
            over = self.tops - float(limit) * self.bottom
        return PeopleShare(name, (sign * over > 0).astype(bool), self.people)

    def __repr__(self) -> str:
        return f"<{self.name}: mean {share_text(self.overall)} over {self.people.count:,} people>"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class PeopleShare(_ByGroup):
    """Some of the people, and what share of everybody they are.

    Parameters
    ----------
    marked
        Per row whether it is one of them; None where nobody votes.
    """

    name: str
    marked: Mask | None
    people: People

    @property
    def count(self) -> int | None:
        """How many people they are; None where nobody votes."""
        return None if self.marked is None else int(self.people.weights[self.marked].sum())

    @property
    def rows(self) -> npt.NDArray[np.intp]:
        """Their rows."""
        return np.flatnonzero([] if self.marked is None else self.marked)

    @property
    def overall(self) -> Share:
        """Their share of everybody, by row weight."""
        return self._share(None)

    @property
    def by_group(self) -> Mapping[str, Share]:
        """Their share of each sensitive group."""
        return self.people.by_group(self._share)

    def _share(self, rows: Mask | None) -> Share:
        if self.marked is None:
            return None
        return self.people.mean(self.marked.astype(np.int64), 1, rows)

    def __repr__(self) -> str:
        return f"<{self.name}: {share_text(self.overall)} of {self.people.count:,} people>"

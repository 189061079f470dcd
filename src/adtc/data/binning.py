"""Which Boolean features a column gets: the paper's ``nbins`` (Sec. 5) and everything beside it.

Thresholds or bins for numbers, one-hot categories with the rarest together, an indicator for
missing values. Where a column is cut is computed in ``cuts``.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Literal, TypedDict

import numpy as np
import numpy.typing as npt

from adtc.data.binarize import Feature
from adtc.data.bits import Rows
from adtc.data.columns import Column
from adtc.data.cuts import all_cuts, given_cuts, quantile_cuts, splitting, width_cuts
from adtc.errors import DataError, unknown
from adtc.text import is_whole

MAX_NBINS = 65_536
ALL = "all"
PAIR = 2


class BinningOptions(TypedDict, total=False):
    """The keywords of ``Binning``, for functions that pass them on."""

    nbins: int
    binning: Literal["quantile", "width"]
    cuts: Mapping[str, Sequence[float] | Literal["all"]] | None
    numeric: Literal["thresholds", "bins"]
    onehot: Literal["drop", "all"]
    max_categories: int
    types: Mapping[str, Literal["numeric", "category", "ignore"]] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Binning:
    """How columns become Boolean features.

    Parameters
    ----------
    nbins
        Bins per numeric column, at most; there is one cut fewer than bins.
    binning
        Bins of equally many rows (``quantile``) or of equal width.
    cuts
        Cut points for some columns, instead of ``nbins``; ``"all"`` cuts between any two values
        that follow each other.
    numeric
        ``thresholds`` gives ``x <= c`` per cut, ``bins`` gives ``c < x <= d`` per bin.
    onehot
        ``drop`` makes one feature of a column with two values, ``all`` makes both.
    max_categories
        Features per category column, at most; the rarest share ``column = (other)``.
    types
        Read a column as ``numeric`` or ``category``, or ``ignore`` it.
    """

    nbins: int = 7
    binning: Literal["quantile", "width"] = "quantile"
    cuts: Mapping[str, Sequence[float] | Literal["all"]] | None = None
    numeric: Literal["thresholds", "bins"] = "thresholds"
    onehot: Literal["drop", "all"] = "drop"
    max_categories: int = 50
    types: Mapping[str, Literal["numeric", "category", "ignore"]] | None = None
    given: dict[str, tuple[float, ...]] = field(init=False, repr=False)
    everywhere: frozenset[str] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        _check_range("nbins", self.nbins, 2, MAX_NBINS)
        _check_range("max_categories", self.max_categories, 2, None)
        _check_choice("binning", self.binning, ("quantile", "width"))
        _check_choice("numeric", self.numeric, ("thresholds", "bins"))
        _check_choice("onehot", self.onehot, ("drop", "all"))
        for kind in self.kinds.values():
            _check_choice("type", kind, ("numeric", "category", "ignore"))
        asked = self.cuts or {}
        given = {c: given_cuts(c, cuts) for c, cuts in asked.items() if not isinstance(cuts, str)}
        for column, cuts in asked.items():
            if isinstance(cuts, str) and cuts != ALL:
                given_cuts(column, [cuts])  # type: ignore[list-item] # which says what is wrong
        object.__setattr__(self, "given", given)
        object.__setattr__(self, "everywhere", frozenset({*asked} - {*given}))

    @property
    def kinds(self) -> Mapping[str, str]:
        """The types given for columns."""
        return self.types or {}

    @property
    def ignored(self) -> set[str]:
        """The columns to leave out."""
        return {column for column, kind in self.kinds.items() if kind == "ignore"}

    def chooses(self, column: str) -> bool:
        """Tell whether the user said how to read a column, by its type or its cuts."""
        return column in self.kinds or column in self.given or column in self.everywhere

    def check_coded(self, *columns: str | None) -> None:
        """Refuse to cut between all values of a column that is coded: target or sensitive."""
        for column in self.everywhere.intersection(columns):
            raise DataError(
                f"cuts of column '{column}' make its classes or groups: give them as numbers, "
                f"not as 'all'."
            )

    def features(self, column: Column, weights: Rows) -> Iterator[Feature]:
        """Make the features of one column; none if it is constant.

        Parameters
        ----------
        weights
            Rows of weight 0 have no say in cuts and categories.
        """
        kind = self.kinds.get(column.name)
        cut = column.name in self.given or column.name in self.everywhere
        if cut:
            column = _cuttable(column, kind)
        elif kind is not None:
            column = column.numbers() if kind == "numeric" else column.text()
        counts = column.counts(weights)
        values, counts, missing = column.values[counts[:-1] > 0], counts[:-1], int(counts[-1])
        counts = counts[counts > 0]
        if not len(values):
            return
        if kind is None and not cut and Column.zero_one(values):
            if len(values) > 1:
                yield Feature(column.name, column.name)
        elif column.kind == "text":
            yield from self._categories(column.name, values, counts, missing)
        elif column.kind == "number":
            yield from self._intervals(column.name, values, counts)
        if missing:
            yield Feature.missing(column.name)

    def _intervals(self, name: str, values: npt.NDArray[Any], counts: Rows) -> Iterator[Feature]:
        """Make thresholds or bins; ``values`` ascend, ``counts`` are positive."""
        if name in self.given:
            cuts = splitting(values, self.given[name])
        elif name in self.everywhere:
            cuts = all_cuts(values)
        elif self.binning == "width":
            cuts = width_cuts(values, self.nbins)
        else:
            cuts = quantile_cuts(values, counts, self.nbins)
        if self.numeric == "thresholds":
            yield from (Feature.interval(name, None, c) for c in cuts)
            return
        ends = [None, *cuts, None]
        bins = [Feature.interval(name, low, high) for low, high in pairwise(ends)]
        yield from self._one_of_two(bins, keep=0) if cuts else ()

    def _categories(
        self, name: str, values: npt.NDArray[Any], counts: Rows, missing: int
    ) -> Iterator[Feature]:
        """Make one feature per category, the rarest ones together."""
        if len(values) == 1:
            if missing and self.onehot == "all":
                yield Feature.equals(name, values[0])
            return
        rare = len(values) > self.max_categories
        kept = len(values)
        if rare:
            kept = self.max_categories - 1
            # Most frequent first; ties: the smaller value.
            values = np.sort(values[np.argsort(-counts, kind="stable")[:kept]])
        features = [Feature.equals(name, v) for v in values]
        if rare:
            features.append(Feature.other(name, values.tolist()))
        yield from self._one_of_two(features, keep=0 if rare else 1)

    def _one_of_two(self, features: list[Feature], keep: int) -> Iterator[Feature]:
        """Leave out one of two complementary features, unless both are wanted."""
        both = self.onehot == "all" or len(features) != PAIR
        yield from features if both else features[keep : keep + 1]


def _cuttable(column: Column, kind: str | None) -> Column:
    """Refuse cuts for what is not numeric."""
    if kind == "category" or (kind is None and column.kind != "number"):
        raise DataError(
            f"cuts were given for column '{column.name}', which is not numeric; "
            "leave them out, or say that its type is numeric."
        )
    return column.numbers()


def _check_range(name: str, value: object, low: int, high: int | None) -> None:
    if is_whole(value, low) and value <= (high or value):
        return
    upper = f" to {high}" if high else " up"
    raise DataError(f"{name} must be an integer from {low}{upper}, but it is {value!r}.")


def _check_choice(kind: str, value: str, choices: Sequence[str]) -> None:
    if value not in choices:
        raise DataError(unknown(kind, value, choices))

"""Boolean features with names, and the recipe that makes them again on a new table.

A threshold or an equality is 0 where the value is missing; the missing-value indicator says so.
Which features a column gets is decided in ``binning``.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt

from adtc.data.bits import Codes, Words, pack
from adtc.data.coding import Coding
from adtc.data.columns import Column
from adtc.data.cuts import interval_name
from adtc.data.references import Spelled, reference_codes

Test = Literal["is", "in", "equals", "other", "missing"]
MAX_NBINS = 65_536
PAIR = 2


@dataclass(frozen=True, slots=True)
class Feature:
    """A Boolean test on one column.

    Parameters
    ----------
    name
        As it is printed: ``age <= 37.5``, ``workclass = Private``, ``age is missing``.
    column
        The column it looks at.
    test
        ``is``: the 0/1 column itself; ``in``: ``low < x <= high``; ``equals``: the one value;
        ``other``: present and none of the values; ``missing``.
    low, high
        Bounds of ``in``; None is unbounded.
    values
        Categories of ``equals`` and ``other``.

    Examples
    --------
    >>> Feature.interval("age", 37.5, 45).name
    '37.5 < age <= 45'
    """

    name: str
    column: str
    test: Test = "is"
    low: float | None = None
    high: float | None = None
    values: tuple[str, ...] = ()

    @classmethod
    def interval(cls, column: str, low: float | None, high: float | None) -> Self:
        """Make the test ``low < column <= high``."""
        return cls(interval_name(column, low, high), column, "in", low, high)

    @classmethod
    def equals(cls, column: str, value: str) -> Self:
        """Make the test ``column = value``."""
        return cls(f"{column} = {value}", column, "equals", values=(value,))

    @classmethod
    def other(cls, column: str, values: Sequence[str]) -> Self:
        """Make the test that a category is present and none of ``values``."""
        return cls(f"{column} = (other)", column, "other", values=tuple(values))

    @classmethod
    def missing(cls, column: str) -> Self:
        """Make the test that the value is missing."""
        return cls(f"{column} is missing", column, "missing")

    def view(self, column: Column) -> Column:
        """Read the column as this test needs it: truth values, numbers, text or as it is."""
        if self.test == "is":
            return column.booleans()
        if self.test == "in":
            return column.numbers()
        return column if self.test == "missing" else column.text()

    def mask(self, column: Column) -> npt.NDArray[np.bool_]:
        """Evaluate on the distinct values of a viewed column; the last entry is for missing."""
        mask = np.zeros(len(column.values) + 1, bool)
        if self.test == "missing":
            mask[-1] = True
        elif self.test == "is":
            mask[:-1] = column.values
        elif self.test == "in":
            mask[:-1] = True
            if self.low is not None:
                mask[:-1] &= column.values > self.low
            if self.high is not None:
                mask[:-1] &= column.values <= self.high
        else:
            mask[column.find(self.values)] = True
            if self.test == "other":
                mask[:-1] = ~mask[:-1]
        return mask

    def to_json(self) -> dict[str, Any]:
        """Give plain JSON; defaults are left out."""
        out: dict[str, Any] = {"name": self.name, "column": self.column, "test": self.test}
        if self.test == "in":
            out |= {"low": self.low, "high": self.high}
        if self.values:
            out["values"] = list(self.values)
        return out

    @classmethod
    def from_json(cls, saved: Mapping[str, Any]) -> Self:
        """Make the feature again."""
        return cls(**{**saved, "values": tuple(saved.get("values", ()))})


@dataclass(frozen=True, slots=True)
class Binarizer:
    """All that is needed to read a new table like the one the features were made from.

    Parameters
    ----------
    spelled
        Per reference column that spells labels its own way, which label each spelling is.

    Notes
    -----
    A category that was not seen before counts as ``(other)`` where the column has that feature
    and matches no ``=`` feature elsewhere. A value other than 0 and 1 in a 0/1 column, an unknown
    label or an unknown group is an error.
    """

    features: tuple[Feature, ...]
    target: Coding
    sensitive: Coding | None = None
    weights: str | None = None
    references: tuple[str, ...] = ()
    na: tuple[str, ...] = ()
    spelled: tuple[tuple[str, Spelled], ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that the features look at, in order."""
        return tuple(dict.fromkeys(f.column for f in self.features))

    def reference_codes(self, column: Column) -> Codes:
        """Code a column of other labels, with the spellings that the first table had."""
        spelled = dict(self.spelled).get(column.name, ())
        given = {value: self.target.values[at] for value, at in spelled}
        return reference_codes(column, self.target, given)[0]

    def bits(self, columns: Mapping[str, Column], n_rows: int) -> Words:
        """Evaluate all features: one row of words per feature."""
        return feature_bits(self.features, columns, n_rows)

    def to_json(self) -> dict[str, Any]:
        """Give plain JSON."""
        return {
            "features": [f.to_json() for f in self.features],
            "target": self.target.to_json(),
            "sensitive": self.sensitive.to_json() if self.sensitive else None,
            "weights": self.weights,
            "references": list(self.references),
            "na": list(self.na),
            **(
                {"spelled": [[name, list(map(list, pairs))] for name, pairs in self.spelled]}
                if self.spelled
                else {}
            ),
        }

    @classmethod
    def from_json(cls, saved: Mapping[str, Any]) -> Self:
        """Make the binarizer again."""
        return cls(
            tuple(Feature.from_json(f) for f in saved["features"]),
            Coding.from_json(saved["target"]),
            Coding.from_json(saved["sensitive"]) if saved["sensitive"] else None,
            saved["weights"],
            tuple(saved["references"]),
            tuple(saved["na"]),
            tuple(
                (name, tuple((value, at) for value, at in pairs))
                for name, pairs in saved.get("spelled", ())
            ),
        )


def feature_bits(features: Sequence[Feature], columns: Mapping[str, Column], n_rows: int) -> Words:
    """Evaluate features on encoded columns: one row of words per feature."""
    bits = np.zeros((len(features), -(-n_rows // 64)), np.uint64)
    seen: dict[tuple[str, bool, bool], Column] = {}
    for i, f in enumerate(features):
        key = (f.column, f.test == "in", f.test == "missing")
        if key not in seen:
            seen[key] = f.view(columns[f.column])
        bits[i] = pack(f.mask(seen[key])[seen[key].codes])
    return bits

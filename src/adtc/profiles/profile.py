"""The profile: the root tensor as a table of cells, read by metrics (the paper's model profile).

A cell is a combination of axis values, with the number of trees that have it. Metrics are terms
over the axes and are computed when asked for, exactly; filtering keeps cells, projecting keeps
metrics, and nothing here runs over the data again.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from adtc.algebra.formula import Formula, Number, Term, names, parse, parse_term, substitute
from adtc.data import Data
from adtc.engine.circuit import Circuit
from adtc.engine.columns import Column, Ratios, evaluate, from_columns, satisfied
from adtc.engine.query import Space
from adtc.engine.record import RunRecord, Status, log10
from adtc.engine.wide import Limbs, sums_of, total_of
from adtc.errors import QueryError, UnknownMetricError, unknown
from adtc.profiles.values import Values, distinct_values

X = TypeVar("X", Formula, Term)


@dataclass(frozen=True, slots=True)
class Source:
    """Where the trees of a profile come from: the table and the circuit of all good trees."""

    data: Data
    space: Space
    circuit: Circuit


@dataclass(frozen=True, eq=False)
class Profile:
    """All good trees by their metrics.

    Parameters
    ----------
    axes
        Per axis its value in every cell; together they determine every metric.
    trees
        Per cell the number of trees, in 64-bit limbs.
    metrics
        The metrics asked for, as terms over the axes.
    record
        The run that made the profile.
    keys
        Per cell its key in the circuit; None without a circuit.
    source
        What trees are drawn from; None if the profile was made or loaded without it.
    """

    axes: Mapping[str, Column]
    trees: Limbs
    metrics: Mapping[str, Term]
    record: RunRecord
    keys: npt.NDArray[np.int64] | None = None
    source: Source | None = None
    _columns: dict[str, Ratios] = field(default_factory=dict, repr=False)

    @cached_property
    def count(self) -> int:
        """Count the trees."""
        return total_of(self.trees)

    @property
    def num_cells(self) -> int:
        """Count the cells."""
        return len(self.trees)

    @property
    def status(self) -> Status:
        """Say whether the numbers are exact, bounded or estimated."""
        return self.record.status

    @property
    def log10(self) -> float | None:
        """Return the decimal logarithm of the count, None for zero."""
        return log10(self.count)

    @property
    def names(self) -> tuple[str, ...]:
        """Name the metrics."""
        return tuple(self.metrics)

    def __len__(self) -> int:
        return self.num_cells

    def __repr__(self) -> str:
        trees = f"{self.count:,} trees" if self.count != 1 else "1 tree"
        return f"<Profile of {trees} in {self.num_cells:,} cells by {', '.join(self.metrics)}>"

    def term(self, text: str) -> Term:
        """Read a metric, or a term over metrics, as a term over the axes."""
        if text in self.metrics:
            return self.metrics[text]
        return self._over_axes(parse_term(text))

    def column(self, text: str) -> Ratios:
        """Compute a metric, or a term over metrics, in every cell, exactly."""
        if text not in self._columns:
            lookup = from_columns(self.axes, self.num_cells)
            self._columns[text] = evaluate(self.term(text), lookup)
        return self._columns[text]

    def values(self, text: str) -> Values:
        """Find the distinct values of a metric and which cell has which."""
        return distinct_values(self.column(text))

    def where(self, formula: str | Formula | None) -> "Profile":
        """Keep the trees that satisfy a formula over the profile's metrics."""
        if formula is None:
            return self
        parsed = parse(formula) if isinstance(formula, str) else formula
        lookup = from_columns(self.axes, self.num_cells)
        return self.take(satisfied(self._over_axes(parsed), lookup, self.num_cells))

    def take(self, cells: npt.NDArray[Any]) -> "Profile":
        """Keep some cells, given by truth values or positions."""
        return replace(
            self,
            axes={name: column[cells] for name, column in self.axes.items()},
            trees=self.trees[cells],
            keys=None if self.keys is None else self.keys[cells],
            _columns={},
        )

    def project(self, *metrics: str) -> "Profile":
        """Keep some metrics, or terms over them; the trees stay."""
        return replace(self, metrics={name: self.term(name) for name in metrics}, _columns={})

    def totals(self, groups: npt.NDArray[np.int64], n: int) -> list[int]:
        """Count the trees of each group of cells, 0 … n − 1; cells of group −1 are left out."""
        return sums_of(self.trees, groups, n)

    def need_source(self, purpose: str) -> Source:
        """Return what trees are drawn from, or say why there is none."""
        if self.source is None:
            raise QueryError(
                f"this profile was kept without its circuit, which {purpose} needs: make it anew, "
                f"or save it with circuit=True (--circuit) before loading it."
            )
        return self.source

    def _over_axes(self, x: X) -> X:
        unknown_names = sorted(names(x) - set(self.metrics) - {"N"})
        if unknown_names:
            sentence = unknown("metric", unknown_names[0], self.metrics)
            raise UnknownMetricError(
                f"{sentence} A profile knows the metrics it was made with: name this one among "
                f"them and make it anew."
            )
        return substitute(x, {**self.metrics, "N": Number(self.record.data["rows"])})


def joint_codes(codes: Iterable[npt.NDArray[np.int64]]) -> npt.NDArray[np.int64]:
    """Give numbers to the distinct combinations of several codes, in lexicographic order."""
    joint: npt.NDArray[np.int64] | None = None
    for column in codes:
        width = int(column.max(initial=0)) + 1
        wide = column if joint is None else joint * width + column
        joint = np.unique(wide, return_inverse=True)[1].reshape(-1).astype(np.int64)
    assert joint is not None
    return joint

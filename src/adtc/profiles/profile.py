"""The profile: the root tensor as a table of cells, read by metrics (the paper's model profile).

A cell is a combination of axis values, with the number of trees that have it. Metrics are terms
over the axes and are computed when asked for, exactly; filtering keeps cells, projecting keeps
metrics, and nothing here runs over the data again.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from os import PathLike
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import numpy.typing as npt

from adtc.algebra.formula import (
    Call,
    Formula,
    Number,
    Term,
    names,
    parse,
    parse_term,
    settle,
    substitute,
)
from adtc.data import Data
from adtc.engine.exact.columns import Column, Ratios, evaluate, extreme, from_columns, satisfied
from adtc.engine.exact.limbs import Limbs, sums_of, total_of
from adtc.engine.exact.values import Values, distinct_values
from adtc.engine.limits.bracket import Bracket
from adtc.engine.plan import AxisColumns
from adtc.engine.query import Space
from adtc.engine.record import RunRecord, Status
from adtc.engine.results import Number as TreeNumber
from adtc.engine.results import number_of_trees
from adtc.errors import QueryError, UnknownMetricError, unknown
from adtc.hooks import hook

if TYPE_CHECKING:
    import pyarrow as pa

    from adtc.algebra.semiring import Semiring
    from adtc.algebra.trees import Tree
    from adtc.data import Scalar
    from adtc.engine.circuit import Circuit
    from adtc.profiles.builder import Builder
    from adtc.profiles.crosstab import Crosstab
    from adtc.profiles.curves import PenaltyCurve, ToleranceCurve
    from adtc.profiles.difference import Difference
    from adtc.profiles.generalization import Generalization
    from adtc.profiles.marginals import Marginal, Moments
    from adtc.profiles.multiplicity import MultiplicityCurve
    from adtc.profiles.numbered import DrawnTree
    from adtc.profiles.pareto import Front
    from adtc.profiles.people import VoteShares
    from adtc.profiles.people.baselines import Baseline
    from adtc.profiles.people.decisions import Deciding, Discrepancy
    from adtc.profiles.people.leaving import LeaveOneOut
    from adtc.profiles.reliance import Reliance
    from adtc.profiles.variables import Variables

X = TypeVar("X", Formula, Term)
_MANY_GROUPS = 10_000  # beyond, sorting is faster than going through all groups per part
_EXACT = 2**21
_PART = 2**16  # cells
_LOW = np.uint64(0xFFFFFFFF)


class Source:
    """Where the trees of a profile come from: the table and the circuit of all good trees.

    Parameters
    ----------
    circuit
        The circuit, or a function that makes it when it is first asked for.
    guard
        What trees are found in: where the circuit comes from a file, it turns whatever is wrong
        with it into one sentence.

    Attributes
    ----------
    kept
        What walks over the circuit have found out; all profiles filtered from one share it.
    """

    __slots__ = ("_circuit", "_lock", "_make", "data", "guard", "kept", "space")

    def __init__(
        self,
        data: Data,
        space: Space,
        circuit: "Circuit | Callable[[], Circuit]",
        guard: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> None:
        self.data, self.space, self.guard = data, space, guard
        self.kept: dict[str, Any] = {}
        self._lock = RLock()  # two threads that ask at once get one circuit
        self._make: Callable[[], Circuit] | None = None
        self._circuit: Circuit | None = None
        if callable(circuit):
            self._make = circuit
        else:
            self._circuit = circuit

    @property
    def circuit(self) -> "Circuit":
        """Return the circuit; the first time, it may have to be put together."""
        with self._lock:
            if self._circuit is None:
                assert self._make is not None
                self._circuit, self._make = self._make(), None  # and let go of what it was made of
            return self._circuit

    def __repr__(self) -> str:
        return f"Source(data={self.data!r}, space={self.space!r})"

    def __reduce__(self) -> "tuple[type[Source], tuple[Data, Space, Circuit]]":
        return Source, (self.data, self.space, self.circuit)


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
    _values: dict[str, Values] = field(default_factory=dict, repr=False)

    @cached_property
    def total(self) -> int:
        """Count the trees in the profile: all good ones, or those that a limit left time for."""
        return total_of(self.trees)

    @property
    def count(self) -> TreeNumber:
        """Return the number of good trees: an integer, or a `Bracket` if a limit stopped the run.

        ``total`` is the number of trees in the profile, exact for what was finished.
        """
        details, total = self.record.details, self.total
        if self.status == "exact":
            return number_of_trees(Bracket(total, total), self.record)
        # near-best formulas depend on all trees: fewer of them may satisfy those of a larger space
        lower = 0 if "extremes" in details else total
        told = {name: details.get(name) for name in ("finished", "stopped", "advice")}
        return replace(Bracket(lower, details.get("upper"), **told), record=self.record)

    @cached_property
    def num_cells(self) -> int:
        """Count the combinations of metric values, which are the rows of the table.

        The profile may hold more cells than that: those that only its axes tell apart.
        """
        return hook("count_rows")(self)

    @property
    def status(self) -> Status:
        """Say whether this is all that was asked for, or what a limit left of it."""
        return self.record.status

    @property
    def log10(self) -> float | None:
        """Return the decimal logarithm of the count; None for zero, or where it is not known."""
        return self.count.log10

    @property
    def names(self) -> tuple[str, ...]:
        """Name the metrics."""
        return tuple(self.metrics)

    def __len__(self) -> int:
        return self.num_cells

    def __repr__(self) -> str:
        trees = f"{self.total:,} trees" if self.total != 1 else "1 tree"
        part = "" if self.status == "exact" else f" ({self.record.status_text})"
        cells = f"{self.num_cells:,} cells by {', '.join(self.metrics)}"
        return f"<Profile of {trees}{part} in {cells}>"

    def _repr_html_(self) -> str:
        return str(hook("landscape_html")(self))

    def term(self, text: str) -> Term:
        """Read a metric, or a term over metrics, as a term over the axes."""
        if text in self.metrics:
            return self.metrics[text]
        return self.over_axes(parse_term(text))

    def column(self, text: str) -> Ratios:
        """Compute a metric, or a term over metrics, in every cell, exactly."""
        if text not in self._columns:
            lookup = from_columns(self.axes, len(self.trees))
            self._columns[text] = evaluate(self.term(text), lookup)
        return self._columns[text]

    def column_in_parts(self, text: str) -> "Iterable[Ratios]":
        """Compute the same part by part, anew each time: a column of all cells may be too large."""
        if text in self._columns or len(self.trees) <= _PART:
            return [self.column(text)]
        return _ColumnInParts(self.project(text))

    def parts(self) -> "Iterator[Profile]":
        """Yield the cells in parts: columns of a part fit caches, those of all not even memory."""
        if len(self.trees) <= _PART:
            yield self
        else:
            yield from map(self.take, cell_ranges(len(self.trees)))

    def values(self, text: str) -> Values:
        """Find the distinct values of a metric and which cell has which."""
        if text not in self._values:
            self._values[text] = distinct_values(self.column(text))
        return self._values[text]

    def where(self, formula: str | Formula | None) -> "Profile":
        """Keep the trees that satisfy a formula over the profile's metrics.

        In it, ``least(…)`` and ``largest(…)`` are over the trees of this profile.
        """
        if formula is None:
            return self
        parsed = self.over_axes(parse(formula) if isinstance(formula, str) else formula)
        sizes = ((part.axes, len(part.trees)) for part in self.parts())
        found = [satisfied(parsed, from_columns(axes, n), n) for axes, n in sizes]
        return self.take(np.concatenate(found))

    def take(self, cells: npt.NDArray[Any] | slice) -> "Profile":
        """Keep some cells, given by truth values, positions or a slice."""
        keys = None if self.keys is None else self.keys[cells]
        if isinstance(self.axes, AxisColumns) and keys is not None:
            axes: Mapping[str, Column] = self.axes.of(keys)
        else:
            axes = {name: column[cells] for name, column in self.axes.items()}
        return replace(self, axes=axes, trees=self.trees[cells], keys=keys, _columns={}, _values={})

    def project(self, *metrics: str) -> "Profile":
        """Keep some metrics, or terms over them; the trees stay."""
        return replace(
            self, metrics={name: self.term(name) for name in metrics}, _columns={}, _values={}
        )

    def totals(self, groups: npt.NDArray[np.int64], n: int) -> list[int]:
        """Count the trees of each group of cells, 0 … n − 1; cells of group −1 are left out."""
        if n > _MANY_GROUPS:
            return sums_of(self.trees, groups, n)
        return _sums_of_few(self.trees, groups, n)

    def need_source(self, purpose: str) -> Source:
        """Return what trees are drawn from, or say why there is none."""
        if self.source is None:
            raise QueryError(
                f"{purpose} needs the circuit, which this profile has not: it was saved without "
                f"it, is told apart by depth, or comes from the specification engine; save it with "
                f"circuit=True (--circuit), or make it anew with other metrics."
            )
        return self.source

    def save(self, path: str | PathLike[str], *, circuit: bool = False) -> Path:
        """Write the profile to one file: see `adtc.profiles.saved.store.save_profile`."""
        return hook("save_profile")(self, path, circuit)

    def crosstab(self, x: str, y: str, **options: Any) -> "Crosstab":
        """Count the trees by two metrics: see `adtc.profiles.crosstab.crosstab`."""
        return hook("crosstab")(self, x, y, **options)

    def pareto(self, **criteria: Any) -> "Front":
        """Find the trees that no other one beats: see `adtc.profiles.pareto.pareto`."""
        return hook("pareto")(self, **criteria)

    def evaluate(self, semiring: "Semiring[Any] | str", **options: Any) -> Any:
        """Sum over the trees in another semiring: see `adtc.profiles.evaluating.evaluate`."""
        return hook("evaluate")(self, semiring, **options)

    def draw(self, n: int = 1, **options: Any) -> "list[DrawnTree]":
        """Draw trees uniformly: see `adtc.profiles.drawing.draw`."""
        return hook("draw")(self, n, **options)

    def tree(self, rank: int) -> "DrawnTree":
        """Return the tree with a rank: see `adtc.profiles.drawing.tree`."""
        return hook("tree")(self, rank)

    def rank(self, tree: "Tree | DrawnTree") -> int:
        """Return the rank of a tree: see `adtc.profiles.drawing.rank`."""
        return hook("rank")(self, tree)

    def iterate(self, start: int = 0, stop: int | None = None) -> "Iterator[DrawnTree]":
        """Yield the trees in rank order: see `adtc.profiles.drawing.iterate`."""
        return hook("iterate")(self, start, stop)

    def best(self, k: int = 1, **goal: Any) -> "list[DrawnTree]":
        """Return the best trees by a metric: see `adtc.profiles.drawing.best`."""
        return hook("best")(self, k, **goal)

    def spread(self, k: int, **options: Any) -> "list[DrawnTree]":
        """Pick trees whose metrics lie far apart: see `adtc.profiles.drawing.spread`."""
        return hook("spread")(self, k, **options)

    def different(self, k: int, **options: Any) -> "list[DrawnTree]":
        """Pick trees that predict differently: see `adtc.profiles.drawing.different`."""
        return hook("different")(self, k, **options)

    def builder(self) -> "Builder":
        """Build a tree by hand among the good ones: see `adtc.profiles.builder.Builder`."""
        return hook("Builder")(self)

    def variables(self, where: str | Formula | None = None, **options: Any) -> "Variables":
        """Ask which variables the trees use: see `adtc.profiles.variables.variables`."""
        return hook("variables")(self, where, **options)

    def minus(self, other: "Profile", **options: Any) -> "Difference":
        """Compare with another profile: see `adtc.profiles.difference.difference`."""
        return hook("difference")(self, other, **options)

    def vote_shares(self, frame: object = None, **options: Any) -> "VoteShares":
        """Count the good trees by what they predict: see `adtc.profiles.people.vote_shares`."""
        return hook("vote_shares")(self, frame, **options)

    def discrepancy(self, baseline: "Baseline", **options: Any) -> "Discrepancy":
        """Find how many decisions change: see `adtc.profiles.people.decisions.discrepancy`."""
        return hook("discrepancy")(self, baseline, **options)

    def deciding(
        self, decisions: "Mapping[int, Scalar]", frame: object = None, **options: Any
    ) -> "Deciding":
        """Find the trees that decide cases in given ways: see `people.decisions.deciding`."""
        return hook("deciding")(self, decisions, frame, **options)

    def leave_one_out(self, **options: Any) -> "LeaveOneOut":
        """Count who enters and leaves without a row: see `people.leaving.leave_one_out`."""
        return hook("leave_one_out")(self, **options)

    def marginal(self, metric: str) -> "Marginal":
        """Count the trees by one metric: see `adtc.profiles.marginals.marginal`."""
        return hook("marginal")(self, metric)

    def moments(self, metric: str, *, exact: bool = True) -> "Moments":
        """Compute mean and variance of a metric: see `adtc.profiles.marginals.moments`."""
        return hook("moments")(self, metric, exact=exact)

    def generalization(self, table: str = "test", **options: Any) -> "Generalization":
        """Compare with a further table: see `adtc.profiles.generalization.generalization`."""
        return hook("generalization")(self, table, **options)

    def reliance(self, column: str, **options: Any) -> "Reliance":
        """Compute the trees' reliance on a variable: see `adtc.profiles.reliance.of_profile`."""
        return hook("of_profile")(self, column, **options)

    def rollup(self, steps: Mapping[str, Any]) -> "Profile":
        """Round metrics down and merge cells: see `adtc.profiles.marginals.rollup`."""
        return hook("rollup")(self, steps)

    def tolerance_curve(self, objective: str = "error") -> "ToleranceCurve":
        """Count the trees within every tolerance: see `adtc.profiles.curves.tolerance_curve`."""
        return hook("tolerance_curve")(self, objective)

    def multiplicity_curve(self, baseline: "Baseline", **options: Any) -> "MultiplicityCurve":
        """Ambiguity and discrepancy by tolerance: `adtc.profiles.multiplicity`."""
        return hook("multiplicity_curve")(self, baseline, **options)

    def penalty_curve(self, **names: str) -> "PenaltyCurve":
        """Find the optimum for every penalty per leaf: see `adtc.profiles.curves.penalty_curve`."""
        return hook("penalty_curve")(self, **names)

    @property
    def table(self) -> "pa.Table":
        """The profile as an Arrow table: see `adtc.profiles.tables.to_arrow`."""
        return hook("to_arrow")(self)

    def to_pandas(self) -> Any:
        """Make a pandas frame: see `adtc.profiles.tables.to_pandas`."""
        return hook("to_pandas")(self)

    def to_polars(self) -> Any:
        """Make a polars frame: see `adtc.profiles.tables.to_polars`."""
        return hook("to_polars")(self)

    def to_csv(self, path: str | PathLike[str]) -> None:
        """Write the table as CSV: see `adtc.profiles.tables.to_csv`."""
        return hook("to_csv")(self, path)

    def to_parquet(self, path: str | PathLike[str]) -> None:
        """Write the table as Parquet: see `adtc.profiles.tables.to_parquet`."""
        return hook("to_parquet")(self, path)

    def sql(self, query: str) -> "pa.Table":
        """Ask a question in SQL: see `adtc.profiles.tables.sql`."""
        return hook("sql")(self, query)

    def over_axes(self, x: X) -> X:
        """Write a formula or a term over the metrics as one over the axes."""
        unknown_names = sorted(names(x) - set(self.metrics) - {"N"})
        if unknown_names:
            sentence = unknown("metric", unknown_names[0], self.metrics)
            raise UnknownMetricError(
                f"{sentence} A profile knows the metrics it was made with: name this one among "
                f"them and make it anew."
            )
        terms = {**self.metrics, "N": Number(Fraction(self.record.data["rows"]))}
        return settle(substitute(x, terms), self._extreme)

    def _extreme(self, call: Call) -> Fraction | None:
        """Find the least or largest value of a term over the axes."""
        values = evaluate(call.arguments[0], from_columns(self.axes, len(self.trees)))
        return extreme(values, 1 if call.function == "least" else -1)


def _sums_of_few(trees: Limbs, groups: npt.NDArray[np.int64], n: int) -> list[int]:
    """Sum the numbers of each of few groups exactly, without sorting.

    Floats hold sums of 2^21 halves of a limb, each below 2^32, exactly.
    """
    sums = [0] * n
    for start in range(0, len(groups), _EXACT):
        rows, limbs = groups[start : start + _EXACT], trees[start : start + _EXACT]
        if bool(np.any(rows < 0)):
            rows, limbs = rows[rows >= 0], limbs[rows >= 0]
        for place, limb in enumerate(limbs.T):
            for shift, half in ((0, limb & _LOW), (32, limb >> np.uint64(32))):
                if half.any():
                    part = np.bincount(rows, half.astype(np.float64), n)
                    shifts = 64 * place + shift
                    sums = [a + (int(b) << shifts) for a, b in zip(sums, part, strict=True)]
    return sums


@dataclass(frozen=True, slots=True)
class _ColumnInParts:
    """The only metric of a profile, in the cells of one part after another."""

    profile: Profile

    def __iter__(self) -> Iterator[Ratios]:
        (name,) = self.profile.names
        return (part.column(name) for part in self.profile.parts())


def cell_ranges(cells: int) -> Iterator[slice]:
    """Part so many cells."""
    return (slice(start, start + _PART) for start in range(0, cells, _PART))


def joint_codes(codes: Iterable[npt.NDArray[np.int64]]) -> npt.NDArray[np.int64]:
    """Give numbers to the distinct combinations of several codes, in lexicographic order."""
    joint: npt.NDArray[np.int64] | None = None
    for column in codes:
        width = int(column.max(initial=0)) + 1
        wide = column if joint is None else joint * width + column
        joint = np.unique(wide, return_inverse=True)[1].reshape(-1).astype(np.int64)
    assert joint is not None
    return joint

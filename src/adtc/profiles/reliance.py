"""Model reliance over all good trees: how much their errors grow when one variable is shuffled.

For each good tree MR = e_switch / e_orig, the error on rows whose variable comes from another row
over the error as it is (Fisher, Rudin and Dominici, 2019); its range over the good trees is the
model class reliance [MCR−, MCR+]. A variable is a source column, with all features made from it.
Everything is exact: MR is a ratio of two sums over leaves.

Trees of one cell have the same errors, so the ends of their reliance are those of their errors with
the variable shuffled. One walk over the good trees finds these for all variables.
"""

from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from adtc.algebra.formula import Formula, parse, parse_term, substitute
from adtc.algebra.formula import Number as Constant
from adtc.algebra.metrics import RELIANCE
from adtc.algebra.trees import Tree
from adtc.data import Data
from adtc.data.hybrids import variables
from adtc.engine.exact.columns import Column, Ratios, evaluate, from_columns, least_at
from adtc.engine.monitor import Monitor
from adtc.engine.query import Definitions, Space
from adtc.engine.questions import count, optimize
from adtc.engine.record import Status
from adtc.engine.results import Number
from adtc.engine.run import Engine, with_extremes
from adtc.engine.switched import Switched, can_switch, switched_errors
from adtc.errors import QueryError, TooLargeError, unknown
from adtc.hooks import hook
from adtc.profiles.making import profile as make_profile
from adtc.profiles.marginals import Marginal, Plottable
from adtc.profiles.profile import Profile
from adtc.profiles.writing import aligned, approximate

Where = str | Formula | None
End = tuple[Fraction | int | None, Tree | None]
_NONE: End = (None, None)
_FEW = 10**6  # trees whose cells are counted; of more, the least and the largest are searched for


@dataclass(frozen=True)
class RelianceRange:
    """The least and the largest reliance on a variable among the good trees, each with a tree.

    Parameters
    ----------
    column
        The variable: a source column.
    variant
        Which reliance: a key of ``RELIANCE``.
    min, max
        MCR− and MCR+; None where no good tree has errors, so that no ratio is defined. Trees
        without errors are left out of ratios.
    status
        ``"exact"``; ``"partial"`` where a limit ended the search: then good trees reach at least
        from min to max.
    trees
        The good trees, if they can be counted.
    """

    column: str
    variant: str
    min: Fraction | None
    max: Fraction | None
    min_tree: Tree | None
    max_tree: Tree | None
    status: Status = "exact"
    trees: "_GoodTrees | None" = field(default=None, repr=False, compare=False)

    @cached_property
    def distribution(self) -> Marginal | None:
        """The good trees by their reliance, counted when asked for; None if they are too many."""
        return None if self.trees is None else self.trees.later(self.column).marginal(self.metric)

    @property
    def metric(self) -> str:
        """The metric in formulas, such as ``reliance[age]``."""
        return f"{self.variant}[{self.column}]"

    @property
    def null(self) -> bool:
        """Whether some good tree does no worse with the variable shuffled."""
        neutral = 0 if self.variant.endswith("difference") else 1
        return self.min is not None and self.min <= neutral

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON: floats, and exact fractions as text."""
        ends = {"min": self.min, "max": self.max}
        return {
            "column": self.column,
            "variant": self.variant,
            "status": self.status,
            **{name: None if end is None else float(end) for name, end in ends.items()},
            **{f"{name}_exact": None if end is None else str(end) for name, end in ends.items()},
        }


class RelianceRanges(tuple[RelianceRange, ...]):
    """The ranges of several variables, one after the other."""

    __slots__ = ()

    def plot(self, **options: Any) -> Any:
        """Draw a bar from the least to the largest reliance for each variable.

        Inside it, the good trees by their reliance, where they were counted.
        """
        # `show` stands above this room; a method that people expect here may reach for it late.
        return hook("plot")(self, **options)

    def to_text(self) -> str:
        """Write an aligned table, one line per variable."""
        rows = [[one.column, approximate(one.min), approximate(one.max)] for one in self]
        return aligned([["variable", "least", "largest"], *rows])


@dataclass(frozen=True, slots=True)
class Reliance(Plottable):
    """The reliance of all good trees on one variable.

    Parameters
    ----------
    range
        The least and the largest, with trees.
    profile
        The good trees by their reliance and errors: filter, cross-tabulate, draw.
    """

    range: RelianceRange
    profile: Profile

    @property
    def marginal(self) -> Marginal:
        """Count the good trees by their reliance; None stands for trees without errors."""
        return self.profile.marginal(self.range.metric)


def reliance_range(
    data: Data,
    space: Space,
    where: Where,
    column: str,
    *,
    variant: str = "reliance",
    define: Definitions | None = None,
    engine: Engine = "auto",
    monitor: Monitor | None = None,
) -> RelianceRange:
    """Find the least and the largest reliance on a variable among the good trees.

    Parameters
    ----------
    where
        The constraint φ that makes a tree good; None admits every tree.
    column
        A source column that features are made from.
    variant
        ``"reliance"`` (ratio over the n(n − 1) pairs of different rows), ``"reliance_lossless"``
        (ratio over all n² pairs), or either's difference: ``"reliance_difference"``,
        ``"reliance_lossless_difference"``.

    Examples
    --------
    >>> import adtc
    >>> data = adtc.Data.from_arrays([[1, 1], [1, 0], [0, 1], [0, 0]] * 2, [1, 1, 0, 0] * 2)
    >>> found = reliance_range(data, adtc.Space(max_depth=1), "error <= 4 and error > 0", "f1")
    >>> found.min, found.max, found.null
    (Fraction(1, 1), Fraction(1, 1), True)
    """
    options: dict[str, Any] = {"define": define, "engine": engine, "monitor": monitor}
    return reliance(data, space, where, columns=[column], variant=variant, **options)[0]


def reliance(
    data: Data,
    space: Space,
    where: Where = None,
    *,
    columns: Iterable[str] | None = None,
    variant: str = "reliance",
    define: Definitions | None = None,
    engine: Engine = "auto",
    monitor: Monitor | None = None,
) -> RelianceRanges:
    """Find the range of reliance on every variable, or on some.

    Parameters
    ----------
    columns
        The variables; None takes all source columns.

    Examples
    --------
    >>> import adtc
    >>> data = adtc.Data.from_arrays([[1, 1], [1, 0], [0, 1], [0, 0]] * 2, [1, 1, 0, 0, 1, 1, 1, 0])
    >>> ranges = reliance(data, adtc.Space(max_depth=1), "error <= 1")
    >>> [(found.column, str(found.min), str(found.max)) for found in ranges]
    [('f0', '31/7', '31/7'), ('f1', '1', '1')]

    Notes
    -----
    One walk over the good trees finds both ends for all variables. Where features of several
    variables are alike on the table, or trees are left out by their tests, each variable takes a
    run of its own: up to a million trees are counted by their reliance, and of more the two ends
    are searched for (Dinkelbach's method). All are exact.
    """
    known = variables(data)
    wanted = _checked(list(known) if columns is None else list(columns), known, variant)
    watch = (monitor or Monitor()).part()  # each column is a part of the answer
    options: dict[str, Any] = {"define": define, "engine": engine, "monitor": watch}
    formula = parse(where) if isinstance(where, str) else where
    found = _by_errors(data, space, formula, options)
    number: Any = found.total if isinstance(found, Profile) else found
    # values of all trees are found only once
    extremes = found.record.details.get("extremes", {}) if found.record else {}
    good = None if formula is None else with_extremes(formula, extremes)
    few = isinstance(number, int) and number <= _FEW
    trees = _GoodTrees(data, space, good, variant, options, few)
    ends = trees.walked(found, {c: known[c] for c in wanted}) if isinstance(found, Profile) else {}
    return RelianceRanges(ends[c] if c in ends else trees.alone(c) for c in wanted)


def _by_errors(
    data: Data, space: Space, where: Formula | None, options: Mapping[str, Any]
) -> Profile | Number:
    """Count the good trees by their errors, if they are not too many for that."""
    if where is not None:
        try:
            made = make_profile(data, space, ["error"], where=where, **options)
            if made.record.status == "exact":
                return made
        except TooLargeError:
            pass
    number = count(data, space, where, **options)
    if where is None and isinstance(number, int) and number <= _FEW:
        return make_profile(data, space, ["error"], **options)
    return number


def of_profile(
    profile: Profile, column: str, *, variant: str = "reliance", where: Where = None
) -> Reliance:
    """Compute the reliance of a profile's trees on a variable, exactly.

    Parameters
    ----------
    where
        What to ask of the trees besides the profile's own formula; a profile that was filtered
        after it was made does not remember by what.
    """
    source = profile.need_source("reliance")
    asked = profile.record.question
    _checked([column], variables(source.data), variant)
    good = _both(asked.get("where"), where)
    trees = _GoodTrees(source.data, source.space, good, variant, {"define": asked.get("define")})
    made = trees.profile(column)
    if where is None and made.total != profile.total:
        raise QueryError(
            "this profile holds a part of its trees only, and does not know which formula chose "
            "them: take the whole profile, and give the formula as where."
        )
    return Reliance(trees.range_of(made, column), made)


def ranges_of_profile(
    profile: Profile, *, where: Where = None, monitor: Monitor | None = None
) -> RelianceRanges:
    """Find the range of reliance on every variable among a profile's trees.

    Parameters
    ----------
    where
        The formula by which ``profile`` was filtered after it was made, if it was.
    """
    source, asked = profile.need_source("reliance"), profile.record.question
    options: dict[str, Any] = {"define": asked.get("define"), "monitor": monitor}
    good = _both(asked.get("where"), where)
    strict = (monitor or Monitor()).strict()  # who compares numbers needs exact ones
    if count(source.data, source.space, good, **{**options, "monitor": strict}) != profile.total:
        raise QueryError(
            "reliance is computed anew from the formulas, and these find other trees than those "
            "shown: make the profile with its formula (where=...), and leave least(...) out of "
            "the one that filters it."
        )
    return reliance(source.data, source.space, good, **options)


def _both(*formulas: Where) -> str | None:
    parts = [f"({part})" for part in formulas if part is not None]
    return " and ".join(parts) or None


def _checked(columns: list[str], known: Collection[str], variant: str) -> list[str]:
    if variant not in RELIANCE:
        raise QueryError(unknown("reliance", variant, RELIANCE))
    for column in columns:
        if column not in known:
            raise QueryError(unknown("variable", column, known))
    return columns


@dataclass(frozen=True, slots=True)
class _GoodTrees:
    """The good trees, and the ways to the ends of their reliance.

    Parameters
    ----------
    few
        Whether they are few enough to be counted by their reliance.
    """

    data: Data
    space: Space
    good: Where
    variant: str
    options: Mapping[str, Any]
    few: bool = True

    def walked(
        self, by_errors: Profile, columns: Mapping[str, tuple[int, ...]]
    ) -> dict[str, RelianceRange]:
        """Find the ends of all columns that one walk over the trees can serve."""
        source, monitor = by_errors.source, self.options.get("monitor") or Monitor()
        if source is None or by_errors.keys is None or not len(by_errors.keys):
            return {}
        served = {c: own for c, own in columns.items() if can_switch(source.circuit, own)}
        found: dict[str, RelianceRange] = {}
        with suppress(TooLargeError):  # columns that are left take runs of their own
            for some in switched_errors(source.circuit, by_errors.keys, served, monitor):
                found |= self._ends(some, by_errors.column("error").top)
        return found

    def _ends(self, some: Switched, errors: Column) -> dict[str, RelianceRange]:
        """Find the cells at the ends, whose trees have the same errors each."""
        values = relied(self.variant, errors, some.errors, self.data.total)
        n = len(some.columns)
        lanes = [(end, v) for end in (0, 1) for v in range(n)]
        cells = [
            least_at(Ratios(values.top[lane], values.bottom[lane]), 1 - 2 * lane[0])
            for lane in lanes
        ]
        trees = some.trees(np.array([cell or 0 for cell in cells]))
        ends = [
            _NONE if cell is None else (_fraction(values, (*lane, cell)), tree)
            for lane, cell, tree in zip(lanes, cells, trees, strict=True)
        ]
        both = zip(some.columns, ends[:n], ends[n:], strict=True)
        return {column: self._between(column, least, largest) for column, least, largest in both}

    def alone(self, column: str) -> RelianceRange:
        """Find the ends of one column by a run of its own."""
        return self._counted(column) if self.few else self._searched(column)

    def _counted(self, column: str) -> RelianceRange:
        """Count the good trees by their reliance."""
        made = self.profile(column)
        if made.source is None and made.total:  # without a circuit there are no trees
            return self._searched(column)
        return replace(self.range_of(made, column), status=made.status)

    def _searched(self, column: str) -> RelianceRange:
        """Find the ends one by one."""
        metric, about = f"{self.variant}[{column}]", (self.data, self.space)
        least = optimize(*about, minimize=metric, where=self.good, **self.options)
        largest = optimize(*about, maximize=metric, where=self.good, **self.options)
        found = self._between(column, (least.value, least.tree), (largest.value, largest.tree))
        return found if least.proved and largest.proved else replace(found, status="partial")

    def profile(self, column: str) -> Profile:
        """Count the good trees by their reliance on a column and their errors."""
        metrics = [f"{self.variant}[{column}]", "error"]
        return make_profile(self.data, self.space, metrics, where=self.good, **self.options)

    def later(self, column: str) -> Profile:
        """Do the same after the run, whose time and progress are past."""
        past: Monitor = self.options.get("monitor") or Monitor()
        monitor = Monitor(memory_limit=past.memory_limit, threads=past.threads, exact=True)
        return replace(self, options={**self.options, "monitor": monitor}).profile(column)

    def range_of(self, made: Profile, column: str) -> RelianceRange:
        """Read the ends off a profile by reliance, with a tree each."""
        metric = f"{self.variant}[{column}]"
        both = (made.best(1, minimize=metric), made.best(1, maximize=metric))
        ends: list[End] = [(found.metrics[metric], found.tree) for (found,) in filter(None, both)]
        return self._between(column, *(ends or [_NONE, _NONE]))  # no tree has errors

    def _between(self, column: str, least: End, largest: End) -> RelianceRange:
        low, high = (None if end[0] is None else Fraction(end[0]) for end in (least, largest))
        trees = self if self.few else None
        return RelianceRange(column, self.variant, low, high, least[1], largest[1], trees=trees)


def _fraction(values: Ratios, at: tuple[int, ...]) -> Fraction:
    return Fraction(int(values.top[at]), int(values.bottom[at]))


def relied(variant: str, errors: Column, switched: Column, total: int) -> Ratios:
    """Compute a reliance from errors as they are and with a variable shuffled, exactly.

    Parameters
    ----------
    errors, switched
        Columns; there may be many of the latter, ``[..., cell]``.
    total
        The rows of the table, by weight.

    Examples
    --------
    >>> found = relied("reliance", np.array([2, 3]), np.array([[14, 10]]), 5)
    >>> found.top.tolist(), found.bottom.tolist()
    ([[12, 7]], [[8, 12]])
    """
    term = substitute(parse_term(RELIANCE[variant]), {"N": Constant(Fraction(total))})
    flat = {"error": np.broadcast_to(errors, switched.shape).ravel(), "switched": switched.ravel()}
    found = evaluate(term, from_columns(flat, switched.size))
    return Ratios(found.top.reshape(switched.shape), found.bottom.reshape(switched.shape))

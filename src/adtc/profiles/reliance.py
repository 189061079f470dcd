"""Model reliance over all good trees: how much their errors grow when one variable is shuffled.

For each good tree MR = e_switch / e_orig, the error on rows whose variable comes from another row
over the error as it is (Fisher, Rudin and Dominici, 2019); its range over the good trees is the
model class reliance [MCR−, MCR+]. A variable is a source column, with all features made from it.
Everything is exact: MR is a ratio of two sums over leaves.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from adtc.algebra.formula import Formula, parse
from adtc.algebra.metrics import RELIANCE
from adtc.algebra.trees import Tree
from adtc.data import Data
from adtc.data.hybrids import variables
from adtc.engine.monitor import Monitor
from adtc.engine.query import Definitions, Space
from adtc.engine.questions import count, optimize
from adtc.engine.record import Status
from adtc.engine.run import Engine, with_extremes
from adtc.errors import QueryError, unknown
from adtc.hooks import hook
from adtc.profiles.making import profile as make_profile
from adtc.profiles.marginals import Drawn, Marginal
from adtc.profiles.profile import Profile
from adtc.profiles.writing import aligned, approximate

Where = str | Formula | None
End = tuple[Fraction | int | None, Tree | None]
_NONE: End = (None, None)
_FEW = 10**6  # trees whose cells are counted; of more, the least and the largest are searched for


@dataclass(frozen=True, slots=True)
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
    distribution
        The good trees by their reliance, where they were counted.
    """

    column: str
    variant: str
    min: Fraction | None
    max: Fraction | None
    min_tree: Tree | None
    max_tree: Tree | None
    status: Status = "exact"
    distribution: Marginal | None = field(default=None, repr=False, compare=False)

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
class Reliance(Drawn):
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
    Where at most a million trees are good, they are counted by their reliance; of more, the two
    ends are found by search, as a ratio of sums over leaves is (Dinkelbach's method). Both are
    exact.
    """
    known = variables(data)
    wanted = _checked(list(known) if columns is None else list(columns), known, variant)
    options: dict[str, Any] = {"define": define, "engine": engine, "monitor": monitor}
    found = count(data, space, where, **options)
    formula = parse(where) if isinstance(where, str) else where
    # values of all trees are found only once
    extremes = found.record.details.get("extremes", {}) if found.record else {}
    good = None if formula is None else with_extremes(formula, extremes)
    way = _Ranges(data, space, good, variant, options)
    few = isinstance(found, int) and found <= _FEW
    return RelianceRanges(way.counted(c) if few else way.searched(c) for c in wanted)


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
    parts = [f"({part})" for part in (asked.get("where"), where) if part is not None]
    good = " and ".join(parts) or None
    way = _Ranges(source.data, source.space, good, variant, {"define": asked.get("define")})
    made = way.profile(column)
    if where is None and made.count != profile.count:
        raise QueryError(
            "this profile holds a part of its trees only, and does not know which formula chose "
            "them: take the whole profile, and give the formula as where."
        )
    return Reliance(way.range_of(made, column), made)


def _checked(columns: list[str], known: Collection[str], variant: str) -> list[str]:
    if variant not in RELIANCE:
        raise QueryError(unknown("reliance", variant, RELIANCE))
    for column in columns:
        if column not in known:
            raise QueryError(unknown("variable", column, known))
    return columns


@dataclass(frozen=True, slots=True)
class _Ranges:
    """The good trees, and the ways to the ends of their reliance on a column."""

    data: Data
    space: Space
    good: Where
    variant: str
    options: Mapping[str, Any]

    def counted(self, column: str) -> RelianceRange:
        """Count the good trees by their reliance."""
        made = self.profile(column)
        if made.source is None and made.count:  # without a circuit there are no trees
            return self.searched(column)
        return self.range_of(made, column)

    def searched(self, column: str) -> RelianceRange:
        """Find the ends one by one."""
        metric, about = f"{self.variant}[{column}]", (self.data, self.space)
        least = optimize(*about, minimize=metric, where=self.good, **self.options)
        largest = optimize(*about, maximize=metric, where=self.good, **self.options)
        found = self._between(column, (least.value, least.tree), (largest.value, largest.tree))
        return found if least.proved and largest.proved else replace(found, status="partial")

    def profile(self, column: str) -> Profile:
        metrics = [f"{self.variant}[{column}]", "error"]
        return make_profile(self.data, self.space, metrics, where=self.good, **self.options)

    def range_of(self, made: Profile, column: str) -> RelianceRange:
        """Read the ends off a profile by reliance, with a tree each."""
        metric = f"{self.variant}[{column}]"
        both = (made.best(1, minimize=metric), made.best(1, maximize=metric))
        ends: list[End] = [(found.metrics[metric], found.tree) for (found,) in filter(None, both)]
        between = self._between(column, *(ends or [_NONE, _NONE]))  # no tree has errors
        return replace(between, distribution=made.marginal(metric))

    def _between(self, column: str, least: End, largest: End) -> RelianceRange:
        low, high = (None if end[0] is None else Fraction(end[0]) for end in (least, largest))
        return RelianceRange(column, self.variant, low, high, least[1], largest[1])

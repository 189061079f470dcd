"""What all good trees together say about the variables: the source columns of the table.

A variable is a column with all the Boolean features made of it. Everything is exact and counted
over the good trees of a profile; `least(…)` in its formula stays that of the full space.
"""

import os
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

from adtc.algebra.formula import Formula
from adtc.engine.admitted import admitted_parts
from adtc.engine.monitor import Monitor
from adtc.engine.questions import optimize
from adtc.engine.record import Status
from adtc.engine.signed import SignedUses
from adtc.engine.uses import levels_of
from adtc.errors import LimitError, QueryError, unknown
from adtc.hooks import hook
from adtc.profiles.profile import Profile, Source
from adtc.profiles.writing import aligned, grouped, html_table, percentage, write_csv

_SHOWN = 12  # minimal sets that are printed
_HEAD = ("variable", "trees using it", "share", "without it", "least error without", "")


@dataclass(frozen=True, slots=True)
class Variable:
    """What the good trees say about one column.

    Parameters
    ----------
    name
        The column.
    features
        The features made of it, by name.
    trees, trees_using
        The good trees, and those of them that test it.
    by_level
        The good trees that test it with 0, 1, … tests above it: at the root, one below, and so on.
    """

    name: str
    features: tuple[str, ...]
    trees: int
    trees_using: int
    by_level: tuple[int, ...]

    @property
    def trees_without(self) -> int:
        """The good trees that do without it."""
        return self.trees - self.trees_using

    @property
    def necessary(self) -> bool:
        """Whether every good tree tests it; nothing is necessary where there is no good tree."""
        return self.trees > 0 and self.trees_using == self.trees

    @property
    def possible(self) -> bool:
        """Whether some good tree tests it."""
        return self.trees_using > 0

    @property
    def replaceable(self) -> bool:
        """Whether some good tree tests it and another one does not."""
        return self.possible and not self.necessary

    @property
    def share(self) -> Fraction | None:
        """The share of good trees that test it; None where there is none."""
        return Fraction(self.trees_using, self.trees) if self.trees else None

    @property
    def kind(self) -> str:
        """Say it in one word: necessary, replaceable or unused."""
        if self.necessary:
            return "necessary"
        return "replaceable" if self.possible else "unused"

    def to_json(self) -> dict[str, Any]:
        """Return the numbers as plain JSON values."""
        return {
            "name": self.name,
            "necessary": self.necessary,
            "possible": self.possible,
            "replaceable": self.replaceable,
            "trees_using": self.trees_using,
            "trees_without": self.trees_without,
            "share": None if self.share is None else float(self.share),
            "share_exact": None if self.share is None else str(self.share),
            "by_level": list(self.by_level),
            "features": list(self.features),
        }


class Variables(Mapping[str, Variable]):
    """The variables of a profile's good trees, by name.

    Examples
    --------
    >>> import adtc
    >>> data = adtc.load_dataset("german-credit", nbins=2)
    >>> space = adtc.Space(max_depth=2, relminsup=0.2)
    >>> good = adtc.profile(data, space, ["error"], where="error <= 298")
    >>> variables = good.variables()
    >>> variables.total, variables.necessary
    (5, ('checking_status',))
    >>> variables["checking_status"].by_level
    (1, 4)
    >>> for names in variables.minimal_sets[:2]:
    ...     print(sorted(names))
    ['checking_status', 'duration']
    ['checking_status', 'credit_history']
    >>> variables.by_number, variables.least_errors["checking_status"]
    ({2: 5}, 300)
    """

    def __init__(self, profile: Profile, monitor: Monitor | None = None) -> None:
        source = profile.need_source("asking for variables")
        assert profile.keys is not None
        self.profile, self._monitor = profile, monitor or Monitor()
        self._source: Source = source
        parts = admitted_parts(source.circuit, profile.keys, self._monitor)
        levels = levels_of(source.circuit)
        self._uses = SignedUses(parts, source.data, levels, self._monitor)
        self.total = profile.total
        """The number of good trees."""
        self.left_out: str | None = None
        """Why the least errors are not told, if a limit leaves no time for them."""
        self._variables = {one.name: one for one in _counted(self._uses, self.total)}

    def __getitem__(self, name: str) -> Variable:
        if name not in self._variables:
            raise QueryError(unknown("column", name, self._variables))
        return self._variables[name]

    def __iter__(self) -> Any:
        return iter(self._variables)

    def __len__(self) -> int:
        return len(self._variables)

    def __contains__(self, name: object) -> bool:
        return name in self._variables

    def __repr__(self) -> str:
        return f"<Variables of {self.total:,} trees: {len(self.possible)} of {len(self)} are used>"

    @property
    def status(self) -> Status:
        """Say whether the numbers are exact, bounded or estimated."""
        return self.profile.status

    @property
    def necessary(self) -> tuple[str, ...]:
        """Those that every good tree tests."""
        return tuple(one.name for one in self.values() if one.necessary)

    @property
    def possible(self) -> tuple[str, ...]:
        """Those that some good tree tests."""
        return tuple(one.name for one in self.values() if one.possible)

    @property
    def replaceable(self) -> tuple[str, ...]:
        """Those that some good trees test and others do not."""
        return tuple(one.name for one in self.values() if one.replaceable)

    @cached_property
    def minimal_sets(self) -> tuple[frozenset[str], ...]:
        """The sets of variables that a good tree manages with, without those that hold another."""
        return tuple(self._uses.minimal_sets())

    @cached_property
    def by_set(self) -> Mapping[frozenset[str], int]:
        """The good trees by the set of variables that they test.

        Raises
        ------
        TooLargeError
            Where there are too many sets for the memory, or too many columns.
        """
        return self._uses.by_set()

    @property
    def by_number(self) -> dict[int, int]:
        """The good trees by how many variables they test."""
        found: Counter[int] = Counter()
        for names, trees in self.by_set.items():
            found[len(names)] += trees
        return dict(sorted(found.items()))

    @cached_property
    def least_errors(self) -> Mapping[str | None, int | None]:
        """The least error of any tree of the space, good or not, that does without a variable.

        Under the name None stands the least error of all trees. The profile's formula does not
        count here: this is what it costs at least to do without.

        Raises
        ------
        LimitError
            Where a limit of time or memory is too low for one of them.
        """
        data, space = self._source.data, self._source.space
        found: dict[str | None, int | None] = {}
        for name in (None, *self):
            tight = space if name is None else replace(space, banned=(*space.banned, name))
            best = optimize(data, tight, minimize="error", monitor=self._monitor.strict())
            found[name] = None if best.value is None else int(best.value)
        return found

    @property
    def costs(self) -> Mapping[str | None, int | None]:
        """The least errors; empty where a limit leaves them out, and ``left_out`` says why."""
        if self.left_out is None:
            try:
                return self.least_errors
            except LimitError as error:
                self.left_out = str(error)
        return {}

    def to_json(self) -> dict[str, Any]:
        """Return total and variables as plain JSON values."""
        costs = self.costs
        return {
            "total": self.total,
            "status": self.status,
            "variables": [
                one.to_json() | {"least_error_without": costs.get(one.name)}
                for one in self.values()
            ],
            "least_error": costs.get(None),
            **({"least_errors_refused": self.left_out} if self.left_out else {}),
            "minimal_sets": [self._ordered(names) for names in self.minimal_sets],
        }

    def __str__(self) -> str:
        return self.to_text()

    def to_text(self) -> str:
        """Write one line per variable, those that most trees test first, and the minimal sets."""
        if not self.total:
            return "no tree is good, so no variable is tested."
        sets = [", ".join(self._ordered(names)) or "(none)" for names in self.minimal_sets]
        more = [f"... and {len(sets) - _SHOWN:,} more"] if len(sets) > _SHOWN else []
        head = "Minimal sets of variables that a good tree manages with:"
        unused = ", ".join(name for name in self if not self[name].possible)
        return "\n".join(
            [
                aligned(self._rows()),
                *([f"in no good tree: {unused}"] if unused else []),
                *([f"least errors: {self.left_out}"] if self.left_out else []),
                "",
                head,
                *(f"  {one}" for one in [*sets[:_SHOWN], *more]),
            ]
        )

    def to_html(self) -> str:
        """Write one self-contained HTML table."""
        part = "" if self.status == "exact" else f" ({self.profile.record.status_text})"
        return html_table(self._rows(), f"Variables of {grouped(self.total)} good trees{part}")

    def _repr_html_(self) -> str:
        return self.to_html()

    def to_csv(self, path: str | os.PathLike[str]) -> None:
        """Write one line per variable, with exact numbers."""
        levels = len(next(iter(self.values())).by_level) if len(self) else 0
        head = ["variable", "trees", "trees_using", "trees_without"]
        head += ["least_error_without", *(f"level_{d}" for d in range(levels))]
        rows = [
            [
                one.name,
                one.trees,
                one.trees_using,
                one.trees_without,
                self.costs.get(one.name),
                *one.by_level,
            ]
            for one in self.values()
        ]
        write_csv(path, [head, *([str(v) for v in row] for row in rows)])

    def plot(self, **options: Any) -> Any:
        """Draw the shares of good trees that use each variable; see ``adtc.show.plot``."""
        # `show` stands above this room; a method that people expect here may reach for it late.
        return hook("plot")(self, **options)

    def ranked(self) -> list[Variable]:
        """List the variables, those that most trees test first."""
        return sorted(self.values(), key=lambda one: -one.trees_using)

    def _ordered(self, names: frozenset[str]) -> list[str]:
        return [name for name in self if name in names]

    def _rows(self) -> list[list[str]]:
        costs, rows = self.costs, [list(_HEAD)]
        least = costs.get(None)
        for one in filter(lambda one: one.possible, self.ranked()):
            cost = costs.get(one.name)
            more = "none" if cost is None or least is None else f"{cost:,} (+{cost - least:,})"
            more = more if costs else ""
            share = percentage(one.share, missing="")
            using, without = grouped(one.trees_using), grouped(one.trees_without)
            rows.append([one.name, using, share, without, more, one.kind])
        return rows


def variables(
    profile: Profile, where: str | Formula | None = None, *, monitor: Monitor | None = None
) -> Variables:
    """Ask which variables the good trees of a profile need and use.

    Parameters
    ----------
    where
        Only trees that satisfy this formula over the profile's metrics.
    monitor
        Progress, cancelling and limits.
    """
    return Variables(profile.where(where), monitor)


def _counted(uses: SignedUses, total: int) -> list[Variable]:
    """Count the trees that use each variable, at all and on each level, in one walk."""
    levels = range(uses.levels)
    alone = [frozenset((name,)) for name in uses.names]
    lanes = [(one, chosen) for one in alone for chosen in (None, *([d] for d in levels))]
    without = iter(uses.without(lanes) if lanes and total else [total] * len(lanes))
    by_name: dict[str, list[str]] = {name: [] for name in uses.names}
    for feature in uses.data.features:
        by_name[feature.column].append(feature.name)
    return [
        Variable(
            name,
            tuple(by_name[name]),
            total,
            total - next(without),
            tuple(total - next(without) for _ in levels),
        )
        for name in uses.names
    ]

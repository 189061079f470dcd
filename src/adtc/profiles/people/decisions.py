"""Decisions of good trees on given people: how many they change, and who decides cases how."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from adtc.algebra.formula import Comparison, Name, Number
from adtc.algebra.metrics import RowGroup, additive
from adtc.data import Codes, Data, Scalar
from adtc.data.bits import Rows, take_rows
from adtc.data.coding import find_value
from adtc.engine.monitor import Monitor
from adtc.engine.record import RunRecord
from adtc.errors import QueryError
from adtc.profiles.drawing import best, draw
from adtc.profiles.marginals import Marginal, Plottable, marginal
from adtc.profiles.numbered import DrawnTree, NumberedTrees
from adtc.profiles.people.baselines import Baseline, baseline_codes, baseline_name
from adtc.profiles.people.measures import divided, share_json, share_text
from adtc.profiles.people.refining import CASES, by_codes, refined, with_cases
from adtc.profiles.people.voting import rows_to_decide
from adtc.profiles.profile import Profile
from adtc.profiles.writing import grouped
from adtc.text import is_whole

CHANGED = "changed"
_AGAINST = "(against)"


@dataclass(frozen=True, eq=False, repr=False)
class Discrepancy(Plottable):
    """How many decisions good trees change.

    Parameters
    ----------
    baseline
        What the decisions are compared with, in a word.
    people
        How many people there are: the weight of all rows.
    distribution
        How many trees change how many decisions (by row weight).
    tree
        A good tree that changes the most; None if no tree is good.
    profile
        The good trees with the further metric ``changed``: cross it with any other.
    """

    baseline: str
    people: int
    distribution: Marginal
    tree: DrawnTree | None
    profile: Profile

    @property
    def most(self) -> int | None:
        """The most decisions that a good tree changes; None if no tree is good."""
        return max(map(int, self._changes), default=None)

    @property
    def least(self) -> int | None:
        """The fewest decisions that a good tree changes; None if no tree is good."""
        return min(map(int, self._changes), default=None)

    @property
    def value(self) -> Fraction | None:
        """The discrepancy: the largest share of decisions that a good tree changes."""
        return None if self.most is None else Fraction(self.most, self.people)

    @property
    def mean(self) -> Fraction | None:
        """The share of decisions that good trees change on average."""
        pairs = self.distribution.defined()
        changes = sum(int(value) * n for value, n in pairs)
        found = divided(changes, self.people * sum(n for _, n in pairs))
        assert not isinstance(found, float)
        return found

    @property
    def record(self) -> RunRecord:
        """The run that found it."""
        return self.profile.record

    @property
    def _changes(self) -> list[Any]:
        return [value for value, _ in self.distribution.defined()]

    def to_json(self) -> dict[str, Any]:
        """Return the numbers as plain JSON values."""
        return {
            "baseline": self.baseline,
            "people": self.people,
            **share_json("discrepancy", self.value),
            **share_json("mean", self.mean),
            "changed": [int(value) for value in self._changes],
            "trees": [n for _, n in self.distribution.defined()],
            "rank": None if self.tree is None else self.tree.rank,
        }

    def to_text(self) -> str:
        """Write the range in a sentence."""
        if self.tree is None:
            return "no tree is good, so no decision changes"
        return (
            f"good trees change from {grouped(self.least or 0)} to {grouped(self.most or 0)} of "
            f"{grouped(self.people)} decisions against {self.baseline}: discrepancy "
            f"{share_text(self.value)} ({self.value}), mean {share_text(self.mean)}"
        )

    def __str__(self) -> str:
        return self.to_text()

    def __repr__(self) -> str:
        return f"<Discrepancy: {self.to_text()}>"

    def _repr_html_(self) -> str:
        return f"<p>{self.to_text()}</p>"


def discrepancy(
    profile: Profile, baseline: Baseline, *, monitor: Monitor | None = None
) -> Discrepancy:
    """Find how many decisions good trees change against a baseline, by a run of its own.

    Parameters
    ----------
    baseline
        What was decided: the name of a reference column (or the target), a tree, or one prediction
        per row.

    Examples
    --------
    >>> import adtc
    >>> data = adtc.Data.from_arrays([[1], [1], [0]], [1, 1, 0])
    >>> good = adtc.profile(data, adtc.Space(max_depth=1), ["error"], where="error <= 1")
    >>> found = good.discrepancy([1, 1, 0])
    >>> found.value, found.distribution.as_dict(), found.tree.tree
    (Fraction(1, 3), {0: 1, 1: 2}, Leaf(label=1))
    """
    data = profile.need_source("the discrepancy").data
    codes = baseline_codes(baseline, data)
    changed = additive(CHANGED, _differs)
    asked = {"ask": "discrepancy", "baseline": baseline_name(baseline)}
    found = refined(profile, by_codes(profile, codes), changed, asked=asked, monitor=monitor)
    most = best(found, 1, maximize=CHANGED) if found.total else []
    return Discrepancy(
        baseline_name(baseline),
        data.total,
        marginal(found, CHANGED),
        _in_first(profile, found, most)[0] if most else None,
        found,
    )


@dataclass(frozen=True, eq=False, repr=False)
class Deciding:
    """The good trees that decide given cases in given ways.

    Parameters
    ----------
    decisions
        Per row the class it is to get.
    count
        How many good trees there are that decide so, exactly.
    total
        How many good trees there are in all.
    """

    decisions: Mapping[int, Scalar]
    count: int
    total: int
    record: RunRecord
    profile: Profile
    _found: Profile

    @property
    def share(self) -> Fraction | None:
        """Their share of all good trees; None if no tree is good."""
        return Fraction(self.count, self.total) if self.total else None

    @property
    def trees(self) -> Profile:
        """Return the trees that decide so as a profile, with ranks of its own."""
        return self._found

    def draw(self, n: int = 1, *, seed: int | None = None) -> list[DrawnTree]:
        """Draw such trees independently, each with the same probability, with replacement.

        Ranks are those in the profile of all good trees.
        """
        return _in_first(self.profile, self._found, draw(self._found, n, seed=seed))

    def __repr__(self) -> str:
        return f"<{grouped(self.count)} of {grouped(self.total)} good trees decide so>"


def deciding(
    profile: Profile,
    decisions: Mapping[int, Scalar],
    frame: object = None,
    *,
    monitor: Monitor | None = None,
) -> Deciding:
    """Count the good trees that decide given rows in given ways, and draw from them uniformly.

    Parameters
    ----------
    decisions
        From rows, numbered from 0, to classes.
    frame
        The rows meant, if they are not those of the profile's table; as in `vote_shares`.

    Notes
    -----
    A run of its own in which the rows asked about are a further table; that none of them is decided
    otherwise is pushed down like any other constraint, so only such trees are ever built.

    Examples
    --------
    >>> import adtc
    >>> data = adtc.Data.from_arrays([[1], [1], [0]], [1, 1, 0])
    >>> good = adtc.profile(data, adtc.Space(max_depth=1), ["error"], where="error <= 1")
    >>> found = good.deciding({0: 1, 2: 0})
    >>> found.count, found.share, found.draw(1, seed=0)[0].tree
    (1, Fraction(1, 3), Split(feature=0, t1=Leaf(label=1), t0=Leaf(label=0)))
    """
    data = profile.need_source("finding who decides so").data
    bits, n_rows = rows_to_decide(profile, frame, monitor or Monitor())
    rows, labels = _wanted(decisions, data, n_rows)
    asked = {"ask": "deciding", "decisions": {str(k): str(v) for k, v in decisions.items()}}
    if not decisions:
        return Deciding({}, profile.total, profile.total, profile.record, profile, profile)
    finer = with_cases(profile, take_rows(bits, n_rows, rows), labels)
    none = Comparison((Name(_AGAINST), Number(Fraction(0))), ("<=",))
    against = additive(_AGAINST, _misses)
    found = refined(profile, finer, against, constraint=none, asked=asked, monitor=monitor)
    return Deciding(dict(decisions), found.total, profile.total, found.record, profile, found)


def _differs(label: int, group: RowGroup) -> int:
    """Count a row of the table whose label is not that of the baseline."""
    return int(not group.table and group.references[-1] != label)


def _misses(label: int, group: RowGroup) -> int:
    """Count a row asked about that gets another label."""
    return int(group.table == CASES and group.y != label)


def _wanted(decisions: Mapping[int, Scalar], data: Data, n_rows: int) -> tuple[Rows, Codes]:
    """Check rows and classes; return them in order."""
    for row in decisions:
        if not is_whole(row):
            raise QueryError(f"row {row!r} is no row of the table: rows are numbered from 0.")
        if not 0 <= row < n_rows:
            raise QueryError(
                f"row {row:,} is out of range: the table has rows 0 to {n_rows - 1:,}."
            )
    labels = [find_value("label", label, data.labels) for label in decisions.values()]
    return np.array(list(decisions), np.int64), np.array(labels, np.int32)


def _in_first(profile: Profile, found: Profile, drawn: list[DrawnTree]) -> list[DrawnTree]:
    """Give trees of a refined profile their ranks and metrics in the first one."""
    cells = NumberedTrees.of(profile)
    seed = drawn[0].seed if drawn else None
    return cells.trees([cells.rank(one.tree) for one in drawn], seed)

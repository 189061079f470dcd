"""Pareto fronts: the trees that no other tree of the profile beats in every criterion.

Values are replaced by their exact ranks, so that all comparisons are of whole numbers. Fronts are
found by sorting (two criteria) and by divide and conquer (more), not by comparing all pairs.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from os import PathLike
from typing import Any

import numpy as np
import numpy.typing as npt

from adtc.algebra.trees import Tree, to_json
from adtc.data import Data
from adtc.engine.exact.columns import Truths
from adtc.engine.exact.values import Value
from adtc.engine.limits.bracket import Bracket
from adtc.engine.record import RunRecord, Status
from adtc.errors import QueryError
from adtc.hooks import hook
from adtc.models import TreeModel
from adtc.profiles.bins import Codes
from adtc.profiles.profile import Profile
from adtc.profiles.writing import (
    aligned,
    approximate,
    exact_text,
    grouped,
    html_table,
    json_number,
    write_csv,
)

Ranks = npt.NDArray[np.int64]  # [point, criterion]; less is better
PARTIAL: Status = "partial"
_FEW = 4096  # pairs that are compared at once rather than divided further


@dataclass(frozen=True, eq=False)
class Front:
    """The points of a Pareto front, best in the first criterion first.

    Parameters
    ----------
    maximize, minimize
        The criteria, as metrics or terms over metrics.
    points
        Per point the exact values, in the order of ``names``.
    trees
        Per point the number of trees that have exactly these values; empty if not counted.
    profile
        The trees among which none is better; None if the front was found by search.
    codes
        Per cell of the profile the point it belongs to, −1 for none.
    witnesses
        Per point a tree, if the front was found by search.
    data
        The table of these trees.
    stopped
        What ended the search early; None if the front is complete.
    record
        The run that found it.
    """

    maximize: tuple[str, ...]
    minimize: tuple[str, ...]
    points: tuple[tuple[Value, ...], ...]
    trees: tuple[int, ...]
    profile: Profile | None = field(default=None, repr=False)
    codes: Codes | None = field(default=None, repr=False)
    witnesses: tuple[Tree, ...] = field(default=(), repr=False)
    data: Data | None = field(default=None, repr=False)
    stopped: str | None = None
    record: RunRecord | None = field(default=None, repr=False)

    @property
    def names(self) -> tuple[str, ...]:
        """Name the criteria: those to maximise, then those to minimise."""
        return self.maximize + self.minimize

    @property
    def counted(self) -> bool:
        """Whether the trees on each point were counted."""
        return len(self.trees) == len(self.points)

    @property
    def count(self) -> int | Bracket:
        """Count the trees on the front: an integer, or a `Bracket` if a limit ended the search."""
        if not self.counted:
            raise QueryError("the trees on this front were not counted: find it with counts=True.")
        found = sum(self.trees)
        if self.stopped is None:
            return found
        lower = found if self.finished is None else None
        part = self.finished or f"{len(self):,} points"
        return Bracket(lower, finished=part, stopped=self.stopped)

    @property
    def finished(self) -> str | None:
        """Name the depth of which this is the front, if a limit left no more; else None."""
        return None if self.record is None else self.record.details.get("finished")

    @property
    def status(self) -> str:
        """Say whether all points of the front are here: ``"exact"``, else ``"partial"``."""
        if self.stopped is not None:
            return PARTIAL
        return "exact" if self.profile is None else self.profile.status

    def __len__(self) -> int:
        return len(self.points)

    def __str__(self) -> str:
        return self.to_text()

    def _repr_html_(self) -> str:
        if not self.points:
            return f"<p>{escape(self.to_text())}</p>"
        caption = f"Pareto front, {self.status}"
        return html_table(self._rows(), caption if self.stopped is None else f"{caption}: stopped")

    def point(self, i: int) -> Profile:
        """Return the profile of the trees on one point."""
        self._check(i)
        if self.profile is None or self.codes is None:
            raise QueryError(
                "this front was found by search, which makes no profile: take tree(i), or make "
                "one with adtc.profile(data, space, where=front.condition(i))."
            )
        return self.profile.take(self.codes == i)

    def tree(self, i: int) -> TreeModel:
        """Return a tree on one point: rules, pictures, predictions."""
        self._check(i)
        if self.profile is not None:
            return self.point(i).tree(0).model
        assert self.data is not None
        return TreeModel(self.witnesses[i], self.data)

    def condition(self, i: int) -> str:
        """Write as a formula that a tree is on one point.

        Examples
        --------
        >>> Front((), ("size", "error - 1"), ((2, 0),), (1,)).condition(0)
        'size = 2 and (error - 1) = 0'
        """
        self._check(i)
        pairs = zip(self.names, self.points[i], strict=True)
        return " and ".join(f"{_bracketed(name)} = {exact_text(v)}" for name, v in pairs)

    def to_text(self) -> str:
        """Write an aligned table, one line per point."""
        if not self.points:
            return "no point found" if self.stopped else "no tree has all criteria defined"
        return aligned(self._rows())

    def _rows(self) -> list[list[str]]:
        goals = [f"{name} (max)" for name in self.maximize]
        goals += [f"{name} (min)" for name in self.minimize]
        rows = [
            [str(i), *map(approximate, point), *map(grouped, self.trees[i : i + 1])]
            for i, point in enumerate(self.points)
        ]
        return [["", *goals, *(["trees"] if self.trees else [])], *rows]

    def to_json(self) -> dict[str, Any]:
        """Return the front as plain JSON values; ``exact`` holds what floats cannot."""
        return {
            "maximize": list(self.maximize),
            "minimize": list(self.minimize),
            "points": [self._point_json(i) for i in range(len(self.points))],
            "count": self.count if self.counted and self.stopped is None else None,
            "status": self.status,
            "stopped": self.stopped,
            **({} if self.finished is None else {"finished": self.finished}),
        }

    def _point_json(self, i: int) -> dict[str, Any]:
        point = self.points[i]
        return {
            "values": dict(zip(self.names, map(json_number, point), strict=True)),
            "exact": dict(zip(self.names, map(exact_text, point), strict=True)),
            "trees": self.trees[i] if self.trees else None,
            **self._tree_json(i),
        }

    def _tree_json(self, i: int) -> dict[str, Any]:
        """Describe the tree that a search has found; one of a profile is made when asked for."""
        if not self.witnesses:
            return {}
        model = self.tree(i)
        return {
            "tree": to_json(model.tree, model.feature_names, model.labels),
            "rules": [rule.text for rule in model.rules()],
        }

    def to_csv(self, path: str | PathLike[str]) -> None:
        """Write one row per point: each criterion as a decimal and exactly, and the trees."""
        head = [title for name in self.names for title in (name, f"{name}_exact")]
        rows = [
            [
                *(text for v in point for text in (str(json_number(v)), exact_text(v))),
                *map(str, self.trees[i : i + 1]),
            ]
            for i, point in enumerate(self.points)
        ]
        write_csv(path, [[*head, *(["trees"] if self.trees else [])], *rows])

    def plot(self, **options: Any) -> Any:
        """Draw the front; see ``adtc.show.plot`` for the options."""
        # `show` stands above this room; a method that people expect here may reach for it late.
        return hook("plot")(self, **options)

    def _check(self, i: int) -> None:
        if not 0 <= i < len(self.points):
            raise QueryError(
                f"there is no point {i}: the front has {len(self.points)}, counted from 0."
            )


def pareto(
    profile: Profile,
    *,
    maximize: str | Sequence[str] = (),
    minimize: str | Sequence[str] = (),
) -> Front:
    """Find the trees that no other tree beats in every criterion.

    Parameters
    ----------
    maximize, minimize
        Metrics, or terms over them, one or several.

    Notes
    -----
    A tree with an undefined criterion is neither on the front nor does it beat another.

    Examples
    --------
    >>> import adtc
    >>> data = adtc.Data.from_arrays([[1], [1], [0]], [1, 1, 0])
    >>> found = adtc.profile(data, adtc.Space(max_depth=1), ["size", "error"])
    >>> front = pareto(found, minimize=["size", "error"])
    >>> front.points, front.trees
    (((1, 1), (2, 0)), (1, 1))
    """
    up, down = criteria_of(maximize, minimize)
    names = up + down
    found = [profile.values(name) for name in names]
    defined = np.ones(len(profile.trees), bool)
    ranks = np.empty((len(profile.trees), len(names)), np.int64)
    for at, values in enumerate(found):
        undefined = len(values.distinct) - 1 if None in values.distinct[-1:] else -1
        defined &= values.codes != undefined
        ranks[:, at] = -values.codes if at < len(up) else values.codes
    points, inverse = np.unique(ranks[defined], axis=0, return_inverse=True)
    kept = undominated(points)
    number = np.where(kept, np.cumsum(kept) - 1, -1)
    codes = np.full(len(profile.trees), -1, np.int64)
    codes[defined] = number[inverse.reshape(-1)]
    return Front(
        up,
        down,
        tuple(
            tuple(values.distinct[abs(int(rank))] for values, rank in zip(found, row, strict=True))
            for row in points[kept]
        ),
        tuple(profile.totals(codes, int(kept.sum()))),
        profile,
        codes,
        record=profile.record,
    )


def criteria_of(
    maximize: str | Sequence[str], minimize: str | Sequence[str]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Read the criteria of a front, of which there must be one, and none twice."""
    up, down = _listed(maximize), _listed(minimize)
    names = up + down
    if not names:
        raise QueryError("a front needs a criterion: name metrics to maximize or to minimize.")
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise QueryError(f"'{twice}' is named twice among the criteria of a front.")
    return up, down


def undominated(points: Ranks) -> Truths:
    """Tell which points no other one beats; less is better.

    Points must differ and be sorted lexicographically: a point is then only beaten by earlier
    ones.
    """
    n, criteria = points.shape
    if n <= 1 or criteria == 1:
        return _truths(np.arange(n) == 0)
    if criteria == 2:  # noqa: PLR2004
        best_before = np.minimum.accumulate(points[:, 1])[:-1]
        return _truths(np.concatenate([[True], points[1:, 1] < best_before]))
    if n * n <= _FEW:
        better = np.all(points[None] <= points[:, None], axis=2) & ~np.eye(n, dtype=bool)
        return _truths(~np.any(better, axis=1))
    half = n // 2
    early, late = undominated(points[:half]), undominated(points[half:])
    rivals, rest = points[:half][early, 1:], points[half:][late, 1:]
    late[late] = ~_reached(rivals, rest)
    return _truths(np.concatenate([early, late]))


def _reached(rivals: Ranks, points: Ranks) -> Truths:
    """Tell which points have a rival that is at least as good in every criterion."""
    if not len(rivals) or not len(points):
        return np.zeros(len(points), bool)
    criteria = points.shape[1]
    if criteria == 1:
        return _truths(points[:, 0] >= rivals[:, 0].min())
    if criteria == 2:  # noqa: PLR2004
        order = np.argsort(rivals[:, 0], kind="stable")
        best = np.minimum.accumulate(rivals[order, 1])
        before = np.searchsorted(rivals[order, 0], points[:, 0], side="right")
        return (before > 0) & (best[np.maximum(before - 1, 0)] <= points[:, 1])
    if len(rivals) * len(points) <= _FEW:
        return _truths(np.any(np.all(rivals[None] <= points[:, None], axis=2), axis=1))
    values = np.unique(np.concatenate([rivals[:, 0], points[:, 0]]))
    if len(values) == 1:
        return _reached(rivals[:, 1:], points[:, 1:])
    middle = values[(len(values) - 1) // 2]
    low_rivals, low = rivals[:, 0] <= middle, points[:, 0] <= middle
    reached = np.empty(len(points), bool)
    reached[low] = _reached(rivals[low_rivals], points[low])
    reached[~low] = _reached(rivals[~low_rivals], points[~low])
    # every low rival is at least as good in the first criterion as every high point
    reached[~low] |= _reached(rivals[low_rivals, 1:], points[~low, 1:])
    return reached


def _truths(array: npt.NDArray[Any]) -> Truths:
    return np.asarray(array, bool)


def _bracketed(name: str) -> str:
    return name if name.isidentifier() else f"({name})"


def _listed(names: str | Sequence[str]) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else tuple(names)

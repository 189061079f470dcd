"""What an audit finds: the model in use, the trees that could take its place, and who is affected.

Plain values and how they become JSON; the search for them is in `auditing`, pictures and pages are
in ``show``.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from fractions import Fraction
from os import PathLike
from pathlib import Path
from typing import Any, Literal

from adtc.data import Codes, Data
from adtc.data.bits import Rows
from adtc.data.columns import format_scalar
from adtc.engine.monitor import Monitor
from adtc.engine.nearest import Nearest
from adtc.engine.query import Definitions, Space
from adtc.engine.record import RunRecord, log10
from adtc.errors import QueryError
from adtc.hooks import hook
from adtc.models import TreeModel
from adtc.profiles.audits.audit_json import (
    best_json,
    changes_json,
    considered_json,
    exact_json,
    exact_or_none,
    groups_json,
    nearest_json,
    tree_json,
)
from adtc.profiles.audits.rates import (
    Changes,
    GroupCounts,
    gap_interval,
    interval,
    small_groups,
)
from adtc.profiles.pareto import PARTIAL, Front
from adtc.profiles.writing import json_number, write_csv

Value = Fraction | int | None
Kind = Literal["decision", "tree", "best"]
_DIFFERENCES = {"dp": ("selected", "rows"), "eopp": ("true_positive", "positive")}
_PAIR = 2


@dataclass(frozen=True, slots=True, eq=False)
class Measured:
    """How decisions do on one table.

    Parameters
    ----------
    groups
        All rows first, then every group.
    sample
        Whether the table is a sample of others, so that its rates have intervals.
    """

    metrics: Mapping[str, Value]
    groups: tuple[GroupCounts, ...]
    sample: bool = False

    def interval(self, name: str) -> tuple[float, float] | None:
        """Give a 95 % interval for the accuracy, or for a gap between two groups' rates.

        None for other metrics, and on the table that the trees were chosen by.
        """
        if not self.sample:
            return None
        if name == "acc":
            whole = self.groups[0]
            return interval(whole.rows - whole.wrong, whole.rows)
        if name in _DIFFERENCES and len(self.groups) == 1 + _PAIR:
            part, all_ = _DIFFERENCES[name]
            pairs = [(getattr(g, part), getattr(g, all_)) for g in self.groups[1:]]
            if all(n for _, n in pairs):
                return gap_interval(*pairs)
        return None

    def to_json(self) -> dict[str, Any]:
        """Return metrics and groups as plain JSON values."""
        ends = {name: self.interval(name) for name in self.metrics}
        return {
            **exact_json(self.metrics),
            **{f"{name}_interval": list(pair) for name, pair in ends.items() if pair},
            "groups": groups_json(self.groups),
        }


@dataclass(frozen=True, slots=True, eq=False)
class Baseline:
    """The model in use.

    Parameters
    ----------
    kind
        ``"decision"``: a column, or labels from elsewhere; ``"tree"``: a given tree; ``"best"``:
        the most accurate tree that meets the floor.
    name
        The column's name; empty for the others.
    predictions
        Per row the position of the label that was decided.
    spelled
        What the column's own spellings were read as.
    at_floor, proved
        Whether the most accurate tree reaches the floor, and whether none is more accurate: a
        limit may leave the best one found.
    """

    kind: Kind
    name: str
    predictions: Codes = field(repr=False)
    train: Measured
    model: TreeModel | None = None
    test: Measured | None = None
    spelled: tuple[tuple[str, str], ...] = ()
    at_floor: bool = True
    proved: bool = True

    @property
    def metrics(self) -> Mapping[str, Value]:
        """The metrics on the table itself."""
        return self.train.metrics

    def to_json(self) -> dict[str, Any]:
        """Return the metrics of the model in use, and what it is."""
        return {
            **self.train.to_json(),
            "kind": self.kind,
            "column": self.name or None,
            "read_as": dict(self.spelled),
            **tree_json(self.model),
        }


@dataclass(frozen=True, slots=True, eq=False)
class Alternative:
    """A tree that could take the place of the model in use.

    Parameters
    ----------
    roles
        Why it is shown.
    predictions
        Per row the position of the label that it predicts.
    changes
        The decisions that would change: all rows first, then every group.
    """

    model: TreeModel
    roles: tuple[str, ...]
    predictions: Codes = field(repr=False)
    train: Measured
    changes: tuple[Changes, ...]
    test: Measured | None = None

    @property
    def metrics(self) -> Mapping[str, Value]:
        """The metrics on the table itself."""
        return self.train.metrics

    @property
    def constant(self) -> bool:
        """Whether it says the same of every row."""
        return len({leaf.label for leaf in self.model.leaves}) == 1

    def to_json(self) -> dict[str, Any]:
        """Return metrics, tree and changes as plain JSON values."""
        return {
            "roles": list(self.roles),
            "metrics": exact_json(self.metrics),
            **tree_json(self.model),
            "groups": groups_json(self.train.groups),
            "changes": [changes_json(one) for one in self.changes],
            "test": None if self.test is None else self.test.to_json(),
        }


@dataclass(frozen=True, slots=True, eq=False)
class Alternatives:
    """The trees of one space that are at least as good and have a smaller gap.

    Parameters
    ----------
    where
        What they satisfy.
    exists, count, best, front
        None where a limit ended the search for it; ``best`` and ``front`` also where there is no
        such tree.
    least
        The smallest gap of all trees at the floor; None if no tree reaches it, or where a limit
        ended the search: ``best`` is then the best one found.
    """

    space: Space
    where: str
    exists: bool | None = None
    count: int | None = None
    least: Value = None
    best: Alternative | None = None
    front: Front | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Audit:
    """The answer to an auditor's question; made by `adtc.audit`.

    Parameters
    ----------
    floor, gap, good
        What a tree must reach, the gap that is to be smaller, and the metric that is weighed
        against it along the front.
    every
        The alternatives among all trees of the space.
    considered
        Those that a person would consider: both labels are predicted, and each leaf's label is
        that of a fair share of its rows; None if that was not asked for.
    shown
        Trees along the front, the one with the smallest gap first; no two predict alike.
    nearest
        Where there is no alternative, how near trees come to each condition.
    proof
        Where there is none, why: a sum that no tree keeps as low as every alternative would.
    stopped
        What a limit left open, and why.
    define
        The user's own metrics.
    """

    data: Data = field(repr=False)
    space: Space
    floor: str
    gap: str
    good: str
    baseline: Baseline
    every: Alternatives
    considered: Alternatives | None
    shown: tuple[Alternative, ...]
    record: RunRecord = field(repr=False)
    test: Data | None = field(default=None, repr=False)
    nearest: tuple[Nearest, ...] = ()
    proof: Mapping[str, Any] | None = None
    stopped: tuple[str, ...] = ()
    define: Definitions | None = field(default=None, repr=False)

    @property
    def exists(self) -> bool | None:
        """Whether a tree reaches the floor with a strictly smaller gap; None if undecided."""
        return self.every.exists

    @property
    def count(self) -> int | None:
        """The number of such trees; None if a limit ended the count."""
        return self.every.count

    @property
    def best(self) -> Alternative | None:
        """The alternative with the smallest gap; of those the best one, with the fewest leaves."""
        return self.every.best

    @property
    def front(self) -> Front | None:
        """The best trade-offs among the alternatives."""
        return self.every.front

    @property
    def status(self) -> str:
        """``"exact"``, or ``"partial"`` where a limit left something open."""
        return PARTIAL if self.stopped else self.record.status

    def __str__(self) -> str:
        return str(hook("audit_text")(self))

    def _repr_html_(self) -> str:
        return str(hook("audit_fragment")(self))

    def report(
        self,
        path: str | PathLike[str],
        *,
        title: str | None = None,
        note: str | None = None,
        small: int | None = None,
        command: str | None = None,
        made: datetime | None = None,
    ) -> Path:
        """Write one self-contained HTML page; see `adtc.show.audit_page.write_page`."""
        found: Path = hook("write_audit_page")(
            self, path, title=title, note=note, small=small, command=command, made=made
        )
        return found

    def certificate(self, *, monitor: Monitor | None = None, command: str | None = None) -> Any:
        """Make a certificate of the answer that others can check without adtc.

        See `adtc.certify_alternative`; ``save(path)`` of what is returned writes it.
        """
        used = self.baseline
        if used.model is None and not used.name:
            raise QueryError(
                "decisions that were given as labels are not in the table, so nobody could check "
                "a certificate: name their column as a reference (references, --decision)."
            )
        return hook("certify_alternative")(
            self.data,
            self.space,
            baseline=used.name if used.model is None else used.model.tree,
            floor=self.floor,
            gap=self.gap,
            define=self.define,
            monitor=monitor,
            command=command,
        )

    def write_rows(
        self,
        path: str | PathLike[str],
        tree: Alternative | None = None,
        *,
        numbers: Rows | None = None,
    ) -> int:
        """Write the rows whose decision changes as a CSV file, and return how many they are.

        Parameters
        ----------
        tree
            The alternative; by default the first one shown.
        numbers
            What the rows are called, counted from 0, where the table is a part of another one.
        """
        after = tree or (self.shown[0] if self.shown else None)
        rows = (
            []
            if after is None
            else changed_rows(self.data, self.baseline.predictions, after.predictions, numbers)
        )
        head = ["row", *([self.data.sensitive] if self.data.sensitive else [])]
        head += [self.data.target, "decision in use", "decision of the tree"]
        write_csv(path, [head, *rows])
        return len(rows)

    def to_json(self) -> dict[str, Any]:
        """Return all of it as plain JSON values; rationals come as a float and exactly."""
        considered = self.considered
        return {
            "exists": self.exists,
            "count": self.count,
            "log10": None if self.count is None else log10(self.count),
            "best": best_json(self.every, self.gap),
            "baseline": self.baseline.to_json(),
            "floor": self.floor,
            "gap": self.gap,
            "where": self.every.where,
            "least_gap": json_number(self.every.least),
            "least_gap_exact": exact_or_none(self.every.least),
            "front": None if self.front is None else self.front.to_json(),
            "considered": None if considered is None else considered_json(considered, self.gap),
            "alternatives": [one.to_json() for one in self.shown],
            "small_groups": [group.name for group in small_groups(self.baseline.train.groups)],
            "test": self._test_json(),
            "nearest": [nearest_json(one) for one in self.nearest],
            "proof": self.proof,
            "status": self.status,
            "stopped": list(self.stopped),
            "record": self.record.to_json(),
        }

    def _test_json(self) -> dict[str, Any] | None:
        if self.test is None:
            return None
        used = self.baseline.test
        return {
            "name": self.test.name,
            "rows": self.test.total,
            "fingerprint": self.test.fingerprint,
            "baseline": None if used is None else used.to_json(),
        }


def changed_rows(
    data: Data, before: Codes, after: Codes, numbers: Rows | None = None
) -> list[list[str]]:
    """List the rows whose decision changes: number from 0, group, truth, before, after."""
    labels = [format_scalar(label) for label in data.labels]
    groups = [format_scalar(group) for group in data.groups]
    return [
        [
            str(row if numbers is None else int(numbers[row])),
            *([groups[data.z[row]]] if groups else []),
            labels[data.y[row]],
            labels[before[row]],
            labels[after[row]],
        ]
        for row in (before != after).nonzero()[0].tolist()
    ]

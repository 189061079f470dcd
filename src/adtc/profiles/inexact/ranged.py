"""What bounded and estimated profiles have in common: ranges instead of counts, and no trees."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from adtc.algebra.affine import affine
from adtc.algebra.formula import Call, Formula, Term, names, parse, settle
from adtc.data import Data
from adtc.engine.limits.bracket import Bracket
from adtc.engine.query import Space
from adtc.engine.record import RunRecord, Status
from adtc.errors import NotKnownError, QueryError
from adtc.hooks import hook
from adtc.profiles.profile import Profile

if TYPE_CHECKING:
    from adtc.profiles.inexact.brackets import BracketTable


@dataclass(frozen=True, slots=True)
class Origin:
    """What a profile was made of, and can be made of again."""

    data: Data
    space: Space


class Ranged(ABC):
    """A profile whose numbers are known between two ends.

    Parameters
    ----------
    metrics
        The metrics asked for, as terms over what is known of every cell or drawn tree.
    record
        The run that made the profile, with what is known of the number of trees.
    origin
        The table and the space; None if it was loaded without them.
    """

    metrics: Mapping[str, Term]
    record: RunRecord
    origin: Origin | None

    @property
    @abstractmethod
    def count(self) -> Bracket:
        """Return what is known of the number of good trees."""

    @abstractmethod
    def crosstab(self, x: str, y: str, *, bins: Any = 10) -> "BracketTable":
        """Return what is known of the number of trees by two metrics."""

    @abstractmethod
    def ends(self, metric: str) -> tuple[Fraction | None, Fraction | None]:
        """Return between which values a metric lies, as far as is known; None if undefined."""

    @abstractmethod
    def _filtered(self, formula: Formula) -> Self:
        """Keep the trees that satisfy a formula over the metrics."""

    @property
    def status(self) -> Status:
        """Say what kind of numbers these are: bounded, estimated, or exact."""
        return self.record.status

    @property
    def names(self) -> tuple[str, ...]:
        """Name the metrics."""
        return tuple(self.metrics)

    @cached_property
    def outline(self) -> Profile:
        """The same question, metrics and record as a profile without cells."""
        terms = self.metrics.values()
        axes = {name: np.zeros(0, np.int64) for term in terms for name in names(term)}
        return Profile(axes, np.zeros((0, 1), np.uint64), dict(self.metrics), self.record)

    def is_whole(self, metric: str) -> bool:
        """Tell whether a metric is a whole number for every tree, as far as its term shows."""
        form = affine(self.outline.term(metric))
        return form is not None and all(
            c.denominator == 1 for c in (form.constant, *form.coefficients.values())
        )

    def where(self, formula: str | Formula | None) -> Self:
        """Keep the trees that satisfy a formula over the profile's metrics."""
        if formula is None:
            return self
        parsed = parse(formula) if isinstance(formula, str) else formula
        kept = self._filtered(settle(parsed, self._no_extreme))
        details = {**self.record.details, "count": kept.count.to_json()}
        details["filtered"] = [*details.get("filtered", ()), str(formula)]
        return replace(kept, record=replace(self.record, details=details))  # type: ignore[type-var]

    def save(self, path: str | PathLike[str], *, rows: bool = False) -> Path:
        """Write the profile to one file: see `adtc.profiles.saved.ranged.save_ranged`."""
        found: Path = hook("save_ranged")(self, path, rows)
        return found

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.count} trees by {', '.join(self.names)}>"

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or not hasattr(Profile, name):
            raise AttributeError(f"'{type(self).__name__}' has no attribute '{name}'")
        raise NotKnownError(no_trees(self, name))

    def _no_extreme(self, call: Call) -> None:
        raise QueryError(
            f"{call} is not known of a profile that is {self.status}: write the number instead."
        )


def no_trees(profile: Ranged, what: str) -> str:
    """Say why something is not to be had of a profile, and of what it is."""
    return (
        f"{what} needs single trees or exact counts, and this profile is {profile.status}: it "
        f"knows ranges of numbers of trees (count, crosstab, where, report, dashboard); for the "
        f"rest ask for an exact profile of a smaller space or with a stricter formula."
    )

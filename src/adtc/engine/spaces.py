"""The hypothesis space: which trees exist, under which conventions; and as plain JSON and back."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

from adtc.errors import QueryError
from adtc.text import is_whole


@dataclass(frozen=True, slots=True)
class Space:
    """Which trees exist: the hypothesis space of the paper, with its conventions.

    Parameters
    ----------
    max_depth
        Δ: tests on the longest path; 0 leaves the single leaves.
    minsup, relminsup
        Smallest number of rows in a leaf, absolute and as a share of all rows (rounded up); the
        larger of the two holds. ``minsup=0`` admits empty leaves.
    max_size
        Largest number of leaves, or None.
    labels
        ``"any"``: a leaf may carry every label (the paper); ``"majority"``: only the most
        frequent one among its rows, on ties the first.
    trivial_splits
        False leaves out trees with a split whose two children are leaves of equal label.
    min_leaf_share
        Smallest share of a leaf's rows that must have its label; where no label reaches it, there
        is no such leaf. 0 admits every label.
    banned
        Columns or features, by name, that no tree tests; a column stands for all its features.
    required
        Columns or features, by name, each of which every tree tests; of a column one feature.
    root
        Columns or features, by name, one of which is the first test; single leaves do not count.
    max_variables
        How many different columns a tree tests at most, or None.

    Examples
    --------
    >>> Space(max_depth=5, relminsup=0.15).min_support(32561)
    4885
    """

    max_depth: int = 3
    minsup: int = 1
    relminsup: float | Fraction | str | None = None
    max_size: int | None = None
    labels: Literal["any", "majority"] = "any"
    trivial_splits: bool = True
    min_leaf_share: float | Fraction | str = 0
    banned: tuple[str, ...] = ()
    required: tuple[str, ...] = ()
    root: tuple[str, ...] = ()
    max_variables: int | None = None

    def __post_init__(self) -> None:
        for name in ("banned", "required", "root"):
            object.__setattr__(self, name, _names(name, getattr(self, name)))
        if self.max_variables is not None:
            _check_whole("max_variables", self.max_variables, least=0)
        _check_whole("max_depth", self.max_depth, least=0)
        _check_whole("minsup", self.minsup, least=0)
        if self.max_size is not None:
            _check_whole("max_size", self.max_size, least=1)
        if self.labels not in ("any", "majority"):
            raise QueryError(f"labels is {self.labels!r}, expected 'any' or 'majority'.")
        self.min_support_share  # noqa: B018  # raises
        self.leaf_share  # noqa: B018

    @property
    def min_support_share(self) -> Fraction:
        """Return the smallest share of all rows that a leaf may hold."""
        return (
            Fraction()
            if self.relminsup is None
            else _share("relminsup", self.relminsup, "the rows")
        )

    def min_support(self, total: int) -> int:
        """Return the smallest number of rows a leaf may hold among ``total``."""
        least = max(self.minsup, math.ceil(self.min_support_share * total))
        if least > total:
            raise QueryError(
                f"minsup is {least}, but the table has only {total} rows, so not even a single "
                f"leaf exists: choose minsup of at most {total}."
            )
        return least

    @property
    def leaf_share(self) -> Fraction:
        """Return the smallest share of a leaf's rows that must have its label."""
        return _share("min_leaf_share", self.min_leaf_share, "a leaf's rows")


def _share(name: str, given: object, whole: str) -> Fraction:
    """Read a share as it was written: 0.15 is 15/100."""
    try:
        share = Fraction(str(given))
    except (ValueError, ZeroDivisionError):
        share = Fraction(-1)
    if not 0 <= share <= 1:
        raise QueryError(f"{name} is {given}, expected a share of {whole} between 0 and 1.")
    return share


def _names(name: str, given: object) -> tuple[str, ...]:
    """Read names of columns or features: one, or several; each counts once."""
    names = (given,) if isinstance(given, str) else given
    if not isinstance(names, list | tuple | set | frozenset) or not all(
        isinstance(one, str) for one in names
    ):
        raise QueryError(f"{name} is {given!r}, expected names of columns or features.")
    ordered = sorted(names) if isinstance(names, set | frozenset) else names
    return tuple(dict.fromkeys(ordered))


def _check_whole(name: str, value: object, *, least: int) -> None:
    if not is_whole(value, least):
        raise QueryError(f"{name} is {value!r}, expected a whole number of at least {least}.")


def space_to_json(space: Space) -> dict[str, Any]:
    """Write a space; a share given as a fraction stays one.

    What a space says about tests is left out where it says nothing.
    """
    told: dict[str, Any] = {
        "banned": list(space.banned) or None,
        "required": list(space.required) or None,
        "root": list(space.root) or None,
        "max_variables": None if space.max_variables is None else int(space.max_variables),
    }
    return {
        "max_depth": int(space.max_depth),
        "minsup": int(space.minsup),
        "relminsup": _share_to_json(space.relminsup),
        "max_size": None if space.max_size is None else int(space.max_size),
        "labels": space.labels,
        "trivial_splits": space.trivial_splits,
        "min_leaf_share": _share_to_json(space.min_leaf_share),
    } | {name: value for name, value in told.items() if value is not None}


def space_from_json(saved: Mapping[str, Any]) -> Space:
    """Read a space that `space_to_json` wrote."""
    values: dict[str, Any] = {
        name: Fraction(value["fraction"]) if isinstance(value, dict) else value
        for name, value in saved.items()
    }
    return Space(**values)


def _share_to_json(share: Any) -> Any:
    return {"fraction": str(share)} if isinstance(share, Fraction) else share

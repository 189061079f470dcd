"""A space of trees as plain JSON, and back."""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from adtc.engine.query import Space


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

"""A space of trees as plain JSON, and back; reading it needs no compiler."""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from adtc.engine.query import Space


def space_to_json(space: Space) -> dict[str, Any]:
    """Write a space; a share given as a fraction stays one."""
    share = space.relminsup
    return {
        "max_depth": int(space.max_depth),
        "minsup": int(space.minsup),
        "relminsup": {"fraction": str(share)} if isinstance(share, Fraction) else share,
        "max_size": None if space.max_size is None else int(space.max_size),
        "labels": space.labels,
        "trivial_splits": space.trivial_splits,
    }


def space_from_json(saved: Mapping[str, Any]) -> Space:
    """Read a space that `space_to_json` wrote."""
    share = saved["relminsup"]
    fraction = Fraction(share["fraction"]) if isinstance(share, dict) else share
    return Space(**{**saved, "relminsup": fraction})

"""Parts of a run: what one range of a stage computes, as arrays that can be kept or sent.

A stage (the inside pass, a level of tensors) divides into units: first features, or live paths.
What a range of them yields follows from the stage's content alone, so a digest of that content
names it: on disk (`checkpoint`) as on other machines (`cluster`).
"""

import hashlib
import math
from collections.abc import Iterator, Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from adtc import _core
from adtc._version import __version__

Array = npt.NDArray[Any]
Arrays = dict[str, Array]
_FORMAT = 1  # of what parts hold; another one makes other keys
_SLICES = 64  # parts of a stage, about
FIELDS: dict[type, tuple[str, ...]] = {
    _core.Table: ("words", "offsets", "rows", "plane_group", "plane_shift", "totals"),
    _core.Lattice: ("binomial", "base", "features", "levels", "rest"),
    _core.Costs: ("weights", "constants", "group_label", "infinity", "minsup", "majority",
                  "share_top", "share_bottom"),
    _core.Leaves: ("key_weights", "key_constant", "cost_weights", "cost_constants", "group_label",
                   "minsup", "majority", "trivial_splits", "dense", "most_leaves", "share_top",
                   "share_bottom", "root_leaf"),
}  # fmt: skip
"""What the parts of the core are made of."""


class Stage(Protocol):
    """A step of a run that is done in parts."""

    @property
    def name(self) -> str:
        """Say what it makes."""

    @property
    def key(self) -> str:
        """Return a digest of all that its arrays follow from."""

    @property
    def weights(self) -> Sequence[int]:
        """Guess the work of each unit."""

    def begin(self) -> None:
        """Make what all parts share; called once, and only if a part is to be computed."""

    def compute(self, units: range) -> None:
        """Compute some units; safe beside others."""

    def take(self, units: range) -> Arrays:
        """Return what was computed for some units."""

    def check(self, units: range, arrays: Arrays) -> None:
        """Raise `ValueError` unless arrays can be what is computed for some units."""

    def put(self, units: range, arrays: Arrays) -> None:
        """Take over what was computed earlier."""


def content_key(*content: object) -> str:
    """Digest arrays, parts of the core and plain values; also the version that computes.

    Examples
    --------
    >>> content_key("a", 1) == content_key("a", 1), content_key("a", 1) == content_key("a1")
    (True, False)
    """
    digest = hashlib.sha256(f"adtc {__version__}, parts {_FORMAT}".encode())
    for value in _flat(content):
        if isinstance(value, np.ndarray):
            digest.update(f"\n{value.dtype.str} {value.shape}\n".encode())
            digest.update(np.ascontiguousarray(value).data)
        else:
            digest.update(f"\n{value!r}\n".encode())
    return digest.hexdigest()


def _flat(content: Sequence[object]) -> Iterator[object]:
    for value in content:
        fields = FIELDS.get(type(value))
        if fields is None:
            yield value
        else:
            yield type(value).__name__
            yield from (getattr(value, field) for field in fields)


def first_features(lattice: _core.Lattice, level: int) -> npt.NDArray[np.int32]:
    """Return the first feature of every path of a level, in the order of their numbers.

    Examples
    --------
    >>> from adtc.engine.lattice import numbered_paths
    >>> first_features(numbered_paths(3, 4), 2).tolist()
    [0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1]
    """
    n = lattice.features
    if level == 0:
        return np.zeros(1, np.int32)
    found = np.arange(n, dtype=np.int32)
    for length in range(2, level + 1):
        # sets are numbered by their last feature, then by the others
        shorter = (found[: math.comb(last, length - 1)] for last in range(n))
        found = np.concatenate([np.zeros(0, np.int32), *shorter])
    return np.repeat(found, 1 << level)


def paths_of_features(lattice: _core.Lattice) -> list[int]:
    """Count the paths of the last level by their first feature; the root alone counts for one.

    Examples
    --------
    >>> from adtc.engine.lattice import numbered_paths
    >>> paths_of_features(numbered_paths(3, 4)), paths_of_features(numbered_paths(3, 2))
    ([8, 4, 0], [1])
    """
    n, levels = lattice.features, lattice.levels
    if levels == 0:
        return [1]
    return [math.comb(n - 1 - f, levels - 1) << levels for f in range(n)]


def ranges(paths: Sequence[int], least: int) -> list[range]:
    """Divide features into ranges of at least so many paths each, the last one excepted."""
    found, start, held = [], 0, 0
    for f, count in enumerate(paths):
        held += count
        if held >= least and held:
            found.append(range(start, f + 1))
            start, held = f + 1, 0
    return [*found, range(start, len(paths))] if held else found


def slices(weights: Sequence[int], units: range, most: int = _SLICES) -> list[range]:
    """Divide some units into parts of about equal work; all of the stage make ``most`` parts.

    Examples
    --------
    >>> slices([4, 2, 1, 1], range(4), 2), slices([4, 2, 1, 1], range(1, 4), 2)
    ([range(0, 1), range(1, 4)], [range(1, 4)])
    """
    share = -(-sum(weights) // most)
    some = [*weights[units.start : units.stop]]
    found = [range(units.start + r.start, units.start + r.stop) for r in ranges(some, share)]
    covered = found[-1].stop if found else units.start
    return found if covered == units.stop else [*found, range(covered, units.stop)]

"""How many rows the table of a profile has: cells that the metrics do not tell apart are one row.

A cell is a combination of axis values, and a gap of 0.1 may come from either group: two cells.
"""

import numpy as np
import numpy.typing as npt

from adtc.engine.exact.columns import Ratios, largest, less
from adtc.profiles.profile import Profile, cell_ranges, joint_codes

_FACTOR = np.uint64(0x9E3779B97F4A7C15)  # odd, so no bit is lost
_EXACT = 2**53  # floats divide whole numbers below so that equal ratios are equal floats


def count_rows(profile: Profile) -> int:
    """Count the distinct combinations of metric values, exactly.

    Floats propose which cells agree, whole numbers confirm it: equal values are equal floats, so
    only cells whose floats agree are compared.

    Examples
    --------
    >>> import adtc
    >>> data = adtc.Data.from_arrays([[1], [1], [0]], [1, 1, 0])
    >>> found = adtc.profile(data, adtc.Space(max_depth=1), ["size", "error"])
    >>> count_rows(found), count_rows(found.project("size"))
    (6, 2)
    """
    cells = len(profile.trees)
    if not cells or not profile.names:
        return min(1, cells)
    marks = _marks(profile)
    if marks is None:
        return _slowly(profile)
    marks.sort()  # takes a fraction of finding out who is whose neighbour, and often suffices
    if not np.any(marks[1:] == marks[:-1]):
        return cells
    marks = _marks(profile)
    assert marks is not None
    order = np.argsort(marks)
    marks = marks[order]
    same = np.flatnonzero(marks[1:] == marks[:-1])
    for part in cell_ranges(len(same)):
        pairs = (_columns(profile, order[same[part] + next_one]) for next_one in (0, 1))
        if not all(map(_equal, *pairs)):
            return _slowly(profile)  # other values with the same mark: next to impossible
    return cells - len(same)


def _columns(profile: Profile, cells: "slice | npt.NDArray[np.intp]") -> list[Ratios]:
    part = profile.take(cells)
    return [part.column(name) for name in part.names]


def _marks(profile: Profile) -> npt.NDArray[np.uint64] | None:
    """Make one number of each cell, the same for equal values; None if floats do not do."""
    marks = np.zeros(len(profile.trees), np.uint64)
    for part in cell_ranges(len(marks)):
        some = marks[part]
        for column in _columns(profile, part):
            if not _small(column):
                return None
            some ^= _floats(column).view(np.uint64)
            some *= _FACTOR
            some ^= some >> np.uint64(29)
    return marks


def _small(column: Ratios) -> bool:
    return all(
        part.dtype != object and largest(part) < _EXACT for part in (column.top, column.bottom)
    )


def _floats(column: Ratios) -> npt.NDArray[np.float64]:
    """Divide; undefined is a value of its own, and there is one zero."""
    undefined = column.bottom == 0
    ratios: npt.NDArray[np.float64] = column.top / np.where(undefined, 1, column.bottom)
    return np.where(undefined, np.inf, ratios + 0.0)


def _equal(left: Ratios, right: Ratios) -> bool:
    """Compare value by value, exactly."""
    gone = (left.bottom == 0) & (right.bottom == 0)
    differ = less(left, right) | less(right, left) | ((left.bottom == 0) != (right.bottom == 0))
    return not np.any(differ & ~gone)


def _slowly(profile: Profile) -> int:
    """Give numbers to the values of each metric, and to the combinations of numbers."""
    codes = joint_codes(profile.values(name).codes for name in profile.names)
    return int(codes.max()) + 1

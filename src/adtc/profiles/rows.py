"""How many rows the table of a profile has: cells that the metrics do not tell apart are one row.

A cell is a combination of axis values, and a gap of 0.1 may come from either group: two cells.
"""

import numpy as np
import numpy.typing as npt

from adtc.engine.columns import Ratios, less
from adtc.engine.values import distinct_values
from adtc.profiles.profile import Profile, joint_codes

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
    columns = [profile.column(name) for name in profile.names]
    if not len(profile.trees) or not columns:
        return min(1, len(profile.trees))
    if not all(map(_small, columns)):
        return _slowly(columns)
    marks = np.zeros(len(profile.trees), np.uint64)
    for column in columns:
        marks = (marks ^ _floats(column).view(np.uint64)) * _FACTOR
        marks ^= marks >> np.uint64(29)
    order = np.argsort(marks)
    same = np.flatnonzero(marks[order[1:]] == marks[order[:-1]])
    left, right = order[same], order[same + 1]
    if not all(_equal(_take(column, left), _take(column, right)) for column in columns):
        return _slowly(columns)  # other values with the same mark: next to impossible
    return len(marks) - len(same)


def _small(column: Ratios) -> bool:
    return all(
        part.dtype != object and (not len(part) or int(np.abs(part).max()) < _EXACT)
        for part in (column.top, column.bottom)
    )


def _floats(column: Ratios) -> npt.NDArray[np.float64]:
    """Divide; undefined is a value of its own, and there is one zero."""
    undefined = column.bottom == 0
    ratios: npt.NDArray[np.float64] = column.top / np.where(undefined, 1, column.bottom)
    return np.where(undefined, np.inf, ratios + 0.0)


def _take(column: Ratios, cells: npt.NDArray[np.intp]) -> Ratios:
    return Ratios(column.top[cells], column.bottom[cells])


def _equal(left: Ratios, right: Ratios) -> bool:
    """Compare value by value, exactly."""
    gone = (left.bottom == 0) & (right.bottom == 0)
    differ = less(left, right) | less(right, left) | ((left.bottom == 0) != (right.bottom == 0))
    return not np.any(differ & ~gone)


def _slowly(columns: list[Ratios]) -> int:
    """Give numbers to the values of each metric, and to the combinations of numbers."""
    codes = joint_codes(distinct_values(column).codes for column in columns)
    return int(codes.max()) + 1

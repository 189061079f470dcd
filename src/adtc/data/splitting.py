"""Stratified hold-out: the same share of every kind of row, reproducible by its seed."""

from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from adtc.data.bits import ranked
from adtc.errors import DataError
from adtc.text import is_whole


def set_aside(
    kinds: npt.NDArray[np.signedinteger[Any]], share: float | Fraction | str, seed: int
) -> npt.NDArray[np.bool_]:
    """Mark a share of the rows of each kind, chosen at random.

    Parameters
    ----------
    kinds
        One number per row; rows of equal number are of one kind.
    share
        Strictly between 0 and 1, as written: 0.3 is 3/10. Of each kind the nearest whole number
        of rows is taken, but one row always stays.

    Examples
    --------
    >>> set_aside(np.array([0, 0, 1, 1, 1, 2]), 0.5, seed=0).tolist()
    [True, False, True, False, True, False]
    """
    part = read_share(share)
    check_seed(seed)
    rng = np.random.default_rng(int(seed))
    chosen = np.zeros(len(kinds), bool)
    values, member = ranked(kinds)
    for kind in range(len(values)):
        rows = np.flatnonzero(member == kind)
        many = min(int(part * len(rows) + Fraction(1, 2)), len(rows) - 1)
        chosen[rng.permutation(rows)[:many]] = True
    if not chosen.any():
        raise DataError(
            f"a share of {share} sets no row aside: each label and group has too few rows."
        )
    return chosen


def read_share(share: float | Fraction | str) -> Fraction:
    """Read a share as it is written, strictly between 0 and 1."""
    try:
        part = Fraction(str(share))
    except (ValueError, ZeroDivisionError):
        part = Fraction()
    if not 0 < part < 1:
        raise DataError(f"the share of test rows is {share}, expected one between 0 and 1.")
    return part


def check_seed(seed: int) -> None:
    """Refuse what is no seed."""
    if not is_whole(seed, 0):
        raise DataError(f"the seed is {seed!r}, expected a whole number of at least 0.")

"""Unbiased random integers of any size, as exact drawing needs them (Sec. 4.2)."""

from typing import TYPE_CHECKING

from adtc.errors import QueryError

if TYPE_CHECKING:  # to load it takes time, and few questions draw
    from numpy.random import Generator


def uniform_below(rng: "Generator", n: int) -> int:
    """Draw an integer from 0, ..., n - 1, each with probability exactly 1/n.

    Parameters
    ----------
    n
        Any positive Python integer; counts of trees often exceed 64 bits.

    Examples
    --------
    >>> import numpy as np
    >>> uniform_below(np.random.default_rng(0), 1)
    0
    """
    if n < 1:
        raise QueryError(f"cannot draw from {n} possibilities; at least one is needed.")
    bits = (n - 1).bit_length()
    n_bytes = (bits + 7) // 8
    while True:
        drawn = int.from_bytes(rng.bytes(n_bytes), "little") >> (8 * n_bytes - bits)
        # Throw away what lies beyond n: a remainder modulo n would favour small values.
        if drawn < n:
            return drawn

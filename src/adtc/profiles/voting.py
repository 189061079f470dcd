"""How the trees of a profile vote on rows: no new run, but a walk down from its cells.

Numbers only; shares, conflicts and other readings of them are for others to compute.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from adtc.algebra.formula import Formula
from adtc.data import Data, Scalar
from adtc.data.bits import Words
from adtc.data.frames import arrow_table
from adtc.engine.backward import votes_of_rows
from adtc.engine.columns import floats
from adtc.engine.monitor import Monitor
from adtc.engine.wide import counts_of
from adtc.errors import QueryError, UnknownColumnError
from adtc.profiles.profile import Profile


@dataclass(frozen=True, slots=True)
class Votes:
    """What the good trees say about each row.

    Parameters
    ----------
    counts
        ``[row, label]``: how many trees predict the label, as Python integers; under Gibbs weights
        the trees' weights added up, as floats.
    total
        What every row's counts add up to: the number of good trees, or their weight.
    trees
        The number of good trees; equal to ``total`` where trees are not weighted.
    exact
        Whether the counts are integers.
    labels
        The classes, in the order of the columns.
    gibbs
        β, if a tree counts exp(−β · (error − least error)).
    """

    counts: npt.NDArray[Any]
    total: int | float
    trees: int
    exact: bool
    labels: tuple[Scalar, ...]
    gibbs: float | None = None


def votes_of(
    profile: Profile,
    where: str | Formula | None = None,
    frame: object = None,
    gibbs: float | None = None,
    *,
    monitor: Monitor | None = None,
) -> Votes:
    """Count for each row and class the trees of a profile that predict it.

    Parameters
    ----------
    where
        Which of the profile's trees vote; all without it.
    frame
        Rows to decide, as a frame, a dict of columns or a `Data` with the same features; by
        default those of the profile's own table. The target is not needed; unseen categories and
        missing values are read as `TreeModel.predict` reads them.
    gibbs
        β: a tree counts exp(−β · (error − least error)) instead of 1. The profile then needs
        the metric ``error`` or ``acc``.

    Examples
    --------
    >>> import adtc
    >>> data = adtc.Data.from_arrays([[1], [1], [0]], [1, 1, 0])
    >>> profile = adtc.profile(data, adtc.Space(max_depth=1), ["error"])
    >>> votes_of(profile, where="error <= 1").counts.tolist()
    [[0, 3], [0, 3], [1, 2]]
    """
    source = profile.need_source("counting votes")
    voting = profile.where(where)
    assert voting.keys is not None  # they come with the circuit
    bits, n_rows = _rows(source.data, frame)
    weights = None if gibbs is None else _gibbs_weights(voting, gibbs)
    counts = votes_of_rows(
        source.circuit, voting.keys, bits, n_rows, weights=weights, monitor=monitor
    )
    labels, trees = source.data.labels, voting.count
    if weights is None:
        return Votes(counts, trees, trees, True, labels)
    total = math.fsum(w * n for w, n in zip(weights, counts_of(voting.trees), strict=True))
    return Votes(counts, total, trees, False, labels, gibbs)


def _rows(data: Data, frame: object) -> tuple[Words, int]:
    """Return the bits of all features, and the number of rows."""
    if frame is None:
        return data.bits, data.n_rows
    if isinstance(frame, Data):
        if frame.features != data.features:
            raise QueryError(
                f"the table '{frame.name}' has other features than the profile's table "
                f"'{data.name}': give the raw table, or one made with Data.apply."
            )
        return frame.bits, frame.n_rows
    table = arrow_table(frame)
    for name in data.binarizer.columns:
        if name not in table.column_names:
            raise UnknownColumnError(
                f"the good trees test the column '{name}', which the table does not have; its "
                f"columns are: {', '.join(table.column_names)}."
            )
    return data.binarize(table), table.num_rows


def _gibbs_weights(profile: Profile, beta: float) -> npt.NDArray[np.float64]:
    """Return exp(−β · (error − least error)) for every cell."""
    if not beta >= 0 or math.isinf(beta):
        raise QueryError(f"gibbs is {beta}, expected a finite number of at least 0.")
    if "error" in profile.metrics:
        errors = floats(profile.column("error"))
    elif "acc" in profile.metrics:
        errors = floats(profile.column("N - N * acc"))
    else:
        raise QueryError(
            "Gibbs weights need the error of every tree, which this profile does not know: make "
            "it with 'error' or 'acc' among its metrics."
        )
    weights: npt.NDArray[np.float64] = np.exp(-beta * (errors - errors.min(initial=math.inf)))
    return weights

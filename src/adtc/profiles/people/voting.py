"""How the trees of a profile vote on rows: no new run, but a walk down from its cells.

Numbers only; shares, conflicts and other readings of them are for others to compute.
"""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from adtc.algebra.formula import Formula
from adtc.data import Data, Scalar
from adtc.data.bits import Words
from adtc.data.frames import arrow_table, column
from adtc.engine.admitted import Part, admitted_parts
from adtc.engine.backward import run_backward, votes_of_rows
from adtc.engine.exact.columns import floats
from adtc.engine.exact.limbs import counts_of
from adtc.engine.monitor import Monitor
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
        default those of the profile's own table. It needs the columns that the trees test, and
        no others; unseen categories and missing values are read as `TreeModel.predict` does.
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
    monitor = monitor or Monitor()
    parts = admitted_parts(source.circuit, voting.keys, monitor)
    bits, n_rows = rows_to_decide(voting, frame, monitor, parts)
    weights = None if gibbs is None else _gibbs_weights(voting, gibbs)
    labels, trees = source.data.labels, voting.total
    counts = np.zeros((n_rows, len(labels)), object if weights is None else np.float64)
    for part in parts:
        chosen = None if weights is None else weights[part.chosen]
        counts += part.times * votes_of_rows(
            part.circuit, part.keys, bits, n_rows, weights=chosen, monitor=monitor
        )
    if weights is None:
        return Votes(counts, trees, trees, True, labels)
    total = math.fsum(w * n for w, n in zip(weights, counts_of(voting.trees), strict=True))
    return Votes(counts, total, trees, False, labels, gibbs)


def rows_to_decide(
    profile: Profile, frame: object, monitor: Monitor, parts: Sequence[Part] | None = None
) -> tuple[Words, int]:
    """Return the bits of all features, and the number of rows: those of a frame, or the table's.

    Parameters
    ----------
    parts
        The profile's trees, where they are parted already.
    """
    source = profile.need_source("deciding rows")
    data = source.data
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
    there = frozenset(table.column_names)
    missing = [name for name in data.binarizer.columns if name not in there]
    if not missing:
        return data.binarize(table), table.num_rows
    if parts is None:
        assert profile.keys is not None
        parts = admitted_parts(source.circuit, profile.keys, monitor)
    tested = _tested(parts, data, monitor)
    for name in missing:
        if name in tested:
            raise UnknownColumnError(
                f"the good trees test the column '{name}', which the table does not have; its "
                f"columns are: {', '.join(table.column_names)}."
            )
    # what no tree tests may be anything
    bits = np.zeros((data.n_features, -(-table.num_rows // 64)), np.uint64)
    known = [f for f, feature in enumerate(data.features) if feature.column in there]
    recipe = replace(data.binarizer, features=tuple(data.features[f] for f in known))
    columns = {name: column(table, name, recipe.na) for name in recipe.columns}
    bits[known] = recipe.bits(columns, table.num_rows)
    return bits, table.num_rows


def _tested(parts: Sequence[Part], data: Data, monitor: Monitor) -> set[str]:
    """Name the columns that at least one of the trees tests."""
    uses: Counter[int] = Counter()
    for part in parts:
        found = run_backward(part.circuit, part.keys, monitor=monitor).uses.sum(axis=0).tolist()
        for used, twins in zip(found, part.circuit.prepared.features.twins, strict=True):
            for twin in twins:  # each of them has an equal share of the uses
                uses[twin.feature] += part.times * used // len(twins)
    return {data.features[f].column for f, used in uses.items() if used}


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

"""The backward pass: from weights on the root's cells down to what good trees do to each row.

The adjoint A(I)(k) of a cell is the weighted number of ways to complete one of its subtrees to a
whole tree. Where that subtree is a leaf, it is the number of good trees that have this leaf, and
from these follow votes of rows, uses of features and leaves by depth. The loops are those of
``src/core/adjoint.h``; here weights go in, and sums come out as Python integers, or as floats.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from adtc import _core
from adtc.data import Data
from adtc.data.bits import Words
from adtc.engine.circuit import Circuit, core_fields
from adtc.engine.exact.limbs import counts_of, limbs_of, total_of
from adtc.engine.executors import run_jobs
from adtc.engine.monitor import Monitor
from adtc.engine.plan.keys import Keys, find_keys, key_order
from adtc.engine.voters import Voters, nobody, voters_of
from adtc.errors import TooLargeError

Array = npt.NDArray[Any]
Weights = Sequence[int] | npt.NDArray[np.float64]
_CHUNK, _JOBS = 32, 32  # paths of one job, at least; jobs of a level, at most
_MOST_WAYS = 2**62


def votes(
    circuit: Circuit,
    cells: Keys,
    data: Data,
    *,
    weights: Weights | None = None,
    monitor: Monitor | None = None,
) -> Array:
    """Count for every row and label the trees of some root cells that predict it.

    Parameters
    ----------
    cells
        The cells, by their keys.
    data
        The table that the circuit was made of.
    weights
        What a tree of each cell counts; 1 without them. Floats give floats.

    Returns
    -------
    ndarray
        ``[row, label]``: Python integers, or floats where weights are.

    Examples
    --------
    >>> import adtc
    >>> data = adtc.Data.from_arrays([[1], [1], [0]], [1, 1, 0])
    >>> profile = adtc.profile(data, adtc.Space(max_depth=1), ["error"], where="error <= 1")
    >>> votes(profile.source.circuit, profile.keys, data).tolist()
    [[0, 3], [0, 3], [1, 2]]
    """
    return votes_of_rows(circuit, cells, data.bits, data.n_rows, weights=weights, monitor=monitor)


def votes_of_rows(
    circuit: Circuit,
    cells: Keys,
    bits: Words,
    n_rows: int,
    *,
    weights: Weights | None = None,
    monitor: Monitor | None = None,
) -> Array:
    """Count the same for any rows, given by the bits of all original features.

    Features that are equal on the table may differ on other rows. A leaf on a path with such a
    feature then counts in proportion to how many of them have the path's value.
    """
    voters = voters_of(circuit.prepared.features, bits, n_rows)
    found = run_backward(circuit, cells, weights=weights, voters=voters, monitor=monitor)
    return found.votes[voters.place]


@dataclass(frozen=True, slots=True)
class Backward:
    """What one pass adds up, as Python integers, or as floats where weights are.

    Parameters
    ----------
    total
        The trees of the chosen cells, by weight.
    votes
        ``[voter, label]``: the trees that predict the label.
    uses
        ``[depth, distinct feature]``: splits on it at that depth, over all trees; where it stands
        for several original features, each of them has an equal share.
    leaves
        ``[depth, label]``: leaves, over all trees.
    events
        All leaves by path, if they were asked for.
    """

    total: Any
    votes: Array
    uses: Array
    leaves: Array
    events: "LeafEvents | None" = None


@dataclass(frozen=True, slots=True)
class LeafEvents:
    """Leaves by path: how many trees have them. A path may come several times.

    Parameters
    ----------
    starts
        ``[event + 1]``: where the literals of each path begin; they come in no order.
    literals
        2 · distinct feature, plus 1 where its value is 0.
    """

    starts: npt.NDArray[np.int64]
    literals: npt.NDArray[np.int64]
    labels: npt.NDArray[np.int64]
    weights: Array


def run_backward(
    circuit: Circuit,
    cells: Keys,
    *,
    weights: Weights | None = None,
    voters: Voters | None = None,
    events: bool = False,
    monitor: Monitor | None = None,
) -> Backward:
    """Hand weights down the circuit and add up what is found on the way.

    Parameters
    ----------
    voters
        Rows to count votes of.
    events
        Whether to list all leaves by path.
    """
    monitor = monitor or Monitor()
    voters = nobody(circuit.prepared.features) if voters is None else voters
    if circuit.remote is not None:
        return circuit.remote.run(_backward, cells, weights, voters, events, monitor=monitor)
    return _backward(circuit, cells, weights, voters, events, monitor=monitor)


def _backward(
    circuit: Circuit,
    cells: Keys,
    weights: Weights | None,
    voters: Voters,
    events: bool,
    *,
    monitor: Monitor,
) -> Backward:
    """Do the same where the circuit is."""
    _check_mixed(circuit, voters)
    chosen = _chosen(circuit, cells, weights)
    core = _core_of(circuit, chosen.limbs, monitor)
    with monitor.translated():
        core.watch(
            voters.records, voters.names, voters.mixed, voters.mixed_names, len(voters), events
        )
    if circuit.levels:
        begin = core.begin if chosen.limbs else core.begin_real
        begin(chosen.words)
        _descend(core, len(circuit.levels), monitor)
    read = _floats if chosen.limbs == 0 else _integers
    uses, leaves = map(read, core.tally())
    listed = None
    if events:
        starts, literals, labels, words = core.events()
        listed = LeafEvents(starts, literals, labels, read(words))
    counted = read(core.totals()).T
    _check(chosen, counted)
    return Backward(chosen.total, counted, uses, leaves, listed)


def _descend(core: Any, levels: int, monitor: Monitor) -> None:
    """Fill the adjoints level by level, then visit all paths."""
    for level in range(levels - 1):
        with monitor.translated():
            paths = core.open(level)
        chunks = _chunks(paths)

        def fill(job: int, level: int = level, chunks: list[range] = chunks) -> None:
            core.fill(level, job, chunks[job].start, chunks[job].stop, monitor.control)

        run_jobs(fill, range(len(chunks)), f"adjoints of level {level + 1}", monitor)
        core.close(level)
    for level in range(levels):
        chunks = _chunks(core.start_visits(level))

        def visit(job: int, level: int = level, chunks: list[range] = chunks) -> None:
            core.visit(level, job, chunks[job].start, chunks[job].stop, monitor.control)

        run_jobs(visit, range(len(chunks)), f"leaves of level {level}", monitor)


def _chunks(paths: int) -> list[range]:
    """Part the paths into jobs, the same for any number of threads: floats add up alike."""
    size = max(_CHUNK, -(-paths // _JOBS))
    return [range(at, min(at + size, paths)) for at in range(0, paths, size)]


@dataclass(frozen=True, slots=True)
class _Chosen:
    """The weights of all root cells as the core takes them; no limb stands for floats."""

    total: Any
    limbs: int
    words: Array


def _chosen(circuit: Circuit, cells: Keys, weights: Weights | None) -> _Chosen:
    """Lay weights out over the root's cells.

    Every number that is read in the end is at most the weight of all chosen trees: each of them
    has a leaf, or a row's prediction, at most once. So that many limbs do, modulo which all is
    added up; sums over paths have one limb more.
    """
    root = circuit.root
    places = _places(root.keys, cells)
    if isinstance(weights, np.ndarray):
        real = np.zeros(len(root.keys))
        real[places] = weights
        return _Chosen(float(real @ _as_floats(root.values)), 0, real)
    counts, each = root.values[places], np.ones((len(places), 1), np.uint64)
    if weights is None:
        total = total_of(counts)
    else:
        each = limbs_of(list(weights))
        total = sum(w * n for w, n in zip(weights, counts_of(counts), strict=True))
    limbs = max(1, -(-total.bit_length() // 64))
    words = np.zeros((len(root.keys), limbs), np.uint64)
    words[places, : each.shape[1]] = each[:, :limbs]
    return _Chosen(total, limbs, words)


def _places(keys: Keys, cells: Keys) -> npt.NDArray[np.intp]:
    """Find cells among those of the root."""
    order = key_order(keys)
    found = find_keys(keys[order], cells)
    if (found < 0).any():
        raise ValueError("a cell is not among those of the circuit's root.")
    return order[found]


def _as_floats(values: npt.NDArray[np.uint64]) -> npt.NDArray[np.float64]:
    found = np.zeros(len(values))
    for place, limb in enumerate(values.T):
        found += np.ldexp(limb.astype(np.float64), 64 * place)
    return found


def _core_of(circuit: Circuit, limbs: int, monitor: Monitor) -> Any:
    """Hand a circuit to the core."""
    return _core.Backward(**core_fields(circuit), limbs=limbs, most_bytes=monitor.memory)


def _integers(words: npt.NDArray[np.uint64]) -> Array:
    """Read numbers of several limbs, along the last axis, as Python integers."""
    shape = words.shape[:-1]
    found = np.empty(int(np.prod(shape)), object)
    found[:] = counts_of(words.reshape(len(found), words.shape[-1]))
    return found.reshape(shape)


def _floats(words: npt.NDArray[np.float64]) -> Array:
    floats: Array = words[..., 0]
    return floats


def _check_mixed(circuit: Circuit, voters: Voters) -> None:
    """Raise if the ways to write a path, of which a row fulfils some, do not fit a word."""
    lattice = circuit.prepared.lattice
    most = sorted(circuit.prepared.features.multiplicity.tolist())[-lattice.levels - 2 :]
    if len(voters.mixed_names) and math.prod(most) >= _MOST_WAYS:
        raise TooLargeError(
            "too many features are equal on the table and differ on these rows: leave out copies "
            "of columns, or ask with less depth."
        )


def _check(chosen: _Chosen, counted: Array) -> None:
    """Every tree decides every row once; raise if the sums do not say so."""
    if chosen.limbs and not (counted.sum(axis=1) == chosen.total).all():
        raise RuntimeError(
            f"the votes of a row do not add up to the number of trees, {chosen.total}: this is an "
            f"error in adtc."
        )

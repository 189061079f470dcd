"""What workers compute: the parts of a run as functions of plain arrays, and of other parts.

Nothing here knows the cluster. Parts of the core travel as their fields and are made anew where
they arrive; arrays may arrive at any address, so they are moved to one that the core takes.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np

from adtc import _core
from adtc._version import __version__
from adtc.engine.bounds import (
    Found,
    Inside,
    InsideStage,
    Outside,
    Walker,
    bounds_above,
    outside_pass,
)
from adtc.engine.circuit import Circuit, worth_a_split
from adtc.engine.executors.parts import FIELDS, Array, Arrays
from adtc.engine.lattice import Features, path_counts
from adtc.engine.levels import LastLevel, MemoryAccount, upper_level
from adtc.engine.monitor import Monitor
from adtc.engine.plan.keys import added_up
from adtc.engine.prepare import Prepared
from adtc.engine.switches import Switches
from adtc.engine.tensors import Level, Piece, TensorInputs, joined, level_of

T = TypeVar("T")
Shipped = tuple[str, tuple[Any, ...]]
_ALIGNED = 16  # bytes
_KINDS = {kind.__name__: kind for kind in FIELDS}


def ship(part: Any) -> Shipped:
    """Take a part of the core apart."""
    kind = type(part)
    return kind.__name__, tuple(getattr(part, name) for name in FIELDS[kind])


def land(shipped: Shipped, **other: Any) -> Any:
    """Put a part of the core together again, some fields with other values."""
    kind, values = _KINDS[shipped[0]], shipped[1]
    fields = {name: _settled(value) for name, value in zip(FIELDS[kind], values, strict=True)}
    return kind(**{**fields, **other})


def _settled(value: Any) -> Any:
    """Copy an array that does not lie where the core takes it."""
    if not isinstance(value, np.ndarray):
        return value
    fits = value.flags.c_contiguous and value.ctypes.data % _ALIGNED == 0
    return value if fits else np.array(value, order="C")


def version() -> str:
    """Return the version of adtc on a worker."""
    return __version__


def table(shipped: Shipped) -> Shipped:
    """Hold the table: a task of its own, so that it is sent once and never lost."""
    return shipped


def watch(memory: int | None) -> Monitor:
    """Make what watches over a part: one thread, and as much memory as it may use."""
    return Monitor(threads=1, memory_limit=memory, exact=True)


def inside_part(
    of: Shipped, lattice: Shipped, costs: Shipped, features: tuple[int, int], memory: int | None
) -> Arrays:
    """Visit the paths that start with some features."""
    made: _core.Table = land(of)
    paths: _core.Lattice = land(lattice)
    cost: _core.Costs = land(costs)
    monitor, units = watch(memory), range(*features)
    found = Found.blank(paths, len(made.totals), len(cost.constants))
    stage = InsideStage(Walker(made, paths, cost, Switches(), monitor, alone=True), found)
    with monitor.translated():
        stage.compute(units)
    return stage.take(units)


class Bounds(NamedTuple):
    """The inside pass of all paths: see `Inside`, and `Prepared.splits`."""

    counts: Array
    least: Array
    exists: Array
    splits: Array

    @property
    def inside(self) -> Inside:
        """Return the pass as others take it."""
        return Inside(*map(_settled, self[:3]))


def bounds(
    lattice: Shipped,
    costs: Shipped,
    per_leaf: Sequence[int],
    searched: list[int],
    parts: list[tuple[int, int]],
    found: list[Arrays],
) -> Bounds:
    """Put the parts of the inside pass together and go up to the root."""
    paths: _core.Lattice = land(lattice)
    cost: _core.Costs = land(costs)
    groups = found[0]["counts"].shape[1]
    whole = Found.blank(paths, groups, len(searched))
    monitor = watch(None)
    walker = Walker(cast(Any, None), paths, cost, Switches(), monitor)
    for units, arrays in zip(parts, found, strict=True):
        InsideStage(walker, whole).put(range(*units), arrays)
    inside, splits = bounds_above(
        paths, cost, whole, per_leaf=per_leaf, searched=searched, control=monitor.control
    )
    return Bounds(inside.counts, inside.least, inside.exists, splits)


def least_values(of: Bounds) -> list[int]:
    """Return each form's least value over all trees."""
    return of.inside.root


class ShippedInputs(NamedTuple):
    """What tensors are made from, as it travels: see `TensorInputs`."""

    table: Shipped
    lattice: Shipped
    leaves: Shipped
    multiplicity: Array
    labels: int
    counts: Array
    budgets: Array
    live: Array
    splitting: Array
    live_paths: tuple[int, ...]

    def inputs(self, *, root_leaf: bool | None = None, live: Array | None = None) -> TensorInputs:
        """Make the inputs, perhaps without a leaf at the root or with other live paths."""
        leaf = {} if root_leaf is None else {"root_leaf": root_leaf}
        return TensorInputs(
            land(self.table),
            land(self.lattice),
            land(self.leaves, **leaf),
            _settled(self.multiplicity),
            self.labels,
            _settled(self.counts),
            _settled(self.budgets),
            _settled(self.live) if live is None else live,
            _settled(self.splitting),
            (),
        )

    @property
    def outside(self) -> Outside:
        """Return the budgets as others take them."""
        return Outside(_settled(self.budgets), _settled(self.live), self.live_paths)


def base(
    of: Shipped,
    lattice: Shipped,
    leaves: Shipped,
    multiplicity: Array,
    labels: int,
    bound: Bounds,
    limits: Array,
    first: Array | None,
) -> ShippedInputs:
    """Hand the budgets down from the root."""
    paths: _core.Lattice = land(lattice)
    inside = bound.inside
    outside = outside_pass(paths, inside, _settled(limits), watch(None), first=first)
    splitting = worth_a_split(paths, _settled(bound.splits), outside)
    return ShippedInputs(
        of, lattice, leaves, multiplicity, labels, inside.counts, outside.budgets, outside.live,
        splitting, outside.live_paths,
    )  # fmt: skip


def live_paths(of: ShippedInputs) -> tuple[int, ...]:
    """Count the live paths of each level."""
    return of.live_paths


def last_part(of: ShippedInputs, features: tuple[int, int], memory: int | None) -> Piece:
    """Make the tensors of the last level for the paths that start with some features."""
    inputs, monitor = of.inputs(), watch(memory)
    with monitor.translated():
        return LastLevel(inputs, MemoryAccount(monitor), inputs.lattice.levels).part(
            range(*features)
        )


class Joined(NamedTuple):
    """A level whose parts were put together, and the pairs of cells looked at so far.

    ``totals`` bounds the trees of each path; None at the last level, where they are counted.
    """

    piece: Piece
    totals: Array | None
    scanned: int

    def level(self, size: int) -> Level:
        """Lay the level out by the numbers of its paths."""
        return level_of(piece_of(self), size)


def last_joined(pieces: list[Piece]) -> Joined:
    """Put the parts of the last level together."""
    piece = joined(pieces)
    return Joined(piece, None, int(piece.scanned[0]))


def upper_joined(of: ShippedInputs, level: int, below: Joined, pieces: list[Piece]) -> Joined:
    """Put the parts of a level above the last together, and bound its trees."""
    _, totals = _upper(of.inputs(), level, below, watch(None))
    piece = joined(pieces)
    return Joined(piece, totals, below.scanned + int(piece.scanned[0]))


def _upper(inputs: TensorInputs, level: int, below: Joined, monitor: Monitor) -> tuple[Any, Array]:
    size = path_counts(inputs.lattice)[level + 1]
    return upper_level(inputs, level, below.level(size), below.totals, MemoryAccount(monitor))


def upper_part(
    of: ShippedInputs, level: int, below: Joined, paths: tuple[int, int], memory: int | None
) -> Piece:
    """Make the tensors of some live paths of a level from those below."""
    monitor = watch(memory)
    stage, _ = _upper(of.inputs(), level, below, monitor)
    with monitor.translated():
        piece: Piece = stage.part(range(*paths))
    return piece


def root_part(
    of: ShippedInputs, below: Joined, features: tuple[int, int], memory: int | None
) -> Piece:
    """Sum over the trees whose first test is one of some features.

    That is the root's tensor where only their paths are live; the single leaf comes with the first
    range. Numbers have as many limbs as those of the whole root.
    """
    monitor, units = watch(memory), range(*features)
    whole = of.inputs()
    stage, _ = _upper(whole, 0, below, monitor)
    live = whole.live.copy()
    literals = live[1 : 1 + 2 * whole.lattice.features]
    literals[: 2 * units.start] = False
    literals[2 * units.stop :] = False
    leaf = whole.leaves.root_leaf and units.start == 0
    stage.inputs = of.inputs(root_leaf=leaf, live=live)
    with monitor.translated():
        piece: Piece = stage.part(range(len(stage.nodes)))
    return piece


def root_sum(pieces: list[Piece]) -> Piece:
    """Add tensors of the root up, cell by cell."""
    together = joined(pieces)
    keys, values = added_up(together.keys, together.values)
    blank = np.zeros((len(keys), 0), np.int64)
    whole = np.array([len(keys)], np.int64)
    return Piece(keys, values, blank, np.zeros(1, np.int64), 0 * whole, whole, together.scanned)


def limbs_of(of: ShippedInputs, level: int, below: Joined) -> int:
    """Return how many limbs the numbers of a level above the last have."""
    stage, _ = _upper(of.inputs(), level, below, watch(None))
    limbs: int = stage.limbs
    return limbs


def scanned_below(of: Joined) -> int:
    """Return how many pairs of cells were looked at below the root."""
    return of.scanned


def piece_of(level: Piece | Joined) -> Piece:
    """Return the cells of a level at addresses that the core takes."""
    piece = level.piece if isinstance(level, Joined) else level
    return Piece(*map(_settled, piece))


def assembled(of: ShippedInputs, features: Features, levels: list[Piece | Joined]) -> Circuit:
    """Put a circuit together; its plan stays where the question was asked."""
    inputs = of.inputs()
    exists = np.zeros(len(inputs.live), bool)  # nothing that walks a circuit asks for these
    inside = Inside(inputs.counts, np.zeros((0, len(exists)), np.int64), exists)
    prepared = Prepared(
        cast(Any, None), features, inputs.table, inputs.lattice, inputs.leaves, inside
    )
    laid = map(level_of, map(piece_of, levels), path_counts(inputs.lattice))
    return Circuit(prepared, of.outside, tuple(laid), 0)


def asked_of(
    of: ShippedInputs,
    features: Features,
    levels: list[Piece | Joined],
    work: Callable[..., T],
    args: tuple[Any, ...],
    memory: int | None,
) -> T:
    """Put a circuit together and have it answer."""
    return work(assembled(of, features, levels), *args, monitor=watch(memory))

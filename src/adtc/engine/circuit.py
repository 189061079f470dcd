"""The circuit: all good trees in factorised form, as the live paths and their tensors.

Built from the last level up. The root's tensor answers questions about counts; the lower ones are
kept, because finding and drawing trees are walks down over them.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from adtc import _core
from adtc.engine.bounds import INFINITY, Outside, outside_pass
from adtc.engine.forecast.refusal import refuse_if_too_large
from adtc.engine.levels import make_levels
from adtc.engine.monitor import Monitor
from adtc.engine.plan import Budget
from adtc.engine.prepare import Prepared
from adtc.engine.tensors import Cells, Level, TensorInputs
from adtc.hooks import hook

Array = npt.NDArray[Any]
T = TypeVar("T")


class Remote(Protocol):
    """Workers that hold a circuit."""

    def run(self, work: Callable[..., T], *args: Any, monitor: Monitor) -> T:
        """Have a worker put the circuit together, and return ``work(circuit, *args)``."""


@dataclass(frozen=True, slots=True)
class Circuit:
    """Live paths with their tensors, and what is needed to walk them again.

    Parameters
    ----------
    levels
        One `Level` per path length, root first; empty when no good tree can exist.
    cell_scan
        Cell pairs that ⊗ looked at.
    """

    prepared: Prepared
    outside: Outside
    levels: tuple[Level, ...]
    cell_scan: int

    @property
    def proof_of_none(self) -> tuple[Budget, int] | None:
        """Return a budget that the least value of all trees exceeds, and that value.

        Then no good tree exists, and one inside pass proves it. None if there is no such budget.
        """
        pairs = zip(self.prepared.plan.budgets, self.prepared.inside.root, strict=True)
        return next(((b, least) for b, least in pairs if b.limit < least < INFINITY), None)

    @property
    def live_paths(self) -> tuple[int, ...]:
        """Count the live paths of each level."""
        return self.outside.live_paths

    @property
    def remote(self) -> "Remote | None":
        """Return where the circuit is, if that is on another machine."""
        return None

    @property
    def root(self) -> Cells:
        """Return the tensor of all trees."""
        if not self.levels:
            return Cells(np.zeros(0, np.int64), np.zeros((0, 1), np.uint64), np.zeros((0, 0)))
        level = self.levels[0]
        part = slice(int(level.starts[0]), int(level.stops[0]))
        return Cells(level.cells.keys[part], level.cells.values[part], level.cells.costs[part])


def grow(
    prepared: Prepared, limits: Sequence[int], monitor: Monitor, *, foresee: bool = True
) -> Circuit:
    """Hand the budgets down and make the tensors; ``limits`` has one for each of the plan's.

    Without ``foresee`` nothing is refused before it is begun: forecasts know no coarse keys.
    """
    monitor.check()
    limit = np.array(limits, np.int64)
    if monitor.client is not None:
        found: Circuit = hook("grow_remotely")(prepared, limit, monitor)
        return found
    outside = outside_pass(
        prepared.lattice, prepared.inside, limit, monitor, first=prepared.first_tests
    )
    if foresee:
        refuse_if_too_large(prepared, outside, monitor)
    levels, scanned = make_levels(tensor_inputs(prepared, outside, limit), monitor)
    return Circuit(replace(prepared, splits=None), outside, levels, scanned)


def core_circuit(circuit: Circuit) -> _core.Circuit:
    """Hand a circuit to the core."""
    return _core.Circuit(**core_fields(circuit))


def core_fields(circuit: Circuit) -> dict[str, Any]:
    """Name what the core must know of a circuit, whatever walks over it."""
    prepared, outside = circuit.prepared, circuit.outside
    return {
        "table": prepared.table,
        "lattice": prepared.lattice,
        "leaves": prepared.leaves,
        "multiplicity": prepared.features.multiplicity,
        "counts": prepared.inside.counts,
        "budgets": outside.budgets,
        "live": outside.live,
        "levels": [level.core for level in circuit.levels],
    }


def tensor_inputs(prepared: Prepared, outside: Outside, limits: Array) -> TensorInputs:
    """Gather what the tensors are made from."""
    return TensorInputs(
        table=prepared.table,
        lattice=prepared.lattice,
        leaves=prepared.leaves,
        multiplicity=prepared.features.multiplicity,
        labels=prepared.plan.question.schema.labels,
        counts=prepared.inside.counts,
        budgets=outside.budgets,
        live=outside.live,
        splitting=worth_a_split(prepared.lattice, prepared.splits, outside),
        causes=(limits, prepared.first_tests, prepared.splits is None),
    )


def worth_a_split(lattice: _core.Lattice, splits: Array | None, outside: Outside) -> Array:
    """Tell which live paths of the last level may have trees within budget beside single leaves."""
    last = int(lattice.base[-1])
    live: Array = outside.live[last:]
    if splits is None:
        return live
    return np.logical_and(live, (splits <= outside.budgets[last:].T).all(axis=0))

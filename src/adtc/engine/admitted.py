"""Trees that a space admits by all their tests, as a signed sum of circuits with fewer features.

Required columns and the most variables look at all tests of a tree together, and walks over a
circuit at single tests. But the trees that test no more than a set W of classes of features are a
circuit of their own, that of the table without all other features. Let U be the set of classes
that a tree tests; integers c_W with Σ_{W ⊇ U} c_W = 1 for every U admitted and 0 for every other U
that occurs make any sum over the admitted trees Σ_W c_W times the same sum over the circuit of W.
For required columns alone, this is inclusion and exclusion.
"""

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from adtc import _core
from adtc.engine.bounds import inside_pass
from adtc.engine.circuit import Circuit, grow
from adtc.engine.lattice import Features, numbered_paths
from adtc.engine.monitor import Monitor
from adtc.engine.plan.keys import Keys, find_keys, key_order
from adtc.engine.prepare import first_level
from adtc.engine.switches import Switches
from adtc.engine.uses import levels_of, set_counts
from adtc.errors import TooLargeError

_MOST = 2000  # circuits that are made for one answer


@dataclass(frozen=True, slots=True)
class Part:
    """A circuit, and how often it counts.

    Parameters
    ----------
    keys
        The cells asked for that its root has.
    chosen
        Which of all cells asked for they are.
    """

    times: int
    circuit: Circuit
    keys: Keys
    chosen: npt.NDArray[np.intp]


def admitted_parts(circuit: Circuit, keys: Keys, monitor: Monitor) -> list[Part]:
    """Part the admitted trees of some root cells; without such conditions they are one part.

    Parameters
    ----------
    keys
        The cells, by key.
    """
    allowed = circuit.prepared.plan.question.allowed
    every = np.arange(len(keys))
    if not allowed.selective:
        return [Part(1, circuit, keys, every)]
    class_of, members = allowed.classes()
    there, _ = _found(circuit.root.keys, keys)
    groups = np.full(len(circuit.root.keys), -1, np.int64)
    groups[there] = 0
    masks = {mask for _, mask, _ in set_counts(circuit, class_of, groups, 1, monitor)}
    admitted = {mask for mask in masks if allowed.admits_classes(mask, members)}
    if admitted == masks:
        return [Part(1, circuit, keys, every)]
    times = coefficients(masks, admitted)
    if len(times) > _MOST:
        raise TooLargeError(
            f"the trees that keep to 'required' and 'max_variables' make {len(times):,} circuits, "
            f"and at most {_MOST:,} are made for one answer: lower max_variables, ban columns, or "
            f"ask about fewer trees."
        )
    parts = []
    for done, (mask, n) in enumerate(times.items(), 1):
        banned = frozenset(f for f, c in enumerate(class_of) if not mask >> c & 1)
        smaller = without(circuit, banned, monitor)
        places, chosen = _found(smaller.root.keys, keys)
        if len(places):
            parts.append(Part(n, smaller, keys[chosen], chosen))
        monitor.report("circuits with fewer features", done, len(times))
    return parts


def coefficients(masks: Collection[int], admitted: Collection[int]) -> dict[int, int]:
    """Find c_W ≠ 0 such that the sum over all W that hold U is 1 if U is admitted, and else 0.

    Sets that no tree tests exactly need no c_W, nor do those that no admitted set holds.

    Examples
    --------
    >>> coefficients([0b00, 0b01, 0b10, 0b11], admitted=[0b10, 0b11])  # the second is required
    {3: 1, 1: -1}
    """
    largest = [m for m in admitted if not any(m != n and m & n == m for n in admitted)]
    below = [m for m in masks if any(m & n == m for n in largest)]
    found: dict[int, int] = {}
    for mask in sorted(below, key=lambda m: (-m.bit_count(), m)):
        above = sum(c for other, c in found.items() if mask & other == mask)
        if c := int(mask in admitted) - above:
            found[mask] = c
    return found


def without(circuit: Circuit, banned: Collection[int], monitor: Monitor) -> Circuit:
    """Make the circuit of the same trees, by the same keys, that test no banned feature."""
    prepared = circuit.prepared
    question = prepared.plan.question
    whole, features = prepared.table, without_features(prepared.features, banned)
    table = _core.Table(
        words=np.ascontiguousarray(whole.words[features.kept]), offsets=whole.offsets,
        rows=whole.rows, plane_group=whole.plane_group, plane_shift=whole.plane_shift,
        totals=whole.totals,
    )  # fmt: skip
    lattice = numbered_paths(
        len(features.kept), levels_of(circuit), least=first_level(question.allowed)
    )
    forms = tuple(budget.form for budget in prepared.plan.budgets)
    inside, splits = inside_pass(
        table, lattice, forms, prepared.leaves.group_label, question,
        switches=Switches(), monitor=monitor,
    )  # fmt: skip
    smaller = replace(
        prepared, features=features.left, table=table, lattice=lattice, inside=inside,
        splits=splits,
    )  # fmt: skip
    return grow(smaller, circuit.outside.budgets[0].tolist(), monitor)


class _Left(NamedTuple):
    """The distinct features that are left, and which they were."""

    left: Features
    kept: list[int]


def without_features(features: Features, banned: Collection[int]) -> _Left:
    """Take original features away, and distinct ones that stand for no other."""
    twins = [tuple(t for t in some if t.feature not in banned) for some in features.twins]
    kept = [f for f, some in enumerate(twins) if some]
    return _Left(Features(features.columns[kept], tuple(twins[f] for f in kept)), kept)


def _found(root: Keys, keys: Keys) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Find keys among a root's: their places in it, and which of them are there."""
    order = key_order(root)
    found = find_keys(root[order], keys)
    chosen = np.flatnonzero(found >= 0)
    return order[found[chosen]], chosen

from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt

Indices = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]
Words = npt.NDArray[np.uint64]

LEVEL: str
LEVELS: tuple[str, ...]

def available_levels() -> tuple[str, ...]: ...
def load_level(level: str) -> ModuleType: ...
def supports(level: str) -> bool: ...

class Cancelled(Exception): ...
class OutOfTime(Exception): ...
class OutOfMemory(Exception): ...

class Control:
    def cancel(self) -> None: ...
    def set_time_limit(self, seconds: float) -> None: ...
    def check(self) -> None: ...
    @property
    def cancelled(self) -> bool: ...

class Table:
    words: Words
    offsets: Indices
    rows: Indices
    plane_group: Indices
    plane_shift: Indices
    totals: Indices
    def __init__(
        self,
        words: Words,
        offsets: Indices,
        rows: Indices,
        plane_group: Indices,
        plane_shift: Indices,
        totals: Indices,
    ) -> None: ...

class Lattice:
    binomial: Indices
    base: Indices
    features: int
    levels: int
    rest: int
    def __init__(
        self, binomial: Indices, base: Indices, features: int, levels: int, rest: int
    ) -> None: ...

class Costs:
    weights: Indices
    constants: Indices
    group_label: Indices
    infinity: int
    minsup: int
    majority: bool
    share_top: int
    share_bottom: int
    def __init__(
        self,
        weights: Indices,
        constants: Indices,
        group_label: Indices,
        infinity: int,
        minsup: int,
        majority: bool,
        share_top: int = 0,
        share_bottom: int = 1,
    ) -> None: ...

# Passes over numbered paths

def ascend(
    levels: int,
    lattice: Lattice,
    costs: Costs,
    counts: Indices,
    least: Indices,
    control: Control | None = None,
) -> None: ...
def ascend_through(
    first: int,
    stop: int,
    lattice: Lattice,
    costs: Costs,
    counts: Indices,
    least: Indices,
    control: Control | None = None,
) -> None: ...
def afford(
    lattice: Lattice,
    exists: Flags,
    least: Indices,
    budgets: Indices,
    live: Flags,
    found: Indices,
    control: Control | None = None,
) -> None: ...
def lead_to_live(
    lattice: Lattice, live: Flags, behind: Indices, control: Control | None = None
) -> None: ...
def find_tree(
    cost: int, both: Indices, rows: Indices, on_path: Flags, costs: Costs, rest: int
) -> tuple[int, int, int]: ...

# Bounds on trees and cells, and drawn trees

class Ways:
    support: Indices
    largest: Indices
    live: Flags
    def __init__(
        self,
        lattice: Lattice,
        costs: Costs,
        key_weights: Indices,
        key_constant: int,
        trivial_splits: bool,
        multiplicity: Indices,
        counts: Indices,
        support: Indices,
        largest: Indices,
        live: Flags,
        least: Indices,
        budgets: Indices,
    ) -> None: ...

class Bounds:
    trees: Floats
    splitting: Floats
    active: Floats
    candidates: Words
    looked: Flags
    splits: Floats
    leaf: int
    def __init__(
        self,
        trees: Floats,
        splitting: Floats,
        active: Floats,
        candidates: Words,
        looked: Flags,
        splits: Floats,
        leaf: int,
    ) -> None: ...

class Spans:
    weights: Indices
    per_leaf: Indices
    def __init__(self, weights: Indices, per_leaf: Indices) -> None: ...

def bound_levels(
    ways: Ways, spans: Spans, bounds: Bounds, fine: bool, control: Control | None = None
) -> tuple[Floats, Floats]: ...
def bounds_by_size(ways: Ways, bounds: Bounds, level: int) -> Floats: ...
def draw_trees(
    ways: Ways,
    bounds: Bounds,
    table: Table,
    level: int,
    attempts: int,
    seed: int,
    free: bool,
    most_leaves: int,
    control: Control | None = None,
) -> tuple[Indices, Indices, Flags, int]: ...
def choose(weights: Floats, share: float) -> int: ...
def pair_counts(table: Table, features: Indices, negative: Flags) -> Any: ...

# Sums over all trees by C functions

class SemiringFunctions:
    def __init__(self, add: int, mul: int, leaf: int) -> None: ...

class LeafMetrics:
    weights: Floats
    constants: Floats
    def __init__(
        self, weights: Floats, constants: Floats, costs: Costs, trivial_splits: bool
    ) -> None: ...

def sum_last(
    first: int,
    stop: int,
    table: Table,
    lattice: Lattice,
    functions: SemiringFunctions,
    leaves: LeafMetrics,
    multiplicity: Indices,
    wanted: Flags,
    value: Floats,
    any: Flags,
    control: Control,
) -> None: ...
def sum_above(
    lattice: Lattice,
    functions: SemiringFunctions,
    leaves: LeafMetrics,
    multiplicity: Indices,
    counts: Indices,
    value: Floats,
    any: Flags,
    control: Control,
) -> float | None: ...

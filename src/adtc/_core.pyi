"""The native core's entry points: arrays in, arrays out; made by `make stub`."""

from collections.abc import Sequence
from types import ModuleType

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Codes = npt.NDArray[np.int32]
Words = npt.NDArray[np.uint64]
Floats = npt.NDArray[np.float64]
Truths = npt.NDArray[np.bool_]

LEVELS: tuple[str, ...]

def available_levels() -> tuple[str, ...]: ...
def load_level(level: str) -> ModuleType: ...

LEVEL: str

def supports(level: str) -> bool: ...

class Control:
    def __init__(self) -> None: ...
    def cancel(self) -> None: ...
    def set_time_limit(self, seconds: float) -> None: ...
    def set_resident_limit(self, bytes: int) -> None: ...
    def check(self) -> None: ...
    @property
    def cancelled(self) -> bool: ...

def resident_bytes() -> int: ...
def return_memory() -> None: ...

class Cancelled(Exception):
    pass

class OutOfTime(Exception):
    pass

class OutOfMemory(Exception):
    pass

class Table:
    def __init__(
        self,
        words: Words,
        offsets: Ints,
        rows: Ints,
        plane_group: Ints,
        plane_shift: Ints,
        totals: Ints,
    ) -> None: ...
    @property
    def words(self) -> Words: ...
    @property
    def offsets(self) -> Ints: ...
    @property
    def rows(self) -> Ints: ...
    @property
    def plane_group(self) -> Ints: ...
    @property
    def plane_shift(self) -> Ints: ...
    @property
    def totals(self) -> Ints: ...
    def __reduce__(self) -> tuple[object, ...]: ...

class Lattice:
    def __init__(
        self, binomial: Ints, base: Ints, features: int, levels: int, rest: int
    ) -> None: ...
    @property
    def binomial(self) -> Ints: ...
    @property
    def base(self) -> Ints: ...
    @property
    def features(self) -> int: ...
    @property
    def levels(self) -> int: ...
    @property
    def rest(self) -> int: ...
    def __reduce__(self) -> tuple[object, ...]: ...

class Evidence:
    def __init__(self, rho: Floats, totals: Ints, blank: bool) -> None: ...

class TreePrior:
    def __init__(
        self, leaf: Floats, split: Floats, rule: int, features: int, minsup: int, most_leaves: int
    ) -> None: ...

class BayesPass:
    def __init__(
        self,
        table: Table,
        lattice: Lattice,
        counts: Ints,
        evidence: Evidence,
        prior: TreePrior,
        groups: Ints,
        excluded: int,
    ) -> None: ...
    def sum_last(self, first: int, stop: int, wanted: Truths, control: Control) -> None: ...
    def sum_above(self, control: Control) -> None: ...
    def total(self, channel: int) -> tuple[Floats, Ints]: ...
    def best(self) -> tuple[Floats, Ints]: ...
    def choices(
        self, features: Ints, negative: Truths, size: int, best: bool
    ) -> tuple[tuple[Floats, Ints], int]: ...
    def hand_down(
        self, least: float, live: Truths, control: Control
    ) -> tuple[Ints, Floats, Ints, float]: ...
    def leaves_last(
        self,
        first: int,
        stop: int,
        wanted: Truths,
        least: float,
        names: Lattice,
        most: int,
        control: Control,
    ) -> tuple[Ints, Floats, Ints, float]: ...

def mix_leaves(
    literals: Codes, shares: Floats, ones: Floats, out: Floats, control: Control
) -> None: ...
def literals_of(names: Lattice, numbers: Ints, depth: int) -> Codes: ...

class Costs:
    def __init__(
        self,
        weights: Ints,
        constants: Ints,
        group_label: Ints,
        infinity: int,
        minsup: int,
        majority: bool,
        share_top: int = 0,
        share_bottom: int = 1,
    ) -> None: ...
    @property
    def weights(self) -> Ints: ...
    @property
    def constants(self) -> Ints: ...
    @property
    def group_label(self) -> Ints: ...
    @property
    def infinity(self) -> int: ...
    @property
    def minsup(self) -> int: ...
    @property
    def majority(self) -> bool: ...
    @property
    def share_top(self) -> int: ...
    @property
    def share_bottom(self) -> int: ...

def inside_job_bytes(table: Table, costs: Costs) -> int: ...

class InsidePass:
    def __init__(
        self,
        table: Table,
        lattice: Lattice,
        costs: Costs,
        memory: int,
        threads: int,
        most_spread: int,
    ) -> None: ...
    @property
    def phases(self) -> int: ...
    def run(
        self,
        phase: int,
        first: int,
        stop: int,
        counts: Ints,
        least: Ints,
        splits: Ints,
        control: Control,
    ) -> None: ...

class Ways:
    def __init__(
        self,
        lattice: Lattice,
        costs: Costs,
        leaves: Leaves,
        trivial_splits: bool,
        multiplicity: Ints,
        counts: Ints,
        support: Ints,
        largest: Ints,
        live: Truths,
        least: Ints,
        budgets: Ints,
    ) -> None: ...
    @property
    def support(self) -> Ints: ...
    @property
    def largest(self) -> Ints: ...
    @property
    def live(self) -> Truths: ...

class Bounds:
    def __init__(
        self,
        trees: Floats,
        splitting: Floats,
        active: Floats,
        candidates: Words,
        looked: Truths,
        splits: Floats,
        leaf: int,
    ) -> None: ...
    @property
    def trees(self) -> Floats: ...
    @property
    def splitting(self) -> Floats: ...
    @property
    def active(self) -> Floats: ...
    @property
    def candidates(self) -> Words: ...
    @property
    def looked(self) -> Truths: ...
    @property
    def splits(self) -> Floats: ...
    @property
    def leaf(self) -> int: ...

class Spans:
    def __init__(self, weights: Ints, per_leaf: Ints) -> None: ...
    @property
    def weights(self) -> Ints: ...
    @property
    def per_leaf(self) -> Ints: ...

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
) -> tuple[Ints, Ints, Truths, int]: ...
def choose(weights: Floats, share: float) -> int: ...
def pair_counts(table: Table, features: Ints, negative: Truths) -> Ints: ...
def ascend(
    levels: int,
    lattice: Lattice,
    costs: Costs,
    counts: Ints,
    least: Ints,
    control: Control | None = None,
) -> None: ...
def ascend_through(
    first: int,
    stop: int,
    lattice: Lattice,
    costs: Costs,
    counts: Ints,
    least: Ints,
    control: Control | None = None,
) -> None: ...
def afford(
    lattice: Lattice,
    exists: Truths,
    least: Ints,
    budgets: Ints,
    live: Truths,
    found: Ints,
    control: Control | None = None,
) -> None: ...
def lead_to_live(
    lattice: Lattice, live: Truths, behind: Ints, control: Control | None = None
) -> None: ...
def find_tree(
    cost: int, both: Ints, rows: Ints, on_path: Truths, costs: Costs, rest: int
) -> tuple[int, int, int]: ...

class SemiringFunctions:
    def __init__(self, add: int, mul: int, leaf: int) -> None: ...

class LeafMetrics:
    def __init__(
        self, weights: Floats, constants: Floats, costs: Costs, trivial_splits: bool
    ) -> None: ...
    @property
    def weights(self) -> Floats: ...
    @property
    def constants(self) -> Floats: ...

def sum_last(
    first: int,
    stop: int,
    table: Table,
    lattice: Lattice,
    functions: SemiringFunctions,
    leaves: LeafMetrics,
    multiplicity: Ints,
    wanted: Truths,
    value: Floats,
    any: Truths,
    control: Control,
) -> None: ...
def sum_above(
    lattice: Lattice,
    functions: SemiringFunctions,
    leaves: LeafMetrics,
    multiplicity: Ints,
    counts: Ints,
    value: Floats,
    any: Truths,
    control: Control,
) -> float | None: ...

class Leaves:
    def __init__(
        self,
        key_weights: Ints,
        key_constant: int,
        cost_weights: Ints,
        cost_constants: Ints,
        group_label: Ints,
        minsup: int,
        majority: bool,
        trivial_splits: bool,
        dense: bool,
        most_leaves: int,
        share_top: int = 0,
        share_bottom: int = 1,
        root_leaf: bool = True,
    ) -> None: ...
    def coarsen(self, weights: Ints, constants: Ints, widths: Ints, strides: Ints) -> None: ...
    @property
    def key_weights(self) -> Ints: ...
    @property
    def key_constant(self) -> int: ...
    @property
    def cost_weights(self) -> Ints: ...
    @property
    def cost_constants(self) -> Ints: ...
    @property
    def group_label(self) -> Ints: ...
    @property
    def minsup(self) -> int: ...
    @property
    def majority(self) -> bool: ...
    @property
    def trivial_splits(self) -> bool: ...
    @property
    def dense(self) -> bool: ...
    @property
    def most_leaves(self) -> int: ...
    @property
    def share_top(self) -> int: ...
    @property
    def share_bottom(self) -> int: ...
    @property
    def root_leaf(self) -> bool: ...
    def __reduce__(self) -> tuple[object, ...]: ...
    @property
    def wide(self) -> bool: ...

class Pool:
    def __init__(self, limbs: int, functionals: int, wide: bool = False) -> None: ...
    @property
    def bytes(self) -> int: ...
    def release(self) -> tuple[Ints, Words, Ints]: ...

class Level:
    def __init__(
        self, keys: Ints, values: Words, costs: Ints, starts: Ints, stops: Ints
    ) -> None: ...
    @property
    def keys(self) -> Ints: ...
    @property
    def values(self) -> Words: ...
    @property
    def costs(self) -> Ints: ...
    @property
    def starts(self) -> Ints: ...
    @property
    def stops(self) -> Ints: ...

def fill_last(
    control: Control,
    pool: Pool,
    job: int,
    table: Table,
    lattice: Lattice,
    leaves: Leaves,
    multiplicity: Ints,
    first: int,
    stop: int,
    wanted: Truths,
    budgets: Ints,
    most_bytes: int,
    starts: Ints,
    stops: Ints,
) -> int: ...
def fill_single(
    pool: Pool,
    job: int,
    lattice: Lattice,
    leaves: Leaves,
    numbers: Ints,
    counts: Ints,
    budgets: Ints,
    starts: Ints,
    stops: Ints,
) -> None: ...
def fill_level(
    control: Control,
    pool: Pool,
    job: int,
    lattice: Lattice,
    level: int,
    numbers: Ints,
    leaves: Leaves,
    multiplicity: Ints,
    counts: Ints,
    live: Truths,
    budgets: Ints,
    below: Level,
    most_bytes: int,
    starts: Ints,
    stops: Ints,
    share: int = 0,
    shares: int = 1,
) -> int: ...
def bound_level(
    lattice: Lattice,
    level: int,
    numbers: Ints,
    labels: int,
    multiplicity: Ints,
    live: Truths,
    below: Floats,
    bounds: Floats,
) -> float: ...
def tree_counts(level: Level) -> Floats: ...
def axis_column(keys: Ints, low: int, stride: int, radix: int, offset: int) -> Ints: ...
def marked_cells(keys: Ints, values: Words, marked: Truths) -> tuple[Ints, Words]: ...

class Cursor:
    def __init__(
        self,
        table: Table,
        lattice: Lattice,
        leaves: Leaves,
        multiplicity: Ints,
        counts: Ints,
        budgets: Ints,
        live: Truths,
        levels: Sequence[Level],
        twin_starts: Ints,
        twin_features: Ints,
        twin_flipped: Truths,
        most_bytes: int,
    ) -> None: ...
    def unrank(self, keys: Ints, ranks: Words, control: Control) -> tuple[Ints, Ints]: ...
    def rank(self, codes: Ints, twins: Ints, keys: Ints) -> list[int]: ...
    def labels(self, at: tuple[int, int, int], key: int) -> list[int]: ...
    def splits(
        self, at: tuple[int, int, int], key: int
    ) -> tuple[Ints, Ints, Words, Ints, Words]: ...
    def child(
        self, at: tuple[int, int, int], feature: int, negative: bool
    ) -> tuple[int, int, int]: ...
    def sums(
        self,
        keys: Ints,
        rows: Table,
        functions: SemiringFunctions,
        leaves: LeafMetrics,
        most_bytes: int,
        control: Control,
    ) -> Floats: ...
    @property
    def limbs(self) -> int: ...
    @property
    def bytes(self) -> int: ...

def route_rows(table: Table, starts: Ints, codes: Ints, labels: int, control: Control) -> Ints: ...
def build_trees(starts: Ints, codes: Ints, leaves: list[object], split: object) -> list[object]: ...

class Circuit:
    def __init__(
        self,
        table: Table,
        lattice: Lattice,
        leaves: Leaves,
        multiplicity: Ints,
        counts: Ints,
        budgets: Ints,
        live: Truths,
        levels: Sequence[Level],
    ) -> None: ...

def weighted_counts(
    control: Control,
    circuit: Circuit,
    groups: Ints,
    n_groups: int,
    weights: Words,
    limbs: int,
    most_bytes: int,
) -> Words: ...
def minimal_variable_sets(
    control: Control,
    circuit: Circuit,
    groups: Ints,
    starts: Ints,
    variables: Ints,
    total: int,
    most_bytes: int,
) -> Words: ...
def variable_set_counts(
    control: Control,
    circuit: Circuit,
    groups: Ints,
    n_groups: int,
    starts: Ints,
    variables: Ints,
    counts: Ints,
    total: int,
    limbs: int,
    most_bytes: int,
) -> tuple[Ints, Words, Words]: ...

class SwitchedErrors:
    def errors(self) -> Ints: ...
    def trees(
        self, groups: Ints, lanes: Ints, features: Ints, flipped: Truths
    ) -> tuple[Ints, Ints]: ...

def switched_errors(
    control: Control,
    circuit: Circuit,
    groups: Ints,
    n_groups: int,
    column_of: Ints,
    columns: int,
    most_bytes: int,
) -> SwitchedErrors: ...

class TreeList:
    pass

class TreeContext:
    pass

class PartialTrees:
    def __init__(self, circuit: Circuit, limbs: int) -> None: ...
    def every(self, at: tuple[int, int, int]) -> TreeList: ...
    def leaf(self, at: tuple[int, int, int], label: int) -> TreeList: ...
    def join(self, at: tuple[int, int, int], ones: TreeList, zeros: TreeList) -> TreeList: ...
    def root(self, good: Ints, ranks: Ints) -> TreeContext: ...
    def below(
        self, at: tuple[int, int, int], context: TreeContext, child: TreeList, sibling: TreeList
    ) -> TreeContext: ...
    def count(self, context: TreeContext, trees: TreeList) -> list[int]: ...
    def counts_of(self, trees: TreeList, keys: Ints) -> Words: ...
    def split_counts(
        self, at: tuple[int, int, int], context: TreeContext
    ) -> tuple[Ints, Words]: ...
    def least_rank(self, context: TreeContext, trees: TreeList) -> int: ...
    def split_ranks(self, at: tuple[int, int, int], context: TreeContext) -> tuple[Ints, Ints]: ...
    def child(
        self, at: tuple[int, int, int], feature: int, negative: bool
    ) -> tuple[int, int, int]: ...

class Backward:
    def __init__(
        self,
        table: Table,
        lattice: Lattice,
        leaves: Leaves,
        multiplicity: Ints,
        counts: Ints,
        budgets: Ints,
        live: Truths,
        levels: Sequence[Level],
        limbs: int,
        most_bytes: int,
    ) -> None: ...
    def watch(
        self, records: Words, names: Ints, mixed: Ints, mixed_names: Ints, rows: int, list: bool
    ) -> None: ...
    def begin(self, weights: Words) -> None: ...
    def begin_real(self, weights: Floats) -> None: ...
    def open(self, level: int) -> int: ...
    def fill(self, level: int, job: int, first: int, stop: int, control: Control) -> None: ...
    def close(self, level: int) -> None: ...
    def start_visits(self, level: int) -> int: ...
    def visit(self, level: int, job: int, first: int, stop: int, control: Control) -> None: ...
    def totals(self) -> object: ...
    def tally(self) -> object: ...
    def events(self) -> object: ...

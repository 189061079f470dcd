"""What `explain` says: the plan and the costs of a question, and what a run needed beside them."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from adtc.engine.forecast import layout
from adtc.engine.forecast.wording import AxisRange, FilteredAtom, PushedAtom
from adtc.engine.record import RunRecord, Status


@dataclass(frozen=True, slots=True)
class Explanation:
    """How a question will be answered; ``print`` it, or take its fields.

    Parameters
    ----------
    engine, reason
        Which engine answers, and why.
    features, usable_features, distinct_features
        All features; those that can split the table at all; those left when twins are merged.
    row_groups, all_row_groups
        Kinds of rows that the question tells apart, of those that the table has.
    pushed, filtered
        Atoms of the constraint that cut the computation short, and those only checked at the end.
    subproblems
        Paths per level. The fast engine goes to two levels above the leaves and takes unordered
        paths; the specification engine takes sequences of tests, down to the leaves.
    tests
        What the space says about tests, in words.
    live
        How many of these the bounds leave; None if that was not looked at.
    trees, cells, level_cells, most_cells, pairs
        Of the result, before the final filter: how many trees and cells there will be, also in the
        tensors of each level, counted where a moment is enough and else estimated from drawn
        trees; a number of cells that it does not exceed; and pairs of cells that are multiplied.
        None if that was not looked at.
    tried
        Whether these were counted.
    key_bits, number_bits
        Width of a packed index, and a width that surely holds every count.
    memory, tensor_memory
        Bytes of the fast engine's table of subproblems, and of its tensors with the room that
        they need while they grow.
    seconds
        An estimate for one thread: what is done, times what it costs (`pricing`).
    status
        What kind of answer the question would get within the monitor's limits: as every answer
        has one, None where it would be refused, or "unknown" where the tensors were not foreseen.
    refusal
        Why the question would not be started; None if it would.
    tables
        Further tables, each with its rows.
    advice
        Changes that would make a question cheaper that takes long or may not fit.
    """

    engine: Literal["fast", "spec"]
    reason: str
    rows: int
    features: int
    usable_features: int
    distinct_features: int
    row_groups: int
    all_row_groups: int
    max_depth: int
    min_rows_per_leaf: int
    max_size: int | None
    axes: tuple[AxisRange, ...]
    pushed: tuple[PushedAtom, ...]
    filtered: tuple[FilteredAtom, ...]
    subproblems: tuple[int, ...]
    key_bits: int | None
    number_bits: int
    memory: int | None
    seconds: float
    live: tuple[int, ...] | None = None
    trees: float | None = None
    cells: float | None = None
    level_cells: tuple[float, ...] | None = None
    most_cells: float | None = None
    pairs: int | None = None
    tried: bool = False
    status: Status | Literal["unknown"] | None = "exact"
    tensor_memory: int | None = None
    refusal: str | None = None
    tables: tuple[tuple[str, int], ...] = ()
    tests: tuple[str, ...] = ()
    advice: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return the explanation as plain JSON values."""
        return asdict(self)

    def compared_with(self, record: RunRecord) -> "Comparison":
        """Set what a run needed beside what was foreseen."""
        live = record.details.get("live_subproblems", ())
        levels = tuple(
            Compared(f"live subproblems, level {level}", foreseen, int(found))
            for level, (foreseen, found) in enumerate(
                zip(self.live or self.subproblems, live, strict=False)
            )
        )
        tensors = record.details.get("tensors", {})
        by_level = tuple(
            Compared(f"cells, level {level}", _rounded(self.level_cells, level), int(found))
            for level, found in enumerate(tensors.get("cells", ()))
        )
        memory = (
            (Compared("memory of tensors, MB", _megabytes(self.tensor_memory), found),)
            if (found := _megabytes(tensors.get("bytes"))) is not None
            else ()
        )
        return Comparison(
            (
                *levels,
                *by_level,
                Compared("cell_scan", self.pairs, record.cell_scan),
                Compared("num_cells", _rounded((self.cells,), 0), record.num_cells),
                *memory,
                Compared("seconds", self.seconds, round(record.seconds, 3)),
            )
        )

    def __str__(self) -> str:
        return layout.explanation_text(self)


@dataclass(frozen=True, slots=True)
class Compared:
    """One cost as foreseen (None: not foreseeable) and as found."""

    what: str
    estimated: float | None
    actual: float


@dataclass(frozen=True, slots=True)
class Comparison:
    """What a run needed beside what was foreseen."""

    costs: tuple[Compared, ...]

    def to_json(self) -> list[dict[str, Any]]:
        """Return the comparison as plain JSON values."""
        return [asdict(cost) for cost in self.costs]

    def __str__(self) -> str:
        return layout.comparison_text(self)


def _rounded(numbers: Sequence[float | None] | None, at: int) -> int | None:
    """Return an estimate as a whole number, if there is one."""
    if numbers is None or at >= len(numbers) or (found := numbers[at]) is None:
        return None
    return round(found)


def _megabytes(size: int | None) -> float | None:
    return None if size is None else round(size / 1e6, 2)

"""The tensors of all levels as tasks, each level from the one below; parts may be kept."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, cast

from adtc import _core
from adtc.engine.executors import tasks
from adtc.engine.executors.checkpoint import Finished
from adtc.engine.executors.parts import Arrays, paths_of_features, slices
from adtc.engine.executors.submitting import Future, Tasks
from adtc.engine.levels import LastLevel, MemoryAccount, UpperLevel
from adtc.engine.tensors import Piece, TensorInputs, joined

_ROOTS = 4  # ranges of first tests for each worker's thread


@dataclass(frozen=True, slots=True)
class LevelBuilder:
    """Submits the tasks of all levels, last one first.

    Parameters
    ----------
    inputs
        What the base is made of, where that is known here: then parts can be kept.
    """

    submitted: Tasks
    lattice: _core.Lattice
    base: Future
    key: str
    inputs: TensorInputs | None = None

    def levels(self, live: Sequence[int]) -> list[Future]:
        """Return the levels, root first."""
        last, memory = self.lattice.levels, self.submitted.memory
        pieces = self._pieces(
            last,
            paths_of_features(self.lattice),
            lambda r: self._submit(tasks.last_part, r, self.base, (r.start, r.stop), memory),
        )
        if last == 0:
            return pieces
        levels = [self.submitted.submit(self.key, tasks.last_joined, pieces)]
        for level in range(last - 1, 0, -1):
            part = partial(self._upper, level, levels[0])
            pieces = self._pieces(level, [1] * live[level], part, levels[0])
            levels.insert(0, self.submitted.submit(
                f"{self.key}-{level}", tasks.upper_joined, self.base, level, levels[0], pieces
            ))  # fmt: skip
        (root,) = self._pieces(0, [1], lambda _: self._root(levels[0]), levels[0])
        return [root, *levels]

    def _pieces(
        self,
        level: int,
        weights: Sequence[int],
        make: Callable[[range], Future],
        below: Future | None = None,
    ) -> list[Future]:
        """Have the parts of a level made, or taken from a checkpoint."""
        units, kept = range(len(weights)), self.submitted.monitor.checkpoint
        if kept is None or self.inputs is None or not units:
            return [make(r) for r in slices(weights, units) or [units]]
        account = MemoryAccount(self.submitted.monitor)
        stage: LastLevel | UpperLevel = LastLevel(self.inputs, account, level)
        if below is not None:
            key = f"{self.key}-{level}"
            limbs = self.submitted.submit(key, tasks.limbs_of, self.base, level, below)
            stage = UpperLevel(
                self.inputs, account, level, nodes=self.inputs.nodes(level),
                below=cast(Any, None), limbs=self.submitted.result(limbs, "tensors"),
            )  # fmt: skip
        parts = _KeptLevel(stage, self.submitted, make)
        kept.complete(parts, units, parts.compute_all)
        return [parts.futures[r] for r in sorted(parts.futures, key=lambda r: r.start)]

    def _upper(self, level: int, below: Future, units: range) -> Future:
        return self._submit(
            tasks.upper_part, units, self.base, level, below, (units.start, units.stop),
            self.submitted.memory, level=level,
        )  # fmt: skip

    def _root(self, below: Future) -> Future:
        """Sum over ranges of first tests, and add the sums up in a tree."""
        n, memory = self.lattice.features, self.submitted.memory
        most = _ROOTS * self.submitted.threads
        sums = [
            self._submit(tasks.root_part, r, self.base, below, (r.start, r.stop), memory)
            for r in slices([1] * n, range(n), most)
        ]
        height = 0
        while len(sums) > 1:
            pairs = [sums[at : at + 2] for at in range(0, len(sums), 2)]
            sums = [
                self.submitted.submit(f"{self.key}-{most}-{height}-{at}", tasks.root_sum, pair)
                for at, pair in enumerate(pairs)
            ]
            height += 1
        return sums[0]

    def _submit(
        self, work: Callable[..., Any], units: range, *args: Any, level: int | None = None
    ) -> Future:
        name = "" if level is None else f"-{level}"
        return self.submitted.submit(f"{self.key}{name}-{units.start}-{units.stop}", work, *args)


@dataclass(slots=True)
class _KeptLevel:
    """A level whose parts stay with the workers: see `parts.Stage`. They come here to be kept."""

    level: LastLevel | UpperLevel  # tells what parts must be like, and computes nothing
    submitted: Tasks
    make: Callable[[range], Future]
    futures: dict[range, Future] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Say which level it is."""
        return self.level.name

    @property
    def key(self) -> str:
        """Return a digest of all that the level follows from."""
        return self.level.key

    @property
    def weights(self) -> list[int]:
        """Guess the work of each unit."""
        return self.level.weights

    def begin(self) -> None:
        """Parts share nothing but the inputs, which workers have."""

    def compute_all(self, parts: list[range], finished: Finished) -> None:
        """Have parts made, all at once."""
        for units in parts:
            self.compute(units)
        made = {units: self.futures[units] for units in parts}
        self.submitted.finish(made, "tensors", finished)

    def compute(self, units: range) -> None:
        """Have a worker make some units."""
        self.futures[units] = self.make(units)

    def take(self, units: range) -> Arrays:
        """Fetch the tensors of some units."""
        parts = sorted((r for r in self.futures if r.start in units), key=lambda r: r.start)
        pieces = (self.submitted.result(self.futures[r], "tensors") for r in parts)
        return joined(pieces)._asdict()

    def check(self, units: range, arrays: Arrays) -> None:
        """Raise `ValueError` unless arrays can be the tensors of some units."""
        self.level.check(units, arrays)

    def put(self, units: range, arrays: Arrays) -> None:
        """Send tensors made earlier to a worker, as arguments: what it loses is sent again."""
        self.futures[units] = self.submitted.submit(
            f"{self.key}-{units.start}-{units.stop}", Piece, *(arrays[f] for f in Piece._fields)
        )

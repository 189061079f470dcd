"""Checkpoints: finished parts of a long run in a folder, to go on from after a crash.

One file per part, written whole or not at all. It holds a line of JSON with the key of its content
and the names of its arrays, the arrays in NumPy's own format, and a digest of all that. A file that
is not exactly what was written is computed anew, whatever happened to it.
"""

import hashlib
import json
import os
import re
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from time import perf_counter
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from adtc.atomic import reason_of, remove_abandoned, replacing
from adtc.engine.executors import run_jobs
from adtc.engine.executors.parts import Arrays, Stage, slices
from adtc.errors import DataError, QueryError

if TYPE_CHECKING:
    from adtc.engine.monitor import Monitor

_SUFFIX = ".adtc-part"
_NAME = re.compile(r"(\w+)-([0-9a-f]{64})-(\d+)-(\d+)\.adtc-part")
_WORTH = 0.2  # seconds of computing that are worth a file
_DIGEST = 32  # bytes at the end of a file
Finished = Callable[[range, float], None]
"""Is told each part once it is computed, and how many seconds that took."""


class Checkpoint:
    """A folder with the parts of runs; those of several questions may lie there side by side.

    Parameters
    ----------
    folder
        Made if it is not there; one that holds nothing but files of another kind is refused.
    resume
        Whether there must be something to go on from.

    Examples
    --------
    >>> import adtc, tempfile
    >>> data = adtc.Data.from_arrays([[1], [1], [0]], [1, 1, 0])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     monitor = adtc.Monitor(checkpoint=Checkpoint(folder))
    ...     number = adtc.count(data, adtc.Space(max_depth=1), monitor=monitor)
    >>> int(number), number.record.details["checkpoint"]
    (6, {'reused': 0, 'written': 0})
    """

    def __init__(self, folder: str | PathLike[str], *, resume: bool = False) -> None:
        self.folder, self.resume = Path(folder), resume
        self.reused = self.written = 0
        self.damaged: list[str] = []
        self.failure: str | None = None
        self._said: set[str] = set()
        self._lock = threading.Lock()
        self._open()

    def _open(self) -> None:
        """Make the folder, or see whether it is one of checkpoints."""
        try:
            if not self.resume:
                self.folder.mkdir(parents=True, exist_ok=True)
            names = os.listdir(self.folder) if self.folder.is_dir() else []
            writable = self.resume or os.access(self.folder, os.W_OK)
        except OSError as error:
            raise DataError(
                f"cannot keep checkpoints in '{self.folder}': {reason_of(error)}; give a folder "
                f"that can be written."
            ) from None
        if not writable:
            raise DataError(
                f"cannot keep checkpoints in '{self.folder}': permission is denied; give a folder "
                f"that can be written."
            )
        parts = [name for name in names if _NAME.fullmatch(name)]
        if self.resume and not parts:
            raise QueryError(
                f"there is nothing to resume in '{self.folder}': give the folder of an earlier "
                f"run, or leave out resume to begin one there."
            )
        visible = [name for name in names if not name.startswith(".adtc-")]
        if visible and not parts:
            raise QueryError(
                f"the folder '{self.folder}' holds other files, such as '{min(visible)}', and no "
                f"checkpoint: give an empty folder, or one that is not there yet."
            )
        remove_abandoned(self.folder)

    @property
    def notes(self) -> list[str]:
        """Say in one sentence each what went wrong with files."""
        found = [self.failure] if self.failure else []
        if self.damaged:
            others = f" and {len(self.damaged) - 1} more" if len(self.damaged) > 1 else ""
            found.append(
                f"the checkpoint '{self.damaged[0]}'{others} was damaged or of another run, and "
                f"was computed anew."
            )
        return found

    def news(self) -> list[str]:
        """Say what has been reused, or went wrong, since this was last asked."""
        parts = "part was" if self.reused == 1 else "parts were"
        reused = [f"{self.reused:,} {parts} taken from '{self.folder}'."] if self.reused else []
        new = [sentence for sentence in [*self.notes, *reused] if sentence not in self._said]
        self._said.update(new)
        return new

    def to_json(self) -> dict[str, Any]:
        """Return what a record tells."""
        fields: dict[str, Any] = {"reused": self.reused, "written": self.written}
        return {**fields, "notes": self.notes} if self.notes else fields

    def complete(
        self,
        stage: Stage,
        units: range,
        compute: Callable[[list[range], Finished], None],
    ) -> None:
        """Have some units of a stage done: taken from files, or computed and kept."""
        key, done = stage.key, units.start
        gaps = []
        for some in self._parts_in(stage.name, key, units):
            if some.start >= done and self._load(stage, key, some):
                gaps.append(range(done, some.start))
                done = some.stop
        gaps.append(range(done, units.stop))
        parts = [part for gap in gaps if gap for part in slices(stage.weights, gap)]
        if parts:
            writer = _Writer(self, stage, key)
            compute(parts, writer.finished)
            writer.flush()

    def _parts_in(self, name: str, key: str, units: range) -> list[range]:
        """List the parts of a stage that lie in the folder and within some units."""
        matches = map(_NAME.fullmatch, _listed(self.folder))
        found = (
            range(int(match[3]), int(match[4]))
            for match in matches
            if match is not None and (match[1], match[2]) == (name, key)
        )
        inside = (r for r in found if r and r.start >= units.start and r.stop <= units.stop)
        return sorted(inside, key=lambda r: (r.start, -r.stop))

    def _path(self, name: str, key: str, units: range) -> Path:
        return self.folder / f"{name}-{key}-{units.start}-{units.stop}{_SUFFIX}"

    def _load(self, stage: Stage, key: str, units: range) -> bool:
        """Take a part from its file; False if that is not what was written."""
        path = self._path(stage.name, key, units)
        try:
            with path.open("rb") as file:
                arrays = _read(file, _header(stage.name, key, units))
            stage.check(units, arrays)
        except (OSError, ValueError, KeyError, MemoryError):
            self.damaged.append(path.name)
            with suppress(OSError):
                path.unlink()
            return False
        stage.put(units, arrays)
        self.reused += 1
        return True

    def write(self, stage: Stage, key: str, units: range) -> None:
        """Write a part; where that fails, say so once and write no more."""
        if self.failure is not None:
            return
        arrays = stage.take(units)
        try:
            with replacing(self._path(stage.name, key, units)) as file:
                _write(file, _header(stage.name, key, units), arrays)
        except DataError as error:
            reason = str(error).partition("': ")[2].rpartition(";")[0]
            self.failure = (
                f"no more checkpoints are kept in '{self.folder}', because {reason}; the run "
                f"goes on without them."
            )
            return
        with self._lock:
            self.written += 1


@dataclass(slots=True)
class _Writer:
    """Writes the parts that took long: small ones together with their neighbours."""

    checkpoint: Checkpoint
    stage: Stage
    key: str
    small: dict[range, float] = field(default_factory=dict)  # seconds of what is not written
    lock: threading.Lock = field(default_factory=threading.Lock)

    def finished(self, units: range, seconds: float) -> None:
        """Write a part if it took long, or with others once they did."""
        if seconds >= _WORTH:
            self.checkpoint.write(self.stage, self.key, units)
            return
        with self.lock:
            self.small[units] = seconds
            if sum(self.small.values()) >= 4 * _WORTH:
                self._flush()

    def flush(self) -> None:
        """Write what is left and took long enough."""
        with self.lock:
            self._flush()

    def _flush(self) -> None:
        for group in _neighbours(self.small):
            if sum(self.small[units] for units in group) >= _WORTH:
                together = range(group[0].start, group[-1].stop)
                self.checkpoint.write(self.stage, self.key, together)
                for units in group:
                    del self.small[units]


def complete(stage: Stage, units: range, monitor: "Monitor") -> None:
    """Have some units of a stage done on this machine, with the monitor's checkpoint."""

    def compute(parts: list[range], finished: Finished) -> None:
        def work(part: range) -> None:
            started = perf_counter()
            stage.compute(part)
            finished(part, perf_counter() - started)

        stage.begin()
        run_jobs(work, parts, f"parts of {stage.name}", monitor)

    assert monitor.checkpoint is not None
    monitor.checkpoint.complete(stage, units, compute)


def _neighbours(parts: Iterable[range]) -> list[list[range]]:
    """Group ranges that follow one another.

    Examples
    --------
    >>> _neighbours([range(3, 5), range(0, 2), range(2, 3), range(7, 8)])
    [[range(0, 2), range(2, 3), range(3, 5)], [range(7, 8)]]
    """
    groups: list[list[range]] = []
    for part in sorted(parts, key=lambda r: r.start):
        if groups and groups[-1][-1].stop == part.start:
            groups[-1].append(part)
        else:
            groups.append([part])
    return groups


def _listed(folder: Path) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


def _header(name: str, key: str, units: range) -> dict[str, Any]:
    return {"adtc": "part", "stage": name, "key": key, "units": [units.start, units.stop]}


class _Digesting:
    """A file to write to that digests what it is given."""

    def __init__(self, file: IO[bytes]) -> None:
        self.file, self.digest = file, hashlib.sha256()

    def write(self, data: Any) -> int:
        """Write and digest."""
        self.digest.update(data)
        return self.file.write(data)


def _write(file: IO[bytes], header: dict[str, Any], arrays: Arrays) -> None:
    """Write a part: its header, its arrays, and a digest of both."""
    out: Any = _Digesting(file)
    out.write(json.dumps({**header, "arrays": list(arrays)}).encode() + b"\n")
    for array in arrays.values():
        np.save(out, np.ascontiguousarray(array), allow_pickle=False)
    file.write(out.digest.digest())


def _read(file: IO[bytes], header: dict[str, Any]) -> Arrays:
    """Read a part; raise `ValueError` if it is not intact, or another one."""
    length = os.fstat(file.fileno()).st_size - _DIGEST
    digest, left = hashlib.sha256(), length
    while left > 0 and (block := file.read(min(left, 2**20))):
        digest.update(block)
        left -= len(block)
    if left or file.read() != digest.digest():
        raise ValueError("the digest of the part is another one")
    file.seek(0)
    try:
        told = json.loads(file.readline())
        names = told.pop("arrays")
        arrays = {name: np.load(file, allow_pickle=False) for name in names}
    except Exception as error:  # headers are Python expressions: their errors are of all kinds
        raise ValueError("the arrays of the part cannot be read") from error
    if told != header:
        raise ValueError("the part is another one")
    return {name: np.ascontiguousarray(array) for name, array in arrays.items()}

"""The run record that every answer carries: what was asked, of what, under which conventions."""

import math
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, fields
from fractions import Fraction
from typing import Any, Literal

from adtc._version import __version__
from adtc.data import Data
from adtc.engine.monitor import Monitor
from adtc.engine.query import Space

TESTS = ("banned", "required", "root", "max_variables")
"""What a `Space` says about the tests of trees."""

Status = Literal["exact", "bounded", "estimated", "partial"]


class Deferred:
    """A number, or a function that counts it when the number is first read."""

    def __get__(self, record: "RunRecord | None", owner: type) -> int:
        if record is None:
            return 0  # the default
        if callable(found := record.__dict__["_num_cells"]):
            found = record.__dict__["_num_cells"] = found()
        return int(found)

    def __set__(self, record: "RunRecord", value: int | Callable[[], int]) -> None:
        record.__dict__["_num_cells"] = value


@dataclass
class RunRecord:
    """What is needed to repeat and to judge an answer.

    Parameters
    ----------
    question
        The call in words: command, formula, metrics.
    cell_scan, num_cells
        The paper's machine-independent costs: cell pairs looked at by ⊗, cells in the result.
    """

    data: dict[str, Any]
    conventions: dict[str, Any]
    question: dict[str, Any]
    engine: str
    version: str = __version__
    status: Status = "exact"
    seed: int | None = None
    cell_scan: int = 0
    num_cells: Deferred = Deferred()
    seconds: float = 0.0
    details: dict[str, Any] = field(default_factory=dict)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_num_cells": self.num_cells}  # functions are not pickled

    @property
    def status_text(self) -> str:
        """Write the status, and what was finished where a limit stopped the run."""
        finished = self.details.get("finished")
        return f"{self.status}: exact for {finished}" if finished else self.status

    @property
    def reason(self) -> str:
        """Say what kept the answer from being exact, and how to go on."""
        told = (self.details.get(name) for name in ("stopped", "advice"))
        return f"{': '.join(filter(None, told))}."

    def to_json(self) -> dict[str, Any]:
        """Return the record as plain JSON values."""
        return asdict(self)


@contextmanager
def recording(
    data: Data, space: Space, engine: str, question: Mapping[str, Any]
) -> Iterator[RunRecord]:
    """Open a run record and fill in its seconds at the end."""
    record = RunRecord(
        data={
            "name": data.name,
            "rows": data.total,
            "features": data.n_features,
            "target": data.target,
            "labels": [str(label) for label in data.labels],
            "sensitive": data.sensitive,
            "groups": [str(group) for group in data.groups],
            "fingerprint": data.fingerprint,
            **_tables(data),
        },
        conventions={
            **{
                k: v if v is None or isinstance(v, int) else str(v)
                for k, v in ((f.name, getattr(space, f.name)) for f in fields(space))
                if k not in TESTS
            },
            # said only where it is not the default
            **tests_in(space),
            "min_rows_per_leaf": space.min_support(data.total),
            "trees": "syntactic; a feature at most once on a path",
        },
        question={k: v for k, v in question.items() if v is not None},
        engine=engine,
    )
    start = time.perf_counter()
    yield record
    record.seconds = time.perf_counter() - start


def note_checkpoint(record: RunRecord, monitor: Monitor) -> None:
    """Write into the record how many parts were kept, and taken from earlier runs."""
    if monitor.checkpoint is not None:
        record.details["checkpoint"] = monitor.checkpoint.to_json()


def tests_in(space: Space) -> dict[str, str | int]:
    """List what a space says about tests: names in a row, and numbers."""
    given = {name: getattr(space, name) for name in TESTS}
    words = {k: ", ".join(v) if isinstance(v, tuple) else v for k, v in given.items()}
    return {name: value for name, value in words.items() if value not in (None, "")}


def _tables(data: Data) -> dict[str, Any]:
    """Describe further tables, if there are any, and how they were read."""
    tables = [
        {
            "name": name,
            "rows": table.total,
            "fingerprint": table.fingerprint,
            **({"notes": list(table.notes)} if table.notes else {}),
        }
        for name, table in data.tables
    ]
    return {"tables": tables} if tables else {}


def log10(count: Fraction | int | None) -> float | None:
    """Return the decimal logarithm of a count of any size; None for zero, or where unknown."""
    if count is None or count <= 0:
        return None
    if count < 1:
        return math.log10(count)
    whole = round(count)
    shift = max(0, whole.bit_length() - 1000)  # math.log10 takes what fits into a float
    return math.log10(whole >> shift) + shift * math.log10(2)

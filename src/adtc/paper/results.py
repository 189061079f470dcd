"""The result of an experiment, and its files: CSV, pictures, and JSON last.

The JSON file is written when all others are there, so it marks a finished experiment.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from adtc.atomic import write_whole
from adtc.profiles.writing import write_csv
from adtc.show import Picture

Cell = str | int | float | None
Rows = Sequence[Sequence[Cell]]


@dataclass(frozen=True, slots=True)
class Panel:
    """One picture with the numbers that it shows.

    Parameters
    ----------
    rows
        The numbers, the first row names the columns.
    paint
        Makes the picture.
    """

    name: str
    title: str
    rows: Rows
    paint: Callable[[], Picture]


@dataclass(frozen=True, slots=True)
class Result:
    """The outcome of one experiment.

    Parameters
    ----------
    sentence
        What came out beside what the paper says.
    head, rows
        The main table.
    facts
        Numbers for programs, plain JSON values.
    """

    sentence: str
    head: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    panels: tuple[Panel, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)

    def write(self, folder: Path, name: str, about: Mapping[str, Any]) -> dict[str, Any]:
        """Write all files of the experiment and return what the JSON file says."""
        files = [f"{name}.csv"]
        write_csv(folder / files[0], [list(self.head), *_texts(self.rows)])
        pictures = []
        for panel in self.panels:
            stem = f"{name}-{panel.name}"
            write_csv(folder / f"{stem}.csv", _texts(panel.rows))
            picture = panel.paint()
            for suffix in (".png", ".svg"):
                picture.save(folder / f"{stem}{suffix}")
            files += [f"{stem}{suffix}" for suffix in (".csv", ".png", ".svg")]
            pictures.append({"stem": stem, "title": panel.title})
        summary = {
            **about,
            "sentence": self.sentence,
            "head": list(self.head),
            "rows": [list(row) for row in self.rows],
            "facts": dict(self.facts),
            "pictures": pictures,
            "files": files,
        }
        text = json.dumps(summary, indent=2, allow_nan=False, ensure_ascii=False)
        write_whole(folder / f"{name}.json", f"{text}\n")
        return summary


def read_finished(folder: Path, name: str, about: Mapping[str, Any]) -> dict[str, Any] | None:
    """Read what a finished experiment says; None if it is not there or about something else."""
    try:
        summary: dict[str, Any] = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
        same = all(summary.get(key) == value for key, value in about.items())
        complete = same and all((folder / file).is_file() for file in summary["files"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
    return summary if complete else None


def _texts(rows: Rows) -> list[list[str]]:
    return [["" if cell is None else str(cell) for cell in row] for row in rows]

"""Deep and wide questions: depth 6 and 7 on 12 to 40 features, depth 3 on 2,000.

First each command in a process of its own: CPU and wall seconds, the peak of its memory and the
first line that it says. A forecast must answer at once. Then the same questions to STreeD (one best
tree) and ArborEnum (trees near the best, all trees; in continuous mode, so that it gets the columns
whose cuts are our features), as in ``peers.py``, but in CPU seconds on one thread. Writes
``results/large.json`` after every answer. Run it as ``make bench-large``.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import machine
import numpy as np
import peers
import tables
from peer_cases import ANY, PEERS, Case

RESULT = Path(__file__).resolve().parent / "results" / "large.json"
SECONDS = 60  # for one tool on one question
_DL = ["--target", "0", "--no-header", "--sep", "space"]
_TIC = ["binarized-dl/tic-tac-toe.txt", *_DL]
_CHESS = ["binarized-dl/kr-vs-kp.txt", *_DL]
_COMPAS = [
    "binarized-sparse-trees/compas-binned.csv", "--target", "recidivate-within-two-years:1",
]  # fmt: skip
_WIDE = ["WIDE", "--target", "y", "--maxdep", "3"]
_LIMIT = ["--time-limit", "10", "--memory-limit", "4GB"]
QUESTIONS = (
    ["explain", *_TIC, "--maxdep", "7"],
    ["count", *_TIC, "--maxdep", "6"],
    ["count", *_TIC, "--maxdep", "7", "--where", "error <= 20", *_LIMIT],
    ["optimize", *_TIC, "--maxdep", "6"],
    ["explain", *_CHESS, "--maxdep", "7"],
    ["optimize", *_CHESS, "--maxdep", "6"],
    ["optimize", *_CHESS, "--maxdep", "7", *_LIMIT],
    ["count", *_COMPAS, "--maxdep", "7"],
    ["explain", *_WIDE],
    ["count", *_WIDE, "--relminsup", "0.05", *_LIMIT],
    ["count", *_WIDE, "--where", "error <= 700", *_LIMIT],
    ["optimize", *_WIDE, *_LIMIT],
)


def cases() -> Iterable[tuple[Case, tuple[str, ...]]]:
    """Yield the questions that a peer answers as well."""
    for table, depth in (
        ("tic-tac-toe", 6), ("tic-tac-toe", 7), ("primary-tumor", 6), ("primary-tumor", 7),
        ("compas-binary", 6), ("kr-vs-kp", 6), ("kr-vs-kp", 7), ("wide", 2), ("wide", 3),
    ):  # fmt: skip
        yield {"task": "errors", "table": table, "depth": depth, "clock": "cpu"}, ("streed",)
    for table, leaf, depth in (
        ("tic-tac-toe", 10, 6), ("tic-tac-toe", 10, 7), ("primary-tumor", 3, 6),
        ("primary-tumor", 3, 7), ("compas-binary", 72, 6), ("compas-binary", 72, 7),
        ("kr-vs-kp", 32, 6), ("wide", 20, 2), ("wide", 20, 3),
    ):  # fmt: skip
        near = {"task": "near", "table": table, "depth": depth, "leaf": leaf, "share": "0.05"}
        yield near | ANY | {"clock": "cpu"}, ("arborenum",)
    for table, depth in (("compas-binned", 6), ("compas-binned", 7), ("tic-tac-toe", 4)):
        asked = {"task": "space", "table": table, "depth": depth, "clock": "cpu"}
        yield asked | ANY, ("arborenum",)


def wide_table(folder: Path) -> list[str]:
    """Write the wide table as numbers, and say how to read it."""
    arrays = tables.wide()
    assert arrays.numbers is not None
    names = [f"x{i}" for i in range(arrays.numbers.shape[1])]
    path = folder / "wide.csv"
    everything = np.column_stack([arrays.numbers, arrays.y])
    np.savetxt(path, everything, "%d", ",", header=",".join([*names, "y"]), comments="")
    return [str(path), *(word for name in names for word in ("--cuts", f"{name}=all"))]


def main() -> int:
    """Print a line for each question, and keep it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", help="compare where the description contains this text")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="limit per tool and case")
    chosen = parser.parse_args()
    versions = {name: peers.install(PEERS[name]) for name in ("streed", "arborenum")}
    told: dict[str, Any] = {
        "machine": machine.describe(),
        "peers": {PEERS[n].package: found or failure for n, (found, failure) in versions.items()},
        "questions": [],
        "lines": [],
    }
    if not chosen.only:
        _ask_all(told)
    installed = [name for name, (version, _) in versions.items() if version]
    print(f"\n{peers.HEAD}")
    for line in peers.compare(cases(), chosen.only, installed, chosen.seconds):
        print(peers.as_row(line), flush=True)
        told["lines"].append(line)
        _keep(told, chosen.only)
    wrong = ("NO", "adtc is wrong")
    return int(any(line["agree"].startswith(wrong) for line in told["lines"]))


def _keep(told: dict[str, Any], only: str | None) -> None:
    if not only:  # never a part in place of everything
        RESULT.parent.mkdir(exist_ok=True)
        RESULT.write_text(json.dumps(told, indent=1), encoding="utf-8")


def _ask_all(told: dict[str, Any]) -> None:
    print(f"{'CPU s':>7}{'wall s':>8}{'MB':>7}  question: answer")
    with tempfile.TemporaryDirectory() as folder:
        wide = wide_table(Path(folder))
        for asked in QUESTIONS:
            shown, cpu, wall, megabytes, said = row = _ask(asked, wide)
            print(f"{cpu:7.2f}{wall:8.2f}{megabytes:7.0f}  {shown}: {said}", flush=True)
            told["questions"].append(row)


def _ask(asked: list[str], wide: list[str]) -> tuple[str, float, float, int, str]:
    verb, table, *more = asked
    source = wide if table == "WIDE" else [str(tables.FOLDER / table)]
    shown = " ".join([verb, Path(table).stem.lower(), *more[more.index("--maxdep") :]])
    if not Path(source[0]).exists():
        return shown, 0.0, 0.0, 0, "left out, the table is not on this machine"
    command = [sys.executable, "-m", "adtc", verb, *source, *more, "--quiet"]
    with tempfile.TemporaryFile("w+") as said:
        start = time.monotonic()
        process = subprocess.Popen(command, stdout=said, stderr=subprocess.STDOUT)
        used = os.wait4(process.pid, 0)[2]  # of this process alone
        wall, cpu = time.monotonic() - start, used.ru_utime + used.ru_stime
        said.seek(0)
        lines = said.read().splitlines()
    told = [line for line in lines if line.startswith(("time  ", "status", "refused"))] or lines[:1]
    words = " ".join("; ".join(told).split())
    return shown, round(cpu, 2), round(wall, 2), used.ru_maxrss // 1000, words


if __name__ == "__main__":
    sys.exit(main())

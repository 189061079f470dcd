"""Deep and wide questions: depth 6 and 7 on 20 to 40 features, depth 3 on 2,000.

Each command runs in a process of its own; CPU and wall seconds, the peak of its memory and the
first line that it says are printed. A forecast must answer at once. Run it as ``make bench-large``.
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import tables

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


def wide_table(folder: Path, rows: int = 2000, columns: int = 20, bins: int = 101) -> list[str]:
    """Write a numeric table whose cuts are some 2,000 features, and say how to read it."""
    rng = np.random.default_rng(0)
    values = rng.normal(size=(rows, columns)).round(3)
    y = (values[:, 0] + values[:, 1] * values[:, 2] + rng.normal(size=rows) > 0).astype(int)
    path = folder / "wide.csv"
    head = ",".join([*(f"x{i}" for i in range(columns)), "y"])
    np.savetxt(path, np.column_stack([values, y]), "%.6g", ",", header=head, comments="")
    return [str(path), "--nbins", str(bins)]


def main() -> int:
    """Print a line for each question."""
    print(f"{'CPU s':>7}{'wall s':>8}{'MB':>7}  question: answer")
    with tempfile.TemporaryDirectory() as folder:
        wide = wide_table(Path(folder))
        for asked in QUESTIONS:
            _ask(asked, wide)
    return 0


def _ask(asked: list[str], wide: list[str]) -> None:
    verb, table, *more = asked
    source = wide if table == "WIDE" else [str(tables.FOLDER / table)]
    if not Path(source[0]).exists():
        print(f"{verb} {table}: left out, the table is not on this machine")
        return
    command = [sys.executable, "-m", "adtc", verb, *source, *more, "--quiet"]
    with tempfile.TemporaryFile("w+") as said:
        start = time.monotonic()
        process = subprocess.Popen(command, stdout=said, stderr=subprocess.STDOUT)
        used = os.wait4(process.pid, 0)[2]  # of this process alone
        wall, cpu = time.monotonic() - start, used.ru_utime + used.ru_stime
        said.seek(0)
        lines = said.read().splitlines()
    told = [line for line in lines if line.startswith(("time  ", "status", "refused"))] or lines[:1]
    shown = " ".join([verb, Path(table).name, *more[more.index("--maxdep") :]])
    print(f"{cpu:7.2f}{wall:8.2f}{used.ru_maxrss / 1000:7.0f}  {shown}: {'; '.join(told)[:110]}",
          flush=True)  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())

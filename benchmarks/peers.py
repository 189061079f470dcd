"""Measure adtc beside other tools for sets of trees and optimal trees (`make bench-peers`).

Makes an environment of its own for the peers, asks each and adtc the same question of the same
arrays, each in a fresh process, and checks that the answers agree where the conventions do. A peer
that cannot be installed is named and left out.
"""

import argparse
import datetime
import json
import os
import platform
import subprocess
import sys
import tempfile
import venv
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import tables

HERE = Path(__file__).resolve().parent
ENVIRONMENT = HERE.parent / ".venv-peers"
PACKAGES = {
    "streed": "pystreed",
    "praxis": "tree-praxis",
    "arborenum": "arborenum",
    "treefarms": "treefarms",
}
SECONDS = 120  # for one tool on one case

Case = dict[str, Any]
# The conventions under which peers count: see docs/benchmarks.md.
ANY: Case = {"labels": "any"}
MAJORITY: Case = {"labels": "majority"}
NO_TRIVIAL: Case = {"labels": "majority", "trivial_splits": False}


def cases() -> Iterable[tuple[Case, tuple[str, ...]]]:
    """Yield the questions, each with the peers that can answer it."""
    for table, depth, minsup in (
        ("anneal", 4, 1),
        ("anneal", 5, 1),
        ("kr-vs-kp", 4, 1),
        ("kr-vs-kp", 5, 1),
        ("tic-tac-toe", 5, 1),
        ("vote", 4, 1),
        ("vote", 5, 1),
        ("mushroom", 4, 1),
        ("lymph", 4, 1),
        ("hepatitis", 4, 1),
        ("primary-tumor", 5, 1),
        ("german-credit", 4, 1),
        ("compas-binary", 5, 1),
        ("adult", 4, 1629),
        ("adult", 5, 1629),
    ):
        yield {"task": "errors", "table": table, "depth": depth, "minsup": minsup}, ("streed",)
    yield {"task": "f1", "table": "compas-binned", "depth": 3}, ("streed",)
    yield {"task": "f1", "table": "compas-binary", "depth": 3}, ("streed",)
    for depth in (2, 3):
        yield {"task": "fair", "table": "german-fair", "depth": depth, "gap": "0.01"}, ("streed",)
    for table, leaf, depth, share in (
        ("compas-binned", 69, 4, "0.05"),
        ("compas-binned", 69, 5, "0.05"),
        ("compas-binned", 69, 5, "0.1"),
        ("bar-7", 19, 4, "0.05"),
        ("bar-7", 19, 5, "0.1"),
        ("compas-binary", 72, 4, "0.05"),
        ("compas-binary", 72, 5, "0.05"),
    ):
        near = {"task": "near", "table": table, "depth": depth, "leaf": leaf, "share": share}
        yield near | ANY, ("praxis", "arborenum")
        yield near | MAJORITY, ("praxis", "treefarms")
        # TreeFARMS drops trees where errors and leaves trade at par: a thousandth parts them
        yield near | NO_TRIVIAL | {"leaf": f"{leaf}.001"}, ("treefarms",)
    for table, depth in (
        ("monk-1", 5),
        ("compas-binned", 5),
        ("compas-binary", 4),
        ("anneal", 3),
        ("german-credit", 3),
    ):
        yield {"task": "space", "table": table, "depth": depth} | ANY, ("praxis",)


@dataclass(frozen=True, slots=True)
class Run:
    """What one tool said on one case, or why it said nothing."""

    tool: str
    answer: Case | None
    failure: str = ""

    def time(self) -> str:
        return self.failure if self.answer is None else f"{self.answer['seconds']:.3g}"

    def memory(self) -> str:
        return "" if self.answer is None else f"{self.answer['peak_mb']:.0f}"


def make_environment() -> dict[str, str]:
    """Install what installs; return the version, or a line of complaint, per peer."""
    python = ENVIRONMENT / "bin" / "python"
    if not python.exists():
        venv.create(ENVIRONMENT, with_pip=True)
    versions = {}
    for peer, package in PACKAGES.items():
        pip = [str(python), "-m", "pip", "--quiet", "--disable-pip-version-check"]
        done = subprocess.run(
            [*pip, "install", package], capture_output=True, text=True, timeout=900, check=False
        )
        version = subprocess.run(
            [
                str(python),
                "-c",
                f"from importlib.metadata import version; print(version({package!r}))",
            ],
            capture_output=True,
            text=True,
            check=False,
        ).stdout.strip()
        if done.returncode == 0 and version:
            versions[peer] = version
        else:
            reason = (done.stderr.strip().splitlines() or ["unknown reason"])[-1]
            print(f"{package} does not install and is left out: {reason}", file=sys.stderr)
    return versions


def run(tool: str, case: Case, table: Path, folder: Path) -> Run:
    """Ask one tool in a fresh process."""
    python = sys.executable if tool == "adtc" else str(ENVIRONMENT / "bin" / "python")
    question, out = folder / "case.json", folder / "answer.json"
    out.unlink(missing_ok=True)
    question.write_text(json.dumps(case | {"tool": tool}))
    try:
        done = subprocess.run(
            [python, str(HERE / "peer_run.py"), str(question), str(table), str(out)],
            capture_output=True,
            text=True,
            timeout=SECONDS + 15,  # starting and warming up are not the tool's time
            check=False,
            cwd=folder,
            env=os.environ | {"OMP_NUM_THREADS": "1"},
        )
    except subprocess.TimeoutExpired:
        return Run(tool, None, f"> {SECONDS} s")
    if done.returncode or not out.exists():
        lines = done.stderr.strip().splitlines() or [f"exit {done.returncode}"]
        print(f"{tool} on {case}: {lines[-1]}", file=sys.stderr)
        return Run(tool, None, "failed")
    return Run(tool, json.loads(out.read_text()))


def agreement(case: Case, ours: Run, peer: Run) -> str:
    """Say whether two answers are the same, as far as the peer's numbers reach."""
    if ours.answer is None or peer.answer is None:
        return ""
    a, b = ours.answer, peer.answer
    if case["task"] == "space":  # the peer counts modulo 2^64
        here = {e: int(n) % 2**64 for e, n in a["histogram"]}
        there = {e: int(n) for e, n in b["histogram"]}
        wraps = int(a["value"]) >= 2**64
        same = here == there and int(a["value"]) % 2**64 == int(b["value"])
        return ("yes, modulo 2^64" if wraps else "yes") if same else "NO"
    if case["task"] == "f1":
        return "yes" if abs(a["value"] - b["value"]) < 1e-9 else f"NO: {b['value']:.6f}"
    if not b.get("proved", True):
        return f"not proved: {b['value']}"
    return "yes" if a["value"] == b["value"] else f"NO: {b['value']:,}"


def label(case: Case) -> str:
    """Describe a case in a few words."""
    minsup = f", leaves of {case['minsup']:,} rows" if case.get("minsup", 1) > 1 else ""
    share = f", {case['leaf']} per leaf, {case['share']}" if case["task"] == "near" else ""
    gap = f", dp <= {case['gap']}" if case["task"] == "fair" else ""
    return f"{case['table']}, depth {case['depth']}{minsup}{share}{gap}"


def convention(case: Case) -> str:
    """Name what is counted."""
    if case["task"] != "near":
        return {"errors": "errors", "f1": "F1", "fair": "fair errors", "space": "A, all"}[
            case["task"]
        ]
    if not case.get("trivial_splits", True):
        return "C"
    return "B" if case["labels"] == "majority" else "A"


def short(run_: Run) -> str:
    """Print an answer so that it fits a cell."""
    if run_.answer is None:
        return ""
    value = run_.answer["value"]
    if isinstance(value, float):
        return f"{value:.5f}"
    return f"{int(value):,}" if int(value) < 10**12 else f"{int(value):.4e}"


def compare(only: str | None) -> Iterable[str]:
    """Run everything, and yield the lines of the table as they come."""
    versions = make_environment()
    yield f"Python {platform.python_version()}, one thread; " + ", ".join(
        f"{PACKAGES[peer]} {version}" for peer, version in versions.items()
    )
    yield ""
    yield "| question | answer | adtc s | MB | peer | its s | MB | its s / adtc s | agree |"
    yield "| --- | ---: | ---: | ---: | --- | ---: | ---: | ---: | --- |"
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for case, able in cases():
            peers = [peer for peer in able if peer in versions]
            if not peers or (only and only not in f"{convention(case)}: {label(case)}"):
                continue
            table = folder / f"{case['table']}.npz"
            if not table.exists():
                try:
                    arrays = tables.read(case["table"])
                except tables.MissingTableError as absent:
                    print(f"left out: {absent}", file=sys.stderr)
                    continue
                np.savez(table, X=arrays.X, y=arrays.y, z=arrays.z)
            ours = run("adtc", case, table, folder)
            for peer in peers:
                theirs = run(peer, case, table, folder)
                yield (
                    f"| {convention(case)}: {label(case)} | {short(ours)} | {ours.time()} | "
                    f"{ours.memory()} | {peer} | {theirs.time()} | {theirs.memory()} | "
                    f"{ratio(ours, theirs)} | {agreement(case, ours, theirs)} |"
                )


def ratio(ours: Run, theirs: Run) -> str:
    """Return how many times our seconds the peer took."""
    if ours.answer is None:
        return ""
    if theirs.answer is None:
        out_of_time = theirs.failure.startswith(">")
        return f"> {SECONDS / ours.answer['seconds']:.2g}" if out_of_time else ""
    return f"{theirs.answer['seconds'] / ours.answer['seconds']:.2g}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", help="run the questions whose description contains this text")
    chosen = parser.parse_args()
    results = HERE / "results"
    results.mkdir(exist_ok=True)
    disagree = False
    part = "-part" if chosen.only else ""  # never in place of a full table
    path = results / f"peers-{datetime.date.today().isoformat()}{part}.md"
    with path.open("w", encoding="utf-8") as file:
        for line in compare(chosen.only):
            print(line, flush=True)
            file.write(line + "\n")
            disagree |= "| NO" in line
    print(f"written to {path.relative_to(HERE.parent)}", file=sys.stderr)
    return int(disagree)


if __name__ == "__main__":
    sys.exit(main())

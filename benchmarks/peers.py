"""Measure adtc beside other tools for sets of trees and optimal trees (`make bench-peers`).

Makes environments for the peers, asks each and adtc the same question of the same arrays, each in
a fresh process, and checks that the answers agree. Where a count differs, a recursion that shares
nothing with either decides who is right. A peer that cannot be installed is named and left out.
Writes ``results/peers.json`` after every answer; ``page.py`` makes the docs page of it.
"""

import argparse
import json
import math
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import venv
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import machine
import numpy as np
import peer_cases
import reference
import tables
from peer_cases import PEERS, SECTIONS, Case, Peer, label
from tables import DL_TABLES

HERE = Path(__file__).resolve().parent
ENVIRONMENT = HERE.parent / ".venv-peers"
SECONDS = 120  # for one tool on one case, unless told otherwise
# A machine changes its speed within seconds, so tools with quick answers are asked in turn.
ROUNDS, QUICK = 3, 0.1
STARTING = 15  # seconds for what is not the tool's time: starting and warming up
BUSY = 10  # times as long as its CPU time a tool may take on a busy machine
CLOSE = 1e-9  # shares and reliance of peers are floats
HEAD = (
    "| question | answer | adtc s | MB | peer | its s | MB | its s / adtc s | agree |\n"
    "| --- | ---: | ---: | ---: | --- | ---: | ---: | ---: | --- |"
)


@dataclass(frozen=True, slots=True)
class Run:
    """What one tool said on one case, or why it said nothing."""

    tool: str
    answer: Case | None
    failure: str = ""

    @property
    def seconds(self) -> float | None:
        return None if self.answer is None else statistics.median(self.answer["seconds"])

    @property
    def megabytes(self) -> float | None:
        return None if self.answer is None else float(self.answer["peak_mb"])

    @property
    def quick(self) -> bool:
        return self.seconds is not None and self.seconds < QUICK

    def joined(self, later: "Run") -> "Run":
        """Add the seconds of a later round; all else is as the first one said."""
        if self.answer is None or later.answer is None:
            return self
        if later.answer["value"] != self.answer["value"]:
            raise ValueError(
                f"{self.tool} said {later.answer['value']} after {self.answer['value']}"
            )
        both = self.answer["seconds"] + later.answer["seconds"]
        return Run(self.tool, self.answer | {"seconds": both})


def python_of(peer: Peer) -> Path:
    """Return the interpreter of a peer's environment."""
    return ENVIRONMENT / peer.environment / "bin" / "python"


def install(peer: Peer) -> tuple[str, str]:
    """Install a peer by its name; return its version, or why there is none."""
    python = python_of(peer)
    if not python.exists():
        venv.create(python.parents[1], with_pip=True)
    version = _version(python, peer.package)
    if version:
        return version, ""
    pip = [str(python), "-m", "pip", "--quiet", "--disable-pip-version-check", "install"]
    try:
        done = subprocess.run(
            [*pip, peer.package, *peer.beside],
            capture_output=True, text=True, timeout=900, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return "", "its installation takes more than 15 minutes"
    errors = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
    lines = errors or done.stderr.strip().splitlines() or ["unknown reason"]
    version = _version(python, peer.package)
    return (version, "") if version else ("", lines[-1].removeprefix("ERROR: ")[:160])


def _version(python: Path, package: str) -> str:
    code = f"from importlib.metadata import version; print(version({package!r}))"
    done = subprocess.run([str(python), "-c", code], capture_output=True, text=True, check=False)
    return done.stdout.strip()


def run(tool: str, case: Case, table: Path, folder: Path, seconds: float) -> Run:
    """Ask one tool in a fresh process."""
    python = sys.executable if tool == "adtc" else str(python_of(PEERS[tool]))
    question, out = folder / "case.json", folder / "answer.json"
    out.unlink(missing_ok=True)
    question.write_text(json.dumps(case | {"tool": tool, "limit": int(seconds + STARTING)}))
    by_cpu = case.get("clock") == "cpu"
    try:
        done = subprocess.run(
            [python, str(HERE / "peer_run.py"), str(question), str(table), str(out)],
            capture_output=True,
            text=True,
            timeout=(BUSY if by_cpu else 1) * (seconds + STARTING),
            check=False,
            cwd=folder,
            env=os.environ | {"OMP_NUM_THREADS": "1"},
        )
    except subprocess.TimeoutExpired:
        return Run(tool, None, f"> {seconds:g} s")
    if done.returncode == -signal.SIGXCPU:
        return Run(tool, None, f"> {seconds:g} s")
    if done.returncode or not out.exists():
        lines = done.stderr.strip().splitlines() or [f"exit {done.returncode}"]
        print(f"{tool} on {label(case)}: {lines[-1]}", file=sys.stderr)
        return Run(tool, None, _reason(done.returncode, lines[-1]))
    answer = json.loads(out.read_text())
    if answer["seconds"][0] > seconds:
        return Run(tool, None, f"> {seconds:g} s")
    return Run(tool, answer)


def run_in_turn(
    tools: list[str], case: Case, table: Path, folder: Path, seconds: float
) -> dict[str, Run]:
    """Ask all tools, and those with quick answers again in further rounds."""
    runs = {tool: run(tool, case, table, folder, seconds) for tool in tools}
    for _ in range(ROUNDS - 1):
        for tool, before in runs.items():
            if before.quick:
                runs[tool] = before.joined(run(tool, case, table, folder, seconds))
    return runs


def _reason(code: int, line: str) -> str:
    """Say in few words why a tool gave no answer."""
    if "bad_alloc" in line or "MemoryError" in line or "memory" in line:
        return "out of memory"
    return f"crashed (signal {-code})" if code < 0 else f"failed: {line[:60]}"


def agreement(case: Case, ours: Run, theirs: Run, arrays: tables.Arrays) -> str:
    """Say whether two answers are the same, as far as the peer's numbers reach."""
    if ours.answer is None or theirs.answer is None:
        return ""
    a, b = ours.answer, theirs.answer
    if case["task"] == "space":  # the peers count modulo 2^64
        here = {e: int(n) % 2**64 for e, n in a["histogram"] if int(n) % 2**64}
        there = {e: int(n) for e, n in b["histogram"] if int(n)}
        wraps = int(a["value"]) >= 2**64
        same = here == there and int(a["value"]) % 2**64 == int(b["value"])
        return ("yes, modulo 2^64" if wraps else "yes") if same else "NO"
    if case["task"] == "f1":
        return "yes" if abs(a["value"] - b["value"]) < 1e-9 else f"NO: {b['value']:.6f}"
    if case["task"] in ("votes", "reliance"):
        key = "shares" if case["task"] == "votes" else "ranges"
        far = float(np.abs(np.array(a[key]) - np.array(b[key])).max())
        same = a["value"] == b["value"] and far < CLOSE
        return f"yes, within {far:.0e}" if same else f"NO: {b['value']:,}, up to {far:.2g} apart"
    if not b.get("proved", True):
        return f"not proved: {b['value']}"
    if a["value"] == b["value"]:
        return "yes"
    true = reference.near(case, arrays.X, arrays.y)
    if true is None:
        return f"NO: {b['value']:,}"
    wrong = theirs.tool if true == a["value"] else "adtc"
    verdict = "" if true in (a["value"], b["value"]) else " too"
    return f"{wrong} is wrong{verdict}: {b['value']:,} for {true:,}"


def line_of(case: Case, ours: Run, theirs: Run, agree: str) -> dict[str, Any]:
    """Collect what the table says about one peer on one question."""
    return {
        "section": SECTIONS[case["task"]],
        "case": case,
        "question": label(case),
        "answer": None if ours.answer is None else ours.answer["value"],
        "adtc": {"seconds": ours.seconds, "mb": ours.megabytes, "failure": ours.failure},
        "peer": theirs.tool,
        "theirs": {"seconds": theirs.seconds, "mb": theirs.megabytes, "failure": theirs.failure},
        "agree": agree,
    }


def compare(
    questions: Iterable[tuple[Case, tuple[str, ...]]],
    only: str | None,
    peers: Iterable[str],
    seconds: float,
) -> Iterator[dict[str, Any]]:
    """Run everything, and yield the lines of the tables as they come."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for case, able in questions:
            asked = [peer for peer in able if peer in peers]
            if not asked or (only and only not in f"{SECTIONS[case['task']]}: {label(case)}"):
                continue
            table = folder / f"{case['table']}.npz"
            try:
                arrays = tables.read(case["table"])
            except tables.MissingTableError as absent:
                print(f"left out: {absent}", file=sys.stderr)
                continue
            if not table.exists():
                arrays.save(table)
            runs = run_in_turn(["adtc", *asked], case, table, folder, seconds)
            ours = runs.pop("adtc")
            for theirs in runs.values():
                yield line_of(case, ours, theirs, agreement(case, ours, theirs, arrays))


def as_row(line: dict[str, Any]) -> str:
    """Write a line of the table."""
    ours, theirs = line["adtc"], line["theirs"]
    question = line["question"] + (f" (at {line['commit']})" if "commit" in line else "")
    return (
        f"| {question} | {_answer(line['answer'])} | {_seconds(ours)} | {_mb(ours)} | "
        f"{line['peer']} | {_seconds(theirs)} | {_mb(theirs)} | {_ratio(line)} | {line['agree']} |"
    )


def put_in_place(part: dict[str, Any], path: Path) -> None:
    """Let the lines of a part take the place of those in the full table; each names its commit."""
    whole = json.loads(path.read_text(encoding="utf-8"))
    newer = {(line["question"], line["section"], line["peer"]): line for line in part["lines"]}
    commit = part["machine"]["commit"]
    for at, line in enumerate(whole["lines"]):
        if found := newer.get((line["question"], line["section"], line["peer"])):
            whole["lines"][at] = {**found, "commit": commit}
    whole["means"] = means(whole["lines"])
    path.write_text(json.dumps(whole, indent=1), encoding="utf-8")


def _answer(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.5f}"
    return f"{int(value):,}" if int(value) < 10**12 else f"{int(value):.4e}"


def _seconds(side: dict[str, Any]) -> str:
    return str(side["failure"]) if side["seconds"] is None else f"{side['seconds']:.3g}"


def _mb(side: dict[str, Any]) -> str:
    return "" if side["mb"] is None else f"{side['mb']:.0f}"


def _ratio(line: dict[str, Any]) -> str:
    """Write how many times our seconds the peer took; a bound where one ran out of time."""
    ours, theirs = line["adtc"], line["theirs"]
    if ours["seconds"] and theirs["seconds"]:
        return f"{theirs['seconds'] / ours['seconds']:.2g}"
    for side, other, sign in ((theirs, ours, ">"), (ours, theirs, "<")):
        if side["failure"].startswith(">") and other["seconds"]:
            limit = float(side["failure"].split()[1])
            bound = limit / other["seconds"] if sign == ">" else other["seconds"] / limit
            return f"{sign} {bound:.2g}"
    return ""


def means(lines: list[dict[str, Any]]) -> list[str]:
    """Give the geometric means over the DL tables, per peer and depth, where both finished."""
    found = []
    groups: dict[tuple[str, int], list[dict[str, Any]]] = {}
    for line in lines:
        case = line["case"]
        if case["task"] == "errors" and case["table"] in DL_TABLES:
            groups.setdefault((line["peer"], case["depth"]), []).append(line)
    for (peer, depth), group in sorted(groups.items()):
        ratios = [
            line["theirs"]["seconds"] / line["adtc"]["seconds"]
            for line in group
            if line["theirs"]["seconds"] and line["adtc"]["seconds"]
        ]
        if ratios:
            mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
            only = sum(bool(x["adtc"]["seconds"]) and not x["theirs"]["seconds"] for x in group)
            other = sum(bool(x["theirs"]["seconds"]) and not x["adtc"]["seconds"] for x in group)
            found.append(
                f"{peer} at depth {depth}: geometric mean of its seconds / adtc's {mean:.2g} over "
                f"the {len(ratios)} of {len(group)} DL tables where both finished (from "
                f"{min(ratios):.2g} to {max(ratios):.2g}); adtc alone finished {only}, {peer} "
                f"alone {other}."
            )
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", help="run the questions whose description contains this text")
    parser.add_argument("--peers", help="ask only these peers, such as 'streed,dl85'")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="limit per tool and case")
    parser.add_argument(
        "--again", action="store_true", help="put the lines of a part into the full table, marked"
    )
    chosen = parser.parse_args()
    part = "-part" if chosen.only or chosen.peers else ""  # never in place of a full table
    path = HERE / "results" / f"peers{part}.json"
    path.parent.mkdir(exist_ok=True)
    wanted = chosen.peers.split(",") if chosen.peers else list(PEERS)
    versions = {name: install(PEERS[name]) for name in wanted}
    told: dict[str, Any] = {
        "command": "make bench-peers",
        "machine": machine.describe(),
        "seconds": chosen.seconds,
        "peers": {
            name: {"package": PEERS[name].package, "version": version, "failure": failure}
            for name, (version, failure) in versions.items()
        },
        "lines": [],
        "means": [],
    }
    for name, (version, failure) in versions.items():
        print(f"{PEERS[name].package}: {version or 'does not install: ' + failure}")
    installed = [name for name, (version, _) in versions.items() if version]
    section = ""
    for line in compare(peer_cases.cases(), chosen.only, installed, chosen.seconds):
        if line["section"] != section:
            section = line["section"]
            print(f"\n{section}\n\n{HEAD}")
        print(as_row(line), flush=True)
        told["lines"].append(line)
        told["means"] = means(told["lines"])
        path.write_text(json.dumps(told, indent=1), encoding="utf-8")
    if part and chosen.again:
        put_in_place(told, path.with_name("peers.json"))
    print("\n" + "\n".join(told["means"]))
    print(f"written to {path.relative_to(HERE.parent)}", file=sys.stderr)
    ours_wrong = ("NO", "adtc is wrong")
    return int(any(line["agree"].startswith(ours_wrong) for line in told["lines"]))


if __name__ == "__main__":
    sys.exit(main())

"""Ask this version and another commit the same questions in turn; print how much faster we are.

Run by `make bench-against REV=…`: the commit is built in a worktree with an environment of its own.
Asked are the questions below and every line of `make bench` that both have, each version with its
own `benchmarks/cases.py`; further arguments choose those whose names contain one of them. Each
question is asked in both once to warm up, then alternately; the ratio is that of the least times.
One thread, in CPU time, so that other work on the machine counts little. A run of all lines goes
into the documentation.
"""

import json
import math
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.append(str(ROOT / "benchmarks"))
import machine  # noqa: E402  # stands beside the benchmarks

RESULT = ROOT / "benchmarks" / "results" / "against.json"
ROUNDS = 5
QUESTIONS: dict[str, tuple[str, str]] = {
    "all trees, adult, depth 3, 5 %": ("adult", "adtc.count(d, S(max_depth=3, relminsup=0.05))"),
    "within 1 % of the best, adult, depth 4, 5 %": (
        "adult", "adtc.count(d, S(max_depth=4, relminsup=0.05), 'error <= 1.01 * least(error)')"),
    "best tree, adult, depth 4, 1 %": ("adult", "adtc.optimize(d, S(max_depth=4, relminsup=0.01))"),
    "best tree, adult, depth 5, 5 %": ("adult", "adtc.optimize(d, S(max_depth=5, relminsup=0.05))"),
    "paper's setting, adult, depth 5, 15 %": (
        "adult", "adtc.profile(d, S(5, 1, 0.15, 6), ['size', 'acc', 'f1', 'eodd_sum'])"),
    "accurate and fair, adult, depth 3, 5 %": (
        "adult", "adtc.count(d, S(max_depth=3, relminsup=0.05), 'acc >= 0.8 and dp <= 0.05')"),
    "all trees by error, german-credit, depth 3": (
        "german-credit", "adtc.profile(d, S(max_depth=3, minsup=10), ['error'])"),
    "small question, german-credit, depth 2": (
        "german-credit", "adtc.count(d, S(max_depth=2, minsup=10), 'error <= 280')"),
}  # fmt: skip
LONG = 3.0  # seconds after which a question is not asked again
WORKER = """
import json, os, sys, time
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})  # one core, so one thread
sys.path.insert(0, sys.argv[1])
import adtc, cases
S, loaded = adtc.Space, {}
by_name = {case.name: case for case in cases.CASES if case.threads == 1}
def ask(table, question):
    data = loaded.setdefault(table, adtc.load_dataset(table))
    start = time.process_time()
    answer = eval(question, {"adtc": adtc, "S": S, "d": data})
    took = time.process_time() - start
    return took, getattr(answer, "value", None) or getattr(answer, "count", None) or int(answer)
def run(name):
    case = by_name[name]
    data = cases.load(case.table)
    start = time.process_time()
    answer = case.run(data).answer
    return time.process_time() - start, answer
print(json.dumps(list(by_name)), flush=True)
for line in sys.stdin:
    words = json.loads(line)
    try:
        took, answer = ask(*words) if len(words) == 2 else run(*words)
        print(json.dumps([took, str(answer)]), flush=True)
    except Exception as error:
        print(json.dumps([None, f"{type(error).__name__}: {error}"]), flush=True)
"""


class Version:
    """A process of one version that answers question after question; ``lines`` are its cases."""

    def __init__(self, tree: Path, python: Path) -> None:
        self.process = subprocess.Popen(
            [python, "-c", WORKER, tree / "benchmarks"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd="/",
            env={"ADTC_BENCH_DATA": str(ROOT.parent / "shared" / "data"), **os.environ},
        )
        self.lines: list[str] = self._read()

    def ask(self, *words: str) -> tuple[float | None, str]:
        """Return the seconds a question takes and its answer, or None and why there is none."""
        assert self.process.stdin is not None
        print(json.dumps(words), file=self.process.stdin, flush=True)
        seconds, answer = self._read()
        return seconds, answer

    def _read(self) -> Any:
        assert self.process.stdout is not None
        return json.loads(self.process.stdout.readline())


def main(revision: str, *parts: str) -> None:
    """Compare with a commit."""
    tree, python = _built(revision)
    versions = Version(ROOT, Path(sys.executable)), Version(tree, python)
    asked: dict[str, tuple[str, ...]] = dict(QUESTIONS)
    asked |= {name: (name,) for name in versions[0].lines if name in versions[1].lines}
    ratios, lines = [], []
    for name, words in asked.items():
        if parts and not any(part in name for part in parts):
            continue
        least = _least_times(versions, name, words)
        if least is None:
            continue
        ours, theirs = least
        ratios.append(theirs / ours)
        lines.append([name, theirs, ours, ratios[-1]])
        print(f"{ratios[-1]:6.2f}  {theirs * 1e3:9.1f} -> {ours * 1e3:9.1f} ms  {name}", flush=True)
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else math.nan
    print(f"{mean:6.2f}  geometric mean of {len(ratios)} questions")
    if not parts:
        RESULT.parent.mkdir(exist_ok=True)
        told = {"revision": revision, "mean": mean, "lines": lines, "machine": machine.describe()}
        RESULT.write_text(json.dumps(told, indent=1), encoding="utf-8")


def _least_times(
    versions: tuple[Version, Version], name: str, words: tuple[str, ...]
) -> list[float] | None:
    """Ask in turn; return the least seconds of each, None if one of them has no answer."""
    first = [version.ask(*words) for version in versions]
    failed = [answer for seconds, answer in first if seconds is None]
    if failed:
        print(f"     -  {name}: {failed[0]}", flush=True)
        return None
    if first[0][1] != first[1][1]:
        sys.exit(f"{name}: the versions answer differently: {first[0][1]}, {first[1][1]}")
    least = [math.inf, math.inf]
    for _ in range(ROUNDS):
        for at, version in enumerate(versions):
            least[at] = min(least[at], version.ask(*words)[0] or math.inf)
        if max(least) > LONG:
            break
    return least


def _built(revision: str) -> tuple[Path, Path]:
    """Build a commit in a worktree of its own; return that and its Python."""
    tree = ROOT / "build" / "against" / revision
    if not tree.exists():
        subprocess.run(
            ["git", "worktree", "add", "--force", "--detach", tree, revision], cwd=ROOT, check=True
        )
    environment = {**os.environ, "MAKEFLAGS": ""}
    subprocess.run(["make", "--silent", "setup"], cwd=tree, check=True, env=environment)
    return tree, tree / ".venv" / "bin" / "python"


if __name__ == "__main__":
    main(*sys.argv[1:])

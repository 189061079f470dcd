"""Ask this version and another commit the same questions in turn; print how much faster we are.

Run by `make bench-against REV=…`: the commit is built in a worktree with an environment of its own.
Each question is asked in both once to warm up, then alternately; the ratio is that of the least
times. One thread.
"""

import json
import math
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
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
WORKER = """
import json, os, sys, time
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})  # one core, so one thread
import adtc
S, loaded = adtc.Space, {}
for line in sys.stdin:
    table, question = json.loads(line)
    d = loaded.setdefault(table, adtc.load_dataset(table))
    start = time.perf_counter()
    answer = eval(question)
    took = time.perf_counter() - start
    told = getattr(answer, "value", None) or getattr(answer, "count", None) or int(answer)
    print(json.dumps([took, str(told)]), flush=True)
"""


class Version:
    """A process of one version that answers question after question."""

    def __init__(self, python: Path) -> None:
        self.process = subprocess.Popen(
            [python, "-c", WORKER],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd="/",
        )

    def ask(self, table: str, question: str) -> tuple[float, str]:
        """Return the seconds a question takes, and its answer."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        print(json.dumps([table, question]), file=self.process.stdin, flush=True)
        seconds, answer = json.loads(self.process.stdout.readline())
        return seconds, answer


def main(revision: str) -> None:
    """Compare with a commit."""
    ours, theirs = Version(Path(sys.executable)), Version(_built(revision))
    ratios = []
    for name, (table, question) in QUESTIONS.items():
        versions = (ours, theirs)
        answers = {version.ask(table, question)[1] for version in versions}
        if len(answers) != 1:
            sys.exit(f"{name}: the versions answer differently: {answers}")
        least = [math.inf, math.inf]
        for _ in range(ROUNDS):
            for at, version in enumerate(versions):
                least[at] = min(least[at], version.ask(table, question)[0])
        ratios.append(least[1] / least[0])
        print(
            f"{ratios[-1]:6.2f}  {least[1] * 1e3:9.1f} -> {least[0] * 1e3:9.1f} ms  {name}",
            flush=True,
        )
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
    print(f"{mean:6.2f}  geometric mean of {len(ratios)} questions")


def _built(revision: str) -> Path:
    """Build a commit in a worktree of its own; return its Python."""
    tree = ROOT / "build" / "against" / revision
    if not tree.exists():
        subprocess.run(
            ["git", "worktree", "add", "--force", "--detach", tree, revision], cwd=ROOT, check=True
        )
    environment = {**os.environ, "MAKEFLAGS": ""}
    subprocess.run(["make", "--silent", "setup"], cwd=tree, check=True, env=environment)
    return tree / ".venv" / "bin" / "python"


if __name__ == "__main__":
    main(sys.argv[1])

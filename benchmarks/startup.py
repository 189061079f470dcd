"""What a user waits for before the first answer: a first question, a whole command, the build.

Each is measured in fresh processes, in turn with what it is compared with; CPU time counts, so a
busy machine changes little. ``--build`` compiles the core anew, without a compiler's cache.
"""

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import machine

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results" / "startup.json"
_TIMES = 9
_FIRST = """
import time
import adtc
space = adtc.Space(max_depth=3, relminsup=0.05)
for _ in range(2):
    data = adtc.load_dataset("adult")
    start = time.process_time()
    adtc.count(data, space, monitor=adtc.Monitor(threads=1))
    print(time.process_time() - start)
"""
_COMMAND = [
    "-m", "adtc", "count", "adult", "--maxdep", "3", "--relminsup", "0.05", "--threads", "1",
]  # fmt: skip
_IMPORTS = ["-c", "import numpy, pyarrow.csv"]


def spent(command: Sequence[str], **environment: str) -> tuple[float, float]:
    """Run a program; return its CPU time and that of all its children, and the time it took."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env={**os.environ, **environment}
    )
    if done.returncode:
        sys.exit(f"{' '.join(command)} failed: {done.stderr.strip()}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return used, time.perf_counter() - start


def first_question(times: int = _TIMES) -> list[float]:
    """Return by how much a process's first question exceeds the same one later, run by run."""
    beyond = []
    for _ in range(times):
        done = subprocess.run(
            [sys.executable, "-c", _FIRST], capture_output=True, text=True, check=True
        )
        first, later = map(float, done.stdout.split())
        beyond.append(first - later)
    return beyond


def whole_command() -> tuple[list[float], list[float]]:
    """Return the seconds of a command and of the imports it cannot do without, in turn."""
    runs = [(spent([sys.executable, *_COMMAND])[0], spent([sys.executable, *_IMPORTS])[0])
            for _ in range(_TIMES)]  # fmt: skip
    command, imports = zip(*runs, strict=True)
    return list(command), list(imports)


def build() -> tuple[float, float]:
    """Compile the core for every instruction-set level into an empty folder."""
    with tempfile.TemporaryDirectory() as folder:
        command = [
            sys.executable, "-m", "pip", "wheel", "--quiet", "--disable-pip-version-check",
            "--no-build-isolation", "--no-deps", "--wheel-dir", folder,
            "-Cbuild-dir=" + str(Path(folder) / "build"), str(HERE.parent),
        ]  # fmt: skip
        return spent(command, CCACHE_DISABLE="1")


def measure(*, with_build: bool) -> list[list[Any]]:
    """Return the lines of the table: what, seconds, and beside what."""
    first_question(1)  # compiles what is not yet
    beyond = statistics.median(first_question())
    spent([sys.executable, *_COMMAND])
    command, imports = map(statistics.median, whole_command())
    lines = [
        ["first question of a process, beyond the same one later", beyond, ""],
        ["`adtc count adult --maxdep 3 --relminsup 0.05`", command,
         f"{command / imports:.2g} × `import numpy, pyarrow.csv` ({imports:.3g} s)"],
    ]  # fmt: skip
    if with_build:
        used, took = build()
        lines.append(["building the core", used, f"{took:.0f} s on {os.cpu_count()} cores"])
    return lines


def main() -> None:
    """Measure, print, and write what the page is filled from."""
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # users do not compile anew each time
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", action="store_true", help="build the core, too")
    about, lines = machine.describe(), measure(with_build=parser.parse_args().build)
    for what, seconds, beside in lines:
        print(f"{what}: {seconds:.3g} s of CPU time {beside}".rstrip())
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps({"machine": about, "lines": lines}), encoding="utf-8")


if __name__ == "__main__":
    main()

"""Fuzz everything that takes input from outside, and write the record of the run into the docs.

    python tools/fuzz [--count 1000000] [--seconds S] [--seed 1] [--target NAME] [--record]

Every input must be answered, or refused with one sentence. An input is made from its number and the
seed alone: ``--target csv --show 17`` makes input 17 of csv again and lets its error through.
``--record`` puts each target into the docs as soon as it is done, in place of its earlier run with
the same seed; runs with other seeds stay, so that inputs add up and none counts twice.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[1:1] = [str(ROOT / "tests"), str(ROOT / "benchmarks")]

import machine  # noqa: E402
import record  # noqa: E402
from target import Target  # noqa: E402
from targets import TARGETS  # noqa: E402
from worker import STATE, source, work  # noqa: E402

SILENT = 300.0  # seconds without a new input after which a process is taken to hang
PAGE = ROOT / "docs" / "hardening.md"
SHOWN = 20  # findings of a target that are printed


@dataclass
class Tried:
    """What came of a target."""

    target: Target
    inputs: int = 0
    accepted: int = 0
    compared: int = 0
    seconds: float = 0.0
    memory: int = 0
    findings: dict[str, list[int]] = field(default_factory=dict)  # what, and by which inputs

    def row(self, seed: int, when: dict[str, str]) -> list[str | int]:
        """Write the line of the table."""
        return [
            self.target.name, str(seed), self.inputs, self.accepted, self.compared,
            round(self.seconds), self.memory, len(self.findings), when["date"], when["commit"],
        ]  # fmt: skip


def main() -> int:
    """Run the targets one after the other."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=1_000_000, help="inputs of all targets")
    parser.add_argument("--seconds", type=float, default=86_400.0, help="time for all targets")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--target", choices=[t.name for t in TARGETS], help="only this one")
    parser.add_argument("--show", type=int, metavar="NUMBER", help="one input, error and all")
    parser.add_argument("--record", action="store_true", help=f"write into {PAGE.name}")
    parser.add_argument("--work", nargs=4, help=argparse.SUPPRESS)
    given = parser.parse_args()
    chosen = [t for t in TARGETS if given.target in (None, t.name)]
    if given.work:
        first, count, seconds, state = given.work
        numbers = range(int(first), int(first) + int(count))
        work(chosen[0], given.seed, numbers, float(seconds), Path(state))
        return 0
    if given.show is not None:
        return show(chosen[0], given.seed, given.show)
    shares = sum(target.share for target in chosen)
    failed, when = False, machine.describe()
    print(*record.HEAD, sep="\t")
    for target in chosen:
        part = target.share / shares
        found = run(target, given.seed, round(part * given.count), part * given.seconds)
        failed |= bool(found.findings)
        row = found.row(given.seed, when)
        print(*row, sep="\t", flush=True)
        for finding, numbers in list(found.findings.items())[:SHOWN]:
            print(f"  {finding} ({len(numbers)} inputs, first {numbers[0]})", flush=True)
        if given.record:
            told = record.added(PAGE.read_text("utf-8"), row, [t.name for t in TARGETS])
            PAGE.write_text(told, "utf-8")
    return int(failed)


def run(target: Target, seed: int, count: int, seconds: float) -> Tried:
    """Let processes try all inputs of a target; one that dies or hangs is followed by another."""
    found, begun = Tried(target), time.monotonic()
    with tempfile.NamedTemporaryFile() as file:
        file.write(bytes(STATE.size))
        file.flush()
        while found.inputs < count and (left := seconds + begun - time.monotonic()) > 0:
            command = [sys.executable, str(Path(__file__).parent), "--target", target.name]
            task = [found.inputs, count - found.inputs, left, file.name]
            command += ["--seed", str(seed), "--work", *map(str, task)]
            for number, finding in watched(command, Path(file.name)):
                found.findings.setdefault(finding, []).append(number)
            before = found.inputs
            state = STATE.unpack(Path(file.name).read_bytes())
            found.inputs, found.accepted, found.compared, found.memory = state
            if found.inputs == before:
                break  # it could not even begin
    found.seconds = time.monotonic() - begun
    return found


def watched(command: list[str], state: Path) -> Iterator[tuple[int, str]]:
    """Run a process to its end, kill it if it is silent for long, and give its findings."""
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen(command, stdout=out, stderr=errors, cwd=ROOT)
        last, since = b"", time.monotonic()
        while process.poll() is None:
            time.sleep(0.2)
            if (now := state.read_bytes()) != last:
                last, since = now, time.monotonic()
            elif time.monotonic() - since > SILENT:
                process.kill()
                process.wait()
        out.seek(0)
        for line in out:
            if line.startswith("{"):
                told = json.loads(line)
                yield told["number"], told["finding"]
        if process.returncode:
            errors.seek(0)
            number = STATE.unpack(state.read_bytes())[0] - 1
            yield number, f"the process ended with {_ending(process.returncode, errors.read())}"


def _ending(code: int, errors: str) -> str:
    if code == -signal.SIGKILL:
        return "SIGKILL: it hung, or took all memory"
    lines = errors.strip().splitlines()
    return signal.Signals(-code).name if code < 0 else f"code {code}: {lines[-1] if lines else ''}"


def show(target: Target, seed: int, number: int) -> int:
    """Make one input again, print it and try it."""
    with tempfile.TemporaryDirectory() as folder:
        trial = target.prepare(Path(folder))
        given = trial.generate(source(target.name, seed, number))
        print(repr(given))
        print(trial.call(given))
        os.chdir("/")
    return 0


if __name__ == "__main__":
    sys.exit(main())

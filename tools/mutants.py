"""Break the code on purpose, one place at a time, and see a named test go red.

    python tools/mutants.py [PART OF A NAME ...] [--record] [--missing]

The list is ``tools/mutants.toml``: a file, the text there, what takes its place, and the test that
must notice. All happens in copies in ``build/mutants``: of the package for changes in Python, of
the core's sources for changes in C++, where only what changed is compiled again, at the portable
level. A named test is run on the unchanged copy first. ``--record`` puts each mutant into the docs
as soon as it was tried, with the commit; those not tried keep their line while their patch is the
same. ``--missing`` tries those that have no line with red.
"""

import argparse
import hashlib
import math
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import sysconfig
import time
import tomllib
from dataclasses import astuple, dataclass
from functools import cache
from pathlib import Path

from adtc._core import available_levels, load_level

ROOT = Path(__file__).resolve().parent.parent
sys.path.append(str(ROOT / "benchmarks"))

import machine  # noqa: E402
import page  # noqa: E402

PLACE = ROOT / "build" / "mutants"
PACKAGE = PLACE / "python"  # with the installed core
COPY, BUILD, COMPILED = PLACE / "copy", PLACE / "build", PLACE / "package"
PAGE = ROOT / "docs" / "hardening.md"
HEAD = ["what is broken", "file", "noticed by", "test", "date", "commit", "patch"]
GREEN, RED = 0, 1  # pytest's exit codes
NOTICED = (signal.SIGXCPU, signal.SIGABRT, signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE)
SECONDS = 900  # of CPU time for a test without any mutant


@dataclass(frozen=True)
class Mutant:
    """One change; ``old`` is in the file once."""

    name: str
    file: str
    old: str
    new: str
    test: str

    @property
    def compiled(self) -> bool:
        """Tell whether the core is built again."""
        return self.file.startswith("src/core/")

    @property
    def copy(self) -> Path:
        """Find the file that is changed."""
        return COPY / self.file if self.compiled else PACKAGE / self.file.removeprefix("src/")

    @property
    def package(self) -> Path:
        """Find the package that is tested."""
        return COMPILED if self.compiled else PACKAGE

    @property
    def patch(self) -> str:
        """Tell the patch and its test from others, in seven digits."""
        return hashlib.sha256(repr(astuple(self)).encode()).hexdigest()[:7]

    def row(self, found: str, test: str, when: dict[str, str]) -> dict[str, str]:
        """Write the line of the table."""
        told = [Path(self.file).name, test.partition("/")[2], found]
        told += [when["date"], when["commit"], self.patch]
        return dict(zip(HEAD, [self.name, *told], strict=True))


def main() -> int:
    """Try the mutants whose name holds one of the words; all without any."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("words", nargs="*")
    parser.add_argument("--missing", action="store_true", help="only what is not seen red yet")
    parser.add_argument("--record", action="store_true", help=f"write into {PAGE.name}")
    given = parser.parse_args()
    listed = tomllib.loads((ROOT / "tools" / "mutants.toml").read_text("utf-8"))["mutant"]
    mutants = [Mutant(**one) for one in listed]
    chosen = [m for m in mutants if not given.words or any(w in m.name for w in given.words)]
    if given.missing:
        lines = page.rows(PAGE.read_text("utf-8"), "mutants")
        red = {(line["what is broken"], line["patch"]) for line in lines if line["test"] == "red"}
        chosen = [mutant for mutant in chosen if (mutant.name, mutant.patch) not in red]
    for mutant in mutants:
        check(mutant)
    prepare(any(mutant.compiled for mutant in chosen))
    noticed, when = 0, machine.describe()
    for mutant in chosen:
        begun = time.monotonic()
        row = mutant.row(*tried(mutant), when)
        noticed += row["test"] == "red"
        told = f"{row['test']:10} {time.monotonic() - begun:5.0f} s  {mutant.name}"
        print(f"{told}: {row['noticed by']}", flush=True)
        if given.record:
            PAGE.write_text(recorded(PAGE.read_text("utf-8"), mutants, row), "utf-8")
    print(f"{noticed} of {len(chosen)} mutants were noticed.")
    return 0 if noticed == len(chosen) else 1


def check(mutant: Mutant) -> None:
    """See that there is one place for a change."""
    places = (ROOT / mutant.file).read_text("utf-8").count(mutant.old)
    if places != 1:
        sys.exit(f"{mutant.name}: the text is {places} times in {mutant.file}")


def tried(mutant: Mutant) -> tuple[str, str]:
    """Apply a mutant, run its test, and put everything back; say what came, and of which test."""
    enough = 60 + 10 * seconds_without(mutant.test, mutant.package)
    path = mutant.copy
    content = path.read_text("utf-8")
    path.write_text(content.replace(mutant.old, mutant.new), "utf-8")
    try:
        if mutant.compiled and not built():
            return "not built", mutant.test
        code, failed, _ = tested(mutant.test, mutant.package, enough)
    finally:
        path.write_text(content, "utf-8")  # compiled again together with the next mutant
    return {RED: "red", GREEN: "SURVIVED"}.get(code, f"code {code}"), failed or mutant.test


@cache
def seconds_without(test: str, package: Path) -> int:
    """Run a test on the unchanged package, where it must pass; return the CPU seconds it took."""
    if package == COMPILED and not built():
        sys.exit("the core cannot be built")
    code, _, seconds = tested(test, package, SECONDS)
    if code != GREEN:
        sys.exit(f"the test {test} fails without any mutant")
    return seconds


def prepare(compiled: bool) -> None:
    """Copy the package and, to compile it, the core; build it once as it is."""
    copied(ROOT / "src" / "adtc", PACKAGE / "adtc")
    for level in available_levels():
        library = Path(load_level(level).__file__ or "")
        copied(library, PACKAGE / "adtc" / library.name)
    if not compiled:
        return
    for name in ("src/core", "CMakeLists.txt"):
        copied(ROOT / name, COPY / name)
    command = [
        "cmake", "-G", "Ninja", "-S", str(COPY), "-B", str(BUILD), "-DADTC_LEVELS=portable",
        f"-DPython_EXECUTABLE={sys.executable}",
    ]  # fmt: skip
    if subprocess.run(command, check=False, stdout=subprocess.DEVNULL).returncode or not built():
        sys.exit("the core cannot be built")
    for source in (ROOT / "src" / "adtc").iterdir():
        place = COMPILED / "adtc" / source.name
        if not place.exists():
            place.symlink_to(source)


def copied(source: Path, place: Path) -> None:
    """Copy what differs; files that are the same keep their times."""
    for file in [source] if source.is_file() else source.rglob("*"):
        there = place / file.relative_to(source)
        if file.is_file() and "__pycache__" not in file.parts and changed(file, there):
            there.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, there)


def changed(file: Path, copy: Path) -> bool:
    """Tell whether a copy is missing or differs."""
    return not copy.exists() or file.read_bytes() != copy.read_bytes()


def built() -> bool:
    """Build what changed."""
    for library in (COMPILED / "adtc").glob("_core_*"):
        library.unlink()  # CMake keeps one that is less than a second older
    for command in (
        ["ninja", "-C", str(BUILD)],
        ["cmake", "--install", str(BUILD), "--prefix", str(COMPILED)],
    ):
        if subprocess.run(command, check=False, stdout=subprocess.DEVNULL).returncode:
            return False
    return True


def tested(test: str, package: Path, seconds: int) -> tuple[int, str, int]:
    """Run a test on a package: pytest's exit code, what failed first, and the CPU seconds it took.

    What takes more of them than allowed, or crashes, is red, too. -S keeps the hook of an editable
    installation out.
    """
    environment = {
        **os.environ,
        "PYTHONPATH": f"{package}{os.pathsep}{sysconfig.get_path('purelib')}",
        "PYTHONDONTWRITEBYTECODE": "1",
        "CI": "1",  # Hypothesis then draws the same examples each time
    }
    command = [
        sys.executable, "-S", "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider",
        "--assert=plain", "--tb=no", test,  # to compare long lists for the reader takes minutes
    ]  # fmt: skip
    before = _used()
    done = subprocess.run(
        command, cwd=ROOT, env=environment, check=False, stdout=subprocess.PIPE, text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5)),
    )  # fmt: skip
    took = math.ceil(_used() - before)
    failed = re.search(r"^(?:FAILED|ERROR) ([^\s\[]+)", done.stdout, re.MULTILINE)
    if -done.returncode in NOTICED:
        return RED, f"{test}: {signal.Signals(-done.returncode).name}", took
    return done.returncode, failed[1] if failed else "", took


def _used() -> float:
    """Return the CPU seconds of all processes that were waited for."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def recorded(content: str, mutants: list[Mutant], row: dict[str, str]) -> str:
    """Put a line into the table of a page, in the order of the list."""
    lines = {
        (line["what is broken"], line["patch"]): line for line in page.rows(content, "mutants")
    }
    lines[row["what is broken"], row["patch"]] = row
    kept = [lines[key] for m in mutants if (key := (m.name, m.patch)) in lines]
    red = sum(line["test"] == "red" for line in kept)
    told = f"Of {len(mutants)} mutants {len(kept)} were tried, and {red} noticed."
    table = page.table(HEAD, [list(line.values()) for line in kept])
    return page.fill(content, {"mutants": f"{told}\n\n{table}"})


if __name__ == "__main__":
    sys.exit(main())

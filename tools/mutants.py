"""Break the code on purpose, one place at a time, and see a named test go red.

    python tools/mutants.py [PART OF A NAME ...] [--record]

The list is ``tools/mutants.toml``: a file, the text there, what takes its place, and the test that
must notice. All happens in copies in ``build/mutants``: of the package for changes in Python, of
the core's sources for changes in C++, where only what changed is compiled again, at the portable
level. The named tests are run on the unchanged copies first.
"""

import argparse
import os
import shutil
import subprocess
import sys
import sysconfig
import time
import tomllib
from dataclasses import dataclass
from pathlib import Path

from adtc._core import available_levels, load_level

ROOT = Path(__file__).resolve().parent.parent
PLACE = ROOT / "build" / "mutants"
PACKAGE = PLACE / "python"  # with the installed core
COPY, BUILD, COMPILED = PLACE / "copy", PLACE / "build", PLACE / "package"
PAGE = ROOT / "docs" / "hardening.md"
GREEN, RED = 0, 1  # pytest's exit codes
SECONDS = 900


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


def main() -> int:
    """Try the mutants whose name holds one of the words; all without any."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("words", nargs="*")
    parser.add_argument("--record", action="store_true", help=f"write into {PAGE.name}")
    given = parser.parse_args()
    listed = tomllib.loads((ROOT / "tools" / "mutants.toml").read_text("utf-8"))["mutant"]
    mutants = [Mutant(**one) for one in listed]
    mutants = [m for m in mutants if not given.words or any(w in m.name for w in given.words)]
    prepare(any(mutant.compiled for mutant in mutants))
    for test, package in sorted({(mutant.test, mutant.package) for mutant in mutants}):
        if tested(test, package) != GREEN:
            sys.exit(f"the test {test} fails without any mutant")
    rows = []
    for mutant in mutants:
        begun = time.monotonic()
        found = tried(mutant)
        rows.append([mutant.name, Path(mutant.file).name, mutant.test.partition("/")[2], found])
        print(f"{found:10} {time.monotonic() - begun:5.0f} s  {mutant.name}", flush=True)
    survived = [row[0] for row in rows if row[3] != "red"]
    print(f"{len(rows) - len(survived)} of {len(rows)} mutants were noticed.")
    if given.record:
        record(rows)
    return 1 if survived else 0


def tried(mutant: Mutant) -> str:
    """Apply a mutant, run its test, and put everything back."""
    path = mutant.copy
    content = path.read_text("utf-8")
    if content.count(mutant.old) != 1:
        sys.exit(f"{mutant.name}: the text is {content.count(mutant.old)} times in {mutant.file}")
    path.write_text(content.replace(mutant.old, mutant.new), "utf-8")
    try:
        if mutant.compiled and not built():
            return "not built"
        code = tested(mutant.test, mutant.package)
    finally:
        path.write_text(content, "utf-8")  # compiled again together with the next mutant
    return {RED: "red", GREEN: "SURVIVED"}.get(code, f"code {code}")


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
    for command in (
        ["ninja", "-C", str(BUILD)],
        ["cmake", "--install", str(BUILD), "--prefix", str(COMPILED)],
    ):
        if subprocess.run(command, check=False, stdout=subprocess.DEVNULL).returncode:
            return False
    return True


def tested(test: str, package: Path) -> int:
    """Run a test on a package; -S keeps the hook of an editable installation out."""
    environment = {
        **os.environ,
        "PYTHONPATH": f"{package}{os.pathsep}{sysconfig.get_path('purelib')}",
        "PYTHONDONTWRITEBYTECODE": "1",
        "CI": "1",  # Hypothesis then draws the same examples each time
    }
    command = [sys.executable, "-S", "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", test]
    try:
        return subprocess.run(
            command, cwd=ROOT, env=environment, check=False, timeout=SECONDS,
            stdout=subprocess.DEVNULL,
        ).returncode  # fmt: skip
    except subprocess.TimeoutExpired:
        return RED  # a loop without end is noticed, too


def record(rows: list[list[str]]) -> None:
    """Write the table into the docs."""
    sys.path.append(str(ROOT / "benchmarks"))
    import machine
    import page

    told = f"`make mutants`: {machine.in_words(machine.describe())}."
    table = page.table(["what is broken", "file", "noticed by", "test"], rows)
    PAGE.write_text(page.fill(PAGE.read_text("utf-8"), {"mutants": f"{told}\n\n{table}"}), "utf-8")


if __name__ == "__main__":
    sys.exit(main())

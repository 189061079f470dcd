"""Build the native core into this environment, with whatever C++ compiler there is.

Run by make. Where the machine has no compiler, the one in the PyPI package ziglang is installed
and used; only what has changed is compiled again.
"""

import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
COMPILERS = ("c++", "g++", "clang++")
INSTALL = "install a C++ compiler with C++20 (Debian: apt-get install g++), or set CXX to one"


def main() -> None:
    """Find a compiler and build."""
    environment = {**os.environ, "CXX": _compiler()}
    command = [
        sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check",
        "--no-build-isolation", "--no-deps", "--editable", str(ROOT),
    ]  # fmt: skip
    if subprocess.run(command, env=environment, check=False).returncode:
        sys.exit(f"the native core could not be built with {environment['CXX']}: {INSTALL}.")


def _compiler() -> str:
    given = os.environ.get("CXX")
    found = given or next((path for name in COMPILERS if (path := shutil.which(name))), None)
    return found or _zig()


def _zig() -> str:
    """Install ziglang and return a program that calls its compiler."""
    print("there is no C++ compiler here: building with the one in the PyPI package ziglang")
    command = [sys.executable, "-m", "pip", "install", "--quiet", "ziglang"]
    if subprocess.run(command, check=False).returncode:
        sys.exit(f"there is no C++ compiler, and ziglang could not be installed: {INSTALL}.")
    folder = ROOT / "build" / "zig"
    folder.mkdir(parents=True, exist_ok=True)
    program = folder / "c++"
    # zig spells the names of processors with underscores
    program.write_text(
        "#!/usr/bin/env python3\n"
        "import os, sys\n"
        "spelled = lambda a: a.replace('x86-64-v', 'x86_64_v').replace('x86-64', 'x86_64')\n"
        "args = [spelled(a) if a.startswith('-march') else a for a in sys.argv[1:]]\n"
        f"os.execv({sys.executable!r}, [{sys.executable!r}, '-m', 'ziglang', 'c++', *args])\n",
        encoding="utf-8",
    )
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return str(program)


if __name__ == "__main__":
    main()

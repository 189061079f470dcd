"""Build the core with AddressSanitizer, then with UndefinedBehaviorSanitizer, and test each.

One after the other: GCC 12 breaks on both together with vectors of 64 bytes.
"""

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LEVELS = "portable;v3"
LIBRARIES = {"address": "libasan.so", "undefined": "libubsan.so"}
SANITIZED = """
import sys
from adtc._core import available_levels, load_level
files = [load_level(level).__file__ for level in available_levels()]
assert files and all(file.startswith(sys.argv[1]) for file in files), files
"""


def main() -> None:
    """Build and test with each sanitizer."""
    for check, library in LIBRARIES.items():
        build, package = ROOT / "build" / check, ROOT / "build" / check / "package"
        run(
            "cmake", "-G", "Ninja", "-S", ROOT, "-B", build,
            f"-DPython_EXECUTABLE={sys.executable}", f"-DADTC_LEVELS={LEVELS}",
            f"-DADTC_SANITIZE={check}",
        )  # fmt: skip
        run("ninja", "-C", build)
        run("cmake", "--install", build, "--prefix", package)
        for source in (ROOT / "src" / "adtc").iterdir():
            place = package / "adtc" / source.name
            if source.suffix not in (".so", ".pyd") and not place.exists():
                place.symlink_to(source)
        # -S: the hook of an editable installation would find the usual core instead of this one
        environment = {
            "PYTHONPATH": f"{package}{os.pathsep}{sysconfig.get_path('purelib')}",
            # without the second, the first meets exceptions before it knows who throws them
            "LD_PRELOAD": f"{runtime(library)} {runtime('libstdc++.so')}",
            "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1",
            "ASAN_OPTIONS": "detect_leaks=0",  # Python keeps what it likes until the end
        }
        run(sys.executable, "-S", "-c", SANITIZED, package, **environment)
        run(
            sys.executable, "-S", "-m", "pytest", "-q", "-p", "no:cacheprovider",
            ROOT / "tests" / "core", **environment,
        )  # fmt: skip
        print(f"sanitize: {check} found nothing", flush=True)


def runtime(library: str) -> str:
    """Tell where the compiler keeps a library."""
    command = ["g++", f"-print-file-name={library}"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def run(*command: object, **environment: object) -> None:
    """Run a command, and end with it if it fails."""
    extended = {**os.environ, **{name: str(value) for name, value in environment.items()}}
    done = subprocess.run([str(word) for word in command], env=extended, check=False)
    if done.returncode:
        sys.exit(done.returncode)


if __name__ == "__main__":
    main()

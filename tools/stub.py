"""Write src/adtc/_core.pyi, the typed entry points of the native core; run by `make stub`."""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

STUB = Path(__file__).resolve().parent.parent / "src" / "adtc" / "_core.pyi"
NAMES = {
    "int64": "Ints",
    "int32": "Codes",
    "uint64": "Words",
    "float64": "Floats",
    "bool_": "Truths",
    "bool": "Truths",
}
HEAD = '''"""The native core's entry points: arrays in, arrays out; made by `make stub`."""

from collections.abc import Sequence
from types import ModuleType

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Codes = npt.NDArray[np.int32]
Words = npt.NDArray[np.uint64]
Floats = npt.NDArray[np.float64]
Truths = npt.NDArray[np.bool_]

LEVELS: tuple[str, ...]

def available_levels() -> tuple[str, ...]: ...
def load_level(level: str) -> ModuleType: ...
'''


def main() -> None:
    """Let nanobind describe the module, and give its array types short names."""
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder, "core.pyi")
        subprocess.run(
            [
                sys.executable,
                "-m",
                "nanobind.stubgen",
                "-q",
                "-D",
                "-m",
                "adtc._core_portable",
                "-o",
                made,
            ],
            check=True,
        )
        text = made.read_text(encoding="utf-8")
    text = text[text.index("LEVEL:") :]
    text = re.sub(
        r"Annotated\[NDArray\[(?:numpy\.)?(\w+)\], dict\([^\[\]]*?\)\]",
        lambda match: NAMES[match[1]],
        text,
    )
    text = re.sub(r"NDArray\[(?:numpy\.)?(\w+)\]", lambda match: NAMES[match[1]], text)
    text = text.replace("-> tuple:", "-> tuple[object, ...]:")
    text = re.sub(r"LEVEL: str = .*", "LEVEL: str", text)
    STUB.write_text(HEAD + text, encoding="utf-8")
    subprocess.run([sys.executable, "-m", "ruff", "format", "--quiet", STUB], check=True)


if __name__ == "__main__":
    main()

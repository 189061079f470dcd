"""Parts of checkpoints, opened and sealed anew with a right digest."""

import hashlib
import io
import json
from pathlib import Path
from typing import Any

import numpy as np

Arrays = dict[str, Any]


def opened(path: Path) -> tuple[dict[str, Any], Arrays]:
    """Read a part as whoever forges it would."""
    file = io.BytesIO(path.read_bytes()[:-32])
    header = json.loads(file.readline())
    return header, {name: np.load(file) for name in header["arrays"]}


def sealed(path: Path, header: Any, arrays: Arrays) -> None:
    """Write a part with a right digest."""
    file = io.BytesIO()
    file.write(json.dumps(header).encode() + b"\n")
    for array in arrays.values():
        np.save(file, array)
    content = file.getvalue()
    path.write_bytes(content + hashlib.sha256(content).digest())

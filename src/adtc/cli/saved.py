"""Files that hold a saved profile, told from tables."""

import os
from pathlib import Path

SAVED = ".adtc"
_PACKED = b"PK"  # how a saved profile begins, and no table does


def is_saved(source: str) -> bool:
    """Tell a saved profile from a table, by its first bytes or else by its name."""
    path = Path(source)
    if os.path.isfile(source):  # a name that no file can have is none, too
        try:
            with path.open("rb") as file:
                return file.read(len(_PACKED)) == _PACKED or path.suffix == SAVED
        except OSError:
            return path.suffix == SAVED  # loading will tell why
    return path.suffix == SAVED

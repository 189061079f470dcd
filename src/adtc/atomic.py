"""Files that are complete or not there at all: every file that adtc writes is written here.

A file is written under a temporary name beside its place and renamed when it is complete. What a
killed writer left behind is removed when the same file is written next.
"""

import hashlib
import io
import os
import re
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from os import PathLike
from pathlib import Path
from typing import IO

from adtc.errors import DataError

try:
    import fcntl
except ImportError:  # not on Windows, where an open file cannot be removed anyway
    fcntl = None  # type: ignore[assignment]

_STREAMS = {"/dev/stdout": 1, "/dev/stderr": 2}
_DESCRIPTOR = re.compile(r"/(?:dev|proc/self)/fd/(\d+)")


@contextmanager
def replacing(path: str | PathLike[str]) -> Iterator[IO[bytes]]:
    """Open a new file that takes the place of ``path`` once it is complete.

    Raises
    ------
    DataError
        Where the file cannot be written; one that was there before stays as it was.

    Notes
    -----
    A link stays, and the file that it leads to is replaced. A replaced file keeps its permissions.
    Devices and pipes are never replaced: they get the complete content in one go.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with replacing(f"{folder}/greeting.txt") as file:
    ...         _ = file.write(b"good morning")
    ...     Path(folder, "greeting.txt").read_text()
    'good morning'
    """
    if reason := why_unwritable(path):
        raise DataError(f"cannot write '{path}': {reason}; give another file.")
    try:
        if _is_special(path):
            buffer = io.BytesIO()
            yield buffer
            number = _descriptor(path)  # shared with who opened it, so that neither overwrites
            with open(path if number is None else os.dup(number), "wb") as device:
                device.write(buffer.getbuffer())
            return
        with _renamed(Path(os.path.realpath(path))) as file:
            yield file
    except OSError as error:
        raise DataError(f"cannot write '{path}': {reason_of(error)}; give another file.") from None


def write_whole(path: str | PathLike[str], content: str | bytes) -> None:
    """Write a file in one step: see `replacing`. Text is written as UTF-8."""
    with replacing(path) as file:
        # a file name that is no text, told in the content, must not spoil the file
        file.write(content.encode("utf-8", "replace") if isinstance(content, str) else content)


def why_unwritable(path: str | PathLike[str]) -> str | None:
    """Say why a file cannot be written; None if nothing speaks against it."""
    if not os.fspath(path):
        return "its name is empty"
    try:
        mode = _mode(path)
        if mode is not None and stat.S_ISDIR(mode):
            return "it is a folder"
        if _is_special(path):
            return None if os.access(path, os.W_OK) else "permission is denied"
        target = Path(os.path.realpath(path))
        if not target.parent.is_dir():
            return f"the folder '{target.parent}' does not exist"
        needed = [target.parent] if mode is None else [target.parent, target]
        return None if all(os.access(one, os.W_OK) for one in needed) else "permission is denied"
    except OSError as error:
        return reason_of(error)
    except ValueError:  # a NUL, or half a character
        return "no file can have this name"


def reason_of(error: OSError) -> str:
    """Say in few words why the system refused."""
    return (error.strerror or str(error)).lower()


def _mode(path: str | PathLike[str]) -> int | None:
    """Return type and permissions of what a path leads to; None if there is nothing."""
    try:
        return os.stat(path).st_mode
    except (FileNotFoundError, NotADirectoryError):
        return None


def _is_special(path: str | PathLike[str]) -> bool:
    """Tell what is written directly: a device, a pipe, or a file that is open already."""
    mode = _mode(path)
    if mode is None:
        return False
    return not stat.S_ISREG(mode) or _descriptor(path) is not None


def _descriptor(path: str | PathLike[str]) -> int | None:
    """Return the number of an open file that a path stands for; None if it is a file's name."""
    name = os.path.abspath(os.fsdecode(path))
    found = _DESCRIPTOR.fullmatch(name)
    return int(found[1]) if found else _STREAMS.get(name)


@contextmanager
def _renamed(target: Path) -> Iterator[IO[bytes]]:
    """Open a temporary file that is renamed at the end, and removed if there is none."""
    # by a digest of the name: beside a name of the greatest length, too, there is room for it
    mark = hashlib.sha256(os.fsencode(target.name)).hexdigest()[:16]
    remove_abandoned(target.parent, mark)
    temporary, file = _created(target, mark)
    try:
        with file:
            _keep_permissions(file, target)
            yield file
            file.flush()
            os.fsync(file.fileno())
            if fcntl is None:
                file.close()  # Windows renames no open file; elsewhere it stays locked till then
            temporary.replace(target)
    except BaseException:  # an interrupt, too, must leave no half a file behind
        temporary.unlink(missing_ok=True)
        raise


def _created(target: Path, mark: str) -> tuple[Path, IO[bytes]]:
    """Create the temporary file, locked as long as it is open."""
    mode = 0o600 if target.exists() else 0o666  # less the umask, like any new file
    while True:
        temporary = target.with_name(f".adtc-{mark}-{secrets.token_hex(8)}.part")
        number = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        file = os.fdopen(number, "wb")
        if _locked(number, wait=True) is False or temporary.exists():
            return temporary, file
        file.close()  # another writer took it for abandoned before it was locked


def _keep_permissions(file: IO[bytes], target: Path) -> None:
    if fcntl is None or not target.exists():
        return
    before = target.stat()
    with suppress(OSError):  # only root may give a file away
        os.fchown(file.fileno(), before.st_uid, before.st_gid)
    os.fchmod(file.fileno(), stat.S_IMODE(before.st_mode))


def remove_abandoned(folder: Path, mark: str = "*") -> None:
    """Remove what writers, of one file or of any, left behind that are no longer at work."""
    for path in folder.glob(f".adtc-{mark}-*.part"):
        with suppress(OSError), path.open("rb") as file:
            if _locked(file.fileno(), wait=False):
                path.unlink(missing_ok=True)


def _locked(number: int, *, wait: bool) -> bool:
    """Lock an open file, for as long as it is open; tell whether that worked."""
    if fcntl is None:
        return False
    try:
        fcntl.flock(number, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:  # held by a writer at work, or the file system knows no locks
        return False
    return True

"""The container of a saved profile: one ZIP file that shows every change and is unpacked with care.

``mimetype`` comes first, so that a foreign file is told from a damaged one; ``manifest.json`` comes
last and names the format and the size of every other member. The archive's comment, the very end of
the file, is the SHA-256 of all bytes before it. Sizes are checked before anything is unpacked, and
no more than the size told is ever read. What the members mean is not known here.
"""

import hashlib
import json
import math
import struct
import zipfile
from collections.abc import Iterable, Mapping
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from adtc._version import __version__
from adtc.errors import DataError

FORMAT = 2
"""The file format that this version writes and reads."""

Array = npt.NDArray[Any]
_MIMETYPE = b"application/vnd.adtc.profile"
_MAGIC = b"mimetype" + _MIMETYPE
_MAGIC_AT = 30  # behind the first member's header
_COMMENT, _DIGITS = b"adtc sha-256 ", 64
_END = struct.Struct("<4s4H2LH")  # of the list of members
_END64, _LOCATOR64 = struct.Struct("<4sQ2H2L4Q"), 20
_CHUNK = 1 << 20
_MOST_LISTED = 1 << 20  # bytes of the list of members
_MOST_TOLD = 1 << 24  # bytes of the manifest
_LARGE = 2**30
_FREE, _RATIO = 1 << 26, 100  # a file may hold so many bytes, and so many per byte of its own


def write_archive(
    file: IO[bytes], members: Iterable[tuple[str, bytes | Array]], about: Mapping[str, Any]
) -> None:
    """Write members and a manifest to an open file, and the digest of all that at its end."""
    stream = _Digesting(file)
    sizes: dict[str, int] = {}
    with zipfile.ZipFile(stream, "w", compresslevel=1) as archive:
        archive.comment = _COMMENT + bytes(_DIGITS)
        archive.writestr(zipfile.ZipInfo("mimetype"), _MIMETYPE)
        for name, content in members:
            size = len(content) if isinstance(content, bytes) else content.nbytes
            # what packs too well is left as it is, so that no honest file looks like a bomb
            fits = sum(sizes.values()) + size <= _FREE + _RATIO * stream.written // 2
            entry = zipfile.ZipInfo(name)
            entry.compress_type = zipfile.ZIP_DEFLATED if fits else zipfile.ZIP_STORED
            with archive.open(entry, "w", force_zip64=size >= _LARGE) as member:
                sizes[name] = _put(member, content)
        told = {"format": "adtc profile", "version": FORMAT, "adtc": __version__}
        archive.writestr(
            "manifest.json", encode({**told, **about, "members": sizes}), zipfile.ZIP_DEFLATED
        )
    stream.end()


def encode(plain: Any) -> bytes:
    """Write plain values as JSON; NumPy's numbers, which a run record may hold, become plain."""
    return json.dumps(plain, ensure_ascii=False, default=_number).encode()


class Archive:
    """A file that is what was written: its digest and its sizes are right.

    Parameters
    ----------
    file
        The open file.
    name
        How messages call it.

    checked
        What was looked at is added to this, one line each.
    """

    def __init__(self, file: IO[bytes], name: str, checked: list[str] | None = None) -> None:
        head = file.read(_MAGIC_AT + len(_MAGIC))
        if not head.startswith(b"PK") or head[_MAGIC_AT:] != _MAGIC:
            raise OtherFormatError(
                f"'{name}' is not a saved profile; give a file that `profile.save` or "
                f"`adtc profile -o` wrote."
            )
        self.checked = [] if checked is None else checked
        length = file.seek(0, 2)
        _check_directory(file, length)
        self._zip = zipfile.ZipFile(file)
        self.manifest = self._read_manifest()
        self._check_version(name)
        self._check_digest(file, length)
        self._sizes = self._check_sizes(length)

    def names(self, folder: str) -> list[str]:
        """List the arrays in a folder, without it and without their ending."""
        start, end = f"{folder}/", ".npy"
        inside = (name for name in self._sizes if name.startswith(start))
        return [name.removeprefix(start).removesuffix(end) for name in inside]

    def read(self, name: str) -> bytes:
        """Read a member; no more than the size told is unpacked."""
        size = self._size(name)
        with self._zip.open(name) as member:
            content = member.read(size)
        if len(content) != size:
            raise DataError(f"{name} is shorter than told")
        return content

    def plain(self, name: str) -> Any:
        """Read a member as JSON."""
        return json.loads(self.read(name))

    def arrays(self, folder: str, names: Iterable[str] | None = None) -> dict[str, Array]:
        """Read some arrays of a folder, or all of them."""
        wanted = self.names(folder) if names is None else names
        return {name: self._array(f"{folder}/{name}.npy") for name in wanted}

    def _array(self, name: str) -> Array:
        """Read an array, once its header agrees with its size."""
        size = self._size(name)
        with self._zip.open(name) as member:
            version = np.lib.format.read_magic(member)
            header = (
                np.lib.format.read_array_header_1_0
                if version == (1, 0)
                else np.lib.format.read_array_header_2_0
            )
            shape, _, dtype = header(member)
            if dtype.hasobject or member.tell() + math.prod(shape) * dtype.itemsize != size:
                raise DataError(f"the array {name} has another size than told")
        with self._zip.open(name) as member:
            array: Array = np.lib.format.read_array(member, allow_pickle=False)
        return array

    def _size(self, name: str) -> int:
        if name not in self._sizes:
            raise DataError(f"{name} is missing")
        return self._sizes[name]

    def _read_manifest(self) -> dict[str, Any]:
        entry = self._zip.getinfo("manifest.json")
        if entry.file_size > _MOST_TOLD:
            raise DataError("its manifest is too large")
        with self._zip.open(entry) as member:
            manifest = json.loads(member.read(entry.file_size))
        if not isinstance(manifest, dict):
            raise DataError("its manifest is none")
        return manifest

    def _check_version(self, name: str) -> None:
        version, maker = int(self.manifest["version"]), str(self.manifest["adtc"])
        if version > FORMAT:
            raise OtherFormatError(
                f"'{name}' was made by adtc {maker} in format {version}; this is adtc "
                f"{__version__}, which reads format {FORMAT}: upgrade adtc."
            )
        if version < FORMAT:
            raise OtherFormatError(
                f"'{name}' was saved by adtc {maker} in format {version}, which does not show "
                f"whether a file was changed; adtc {__version__} reads format {FORMAT}: make the "
                f"profile anew."
            )
        self.checked.append(f"the file is in format {version}, written by adtc {maker}")

    def _check_digest(self, file: IO[bytes], length: int) -> None:
        file.seek(0)
        left, digest = length - _DIGITS, hashlib.sha256()
        while left > 0 and (chunk := file.read(min(left, _CHUNK))):
            digest.update(chunk)
            left -= len(chunk)
        if self._zip.comment != _COMMENT + file.read() or not self._zip.comment.endswith(
            digest.hexdigest().encode()
        ):
            raise DataError("its SHA-256 is not the one at its end")
        self.checked.append(f"all {length:,} bytes have the SHA-256 at the end of the file")

    def _check_sizes(self, length: int) -> dict[str, int]:
        """Compare the list of members with the manifest, before any of them is unpacked."""
        told = {str(name): int(size) for name, size in self.manifest["members"].items()}
        entries = self._zip.infolist()
        listed = {
            entry.filename: entry.file_size
            for entry in entries
            if entry.filename not in ("mimetype", "manifest.json")
        }
        if len(entries) != len(told) + 2 or listed != told:
            raise DataError("its members are not those that its manifest lists")
        if any(e.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) for e in entries):
            raise DataError("a member is packed in another way than adtc does")
        total = sum(told.values())
        if total > _FREE + _RATIO * length:
            raise DataError(
                f"it would unpack to {total:,} bytes, more than {_RATIO} times its own {length:,}"
            )
        self.checked.append(f"{len(told)} members have the sizes that the manifest tells")
        return told


class OtherFormatError(DataError):
    """The file is no profile, or one in a format that this version does not read."""


class _Digesting:
    """A stream that digests what it passes on, and keeps the last part back.

    It cannot go back in the file, so what was digested stays as it is.
    """

    def __init__(self, file: IO[bytes]) -> None:
        self.file, self.digest, self.written = file, hashlib.sha256(), 0
        self._last = b""

    def write(self, part: bytes, /) -> int:
        """Pass on the part before this one."""
        self._pass_on(self._last)
        self._last = bytes(part)
        return len(self._last)

    def close(self) -> None:
        """Do nothing: the file is closed by who opened it."""

    def flush(self) -> None:
        """Do nothing: the file is flushed by who opened it."""

    def end(self) -> None:
        """Write the digest in place of the comment's last bytes."""
        self._pass_on(self._last[:-_DIGITS])
        self.file.write(self.digest.hexdigest().encode())

    def _pass_on(self, part: bytes) -> None:
        self.digest.update(part)
        self.written += self.file.write(part)


def _check_directory(file: IO[bytes], length: int) -> None:
    """Refuse a list of members that is cut off or far too long, before it is read."""
    for comment in (len(_COMMENT) + _DIGITS, 0):
        at = length - _END.size - comment
        if at >= 0 and _at(file, at, 4) == b"PK\5\6":
            size = _END.unpack(_at(file, at, _END.size))[5]
            if _at(file, at - _LOCATOR64, 4) == b"PK\6\7":
                size = _END64.unpack(_at(file, at - _LOCATOR64 - _END64.size, _END64.size))[8]
            if size <= _MOST_LISTED:
                return
            raise DataError("its list of members is too long")
    raise DataError("its end is missing")


def _at(file: IO[bytes], place: int, size: int) -> bytes:
    file.seek(max(0, place))
    return file.read(size)


def _put(member: IO[bytes], content: bytes | Array) -> int:
    """Write a member and return how many bytes it has."""
    counting = _Counting(member)
    if isinstance(content, bytes):
        counting.write(content)
    else:
        np.lib.format.write_array(counting, content, allow_pickle=False)
    return counting.written


class _Counting:
    """A stream that counts what it passes on."""

    def __init__(self, file: IO[bytes]) -> None:
        self.file, self.written = file, 0

    def write(self, part: Any) -> int:
        """Pass on and count."""
        size = self.file.write(part)
        self.written += size
        return size


def _number(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"cannot be saved: {value!r}")

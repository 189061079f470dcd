"""Profiles on disk: one ZIP file with JSON, Parquet and NumPy arrays inside; no pickle.

``mimetype`` comes first, so that a foreign file is told from a damaged one; ``manifest.json`` names
the format, the run and the checksum of every other member; ``cells.parquet`` holds the cells. With
the circuit come ``data/`` and ``circuit/``. Loading checks every byte but needs no compiler: the
circuit is put together when a tree is first asked for.
"""

import hashlib
import io
import json
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields
from os import PathLike
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from adtc._version import __version__
from adtc.algebra.store import term_from_json, term_to_json
from adtc.atomic import reason_of, replacing
from adtc.data.store import data_from_json, data_to_json
from adtc.engine.record import RunRecord
from adtc.engine.spaces import space_from_json, space_to_json
from adtc.errors import DataError
from adtc.profiles.profile import Profile, Source

if TYPE_CHECKING:
    import pyarrow as pa

    from adtc.engine.circuit import Circuit

FORMAT = 1
"""The newest file format that this version writes and reads."""

Array = npt.NDArray[Any]
_MIMETYPE = b"application/vnd.adtc.profile"
_MAGIC = b"mimetype" + _MIMETYPE
_MAGIC_AT = 30  # behind the first member's header
_LARGE = 2**30


def save_profile(profile: Profile, path: str | PathLike[str], circuit: bool = False) -> Path:
    """Write a profile to one file; by custom its name ends in ``.adtc``.

    Parameters
    ----------
    circuit
        Keep the circuit, too, so that trees can be drawn after loading. Such a file holds the
        binarised rows with labels and sensitive groups: share it only with those who may see them.

    Returns
    -------
    Path
        Where the file is. It is written under another name and renamed when it is complete, so an
        interrupted write leaves an old file of this name as it was.

    Raises
    ------
    DataError
        Where the file cannot be written.
    QueryError
        Where the profile has no circuit to keep, or one with metrics that are Python functions.

    Examples
    --------
    >>> import adtc, tempfile
    >>> data = adtc.Data.from_arrays([[1], [1], [0]], [1, 1, 0])
    >>> found = adtc.profile(data, adtc.Space(max_depth=1), ["size", "error"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     load_profile(save_profile(found, f"{folder}/run.adtc")).where("error = 0").count
    1
    """
    parts = _circuit_parts(profile) if circuit else {}
    manifest: dict[str, Any] = {
        "format": "adtc profile",
        "version": FORMAT,
        "adtc": __version__,
        "record": profile.record.to_json(),
        "metrics": {name: term_to_json(term) for name, term in profile.metrics.items()},
        "circuit": circuit,
        "members": {},
    }
    with (
        replacing(path) as file,
        zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
    ):
        members = manifest["members"]
        archive.writestr(zipfile.ZipInfo("mimetype"), _MIMETYPE)
        cells = zipfile.ZipInfo("cells.parquet")  # not deflated: Parquet packs by itself
        members["cells.parquet"] = _put(archive, cells, _cells_to_parquet(profile))
        for folder, (plain, arrays) in parts.items():
            members[f"{folder}.json"] = _put(archive, f"{folder}.json", _encode(plain))
            for name, array in arrays.items():
                members[f"{folder}/{name}.npy"] = _put(archive, f"{folder}/{name}.npy", array)
        archive.writestr("manifest.json", _encode(manifest))
    return Path(path)


def load_profile(path: str | PathLike[str], *, circuit: bool = True) -> Profile:
    """Read a profile that `save_profile` wrote.

    Parameters
    ----------
    circuit
        False leaves the circuit in the file: faster, if no tree is to be drawn. Otherwise the whole
        file is checked now, and the circuit is put together when the first tree is asked for.

    Raises
    ------
    DataError
        Where there is no such file, or it is foreign, damaged or made by a newer version.
    """
    path = Path(path)
    try:
        with path.open("rb") as file:
            return _load(file, path, circuit=circuit)
    except FileNotFoundError:
        raise DataError(f"there is no file '{path}'; give the path of a saved profile.") from None
    except OSError as error:
        raise DataError(f"'{path}' cannot be read: {reason_of(error)}.") from None


def _load(file: IO[bytes], path: Path, *, circuit: bool) -> Profile:
    head = file.read(_MAGIC_AT + len(_MAGIC))
    if not head.startswith(b"PK") or head[_MAGIC_AT:] != _MAGIC:
        raise DataError(
            f"'{path}' is not a saved profile; give a file that `profile.save` or "
            f"`adtc profile -o` wrote."
        )
    with _intact(path):
        archive = zipfile.ZipFile(file)
        manifest = json.loads(archive.read("manifest.json"))
        version, maker = int(manifest["version"]), str(manifest["adtc"])
    if version > FORMAT:
        raise DataError(
            f"'{path}' was made by adtc {maker} in format {version}; this is adtc {__version__}, "
            f"which reads up to format {FORMAT}: upgrade adtc."
        )
    with _intact(path):
        return _profile(manifest, _verified(archive, manifest["members"]), path, circuit=circuit)


@contextmanager
def _intact(path: Path) -> Iterator[None]:
    """Turn whatever goes wrong inside a file into one sentence."""
    try:
        yield
    except MemoryError:
        raise
    except Exception as error:  # zipfile, zlib, JSON and NumPy each have their own ways to fail
        raise DataError(
            f"'{path}' is damaged and cannot be loaded: take another copy, or make the profile "
            f"anew."
        ) from error


def _profile(
    manifest: Mapping[str, Any], content: Mapping[str, bytes], path: Path, *, circuit: bool
) -> Profile:
    known = {field.name for field in fields(RunRecord)}  # a later record may tell more
    record = RunRecord(**{k: v for k, v in manifest["record"].items() if k in known})
    axes, trees, keys = _cells_from_parquet(content["cells.parquet"])
    metrics = {name: term_from_json(term) for name, term in manifest["metrics"].items()}
    source = _source(content, path) if circuit and manifest["circuit"] else None
    return Profile(axes, trees, metrics, record, keys, source)


def _circuit_parts(profile: Profile) -> dict[str, tuple[dict[str, Any], dict[str, Array]]]:
    """Take apart what trees are drawn from, before a file is opened."""
    from adtc.engine.store import circuit_to_json

    source = profile.need_source("saving it with the circuit")
    plain, arrays = circuit_to_json(source.circuit)
    return {
        "data": data_to_json(source.data),
        "circuit": ({"asked": space_to_json(source.space), **plain}, arrays),
    }


def _source(content: Mapping[str, bytes], path: Path) -> Source:
    data = data_from_json(json.loads(content["data.json"]), _arrays("data", content))
    plain = json.loads(content["circuit.json"])
    stored = {name: saved for name, saved in content.items() if name.startswith("circuit/")}

    def make() -> "Circuit":
        from adtc.engine.store import circuit_from_json

        with _intact(path):  # its checksums are right, but its maker may have been wrong
            return circuit_from_json(plain, _arrays("circuit", stored), data)

    return Source(data, space_from_json(plain["asked"]), make)


def _cells_to_parquet(profile: Profile) -> bytes:
    """Write axes, number of trees by limbs (lowest first) and keys as columns."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = {
        # axes beyond 64 bits go as decimal text
        f"axis {name}": pa.array(
            [str(value) for value in column] if column.dtype == object else column
        )
        for name, column in profile.axes.items()
    }
    limbs = profile.trees.shape[1]
    columns |= {f"trees {i}": pa.array(profile.trees[:, i]) for i in range(limbs)}
    if profile.keys is not None:
        columns["key"] = pa.array(profile.keys)
    buffer = io.BytesIO()
    pq.write_table(pa.table(columns), buffer, compression="zstd")
    return buffer.getvalue()


def _cells_from_parquet(
    content: bytes,
) -> tuple[dict[str, Array], npt.NDArray[np.uint64], npt.NDArray[np.int64] | None]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pq.ParquetFile(pa.BufferReader(content)).read().combine_chunks()
    axes, limbs = {}, []
    for name in table.column_names:
        kind, _, rest = name.partition(" ")
        column = table[name]
        if kind == "trees":
            limbs.append(_numbers(column))
        elif kind == "axis":
            whole = pa.types.is_integer(column.type)
            values = _numbers(column) if whole else [int(text) for text in column.to_pylist()]
            axes[rest] = np.array(values, np.int64 if whole else object)
    keys = np.array(_numbers(table["key"]), np.int64) if "key" in table.column_names else None
    return axes, np.array(np.stack(limbs, axis=1), np.uint64, order="C"), keys


def _numbers(column: "pa.ChunkedArray") -> Array:
    """View a column of whole numbers; Arrow's own way would import pandas where it is installed."""
    if not len(column):
        return np.zeros(0, str(column.type))
    (part,) = column.chunks
    if part.null_count:
        raise DataError("a number is missing.")
    whole = np.frombuffer(part.buffers()[1], str(part.type))
    return whole[part.offset : part.offset + len(part)]


def _arrays(folder: str, content: Mapping[str, bytes]) -> dict[str, Array]:
    return {
        name.removeprefix(f"{folder}/").removesuffix(".npy"): np.lib.format.read_array(
            io.BytesIO(saved), allow_pickle=False
        )
        for name, saved in content.items()
        if name.startswith(f"{folder}/")
    }


def _encode(plain: Any) -> bytes:
    return json.dumps(plain, ensure_ascii=False, default=_number).encode()


def _number(value: Any) -> Any:
    """Write NumPy's numbers, which a run record may hold, as plain ones."""
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"cannot be saved: {value!r}")


class _Hashing:
    """A member of the archive that knows the checksum of what was written to it."""

    def __init__(self, member: IO[bytes]) -> None:
        self.member, self.digest = member, hashlib.sha256()

    def write(self, part: Any) -> int:
        self.digest.update(part)
        return self.member.write(part)


def _put(archive: zipfile.ZipFile, name: str | zipfile.ZipInfo, content: bytes | Array) -> str:
    """Write a member and return its checksum."""
    size = len(content) if isinstance(content, bytes) else content.nbytes
    with archive.open(name, "w", force_zip64=size >= _LARGE) as member:
        hashing = _Hashing(member)
        if isinstance(content, bytes):
            hashing.write(content)
        else:
            np.lib.format.write_array(hashing, content, allow_pickle=False)
    return hashing.digest.hexdigest()


def _verified(archive: zipfile.ZipFile, checksums: Mapping[str, str]) -> dict[str, bytes]:
    """Read all members and compare their checksums."""
    content = {name: archive.read(name) for name in checksums}
    for name, saved in content.items():
        if hashlib.sha256(saved).hexdigest() != checksums[name]:
            raise DataError(f"the checksum of {name} differs.")
    return content

"""Profiles on disk: one file with JSON, Parquet and NumPy arrays inside; no pickle.

``cells.parquet`` holds the cells. With the circuit come ``data/`` and ``circuit/``, and all parts
are held against each other. Loading checks every byte; the circuit is put
together when a tree is first asked for. The container is in ``archive``.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from os import PathLike
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from adtc.algebra.formula import names
from adtc.algebra.store import term_from_json, term_to_json
from adtc.atomic import reason_of, replacing
from adtc.data.store import data_from_json, data_to_json
from adtc.engine.exact.columns import satisfied
from adtc.engine.plan.keys import key_words
from adtc.engine.spaces import space_from_json, space_to_json
from adtc.engine.store import circuit_from_json, circuit_to_json
from adtc.errors import DataError, QueryError
from adtc.profiles.profile import Profile, Source
from adtc.profiles.saved.archive import Archive, OtherFormatError, write_archive
from adtc.profiles.saved.belonging import ROOT, Parts, all_cells, belonging
from adtc.profiles.saved.cells import (
    Member,
    axes_from_columns,
    axes_to_columns,
    columns_from_parquet,
    columns_to_parquet,
    limbs_from_columns,
    limbs_to_columns,
    members_of,
    record_from_json,
)
from adtc.profiles.saved.ranged import RangedContent

if TYPE_CHECKING:
    from adtc.engine.circuit import Circuit
    from adtc.profiles.inexact.bounding import BoundedProfile
    from adtc.profiles.inexact.estimating import EstimatedProfile

Array = npt.NDArray[Any]


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
    about: dict[str, Any] = {
        "record": profile.record.to_json(),
        "metrics": {name: term_to_json(term) for name, term in profile.metrics.items()},
        "cells": len(profile.trees),
        "circuit": circuit,
    }
    members: list[Member] = []
    if circuit:
        parts, members = _apart(profile)
        about["filtered"] = parts.filtered
    with replacing(path) as file:
        cells = ("cells.parquet", _cells_to_parquet(profile))
        write_archive(file, [cells, *members], about)
    return Path(path)


def load_profile(
    path: str | PathLike[str], *, circuit: bool = True
) -> "Profile | BoundedProfile | EstimatedProfile":
    """Read a profile that was saved: exact, bounded or estimated, as its ``status`` tells.

    Parameters
    ----------
    circuit
        False leaves the circuit (and the rows of a profile that is not exact) in the file: faster,
        if no tree is to be drawn. Otherwise it is put together when the first tree is asked for.
        The file is checked either way.

    Raises
    ------
    DataError
        Where there is no such file, or it is foreign, damaged, changed or of another format.

    See Also
    --------
    adtc.verify : the same checks and more, with a line for each.
    """
    path = Path(path)
    with opened_file(path) as file, intact(path):
        content = content_of(Archive(file, str(path)))
        for _ in content.checks():
            pass
        return content.profile(path if circuit else None)


def content_of(archive: Archive) -> "Content | RangedContent":
    """Tell the kind of profile that an archive holds."""
    kind = archive.manifest.get("kind", "exact")
    return Content(archive) if kind == "exact" else RangedContent(archive, kind)


@dataclass(slots=True)
class Content:
    """What an intact archive holds; nothing of it is unpacked before it is asked for."""

    archive: Archive

    @property
    def has_circuit(self) -> bool:
        """Tell whether the circuit is in the file, and with it the rows."""
        return bool(self.archive.manifest["circuit"])

    def checks(self) -> Iterator[str]:
        """Check that the parts belong together, as far as they are there; say what was checked."""
        profile = self.profile(None)
        yield f"the table of cells has the {len(profile.trees):,} rows that the manifest tells"
        if self.has_circuit:
            yield from belonging(self.parts(profile))

    def profile(self, path: Path | None) -> Profile:
        """Make the profile; with the path of the file, its trees can be drawn."""
        manifest = self.archive.manifest
        record = record_from_json(manifest["record"])
        axes, trees, keys = _cells_from_parquet(
            self.archive.read("cells.parquet"), manifest["cells"]
        )
        metrics = {name: term_from_json(term) for name, term in manifest["metrics"].items()}
        if any(names(term) - set(axes) for term in metrics.values()):
            raise DataError("its metrics are not computed from its cells")
        source = self._source(path) if path is not None and self.has_circuit else None
        return Profile(axes, trees, metrics, record, keys, source)

    def parts(self, profile: Profile) -> Parts:
        """Unpack what can be held against each other."""
        circuit = self.archive.plain("circuit.json")
        return Parts(
            profile,
            data_from_json(self.archive.plain("data.json"), self.archive.arrays("data")),
            space_from_json(circuit["asked"]),
            circuit,
            self.archive.arrays("circuit", ROOT) if circuit["levels"] else {},
            bool(self.archive.manifest["filtered"]),
        )

    def _source(self, path: Path) -> Source:
        data = data_from_json(self.archive.plain("data.json"), self.archive.arrays("data"))
        plain, arrays = self.archive.plain("circuit.json"), self.archive.arrays("circuit")

        def make() -> "Circuit":
            with intact(path):  # its digest is right, but its maker may have been wrong
                return circuit_from_json(plain, arrays, data)

        return Source(data, space_from_json(plain["asked"]), make, partial(intact, path))


@contextmanager
def opened_file(path: Path) -> Iterator[IO[bytes]]:
    """Open a file to read, or say why that cannot be."""
    try:
        file = path.open("rb")
    except FileNotFoundError:
        raise DataError(f"there is no file '{path}'; give the path of a saved profile.") from None
    except OSError as error:
        raise DataError(f"'{path}' cannot be read: {reason_of(error)}.") from None
    except ValueError:  # a NUL, or half a character
        raise DataError(f"'{path}' cannot be read: no file can have this name.") from None
    with file:
        yield file


@contextmanager
def intact(path: Path) -> Iterator[None]:
    """Turn whatever is wrong inside a file into one sentence."""
    try:
        yield
    except (MemoryError, OtherFormatError):
        raise
    except Exception as error:  # zipfile, zlib, JSON and NumPy each have their own ways to fail
        reason = str(error) if isinstance(error, DataError) else "it cannot be unpacked"
        raise DataError(
            f"'{path}' is damaged, or was changed after it was saved: {reason}; take another "
            f"copy, or make the profile anew."
        ) from error


def _apart(profile: Profile) -> tuple[Parts, list[Member]]:
    """Take apart what trees are drawn from, before a file is opened."""
    source = profile.need_source("saving it with the circuit")
    plain, arrays = circuit_to_json(source.circuit)
    plain = {"asked": space_to_json(source.space), **plain}
    root = {name: arrays[name] for name in ROOT} if plain["levels"] else {}
    plan, (keys, _) = source.circuit.prepared.plan, all_cells(plain, root)
    good = int(satisfied(plan.question.constraint, plan.lookup(keys), len(keys)).sum())
    parts = Parts(profile, source.data, source.space, plain, root, len(profile.trees) < good)
    try:
        for _ in belonging(parts):  # what would be refused later must not be saved now
            pass
    except DataError as error:
        raise QueryError(
            f"this profile cannot be saved with its circuit, because {error}: save it without."
        ) from None
    folders = {"data": data_to_json(source.data), "circuit": (plain, arrays)}
    return parts, list(members_of(folders))


def _cells_to_parquet(profile: Profile) -> bytes:
    """Write axes, numbers of trees and keys as columns."""
    columns = {**axes_to_columns(profile.axes), **limbs_to_columns(profile.trees)}
    if profile.keys is not None:
        for at, word in enumerate(key_words(profile.keys).T):
            columns[_KEYS[at]] = word
    return columns_to_parquet(columns)


def _cells_from_parquet(
    content: bytes, rows: int
) -> tuple[dict[str, Array], npt.NDArray[np.uint64], npt.NDArray[np.int64] | None]:
    columns = columns_from_parquet(content, rows)
    words = [np.array(columns[name], np.int64) for name in _KEYS if name in columns]
    keys = np.stack(words, axis=1) if len(words) > 1 else words[0] if words else None
    return axes_from_columns(columns), limbs_from_columns(columns), keys


_KEYS = ("key", "key high")

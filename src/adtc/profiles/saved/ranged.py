"""Bounded and estimated profiles on disk: what every cell or drawn tree is known by, as columns.

The number of trees in the record must follow from the columns. With the rows come the table and the
space, so that the profile can be made again: in the same steps, or from the same seed.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from adtc.algebra.formula import Term, names
from adtc.algebra.store import term_from_json, term_to_json
from adtc.atomic import replacing
from adtc.data.store import data_from_json, data_to_json
from adtc.engine.exact.limbs import limbs_of
from adtc.engine.limits.bracket import Bracket
from adtc.engine.monitor import Monitor
from adtc.engine.record import RunRecord
from adtc.engine.spaces import space_from_json, space_to_json
from adtc.errors import DataError, QueryError
from adtc.profiles.inexact.bounding import BoundedProfile, bound
from adtc.profiles.inexact.estimating import EstimatedProfile, estimate
from adtc.profiles.inexact.ranged import Origin, Ranged
from adtc.profiles.profile import Profile
from adtc.profiles.saved.archive import Archive, write_archive
from adtc.profiles.saved.belonging import check_rows, folded
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
    whole,
)

Array = npt.NDArray[Any]
_ENDS = ("low", "high")
_SURE, _POSSIBLE = 2, 1
_NEAR = 10**6  # ends that differ by less than this part of them are the same


def save_ranged(profile: Ranged, path: str | PathLike[str], rows: bool = False) -> Path:
    """Write a bounded or estimated profile to one file; by custom its name ends in ``.adtc``.

    Parameters
    ----------
    rows
        Keep the binarised rows with labels and sensitive groups, too, so that `adtc.verify` can
        make the profile again: share such a file only with those who may see them.

    Returns
    -------
    Path
        Where the file is. It is written under another name and renamed when it is complete.

    Examples
    --------
    >>> import adtc, tempfile
    >>> data = adtc.Data.from_arrays([[1], [1], [0]], [1, 1, 0])
    >>> found = adtc.bound(data, adtc.Space(max_depth=1), ["size", "error"], width=2)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     again = adtc.load_profile(found.save(f"{folder}/run.adtc"))
    >>> again.status, again.count == found.count
    ('bounded', True)
    """
    about, members = _bounded(profile) if isinstance(profile, BoundedProfile) else _drawn(profile)
    about |= {
        "record": profile.record.to_json(),
        "metrics": {name: term_to_json(term) for name, term in profile.metrics.items()},
        "rows": rows,
    }
    if rows:
        if profile.origin is None:
            raise QueryError(
                "saving a profile with its rows needs them, and it was saved without: make it anew."
            )
        members += members_of({"data": data_to_json(profile.origin.data)})
        about["space"] = space_to_json(profile.origin.space)
    with replacing(path) as file:
        write_archive(file, members, about)
    return Path(path)


def _bounded(profile: BoundedProfile) -> tuple[dict[str, Any], list[Member]]:
    columns: dict[str, Array] = {
        f"{end} {name}": whole(pair[at])
        for name, pair in profile.axes.items()
        for at, end in enumerate(_ENDS)
    }
    columns |= limbs_to_columns(profile.trees)
    columns["holds"] = (profile.possible.astype(np.int32) + profile.sure).astype(np.int32)
    about = {"kind": "bounded", "cells": len(profile.trees), "width": profile.width}
    return about, [("cells.parquet", columns_to_parquet(columns))]


def _drawn(profile: Ranged) -> tuple[dict[str, Any], list[Member]]:
    assert isinstance(profile, EstimatedProfile)
    samples = {"cells": profile.hits, "pilot": profile.pilot}
    members: list[Member] = [
        (f"{name}.parquet", columns_to_parquet(_with_rows(sample)))
        for name, sample in samples.items()
    ]
    about = {
        "kind": "estimated",
        **{name: len(sample.trees) for name, sample in samples.items()},
        "pool": hex(profile.pool),  # it may have more digits than JSON readers take
        "draws": profile.draws,
        "seed": profile.seed,
        "confidence": profile.confidence,
        "limits": {axis: [str(end) for end in ends] for axis, ends in profile.limits.items()},
        "all_good": profile.all_good,
        "different": profile.different,
        "rejected": profile.rejected,
    }
    return about, members


def _with_rows(sample: Profile) -> dict[str, Array]:
    """Name the columns of drawn trees; one beside the axes says how many there are."""
    axes = {name: whole(column) for name, column in sample.axes.items()}
    return {**axes_to_columns(axes), "draws": np.ones(len(sample.trees), np.int32)}


@dataclass(slots=True)
class RangedContent:
    """What an intact archive holds of a profile that is not exact."""

    archive: Archive
    kind: str

    @property
    def has_rows(self) -> bool:
        """Tell whether the rows are in the file."""
        return bool(self.archive.manifest["rows"])

    def profile(self, path: Path | None = None) -> BoundedProfile | EstimatedProfile:
        """Make the profile; with a path, also what it was made of."""
        manifest = self.archive.manifest
        record = record_from_json(manifest["record"])
        metrics = {name: term_from_json(term) for name, term in manifest["metrics"].items()}
        origin = self.origin() if path is not None and self.has_rows else None
        made = self._made(metrics, record, origin)
        known = made.axes if isinstance(made, BoundedProfile) else made.hits.axes
        if any(names(term) - set(known) for term in metrics.values()):
            raise DataError("its metrics are not computed from its cells")
        return made

    def origin(self) -> Origin:
        """Unpack the table and the space."""
        data = data_from_json(self.archive.plain("data.json"), self.archive.arrays("data"))
        return Origin(data, space_from_json(self.archive.manifest["space"]))

    def checks(self) -> Iterator[str]:
        """Check that the parts belong together, as far as they are there; say what was checked."""
        made = self.profile()
        if isinstance(made, BoundedProfile):
            yield f"the table of cells has the {len(made.trees):,} rows that the manifest tells"
            yield _check_cells(made)
        else:
            hits, pilot = len(made.hits.trees), len(made.pilot.trees)
            yield f"the tables of drawn trees have the {hits:,} and {pilot:,} rows told"
            yield _check_draws(made)
        if not _agrees(made.record.details.get("count"), made.count):
            raise DataError("the number of trees in its record does not follow from its cells")
        yield f"the number of trees in the record follows from them: {_short(made)}"
        if self.has_rows:
            origin = self.origin()
            yield from check_rows(made.record, origin.data, origin.space)

    def again(self, monitor: Monitor | None) -> Iterator[str]:
        """Make the profile again from its rows: in the same steps, or with the same seed."""
        told, origin = self.profile(), self.origin()
        asked = told.record.question
        options: dict[str, Any] = {
            "where": asked.get("where"),
            "define": asked.get("define"),
            "monitor": None if monitor is None else monitor.strict(),
        }
        if isinstance(told, BoundedProfile):
            made: Ranged = bound(
                origin.data, origin.space, asked["metrics"], width=told.width, **options
            )
            how = f"counted again in steps of {told.width:,g} rows"
        else:
            made = estimate(
                origin.data, origin.space, asked["metrics"],
                draws=told.draws, seed=told.seed, confidence=told.confidence, **options,
            )  # fmt: skip
            how = f"{told.draws:,} trees drawn again with seed {told.seed}"
        for formula in told.record.details.get("filtered", ()):
            made = made.where(formula)
        if not _same(told, made):
            raise DataError("made again from its rows, its numbers are others")
        yield f"{how}: the same numbers"

    def _made(
        self, metrics: Mapping[str, Term], record: RunRecord, origin: Origin | None
    ) -> BoundedProfile | EstimatedProfile:
        if self.kind == "bounded":
            return self._bounded(metrics, record, origin)
        if self.kind == "estimated":
            return self._estimated(metrics, record, origin)
        raise DataError(f"its kind is {self.kind!r}, which is none")

    def _bounded(
        self, metrics: Mapping[str, Term], record: RunRecord, origin: Origin | None
    ) -> BoundedProfile:
        columns = self._columns("cells")
        axes = {
            name.removeprefix("low "): (whole(low), whole(columns[name.replace("low", "high", 1)]))
            for name, low in columns.items()
            if name.startswith("low ")
        }
        holds, width = columns["holds"], float(self.archive.manifest["width"])
        return BoundedProfile(
            axes,
            limbs_from_columns(columns),
            metrics,
            holds == _SURE,
            holds >= _POSSIBLE,
            width,
            record,
            origin,
        )

    def _estimated(
        self, metrics: Mapping[str, Term], record: RunRecord, origin: Origin | None
    ) -> EstimatedProfile:
        manifest = self.archive.manifest
        hits, pilot = (self._sample(name, metrics, record) for name in ("cells", "pilot"))
        return EstimatedProfile(
            hits,
            pilot,
            int(manifest["pool"], 16),
            int(manifest["draws"]),
            int(manifest["seed"]),
            float(manifest["confidence"]),
            record,
            {k: (Fraction(low), Fraction(high)) for k, (low, high) in manifest["limits"].items()},
            bool(manifest["all_good"]),
            int(manifest["different"]),
            int(manifest["rejected"]),
            origin,
        )

    def _sample(self, name: str, metrics: Mapping[str, Term], record: RunRecord) -> Profile:
        columns = self._columns(name)
        ones = limbs_of([1] * len(columns["draws"]))
        return Profile(axes_from_columns(columns), ones, metrics, record)

    def _columns(self, name: str) -> dict[str, Array]:
        rows = self.archive.manifest[name]
        return columns_from_parquet(self.archive.read(f"{name}.parquet"), rows)


def _check_cells(made: BoundedProfile) -> str:
    """Check what must hold in every cell, whatever was counted."""
    if any((low > high).any() for low, high in made.axes.values()):
        raise DataError("in a cell the least value of an axis is above the largest")
    if not made.width > 0 or made.width != made.record.details.get("width"):
        raise DataError("its step is not the one of its record")
    if made.status not in ("bounded", "exact") or (
        made.status == "exact" and any((low != high).any() for low, high in made.axes.values())
    ):
        raise DataError(f"its record says {made.status}, and its cells are ranges")
    return "in every cell the least value of each axis is at most the largest"


def _check_draws(made: EstimatedProfile) -> str:
    """Check what must hold of draws, whatever was drawn."""
    details, record = made.record.details, made.record
    told = (details.get("draws"), record.seed, details.get("confidence"), record.status)
    if told != (made.draws, made.seed, made.confidence, "estimated"):
        raise DataError("draws, seed, confidence or status are not those of its record")
    if details.get("drawn_from", {}).get("trees") != made.pool:
        raise DataError("the trees it was drawn from are not those of its record")
    pilot = details.get("pilot_draws", 0)
    hits = len(made.hits.trees)
    fits = hits <= made.draws and len(made.pilot.trees) <= pilot and 0 < made.confidence < 1
    known = made.different + made.rejected <= min(made.pool, made.draws + pilot)
    if not fits or not known or (made.all_good and made.pool and hits != made.draws):
        raise DataError("more trees are said to be drawn than were")
    return f"{hits:,} of {made.draws:,} draws are good, no more than were drawn"


def _agrees(told: Any, found: Bracket) -> bool:
    """Compare what a record tells of a number with what follows from cells or draws.

    The ends of intervals are computed in floats, which another machine may round in another way.
    """
    if not isinstance(told, dict):
        return False
    plain = found.to_json()
    one, other = told.get("estimate"), plain["estimate"]
    if any(told.get(name) != plain[name] for name in ("count", "lower", "upper", "status")):
        return False
    if one is None or other is None:
        return one is other
    near = all(abs(one[end] - other[end]) <= 1 + other[end] // _NEAR for end in ("low", "high"))
    return near and all(one[name] == other[name] for name in other if name not in ("low", "high"))


def _terms(profile: Ranged) -> dict[str, Any]:
    return {name: folded(term_to_json(term)) for name, term in profile.metrics.items()}


def _short(made: Ranged) -> str:
    found = made.count
    return f"{found} ({found.status})" if len(str(found)) < 80 else found.status  # noqa: PLR2004


def _same(told: Ranged, made: Ranged) -> bool:
    """Tell whether two profiles know the same."""
    if told.count != made.count or told.status != made.status:
        return False
    if _terms(told) != _terms(made):
        return False
    one, other = (_bounded(p) if isinstance(p, BoundedProfile) else _drawn(p) for p in (told, made))
    return one == other

"""Say line by line what of a saved file was checked, and what could not be.

Loading makes the same checks of the file itself; here the trees are counted again on top, where the
rows are in the file.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from adtc.engine.monitor import Monitor
from adtc.engine.plan.keys import find_keys
from adtc.errors import DataError, TooLargeError
from adtc.profiles.making import profile as make_profile
from adtc.profiles.profile import Profile
from adtc.profiles.saved.archive import Archive, OtherFormatError
from adtc.profiles.saved.ranged import RangedContent
from adtc.profiles.saved.store import content_of, intact, opened_file

_DRAWN = 100
_NO_CIRCUIT = (
    "record and cells against rows and circuit, which the file does not hold: whoever edits such a "
    "file can compute its SHA-256 anew"
)
_NO_ROWS = (
    "ranges and record against rows, which the file does not hold: whoever edits such a file can "
    "compute its SHA-256 anew"
)
_NOT_AGAIN = "the number of trees: they were not counted again"
_UNSIGNED = "who made the file: it is not signed"
_TOLD = "the version, the seconds and the details of the search in the record: no answer needs them"


@dataclass(frozen=True, slots=True)
class Verification:
    """What was checked.

    Parameters
    ----------
    path
        The file.
    checked, unchecked
        One line each: what is right, and what could not be looked at.
    reason
        Why the file is refused; None if it is valid.
    """

    path: Path
    checked: tuple[str, ...]
    unchecked: tuple[str, ...]
    reason: str | None = None

    @property
    def valid(self) -> bool:
        """Tell whether nothing was found wrong."""
        return self.reason is None

    def __bool__(self) -> bool:
        return self.valid

    def __str__(self) -> str:
        lines = [f"{'valid' if self.valid else 'not valid'}: {self.path}"]
        lines += [f"  checked: {line}" for line in self.checked]
        lines += [f"  not checked: {line}" for line in self.unchecked]
        return "\n".join(lines if self.reason is None else [*lines, f"  refused: {self.reason}"])

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values."""
        told: dict[str, Any] = {"valid": self.valid, "checked": list(self.checked)}
        told["unchecked"] = list(self.unchecked)
        return told if self.reason is None else {**told, "reason": self.reason}


def verify(
    path: str | PathLike[str], *, recount: bool = True, monitor: Monitor | None = None
) -> Verification:
    """Check a saved profile and say what was checked.

    Parameters
    ----------
    recount
        Count the trees again from the rows, if the circuit and with it the rows are in the file;
        this takes as long as making the profile did.
    monitor
        Limits and progress of counting again.

    Returns
    -------
    Verification
        True in a condition if nothing was found wrong. ``print`` shows it line by line.

    Raises
    ------
    DataError
        Where there is no such file, or it is in another format.

    Notes
    -----
    The digest shows damage and careless changes; whoever edits a file can compute it anew. With the
    circuit in the file, what such a person could change is derived again from the rows. The rows
    themselves could be others: compare their fingerprint with that of your table.

    Examples
    --------
    >>> import adtc, tempfile
    >>> data = adtc.Data.from_arrays([[1], [1], [0]], [1, 1, 0])
    >>> found = adtc.profile(data, adtc.Space(max_depth=1), ["size", "error"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     checked = adtc.verify(found.save(f"{folder}/run.adtc", circuit=True))
    >>> checked.valid, checked.checked[-1]
    (True, 'counted again from the rows: the same 6 trees in the same 6 cells')
    """
    path = Path(path)
    checked: list[str] = []
    unchecked: list[str] = []
    with opened_file(path) as file:
        try:
            with intact(path):
                content = content_of(Archive(file, str(path), checked))
                checked.extend(content.checks())
                if isinstance(content, RangedContent):
                    checked.extend(_ranges(content, recount, monitor, unchecked))
                elif content.has_circuit:
                    loaded = content.profile(path)
                    checked.extend(_trees(loaded))
                    checked.extend(_again(loaded, monitor, unchecked) if recount else ())
                    unchecked.extend(() if recount else [_NOT_AGAIN])
                else:
                    unchecked.append(_NO_CIRCUIT)
        except OtherFormatError:
            raise
        except DataError as error:
            return Verification(path, tuple(checked), (), str(error))
    return Verification(path, tuple(checked), (*unchecked, _TOLD, _UNSIGNED))


def _ranges(
    content: RangedContent, recount: bool, monitor: Monitor | None, unchecked: list[str]
) -> Iterator[str]:
    """Make a bounded or estimated profile again, where its rows are there."""
    if not content.has_rows:
        unchecked.append(_NO_ROWS)
    elif not recount:
        unchecked.append(_NOT_AGAIN)
    else:
        try:
            yield from content.again(monitor)
        except TooLargeError as error:
            unchecked.append(f"the number of trees: {error}")


def _trees(loaded: Profile) -> Iterator[str]:
    """Draw trees from the circuit; drawing measures them on the rows and compares."""
    _ = loaded.need_source("verifying").circuit  # put together here, and checked
    yield "the arrays of the circuit belong together"
    try:
        drawn = loaded.draw(min(_DRAWN, loaded.total), seed=0) if loaded.total else []
    except RuntimeError as error:
        raise DataError(str(error).rstrip(".")) from None
    if drawn:
        yield f"{len(drawn)} trees drawn from it have the metrics of their cells, by the rows"


def _again(loaded: Profile, monitor: Monitor | None, unchecked: list[str]) -> Iterator[str]:
    """Count the trees again from the rows."""
    source, asked = loaded.need_source("verifying"), loaded.record.question
    try:
        again = make_profile(
            source.data,
            source.space,
            asked["metrics"],
            where=asked.get("where"),
            define=asked.get("define"),
            monitor=None if monitor is None else monitor.strict(),
        )
    except TooLargeError as error:
        unchecked.append(f"the number of trees: {error}")
        return
    assert loaded.keys is not None
    assert again.keys is not None
    places = find_keys(again.keys, loaded.keys)
    if (places < 0).any() or not np.array_equal(again.trees[places], loaded.trees):
        raise DataError("counted again from its rows, its cells have other numbers of trees")
    trees, cells = f"{loaded.total:,} trees", f"{len(loaded.trees):,} cells"
    yield f"counted again from the rows: the same {trees} in the same {cells}"

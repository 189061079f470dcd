"""How a report was made, so that others can make it again: commands, source, date, versions."""

import platform
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from adtc._version import __version__
from adtc.engine.record import RunRecord
from adtc.profiles.profile import Profile
from adtc.profiles.writing import grouped
from adtc.show import words

_PACKAGES = ("numpy", "pyarrow")
_SPACE = ("max_depth", "minsup", "relminsup", "max_size", "labels", "trivial_splits")


def commands(profile: Profile, command: str | None) -> list[str]:
    """List what to type to get the same report: the profile's own command, then the report's.

    A profile that was made in Python is written as the call that makes it.
    """
    made = profile.record.details.get("made", {})
    first = made.get("command") or python_call(profile)
    return [first, *([command] if command else [])]


def python_call(profile: Profile) -> str:
    """Write the call that makes a profile, from its record.

    Examples
    --------
    >>> import adtc
    >>> data = adtc.Data.from_arrays([[1], [1], [0]], [1, 1, 0])
    >>> print(python_call(adtc.profile(data, adtc.Space(max_depth=1), ["size"])))
    adtc.profile(data, adtc.Space(max_depth=1, minsup=1, labels='any', trivial_splits=True),
                 ['size'])
    """
    asked = profile.record.question
    metrics = asked.get("metrics", list(profile.names))
    where = f", where={asked['where']!r}" if asked.get("where") else ""
    start = f"adtc.{asked.get('ask', 'profile')}("
    how = "".join(f", {name}={value!r}" for name, value in _how(profile.record))
    space = space_call(profile.record)
    return f"{start}data, {space},\n{' ' * len(start)}{metrics!r}{where}{how})"


def _how(run: RunRecord) -> list[tuple[str, Any]]:
    """List the options of a bounded or an estimated run."""
    told = {name: run.details.get(name) for name in ("width", "draws", "confidence")}
    return [
        (name, value) for name, value in {**told, "seed": run.seed}.items() if value is not None
    ]


def space_call(run: RunRecord) -> str:
    """Write the space of a run as the call that makes it."""
    space = run.conventions
    given = [f"{name}={space[name]!r}" for name in _SPACE if space.get(name) is not None]
    if share := space.get("min_leaf_share"):
        given.append(f"min_leaf_share={share!r}")
    return f"adtc.Space({', '.join(given)})"


def facts(run: RunRecord, made: datetime) -> list[tuple[str, str]]:
    """List source, fingerprints, dates and versions as pairs of a term and its text."""
    origin: dict[str, Any] = run.details.get("made", {})
    pairs = [("Source", _source(origin.get("source"), run.data["name"]))]
    if digest := origin.get("source", {}).get("sha256"):
        pairs.append(("Fingerprint of the file", f"SHA-256 {digest}"))
    pairs.append(("Fingerprint of the data as read", str(run.data["fingerprint"])))
    if date := origin.get("date"):
        pairs.append(("Computed", date_text(datetime.fromisoformat(date))))
    pairs.append(("Report written", date_text(made)))
    software = [f"adtc {__version__}", f"Python {platform.python_version()}", *_versions()]
    pairs.append(("Versions", ", ".join(software)))
    return pairs + [pair for pair in words.record(run) if pair[0] != "Data fingerprint"]


def _source(source: dict[str, Any] | None, name: str) -> str:
    if source and "file" in source:
        return f"{source['file']} ({grouped(source['bytes'])} bytes)"
    if source and "bundled" in source:
        return f"{source['bundled']}, a table that comes with adtc"
    return f"{name}, a table that was given in Python"


def _versions() -> list[str]:
    found = []
    for package in _PACKAGES:
        try:
            found.append(f"{package} {version(package)}")
        except PackageNotFoundError:  # a wheel without metadata is no reason to fail
            continue
    return found


def date_text(moment: datetime) -> str:
    """Write a moment so that nobody reads the month as the day.

    Examples
    --------
    >>> date_text(datetime(2026, 3, 5, 9, 7, tzinfo=UTC))
    '5 March 2026, 09:07 UTC'
    """
    at = moment.astimezone(UTC)
    months = "January February March April May June July August September October November December"
    return f"{at.day} {months.split()[at.month - 1]} {at.year}, {at:%H:%M} UTC"

"""Estimates that nobody asked for: before an exact run that will not fit, or beside what it left.

Who gets how much of the time is told in `adtc.engine.forecast.sharing`.
"""

import gc
from dataclasses import dataclass, replace
from time import monotonic
from typing import TYPE_CHECKING, Any

from adtc.cli import ranged
from adtc.cli.asking import Asked
from adtc.cli.modes import quantile_lines, quantiles_json
from adtc.cli.output import Line

if TYPE_CHECKING:
    from adtc.data import Data
    from adtc.engine.limits.bracket import Bracket
    from adtc.engine.monitor import Monitor
    from adtc.engine.results import Number
    from adtc.profiles import Profile
    from adtc.profiles.inexact.brackets import BracketTable
    from adtc.profiles.inexact.estimating import EstimatedProfile

LEAST = 0.5  # seconds that are worth a try
DRAWS = 1000


@dataclass(frozen=True, slots=True)
class Drawn:
    """What drawn trees say, and up to which depth they go."""

    profile: "EstimatedProfile"
    depth: int
    asked: int

    @property
    def whole(self) -> bool:
        """Tell whether they are of the asked space, and not of a smaller depth."""
        return self.depth == self.asked

    @property
    def known(self) -> "Bracket":
        """Return what they tell about the number of trees asked for."""
        from adtc.engine.limits.bracket import Bracket

        count = self.profile.count
        if self.whole or "extremes" in self.profile.record.details:
            return count if self.whole else Bracket()
        if count.status != "exact":
            return Bracket(count.lower)
        return Bracket(count.lower, finished=f"depth at most {self.depth}")


def of_asked(drawn: Drawn | None) -> "EstimatedProfile | None":
    """Return what drawn trees say, if they are of the asked space."""
    return drawn.profile if drawn is not None and drawn.whole else None


def profile_within(
    asked: Asked, data: "Data", metrics: list[str]
) -> "tuple[Profile, Drawn | None]":
    """Make an exact profile; one that will not fit into its time has trees drawn before it."""
    import adtc
    from adtc.engine.forecast.sharing import READING

    first = _drawn_first(asked, data, metrics)
    if first is not None:  # what is exact beside it must be read in time, too
        asked = replace(asked, run={**asked.run, "spare": READING})
    about = data, asked.space(), metrics
    made = asked.answer(adtc.profile, *about, where=asked.where, axes=len(metrics))
    return made, first


def _drawn_first(asked: Asked, data: "Data", metrics: list[str]) -> Drawn | None:
    """Draw trees before an exact run, if that is foreseen not to fit into the time.

    A depth less than asked costs a small part of the asked one, and is then there in any case.
    """
    from adtc.engine.forecast.sharing import SHARE

    monitor, depth = asked.monitor(), asked.space().max_depth
    left = monitor.time_left
    if left is None or not monitor.answers or _exact_fits(asked, data, metrics, monitor):
        return None
    until, found = monotonic() + SHARE * left, None
    for at in range(max(1, depth - 1), depth + 1):
        drawn = _drawn(asked, data, metrics, at, until - monotonic())
        if drawn is None:
            break
        found = drawn
    return found


def _exact_fits(asked: Asked, data: "Data", metrics: list[str], monitor: "Monitor") -> bool:
    """Foresee whether an exact run fits, in little time."""
    import adtc
    from adtc.cli.running import watched
    from adtc.engine.forecast.sharing import FORESEEING, cannot_fit, exact_fits
    from adtc.errors import TooLargeError

    if asked.where is None and asked.engine != "spec" and cannot_fit(data, asked.space(), monitor):
        return False
    alone = replace(monitor, client=None, checkpoint=None)  # nothing of it is kept
    watch = _within(alone, FORESEEING * (monitor.time_left or 0.0))
    options = {"define": asked.define, "engine": asked.engine, "monitor": watch}
    try:
        foreseen = watched(
            lambda: adtc.explain(data, asked.space(), asked.where, metrics, **options), watch
        )
    except TooLargeError:
        return False
    return exact_fits(foreseen, monitor)


def _within(monitor: "Monitor", seconds: float) -> "Monitor":
    return replace(monitor, time_limit=seconds, started=monotonic(), spare=0.0, exact=True)


def _drawn(
    asked: Asked, data: "Data", metrics: list[str], depth: int, seconds: float
) -> Drawn | None:
    """Estimate up to a depth, in so many seconds; None if that is not enough."""
    import adtc
    from adtc.cli.running import interrupted, watched
    from adtc.errors import ADTCError

    monitor, space = asked.monitor(), asked.space()
    if seconds < LEAST or interrupted() or not monitor.answers:
        return None
    watch = _within(monitor, seconds)
    options = {"define": asked.define, "engine": asked.engine, "monitor": watch}
    smaller = replace(space, max_depth=depth)
    try:
        found = watched(
            lambda: adtc.estimate(
                data, smaller, metrics, where=asked.where, draws=DRAWS, seed=0, **options
            ),
            watch,
        )
    except ADTCError:  # too large for that, too: what is finished is all there is
        return None
    return Drawn(found, depth, space.max_depth)


def _drawn_after(asked: Asked, data: "Data", metrics: list[str], most: float) -> Drawn | None:
    """Estimate what a limit left open, in the time that is left."""
    from adtc import _core
    from adtc.cli.running import note_interrupt
    from adtc.errors import TooLargeError

    gc.collect()
    _core.return_memory()  # what the exact run held is there for the estimate
    left = asked.time_left
    seconds = most if left is None else min(left, most)
    try:
        return _drawn(asked, data, metrics, asked.space().max_depth, seconds)
    except TooLargeError:  # what is exact holds all the memory
        return None
    except KeyboardInterrupt:  # what is exact is finished
        note_interrupt()
        return None


def with_drawn(
    number: "Number", first: Drawn | None, asked: Asked, data: "Data | None", metrics: list[str]
) -> "tuple[Number, Drawn | None]":
    """Add an estimate of the asked space to an answer about a part of it."""
    from adtc.engine.forecast.sharing import BESIDE
    from adtc.engine.limits.bracket import Bracket

    if not isinstance(number, Bracket) or data is None:
        return number, None
    drawn = first
    if drawn is None:
        limited = asked.limits.get("time_limit")
        drawn = _drawn_after(asked, data, metrics, BESIDE if limited is None else limited)
    return (number, None) if drawn is None else (number.tightened(drawn.known), drawn)


def tightened(found: "Bracket", asked: Asked, data: "Data") -> "Bracket":
    """Add an estimate to a number that a limit left open, if one is found in little time."""
    from adtc.engine.forecast.sharing import BESIDE

    drawn = _drawn_after(asked, data, ["size"], BESIDE)
    return found if drawn is None else found.tightened(drawn.known)


def beside_json(drawn: Drawn | None) -> dict[str, Any]:
    """Tell programs what drawn trees say about the space that was asked about."""
    if drawn is None:
        return {}
    found = drawn.profile
    spread = {name: quantiles_json(found.quantiles(name)) for name in found.names}
    return _told(drawn, {"metrics": spread})


def beside_lines(drawn: Drawn | None, finished: str | None) -> list[Line]:
    """Write the same for people, before what is exact for a part of it."""
    if drawn is None:
        return []
    spread = {name: drawn.profile.quantiles(name) for name in drawn.profile.names}
    return [*_head(drawn), *quantile_lines(spread), *_foot(drawn, finished)]


def table_json(drawn: Drawn | None, table: "BracketTable | None") -> dict[str, Any]:
    """Tell programs what drawn trees say in a cross-table."""
    return {} if drawn is None or table is None else _told(drawn, table.to_json())


def table_lines(
    drawn: Drawn | None, table: "BracketTable | None", finished: str | None
) -> list[Line]:
    """Write the same for people, before the table that is exact for a part of it."""
    if drawn is None or table is None:
        return []
    lines = [Line(""), *map(Line, table.to_text().splitlines())]
    return [*_head(drawn), *lines, *_foot(drawn, finished)]


def _told(drawn: Drawn, more: dict[str, Any]) -> dict[str, Any]:
    found = drawn.profile
    told: dict[str, Any] = {
        "draws": found.draws,
        "seed": found.seed,
        "confidence": found.confidence,
    }
    told = {**told, "max_depth": drawn.depth, **more, "record": found.record.to_json()}
    return {"estimated": told, **({"status": found.status} if drawn.whole else {})}


def _head(drawn: Drawn) -> list[Line]:
    told = f"estimated, for depth at most {drawn.depth}:"
    return [] if drawn.whole else [Line(""), Line(told, "bold")]


def _foot(drawn: Drawn, finished: str | None) -> list[Line]:
    part = [Line(""), Line(f"exact, but only for {finished}:", "bold")] if finished else []
    return [Line(""), ranged.how(drawn.profile), *part]

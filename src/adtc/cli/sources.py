"""A SOURCE of trees: a saved profile, or a table of which a profile is made first."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar

import click

from adtc.cli import completion, text
from adtc.cli.asking import Asked
from adtc.cli.decorators import Answering, command
from adtc.cli.infeasible import Report, nearest_report
from adtc.cli.options import FURTHER, QUIET, SHARED
from adtc.cli.output import Answer, Line
from adtc.cli.running import watched
from adtc.cli.saved import is_saved

if TYPE_CHECKING:
    from adtc.data import Data
    from adtc.engine.monitor import Monitor
    from adtc.engine.results import Number
    from adtc.profiles import Profile
    from adtc.profiles.inexact.ranged import Ranged


T = TypeVar("T")
SOURCES = """\
SOURCE is a profile saved by `adtc profile -o`, or a TABLE: a bundled name (see `adtc datasets`) or
the path of a CSV or Parquet file. For a table all that is needed is computed first; the options of
trees, table and run are for that alone."""


@dataclass(frozen=True, slots=True)
class Opened:
    """The trees that a command is about.

    Parameters
    ----------
    profile
        All trees of the source.
    where
        What is asked of them on top: the formula of a saved profile's reader. The one for a table
        went into the computation already.
    path
        Where the profile was saved; None if it was made now.
    data
        The table of which it was made now.
    """

    profile: "Profile"
    where: str | None
    path: str | None
    data: "Data | None" = None

    @property
    def chosen(self) -> "Profile":
        """Return the profile of the trees asked for."""
        return self.profile.where(self.where)

    def number(self, count: int) -> "Number":
        """Say what is known about the number of trees asked for, of which so many were found."""
        from dataclasses import replace

        from adtc.engine.results import Count

        known = self.profile.count
        if isinstance(known, Count):
            found = Count(count)
            found.record = known.record
            return found
        return replace(known, lower=min(count, known.lower or 0))

    def nearest_report(self, asked: Asked) -> Report:
        """Tell how near trees of a table come to a formula that none of them satisfies."""
        return ({}, []) if self.data is None else nearest_report(asked, self.data)

    def footer(self) -> list[Line]:
        """Say of what and under which conventions the answer holds."""
        return text.footer(self.profile.record, self.path, self.where)

    def json(self) -> dict[str, Any]:
        """Return what every answer about a source tells programs."""
        fields = {"status": self.profile.status, "source": self.path, "where": self.where}
        return {**fields, "record": self.profile.record.to_json()}


def opened(
    asked: Asked, metrics: "Callable[[Data], Sequence[str]]", *, circuit: bool = True
) -> Opened:
    """Load a saved profile, or make one of a table with the metrics that it should have.

    Without its ``circuit`` a profile is loaded faster, but no tree can be drawn.
    """
    found = opened_any(asked, metrics, circuit=circuit)
    if isinstance(found, Opened):
        return found
    raise _ranges_only(found, asked.table)


def opened_any(
    asked: Asked, metrics: "Callable[[Data], Sequence[str]]", *, circuit: bool = True
) -> "Opened | Ranged":
    """Open a source as `opened` does; a saved one may also hold ranges, filtered as asked."""
    import adtc
    from adtc.engine.monitor import Monitor
    from adtc.profiles import Profile

    if not is_saved(asked.table):
        data = asked.data()
        about = data, asked.space(), list(metrics(data))
        made = asked.answer(adtc.profile, *about, where=asked.where, axes=len(about[2]))
        return Opened(made, None, None, data)
    _refuse_options(asked)
    loaded = watched(lambda: adtc.load_profile(asked.table, circuit=circuit), Monitor())
    if isinstance(loaded, Profile):
        return Opened(loaded, asked.where, asked.table)
    return loaded.where(asked.where)


def opened_and_read(
    asked: Asked,
    metrics: "Callable[[Data], Sequence[str]]",
    read: "Callable[[Profile, Monitor], T]",
) -> tuple[Opened, T]:
    """Open a source as `opened` does, and read something off the trees that are asked for.

    Of a table both are of the deepest depth for which both fit into the limits.
    """
    from adtc.profiles.making import profile_and_read

    if is_saved(asked.table):
        source = opened(asked, metrics)
        return source, asked.under_limits(lambda monitor: read(source.chosen, monitor))
    data = asked.data()
    about = data, asked.space(), list(metrics(data)), read
    both: tuple[Opened, T] = asked.answer(
        profile_and_read,
        *about,
        where=asked.where,
        axes=len(about[2]),
        give=lambda made, found: (Opened(made, None, None, data), found),
    )
    return both


def load_exact(path: str) -> "Profile":
    """Load a saved profile that holds trees or exact counts, or say what another one is for."""
    import adtc
    from adtc.engine.monitor import Monitor
    from adtc.profiles import Profile

    loaded = watched(lambda: adtc.load_profile(path), Monitor())
    if isinstance(loaded, Profile):
        return loaded
    raise _ranges_only(loaded, path)


def _ranges_only(found: "Ranged", path: str) -> Exception:
    from adtc.errors import QueryError

    return QueryError(
        f"'{path}' holds a profile that is {found.status}: ranges of numbers, no trees. "
        f"`adtc crosstab`, `report`, `dashboard` and `verify` take it; for the rest make an exact "
        f"profile, of a smaller space or with a stricter formula."
    )


def source_command(*own: click.Parameter, example: str) -> Callable[[Answering], click.Command]:
    """Make a command about a source: its function takes what is `Asked` and its own options."""

    def decorate(function: Answering) -> click.Command:
        @wraps(function)
        def answer(source: str, **values: Any) -> Answer:
            values["table"] = source
            return function(Asked.take(values), **values)

        answer.__doc__ = f"{function.__doc__}\n\n{SOURCES}"
        argument = click.Argument(["source"], shell_complete=completion.sources)
        return command(argument, *own, *SHARED, *FURTHER, QUIET, example=example)(answer)

    return decorate


def _refuse_options(asked: Asked) -> None:
    """Refuse options that a saved profile has answered already."""
    from adtc.errors import QueryError

    own = ["define"] if asked.define else []
    given = {*asked.reading, *asked.further, *asked.trees, *own}
    spelled = [option.opts[0] for option in (*SHARED, *FURTHER) if option.name in given]
    if spelled:
        raise QueryError(
            f"'{asked.table}' is a saved profile, whose trees are chosen already: leave out "
            f"{spelled[0]}, or give the table instead."
        )

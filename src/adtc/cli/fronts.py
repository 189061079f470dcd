"""A front in words and for programs, whether a profile has it or a search finds it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from adtc.cli import text
from adtc.cli.asking import Asked
from adtc.cli.infeasible import Report, nearest_report
from adtc.cli.output import Answer, Line
from adtc.cli.running import watched
from adtc.cli.sources import opened

if TYPE_CHECKING:
    from adtc.profiles.pareto import Front

Goals = Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Found:
    """A front, and what an answer says beside it.

    Parameters
    ----------
    among
        The number of all trees; None if they were not counted.
    nearest
        How near trees come to a formula that none satisfies.
    source
        What every answer tells programs.
    """

    front: "Front"
    among: int | None
    nearest: Report
    source: Mapping[str, Any]
    footer: list[Line]

    def answer(self, files: list[str]) -> Answer:
        """Say what was found."""
        nearest, lines = self.nearest
        json = {
            **self.front.to_json(),
            "among": self.among,
            **nearest,
            "files": files,
            **self.source,
        }
        body = map(Line, ["", *self.front.to_text().splitlines()]) if len(self.front) else []
        return Answer(
            json, [Line(self._head(), "bold"), *lines, *body, *text.files(files), *self.footer]
        )

    def _head(self) -> str:
        front = self.front
        points = f"{len(front):,} {'point' if len(front) == 1 else 'points'} of the front"
        points += f" of {front.finished}" if front.finished else ""
        status = front.status
        if front.stopped is not None:
            return f"{points} ({status}): {front.stopped}"
        if self.among == 0:
            return text.answer(0, status).text
        if not len(front):
            return f"no tree {self._does()} all criteria defined ({status}, proved)"
        among = "" if self.among is None else f", among {text.trees(self.among)}"
        if front.counted:
            return f"{text.trees(int(front.count))} on {points}{among} ({status})"
        return f"{points}{among} ({status}, proved; --json has a tree for each)"

    def _does(self) -> str:
        asked = self.front.record is not None and "where" in self.front.record.question
        return "satisfies the constraint with" if asked else "has"


def of_profile(asked: Asked, goals: Goals) -> Found:
    """Find the front of a saved profile."""
    source = opened(asked, lambda data: (), circuit=False)
    chosen = source.chosen
    front = chosen.pareto(**goals)
    return Found(front, chosen.total, ({}, []), source.json(), source.footer())


def of_table(asked: Asked, goals: Goals, counts: bool) -> Found:
    """Search the front of a table's trees, as far as the limits allow."""
    from adtc.errors import TooLargeError
    from adtc.profiles.fronts import Search

    data = asked.data()
    monitor = asked.monitor()
    search = Search(
        data,
        asked.space(),
        **goals,
        where=asked.where,
        counts=counts,
        define=asked.define,
        engine=asked.engine,
        monitor=monitor,
    )
    among = None
    try:
        front = watched(search.run, monitor)
        if counts and front.stopped is None:
            among = watched(search.among, monitor)
    except TooLargeError as reason:  # the clock ran out while a kernel was busy
        front = search.front(stopped=str(reason))
    none = not len(front) and front.stopped is None
    nearest = nearest_report(asked, data, sure=False) if none else ({}, [])
    source = {"source": None, "where": None, "record": search.record.to_json()}
    return Found(front, among, nearest, source, text.footer(search.record))

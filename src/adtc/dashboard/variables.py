"""The variables of all good trees: who needs them, and how much errors grow when they are shuffled.

Reliance takes a run of its own, so it is computed aside, and asked for again.
"""

import threading
from dataclasses import dataclass, field

from adtc.cache import LRUCache
from adtc.dashboard.side import Side
from adtc.engine.monitor import Monitor
from adtc.errors import ADTCError
from adtc.profiles.profile import Profile
from adtc.profiles.reliance import RelianceRange, ranges_of_profile
from adtc.profiles.variables import Variable, Variables
from adtc.show import views
from adtc.show.views import View

_KEPT = 3
_SETS = 12  # minimal sets that are shown


@dataclass
class Job:
    """The reliance of some trees, as far as it is computed."""

    columns: list[str]
    monitor: Monitor = field(default_factory=Monitor)
    ranges: dict[str, RelianceRange] = field(default_factory=dict)
    least: dict[str | None, int | None] = field(default_factory=dict)
    error: str | None = None
    done: bool = False


class VariablesPanel:
    """Answers about variables."""

    def __init__(self, side: Side, lock: threading.RLock) -> None:
        self.side, self.lock = side, lock
        self._found: LRUCache[Variables] = LRUCache(_KEPT)
        self._jobs: dict[str | None, Job] = {}
        self._starting = threading.Lock()

    def view(self, where: str | None) -> View:
        """Tell which variables the trees need and use."""
        found = self._variables(where)
        sets = found.minimal_sets if found.total else ()
        return {
            "total": str(found.total),
            "necessary": list(found.necessary),
            "variables": [_line(one, found.total) for one in found.ranked()],
            "minimal": [[name for name in found if name in names] for names in sets[:_SETS]],
            "minimal_of": len(sets),
        }

    def reliance(self, where: str | None) -> View:
        """Tell how far reliance is computed; begin if nobody has."""
        with self._starting:
            job = self._jobs.get(where)
            if job is None:
                for old in self._jobs.values():
                    old.monitor.cancel()  # one is computed at a time
                self._jobs = {one: old for one, old in self._jobs.items() if old.done}
                job = self._jobs[where] = Job(list(self._variables(where)))
                threading.Thread(target=self._run, args=(where, job), daemon=True).start()
        base = job.least.get(None)
        return {
            "done": job.done,
            "ready": len(job.ranges),
            "of": len(job.columns),
            "error": job.error,
            "ranges": {name: _range(one) for name, one in list(job.ranges.items())},
            "least": {
                name: None if cost is None or base is None else [cost, cost - base]
                for name, cost in list(job.least.items())
                if name is not None
            },
        }

    def _variables(self, where: str | None) -> Variables:
        with self.lock:
            chosen = self.side.chosen(where)
        return self._found.get(where, chosen.variables)

    def _run(self, where: str | None, job: Job) -> None:
        try:
            with self.lock:
                chosen = self.side.chosen(where)
            self._compute(chosen, where, job)
        except ADTCError as error:
            job.error = str(error)
        finally:
            job.done = True

    def _compute(self, chosen: Profile, where: str | None, job: Job) -> None:
        found = ranges_of_profile(chosen, where=where, monitor=job.monitor)
        job.least = dict(chosen.variables(monitor=job.monitor).least_errors)
        job.ranges = {one.column: one for one in found}


def _line(one: Variable, total: int) -> View:
    return {
        "name": one.name,
        "kind": one.kind,
        "using": str(one.trees_using),
        "without": str(one.trees_without),
        "share": views.share_text(one.trees_using, total),
        "part": float(one.share or 0),
        "levels": [str(n) for n in one.by_level],
        "features": len(one.features),
    }


def _range(one: RelianceRange) -> View:
    ends = {"min": one.min, "max": one.max}
    return {
        "status": one.status,
        "null": one.null,
        **{name: None if end is None else float(end) for name, end in ends.items()},
        **{f"{name}_text": views.number_text(end) for name, end in ends.items()},
        **{f"{name}_exact": None if end is None else str(end) for name, end in ends.items()},
    }

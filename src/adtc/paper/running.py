"""Run experiments into a folder, one after the other; what is finished is kept."""

import platform
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from adtc._version import __version__
from adtc.data import Data
from adtc.engine.monitor import Monitor
from adtc.errors import ADTCError, CancelledError, QueryError
from adtc.paper.experiments import Experiment
from adtc.paper.results import read_finished
from adtc.paper.setting import Setting
from adtc.paper.tables import load
from adtc.show.style import matplotlib


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one experiment.

    Parameters
    ----------
    summary
        What its JSON file says; None if it failed.
    failure
        Why it failed.
    kept
        Whether it was finished before and not run again.
    """

    experiment: Experiment
    summary: dict[str, Any] | None
    failure: str = ""
    kept: bool = False


def run_all(
    experiments: Sequence[Experiment],
    folder: Path,
    *,
    setting: Setting | None = None,
    compas: Path | None = None,
    again: bool = False,
    monitor: Monitor | None = None,
) -> Iterator[Outcome]:
    """Run experiments and yield what became of each as soon as its files are written.

    Parameters
    ----------
    again
        Run experiments again that were finished with the same table, setting and version.
    monitor
        Watches over all of them.

    Notes
    -----
    An experiment that fails does not stop the others; a cancelled run stops them all.
    """
    matplotlib()  # before any work is done
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise QueryError(f"cannot write to the folder '{folder}': {error.strerror}.") from None
    chosen = setting or Setting()
    tables: dict[str, Data] = {}
    for experiment in experiments:
        try:
            if experiment.table not in tables:
                tables[experiment.table] = load(experiment.table, chosen, compas)
            data = tables[experiment.table]
            yield _run_one(experiment, data, folder, setting=chosen, again=again, monitor=monitor)
        except CancelledError:
            raise
        except ADTCError as error:
            yield Outcome(experiment, None, str(error))


def _run_one(
    experiment: Experiment,
    data: Data,
    folder: Path,
    *,
    setting: Setting,
    again: bool,
    monitor: Monitor | None,
) -> Outcome:
    about = {
        "name": experiment.name,
        "where": experiment.where,
        "title": experiment.title,
        "version": __version__,
        "setting": setting.to_json(),
        "table": {"name": data.name, "rows": data.total, "fingerprint": data.fingerprint},
    }
    if not again and (summary := read_finished(folder, experiment.name, about)) is not None:
        return Outcome(experiment, summary, kept=True)
    start = time.perf_counter()
    result = experiment.run(data, setting, monitor)
    run = {
        "seconds": round(time.perf_counter() - start, 2),
        "finished": time.strftime("%Y-%m-%d"),
        "python": platform.python_version(),
        "machine": platform.machine(),
    }
    return Outcome(experiment, result.write(folder, experiment.name, {**about, "run": run}))

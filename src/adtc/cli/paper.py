"""`adtc paper`: the paper's experiments, each with pictures, tables and one sentence."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from adtc.cli.decorators import command
from adtc.cli.group import INTERRUPTED
from adtc.cli.options import FILE, OUTPUT, RUN, TABLE, Option, integer
from adtc.cli.output import Answer, Line
from adtc.cli.running import watched

if TYPE_CHECKING:
    from adtc.paper import Outcome

FOLDER = Path("paper-results")


@command(
    click.Argument(["experiment"], nargs=-1),
    Option("--compas", section=TABLE, metavar="PATH", type=FILE,
           help="A CSV file with COMPAS, for the experiment on it (else it is left out)."),
    Option("--again", section=RUN, is_flag=True,
           help="Run experiments again that are finished."),
    Option("--threads", section=RUN, callback=integer(1), metavar="N",
           help="Threads of the fast engine (default: all cores it may use)."),
    Option("-o", "--output", "folder", section=OUTPUT, metavar="FOLDER", type=FILE, default=FOLDER,
           help=f"Folder for pictures and tables (default {FOLDER})."),
    example="adtc paper fig1 fairness -o paper-results",
)  # fmt: skip
def paper(
    experiment: tuple[str, ...],
    compas: Path | None,
    again: bool,
    threads: int | None,
    folder: Path,
) -> Answer:
    """Run the paper's experiments and compare with its figures.

    EXPERIMENT is any of fig1, fig2, size-depth, rows, depth, siz-adult, siz-mushroom, siz-compas,
    fairness, reference and conventions; without one, all of them run. What is finished is kept: an
    interrupted run goes on where it stopped.
    """
    from adtc.engine.monitor import Monitor, usable_cores
    from adtc.paper import find, run_all

    chosen = find(experiment, compas=compas is not None)
    monitor = Monitor(threads=threads or usable_cores())
    runs = run_all(chosen, folder, compas=compas, again=again, monitor=monitor)
    found: list[Outcome] = []
    try:
        while (outcome := watched(lambda: next(runs, None), monitor)) is not None:
            found.append(outcome)
            _report(outcome, len(found), len(chosen))
    except KeyboardInterrupt:
        finished = ", ".join(o.experiment.name for o in found if o.summary) or "none"
        click.echo(f"adtc: stopped; finished and kept in '{folder}': {finished}.", err=True)
        raise click.exceptions.Exit(INTERRUPTED) from None
    if failed := [o for o in found if o.summary is None]:
        from adtc.errors import QueryError

        reasons = " ".join(f"{o.experiment.name}: {o.failure}" for o in failed)
        raise QueryError(
            f"{len(failed)} of {len(found)} experiments failed, the others are in '{folder}'. "
            f"{reasons}"
        )
    return _answer(found, folder)


def _report(outcome: "Outcome", done: int, total: int) -> None:
    """Say on stderr what is done, as soon as it is."""
    what = "kept" if outcome.kept else "failed" if outcome.summary is None else "done"
    click.echo(f"[{done}/{total}] {outcome.experiment.name}: {what}", err=True)


def _answer(found: "list[Outcome]", folder: Path) -> Answer:
    lines, summaries = [], []
    for outcome in found:
        assert outcome.summary is not None  # failures do not come here
        experiment = outcome.experiment
        head = f"{experiment.name} ({experiment.where}): {experiment.title}"
        lines += [Line(head, "bold"), Line(f"  {outcome.summary['sentence']}")]
        summaries.append(outcome.summary)
    lines += [Line(""), Line(f"pictures and tables: {folder}", "dim")]
    return Answer({"folder": str(folder), "experiments": summaries}, lines)

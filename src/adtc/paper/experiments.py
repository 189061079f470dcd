"""The list of experiments, in the order of the paper's Sec. 5."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from adtc.data import Data
from adtc.engine.monitor import Monitor
from adtc.errors import QueryError, unknown
from adtc.paper import conventions, costs, landscape, reference
from adtc.paper.results import Result
from adtc.paper.setting import Setting


@dataclass(frozen=True, slots=True)
class Experiment:
    """One experiment of the paper.

    Parameters
    ----------
    where
        Its place in the paper.
    table
        The table it runs on: adult, mushroom or compas.
    run
        From the table and the setting to the result.
    """

    name: str
    where: str
    title: str
    table: str
    run: Callable[[Data, Setting, Monitor | None], Result]


EXPERIMENTS = (
    Experiment("fig1", "Fig. 1", "Accuracy, F1 and demographic parity", "adult",
               landscape.accuracy_f1_dp),
    Experiment("fig2", "Fig. 2", "Accuracy and balanced accuracy, before and after balancing",
               "adult", landscape.accuracy_balanced_accuracy),
    Experiment("size-depth", "Fig. 3 (a)", "Size and depth of near-optimal trees", "adult",
               landscape.size_depth),
    Experiment("rows", "Fig. 4", "Scalability in the number of rows", "adult", costs.scalability),
    Experiment("depth", "Fig. 5", "Impact of maxdep", "adult", costs.impact_of_depth),
    Experiment("siz-adult", "Fig. 6", "Effect of siz on adult", "adult", costs.effect_of_size),
    Experiment("siz-mushroom", "Fig. 6", "Effect of siz on mushroom", "mushroom",
               costs.effect_of_size),
    Experiment("siz-compas", "Fig. 6", "Effect of siz on COMPAS", "compas",
               costs.effect_of_size),
    Experiment("fairness", "Fig. 7", "Accuracy, equalized odds and equal opportunity", "adult",
               landscape.fairness),
    Experiment("reference", "Sec. 5.2", "The published time beside plain Python", "adult",
               reference.published_time),
    Experiment("conventions", "Sec. 5.1", "Conventions that the paper leaves open", "adult",
               conventions.compare),
)  # fmt: skip
"""All experiments; the last two are ours, to judge the paper's numbers by."""


def find(names: Sequence[str], *, compas: bool) -> list[Experiment]:
    """Find experiments by name, in the paper's order; all that can run if none is named."""
    known = {experiment.name: experiment for experiment in EXPERIMENTS}
    for name in names:
        if name not in known:
            raise QueryError(unknown("experiment", name, known))
    if not names:
        return [e for e in EXPERIMENTS if compas or e.table != "compas"]
    chosen = [e for e in EXPERIMENTS if e.name in names]
    if not compas and any(e.table == "compas" for e in chosen):
        raise QueryError(
            "the experiment 'siz-compas' needs the table: give the path of a CSV file with COMPAS "
            "(--compas PATH)."
        )
    return chosen

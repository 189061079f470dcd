"""The line that tells of a long run before it begins."""

from adtc.data import Data
from adtc.engine.forecast.advice import least_of, levels_of
from adtc.engine.forecast.layout import time_in_words
from adtc.engine.forecast.pricing import bounds_seconds
from adtc.engine.lattice import distinct_features, rows_of
from adtc.engine.plan import make_plan
from adtc.engine.query import Space
from adtc.engine.run import opened

LONG = 3600.0  # seconds from which on a run is announced
_HARDLY = 5e10  # pairs of features below all paths that no machine takes an hour for


def announcement(data: Data, space: Space, *, constrained: bool = False) -> str | None:
    """Say before a run without limits that it will take long, and what would take less.

    A constraint or an objective leaves an unknown number of paths; then the bounds alone count.
    """
    paths = levels_of(data.n_features, space.max_depth)
    if sum(paths) * data.n_features**2 < _HARDLY:
        return None
    with opened(data, space, {"ask": "explain"}) as run:
        question = run.narrowed(run.ask())
    if question is None:
        return None
    plan = make_plan(question)
    rows = rows_of(data, plan.groups, merge=False)
    features = distinct_features(rows, question.minsup, allowed=question.allowed)
    least = least_of(plan, data, len(features.twins))
    seconds = least.seconds()
    if constrained:
        paths = levels_of(least.features, least.depth)
        seconds = bounds_seconds(paths, 1, least.features)
    if seconds < LONG:
        return None
    return (
        f"this may take about {time_in_words(seconds)} on one thread. Cheaper: "
        f"{'; '.join(least.advice())}. Ctrl-C stops it; --time-limit answers with what is finished."
    )

"""Refusing a question whose tensors cannot fit into memory, before any of them is made.

A question is refused only if drawn trees show that even the trees of few leaves have more cells
than fit; the sentence says what was estimated, what fits, and what would.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import accumulate

import numpy as np

from adtc.algebra.affine import Affine, parts
from adtc.algebra.formula import Term
from adtc.algebra.metrics import SIZE
from adtc.engine.bounds import Outside
from adtc.engine.forecast.advice import refusal_text
from adtc.engine.forecast.estimate import (
    Ceiling,
    Sample,
    bits_of_all_trees,
    bytes_of,
    can_draw,
    ceiling,
    draw,
    estimated_distinct,
)
from adtc.engine.monitor import Monitor
from adtc.engine.plan import Plan, terms_of
from adtc.engine.plan.narrow import without_depth
from adtc.engine.prepare import Prepared, leaves_of
from adtc.engine.switches import Switches
from adtc.errors import FoundToFitError

_PILOT, _MOST = 100, 256_000  # attempts
_TREES_PER_ATTEMPT = 50_000  # drawing a tree takes as long as counting so many
_CLEARLY = 2  # times as many cells as fit
_ENOUGH = 1000  # times as many trees as cells fit: fewer leaves than that are not looked at
_SIZES = 16
_SHARES = (1, 2, 3, 5, 8, 10, 12, 15, 20, 25, 30, 40)  # per cent of the rows


def refuse_if_too_large(prepared: Prepared, outside: Outside, monitor: Monitor) -> None:
    """Raise `FoundToFitError` if the tensors will surely need more memory than the run may use."""
    if not outside.live[0] or monitor.memory > _bytes_of_boxes(prepared, outside):
        return
    top = ceiling(prepared, outside, enough=monitor.memory / bytes_of(prepared.plan, 0, [1.0]) / 2)
    if top.memory <= monitor.memory:
        return
    sample = sample_root(prepared, outside, top, monitor.memory)
    if sample is not None and too_many(top, sample, monitor.memory):
        raise FoundToFitError(_sentence(top, sample, monitor.memory))


def _bytes_of_boxes(prepared: Prepared, outside: Outside) -> float:
    """Bound the memory at no cost: every cell there could be on every live path."""
    values = math.prod(axis.radix for axis in prepared.plan.axes)
    cells = [float(paths * values) for paths in outside.live_paths]
    question = prepared.plan.question
    features = sum(map(len, prepared.features.twins))
    bits = bits_of_all_trees(question.space.max_depth, features, question.schema.labels)
    return bytes_of(prepared.plan, bits, cells)


def cells_that_fit(top: Ceiling, memory: int) -> float:
    """Return how many cells of the root fit into memory, if nothing else is there."""
    return memory / top.bytes([1.0])


def too_many(top: Ceiling, sample: Sample, memory: int) -> bool:
    """Tell whether drawn trees prove that cells do not fit, and clearly so."""
    fit = cells_that_fit(top, memory)
    return sample.at_least > fit and sample.cells > _CLEARLY * fit


def sample_root(prepared: Prepared, outside: Outside, top: Ceiling, memory: int) -> Sample | None:
    """Draw trees from the root until it is clear whether their cells fit.

    Trees of few leaves are enough if there are very many of them, and easier to draw. None if
    there are too many paths to draw from.
    """
    fit = cells_that_fit(top, memory)
    if top.cells[0] <= _CLEARLY * fit or not can_draw(prepared, _SIZES):
        return None  # lower levels alone are left to the limit inside the run
    limited = prepared.plan.most_leaves <= _SIZES
    sizes = prepared.plan.most_leaves if limited else _SIZES
    bounds = ceiling(prepared, outside, drawable=True, sizes=sizes, enough=math.inf)
    running = list(accumulate(bounds.by_size(0)[0]))
    leaves = next((k for k, trees in enumerate(running) if trees > _ENOUGH * fit), sizes)
    most = min(_MOST, int(running[leaves] / _TREES_PER_ATTEMPT))
    sample = draw(bounds, 0, _PILOT, free=True, most_leaves=leaves)
    while sample.tried < most and not too_many(top, sample, memory):
        if _in_vain(sample, fit, most / sample.tried):
            break
        more = min(most, 4 * sample.tried) - sample.tried
        new = draw(bounds, 0, more, seed=sample.tried, free=True, most_leaves=leaves)
        sample = sample.joined(new)
    return sample


def _in_vain(sample: Sample, fit: float, more: float) -> bool:
    """Tell whether so many times more attempts could not show that cells do not fit."""
    frequencies = sample.frequencies[1]
    met, drawn = frequencies[frequencies > 1].sum(), more * frequencies.sum()
    known = met > 10 and sample.cells < fit  # noqa: PLR2004
    return bool(known or drawn * drawn / 10 < fit)


def _sentence(top: Ceiling, sample: Sample, memory: int) -> str:
    fit = cells_that_fit(top, memory)
    constraint = "a constraint that can be pushed down (such as acc >= 0.8)"
    return refusal_text(
        f"the result would have at least {sample.at_least:.1e} cells (estimated from "
        f"{len(sample.keys):,} drawn trees), but about {fit:.1e} fit into the {memory / 1e9:.2g} "
        f"GB that the run may use",
        [*_remedies(top, sample, memory), constraint],
    )


def _remedies(top: Ceiling, sample: Sample, memory: int) -> Iterator[str]:
    """Say what would make the question fit, as far as it is known."""
    leaves = _fitting_size(top, memory)
    if leaves is not None:
        yield f"at most {leaves} leaves"
    share = _fitting_support(top, memory)
    if share is not None:
        yield f"a minsup of {share} % of the rows"
    metrics = _fitting_metrics(top, sample, memory)
    if metrics is not None:
        names, cells = metrics
        yield f"{' and '.join(names)} alone (about {cells:,.0f} cells)"
    elif len(top.prepared.plan.question.metrics) > 1:
        yield "fewer metrics at once"


def _fitting_size(top: Ceiling, memory: int) -> int | None:
    """Return a number of leaves up to which the bounds fit; None if there is none above one."""
    most = min(top.prepared.plan.most_leaves, _SIZES)
    bounds = ceiling(top.prepared, top.outside, sizes=most)
    levels = [bounds.by_size(level).sum(axis=0) for level in range(len(bounds.cells))]
    for leaves in range(most - 1, 1, -1):
        # a path of so many literals leaves at least as many leaves elsewhere
        cells = [float(sums[: max(0, leaves + 1 - at)].sum()) for at, sums in enumerate(levels)]
        if top.bytes(cells) <= memory:
            return leaves
    return None


def _fitting_support(top: Ceiling, memory: int) -> int | None:
    """Return a share of the rows, in per cent, with which the bounds fit."""
    prepared, total = top.prepared, top.prepared.plan.question.schema.total
    support = top.ways.support
    for share in _SHARES:
        minsup = math.ceil(Fraction(share, 100) * total)
        if minsup <= prepared.leaves.minsup:
            continue
        fewer = replace(
            prepared,
            leaves=leaves_of(_with_support(prepared.plan, minsup), Switches()),
            inside=replace(prepared.inside, exists=support >= minsup),
        )
        live = top.outside.live & (support >= minsup)
        if ceiling(fewer, replace(top.outside, live=live)).memory <= memory:
            return share
    return None


def _with_support(plan: Plan, minsup: int) -> Plan:
    return replace(plan, question=replace(plan.question, minsup=minsup))


def _fitting_metrics(
    top: Ceiling, sample: Sample, memory: int
) -> tuple[Sequence[str], float] | None:
    """Take metrics together, those with the fewest cells first, as long as they fit.

    Only where drawn trees tell how many cells there are: most of them must share one.
    """
    terms = dict(top.prepared.plan.question.metrics)
    found: tuple[Sequence[str], float] | None = None
    taken: list[str] = []
    alone = {name: _cells_by(top, sample, [term])[0] for name, term in terms.items()}
    for name in sorted(terms, key=alone.__getitem__):
        taken.append(name)
        cells, reliable = _cells_by(top, sample, [terms[one] for one in taken])
        if not reliable or _CLEARLY * cells > cells_that_fit(top, memory):
            break
        found = [one for one in terms if one in taken], cells
    return found


def _cells_by(top: Ceiling, sample: Sample, terms: Sequence[Term]) -> tuple[float, bool]:
    """Estimate the cells that fewer metrics would tell apart, and say whether that is reliable."""
    plan = top.prepared.plan
    question = replace(plan.question, metrics=tuple((str(term), term) for term in terms))
    forms = [without_depth(part)[0] for term in terms_of(question) for part in parts(term)]
    if question.space.max_size is not None:
        forms.append(Affine({SIZE.name: Fraction(1)}, Fraction()))
    value = plan.lookup(sample.keys)
    codes = np.zeros(len(sample.keys), np.int64)
    for form in forms:
        column = np.unique(value(form).top, return_inverse=True)[1]
        codes = np.unique(codes * (int(column.max(initial=0)) + 1) + column, return_inverse=True)[1]
    frequencies = np.bincount(codes)
    once = int((frequencies == 1).sum())
    return estimated_distinct(frequencies), 2 * once < len(codes)

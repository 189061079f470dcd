"""A profile as the page sees it: plain JSON values, the same for the report and the dashboard.

Counts are decimal strings, for JavaScript's numbers are floats; exact values are texts beside the
floats that only place things on a screen.
"""

from collections.abc import Mapping
from dataclasses import asdict
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from adtc.algebra.atoms import MIRRORED, conjuncts
from adtc.algebra.formula import Comparison, Formula, Number, Term, all_of, constant, parse
from adtc.algebra.trees import to_json as tree_to_json
from adtc.data import Data
from adtc.data.binarize import Feature
from adtc.engine.exact.values import Value
from adtc.engine.nearest import Nearest
from adtc.engine.record import log10
from adtc.errors import QueryError
from adtc.models import TreeModel
from adtc.profiles.crosstab import Crosstab
from adtc.profiles.difference import DifferenceTable
from adtc.profiles.pareto import Front
from adtc.profiles.profile import Profile
from adtc.profiles.writing import approximate, exact_text, fixed, grouped
from adtc.show import words
from adtc.show.heatmap import Axis, axis_data, heatmap_data, signed
from adtc.show.rows import known_values
from adtc.show.style import superscript

if TYPE_CHECKING:
    from adtc.engine.nearest import Nearest
    from adtc.profiles.numbered import DrawnTree

View = dict[str, Any]
_FEW = 5_000  # cells that need no sifting
_LONG = 30  # digits of a count that people still read


def count_text(count: int) -> str:
    """Write a count in full with separators, or by its leading digits if it is very long.

    Examples
    --------
    >>> count_text(15340), count_text(10**40)
    ('15,340', 'about 1.00·10⁴⁰')
    """
    digits = str(count)
    if len(digits) <= _LONG:
        return grouped(count)
    return f"about {digits[0]}.{digits[1:3]}·10{superscript(len(digits) - 1)}"


def number_text(value: Value | float) -> str:
    """Write a metric's value for people."""
    return f"{value:.5f}" if isinstance(value, float) else approximate(value)


def share_text(part: int, whole: int) -> str:
    """Write a share in per cent, with enough digits to tell it from nothing and from all.

    Examples
    --------
    >>> share_text(1, 3), share_text(1, 10**9), share_text(0, 5), share_text(5, 5)
    ('33.3 %', 'less than 0.001 %', '0 %', '100 %')
    """
    if not whole or not part or part == whole:
        return "100 %" if part and part == whole else "0 %"
    share = Fraction(100 * part, whole)
    for places in (1, 2, 3):
        text = fixed(share, places)
        if float(text) not in (0, 100):
            return f"{text} %"
    return "less than 0.001 %" if share < 1 else "more than 99.999 %"


def overview(profile: Profile) -> View:
    """Describe a profile: what was asked, what was measured, how it was computed."""
    return {
        "title": words.title_of(profile),
        "data": dict(profile.record.data),
        "count": str(profile.total),
        "count_text": count_text(profile.total),
        "log10": log10(profile.total),
        "cells": profile.num_cells,
        "status": profile.status,
        "question": [list(pair) for pair in words.question(profile)],
        "glossary": words.glossary(profile),
        "conventions": words.conventions(profile.record),
        "record": [list(pair) for pair in words.record(profile.record)],
        "metrics": [metric(profile, name) for name in profile.names],
        "drawable": profile.source is not None,
    }


def metric(profile: Profile, name: str) -> View:
    """Describe a metric: its meaning, its range in the profile, and where its slider may stop."""
    column = profile.column(name)
    defined = column.bottom != 0
    view: View = asdict(words.definition(profile, name))
    view["whole"] = bool(np.all(column.top[defined] % column.bottom[defined] == 0))
    view["undefined"] = bool(np.any(~defined))
    near = column.top[defined].astype(float) / column.bottom[defined].astype(float)
    view["least"], view["largest"] = (
        (float(near.min()), float(near.max())) if len(near) else (None, None)
    )
    return view


def front_for(profile: Profile, x: str, y: str) -> Front | None:
    """Find the front of two metrics if it is known for both whether more or less is better."""
    goals = {"max": [n for n in (x, y) if words.goal_of(n) == "max"],
             "min": [n for n in (x, y) if words.goal_of(n) == "min"]}  # fmt: skip
    if x == y or sum(map(len, goals.values())) < 2:  # noqa: PLR2004
        return None
    return contenders(profile, x, y).pareto(maximize=goals["max"], minimize=goals["min"])


def contenders(profile: Profile, x: str, y: str) -> Profile:
    """Leave out cells that are clearly beaten in both metrics: exact work on the rest is quick.

    Floats decide only where a difference is far above their rounding.
    """
    if len(profile.trees) <= _FEW:
        return profile
    near = []
    for name in (x, y):
        column = profile.column(name)
        undefined = column.bottom == 0
        value = column.top.astype(np.float64) / np.where(undefined, 1, column.bottom)
        value = np.where(undefined, np.inf, value if words.goal_of(name) == "min" else -value)
        near.append(value.astype(np.float64))
    slack = [1e-9 * max(1.0, float(np.abs(v[np.isfinite(v)]).max(initial=0))) for v in near]
    order = np.argsort(near[0])
    best = np.minimum.accumulate(near[1][order])
    better = np.searchsorted(near[0][order], near[0] - slack[0], side="left")
    rival = np.where(better > 0, best[np.maximum(better - 1, 0)], np.inf)
    return profile.take(~(rival < near[1] - slack[1]))


def landscape(table: Crosstab, *, front: Front | None = None, of: int | None = None) -> View:
    """Lay out a cross-table as a heat map.

    Parameters
    ----------
    of
        The number of trees that shares refer to; those of the table unless told otherwise.
    """
    if front is not None and not (len(table.x_bins) and len(table.y_bins)):
        front = None
    shown = heatmap_data(table, front=front)
    view: View = {
        "x": _axis(table.x_bins, shown.x),
        "y": _axis(table.y_bins, shown.y),
        "counts": [[str(n) for n in row] for row in table.counts],
        "x_totals": [str(n) for n in table.x_totals],
        "y_totals": [str(n) for n in table.y_totals],
        "total": str(table.total),
        "whole": str(table.total if of is None else of),
        "where": table.where,
        "front": None,
    }
    if front is not None:
        view["front"] = {
            "name": shown.line_name,
            "steps": shown.steps,
            "line": [list(point) for point in shown.line],
            **front_view(front),
        }
    return view


def _axis(bins: Any, axis: Axis) -> View:
    return {
        "metric": bins.name,
        "labels": list(bins.labels),
        "kinds": [one.kind for one in bins],
        "starts": list(axis.starts),
        "length": axis.length if bins else 0,
        "ticks": [asdict(tick) for tick in axis.ticks],
    }


def front_view(front: Front) -> View:
    """List the points of a front."""
    return {
        "names": list(front.names),
        "goals": ["max"] * len(front.maximize) + ["min"] * len(front.minimize),
        "points": [
            {
                "values": [number_text(value) for value in point],
                "exact": [exact_text(value) for value in point],
                "trees": str(n),
            }
            for point, n in zip(front.points, front.trees, strict=True)
        ],
    }


def difference_map(table: DifferenceTable) -> View:
    """Lay out two cross-tables with the same bins and the difference of their shares."""
    first, second = table.first, table.second
    x, y = axis_data(first.x_bins), axis_data(first.y_bins)
    points = [[100 * change for change in row] for row in table.differences]
    return {
        "titles": list(table.titles),
        "first": landscape(first),
        "second": landscape(second),
        "x": _axis(first.x_bins, x),
        "y": _axis(first.y_bins, y),
        "points": [[float(point) for point in row] for row in points],
        "texts": [[signed(point, 2) for point in row] for row in points],
        "filled": [
            [bool(a or b) for a, b in zip(*rows, strict=True)]
            for rows in zip(first.counts, second.counts, strict=True)
        ],
    }


def metric_values(metrics: Mapping[str, Value]) -> View:
    """Write the metrics of a tree for people, and exactly."""
    return {
        name: {"text": number_text(value), "exact": exact_text(value)}
        for name, value in metrics.items()
    }


def tree_view(drawn: "DrawnTree", *, row: int | None = None, small: int = 0) -> View:
    """Show a tree: picture, rules, metrics; with ``row`` also the way that a row takes.

    Leaves of fewer than ``small`` rows show no numbers.
    """
    model = TreeModel(drawn.tree, drawn.data)
    view: View = {
        "rank": str(drawn.rank),
        "metrics": metric_values(drawn.metrics),
        "size": model.size,
        "depth": model.depth,
        "features": list(model.features),
        "rules": [rule.text for rule in model.rules(small=small)],
        "tree": tree_to_json(drawn.tree, model.feature_names, model.labels),
        "path": None,
    }
    nodes: list[int] = []
    if row is not None:
        view["path"], nodes = _path(model, drawn.data, row)
    return {**view, "svg": model.to_svg(highlight=nodes, small=small)}


def _path(model: TreeModel, data: Data, row: int) -> tuple[View, list[int]]:
    """Follow one row of the table to its leaf."""
    if not 0 <= row < data.n_rows:
        raise QueryError(f"there is no row {row:,}: the table has rows 0 to {data.n_rows - 1:,}.")
    known = known_values(data, row)
    leaf = model.leaves[int(model.apply(data)[row])]
    nodes, steps, node = [leaf.number], [], leaf
    while node.parent is not None:
        above = model.nodes[node.parent]
        steps.append(_step(data.features[above.feature or 0], bool(node.branch), known))
        node = above
        nodes.append(node.number)
    truth, predicted = model.label_texts[int(data.y[row])], model.label_texts[leaf.label or 0]
    view = {
        "row": row,
        "steps": steps[::-1],
        "known": list(known.values()),
        "label": predicted,
        "truth": truth,
        "right": truth == predicted,
        "group": str(data.groups[int(data.z[row])]) if data.groups else None,
    }
    return view, nodes[::-1]


def _step(feature: Feature, answer: bool, known: Mapping[str, str]) -> View:
    """Write a test, its answer, and what is known of the row beyond that."""
    value = known.get(feature.column)
    says_more = value is not None and not (answer and value == feature.name)
    return {
        "test": feature.name,
        "answer": "yes" if answer else "no",
        "value": value if says_more else None,
    }


def nearest_in(profile: Profile, formula: str | Formula) -> "tuple[Nearest, ...]":
    """Find how near the trees of a profile come to each comparison of a formula.

    Conditions joined by "and" are compared one by one, alone and with the others; parts with "or"
    or "not" are left out.
    """
    parsed = parse(formula) if isinstance(formula, str) else formula
    parts = list(conjuncts(parsed))
    found = []
    for at, part in enumerate(parts):
        if isinstance(part, Comparison) and (sides := _sides(part)) is not None:
            term, op, asked = sides
            others = parts[:at] + parts[at + 1 :]
            rest = profile.where(all_of(*others)) if others else None
            alone = _closest(profile, term, op, asked)
            together = None if rest is None else _closest(rest, term, op, asked)
            found.append(Nearest(str(part), str(term), op, asked, alone, together))
    return tuple(found)


def _sides(atom: Comparison) -> tuple[Term, str, Fraction] | None:
    """Put the constant of an atom to the right; None if there is none."""
    (left, right), (op,) = atom.terms, atom.ops
    if (value := constant(right)) is not None and not isinstance(left, Number):
        return left, op, value
    if (value := constant(left)) is not None and not isinstance(right, Number):
        return right, MIRRORED[op], value
    return None


def _closest(profile: Profile, term: Term, op: str, asked: Fraction) -> tuple[Fraction | int, ...]:
    known = [value for value in profile.values(str(term)).distinct if value is not None]
    if not known:
        return ()
    if op[0] in "<>":
        return (known[0] if op[0] == "<" else known[-1],)
    others = [value for value in known if op == "=" or value != asked]
    below = [value for value in others if value <= asked][-1:]
    above = [value for value in others if value > asked][:1]
    return tuple(below + above) if below != [asked] else (below[0],)

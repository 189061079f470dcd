"""A description as text and as HTML; both show the same tables and sentences."""

import html
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from adtc.data.coding import BINARY
from adtc.data.columns import Scalar, format_number, format_scalar
from adtc.text import percent

if TYPE_CHECKING:
    from adtc.data.description import Classes, ColumnSummary, Description

COLUMNS = 100  # columns listed; JSON has all
WARNINGS = 20
TWINS = 5
_WIDE = 40  # characters of a name or of what was made of a column


@dataclass(frozen=True, slots=True)
class Grid:
    """A table of texts; the first column and the ``wordy`` ones are aligned to the left."""

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    wordy: tuple[int, ...] = (0,)


Part = Grid | str


def description_text(found: "Description") -> str:
    """Write a description for a terminal."""
    parts = [_grid_text(p) if isinstance(p, Grid) else p for p in _parts(found)]
    warnings = [f"warning: {w}" for w in _warnings(found)]
    return "\n\n".join([*parts, *(["\n".join(warnings)] if warnings else ["no warnings"])])


def description_html(found: "Description") -> str:
    """Write a description for a notebook."""
    parts = [
        _grid_html(p) if isinstance(p, Grid) else f"<p>{_escaped(p)}</p>" for p in _parts(found)
    ]
    items = "".join(f"<li>{_escaped(w)}</li>" for w in _warnings(found))
    warnings = (
        f"<p><strong>Warnings</strong></p><ul>{items}</ul>" if items else "<p>no warnings</p>"
    )
    return f'<div style="overflow-x:auto">{"".join(parts)}{warnings}</div>'


def _parts(found: "Description") -> Iterator[Part]:
    yield _first_line(found)
    counted = "weight" if found.weights else "rows"
    if found.target is not None:
        yield _labels(found.target, found.positive, counted)
    if found.groups is not None:
        yield _groups(found.groups, found.positive, counted)
    if found.columns:
        yield _columns(found)
    if legend := _legend(found):
        yield legend
    yield "\n".join(_merged(found))


def _first_line(found: "Description") -> str:
    weighted = f" of total weight {found.total:,}" if found.weights else ""
    roles = [("weights", [found.weights] if found.weights else [])]
    roles += [("references", list(found.references)), ("left out", list(found.left_out))]
    more = "".join(f"; {role}: {_listed(names)}" for role, names in roles if names)
    if found.target is None:
        more += "; no target: with one, base rates and strong predictors are told, too"
    return (
        f"{found.name}: {found.rows:,} rows{weighted}, {len(found.columns):,} columns for "
        f"{found.n_features:,} features{more}"
    )


def _labels(target: "Classes", positive: Scalar | None, counted: str) -> Grid:
    marks = [" (positive)" * (positive is not None and v == positive) for v in target.values]
    rows = (
        (f"{name}{mark}", *rest) for (name, *rest), mark in zip(_rows(target), marks, strict=True)
    )
    return Grid((f"target {target.column}", counted, "share"), tuple(rows))


def _groups(groups: "Classes", positive: Scalar | None, counted: str) -> Grid:
    """List the groups, with the base rate of the positive label if there is one."""
    head, rows = (f"sensitive {groups.column}", counted, "share"), _rows(groups)
    if positive is None:
        return Grid(head, tuple(rows))
    rates = (_share(groups.base_rate(k), auc=False) for k in range(len(rows)))
    with_rates = tuple((*row, rate) for row, rate in zip(rows, rates, strict=True))
    return Grid((*head, f"of them {format_scalar(positive)}"), with_rates)


def _rows(classes: "Classes") -> list[tuple[str, ...]]:
    return [
        (format_scalar(value), f"{n:,}", percent(classes.share(k)))
        for k, (value, n) in enumerate(zip(classes.values, classes.rows, strict=True))
    ]


def _columns(found: "Description") -> Grid:
    """List the columns: how each was read, and how well it tells target and group alone."""
    target, auc = found.target is not None, _two_labels(found)
    head = ["column", "read as", "values", "missing", "features", "cuts or most frequent values"]
    head += ["AUC" if auc else "right"] * target + ["sure"] * (found.groups is not None)
    rows = []
    for c in found.columns[:COLUMNS]:
        row = [_short(c.name), "refused" if c.refused else c.read_as, f"{c.distinct:,}"]
        row += [f"{c.missing:,}", f"{len(c.features):,}", _short(_pieces_text(c))]
        if target:
            share = None if c.target is None else (c.target.auc if auc else c.target.right)
            row.append(_share(share, auc=auc))
        if found.groups is not None:
            row.append(_share(c.sensitive.sure if c.sensitive else None, auc=False))
        rows.append(tuple(row))
    return Grid(tuple(head), tuple(rows), (0, 1, 5))


def _legend(found: "Description") -> str:
    """Explain the figures of the columns, and say how many columns are not listed."""
    lines = []
    if len(found.columns) > COLUMNS:
        rest = len(found.columns) - COLUMNS
        lines.append(f"{rest:,} more columns are not listed; the JSON form has all of them.")
    if found.target is not None and found.columns:
        y = found.target.column
        if _two_labels(found):
            lines.append(
                f"AUC: of two rows with different {y}, how often the column alone puts them in "
                "order (0.5: by chance)."
            )
        else:
            best = max(found.target.share(k) for k in range(len(found.target.values)))
            lines.append(
                f"right: rows whose {y} the column alone tells ({percent(best)} without it)."
            )
    if found.groups is not None and found.columns:
        lines.append(
            f"sure: rows whose {found.groups.column} the column alone tells with hardly a doubt."
        )
    return "\n".join(lines)


def _two_labels(found: "Description") -> bool:
    return found.target is not None and len(found.target.values) == BINARY


def _merged(found: "Description") -> Iterator[str]:
    missing = [c.name for c in found.columns if c.missing]
    if missing:
        yield f"missing: values in {_listed(missing)}"
    same = found.rows - found.distinct_rows
    yield (
        f"merged: {same:,} rows equal another one in all features, label and group; "
        f"{found.distinct_rows:,} are left"
    )
    if found.reading:
        yield f"streamed: {found.reading}"
    if found.twins:
        pairs = [f"'{b}' is {'the opposite of ' * o}'{a}'" for a, b, o in found.twins[:TWINS]]
        rest = len(found.twins) - TWINS
        more = f", {rest:,} more" if rest > 0 else ""
        yield f"twins: {', '.join(pairs)}{more}; each is a feature of its own in every count"
    else:
        yield "twins: no feature repeats another one"


def _warnings(found: "Description") -> list[str]:
    """Give the warnings, the first of very many."""
    rest = len(found.warnings) - WARNINGS
    more = [f"{rest:,} more; the JSON form has all of them."] if rest > 0 else []
    return [*map(str, found.warnings[:WARNINGS]), *more]


def _pieces_text(c: "ColumnSummary") -> str:
    """Say what a column was cut into."""
    if c.cuts:
        return ", ".join(map(format_number, c.cuts))
    return ", ".join(f"{v} ({n:,})" for v, n in c.frequent)


def _listed(names: Sequence[str], limit: int = 8) -> str:
    return ", ".join(names[:limit]) + (f" and {len(names) - limit:,} more" * (len(names) > limit))


def _share(share: Fraction | None, *, auc: bool) -> str:
    if share is None:
        return "-"
    return f"{float(share):.3f}" if auc else percent(share)


def _short(text: str) -> str:
    return text if len(text) <= _WIDE else text[: _WIDE - 1] + "…"


def _grid_text(grid: Grid) -> str:
    lines = [grid.head, *grid.rows]
    widths = [max(map(len, cells)) for cells in zip(*lines, strict=True)]
    aligned = [
        [
            cell.ljust(width) if i in grid.wordy else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(line, widths, strict=True))
        ]
        for line in lines
    ]
    return "\n".join("  ".join(line).rstrip() for line in aligned)


def _grid_html(grid: Grid) -> str:
    def line(cells: Sequence[str], tag: str) -> str:
        sides = ("left" if i in grid.wordy else "right" for i in range(len(cells)))
        inner = "".join(
            f'<{tag} style="text-align:{side};padding:1px 8px">{_escaped(cell)}</{tag}>'
            for side, cell in zip(sides, cells, strict=True)
        )
        return f"<tr>{inner}</tr>"

    body = "".join(line(row, "td") for row in grid.rows)
    head = f"<thead>{line(grid.head, 'th')}</thead>"
    return f'<table style="margin:8px 0;white-space:nowrap">{head}<tbody>{body}</tbody></table>'


def _escaped(text: str) -> str:
    return html.escape(text).replace("\n", "<br>")

"""The landscape inside a notebook: one piece of HTML without file or port.

Its script paints the map of the report and the dashboard. Where scripts do not run, a plain table
stands there: its colours are in the cells themselves, because a notebook removes style sheets, and
every cell carries its exact count for the pointer and for screen readers.
"""

import html

from adtc.engine.record import log10
from adtc.profiles.crosstab import Crosstab
from adtc.profiles.profile import Profile
from adtc.profiles.writing import grouped
from adtc.show.assets import notebook_script, scoped_style
from adtc.show.embedding import embedded
from adtc.show.markup import json_text
from adtc.show.report import default_pairs
from adtc.show.style import compact
from adtc.show.views import count_text

_LOW, _HIGH = (0xE3, 0xEE, 0xF5), (0x0B, 0x3A, 0x66)
_DARK = 0.6  # where white letters are easier to read
_BINS = 10
_TABLE = (
    "border-collapse:separate;border-spacing:1px;font:12px/1.5 system-ui,sans-serif;"
    "white-space:nowrap;overflow-wrap:normal"
)
_HEAD = "padding:2px 6px;text-align:right;font-weight:normal;background:transparent"
_LONG = 7  # characters of a count in a cell


def landscape_html(profile: Profile) -> str:
    """Show a profile in a notebook: its size and its landscape by two metrics of one's choice.

    Examples
    --------
    >>> import adtc
    >>> data = adtc.Data.from_arrays([[1], [1], [0]], [1, 1, 0])
    >>> found = adtc.profile(data, adtc.Space(max_depth=1), ["size", "error"])
    >>> "size = 2, error = 0: 1 tree" in landscape_html(found)
    True
    """
    n, names = profile.total, ", ".join(profile.names)
    many = f"{count_text(n)} {'tree' if n == 1 else 'trees'}"
    about = (
        f" on {profile.record.data['name']}, in {profile.num_cells:,} cells by {names} "
        f"({profile.status})"
    )
    head = f"<p><b>{many}</b>{html.escape(about)}</p>"
    if not n:
        return f"<div>{head}<p>No tree exists.</p></div>"
    pairs = default_pairs(profile)
    if not pairs:
        return f"<div>{head}</div>"
    x, y = pairs[0]
    table = profile.crosstab(x, y, bins=_BINS, round_edges=True)
    script, mark = notebook_script()
    data = {**embedded(profile, (x, y)), "head": [many, about], "style": scoped_style()}
    return (
        f'<div data-adtc-landscape="{mark}" style="overflow-x:auto">{head}'
        f'<div slot="table">{_map(table)}</div>'
        f'<script type="application/json">{json_text(data)}</script></div>'
        f"<script>{script}</script>"
    )


def _map(table: Crosstab) -> str:
    logs = [log10(n) for row in table.counts for n in row if n]
    known = [value for value in logs if value is not None]
    low, high = min(known), max(known)
    rows = []
    for j in reversed(range(len(table.y_bins))):
        label = html.escape(table.y_bins.labels[j])
        cells = "".join(_cell(table, i, j, low, high) for i in range(len(table.x_bins)))
        rows.append(f'<tr><th scope="row" style="{_HEAD}">{label}</th>{cells}</tr>')
    foot = "".join(
        f'<th scope="col" style="{_HEAD};text-align:center">{html.escape(label)}</th>'
        for label in table.x_bins.labels
    )
    caption = f"{table.y} (upwards) by {table.x} (to the right): number of trees, darker is more"
    return (
        f'<table style="{_TABLE}"><caption style="text-align:left">{html.escape(caption)}'
        f"</caption>{''.join(rows)}<tr><td></td>{foot}</tr></table>"
    )


def _cell(table: Crosstab, i: int, j: int, low: float, high: float) -> str:
    n = table.counts[i][j]
    if not n:
        return '<td style="background:rgba(128,128,128,0.1)"></td>'
    where = f"{_bin(table.x, table.x_bins.labels[i])}, {_bin(table.y, table.y_bins.labels[j])}"
    title = html.escape(f"{where}: {grouped(n)} {'tree' if n == 1 else 'trees'}")
    share = ((log10(n) or 0.0) - low) / (high - low) if high > low else 0.6
    colour = "".join(f"{round(a + (b - a) * share):02x}" for a, b in zip(_LOW, _HIGH, strict=True))
    ink = "#ffffff" if share > _DARK else "#14202b"
    text = grouped(n) if len(grouped(n)) <= _LONG else compact(n, 2)
    style = f"background:#{colour};color:{ink};text-align:center;padding:3px 6px"
    return f'<td style="{style}" title="{title}" aria-label="{title}">{text}</td>'


def _bin(name: str, label: str) -> str:
    if label == "undefined":
        return f"{name} undefined"
    return f"{name} in {label}" if label.startswith("[") else f"{name} = {label}"

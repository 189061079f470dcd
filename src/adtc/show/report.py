"""The report: one HTML file that opens from disk and asks nothing of the network.

Words, tables and drawn trees are plain HTML and SVG; the heat maps are drawn by the page's own
script from one block of JSON, and each has its exact counts beside it as a table.
"""

import re
from collections.abc import Iterable, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from adtc._version import __version__
from adtc.errors import QueryError
from adtc.models import TreeModel
from adtc.profiles.crosstab import Crosstab
from adtc.profiles.marginals import Moments
from adtc.profiles.pareto import Front
from adtc.profiles.profile import Profile
from adtc.profiles.writing import exact_text, grouped, write_whole
from adtc.show import views, words
from adtc.show.assets import bundled, hash_of, page_style
from adtc.show.markup import escaped, formula_html, json_text, list_html, pairs_html, table_html

if TYPE_CHECKING:  # drawing brings the compiler along; a profile without a circuit needs none
    from adtc.profiles.numbered import DrawnTree

Pair = tuple[str, str]
_MOST_TABLES = 5
_MOST_POINTS = 60
_BINS = 10


def write_report(
    profile: Profile,
    path: str | PathLike[str],
    *,
    crosstabs: Iterable[Crosstab | Pair] | None = None,
    trees: "int | Sequence[DrawnTree]" = 3,
    seed: int = 0,
    title: str | None = None,
    where: str | None = None,
) -> Path:
    """Write a profile as one self-contained HTML file.

    Parameters
    ----------
    crosstabs
        Cross-tables, or pairs of metrics, to show as heat maps; by default accuracy (or the first
        metric) against each of the others.
    trees
        How many trees to draw uniformly with ``seed``, or the trees to show.
    title
        The heading; by default the name of the table.
    where
        Report only on the trees that satisfy this formula over the profile's metrics.

    Returns
    -------
    Path
        Where the file is. It is written under another name first and then renamed.

    Raises
    ------
    QueryError
        Where the file cannot be written, or a cross-table names an unknown metric.

    Examples
    --------
    >>> import adtc, tempfile
    >>> data = adtc.Data.from_arrays([[1], [1], [0]], [1, 1, 0])
    >>> found = adtc.profile(data, adtc.Space(max_depth=1), ["size", "error"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     "<h1>" in write_report(found, f"{folder}/report.html").read_text(encoding="utf-8")
    True
    """
    text = report_html(
        profile, crosstabs=crosstabs, trees=trees, seed=seed, title=title, where=where
    )
    write_whole(path, lambda place: place.write_text(text, encoding="utf-8"))
    return Path(path)


def report_html(
    profile: Profile,
    *,
    crosstabs: Iterable[Crosstab | Pair] | None = None,
    trees: "int | Sequence[DrawnTree]" = 3,
    seed: int = 0,
    title: str | None = None,
    where: str | None = None,
) -> str:
    """Write a profile as the text of one HTML page; the parameters are those of `write_report`."""
    whole, profile = profile, profile.where(where)
    tables = _tables(profile, crosstabs)
    fronts = [views.front_for(t.profile or profile, t.x, t.y) for t in tables]
    landscapes = [
        views.landscape(table, front=front) for table, front in zip(tables, fronts, strict=True)
    ]
    sections = {
        "question": ("The question", pairs_html(words.question(profile, where))),
        "landscape": ("The landscape", _landscapes(profile, tables, fronts)),
        "front": ("The best trade-offs", _front(fronts)),
        "numbers": ("Each metric", _moments(profile)),
        "trees": ("Some of the trees", _trees(whole, where, trees, seed)),
        "definitions": ("What the metrics mean", _definitions(profile)),
        "conventions": ("How trees are counted", list_html(words.conventions(profile))),
        "record": ("How this was computed", pairs_html(words.record(profile))),
    }
    heading = escaped(title or words.title_of(profile))
    overview = {"landscapes": landscapes, "count": str(profile.count)}
    script = bundled("report.js")
    links = "".join(f'<li><a href="#{key}">{name}</a></li>' for key, (name, _) in sections.items())
    body = "".join(
        f'<section id="{key}" aria-labelledby="{key}-title">'
        f'<h2 id="{key}-title">{name}</h2>{text}</section>'
        for key, (name, text) in sections.items()
    )
    policy = (
        f"default-src 'none'; style-src 'unsafe-inline'; script-src {hash_of(script)}; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta name="generator" content="adtc {__version__}">'
        f'<title>{heading}</title><link rel="icon" href="data:,">'
        f"<style>\n{page_style()}</style></head><body>"
        f'<main class="report"><header><h1>{heading}</h1>{_answer(profile, whole, where)}'
        f'<nav aria-label="Contents"><ol>{links}</ol></nav></header>{body}</main>'
        f'<script type="application/json" id="adtc-data">{json_text(overview)}</script>'
        f'<script type="module">{script}</script></body></html>\n'
    )


def default_pairs(profile: Profile) -> list[Pair]:
    """Choose pairs of metrics: accuracy, or the first metric, against each of the others."""
    first = "acc" if "acc" in profile.metrics else profile.names[0]
    others = [name for name in profile.names if name != first]
    quality = [name for name in others if name != "size"] + [n for n in others if n == "size"]
    return [(first, name) for name in quality[:_MOST_TABLES]]


def _tables(profile: Profile, wanted: Iterable[Crosstab | Pair] | None) -> list[Crosstab]:
    tables = []
    for one in default_pairs(profile) if wanted is None else wanted:
        if isinstance(one, Crosstab):
            tables.append(one)
            continue
        if isinstance(one, str) or len(one) != 2:  # noqa: PLR2004
            raise QueryError(f"crosstabs has {one!r}, expected pairs of metrics or cross-tables.")
        tables.append(profile.crosstab(one[0], one[1], bins=_BINS, round_edges=True))
    return tables


def _answer(profile: Profile, whole: Profile, where: str | None) -> str:
    n = profile.count
    asked = where or profile.record.question.get("where")
    verb = "satisfies" if n == 1 else "satisfy"
    what = f"{verb} the condition" if asked else "in all"
    if not n:
        nearest = (
            "" if where is None else list_html([str(one) for one in views.nearest_in(whole, where)])
        )
        return (
            '<p class="answer">No tree exists <small>that satisfies the condition.</small></p>'
            + nearest
        )
    said = f"{views.count_text(n)} {'tree' if n == 1 else 'trees'}"
    digits = str(n)
    size = f" About 10<sup>{profile.log10:.2f}</sup>." if len(digits) > 6 else ""  # noqa: PLR2004
    exact = f' <span class="mono">{grouped(n)}</span>' if said.startswith("about") else ""
    return f'<p class="answer">{said}<small>{what} ({profile.status}).{size}{exact}</small></p>'


def _landscapes(profile: Profile, tables: list[Crosstab], fronts: list[Front | None]) -> str:
    if not profile.count:
        return '<p class="empty">No tree exists, so there is nothing to show.</p>'
    if not tables:
        return '<p class="empty">A landscape needs two metrics; this profile has one.</p>'
    intro = (
        '<p class="note">Each cell holds the trees whose two metrics lie in its ranges; the darker '
        "(in dark mode: the brighter) the cell, the more trees. Bars show the totals of columns "
        "and rows. Point at a cell, or move with Tab and the arrow keys, to read its exact "
        "number.</p><noscript><p>Scripts are switched off: open the tables below.</p></noscript>"
    )
    return intro + "".join(map(_figure, range(len(tables)), tables, fronts))


def _figure(at: int, table: Crosstab, front: Front | None) -> str:
    x, y = escaped(table.x), escaped(table.y)
    legend = "The orange line joins the best trade-offs (Pareto front)." if front else ""
    asked = f" Only trees with {escaped(table.where)}." if table.where else ""
    return (
        f"<figure><figcaption><h3>{x} and {y}</h3>"
        f'<span class="note">{grouped(table.total)} trees.{asked} {legend}</span></figcaption>'
        f'<div class="landscape" data-landscape="{at}"></div>'
        f'<div class="legend"></div><p class="readout" aria-live="polite"></p>'
        f"<details><summary>Exact counts as a table</summary>"
        f'<div class="scroll" tabindex="0" role="group" aria-label="Table of {x} and {y}">'
        f"{table.to_html()}</div></details></figure>"
    )


def _front(fronts: list[Front | None]) -> str:
    known = [front for front in fronts if front is not None and front.points]
    if not known:
        return (
            '<p class="empty">There is none to show: a trade-off needs two metrics of which it is '
            "known whether more or less is better, and a tree for which both are defined.</p>"
        )
    note = (
        '<p class="note">No tree of the profile is better than these in one metric without being '
        "worse in the other (the Pareto front).</p>"
    )
    return note + "".join(_front_table(front, at == 0) for at, front in enumerate(known))


def _front_table(front: Front, is_open: bool) -> str:
    view = views.front_view(front)
    goals = {"max": "more is better", "min": "less is better"}
    names = zip(view["names"], view["goals"], strict=True)
    head = [f"{escaped(name)} ({goals[goal]})" for name, goal in names]
    rows = [
        [f'<span title="{escaped(e)}">{v}</span>' for v, e in zip(p["values"], p["exact"])]  # noqa: B905
        + [grouped(int(p["trees"]))]
        for p in view["points"][:_MOST_POINTS]
    ]
    left = len(view["points"]) - len(rows)
    rest = f'<p class="note">… and {left:,} more points.</p>' if left > 0 else ""
    title = " and ".join(map(escaped, view["names"]))
    table = table_html([*head, "trees"], rows)
    return (
        f"<details{' open' if is_open else ''}><summary>{title}: {len(front):,} points, "
        f"{grouped(front.count)} trees</summary>{table}{rest}</details>"
    )


def _moments(profile: Profile) -> str:
    if not profile.count:
        return '<p class="empty">No tree exists, so there is nothing to average.</p>'
    rows = [_moment(profile.moments(name)) for name in profile.names]
    head = ["metric", "least", "mean", "standard deviation", "largest", "undefined for"]
    note = (
        '<p class="note">Over all trees, each counted once. Trees for which a metric is '
        "undefined are left out of its mean.</p>"
    )
    return note + table_html(head, rows)


def _moment(found: Moments) -> list[str]:
    deviation = "undefined" if found.deviation is None else f"{found.deviation:.5f}"
    mean = "undefined" if found.mean is None else f"{float(found.mean):.5f}"
    ends = [
        f'<span title="{escaped(exact_text(v))}">{views.number_text(v)}</span>'
        for v in (found.least, found.largest)
    ]
    lost = f"{grouped(found.undefined)} trees" if found.undefined else "no tree"
    return [escaped(found.metric), ends[0], mean, deviation, ends[1], lost]


def _trees(
    profile: Profile, where: str | None, wanted: "int | Sequence[DrawnTree]", seed: int
) -> str:
    if not profile.where(where).count:
        return '<p class="empty">No tree exists, so there is none to draw.</p>'
    if isinstance(wanted, int) and profile.source is None:
        return (
            '<p class="empty">This profile was kept without its circuit, so no tree can be drawn '
            "from it: save it with <code>circuit=True</code> (<code>--circuit</code>).</p>"
        )
    if isinstance(wanted, int):
        wanted = profile.draw(wanted, seed=seed, where=where) if wanted > 0 else []
    if not wanted:
        return '<p class="empty">No tree was asked for.</p>'
    seeds = {one.seed for one in wanted}
    how = (
        f"Drawn at random, each tree of the profile with the same probability (seed {seeds.pop()})."
        if len(seeds) == 1 and None not in seeds
        else "Chosen by hand."
    )
    again = "Every tree was scored on the table again before it was shown here."
    shown = "".join(_tree(one, profile.count) for one in wanted)
    return f'<p class="note">{how} {again}</p>{shown}'


def _tree(drawn: "DrawnTree", count: int) -> str:
    model = TreeModel(drawn.tree, drawn.data)
    picture = model.to_svg()
    rules = "".join(f"<li>{escaped(rule.text)}</li>" for rule in model.rules())
    metrics = ", ".join(
        f'{escaped(name)} <span title="{escaped(exact_text(value))}">'
        f"{views.number_text(value)}</span>"
        for name, value in drawn.metrics.items()
    )
    return (
        f'<article class="tree-card"><h3>Tree {grouped(drawn.rank)} of {grouped(count)}</h3>'
        f'<p class="note">{metrics}. <code>profile.tree({drawn.rank})</code></p>'
        f'<div class="tree-picture" style="--natural:{_width(picture)}px" tabindex="0" '
        f'role="group" aria-label="Picture of the tree">'
        f'{picture}</div><ol class="rules">{rules}</ol></article>'
    )


def _width(picture: str) -> str:
    """Read the width of a drawn tree: it may shrink on small screens, but not until unreadable."""
    found = re.search(r'width="([\d.]+)"', picture)
    return found[1] if found else "0"


def _definitions(profile: Profile) -> str:
    rows = []
    for name in profile.names:
        told = words.definition(profile, name)
        formula = formula_html(told.formula) if told.formula else "counted, not computed"
        rows.append([f"<code>{escaped(name)}</code>", escaped(told.about), formula])
    legend = f'<p class="note">{escaped(" ".join(words.glossary(profile)))}</p>'
    head = ["metric", "meaning", "formula"]
    return legend + table_html(head, rows, wordy=True)

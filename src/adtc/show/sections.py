"""The sections of a report as HTML: the finding, pictures, fronts, trees, groups, definitions."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from adtc.engine.record import log10
from adtc.errors import QueryError
from adtc.models import TreeModel
from adtc.profiles.audits.rates import group_counts
from adtc.profiles.crosstab import Crosstab
from adtc.profiles.marginals import Moments
from adtc.profiles.pareto import Front
from adtc.profiles.profile import Profile
from adtc.profiles.writing import exact_text, grouped
from adtc.show import finding, groups, views, words
from adtc.show.exhibits import MOST_POINTS, Exhibits, Shown, main_criteria
from adtc.show.markup import breakable, escaped, formula_html, list_html, table_html

if TYPE_CHECKING:
    from adtc.profiles.numbered import DrawnTree

_WIDE = 950.0  # pixels: a tree that wide gets a page across
_MANY = 20  # points of a front that need not be seen at once
_LONG = 6  # digits of a count beyond which its logarithm helps


def note_html(note: str | None) -> str:
    """Write what the author says, paragraph by paragraph."""
    if not note or not note.strip():
        return ""
    parts = (part.strip() for part in re.split(r"\n\s*\n", note.strip()))
    return f'<div class="remark">{"".join(f"<p>{escaped(part)}</p>" for part in parts)}</div>'


def finding_html(profile: Profile, whole: Profile, where: str | None, shown: Exhibits) -> str:
    """Write the finding: the number of trees in large letters, then the sentences."""
    n = profile.total
    sentences = [finding.count_sentence(profile, whole, where)]
    if profile.status == "partial":
        sentences.append(finding.asked_sentence(profile, where))
    if not n:
        near = [] if where is None else [str(one) for one in views.nearest_in(whole, where)]
        nearest = (
            f'<p class="note">The nearest that trees come:</p>{list_html(near)}' if near else ""
        )
        return f'<p class="answer">No tree exists</p>{_sentences(sentences)}{nearest}'
    if shown.front is not None:
        sentences += finding.best_sentences(shown.front, shown.ends)
    elif (good := main_criteria(profile)[0]) is not None:
        sentences.append(finding.single_sentence(profile, good))
    answer = finding.trees_text(n)
    size = f"About 10<sup>{log10(n):.2f}</sup>. " if len(str(n)) > _LONG else ""
    exact = (
        f'In full: <span class="mono">{grouped(n)}</span>. ' if answer.startswith("about") else ""
    )
    return (
        f'<p class="answer">{answer}<small>{size}{exact}The count is {profile.status}.</small></p>'
        f"{_sentences(sentences)}"
    )


def _sentences(sentences: Sequence[str]) -> str:
    return (
        '<div class="finding">' + "".join(f"<p>{escaped(one)}</p>" for one in sentences) + "</div>"
    )


def figures(
    profile: Profile, tables: Sequence[Crosstab], fronts: Sequence[Front | None], at: Iterable[int]
) -> str:
    """Write some of the landscapes, each with its exact counts as a table."""
    if not profile.total:
        return '<p class="empty">No tree exists, so there is nothing to show.</p>'
    if not tables:
        return '<p class="empty">A landscape needs two metrics; this profile has one.</p>'
    return "".join(_figure(one, tables[one], fronts[one]) for one in at)


LEGEND = (
    '<p class="note">Each cell holds the trees whose two metrics lie in its ranges; the darker '
    "(in dark mode: the brighter) the cell, the more trees. Bars show the totals of columns and "
    'rows.<span class="no-print"> Point at a cell, or move with Tab and the arrow keys, to read '
    "its exact number.</span></p><noscript><p>Scripts are switched off: the tables below hold the "
    "same numbers.</p></noscript>"
)


def _figure(at: int, table: Crosstab, front: Front | None) -> str:
    x, y = escaped(table.x), escaped(table.y)
    names = [*(f"{n:,}" for n in (*table.x_totals, *table.y_totals)), *table.y_bins.labels]
    letters = (len(table.y_bins) + 2) * (max(map(len, names), default=0) + 3)
    legend = "The orange line joins the best trade-offs (Pareto front)." if front else ""
    asked = f" Only trees with {escaped(table.where)}." if table.where else ""
    return (
        f"<figure><figcaption><h3>{_both(table)}</h3>"
        f'<span class="note">{words.many(table.total, "tree")}.{asked} {legend}</span></figcaption>'
        f'<div class="landscape" data-landscape="{at}"></div>'
        f'<div class="legend"></div><p class="readout" aria-live="polite"></p>'
        f"<details open><summary>Exact counts by {x} and {y} as a table</summary>"
        f'<div class="scroll counts" style="--letters:{letters}" tabindex="0" role="group" '
        f'aria-label="Table of {x} and {y}">'
        f"{table.to_html()}</div></details></figure>"
    )


def _both(table: Crosstab) -> str:
    return " and ".join(title_html(name) for name in (table.x, table.y))


def title_html(name: str) -> str:
    """Write a metric's name for people, with the one that formulas use."""
    title = words.title_text(name)
    return escaped(name) if title == name else f"{escaped(title)} ({escaped(name)})"


def fronts_html(whole: Profile, shown: Exhibits, others: Sequence[Front | None], small: int) -> str:
    """Write the main front with its trees, then the fronts of the other pictures."""
    main = shown.front
    rest = [
        front
        for front in others
        if front is not None and front.points and (main is None or front.names != main.names)
    ]
    if main is None and not rest:
        return (
            '<p class="empty">There is none to show: a trade-off needs two metrics of which it is '
            "known whether more or less is better, and a tree for which both are defined.</p>"
        )
    text = (
        '<p class="note">No tree is better than these in one metric without being worse in the '
        "other (the Pareto front).</p>"
    )
    if main is not None:
        table = _front_table(main, shown.points)
        if len(main) > _MANY:
            which = f"All {len(main):,} points" if len(main) <= MOST_POINTS else "Points"
            table = f"<details open><summary>{which} of the front</summary>{table}</details>"
        text += table + _front_note(shown)
        text += "".join(tree_card(one, whole, small) for one in shown.on_front)
    for front in rest:
        title = " and ".join(map(title_html, front.names))
        points, trees = words.many(len(front), "point"), words.many(front.count, "tree")
        text += (
            f"<details open><summary>{title}: {points}, {trees}</summary>"
            f"{_front_table(front, {})}</details>"
        )
    return text


def _front_note(shown: Exhibits) -> str:
    if not shown.on_front or shown.front is None:
        return ""
    drawn, n = len(shown.on_front), len(shown.front)
    which = "All are drawn" if drawn == n else f"{drawn} of the {n:,} are drawn, evenly along it"
    return (
        f'<p class="note">{which}. Where several trees share a point, the table names one with the '
        "fewest leaves.</p>"
    )


def _front_table(front: Front, trees: "Mapping[int, DrawnTree]") -> str:
    head = [f"{title_html(name)}<small>more is better</small>" for name in front.maximize]
    head += [f"{title_html(name)}<small>less is better</small>" for name in front.minimize]
    rows = []
    for at, point in enumerate(front.points[:MOST_POINTS]):
        cells = [
            f'<span title="{escaped(exact_text(value))}">{finding.value_text(value)}</span>'
            for value in point
        ]
        cells.append(grouped(front.trees[at]))
        if trees:
            cells.append(_link(trees[at].rank) if at in trees else "")
        rows.append(cells)
    left = len(front) - len(rows)
    rest = f'<p class="note">… and {left:,} more points.</p>' if left > 0 else ""
    return table_html([*head, "trees", *(["one of them"] if trees else [])], rows) + rest


def _link(rank: int, word: str = "tree") -> str:
    """Name a tree, as a link that leads to its card where there is one."""
    return f'<a href="#tree-{rank}">{word} {grouped(rank)}</a>'


def chosen_html(whole: Profile, chosen: Profile, shown: Exhibits, small: int) -> str:
    """Write the trees that were asked for, or why there are none."""
    if not shown.chosen:
        if not chosen.total:
            return '<p class="empty">No tree exists, so there is none to draw.</p>'
        if whole.source is None:
            return (
                '<p class="empty">This profile was kept without its circuit, so no tree can be '
                "drawn from it: save it with <code>circuit=True</code> (<code>--circuit</code>)."
                "</p>"
            )
        return '<p class="empty">No tree was asked for.</p>'
    seen = {one.drawn.rank for one in shown.on_front}
    cards = []
    for one in shown.chosen:
        if one.drawn.rank in seen:
            roles = escaped("; ".join(one.roles))
            cards.append(f"<p>{_link(one.drawn.rank, 'Tree')} ({roles}) is drawn above.</p>")
        else:
            cards.append(tree_card(one, whole, small, _outside(chosen, one)))
    few = f'<p class="note">{escaped(shown.remark)}</p>' if shown.remark else ""
    return f'<p class="note">{_how(shown.chosen, chosen)}</p>{few}{"".join(cards)}'


def _how(shown: Sequence[Shown], chosen: Profile) -> str:
    again = "Every tree was scored on the table again before it was shown here."
    seeds = {one.drawn.seed for one in shown} - {None}
    if not seeds:
        return again
    return (
        f"Trees drawn at random: each of the {views.count_text(chosen.total)} with the same "
        f"probability (seed {', '.join(map(str, sorted(s for s in seeds if s is not None)))}). "
        f"{again}"
    )


def _outside(chosen: Profile, shown: Shown) -> str:
    """Say so where a tree that was asked for does not satisfy the condition of the report."""
    try:
        chosen.rank(shown.drawn)
    except QueryError:
        return '<p class="warning">This tree does not satisfy the condition of the report.</p>'
    return ""


def tree_card(shown: Shown, whole: Profile, small: int, remark: str = "") -> str:
    """Write a tree: number, why it is shown, metrics, picture, rules."""
    drawn = shown.drawn
    body, wide = tree_body(TreeModel(drawn.tree, drawn.data), small, f"tree {grouped(drawn.rank)}")
    metrics = "".join(
        f'<div><dt>{title_html(name)}</dt><dd title="{escaped(exact_text(value))}">'
        f"{finding.value_text(value)}</dd></div>"
        for name, value in drawn.metrics.items()
    )
    roles = "".join(f'<span class="role">{escaped(role)}</span>' for role in shown.roles)
    return (
        f'<article class="tree-card{wide}" id="tree-{drawn.rank}">'
        f"<h3>Tree {grouped(drawn.rank)} of {grouped(whole.total)} {roles}</h3>{remark}"
        f'<dl class="figures">{metrics}</dl>{body}'
        f'<p class="note no-print">In Python: <code>profile.tree({drawn.rank})</code></p></article>'
    )


def tree_body(model: TreeModel, small: int, name: str) -> tuple[str, str]:
    """Write the picture of a tree and its rules, and the class of a card that is too wide."""
    picture = model.to_svg(small=small)
    width = _width(picture)
    rules = "".join(
        f'<li>{escaped(rule.claim)} <span class="evidence">{escaped(rule.evidence)}</span></li>'
        for rule in model.rules(small=small)
    )
    body = (
        f'<div class="tree-body"><div class="tree-picture" style="--natural:{width:g}px" '
        f'tabindex="0" role="group" aria-label="Picture of {escaped(name)}">{picture}</div>'
        f'<ol class="rules">{rules}</ol></div>'
    )
    return body, " wide" if width > _WIDE else ""


def _width(picture: str) -> float:
    """Read a picture's width: it may shrink on small screens, but not until unreadable."""
    found = re.search(r'width="([\d.]+)"', picture)
    return float(found[1]) if found else 0.0


def groups_html(profile: Profile, shown: Exhibits, small: int) -> str:
    """Write sizes and base rates of the groups, then how each shown tree treats them."""
    every = shown.every
    if not every:
        return (
            '<p class="empty">Rates need the rows of the table, and the profile was kept without '
            "its circuit, or no tree is shown.</p>"
        )
    data = every[0].drawn.data
    counts = [group_counts(data, one.drawn.tree) for one in every]
    sensitive = breakable(str(data.sensitive)) if data.sensitive else ""
    positive = "" if data.positive is None else escaped(str(data.labels[data.positive]))
    first = f"group by {sensitive}" if sensitive else ""
    head = [first, "rows", "share of all rows"]
    head += [f"truly {positive}", f"share truly {positive} (base rate)"] if positive else []
    text = "<h3>The table</h3>" + plain_table(head, groups.base_rows(counts[0], small))
    if groups.some_hidden(counts[0], small):
        text += (
            f'<p class="note">Groups, and positive or negative rows of a group, that are fewer '
            f"than {small:,} are not shown, nor are others from which they would follow.</p>"
        )
    head = [first]
    if positive:
        head += [f"predicted {positive}", "selection rate", "true positive rate",
                 "false positive rate"]  # fmt: skip
    head += ["predicted wrong", "error rate"]
    for one, found in zip(every, counts, strict=True):
        roles = escaped("; ".join(one.roles))
        text += (
            f'<div class="rates"><h3>{_link(one.drawn.rank, "Tree")} '
            f'<span class="note">{roles}</span></h3>'
            f"{plain_table(head, groups.rate_rows(found, small))}</div>"
        )
    return text


def plain_table(head: list[str], rows: list[list[str]]) -> str:
    """Write a table of plain text."""
    return table_html(head, [[escaped(cell) for cell in row] for row in rows])


def moments_html(profile: Profile) -> str:
    """Write least, mean, deviation and largest of every metric."""
    if not profile.total:
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
        f'<span title="{escaped(exact_text(v))}">{finding.value_text(v)}</span>'
        for v in (found.least, found.largest)
    ]
    lost = f"{grouped(found.undefined)} trees" if found.undefined else "no tree"
    return [title_html(found.metric), ends[0], mean, deviation, ends[1], lost]


def definitions_html(profile: Profile) -> str:
    """Write what every metric means, with its formula."""
    rows = []
    for name in profile.names:
        definition = words.definition(profile, name)
        formula = (
            formula_html(definition.formula) if definition.formula else "counted, not computed"
        )
        rows.append([f"<code>{escaped(name)}</code>", escaped(definition.about), formula])
    legend = f'<p class="note">{escaped(" ".join(words.glossary(profile)))}</p>'
    head = ["metric", "meaning", "formula"]
    return legend + table_html(head, rows, wordy=True)

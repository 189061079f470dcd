"""Bounded and estimated profiles as words, views and sections of a report: ranges everywhere."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from adtc.engine.limits.bracket import Bracket
from adtc.profiles.crosstab import Crosstab
from adtc.profiles.inexact.bounding import BoundedProfile
from adtc.profiles.inexact.brackets import BracketTable, ends_of, range_text
from adtc.profiles.inexact.estimating import EstimatedProfile
from adtc.profiles.inexact.ranged import Ranged
from adtc.profiles.writing import approximate
from adtc.show import finding, sections, views, words
from adtc.show.markup import escaped, table_html
from adtc.show.views import View
from adtc.text import percent

_KINDS = {
    "bounded": "Each number lies between two proved ends.",
    "estimated": "Each number lies between its two ends with the confidence told.",
    "exact": "The numbers are exact.",
}


def range_words(one: Bracket) -> str:
    """Write a bracket in words.

    Examples
    --------
    >>> range_words(Bracket(7, 7)), range_words(Bracket(7, 1234567)), range_words(Bracket(7))
    ('7 trees', 'between 7 and 1,234,567 trees', 'at least 7 trees')
    """
    least, most = ends_of(one)
    if least == most:
        return finding.trees_text(least)
    if most is None:
        return f"at least {views.count_text(least)} trees"
    return f"between {views.count_text(least)} and {views.count_text(most)} trees"


def upper_end(one: Bracket) -> int:
    """Return the upper end, or the lower one where there is none: it chooses a colour."""
    least, most = ends_of(one)
    return least if most is None else most


def landscape(table: BracketTable) -> View:
    """Lay out a table of ranges as a heat map, coloured by the upper ends."""
    counts = tuple(tuple(upper_end(one) for one in row) for row in table.cells)
    view = views.landscape(Crosstab(table.x_bins, table.y_bins, counts))
    view["ranges"] = [
        ["" if not upper_end(one) else range_text(one) for one in row] for row in table.cells
    ]
    view["range_words"] = [[range_words(one) for one in row] for row in table.cells]
    return view


def how(profile: Ranged) -> str:
    """Say how the numbers were found, and how sure they are."""
    if isinstance(profile, EstimatedProfile):
        pool = views.count_text(profile.pool)
        return (
            f"Estimated from {words.many(profile.draws, 'drawn tree')}, each of {pool} trees with "
            f"the same probability (seed {profile.seed}): all intervals of one table hold at once "
            f"with a probability of {percent(Fraction(str(profile.confidence)), 0)}."
        )
    assert isinstance(profile, BoundedProfile)
    return (
        f"Counted in steps of {words.rows_text(profile.width)}: the numbers surely lie in their "
        f"ranges."
    )


def finding_html(profile: Ranged, whole: Ranged, where: str | None) -> str:
    """Write the finding: the range in large letters, then the sentences."""
    count, outline = profile.count, profile.outline
    among = f"Among all decision trees on {outline.record.data['name']}"
    conditions = [part for part in (outline.record.question.get("where"), where) if part]
    are = "are" if upper_end(count) > 1 else "is"
    said = f"{among} {finding.space_text(outline)}, there {are} {range_words(count)}"
    if conditions:
        said += f" with {' and '.join(f'({part})' for part in conditions)}"
    if profile is not whole:
        said += f", of {range_words(whole.count)} in the profile"
    left_out = (
        "Single trees, trade-offs, people and variables are left out: they need an exact profile, "
        "of a smaller space or with a stricter formula."
    )
    sentences = "".join(f"<p>{escaped(one)}</p>" for one in (f"{said}.", how(profile), left_out))
    estimate = count.estimate
    about = "" if estimate is None else f"About {views.count_text(round(estimate.value))}. "
    rest = "" if count.status == profile.status else f"; all else is {profile.status}"
    return (
        f'<p class="answer">{_capital(_answer(count))}<small>{about}The count is '
        f'{count.status}{rest}.</small></p><div class="finding">{sentences}</div>'
    )


def _answer(count: Bracket) -> str:
    return range_words(count) if upper_end(count) else "no tree exists"


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]


def figures(tables: Sequence[BracketTable], at: range) -> str:
    """Write some of the landscapes, each with its ranges as a table."""
    if not tables:
        return '<p class="empty">A landscape needs two metrics; this profile has one.</p>'
    return "".join(_figure(one, tables[one]) for one in at)


LEGEND = (
    '<p class="note">Each cell holds the trees whose two metrics lie in its ranges, and shows the '
    "two ends between which their number lies; cells are coloured by the upper end."
    '<span class="no-print"> Point at a cell, or move with Tab and the arrow keys, to read it in '
    "full.</span></p><noscript><p>Scripts are switched off: the tables below hold the same "
    "numbers.</p></noscript>"
)


def _figure(at: int, table: BracketTable) -> str:
    x, y = escaped(table.x), escaped(table.y)
    titles = " and ".join(map(sections.title_html, (table.x, table.y)))
    return (
        f"<figure><figcaption><h3>{titles}</h3>"
        f'<span class="note">{_capital(range_words(table.total))}, {table.status}. '
        f"{_KINDS[table.status]}</span></figcaption>"
        f'<div class="landscape" data-landscape="{at}"></div>'
        f'<div class="legend"></div><p class="readout" aria-live="polite"></p>'
        f"<details open><summary>Ranges by {x} and {y} as a table</summary>"
        f'<div class="scroll counts" style="--letters:{_letters(table)}" tabindex="0" role="group" '
        f'aria-label="Table of {x} and {y}">{table.to_html()}</div></details></figure>'
    )


def _letters(table: BracketTable) -> int:
    texts = [*map(range_text, table.x_totals), *map(range_text, table.y_totals)]
    widest = max(map(len, [*texts, *table.y_bins.labels]), default=0)
    return (len(table.y_bins) + 2) * (widest + 3)


def metrics_html(profile: Ranged) -> str:
    """Write what is known of every metric: its ends, or its quantiles."""
    if isinstance(profile, EstimatedProfile):
        return _quantiles_html(profile)
    assert isinstance(profile, BoundedProfile)
    rows = [
        [sections.title_html(name), *map(approximate, profile.ends(name))] for name in profile.names
    ]
    return table_html(["metric", "at least", "at most"], rows) + (
        '<p class="note">No tree of the profile lies outside; whether one reaches an end is not '
        "known.</p>"
    )


def _quantiles_html(profile: EstimatedProfile) -> str:
    spread = {name: profile.quantiles(name) for name in profile.names}
    known = {name: one for name, one in spread.items() if one}
    if not known:
        return '<p class="empty">No drawn tree satisfies the condition.</p>'
    head = [f"{percent(share, 0)} are below" for share in next(iter(known.values()))]
    rows = [
        [sections.title_html(name), *(_interval(*map(approximate, ends)) for ends in one.values())]
        for name, one in known.items()
    ]
    return table_html(["metric", *head], rows)


def _interval(value: str, low: str, high: str) -> str:
    return f"{value} <small>({low} to {high})</small>"


def overview(profile: Ranged) -> dict[str, Any]:
    """Return what an overview says of ranges instead of a number."""
    count = profile.count
    return {
        "count": str(upper_end(count)),
        "count_text": range_words(count),
        "status": profile.status,
        "open": f"The numbers of trees are {profile.status}: {range_words(count)} in all. "
        f"{how(profile)}",
    }

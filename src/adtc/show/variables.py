"""Variables of all good trees: their picture, as plain lists and painted, and their section."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from adtc.errors import QueryError
from adtc.profiles.profile import Profile
from adtc.profiles.reliance import ranges_of_profile
from adtc.profiles.variables import Variable, Variables
from adtc.profiles.writing import approximate, grouped, percentage
from adtc.show.markup import bar_html, escaped, list_html, range_html, table_html
from adtc.show.pictures import _Chart, _look, plot
from adtc.show.style import BLUE, MARK, Picture
from adtc.text import percent

_MOST_BARS = 25  # variables in a picture
_MOST_SETS = 12  # minimal sets in a report
_MOST_CELLS = 5_000_000  # of a circuit that a report walks over
_MOST_WALKED = 300_000  # of a circuit on which a report looks for the ends of reliance
_ROW = 0.17  # inches per bar


@dataclass(frozen=True, slots=True)
class UsageData:
    """What the picture of variables shows, the most used one first.

    Parameters
    ----------
    shares
        The share of good trees that test each variable, in per cent.
    left_out
        Used variables beyond those shown.
    """

    names: tuple[str, ...]
    shares: tuple[float, ...]
    texts: tuple[str, ...]
    necessary: tuple[bool, ...]
    left_out: int


def usage_data(variables: Variables) -> UsageData:
    """Compute what the picture of variables shows."""
    used = [one for one in variables.ranked() if one.possible]
    shown = used[:_MOST_BARS]
    shares = [one.share for one in shown if one.share is not None]
    return UsageData(
        tuple(one.name for one in shown),
        tuple(float(100 * share) for share in shares),
        tuple(map(percentage, shares)),
        tuple(one.necessary for one in shown),
        len(used) - len(shown),
    )


@plot.register
def _(thing: Variables, *, ax: Any = None, **look: Any) -> Picture:
    data = usage_data(thing)
    look.setdefault("height", 0.55 + _ROW * max(2, len(data.names)))
    with _Chart(ax, _look(look)) as chart:
        chart.name_axes(f"share of {grouped(thing.total)} good trees that test it (%)", "")
        if not data.names:
            chart.say_none()
        else:
            _paint_usage(chart, data)
    return Picture(chart.figure)


def _paint_usage(chart: _Chart, data: UsageData) -> None:
    """Paint one bar per variable; necessary ones stand out."""
    places = list(range(len(data.names)))
    colours = [MARK if necessary else BLUE for necessary in data.necessary]
    chart.ax.barh(places, data.shares, height=0.7, color=colours, linewidth=0)
    chart.ax.set_yticks(places, labels=list(data.names))
    chart.ax.set_ylim(len(places) - 0.4, -0.6)
    chart.ax.set_xlim(0, 124)
    chart.ax.set_xticks([0, 25, 50, 75, 100])
    for place, share, text, necessary in zip(
        places, data.shares, data.texts, data.necessary, strict=True
    ):
        label = "necessary" if necessary else text
        chart.ax.annotate(
            label, (share, place), (2, 0), textcoords="offset points", fontsize=chart.size - 1,
            va="center",
        )  # fmt: skip
    if data.left_out:
        chart.write(f"{data.left_out} more", (124, len(places) - 0.45), (0, 1), "right")


def variables_html(profile: Profile, where: str | None = None) -> str:
    """Write which variables the good trees need, use and rely on, for a report.

    Parameters
    ----------
    where
        The formula by which the profile was filtered after it was made, if it was.
    """
    if not profile.total:
        return '<p class="empty">No tree exists, so no variable is tested.</p>'
    if profile.source is None:
        return (
            '<p class="empty">This profile was kept without its circuit, so its variables cannot '
            "be counted: save it with <code>circuit=True</code> (<code>--circuit</code>).</p>"
        )
    cells = sum(len(level.cells.keys) for level in profile.source.circuit.levels[1:])
    if cells > _MOST_CELLS:
        return (
            '<p class="empty">The circuit of these trees is large: ask for variables by '
            "<code>adtc variables</code>.</p>"
        )
    found = profile.variables()
    used = [one for one in found.ranked() if one.possible]
    head = ["variable", "", "good trees that test it", "share", "good trees without it"]
    rows = [
        [
            escaped(one.name),
            one.kind,
            grouped(one.trees_using),
            "" if one.share is None else bar_html(float(one.share), percent(one.share)),
            grouped(one.trees_without),
        ]
        for one in used
    ]
    unused = ", ".join(escaped(name) for name in found if not found[name].possible)
    return (
        '<p class="note">A variable is a column of the table with all the features made of it. It '
        "is <em>necessary</em> if every good tree tests it, and <em>replaceable</em> if some do "
        "and others do not.</p>"
        + (table_html(head, rows) + _levels_html(used) if used else "")
        + (f"<p>No good tree tests: {unused}.</p>" if unused else "")
        + _sets_html(found)
        + (_reliance_html(profile, where, used) if used and cells <= _MOST_WALKED else "")
    )


def _reliance_html(profile: Profile, where: str | None, used: Sequence[Variable]) -> str:
    """Write how much errors grow when a variable is shuffled, from the least to the most."""
    try:
        ranges = {one.column: one for one in ranges_of_profile(profile, where=where)}
    except QueryError:  # least(...) means other trees where it is asked of a part of them
        return ""
    ends = {
        one.name: (float(found.min), float(found.max))
        for one in used
        if (found := ranges[one.name]).min is not None and found.max is not None
    }
    if not ends:
        return ""
    least, most = min(low for low, _ in ends.values()), max(high for _, high in ends.values())
    wide = most - least or 1.0
    rows = [
        [
            escaped(name),
            approximate(ranges[name].min),
            range_html((low - least) / wide, (high - least) / wide),
            approximate(ranges[name].max),
        ]
        for name, (low, high) in sorted(ends.items(), key=lambda item: -item[1][1])
    ]
    return (
        '<h3>Reliance</h3><p class="note">The errors of a good tree with the values of a variable '
        "shuffled among the people, on average over all pairs of them, divided by its errors as "
        "they are: the least and the largest among all good trees. 1 means that it does not "
        f"matter.</p>{table_html(['variable', 'least', '', 'largest'], rows)}"
    )


def _levels_html(used: Sequence[Variable]) -> str:
    """Write on which levels variables are tested."""
    levels = range(len(used[0].by_level))
    head = ["variable", *("at the root" if d == 0 else f"below {d}" for d in levels)]
    rows = [[escaped(one.name), *map(grouped, one.by_level)] for one in used]
    return (
        "<details open><summary>Good trees that test a variable at the root, below one test, and "
        f"so on</summary>{table_html(head, rows)}</details>"
    )


def _sets_html(found: Variables) -> str:
    """Write the minimal sets; a tree that tests nothing needs no words."""
    sets = found.minimal_sets
    if sets == (frozenset(),):
        return "<p>A single leaf, which tests nothing, is among the good trees.</p>"
    shown = [", ".join(name for name in found if name in names) for names in sets[:_MOST_SETS]]
    left = len(sets) - len(shown)
    more = f'<p class="note">… and {left:,} more sets.</p>' if left else ""
    return (
        "<p>Sets of variables that a good tree manages with, none of which holds another:</p>"
        f"{list_html(shown)}{more}"
    )

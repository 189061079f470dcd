"""The people of a report: how all good trees together vote on them, as HTML.

No row is printed. Groups and bins of few people show no numbers, nor do others from which theirs
would follow.
"""

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise

from adtc.models.small import fewer_text, hidden_counts
from adtc.profiles.people import VoteShares
from adtc.profiles.people.measures import EVERYBODY, PeopleShare, PersonMeasure
from adtc.profiles.profile import Profile
from adtc.profiles.writing import fixed, grouped
from adtc.show.groups import NOT_SHOWN
from adtc.show.markup import bar_html, breakable, escaped, table_html
from adtc.show.voting import Histogram, VoteBins, histogram_data, shown_groups
from adtc.text import percent

_BINS = 10
_GROUP_BINS = 5  # fewer: what holds few people of any group is hidden
_MOST_CELLS = 2 * 10**6  # beyond, the walk back takes minutes
_WIDE, _HIGH, _FOOT = 460, 150, 18  # pixels of the picture, and of the text below its bars


def people_html(profile: Profile, small: int) -> str:
    """Write how the good trees vote: everybody and groups in a table, vote shares as bars."""
    if profile.source is None:
        return (
            '<p class="empty">Votes need the circuit, and this profile was kept without it: save '
            "it with <code>circuit=True</code> (<code>--circuit</code>).</p>"
        )
    if not profile.total:
        return '<p class="empty">No tree exists, so nobody votes.</p>'
    if len(profile.trees) > _MOST_CELLS:
        return (
            f'<p class="empty">The {grouped(len(profile.trees))} cells of this profile are too '
            f"many to count votes for a report; <code>profile.vote_shares()</code> does.</p>"
        )
    votes = profile.vote_shares()
    return (
        _words(votes) + _summary(votes, small) + _histogram(votes, small) + _by_group(votes, small)
    )


def _words(votes: VoteShares) -> str:
    return (
        '<p class="note">Each good tree has one vote on each person. The vote share is the share '
        "of good trees that predict a class; self-consistency is the probability that two "
        "different good trees agree on a person, disagreement that two good trees, drawn "
        "independently, do not. A person is disputed if not all good trees agree. The numbers are "
        f"{votes.status}, and means are over people, by row weight.</p>"
    )


def _summary(votes: VoteShares, small: int) -> str:
    found = votes.summary()
    shown = {EVERYBODY, *shown_groups(votes.people, small)}
    sizes = {EVERYBODY: votes.people.count, **votes.people.sizes}
    disputed = _hides_disputed(votes.disputed(), sorted(shown), small)
    rows = []
    for name, size in sizes.items():
        few = fewer_text(small) if size < small else NOT_SHOWN
        cells = [escaped(name), grouped(size) if name in shown else few]
        for what, one in found.items():
            hidden = name not in shown or (what == "disputed" and disputed)
            cells.append(NOT_SHOWN if hidden else _share(one, name))
        rows.append(cells)
    group = f"group by {breakable(votes.people.sensitive)}" if votes.people.sensitive else ""
    return table_html([group, "people", *map(escaped, found)], rows)


def _share(one: PersonMeasure | PeopleShare, name: str) -> str:
    value = one.overall if name == EVERYBODY else one.by_group[name]
    if value is None:
        return "undefined"
    return f'<span title="{value}">{fixed(Fraction(value), 4)}</span>'


def _hides_disputed(disputed: PeopleShare, shown: Sequence[str], small: int) -> bool:
    """Tell whether a share of a part would tell of few people; one part would tell of another."""
    people, marked = disputed.people, disputed.marked
    assert marked is not None  # somebody votes
    parts = [people.weights[marked], people.weights[~marked]]
    for name in shown:
        if name != EVERYBODY:
            mine = people.z == people.groups.index(name)
            parts += [people.weights[mine & marked], people.weights[mine & ~marked]]
    return any(0 < int(part.sum()) < small for part in parts)


def _histogram(votes: VoteShares, small: int) -> str:
    found = histogram_data(votes, bins=_BINS, by_group=False)
    (everybody,) = found.parts
    hidden = _hidden_bins(everybody.people, small)
    rows = [
        [name, _few(n, small) if gone else grouped(n)]
        for name, n, gone in zip(_ranges(found), everybody.people, hidden, strict=True)
    ]
    head = [f"share of good trees that predict {escaped(found.label)}", "people"]
    return (
        f"<figure><figcaption><h3>How many people have which vote share of "
        f"{escaped(found.label)}</h3>{_hollow(hidden, small)}</figcaption>"
        f"{_bars(everybody, hidden, found.label)}"
        f"<details open><summary>The same as a table</summary>{table_html(head, rows)}</details>"
        f"</figure>"
    )


def _ranges(found: Histogram) -> list[str]:
    ends = [f"{i / found.bins:.1f}" for i in range(found.bins + 1)]
    return [f"{low} to {high}" for low, high in pairwise(ends)]


def _hollow(hidden: Sequence[bool], small: int) -> str:
    if not any(hidden):
        return ""
    return (
        f'<span class="note">Dotted bars are not shown: fewer than {small:,} people, or a number '
        "from which such a one would follow.</span>"
    )


def _by_group(votes: VoteShares, small: int) -> str:
    """Write the vote shares of each group; a bin with few people of one is hidden in all."""
    found = histogram_data(votes, bins=_GROUP_BINS, small=small)
    everybody, *groups = found.parts
    if len(groups) < 2:  # noqa: PLR2004
        return ""
    hidden = hidden_in_all(everybody.people, [part.people for part in groups], small)
    rows = [
        [
            escaped(part.name),
            *(
                NOT_SHOWN if gone else bar_html(float(share), percent(share))
                for share, gone in zip(part.shares, hidden, strict=True)
            ),
        ]
        for part in groups
    ]
    head = [f"group by {breakable(votes.people.sensitive or '')}", *_ranges(found)]
    return (
        f"<h3>The vote shares of {escaped(found.label)} by group</h3>"
        '<p class="note">Of each group, the people whose vote share lies between the two ends.'
        f"</p>{table_html(head, rows)}"
    )


def hidden_in_all(
    everybody: Sequence[int], groups: Sequence[Sequence[int]], small: int
) -> list[bool]:
    """Tell which bins to hide in every group, so that none follows from the others.

    People of no group that is shown count as one more.

    Examples
    --------
    >>> hidden_in_all([50, 60, 70, 80], [[3, 20, 30, 40], [47, 40, 40, 40]], 10)
    [True, True, False, False]
    """
    rest = [n - sum(of) for n, *of in zip(everybody, *groups, strict=True)]
    masks = [_hidden_bins(people, small) for people in (*groups, rest)]
    return [any(gone) for gone in zip(*masks, strict=True)]


def _hidden_bins(people: Sequence[int], small: int) -> list[bool]:
    """Tell which bins to hide; that a bin is empty tells of nobody."""
    filled = iter(hidden_counts([n for n in people if n], small))
    return [next(filled) if n else False for n in people]


def _few(n: int, small: int) -> str:
    return fewer_text(small) if n < small else NOT_SHOWN


def _bars(part: VoteBins, hidden: Sequence[bool], label: str) -> str:
    """Paint one bar per bin; a hidden one is a hollow stub, whatever it holds."""
    shown = [0 if gone else n for n, gone in zip(part.people, hidden, strict=True)]
    most, step = max(1, *shown), _WIDE / len(shown)
    bars = []
    for at, (n, gone) in enumerate(zip(shown, hidden, strict=True)):
        high = 6.0 if gone else (_HIGH - 20) * n / most
        look = 'fill="none" stroke="currentColor" stroke-dasharray="2 2"' if gone else (
            'fill="var(--accent, #0b5c8e)"'
        )  # fmt: skip
        bars.append(
            f'<rect x="{at * step + 1.5:.1f}" y="{_HIGH - high:.1f}" width="{step - 3:.1f}" '
            f'height="{high:.1f}" {look}/>'
        )
        if n:
            bars.append(
                f'<text x="{(at + 0.5) * step:.1f}" y="{_HIGH - high - 4:.1f}" '
                f'text-anchor="middle">{grouped(n)}</text>'
            )
    ticks = "".join(
        f'<text x="{at * _WIDE / 5:.1f}" y="{_HIGH + 14}" text-anchor="{anchor}">{at / 5:.1f}'
        "</text>"
        for at, anchor in enumerate(["start", "middle", "middle", "middle", "middle", "end"])
    )
    return (
        f'<svg role="img" aria-label="Vote shares of {escaped(label)}, by number of people" '
        f'viewBox="0 0 {_WIDE} {_HIGH + _FOOT}" width="{_WIDE}" '
        f'style="max-width:100%;height:auto;font-size:11px;fill:currentColor">'
        f'{"".join(bars)}<line x1="0" x2="{_WIDE}" y1="{_HIGH}" y2="{_HIGH}" '
        f'stroke="currentColor"/>{ticks}</svg>'
    )

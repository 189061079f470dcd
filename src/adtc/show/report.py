"""The report: one HTML file that opens from disk and asks nothing of the network.

Words, tables and trees are plain HTML and SVG; the heat maps are painted by the page's own
script from one block of JSON, and each has its exact counts beside it as a table.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from adtc._version import __version__
from adtc.atomic import write_whole
from adtc.errors import QueryError
from adtc.models.small import SMALL, check_small
from adtc.profiles.crosstab import Crosstab
from adtc.profiles.inexact.ranged import Ranged, no_trees
from adtc.profiles.profile import Profile
from adtc.show import provenance, ranged, sections, views, words
from adtc.show.assets import bundled
from adtc.show.document import Parts, body, document, nav
from adtc.show.exhibits import exhibits
from adtc.show.further_section import further_html, on_both_tables
from adtc.show.markup import escaped, json_text, list_html, pairs_html
from adtc.show.people_section import people_html
from adtc.show.variables import variables_html

if TYPE_CHECKING:
    from adtc.profiles.numbered import DrawnTree

Pair = tuple[str, str]
_MOST_TABLES = 5
_BINS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Contents:
    """What a report shows; the fields are the parameters of `write_report`."""

    crosstabs: Iterable[Crosstab | Pair] | None = None
    trees: "int | Sequence[DrawnTree] | None" = None
    ranks: Sequence[int] = ()
    best: int = 0
    seed: int = 0
    title: str | None = None
    note: str | None = None
    where: str | None = None
    small: int = SMALL
    command: str | None = None
    made: datetime | None = None

    def __post_init__(self) -> None:
        check_small(self.small)
        if isinstance(self.best, bool) or not isinstance(self.best, int) or self.best < 0:
            raise QueryError(f"best is {self.best!r}, expected a whole number of at least 0.")


def write_report(
    profile: Profile | Ranged,
    path: str | PathLike[str],
    *,
    crosstabs: Iterable[Crosstab | Pair] | None = None,
    trees: "int | Sequence[DrawnTree] | None" = None,
    ranks: Sequence[int] = (),
    best: int = 0,
    seed: int = 0,
    title: str | None = None,
    note: str | None = None,
    where: str | None = None,
    small: int = SMALL,
    command: str | None = None,
    made: datetime | None = None,
) -> Path:
    """Write a profile as one self-contained HTML file.

    Parameters
    ----------
    profile
        Of a bounded or an estimated one the page shows ranges, and says what is left out.
    crosstabs
        Cross-tables, or pairs of metrics, to show as heat maps; by default accuracy (or the first
        metric) against each of the others, gaps first.
    trees
        How many trees to draw uniformly with ``seed``, or the trees to show; by default 3 are
        drawn, unless ``ranks`` or ``best`` say what to show.
    ranks
        Trees to show, by their numbers in the whole profile.
    best
        How many of the best trees to show: by accuracy (or the first metric of which more is
        better), then by the gap, then by size; only trees that differ in what they predict.
    title
        The heading; by default the name of the table.
    note
        What you want to say about it; it stands below the heading. Blank lines end paragraphs.
    where
        Report only on the trees that satisfy this formula over the profile's metrics.
    small
        Leaves and groups of fewer rows show no numbers, nor do others from which theirs would
        follow; 0 shows all.
    command
        What was typed to write the report; it is printed in it.
    made
        The date in the report; now by default.

    Returns
    -------
    Path
        Where the file is. It is written under another name first and then renamed.

    Raises
    ------
    DataError
        Where the file cannot be written.
    QueryError
        Where a cross-table names an unknown metric, or no tree has a rank.

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
        profile, crosstabs=crosstabs, trees=trees, ranks=ranks, best=best, seed=seed, title=title,
        note=note, where=where, small=small, command=command, made=made,
    )  # fmt: skip
    write_whole(path, text)
    return Path(path)


def report_html(profile: Profile | Ranged, **contents: Any) -> str:
    """Write a profile as the text of one HTML page; the parameters are those of `write_report`."""
    wanted = Contents(**contents)
    return _ranged_page(profile, wanted) if isinstance(profile, Ranged) else _page(profile, wanted)


def _ranged_page(whole: Ranged, wanted: Contents) -> str:
    """Write what is known of a profile whose numbers are ranges."""
    if wanted.ranks or wanted.best or wanted.trees:
        raise QueryError(no_trees(whole, "showing trees"))
    profile, made = whole.where(wanted.where), wanted.made or datetime.now(UTC)
    outline = profile.outline
    tables = [
        profile.crosstab(*_pair(one), bins=_BINS)
        for one in (default_pairs(outline) if wanted.crosstabs is None else wanted.crosstabs)
    ]
    first, more = range(min(1, len(tables))), range(1, len(tables))
    parts = {
        "landscape": ("The landscape", ranged.LEGEND + ranged.figures(tables, first)),
        "question": ("The question", pairs_html(words.question(outline, wanted.where))),
        "numbers": ("Each metric", ranged.metrics_html(profile)),
        "pictures": ("Further landscapes", ranged.figures(tables, more)),
        "definitions": ("What the metrics mean", sections.definitions_html(outline)),
        "conventions": ("How trees are counted", list_html(words.conventions(outline.record))),
        "record": ("How to make this again", _again(outline, wanted, made)),
    }
    if not more:
        del parts["pictures"]
    found = ranged.finding_html(profile, whole, wanted.where)
    data = json_text({"landscapes": list(map(ranged.landscape, tables))})
    return _document(outline, wanted, made, found=found, parts=parts, data=data)


def _page(whole: Profile, wanted: Contents) -> str:
    profile = whole.where(wanted.where)
    made = wanted.made or datetime.now(UTC)
    tables = _tables(profile, wanted.crosstabs)
    fronts = [views.front_for(t.profile or profile, t.x, t.y) for t in tables]
    shown = exhibits(
        whole, profile, trees=wanted.trees, ranks=wanted.ranks, best=wanted.best, seed=wanted.seed
    )
    both = {(metric, f"{t}.{metric}") for t, metric in on_both_tables(profile)}
    ahead = {t.y: at for at, t in enumerate(tables) if at and profile.total and (t.x, t.y) in both}
    more = [at for at in range(1, len(tables)) if profile.total and at not in ahead.values()]
    small = wanted.small
    parts = {
        "landscape": (
            "The landscape",
            sections.LEGEND + sections.figures(profile, tables, fronts, range(min(1, len(tables))))
            if profile.total and tables
            else sections.figures(profile, tables, fronts, range(0)),
        ),
        "front": ("The best trade-offs", sections.fronts_html(whole, shown, fronts, small)),
        "trees": ("Chosen trees", sections.chosen_html(whole, profile, shown, small)),
        "groups": ("Rates by group", sections.groups_html(profile, shown, small)),
        "people": ("The people", people_html(profile, small)),
        "variables": ("Variables", variables_html(profile, wanted.where)),
        "question": ("The question", pairs_html(words.question(profile, wanted.where))),
        "tables": (
            "On further tables",
            further_html(
                profile,
                {y: sections.figures(profile, tables, fronts, [at]) for y, at in ahead.items()},
                small,
            ),
        ),
        "numbers": ("Each metric", sections.moments_html(profile)),
        "pictures": ("Further landscapes", sections.figures(profile, tables, fronts, more)),
        "definitions": ("What the metrics mean", sections.definitions_html(profile)),
        "conventions": ("How trees are counted", list_html(words.conventions(profile.record))),
        "record": ("How to make this again", _again(profile, wanted, made)),
    }
    if not more:
        del parts["pictures"]
    if not parts["tables"][1]:
        del parts["tables"]
    landscapes = [
        views.landscape(table, front=front) for table, front in zip(tables, fronts, strict=True)
    ]
    found = sections.finding_html(profile, whole, wanted.where, shown)
    data = json_text({"landscapes": landscapes, "count": str(profile.total)})
    return _document(profile, wanted, made, found=found, parts=parts, data=data)


def _document(
    profile: Profile, wanted: Contents, made: datetime, *, found: str, parts: Parts, data: str
) -> str:
    """Put a page together: heading, finding, sections."""
    heading = escaped(wanted.title or words.title_of(profile))
    header = (
        f"<header><h1>{heading}</h1>"
        f'<p class="dateline">{provenance.date_text(made)} · adtc {__version__} · data '
        f"<code>{escaped(str(profile.record.data['fingerprint'])[:16])}</code></p>"
        f"{sections.note_html(wanted.note)}"
        f'<section id="finding" aria-label="The finding">{found}</section>{nav(parts)}</header>'
    )
    return document(heading, header + body(parts), data=data, script=bundled("report.js"))


def _again(profile: Profile, wanted: Contents, made: datetime) -> str:
    """Write the commands that make the report again, and what it was made of."""
    lines = "\n".join(map(escaped, provenance.commands(profile, wanted.command)))
    hidden = (
        f"Leaves and groups of fewer than {wanted.small:,} rows show no numbers, nor do others "
        f"from which theirs would follow."
        if wanted.small
        else "All numbers are shown, however small."
    )
    pairs = [*provenance.facts(profile.record, made), ("Small numbers", hidden)]
    return f'<pre class="commands">{lines}</pre>{pairs_html(pairs)}'


def default_pairs(profile: Profile) -> list[Pair]:
    """Choose pairs of metrics: accuracy, or the first metric, against each of the others.

    Gaps come first and the size last.
    """
    first = "acc" if "acc" in profile.metrics else profile.names[0]
    others = [name for name in profile.names if name != first]

    def place(name: str) -> int:
        return 0 if words.definition(profile, name).gap else 2 if name == "size" else 1

    return [(first, name) for name in sorted(others, key=place)[:_MOST_TABLES]]


def _tables(profile: Profile, wanted: Iterable[Crosstab | Pair] | None) -> list[Crosstab]:
    tables = []
    for one in default_pairs(profile) if wanted is None else wanted:
        if isinstance(one, Crosstab):
            tables.append(one)
            continue
        tables.append(profile.crosstab(*_pair(one), bins=_BINS, round_edges=True))
    return tables


def _pair(one: Any) -> Pair:
    """Check that two metrics are named."""
    if not isinstance(one, tuple | list) or len(one) != 2:  # noqa: PLR2004
        raise QueryError(f"crosstabs has {one!r}, expected pairs of metrics or cross-tables.")
    x, y = one
    return x, y

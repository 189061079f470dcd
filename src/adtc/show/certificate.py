"""A certificate as one printable page: the finding first, then the tree, groups, proof, checking.

All numbers come from the certificate; the table only adds the rows at the leaves of the picture.
"""

from datetime import datetime
from fractions import Fraction
from os import PathLike
from pathlib import Path
from typing import Any

from adtc.algebra.metrics import RATIONALS
from adtc.algebra.trees import from_json
from adtc.atomic import write_whole
from adtc.certificates import verify as plain
from adtc.certificates.certificate import BY_GROUP, Certificate, groups_of, is_proof
from adtc.certificates.statements import FEW
from adtc.data import Data, datasets
from adtc.engine.score import as_integer
from adtc.models import TreeModel
from adtc.models.small import SMALL
from adtc.profiles.writing import grouped, percentage
from adtc.show import provenance, words
from adtc.show.document import document
from adtc.show.finding import value_text
from adtc.show.markup import escaped, list_html, pairs_html, table_html
from adtc.show.sections import tree_body

_OF_GROUPS = tuple(f"{name}[" for name in BY_GROUP)
_SCOPE = (
    "The class searched is the one described on this page and no other. Other models, other "
    "features or other cuts may do what none of these trees does.",
)
_ALONE = (
    "The numbers are about the rows of this table. Nothing is said about new rows: score the tree "
    "on rows that were not used here before you rely on it."
)
_BESIDE = (
    "The claim is about the rows of this table, which flatter the tree that they chose: compare "
    "its scores on the held-out rows."
)


def write_certificate(
    certificate: Certificate, path: str | PathLike[str], data: Data, *, small: int = SMALL
) -> Path:
    """Write a certificate as one HTML page that opens from disk and can be printed.

    Parameters
    ----------
    data
        The table that the certificate is about.
    small
        Leaves of fewer rows show no numbers in the picture.

    Examples
    --------
    >>> import adtc, tempfile
    >>> data = adtc.load_dataset("german-credit", nbins=2)
    >>> claim = adtc.certify(data, adtc.Space(max_depth=1), where="acc >= 0.72")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page = write_certificate(claim, f"{folder}/claim.html", data).read_text("utf-8")
    >>> "None in this class" in page
    True
    """
    write_whole(path, certificate_html(certificate, data, small=small))
    return Path(path)


def certificate_html(certificate: Certificate, data: Data, *, small: int = SMALL) -> str:
    """Write a certificate as the text of one HTML page."""
    fields = certificate.document
    made = fields["made"]
    heading = escaped(f"Certificate: {fields['table']['name']}")
    sections = [
        ("Tree shown", _tree(certificate, data, small)),
        ("Groups", _groups(certificate)),
        ("On held-out rows", "".join(_held_out(fields, held) for held in fields["held_out"])),
        ("What was asked, and searched", pairs_html(_class(certificate, data))),
        ("Why it holds", _proofs(certificate)),
        ("What it does not say", list_html(_limits(fields))),
        ("How trees are counted", list_html(list(fields["conventions"]))),
        ("How to check it", _checking(fields)),
    ]
    body = "".join(
        f'<section aria-label="{name}"><h2>{name}</h2>{text}</section>'
        for name, text in sections
        if text
    )
    date = provenance.date_text(datetime.fromisoformat(made["date"]))
    header = (
        f'<header><h1>{heading}</h1><p class="dateline">{date} · adtc {escaped(made["adtc"])} · '
        f"table <code>{escaped(fields['table']['read']['sha256'][:16])}</code></p>"
        f'<section id="finding" aria-label="The finding"><p class="answer">{_finding(certificate)}'
        f'<small>The answer is {fields["status"]}.</small></p><div class="finding">'
        f"<p>{escaped(certificate.claim)}</p></div></section></header>"
    )
    return document(heading, header + body)


def _finding(certificate: Certificate) -> str:
    """Say it in a few words, in large letters."""
    asked, n = certificate.document["question"], certificate.count
    if n == 0:
        return "None in this class"
    if certificate.kind == "existence":
        return "Such a tree exists"
    if certificate.kind == "optimum":
        least = "Largest" if asked["sense"] == "maximize" else "Least"
        return escaped(f"{least} {asked['term']}: {_number(certificate.value)}")
    if certificate.kind == "alternative":
        return words.many(n or 0, "less discriminatory alternative")
    return words.many(n or 0, "tree")


def _tree(certificate: Certificate, data: Data, small: int) -> str:
    shown = certificate.shown
    if shown is None:
        return ""
    model = TreeModel(from_json(shown["tree"], data.feature_names, data.labels), data)
    kinds = {"optimum": "the best", "alternative": "the least discriminatory of them"}
    which = kinds.get(certificate.kind, "one of them")
    return (
        f'<p class="note">This tree is {which}; it was scored on the table row by row.</p>'
        f"{tree_body(model, small, 'the tree')[0]}{_scores(shown['metrics'])}"
    )


def _scores(metrics: dict[str, Any], intervals: dict[str, Any] | None = None) -> str:
    """Write metrics, but for those of groups, which have a table of their own."""
    ends = intervals or {}
    rows = [
        [
            escaped(words.title_text(name)),
            _number(text),
            f"<code>{escaped(text or '-')}</code>",
            *([_interval(ends[name]) if name in ends else ""] if intervals else []),
        ]
        for name, text in metrics.items()
        if not name.startswith(_OF_GROUPS)
    ]
    return table_html(["metric", "value", "exact", *(["95 % interval"] if intervals else [])], rows)


def _by_group(
    fields: dict[str, Any], metrics: dict[str, Any], intervals: dict[str, Any] | None = None
) -> str:
    """Write rows, selection rates and impact ratios by group."""
    rows = [
        [
            escaped(group["group"]),
            grouped(int(group["rows"])),
            grouped(int(group["selected"])),
            _percent(group["selection_rate"]),
            *([_interval(intervals[f"selection_rate[{group['group']}]"])] if intervals else []),
            _number(group["impact_ratio"]),
        ]
        for group in groups_of(fields, metrics)
    ]
    head = ["group", "rows", "selected", "selection rate", "impact ratio"]
    head[4:4] = ["95 % interval"] if intervals else []
    return table_html(head, rows) if rows else ""


def _groups(certificate: Certificate) -> str:
    """Write the rates by group of the tree and of what is in use."""
    fields, about = certificate.document, certificate.document["groups"]
    both = [("the tree shown", certificate.shown), ("the decisions in use", fields["in_use"])]
    tables = [
        f"<h3>By {name}</h3>{table}"
        for name, one in both
        if one is not None and (table := _by_group(fields, one["metrics"]))
    ]
    if about is None or not tables:
        return ""
    unknown = f"{words.many(about['unknown'], 'row')} without a value"
    unknown += " is a group of its own" if about["unknown"] == 1 else " are a group of their own"
    unknown = unknown if about["unknown"] else "no row lacks a value"
    note = (
        f"Selected are rows that get {fields['question']['positive']}. The impact ratio is a "
        f"group's selection rate over that of the most selected group by {about['column']}; "
        f"{unknown}. "
    )
    few = ", ".join(about["small"])
    note += (
        f"Small groups, of fewer than {FEW} rows or 2 % of the rows, whose rates say little: {few}."
        if few
        else f"No group has fewer than {FEW} rows or 2 % of the rows."
    )
    return f'<p class="note">{escaped(note)}</p>{"".join(tables)}'


def _held_out(fields: dict[str, Any], held: dict[str, Any]) -> str:
    """Write how the tree shown does on rows that were not used to choose it."""
    note = (
        f"The tree shown on the {grouped(held['rows'])} rows of {held['name']}, which were not "
        f"used to choose it. Intervals are Wilson's for shares and Newcombe's for differences. "
        f"Whoever has the first table alone cannot check this. "
        f"SHA-256 of the rows as read: {held['sha256']}."
    )
    if held["no_group"]:
        note += f" {words.many(held['no_group'], 'row')} of no known group."
    text = (
        f'<p class="note">{escaped(note)}</p>{_scores(held["metrics"], held["intervals"])}'
        f"{_by_group(fields, held['metrics'], held['intervals'])}"
    )
    if held["in_use"] is not None:
        text += f"<h3>The decisions in use on these rows</h3>{_scores(held['in_use'])}"
        text += _by_group(fields, held["in_use"])
    return text


def _interval(ends: list[float] | None) -> str:
    return "undefined" if ends is None else f"{100 * ends[0]:.1f} to {100 * ends[1]:.1f} %"


def _class(certificate: Certificate, data: Data) -> list[tuple[str, str]]:
    fields = certificate.document
    asked, table = fields["question"], fields["table"]
    label = table["recipe"]["codes"]["label"]
    names = [str(plain.named(label["column"], test, label=True)) for test in label["tests"]]
    positive = "" if asked["positive"] is None else f"; {asked['positive']} is the positive label"
    limits = [
        plain.CLASS[name].format(", ".join(x) if name == "banned" else x)
        for name, x in fields["space"].items()
    ]
    pairs = [
        ("Decision", f"{label['column']} ({', '.join(names)}){positive}"),
        (
            "Table",
            f"{table['name']}, {grouped(table['rows'])} rows, {data.n_features} yes/no features "
            f"of {len({f['column'] for f in table['recipe']['features']})} columns",
        ),
        ("Class searched", f"all decision trees with {', '.join(limits)}"),
    ]
    if fields["in_use"] is None:
        pairs.append(("Condition", asked["where"] or "none: every such tree"))
    else:
        use, gap = fields["in_use"], asked["term"]
        what = f"the column {use['column']}" if "column" in use else "a tree"
        about = RATIONALS[gap].about if gap in RATIONALS else "a metric of your own"
        pairs += [
            ("Decisions in use", f"{what}, with {gap} = {_number(certificate.baseline)}"),
            ("What a tree must reach", asked["where"]),
            ("Gap to make smaller", f"{gap}: {about}"),
        ]
    pairs += [(f"Metric {name}", plain.text_of(x)) for name, x in fields["define"].items()]
    return pairs


def _proofs(certificate: Certificate) -> str:
    """Say for each formula how many trees satisfy it, and how others see that."""
    lines = []
    for one in certificate.document["statements"]:
        n, where, proof = one["trees"], plain.text_of(one["where"]), one["proof"]
        if n is None:
            lines.append(f"A tree: {where}. The tree shown is the proof.")
        elif n:
            lines.append(f"{words.many(n, 'tree')}: {where}. They can be counted again.")
        elif proof is not None and is_proof(proof):
            lines.append(
                f"No tree: {where}. Such a tree would have {proof['form']} at most 0, but on every "
                f"tree of the class it is {proof['least']} or more."
            )
        else:
            lines.append(f"No tree: {where}. All trees were counted, and can be counted again.")
    return list_html(lines)


def _limits(fields: dict[str, Any]) -> list[str]:
    """Say what the certificate does not."""
    limits = [*_SCOPE, _BESIDE if fields["held_out"] else _ALONE]
    if fields["groups"] is not None:
        limits.append(
            f"Groups are those of one column, {fields['groups']['column']}. Of intersections with "
            f"other columns nothing is said: for them certify with a column that holds them."
        )
    return [*limits, fields["notice"]]


def _checking(fields: dict[str, Any]) -> str:
    made, table = fields["made"], fields["table"]
    file = table["file"]["name"] or "TABLE"
    bundled = [info.name for info in datasets() if f"{info.name}.csv.gz" == file]
    command = f"adtc verify claim.json {(bundled or [file])[0]}"
    alone = f"python verify.py claim.json {file}"
    pairs = [
        ("Made by", made["command"] or "a call in Python"),
        ("Versions", f"adtc {made['adtc']}, Python {made['python']}"),
        ("Data source", f"{file}, last changed {changed}" if (changed := table["file"]["changed"])
         else "a table in memory"),
        ("Fingerprint", table["fingerprint"]),
        ("Rows as read", f"SHA-256 {table['read']['sha256']}"),
    ]  # fmt: skip
    if table["raw"]:
        pairs.append(("Rows as in the file", f"SHA-256 {table['raw']['sha256']}"))
    return (
        f'<pre class="commands">{escaped(command)}\n{escaped(alone)}</pre><p class="note">The '
        f"second needs nothing but Python and adtc's file verify.py, which shares no code with "
        f"what made the certificate. The certificate is not signed.</p>{pairs_html(pairs)}"
    )


def _number(text: str | None) -> str:
    return "undefined" if text is None else value_text(as_integer(Fraction(text)))


def _percent(text: str | None) -> str:
    return percentage(None if text is None else Fraction(text))

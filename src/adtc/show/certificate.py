"""A certificate as one printable page: the finding first, then the tree, groups, proof, checking.

All numbers come from the certificate; the table only adds the rows at the leaves of the picture.
"""

from datetime import datetime
from fractions import Fraction
from os import PathLike
from pathlib import Path
from typing import Any

from adtc.algebra.trees import from_json
from adtc.atomic import write_whole
from adtc.certificates.certificate import Certificate
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

FEW = 30  # rows of a group below which its rates say little
NO_ADVICE = (
    "A certificate states facts about one table and one class of trees. It is no legal advice: "
    "whether a measure, a floor or a class is the right one is not decided here."
)
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
        ("Tree shown", _tree(fields, data, small)),
        ("Groups", _groups(fields)),
        ("On held-out rows", "".join(map(_held_out, fields["held_out"]))),
        ("What was searched", pairs_html(_class(fields, data))),
        ("Why it holds", _proofs(certificate)),
        (
            "What it does not say",
            list_html([*_SCOPE, _BESIDE if fields["held_out"] else _ALONE, NO_ADVICE]),
        ),
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
        f'<section id="finding" aria-label="The finding"><p class="answer">{_finding(fields)}'
        f'<small>The answer is {fields["status"]}.</small></p><div class="finding">'
        f"<p>{escaped(certificate.claim)}</p></div></section></header>"
    )
    return document(heading, header + body)


def _finding(fields: dict[str, Any]) -> str:
    """Say it in a few words, in large letters."""
    answer, asked, n = fields["answer"], fields["question"], fields["answer"]["count"]
    if n == 0:
        return "None in this class"
    if fields["kind"] == "existence":
        return "Such a tree exists"
    if fields["kind"] == "optimum":
        least = "Largest" if asked["sense"] == "maximize" else "Least"
        return escaped(f"{least} {asked['term']}: {_number(answer['value'])}")
    if fields["kind"] == "alternative":
        return words.many(n, "less discriminatory alternative")
    return words.many(n, "tree")


def _tree(fields: dict[str, Any], data: Data, small: int) -> str:
    shown = fields["witness"]
    if shown is None:
        return ""
    model = TreeModel(from_json(shown["tree"], data.feature_names, data.labels), data)
    kinds = {"optimum": "the best", "alternative": "the least discriminatory of them"}
    which = kinds.get(fields["kind"], "one of them")
    rows = [
        [escaped(words.title_text(name)), _number(text), f"<code>{escaped(text or '-')}</code>"]
        for name, text in shown["metrics"].items()
    ]
    return (
        f'<p class="note">This tree is {which}; it was scored on the table row by row.</p>'
        f"{tree_body(model, small, 'the tree')[0]}"
        f"{table_html(['metric', 'value', 'exact'], rows)}"
    )


def _groups(fields: dict[str, Any]) -> str:
    """Write rows, selection rates and impact ratios by group, of the tree and of what is in use."""
    shown = [("the tree shown", fields["witness"]), ("the decisions in use", fields["baseline"])]
    text, few = "", []
    for name, one in shown:
        if one is None or not one["groups"]:
            continue
        rows = [
            [
                escaped(str(group["group"])),
                grouped(group["rows"]),
                grouped(group["selected"]),
                _percent(group["rate"]),
                _number(group["impact_ratio"]),
            ]
            for group in one["groups"]
        ]
        few += [g["group"] for g in one["groups"] if g["rows"] < FEW and g["group"] not in few]
        head = ["group", "rows", "selected", "selection rate", "impact ratio"]
        text += f"<h3>By {escaped(name)}</h3>{table_html(head, rows)}"
    if not text:
        return ""
    positive = fields["table"]["recipe"]["target"]["values"][fields["table"]["recipe"]["positive"]]
    sensitive = fields["table"]["recipe"]["sensitive"]["column"]
    note = (
        f"Selected are rows that get {positive}. The impact ratio is a group's selection rate over "
        f"that of the most selected group by {sensitive}; rows without a value are a group of "
        f"their own."
    )
    if few:
        note += f" Groups of fewer than {FEW} rows: {', '.join(map(str, few))}."
    return f'<p class="note">{escaped(note)}</p>{text}'


def _held_out(held: dict[str, Any]) -> str:
    """Write how the tree shown does on rows that were not used to choose it."""
    metrics = [
        [escaped(words.title_text(name)), _number(text), f"<code>{escaped(text or '-')}</code>"]
        for name, text in held["metrics"].items()
    ]
    rows = [
        [
            escaped(str(group["group"])),
            grouped(group["rows"]),
            grouped(group["selected"]),
            _percent(group["rate"]),
            _interval(group["interval"]),
            _number(group["impact_ratio"]),
        ]
        for group in held["groups"]
    ]
    head = ["group", "rows", "selected", "selection rate", "95 % interval", "impact ratio"]
    note = (
        f"The tree shown on the {grouped(held['rows'])} rows of {held['name']}, which were not "
        f"used to choose it. Accuracy lies in {_interval(held['acc_interval'])} (Wilson's 95 % "
        f"interval, as for the rates). Whoever has the first table alone cannot check this. "
        f"SHA-256 of the rows as read: {held['sha256']}."
    )
    if rows and held["no_group"]:
        note += f" {words.many(held['no_group'], 'row')} of no known group."
    return (
        f'<p class="note">{escaped(note)}</p>{table_html(["metric", "value", "exact"], metrics)}'
        f"{table_html(head, rows) if rows else ''}"
    )


def _interval(ends: list[float] | None) -> str:
    return "undefined" if ends is None else f"{100 * ends[0]:.1f} to {100 * ends[1]:.1f} %"


def _class(fields: dict[str, Any], data: Data) -> list[tuple[str, str]]:
    asked, space, table = fields["question"], fields["space"], fields["table"]
    recipe = table["recipe"]
    pairs = [
        (
            "Table",
            f"{table['name']}, {grouped(table['rows'])} rows, {data.n_features} yes/no features "
            f"of {len({f['column'] for f in recipe['features']})} columns; trees predict "
            f"{recipe['target']['column']} ({', '.join(map(str, recipe['target']['values']))}).",
        ),
        (
            "Trees",
            f"All with at most {words.many(space['max_depth'], 'test')} on a path"
            + (f", at most {space['max_size']} leaves" if space["max_size"] else "")
            + f" and at least {words.many(table['least_rows'], 'row')} in every leaf; "
            + ("any label" if space["labels"] == "any" else "the majority label")
            + " on a leaf"
            + (f"; no test of {', '.join(space['banned'])}" if space.get("banned") else "")
            + ".",
        ),
        ("Condition", asked["where"] or "none: every such tree"),
    ]
    if fields["kind"] == "alternative":
        use = fields["baseline"]
        what = f"the column {use['column']}" if "column" in use else "a tree"
        gap = _number(use["metrics"][asked["term"]])
        pairs.append(("Decisions in use", f"{what}, with {asked['term']} = {gap}"))
    pairs += [(f"Metric {name}", text) for name, text in asked["define"].items()]
    return pairs


def _proofs(certificate: Certificate) -> str:
    """Say for each formula how many trees satisfy it, and how others see that."""
    proofs = certificate.document["proofs"]
    lines = []
    for (where, n), proof in zip(certificate.formulas, proofs, strict=True):
        if n:
            lines.append(f"{words.many(n, 'tree')}: {where}. They can be counted again.")
        elif proof and proof["least"] is not None:
            lines.append(
                f"No tree: {where}. Such a tree would have {proof['form']} at most 0 (or below), "
                f"but on every tree of the class it is {proof['least']} or more."
            )
        else:
            lines.append(f"No tree: {where}. All trees were counted, and can be counted again.")
    return list_html(lines) if lines else "<p>The tree shown is the proof.</p>"


def _checking(fields: dict[str, Any]) -> str:
    made = fields["made"]
    file = fields["table"]["file"]["name"] or "TABLE"
    bundled = [info.name for info in datasets() if f"{info.name}.csv.gz" == file]
    command = f"adtc verify claim.json {(bundled or [file])[0]}"
    alone = f"python verify.py claim.json {file}"
    pairs = [
        ("Made by", made["command"] or "a call in Python"),
        ("Versions", f"adtc {made['adtc']}, Python {made['python']}"),
        ("Rows as read", f"SHA-256 {fields['table']['read']['sha256']}"),
    ]
    if fields["table"]["raw"]:
        pairs.append(("Rows as in the file", f"SHA-256 {fields['table']['raw']['sha256']}"))
    return (
        f'<pre class="commands">{escaped(command)}\n{escaped(alone)}</pre><p class="note">The '
        f"second needs nothing but Python and adtc's file verify.py, which shares no code with "
        f"what made the certificate. The certificate is not signed.</p>{pairs_html(pairs)}"
    )


def _number(text: str | None) -> str:
    return "undefined" if text is None else value_text(as_integer(Fraction(text)))


def _percent(text: str | None) -> str:
    return percentage(None if text is None else Fraction(text))

"""The page of an audit: the finding first, then what it rests on; made to be printed and sent.

One HTML file without scripts. Words come from `audit_words`, pictures from `audit_pictures`.
"""

from datetime import UTC, datetime
from os import PathLike
from pathlib import Path

from adtc._version import __version__
from adtc.algebra.metrics import RATIONALS
from adtc.atomic import write_whole
from adtc.data.columns import format_scalar
from adtc.models import TreeModel
from adtc.models.small import SMALL, check_small
from adtc.profiles.audits.audited import Alternative, Audit, Measured, Value
from adtc.profiles.audits.in_use import predictions_of
from adtc.profiles.pareto import PARTIAL, Front
from adtc.profiles.writing import exact_text, grouped
from adtc.show import audit_words, provenance, words
from adtc.show.audit_pictures import selection_bars, shows_both, trade_off
from adtc.show.document import body, document, nav
from adtc.show.groups import AUDIT_HEAD, CHANGES_HEAD, audit_rows, change_rows, some_hidden
from adtc.show.markup import breakable, escaped, list_html, pairs_html, table_html
from adtc.show.sections import note_html, plain_table, title_html, tree_body
from adtc.text import percent

_MOST_POINTS = 60


def write_page(
    found: Audit,
    path: str | PathLike[str],
    *,
    title: str | None = None,
    note: str | None = None,
    small: int | None = None,
    command: str | None = None,
    made: datetime | None = None,
) -> Path:
    """Write an audit as one self-contained HTML file.

    Parameters
    ----------
    title
        The heading; by default the question and the table's name.
    note
        What you want to say about it; it stands below the heading.
    small
        Leaves and groups of fewer rows show no numbers, nor do others from which theirs would
        follow; 10 by default, 0 shows all.
    command
        What was typed; it is printed.
    made
        The date of the page; now by default.

    Examples
    --------
    >>> import adtc, tempfile
    >>> data = adtc.load_dataset("german-credit", nbins=2)
    >>> found = adtc.audit(data, adtc.Space(max_depth=1, relminsup=0.2), floor="acc >= 0.7")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     "<h1>" in write_page(found, f"{folder}/audit.html").read_text(encoding="utf-8")
    True
    """
    few = SMALL if small is None else small
    check_small(few)
    made = made or datetime.now(UTC)
    text = page(found, title=title, note=note, small=few, command=command, made=made)
    write_whole(path, text)
    return Path(path)


def page(
    found: Audit,
    *,
    title: str | None,
    note: str | None,
    small: int,
    command: str | None,
    made: datetime,
) -> str:
    """Write an audit as the text of one HTML page; see `write_page`."""
    heading = escaped(title or f"Less discriminatory alternatives: {found.data.name}")
    parts = {
        "use": ("The model in use", _in_use(found, small)),
        "trade-off": ("Accuracy and gap", _trade_off(found, small)),
        "trees": ("Alternatives", "".join(_card(found, n, tree, small)
                                          for n, tree in enumerate(found.shown, 1))),
        "none": ("Why there is none", _none(found)),
        "test": ("On other rows", _on_test(found)),
        "question": ("What was asked", pairs_html(_question(found))),
        "limits": ("What this says, and what it does not", list_html(_limits(found))),
        "conventions": ("How trees are counted", list_html(words.conventions(found.record))),
        "record": ("How to make this again", _again(found, small, command, made)),
    }  # fmt: skip
    empty = [key for key, (_, text) in parts.items() if not text]
    for key in empty:
        del parts[key]
    header = (
        f"<header><h1>{heading}</h1>"
        f'<p class="dateline">{provenance.date_text(made)} · adtc {__version__} · data '
        f"<code>{escaped(str(found.record.data['fingerprint'])[:16])}</code></p>{note_html(note)}"
        f'<section id="finding" aria-label="The finding">{_finding(found)}</section>{nav(parts)}'
        "</header>"
    )
    return document(heading, header + body(parts))


def fragment(found: Audit) -> str:
    """Write an audit for a notebook: the finding, the picture, the first tree."""
    tree = f"{found.shown[0].model._repr_html_()}" if found.shown else ""
    return f"<div>{_finding(found)}{tree}</div>"


def _finding(found: Audit) -> str:
    kind = "proved, not sampled" if found.status != PARTIAL else "a limit left something open"
    sentences = "".join(f"<p>{_unbroken(escaped(one))}</p>" for one in audit_words.sentences(found))
    return (
        f'<p class="answer">{escaped(audit_words.headline(found))}'
        f"<small>The answer is {found.status}: {kind}.</small></p>"
        f'<div class="finding">{sentences}{_open(found)}</div>'
    )


def _unbroken(text: str) -> str:
    """Keep a number and its sign on one line."""
    return text.replace(" %", "&nbsp;%")


def _open(found: Audit) -> str:
    if not found.stopped:
        return ""
    left = list_html(audit_words.stopped_texts(found))
    return f'<p class="warning">Not found within the limits:</p>{left}'


def _in_use(found: Audit, small: int) -> str:
    used = found.baseline
    name = audit_words.in_use_text(found)
    text = f"<p>{escaped(name[:1].upper() + name[1:])}."
    text += f" {escaped(audit_words.spelled_text(found))}</p>{_figures(found, used.train)}"
    text += _rates(found, used.train, small)
    if used.model is not None:
        inner, wide = tree_body(used.model, small, "the tree in use")
        text += f'<article class="tree-card{wide}"><h3>The tree in use</h3>{inner}</article>'
    return text


def _rates(found: Audit, here: Measured, small: int) -> str:
    positive = format_scalar(found.data.labels[found.data.positive or 0])
    first = f"group by {found.data.sensitive}"
    table = plain_table([breakable(first), *AUDIT_HEAD], audit_rows(here.groups, small))
    hidden = (
        f" Groups, and positive or negative rows of a group, that are fewer than {small:,} are not "
        f"shown, nor are others from which they would follow."
        if some_hidden(here.groups, small)
        else ""
    )
    note = (
        f"Base rate: share that is truly '{positive}'. Selected: predicted '{positive}'. Impact "
        f"ratio: selection rate divided by that of the most selected group. "
        f"{audit_words.small_text(found)}{hidden}"
    )
    return f'<div class="rates">{table}<p class="note">{escaped(note)}</p></div>'


def _figures(found: Audit, here: Measured) -> str:
    names = dict.fromkeys(["acc", found.good, found.gap, "dp", "eopp", "eodd_max", "size"])
    items = "".join(
        f'<div><dt>{title_html(name)}</dt><dd title="{escaped(exact_text(here.metrics[name]))}">'
        f"{escaped(audit_words.metric_text(name, here.metrics[name]))}</dd></div>"
        for name in names
        if name in here.metrics
    )
    return f'<dl class="figures">{items}</dl>'


def _trade_off(found: Audit, small: int) -> str:
    if not found.exists:
        return ""
    part = audit_words.shown_part(found)
    which = "" if part is found.every else ", of the trees that a person would consider"
    caption = (
        f"The square is the model in use; the line joins the best trade-offs among the "
        f"alternatives{which}; numbers are the trees below."
    )
    if shows_both(found):
        caption += " The dashed line is that of all trees of the class."
    bars = selection_bars(found, small)
    legend = '<span class="key in-use"></span>in use <span class="key tree"></span>alternative 1'
    shown = (
        f'<figure class="whole"><figcaption><h3>Selection rates by group</h3>'
        f'<span class="note">{legend}</span></figcaption><div class="scroll">{bars}</div></figure>'
        if bars
        else ""
    )
    front = part.front
    table = "" if front is None or not len(front) else _front_table(found, front)
    return (
        f'<figure class="whole"><figcaption><span class="note">{escaped(caption)}</span>'
        f'</figcaption><div class="scroll">{trade_off(found)}</div></figure>{shown}{table}'
    )


def _front_table(found: Audit, front: Front) -> str:
    head = [f"{title_html(name)}" for name in front.names]
    head += ["errors", "leaves", "changed decisions"]
    shown = {(t.metrics[found.good], t.metrics[found.gap]): n for n, t in enumerate(found.shown, 1)}
    rows = []
    for point, tree in list(zip(front.points, front.witnesses, strict=True))[:_MOST_POINTS]:
        model = TreeModel(tree, found.data)
        predictions = predictions_of(model, found.data)
        changed = int(found.data.weights[predictions != found.baseline.predictions].sum())
        wrong = int(found.data.weights[predictions != found.data.y].sum())
        number = shown.get((point[0], point[1]))
        place = f' (<a href="#tree-{number}">{number}</a>)' if number else ""
        good, gap = (_value(name, value) for name, value in zip(front.names, point, strict=True))
        rows.append([good + place, gap, grouped(wrong), grouped(model.size), grouped(changed)])
    left = len(front) - len(rows)
    rest = f'<p class="note">… and {left:,} more.</p>' if left > 0 else ""
    return (
        "<h3>The best trade-offs</h3>"
        '<p class="note">No alternative is better than these in one without being worse in the '
        f"other. Each line is one tree with these values.</p>{table_html(head, rows)}{rest}"
    )


def _value(name: str, value: Value) -> str:
    text = audit_words.metric_text(name, value, 2).replace("percentage points", "points")
    return f'<span title="{escaped(exact_text(value))}">{escaped(text)}</span>'


def _card(found: Audit, n: int, tree: Alternative, small: int) -> str:
    roles = "".join(
        f'<span class="role">{escaped(audit_words.role_text(r))}</span>' for r in tree.roles
    )
    inner, wide = tree_body(tree.model, small, f"alternative {n}")
    changes = plain_table(
        [breakable(f"group by {found.data.sensitive}"), *CHANGES_HEAD],
        change_rows(tree.changes, tree.train.groups, small),
    )
    positive = format_scalar(found.data.labels[found.data.positive or 0])
    return (
        f'<article class="tree-card{wide}" id="tree-{n}"><h3>Alternative {n} {roles}</h3>'
        f"{_figures(found, tree.train)}{inner}</article>"
        f'<div class="rates"><h3>Alternative {n}: rates by group</h3></div>'
        f"{_rates(found, tree.train, small)}"
        f'<div class="rates"><h3>Alternative {n}: whose decisions change</h3>{changes}'
        f"<p class=\"note\">Gain: predicted '{escaped(positive)}' where the model in use does not; "
        f"lose: the other way round.</p></div>"
    )


def _none(found: Audit) -> str:
    if found.exists is not False:
        return ""
    near = [str(one) for one in found.nearest]
    text = (
        f"<p>The nearest that trees of the class come to each condition:</p>{list_html(near)}"
        if near
        else ""
    )
    if found.proof is not None:
        proof = audit_words.proof_sentences(found)[0]
        text += f"<h3>The proof, for those who check it</h3><p>{escaped(proof)}</p>"
    else:
        text += (
            "<p>The search covered the class exactly: every part of it that was left out was "
            "bounded first, and the bound shows that it holds no such tree.</p>"
        )
    return text


def _on_test(found: Audit) -> str:
    if found.test is None:
        return ""
    head = ["", "accuracy", escaped(words.title_text(found.gap)), "errors"]
    models: list[tuple[str, Measured, Measured | None]] = [
        ("in use", found.baseline.train, found.baseline.test)
    ]
    models += [(f"alternative {n}", t.train, t.test) for n, t in enumerate(found.shown, 1)]
    rows = []
    for name, train, test in models:
        for place, here in (("these rows", train), (found.test.name, test)):
            if here is not None:
                cells = [audit_words.interval_text(m, here) for m in ("acc", found.gap)]
                rows.append([f"{name}, {place}", *cells, grouped(here.groups[0].wrong)])
    note = (
        f"{found.test.name} has {grouped(found.test.total)} rows that no tree was chosen by. "
        f"Intervals are Wilson's for shares and Newcombe's for differences, at 95 %."
    )
    return f'<p class="note">{escaped(note)}</p>{plain_table(head, rows)}'


def _question(found: Audit) -> list[tuple[str, str]]:
    data = found.data
    about = RATIONALS[found.gap].about if found.gap in RATIONALS else "a metric of your own"
    positive = format_scalar(data.labels[data.positive or 0])
    used = audit_words.metric_text(found.gap, found.baseline.metrics[found.gap])
    own = "" if "floor" in found.record.question else " (the accuracy of the model in use)"
    pairs = [
        ("Decision", f"{data.target}; '{positive}' is the positive label"),
        ("Model in use", audit_words.in_use_text(found)),
        ("What a tree must reach", f"{found.floor}{own}"),
        ("Gap to make smaller", f"{found.gap}: {about}; below {used}"),
        ("Groups", f"{data.sensitive}: {', '.join(map(format_scalar, data.groups))}"),
        ("Class searched", audit_words.class_text(found)),
    ]
    if found.considered is not None:
        share = percent(found.considered.space.leaf_share)
        pairs.append((
            "Trees that a person would consider",
            f"those that predict both labels and whose leaves have labels that at least {share} of "
            f"their rows have",
        ))  # fmt: skip
    return pairs


def _limits(found: Audit) -> list[str]:
    held = (
        f"The trees were chosen by the rows of {found.data.name}; how they do on the rows of "
        f"{found.test.name} is told above."
        if found.test is not None
        else "The trees were chosen and measured by the same rows. How they do on other people is "
        "not said here: measure them on held-out rows before a decision."
    )
    return [
        "Every number about this table and this class of trees is exact; 'none' means none in this "
        "class. Deeper trees, smaller leaves, other cuts of the columns or other kinds of models "
        "may do better.",
        held,
        "A small gap is not yet fairness: other gaps may rank the trees differently, and a test "
        "may stand in for the groups themselves. Read the rules.",
        *(f"Noticed in the table: {one}." for one in _warnings(found)),
        "This page is no legal advice.",
    ]


def _warnings(found: Audit) -> list[str]:
    """Return what was odd in the table when it was read."""
    told_then: list[str] = found.record.details.get("made", {}).get("warnings", [])
    return told_then


def _again(found: Audit, small: int, command: str | None, made: datetime) -> str:
    line = command or python_call(found)
    hidden = (
        f"Leaves and groups of fewer than {small:,} rows show no numbers, nor do others from which "
        f"theirs would follow."
        if small
        else "All numbers are shown, however small."
    )
    facts = [pair for pair in provenance.facts(found.record, made) if pair[0] != "Cells"]
    pairs = [*facts, ("Small numbers", hidden)]
    if found.test is not None:
        pairs.insert(2, (f"Fingerprint of {found.test.name}", found.test.fingerprint))
    return f'<pre class="commands">{escaped(line)}</pre>{pairs_html(pairs)}'


def python_call(found: Audit) -> str:
    """Write the call that makes an audit, from its record."""
    asked = found.record.question
    given = "".join(f", {name}={asked[name]!r}" for name in ("decision", "floor", "gap")
                    if name in asked)  # fmt: skip
    return f"adtc.audit(data, {provenance.space_call(found.record)}{given})"

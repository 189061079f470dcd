"""Text as HTML: tables, lists, formulas; whatever comes from a table of data is escaped here."""

import html
import json
import re

_INDEX = re.compile(r"N\[([^\]]+)\]")


def formula_html(formula: str) -> str:
    """Write a formula with subscripts.

    Examples
    --------
    >>> formula_html("2 * N[1,1] / N[*,1]")
    '2 · N<sub>1,1</sub> / N<sub>*,1</sub>'
    """
    parts = re.split(r"(N\[[^\]]+\])", formula)
    return "".join(
        _INDEX.sub(lambda m: f"N<sub>{escaped(m[1])}</sub>", part)
        if part.startswith("N[")
        else escaped(part).replace("*", "·")
        for part in parts
    )


def pairs_html(pairs: list[tuple[str, str]]) -> str:
    """Write pairs of a term and its text."""
    items = "".join(f"<dt>{escaped(a)}</dt><dd>{escaped(b)}</dd>" for a, b in pairs)
    return f'<dl class="words">{items}</dl>'


def list_html(sentences: list[str]) -> str:
    """Write sentences as a list."""
    return "<ul>" + "".join(f"<li>{escaped(s)}</li>" for s in sentences) + "</ul>"


def table_html(head: list[str], rows: list[list[str]], *, wordy: bool = False) -> str:
    """Write a table; the cells are HTML already."""
    kind = ' class="words"' if wordy else ""
    heads = "".join(f'<th scope="col"{kind}>{cell}</th>' for cell in head)
    body = "".join(
        f'<tr><th scope="row">{row[0]}</th>'
        + "".join(f"<td{kind}>{cell}</td>" for cell in row[1:])
        + "</tr>"
        for row in rows
    )
    table = f"<table><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>"
    return f'<div class="scroll">{table}</div>'


def bar_html(share: float, text: str) -> str:
    """Write a number on a bar that fills a share of the width.

    Examples
    --------
    >>> bar_html(0.25, "25.0 %")
    '<span class="bar" style="--share:25.0%">25.0 %</span>'
    """
    return f'<span class="bar" style="--share:{100 * share:.1f}%">{text}</span>'


def range_html(low: float, high: float) -> str:
    """Draw a bar between two places, 0 at the left end of the cell and 1 at its right.

    Examples
    --------
    >>> range_html(0.25, 0.5)
    '<span class="range" style="--low:25.0%;--high:50.0%"></span>'
    """
    return f'<span class="range" style="--low:{100 * low:.1f}%;--high:{100 * high:.1f}%"></span>'


def json_text(value: object) -> str:
    """Write JSON that cannot end the script element it stands in."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def escaped(text: str) -> str:
    """Write text so that none of it becomes markup."""
    return html.escape(str(text))


def breakable(text: str) -> str:
    """Write text as markup that may break after an underscore, as column names have them.

    Examples
    --------
    >>> breakable("marital_status")
    'marital_<wbr>status'
    """
    return escaped(text).replace("_", "_<wbr>")

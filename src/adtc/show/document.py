"""The frame of a page that opens from disk: head, contents, sections. Nothing needs a network."""

from collections.abc import Mapping

from adtc._version import __version__
from adtc.show.assets import hash_of, report_style

Parts = Mapping[str, tuple[str, str]]
"""Per anchor the heading and the text of a section."""


def nav(parts: Parts) -> str:
    """Write links to all sections."""
    links = "".join(f'<li><a href="#{key}">{name}</a></li>' for key, (name, _) in parts.items())
    return f'<nav aria-label="Contents"><ol>{links}</ol></nav>'


def body(parts: Parts) -> str:
    """Write the sections, one after another."""
    return "".join(
        f'<section id="{key}" aria-labelledby="{key}-title">'
        f'<h2 id="{key}-title">{name}</h2>{text}</section>'
        for key, (name, text) in parts.items()
    )


def document(heading: str, content: str, *, data: str = "", script: str = "") -> str:
    """Write a whole page; only its own script may run, and only if it has one.

    Parameters
    ----------
    heading, content
        HTML already.
    data
        JSON for the script.
    """
    allowed = hash_of(script) if script else "'none'"
    policy = (
        f"default-src 'none'; style-src 'unsafe-inline'; script-src {allowed}; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    scripts = (
        f'<script type="application/json" id="adtc-data">{data}</script>'
        f'<script type="module">{script}</script>'
        if script
        else ""
    )
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta name="generator" content="adtc {__version__}">'
        f'<title>{heading}</title><link rel="icon" href="data:,">'
        f"<style>\n{report_style()}</style></head><body>"
        f'<main class="report">{content}</main>{scripts}</body></html>\n'
    )

"""The frame of a page that opens from disk: head, style, and a policy that lets nothing else in."""

from adtc._version import __version__
from adtc.show.assets import bundled, hash_of, report_style


def document_html(heading: str, body: str, data: str | None = None) -> str:
    """Write a whole page around its body.

    Parameters
    ----------
    heading, body
        HTML already.
    data
        JSON for the script that draws landscapes; without it the page has no script.
    """
    script = "" if data is None else bundled("report.js")
    allowed = f"script-src {hash_of(script)}; " if script else ""
    policy = (
        f"default-src 'none'; style-src 'unsafe-inline'; {allowed}"
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
        f'<main class="report">{body}</main>{scripts}</body></html>\n'
    )

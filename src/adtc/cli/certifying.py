"""The command that writes an answer as a certificate, which others can check."""

from pathlib import Path
from typing import Any

import click

from adtc.cli import completion, text
from adtc.cli.asking import Asked
from adtc.cli.decorators import table_command
from adtc.cli.options import FILE, OUTPUT, Option
from adtc.cli.output import Answer, Line, check_output
from adtc.cli.provenance import command_line

ALTERNATIVE = ("baseline", "floor", "gap")  # the options of a comparison with decisions in use


@table_command(
    Option("-o", "--output", "path", section=OUTPUT, metavar="FILE", type=FILE, required=True,
           help="The certificate to write, as JSON."),
    Option("--page", section=OUTPUT, metavar="FILE", type=FILE,
           help="The same as one HTML page for people, to read and to print."),
    Option("--claim", type=click.Choice(["count", "existence", "optimum", "none"]),
           help="What to claim (default: the optimum with --minimize or --maximize, else the "
                "count, or none if it is 0)."),
    Option("--minimize", metavar="METRIC", shell_complete=completion.metrics,
           help="Certify the least value of a metric or term."),
    Option("--maximize", metavar="METRIC", shell_complete=completion.metrics,
           help="Certify the largest value instead."),
    Option("--baseline", metavar="COLUMN",
           help="Column of decisions in use: certify how many trees have a smaller gap."),
    Option("--floor", metavar="FORMULA",
           help="What alternatives to the baseline must satisfy (default: its accuracy)."),
    Option("--gap", metavar="METRIC", shell_complete=completion.metrics,
           help="The gap by which they must be better (default dp)."),
    example="adtc certify german-credit --maxdep 2 --where 'acc >= 0.75' -o claim.json",
)  # fmt: skip
def certify(
    asked: Asked,
    path: Path,
    page: Path | None,
    **options: Any,
) -> Answer:
    """Write an answer as a certificate that others can check, with or without adtc."""
    import adtc

    check_output(path, asked.table)
    check_output(page, asked.table, "--page")
    _check_tables(asked)
    options = {name: value for name, value in options.items() if value is not None}
    given = {name: options.pop(name) for name in ALTERNATIVE if name in options}
    about: dict[str, Any] = {"command": command_line()}
    if given:
        _check_alternative(asked, given, options)
        asked = asked.with_reference(given["baseline"], None)
    data, space = asked.data(), asked.space()
    if given:
        made = asked.answer(adtc.certify_alternative, data, space, **given, **about)
    else:
        made = asked.answer(adtc.certify, data, space, asked.where, **options, **about)
    made.save(path)
    if page is not None:
        from adtc.show.certificate import write_certificate

        write_certificate(made, page, data)
    return _answer(made, path, page)


def _answer(made: Any, path: Path, page: Path | None) -> Answer:
    files = [str(one) for one in (path, page) if one is not None]
    lines = [Line(f"{made.claim} ({made.status})", "bold")]
    lines += [Line(f"  {rule}", "cyan") for rule in made.rules]
    lines += [*text.files(files), Line(f"check it: adtc verify {path} TABLE", "dim")]
    return Answer(
        {
            "claim": made.claim,
            "kind": made.kind,
            "status": made.status,
            "path": str(path),
            "page": None if page is None else str(page),
            "count": made.count,
            "value_exact": made.value,
            "proved": made.proved,
        },
        lines,
    )


def _check_tables(asked: Asked) -> None:
    from adtc.errors import QueryError

    if "test_share" in asked.further:
        raise QueryError(
            "a certificate is about all rows of a file, against which it is checked: write the "
            "held-out rows into a file of their own and give --test FILE instead of --test-share."
        )


def _check_alternative(asked: Asked, given: dict[str, Any], other: dict[str, Any]) -> None:
    from adtc.errors import QueryError

    if "baseline" not in given:
        raise QueryError(
            "--floor and --gap are for a comparison with decisions in use: name their column with "
            "--baseline."
        )
    if asked.where is not None or other:
        raise QueryError(
            "with --baseline the claim is about alternatives to it: give --floor and --gap instead "
            "of --where, --claim, --minimize and --maximize."
        )

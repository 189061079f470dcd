"""The command that looks for a less discriminatory alternative to the model in use."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from adtc.cli import completion, text
from adtc.cli.asking import NOTICED, Asked
from adtc.cli.decorators import table_command
from adtc.cli.options import FILE, OUTPUT, Option, integer, pairs, ranks
from adtc.cli.output import Answer, Line, check_output
from adtc.cli.provenance import command_line, provenance
from adtc.cli.running import watched

if TYPE_CHECKING:
    from adtc.data import Data
    from adtc.models import TreeModel
    from adtc.profiles.audits.audited import Audit


@table_command(
    Option("--decision", metavar="COLUMN",
           help="Column with the decisions of the model in use; never a feature."),
    Option("--decision-label", "decision_labels", metavar="VALUE=LABEL", multiple=True,
           callback=pairs,
           help="Which label of the target a value of that column stands for. Repeatable."),
    Option("--tree", metavar="TREE",
           help="The model in use as a tree: a file with its JSON, a saved profile (with --rank), "
                "or its text, '<feature, yes, no>'."),
    Option("--rank", metavar="RANK", callback=ranks, multiple=True,
           help="The tree of a saved profile given to --tree, from 0."),
    Option("--floor", metavar="FORMULA", shell_complete=completion.metrics,
           help="What a tree must reach, such as 'acc >= 0.8' (default: the accuracy of the model "
                "in use). Alone, the most accurate such tree stands for the model in use."),
    Option("--gap", metavar="METRIC", default="dp", show_default=True,
           shell_complete=completion.metrics, help="The gap that is to be smaller."),
    Option("--consider", metavar="SHARE",
           help="Show trees that predict both labels and whose leaves have labels that at least "
                "this share of their rows has (default 0.4; 0: any)."),
    Option("--report", metavar="FILE", type=FILE, section=OUTPUT,
           help="Write one HTML page with finding, trees, rates and origin; so does -o with a name "
                "that ends in .html."),
    Option("--certificate", metavar="FILE", type=FILE, section=OUTPUT,
           help="Write the answer as JSON that others can check with `adtc verify FILE TABLE`."),
    Option("--rows", metavar="FILE", type=FILE, section=OUTPUT,
           help="Write the rows whose decision would change as CSV, numbered from 0."),
    Option("--title", metavar="TEXT", section=OUTPUT, help="The title of the page."),
    Option("--note", metavar="TEXT", section=OUTPUT,
           help="What you want to say; it stands below the title."),
    Option("--small", metavar="N", callback=integer(0), section=OUTPUT,
           help="Leaves and groups of fewer rows show no numbers in the page (default 10)."),
    example="adtc audit german-credit --maxdep 2 --relminsup 0.1 --floor 'acc >= 0.72' "
            "--report audit.html",
)  # fmt: skip
def audit(
    asked: Asked,
    *,
    decision: str | None,
    decision_labels: dict[str, str] | None,
    tree: str | None,
    rank: tuple[int, ...],
    report: Path | None,
    certificate: Path | None,
    rows: Path | None,
    title: str | None,
    note: str | None,
    small: int | None,
    **options: Any,
) -> Answer:
    """Look for trees as good as the model in use with a smaller gap."""
    from adtc.errors import QueryError
    from adtc.show.audit_words import lines

    page = _page_by_name()
    if page is not None and report is not None and report != page:
        raise QueryError(
            f"-o {page} and --report {report} would both be the page: give one of them."
        )
    report = report or page
    check_output(report, asked.table, "--report")
    check_output(rows, asked.table, "--rows")
    check_output(certificate, asked.table, "--certificate")
    if certificate is not None and "test_share" in asked.further:
        raise QueryError(
            "a certificate is about a whole file, and --test-share takes rows out of it: give test "
            "rows as a file of their own (--test), or leave out --certificate."
        )
    _check(asked, decision, decision_labels, tree, rank)
    asked = asked.with_reference(decision, decision_labels)
    data = asked.data()
    options["decision"] = decision
    if tree is not None:
        options |= _tree_in_use(tree, rank, data, asked)
    found = _answered(asked, data, options)
    noticed = click.get_current_context().meta.get(NOTICED, [])
    found.record.details["made"] = provenance(asked.table) | {"warnings": noticed}
    files = []
    if report is not None:
        found.report(report, title=title, note=note, small=small, command=command_line())
        files.append(str(report))
    if certificate is not None:
        monitor = asked.monitor()
        watched(
            lambda: found.certificate(monitor=monitor, command=command_line()).save(certificate),
            monitor,
        )
        files.append(str(certificate))
    if rows is not None:
        found.write_rows(rows, numbers=asked.kept_rows())
        files.append(str(rows))
    return Answer(
        {
            **found.to_json(),
            "report": None if report is None else str(report),
            "rows": None if rows is None else str(rows),
            "certificate": None if certificate is None else str(certificate),
        },
        [
            *(Line(line, style) for line, style in lines(found)),
            *text.files(files),
            *text.footer(found.record),
        ],
        written=page is not None,
    )


def _page_by_name() -> Path | None:
    """Return the file of ``-o`` if its name is that of a page: then the page is written there."""
    output: Path | None = click.get_current_context().params.get("output")
    return output if output is not None and output.suffix.lower() in (".html", ".htm") else None


def _check(
    asked: Asked,
    decision: str | None,
    labels: dict[str, str] | None,
    tree: str | None,
    rank: tuple[int, ...],
) -> None:
    """Refuse what belongs to no question, before the table is read."""
    from adtc.errors import QueryError

    if asked.where is not None:
        raise QueryError(
            "an audit's condition is its floor: give '" + asked.where + "' to --floor instead of "
            "--where."
        )
    if labels and decision is None:
        raise QueryError("--decision-label says how to read the column of --decision: name it.")
    if rank and tree is None:
        raise QueryError("--rank chooses a tree of the saved profile given to --tree: name it.")
    if len(rank) > 1:
        raise QueryError("the model in use is one tree: give --rank once.")


def _answered(asked: Asked, data: "Data", options: dict[str, Any]) -> "Audit":
    """Search, as far as the limits allow."""
    from adtc.errors import TooLargeError
    from adtc.profiles.audits.auditing import Inquiry

    monitor = asked.monitor()
    given = {name: value for name, value in options.items() if value is not None}
    inquiry = Inquiry(
        data, asked.space(), **given, define=asked.define, engine=asked.engine, monitor=monitor
    )
    try:
        return watched(inquiry.run, monitor)
    except TooLargeError as reason:  # the clock ran out while a kernel was busy
        return inquiry.found(stopped=str(reason))


def _tree_in_use(tree: str, rank: tuple[int, ...], data: "Data", asked: Asked) -> dict[str, Any]:
    """Read a tree: over the table's own features, or else by what it predicts for the rows."""
    from adtc.algebra.trees import parse_tree

    if tree.lstrip().startswith("<"):
        return {"tree": parse_tree(tree, data.feature_names, data.labels)}
    model = _saved_tree(tree, rank)
    if model.binarizer.features == data.features and model.labels == data.labels:
        return {"tree": model.tree}
    predictions, kept = model.predict(asked.raw_table()), asked.kept_rows()
    return {"decision": predictions if kept is None else predictions[kept]}


def _saved_tree(tree: str, rank: tuple[int, ...]) -> "TreeModel":
    """Read a tree from its JSON, or from a saved profile by its rank."""
    from adtc.cli.saved import is_saved
    from adtc.cli.sources import load_exact
    from adtc.errors import QueryError
    from adtc.models import TreeModel

    if is_saved(tree):
        if not rank:
            raise QueryError(f"'{tree}' is a saved profile: say which of its trees with --rank.")
        return load_exact(tree).tree(rank[0]).model
    if rank:
        raise QueryError(f"'{tree}' is no saved profile, so --rank chooses nothing: leave it out.")
    return TreeModel.from_json(Path(tree).read_text(encoding="utf-8"))

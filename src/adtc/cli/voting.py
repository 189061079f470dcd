"""The command about people: how all good trees together vote on each row."""

import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from adtc.cli import text
from adtc.cli.asking import FILE_ONLY, Asked
from adtc.cli.options import FILE, OUTPUT, Option, integer, ranks
from adtc.cli.output import Answer, Line, check_output
from adtc.cli.profiling import check_picture, picture
from adtc.cli.saved import is_saved
from adtc.cli.sources import Opened, opened_and_read, source_command

if TYPE_CHECKING:
    from adtc.profiles.people import VoteShares
    from adtc.profiles.people.decisions import Discrepancy
    from adtc.profiles.people.measures import PeopleShare, PersonMeasure

_FEW = 20  # new rows that are shown without being asked for


def _number(context: click.Context, parameter: click.Parameter, value: str | None) -> float | None:
    try:
        return None if value is None else float(value)
    except ValueError:
        sentence = f"'{value}' is not a number."
        raise click.BadParameter(sentence, context, parameter) from None


@dataclass(frozen=True, slots=True, kw_only=True)
class VoteOptions:
    """What is asked about people."""

    baseline: str | None
    delta: str | None
    kappa: str | None
    gibbs: float | None
    new: Path | None
    rows: tuple[int, ...]
    contested: int | None
    by_group: bool

    def check(self) -> None:
        """Refuse what cannot be meant, before any work is done."""
        from adtc.errors import QueryError
        from adtc.profiles.people.measures import read_share

        if self.delta is not None:
            read_share("delta", self.delta)
            if self.baseline is None:
                raise QueryError("--delta compares votes with decisions: give --baseline COLUMN.")
        if self.kappa is not None:
            read_share("kappa", self.kappa)


@source_command(
    Option("--baseline", metavar="COLUMN",
           help="Decisions to compare with: a column of labels, which is no feature then; with "
                "--new a column of that file."),
    Option("--delta", metavar="SHARE",
           help="Find the people whose conflict with the baseline exceeds this (default 0)."),
    Option("--kappa", metavar="SHARE", help="Abstain where self-consistency is below this."),
    Option("--gibbs", metavar="BETA", callback=_number,
           help="Let a tree count exp(-BETA * (error - least error)) instead of 1, in floats."),
    Option("--new", metavar="FILE", type=FILE,
           help="Vote on the rows of another CSV or Parquet file, which needs no target."),
    Option("--row", "rows", metavar="ROW", multiple=True, callback=ranks,
           help="Show the votes on this row, from 0. Repeatable."),
    Option("--contested", metavar="N", callback=integer(1),
           help="Show the N cases on which good trees disagree most, with their features."),
    Option("--by-group", is_flag=True, help="Show every sensitive group, too."),
    Option("--save", "path", metavar="FILE", type=FILE, section=OUTPUT,
           help="Write the votes on all rows as a .csv or .parquet file."),
    picture("Draw the vote shares into a .png, .svg or .pdf file."),
    Option("--curve", metavar="FILE", type=FILE, section=OUTPUT,
           help="Draw the disagreement curve into a .png, .svg or .pdf file."),
    Option("--multiplicity", metavar="FILE", type=FILE, section=OUTPUT,
           help="Draw ambiguity and discrepancy against the baseline for growing tolerances of "
                "the error into a .png, .svg or .pdf file."),
    example="adtc votes german-credit --relminsup 0.2 --where 'acc >= 0.72' --by-group",
)  # fmt: skip
def votes(
    asked: Asked, *, path: Path | None, plot: Path | None, curve: Path | None,
    multiplicity: Path | None, **options: Any,
) -> Answer:  # fmt: skip
    """Count, for every row, the good trees that predict each class."""
    wanted = VoteOptions(**options)
    wanted.check()
    _check_table(path, asked.table)
    check_picture(plot, asked.table)
    check_picture(curve, asked.table, "--curve")
    _check_multiplicity(multiplicity, asked, wanted)
    frame = None if wanted.new is None else _new_rows(asked, wanted.new)
    asked = _with_reference(asked, wanted)
    source, found = opened_and_read(
        asked,
        lambda data: _metrics(asked, wanted, multiplicity is not None),
        lambda made, monitor: made.vote_shares(frame, gibbs=wanted.gibbs, monitor=monitor),
    )
    found.record.status = source.profile.status
    found.record.details |= source.profile.record.details
    _check_rows(wanted.rows, len(found))
    report = _Report(asked, source, found, wanted)
    if path is not None:
        asked.under_limits(lambda monitor: found.write(path, monitor=monitor))
    files = _write(found, path, plot, curve, wanted.by_group)
    curves: dict[str, Any] = {}
    if multiplicity is not None:
        curves["multiplicity"] = _plot_multiplicity(asked, source, wanted, multiplicity)
        files += [str(multiplicity)] if curves["multiplicity"] else []
    return Answer(
        {
            **report.json(),
            **curves,
            "files": files,
            **source.json(),
            "record": found.record.to_json(),
        },
        [
            *report.lines(),
            *text.files(files),
            *text.footer(found.record, source.path, source.where),
        ],
    )


class _Report:
    """Votes in words and for programs."""

    def __init__(
        self, asked: Asked, source: Opened, votes: "VoteShares", wanted: VoteOptions
    ) -> None:
        self.votes, self.wanted = votes, wanted
        self.measures: dict[str, PersonMeasure | PeopleShare] = votes.summary()
        self.discrepancy: Discrepancy | None = None
        none = not votes.total and votes.status == "exact"
        self.nearest, self.near = source.nearest_report(asked) if none else ({}, [])
        if wanted.kappa is not None:
            self.measures["abstained"] = votes.abstain(wanted.kappa)
        if wanted.baseline is not None:
            self.measures["conflict"] = votes.conflict(wanted.baseline)
            self.measures["ambiguity"] = votes.ambiguity(wanted.baseline, wanted.delta or 0)
            if votes.frame is None and wanted.gibbs is None:
                self.discrepancy = asked.beside(
                    lambda monitor: source.chosen.discrepancy(str(wanted.baseline), monitor=monitor)
                )

    def json(self) -> dict[str, Any]:
        fields = self.votes.to_json() | {
            "summary": {name: one.to_json() for name, one in self.measures.items()},
            "gibbs": self.wanted.gibbs,
            **self.nearest,
        }
        if self.wanted.baseline is not None:
            fields["baseline"] = self.wanted.baseline
            fields["delta"] = self.wanted.delta or "0"
        if self.wanted.kappa is not None:
            fields["kappa"] = self.wanted.kappa
            decisions = self.votes.abstain(self.wanted.kappa).decisions
            fields["decisions"] = [None if one is None else str(one) for one in decisions]
        if self.discrepancy is not None:
            fields["discrepancy"] = self.discrepancy.to_json()
        if self.wanted.contested is not None:
            cases = self.votes.contested(self.wanted.contested)
            fields["contested"] = [case.to_json() for case in cases]
        return fields

    def lines(self) -> list[Line]:
        from adtc.profiles.writing import aligned

        votes = self.votes
        lines = [
            Line(f"{votes.headline} ({votes.record.status_text})", "bold"),
            *text.limit_lines(votes.record),
        ]
        lines += self.near
        if not votes.total:
            return lines
        table = votes.lines(self.measures)
        shown = table if self.wanted.by_group else [["", *row[1:]] for row in table[:2]]
        lines += map(Line, ["", *aligned(shown).splitlines()])
        if self.discrepancy is not None:
            lines += [Line(""), Line(str(self.discrepancy))]
        rows = self.wanted.rows
        if not rows and votes.frame is not None and len(votes) <= _FEW:
            rows = tuple(range(len(votes)))
        if rows:
            lines += [Line(""), *_row_lines(votes, rows)]
        if self.wanted.contested is not None:
            cases = votes.contested(self.wanted.contested).to_text()
            lines += [Line(""), *map(Line, cases.splitlines())]
        return lines


def _row_lines(votes: "VoteShares", rows: tuple[int, ...]) -> list[Line]:
    """Write the votes on some rows: number and share per class."""
    from adtc.profiles.people.measures import divided, share_text
    from adtc.profiles.writing import grouped

    def vote(n: Any) -> str:
        counted = grouped(n) if votes.exact else f"{n:.4g}"
        return f"{counted} ({share_text(divided(n, votes.total))})"

    head = ["row", *(f"votes for {label}" for label in votes.label_texts)]
    return text.columns(
        head, [[str(row), *(vote(n) for n in votes.counts[row].tolist())] for row in rows]
    )


def _metrics(asked: Asked, wanted: VoteOptions, errors: bool) -> list[str]:
    """Tell trees apart by no more than the question needs: fewer cells, sooner done."""
    from adtc.algebra.formula import names, parse

    mentioned = sorted(names(parse(asked.where)) - {"N"}) if asked.where else []
    needed = ["error"] if errors or wanted.gibbs is not None or not mentioned else []
    return list(dict.fromkeys([*mentioned, *needed]))


def _with_reference(asked: Asked, wanted: VoteOptions) -> Asked:
    """Read the baseline as labels, not as a feature; the target is one anyway."""
    column = wanted.baseline
    if column is None or wanted.new is not None or is_saved(asked.table):
        return asked
    known = tuple(asked.reading.get("references", ()))
    if column in known or column == asked.target():
        return asked
    return replace(asked, reading={**asked.reading, "references": (*known, column)})


def _new_rows(asked: Asked, path: Path) -> Any:
    from adtc.data import read_table

    return read_table(path, **{k: asked.reading[k] for k in FILE_ONLY if k in asked.reading})


def _check_rows(rows: tuple[int, ...], n: int) -> None:
    from adtc.errors import QueryError

    for row in rows:
        if not 0 <= row < n:
            raise QueryError(f"row {row:,} is out of range: there are rows 0 to {n - 1:,}.")


def _check_table(path: Path | None, read: str) -> None:
    from adtc.errors import QueryError

    check_output(path, read, "--save")
    if path is not None and path.suffix.lower() not in (".csv", ".parquet"):
        raise QueryError(
            f"cannot write a table as '{path}': expected a name that ends in .csv or .parquet."
        )


def _check_multiplicity(path: Path | None, asked: Asked, wanted: VoteOptions) -> None:
    from adtc.errors import QueryError

    check_picture(path, asked.table, "--multiplicity")
    if path is not None and (wanted.baseline is None or wanted.new is not None):
        raise QueryError(
            "--multiplicity compares with decisions on the table's own rows: give --baseline "
            "COLUMN, and leave out --new."
        )


def _plot_multiplicity(asked: Asked, source: Opened, wanted: VoteOptions, path: Path) -> Any:
    """Draw ambiguity and discrepancy by tolerance; return them for programs."""
    baseline = str(wanted.baseline)
    found = asked.beside(
        lambda monitor: source.chosen.multiplicity_curve(baseline, monitor=monitor)
    )
    if found is None:
        print(f"adtc: '{path}' is not written: {text.NOT_FOUND}.", file=sys.stderr, flush=True)
        return None
    found.plot().save(path)
    return found.to_json()


def _write(
    votes: "VoteShares", path: Path | None, plot: Path | None, curve: Path | None, by_group: bool
) -> list[str]:
    pictures: Mapping[str, Path | None] = {"histogram": plot, "disagreement": curve}
    for kind, file in pictures.items():
        if file is not None:
            votes.plot(kind=kind, by_group=by_group).save(file)
    return [str(file) for file in (path, plot, curve) if file is not None]

"""The options of the command line, in the sections in which the help shows them.

An option's parameter bears the name that the public API gives it, and its section says which call
it belongs to: a new option of `adtc.read`, `Space` or `Monitor` is one line here.
"""

import math
import re
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import click

SECTIONS = QUESTION, TREES, TABLE, RUN, OUTPUT = ("Question", "Trees", "Table", "Run", "Output")


FILE = click.Path(path_type=Path)


class Option(click.Option):
    """An option that stands in a section of the help."""

    def __init__(self, *declarations: str, section: str = QUESTION, **attributes: Any) -> None:
        self.section = section
        super().__init__(declarations, **attributes)


def integer(least: int) -> Callable[[click.Context, click.Parameter, str | None], int | None]:
    """Make a reader of whole numbers."""

    def read(context: click.Context, parameter: click.Parameter, value: str | None) -> int | None:
        """Read a whole number, or say what was expected."""
        try:
            number = None if value is None else int(value)
        except ValueError:
            number = least - 1
        if number is not None and number < least:
            sentence = f"'{value}' is not a whole number of at least {least}."
            raise click.BadParameter(sentence, context, parameter)
        return number

    return read


def ranks(
    context: click.Context, parameter: click.Parameter, values: tuple[str, ...]
) -> tuple[int, ...]:
    """Read ranks as they are printed: with commas, and of any size."""
    try:
        return tuple(int(value.replace(",", "")) for value in values)
    except ValueError:
        raise click.BadParameter(
            f"'{' '.join(values)}' is not a whole number.", context, parameter
        ) from None


def pairs(
    context: click.Context, parameter: click.Parameter, values: tuple[str, ...]
) -> dict[str, str] | None:
    """Read NAME=TEXT, each name once; column names may hold '=', definitions' names do not."""
    found: dict[str, str] = {}
    for value in values:
        cut = str.partition if parameter.name in ("define", "tables") else str.rpartition
        name, equals, text = cut(value, "=")
        if not (equals and name.strip() and text.strip()):
            form = parameter.metavar
            raise click.BadParameter(
                f"'{value}' does not have the form {form}.", context, parameter
            )
        if name.strip() in found:
            raise click.BadParameter(f"'{name.strip()}' is given twice.", context, parameter)
        found[name.strip()] = text.strip()
    return found or None


def _cuts(
    context: click.Context, parameter: click.Parameter, values: tuple[str, ...]
) -> dict[str, list[float] | str] | None:
    """Read COLUMN=c1,c2,... as lists of numbers, and COLUMN=all as it is."""

    def number(text: str) -> float:
        try:
            return float(text)
        except ValueError:
            sentence = f"'{text.strip()}' is not a number."
            raise click.BadParameter(sentence, context, parameter) from None

    given = pairs(context, parameter, values) or {}
    return {
        name: text if text == "all" else [number(c) for c in text.split(",")]
        for name, text in given.items()
    } or None


def metric_names(
    context: click.Context, parameter: click.Parameter, value: str | None
) -> tuple[str, ...]:
    """Read names or terms between commas; those within brackets belong to a name or a call."""
    parts = re.split(r",(?![^\[(]*[\])])", value) if value else []
    return tuple(part.strip() for part in parts if part.strip())


def _seconds(context: click.Context, parameter: click.Parameter, value: str | None) -> float | None:
    """Read a number of seconds above zero."""
    if value is None:
        return None
    try:
        seconds = float(value)
    except ValueError:
        seconds = 0
    if not 0 < seconds < math.inf:
        sentence = f"'{value}' is not a number of seconds above 0."
        raise click.BadParameter(sentence, context, parameter)
    return seconds


_UNITS = {"": 1, "B": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_UNITS |= {f"{unit}B": size for unit, size in _UNITS.items() if size > 1}
_UNITS |= {"KIB": 2**10, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40}


def _size(context: click.Context, parameter: click.Parameter, value: str | None) -> int | None:
    """Read a size such as 500MB, 1.5 GB or 2GiB as bytes; a bare number is bytes."""
    if value is None:
        return None
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([a-z]*)", value.strip(), re.IGNORECASE | re.ASCII)
    size = int(Fraction(match[1]) * _UNITS.get(match[2].upper(), 0)) if match else 0
    if not size:
        sentence = f"'{value}' is not a size such as 500MB or 4GB."
        raise click.BadParameter(sentence, context, parameter)
    return size


def _separator(context: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
    return {"\\t": "\t", "tab": "\t", "space": " "}.get(value, value) if value else None


def _remember(context: click.Context, parameter: click.Parameter, value: bool) -> None:
    context.meta[str(parameter.name)] = value or context.meta.get(str(parameter.name), False)


# Defaults are those of the public API and only told here: an option not given is not passed on.
SHARED = [
    Option(
        "--where", metavar="FORMULA",
        help="Only trees for which this holds, such as 'acc >= 0.8 and dp <= 0.1'.",
    ),
    Option(
        "--define", metavar="NAME=TERM", multiple=True, callback=pairs,
        help="A metric of your own, such as 'cost=N01 + 5 * N10'. Repeatable.",
    ),
    Option("--maxdep", "--max-depth", "max_depth", section=TREES, callback=integer(0), metavar="N",
           help="Most tests on a path (default 3)."),
    Option("--minsup", "--min-support", "minsup", section=TREES, callback=integer(0), metavar="N",
           help="Fewest rows in a leaf (default 1)."),
    Option("--relminsup", section=TREES, metavar="SHARE",
           help="The same as a share of all rows, rounded up: 0.05 or 1/20."),
    Option("--siz", "--max-leaves", "max_size", section=TREES, callback=integer(1), metavar="N",
           help="Most leaves (default: no limit)."),
    Option("--labels", section=TREES, type=click.Choice(["any", "majority"]),
           help="Labels that a leaf may carry (default any)."),
    Option("--trivial-splits/--no-trivial-splits", section=TREES, default=None,
           help="Count splits into two leaves of equal label (default: they count)."),
    Option("--leaf-share", "min_leaf_share", section=TREES, metavar="SHARE",
           help="Smallest share of a leaf's rows that must have its label (default 0: any label)."),
    Option("--ban", "banned", section=TREES, metavar="NAME", multiple=True,
           help="A column or feature that no tree tests. Repeatable."),
    Option("--require", "required", section=TREES, metavar="NAME", multiple=True,
           help="A column or feature that every tree tests. Repeatable."),
    Option("--root", section=TREES, metavar="NAME", multiple=True,
           help="A column or feature that may be the first test; then no other is, and no single "
                "leaf counts. Repeatable."),
    Option("--max-variables", section=TREES, callback=integer(0), metavar="N",
           help="Most different columns that a tree tests (default: no limit)."),
    Option("--target", section=TABLE, metavar="COLUMN",
           help="Column to predict; bundled tables have their own."),
    Option("--positive", section=TABLE, metavar="LABEL", help="The target's positive label."),
    Option("--sensitive", section=TABLE, metavar="COLUMN",
           help="Column of the groups that fairness metrics compare."),
    Option("--use-sensitive", section=TABLE, is_flag=True, default=None,
           help="Let trees test the sensitive column, too."),
    Option("--weights", section=TABLE, metavar="COLUMN",
           help="Column that says how many rows a row stands for."),
    Option("--reference", "references", section=TABLE, metavar="COLUMN", multiple=True,
           help="Column of other labels, for the metric agreement[COLUMN]. Repeatable."),
    Option("--na", section=TABLE, metavar="TEXT", multiple=True,
           help="Text that stands for a missing value, such as '?'. Repeatable."),
    Option("--sep", section=TABLE, metavar="TEXT", callback=_separator,
           help="What separates the fields of a line: ';', tab, space (default: found out)."),
    Option("--header/--no-header", section=TABLE, default=None,
           help="Whether the first line names the columns; else 0, 1, 2, ... (default: it does)."),
    Option("--nbins", section=TABLE, callback=integer(2), metavar="N",
           help="Bins per numeric column (default 7)."),
    Option("--binning", section=TABLE, type=click.Choice(["quantile", "width"]),
           help="Bins of equal count or of equal width (default quantile)."),
    Option("--numeric", section=TABLE, type=click.Choice(["thresholds", "bins"]),
           help="Features 'x <= c' or one per bin (default thresholds)."),
    Option("--onehot", section=TABLE, type=click.Choice(["drop", "all"]),
           help="Features for a two-valued column: one or both (default drop)."),
    Option("--max-categories", section=TABLE, callback=integer(2), metavar="N",
           help="Most features of a category; the rarest share one (default 50)."),
    Option("--type", "types", section=TABLE, metavar="COLUMN=KIND", multiple=True, callback=pairs,
           help="Read a column as numeric, category, or ignore it. Repeatable."),
    Option("--cuts", section=TABLE, metavar="COLUMN=C1,C2", multiple=True, callback=_cuts,
           help="Your own cuts for a numeric column; all cuts it between any two values. "
                "Repeatable."),
    Option("--drop", section=TABLE, metavar="COLUMN", multiple=True,
           help="Leave a column out. Repeatable."),
    Option("--stream/--no-stream", section=TABLE, default=None,
           help="Read in batches and merge equal rows (default: from about 1 GB on)."),
    Option("--engine", section=RUN, type=click.Choice(["auto", "spec", "fast"]),
           help="The fast engine, the paper's algorithm (spec), or what fits (default auto)."),
    Option("--threads", section=RUN, callback=integer(1), metavar="N",
           help="Threads of the fast engine (default: all cores it may use)."),
    Option("--time-limit", section=RUN, callback=_seconds, metavar="SECONDS",
           help="Answer within this time: exactly, or with what is finished by then."),
    Option("--memory-limit", section=RUN, callback=_size, metavar="SIZE",
           help="Hold no more memory than this, 500MB or 4GB, and answer with what fits."),
    Option("--exact", section=RUN, is_flag=True, default=None,
           help="Refuse what does not fit into the limits, instead of answering with what does."),
    Option("--checkpoint", section=RUN, metavar="FOLDER", type=FILE,
           help="Keep finished parts of a long run there, and use those that are there already."),
    Option("--resume", section=RUN, is_flag=True, default=None,
           help="With --checkpoint: go on with an earlier run, and refuse to begin a new one."),
    Option("--dask", section=RUN, metavar="ADDRESS",
           help="Compute on the workers of a dask.distributed scheduler, such as tls://host:8786; "
                "local: on processes of this machine, one for each of --threads."),
    Option("--insecure", section=RUN, is_flag=True, default=None,
           help="With --dask: allow an address that is neither on this machine nor under TLS."),
]  # fmt: skip

# Rows for further tables, which metrics such as test.acc look at.
FURTHER = [
    Option("--test", section=TABLE, metavar="FILE",
           help="A table with the same columns, sent down the same trees: test.acc, test.dp, ..."),
    Option("--test-share", section=TABLE, metavar="SHARE",
           help="Hold this share of the table's rows out as the table test, by label and group."),
    Option("--test-seed", section=TABLE, callback=integer(0), metavar="N",
           help="Which rows --test-share holds out (default 0)."),
    Option("--table", "tables", section=TABLE, metavar="NAME=FILE", multiple=True, callback=pairs,
           help="A further table like --test under a name of its own. Repeatable."),
]  # fmt: skip

# Kept by the context alone: whoever reads a table asks there.
QUIET = Option("--quiet", section=OUTPUT, is_flag=True, expose_value=False, callback=_remember,
               help="Do not warn about what is odd in the table.")  # fmt: skip

PRINTING = [
    Option("--json", "as_json", section=OUTPUT, is_flag=True,
           help="Print one JSON object instead of text."),
    Option("-o", "--output", section=OUTPUT, metavar="FILE", type=FILE,
           help="Write what is printed to a file, too."),
]  # fmt: skip

"""`adtc demo`: real questions to a bundled table, each with the command that asks it."""

import os
import shlex
from importlib.util import find_spec
from pathlib import Path

import click

from adtc.cli import findings
from adtc.cli.group import main
from adtc.cli.options import FILE, QUIET
from adtc.cli.output import Line, say

SETTING = "adult --maxdep 3 --relminsup 0.05"
QUESTIONS = (
    (
        "Who earns more than 50,000 dollars? How many decision trees are there to say so, with at "
        "least 5 % of the people in every leaf?",
        f"count {SETTING}",
    ),
    (
        "How many are right for at least 82 % of the people?",
        f"count {SETTING} --where 'acc >= 0.82'",
    ),
    (
        "How many of these say 'more' about as often of women as of men, within 10 points?",
        f"count {SETTING} --where 'acc >= 0.82 and dp <= 0.1'",
    ),
    (
        "So which tree is right most often among all that keep within 10 points?",
        f"optimize {SETTING} --maximize acc --where 'dp <= 0.1'",
    ),
)
STEPS = (
    (
        "Now all trees with at most six leaves and at least 15 % of the people in each, told apart "
        "by size, by how often they are right, and by how unequally they treat women and men:",
        f"profile {findings.SETTING} --metrics '{', '.join(findings.METRICS)}' -o {{run}}",
    ),
    (
        "How many trees are there of every accuracy and gap?",
        "crosstab {run} acc dp --bins 8,5 --plot {table}",
    ),
    (
        "Which trees cannot be beaten in both?",
        "pareto {run} --maximize acc --minimize dp --plot {front}",
    ),
    (
        "What do they look like? Two drawn at random among those right for at least 80 %:",
        "draw {run} -n 2 --seed 0 --where 'acc >= 0.8' --svg {trees}",
    ),
    (
        "All of it on one page:",
        "report {run} -o {report} --crosstab acc,f1 --crosstab acc,dp --crosstab acc,eodd_sum "
        "--crosstab acc,eopp",
    ),
)
FILES = {
    "run": "adult.adtc",
    "table": "accuracy-and-gap.png",
    "front": "front.png",
    "trees": "trees",
    "report": "report.html",
}
MARK = ".adtc-demo"  # says that the files beside it are the demo's own


@main.command()
@click.option(
    "-o", "--output", "folder", metavar="FOLDER", type=FILE, default=Path("adtc-demo"),
    help="Where to put what is made (default ./adtc-demo); other files there stay as they are.",
)  # fmt: skip
def demo(folder: Path) -> None:
    """Ask questions of a bundled table, make a profile and a report of it."""
    prepare(folder)
    for question, command in QUESTIONS:
        _ask(question, command)
    paths = {name: folder / file for name, file in FILES.items()}
    quoted = {name: shlex.quote(str(path)) for name, path in paths.items()}
    for question, command in STEPS:
        _ask(question, _without_pictures(command).format(**quoted))
    say([Line("Three findings, each counted again by a run of its own:", "bold magenta")])
    say([Line(f"{n}. {text}") for n, text in enumerate(findings.sentences(paths["run"]), 1)])
    say(
        [Line(""), Line(f"Open {paths['report']} in a browser. Everything is in {folder}:", "bold")]
    )
    say([Line(f"  {path}") for path in paths.values() if path.exists()])


def _ask(question: str, command: str) -> None:
    say([Line(question, "bold magenta"), Line(f"$ adtc {command}", "green")])
    with main.make_context("adtc", shlex.split(command)) as asked:
        asked.meta[str(QUIET.name)] = True  # the same table again and again
        main.invoke(asked)
    say([Line("")])


def _without_pictures(command: str) -> str:
    """Leave pictures out where matplotlib, which is optional, is not there."""
    return command if find_spec("matplotlib") else command.partition(" --plot")[0]


def prepare(folder: Path) -> None:
    """Make the folder, or refuse one in which the demo would replace somebody's files."""
    from adtc.errors import QueryError

    what = f"the demo cannot use '{folder}'"
    other = "give another folder to --output."
    if folder.exists() and not folder.is_dir():
        raise QueryError(f"{what}: it is no folder; {other}")
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise QueryError(f"{what}: {error.strerror or error}; {other}") from None
    if not os.access(folder, os.W_OK):
        raise QueryError(f"{what}: permission is denied; {other}")
    if (folder / MARK).exists():
        return
    foreign = [name for name in FILES.values() if (folder / name).exists()]
    if foreign:
        raise QueryError(f"{what}: it holds a '{foreign[0]}' that the demo did not make; {other}")
    (folder / MARK).touch()

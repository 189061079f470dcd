"""`adtc demo`: real questions to a bundled table, each with the command that asks it."""

import shlex

from adtc.cli.group import main
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


@main.command()
def demo() -> None:
    """Ask four questions of a bundled table and show the answers."""
    for question, command in QUESTIONS:
        say([Line(question, "bold magenta"), Line(f"$ adtc {command}", "green")])
        with main.make_context("adtc", shlex.split(command)) as asked:
            main.invoke(asked)
        say([Line("")])

"""`adtc demo`: real questions to a bundled table, each with the command that asks it."""

import shlex

from adtc.cli.group import main
from adtc.cli.output import Line, say

# Small enough for the plainest engine: seconds for all three.
SETTING = "german-credit --maxdep 2 --relminsup 0.15"
# The condition of the second question: better than calling everyone good, which is right for 70 %.
QUESTIONS = (
    ("How many decision trees with leaves of 150 or more people are there?", f"count {SETTING}"),
    (
        "How many beat 'everyone is good', and call women and men good equally often (within 5 %)?",
        f"count {SETTING} --where 'acc > 0.7 and dp <= 0.05'",
    ),
    (
        "Which of these is right most often?",
        f"optimize {SETTING} --maximize acc --where 'acc > 0.7 and dp <= 0.05'",
    ),
)


@main.command()
def demo() -> None:
    """Ask three questions of a bundled table and show the answers."""
    for question, command in QUESTIONS:
        say([Line(question, "bold magenta"), Line(f"$ adtc {command}", "green")])
        with main.make_context("adtc", shlex.split(command)) as asked:
            main.invoke(asked)
        say([Line("")])

"""Formulas: read, printed, read again, evaluated, and some of them asked on a small table."""

from fractions import Fraction
from pathlib import Path
from random import Random

from mutating import change_text
from target import ACCEPTED, Trial, WrongError

import adtc
from adtc.algebra.formula import holds, names, parse, parse_term, value
from adtc.errors import ADTCError

NUMBERS = ("0", "1", "2", "3", "10", "0.1", ".5", "5%", "1e-3", "2.50", "1/3", "100 %")
METRICS = (
    "size", "depth", "support", "error", "acc", "bacc", "f1", "precision", "tpr", "dp", "eodd_max",
    "N", "N11", "N01", "N110", "agreement[old]", "N[1,0]", "dp_signed", "test.acc", "cost",
)  # fmt: skip
RELATIONS = ("<=", "<", ">=", ">", "=", "!=", "≤", "≥", "≠", "==")
WORDS = (
    *NUMBERS, *METRICS, *RELATIONS, "and", "or", "not", "true", "false", "(", ")", ",", "+", "-",
    "*", "/", "·", "∧", "∨", "¬", "abs(", "min(", "max(", "least(", "largest(", "[", "]", "&&",
    "**", "=>", "AND", "__x", "9" * 400, "1e9999", "1e-9999", "((((", "not not", "ä", "\0", "\n",
    "\ud800",
)  # fmt: skip
ENVIRONMENTS = [
    dict.fromkeys(METRICS, None),
    dict.fromkeys(METRICS, 0),
    {name: i for i, name in enumerate(METRICS, 1)},
    {name: Fraction(i, 7) for i, name in enumerate(METRICS, -3)},
]
EVERY = 16  # of the accepted ones, one in so many is asked


def term(random: Random, height: int) -> str:
    """Write a term."""
    kind = random.randrange(8) if height else random.randrange(2)
    if kind < 2:
        return random.choice(NUMBERS if kind else METRICS)
    if kind == 2:
        return f"-{term(random, 0)}"
    if kind == 3:
        name = random.choice(("abs", "min", "max", "least", "largest"))
        many = 1 if name not in ("min", "max") else random.choice((1, 2, 3))
        return f"{name}({', '.join(term(random, height - 1) for _ in range(many))})"
    if kind == 4:
        return f"({term(random, height - 1)})"
    return f"{term(random, height - 1)} {random.choice('+-*/·')} {term(random, height - 1)}"


def formula(random: Random, height: int = 2) -> str:
    """Write a formula."""
    kind = random.randrange(6) if height else 0
    if kind < 3:
        parts = [term(random, 2)]
        for _ in range(random.choice((1, 1, 1, 2))):
            parts += [random.choice(RELATIONS), term(random, 1)]
        return " ".join(parts)
    if kind == 3:
        return f"not ({formula(random, height - 1)})"
    joined = f" {random.choice(('and', 'or', '∧', 'or'))} "
    return joined.join(f"({formula(random, height - 1)})" for _ in range(random.choice((1, 2, 3))))


def generate(random: Random) -> str:
    """Write a formula, in most cases a broken one."""
    text = formula(random)
    choice = random.random()
    if choice < 0.2:
        return text
    if choice < 0.25:
        return " ".join(random.choice(WORDS) for _ in range(random.randrange(12)))
    if choice < 0.27:  # as long and as deep as can be
        part = random.choice(("(", "not ", "-", "abs(", "1 + ", "size <= 1 and ", "a[", "1<", "N/"))
        return part * random.choice((3, 99, 1000)) + text
    return change_text(random, text, WORDS)


def prepare(folder: Path) -> Trial:
    """Make the trial."""
    data = adtc.Data.from_arrays(
        [[1, 0], [1, 1], [0, 1], [0, 0], [1, 1]], [1, 1, 0, 0, 0], z=[0, 1, 0, 1, 1],
        references={"old": [1, 0, 0, 1, 1]},
    )  # fmt: skip
    space = adtc.Space(max_depth=1)
    seen = 0

    def call(text: str) -> int:
        nonlocal seen
        try:
            read = parse(text)
        except ADTCError:
            once_more = parse_term(text)
            _same(once_more, parse_term(str(once_more)))
            value(once_more, ENVIRONMENTS[2])
            return ACCEPTED
        _same(read, parse(str(read)))
        seen += 1
        if seen % EVERY == 0:
            adtc.count(data, space, text)
        if names(read) <= set(METRICS):
            for environment in ENVIRONMENTS:
                holds(read, environment)
        return ACCEPTED

    return Trial(generate, call)


def _same(read: object, again: object) -> None:
    if read != again:
        raise WrongError(f"printed and read again, {read} is {again}")

"""Small tables, spaces and formulas: count, optimum and votes are those of the oracle.

The oracle of the tests lists every tree and reads formulas with Python's own parser.
"""

from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from target import Trial, WrongError

import adtc
import oracle
from adtc.engine.switches import Switches
from adtc.errors import QueryError
from adtc.profiles.people.voting import votes_of
from strategies import number_of_trees
from test_agreement import data_of, plain, space_of

MOST_TREES = 400
QUESTIONS = 4  # on one table and space: listing its trees takes most of the time
RELATIONS = ("<=", "<", ">=", ">", "=", "!=")
WAYS: tuple[dict[str, Any], ...] = (
    {},
    {"switches": Switches(push=False)},
    {"switches": Switches(merge_features=False, combine=False, round=False)},
    {"switches": Switches(dense=False, inclusion=False)},
)
Question = tuple[oracle.Table, oracle.Space, str | None, str, bool, dict[str, Any]]


def a_table(random: Random) -> oracle.Table:
    """Draw rows in which every label and every group occurs."""
    labels, groups = random.choice((2, 2, 3)), random.choice((0, 2, 2, 3))
    height, width = random.randrange(max(labels, groups), 12), random.randrange(1, 6)
    column = lambda n: tuple(random.randrange(n) for _ in range(height))  # noqa: E731
    covering = lambda n: tuple(random.sample([*range(n), *column(n)][:height], height))  # noqa: E731
    density = random.choice((0.2, 0.5, 0.5, 0.8))
    return oracle.Table(
        rows=tuple(
            tuple(int(random.random() < density) for _ in range(width)) for _ in range(height)
        ),
        y=covering(labels),
        z=covering(groups) if groups else None,
        weights=random.choice(
            (None, None, tuple(random.choice((0, 1, 1, 2, 5)) for _ in range(height)))
        ),
        references=(("old", column(labels)),) if random.random() < 0.3 else (),
        positive=None if labels == 2 else random.choice((None, 0, 1, 2)),
    )


def a_space(random: Random, table: oracle.Table) -> oracle.Space:
    """Draw a space of few trees."""
    space = oracle.Space(
        max_depth=random.choice((0, 1, 2, 2, 3, 3)),
        minsup=min(random.choice((0, 1, 1, 2, 3)), table.total),
        relminsup=random.choice((None, None, None, Fraction(1, 10), Fraction(3, 10))),
        max_size=random.choice((None, None, None, 2, 3, 4, 5)),
        labels=random.choice(("any", "any", "majority")),
        trivial_splits=random.random() < 0.7,
        min_leaf_share=random.choice((Fraction(0),) * 3 + (Fraction(2, 5), Fraction(3, 4))),
    )
    every = list(range(len(table.rows))), list(range(table.n_features))
    while space.max_depth and number_of_trees(table, space, space.max_depth, *every) > MOST_TREES:
        space = oracle.Space(space.max_depth - 1, space.minsup, labels=space.labels)
    return space


def a_term(random: Random, names: list[str], height: int = 1) -> str:
    """Write a term that Python reads alike."""
    kind = random.randrange(7) if height else random.randrange(2)
    if kind < 4:
        number = random.choice(("0", "1", "2", "3", "5", "0.25", "0.5", "0.8", "1.0"))
        return random.choice(names) if kind != 1 else number
    if kind == 4:
        return f"abs({a_term(random, names, 0)} - {a_term(random, names, 0)})"
    left, right = a_term(random, names, 0), a_term(random, names, 0)
    if kind == 5:
        return f"{random.choice(('min', 'max'))}({left}, {right})"
    return f"({left} {random.choice('+-*/')} {right})"


def a_formula(random: Random, names: list[str], height: int = 2) -> str:
    """Write a formula that Python reads alike."""
    kind = random.randrange(6) if height else 0
    if kind < 3:
        links = random.choice((1, 1, 1, 2))
        more = [f" {random.choice(RELATIONS)} {a_term(random, names)}" for _ in range(links)]
        return a_term(random, names) + "".join(more)
    if kind == 3:
        return f"not ({a_formula(random, names, height - 1)})"
    joined = random.choice((" and ", " and ", " or "))
    return joined.join(f"({a_formula(random, names, height - 1)})" for _ in range(2))


def generate(random: Random) -> list[Question]:
    """Make questions on one table and space."""
    table = a_table(random)
    while not table.total:
        table = a_table(random)
    space, names = a_space(random, table), oracle.metric_names(table)
    names = names + [n for n in names if n[0] != "N"] * 3
    return [
        (
            table, space, a_formula(random, names) if i else None, random.choice(names),
            random.random() < 0.5, random.choice(WAYS),
        )
        for i in range(QUESTIONS)
    ]  # fmt: skip


def prepare(folder: Path) -> Trial:
    """Make the trial."""

    def call(questions: list[Question]) -> int:
        for question in questions:
            _compare(question)
        return len(questions)

    return Trial(generate, call)


def _compare(question: Question) -> None:
    table, space, where, objective, least, way = question
    holds = None if where is None else oracle.constraint(where)
    good = oracle.good_trees(table, space, holds)
    data, asked = data_of(table), space_of(space)
    _same("count", int(adtc.count(data, asked, where, **way)), len(good))
    choose, side = (min, "minimize") if least else (max, "maximize")
    best = adtc.optimize(data, asked, **{side: objective}, where=where, **way)
    _same(f"{side} {objective}", best.value, oracle.best(table, space, objective, choose, holds))
    if best.tree is not None and plain(best.tree) not in dict(good):
        raise WrongError("the tree shown is not good")
    if good:
        counts = np.zeros((len(table.rows), table.n_labels), int)
        for tree, _ in good:
            for r, row in enumerate(table.rows):
                counts[r, oracle.predict(tree, row)] += 1
        profile = adtc.profile(data, asked, ["error", "size"], where=where)
        with suppress(QueryError):  # trees told apart by depth have no circuit that votes
            _same("votes", votes_of(profile).counts.tolist(), counts.tolist())


def _same(what: str, ours: object, theirs: object) -> None:
    if ours != theirs:
        raise WrongError(f"{what}: {ours}, but the oracle says {theirs}")

"""The routes of the panels: people, variables, the builder, the test set.

They may take a while, so none holds up the landscape: they wait for each other alone.
"""

from typing import Any

from adtc.dashboard.asking import MOST_BINS, Query
from adtc.dashboard.building import Best
from adtc.dashboard.generalizing import Further
from adtc.dashboard.people import MOST_ROWS, SORTS, Listing
from adtc.dashboard.session import Session
from adtc.errors import QueryError
from adtc.show import words

MOST_SEED = 2**63 - 1
_PAGE = 100


def people(session: Session, query: Query) -> Any:
    """Answer how the trees vote, over everybody and by group."""
    where = query.formula(session.profile)
    return session.people.summary(where)


def rows(session: Session, query: Query) -> Any:
    """Answer with some of the people in order."""
    where, listing = query.formula(session.profile), _listing(session, query)
    start, n = query.integer("start", 0, None, 0), query.integer("n", 1, MOST_ROWS, _PAGE)
    return session.people.listed(where, listing, start, n)


def person(session: Session, query: Query) -> Any:
    """Answer with one person, and trees that decide on either side."""
    where, row = query.formula(session.profile), query.integer("row", 0, None)
    seed = query.integer("seed", 0, MOST_SEED, 0)
    return session.people.person(where, row, seed)


def variables(session: Session, query: Query) -> Any:
    """Answer which variables the trees need and use."""
    where = query.formula(session.profile)
    return session.variables.view(where)


def reliance(session: Session, query: Query) -> Any:
    """Answer how far the reliance on each variable is computed."""
    where = query.formula(session.profile)
    return session.variables.reliance(where)


def builder(session: Session, query: Query) -> Any:
    """Answer how a tree can go on."""
    where, steps = query.formula(session.profile), query.steps()
    return session.building.view(where, steps, query.address("at"), _best(session, query))


def complete(session: Session, query: Query) -> Any:
    """Answer with the rank of a tree that goes on so: drawn with a seed, or the best."""
    where, steps = query.formula(session.profile), query.steps()
    seed = query.maybe("seed", lambda name: query.integer(name, 0, MOST_SEED))
    return session.building.complete(where, steps, seed, _best(session, query))


def further(session: Session, query: Query) -> Any:
    """Answer how the trees do on a further table."""
    asked, limit = _further(session, query), query.number("limit", "0")
    return session.generalizing.view(asked, limit)


def further_tree(session: Session, query: Query) -> Any:
    """Answer with the rank of a tree from a cell of train against test."""
    asked, cell, seed = (
        _further(session, query),
        query.cell(),
        query.integer("seed", 0, MOST_SEED, 0),
    )
    if cell is None:
        raise QueryError("the parameter 'cell' is missing; give two positions such as 3,5.")
    return session.generalizing.tree(asked, cell, seed)


def _listing(session: Session, query: Query) -> Listing:
    known = session.people.baselines
    sort = query.one_of("sort", SORTS, "contested")
    baseline = query.maybe("baseline", lambda name: query.one_of(name, known))
    if sort == "conflict" and baseline is None:
        raise QueryError(
            "conflict is with decisions that already stand: name their column (baseline=...), "
            + (f"one of {', '.join(known)}." if known else "of which this table has none.")
        )
    return Listing(sort, query.flag("rising"), query.text("group"), baseline)


def _best(session: Session, query: Query) -> Best | None:
    name = query.maybe("by", lambda name: query.metric(name, session.profile))
    goal = None if name is None else words.goal_of(name)
    if name is not None and goal is None:
        raise QueryError(
            f"it is not known whether more or less '{name}' is better: take another metric."
        )
    return None if name is None or goal is None else Best(name, goal)


def _further(session: Session, query: Query) -> Further:
    tables = session.generalizing.tables
    if not tables:
        raise QueryError(
            "this profile knows no further table: add one (data.with_table, --test), and ask for "
            "a metric on both, such as acc and test.acc."
        )
    table = query.one_of("table", list(tables), next(iter(tables)))
    metric = query.one_of("metric", tables[table], tables[table][0])
    where, bins = query.formula(session.profile), query.integer("bins", 1, MOST_BINS, 10)
    return Further(where, table, metric, bins)

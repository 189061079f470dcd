"""Cases written down once: data, query and expected answer, each in one file under golden/.

``data`` is a table as lines of words, the first line naming the columns: y true labels, z groups,
w weights, ref:NAME a reference, anything else a feature. ``query`` holds the space and what is
asked: ``metrics`` (a tensor), ``semiring`` with ``aggregation`` (one value), or else a count.
"""

import math
import tomllib
from fractions import Fraction
from pathlib import Path

import pytest

import adtc
import oracle
from test_agreement import ENGINES, data_of, space_of

FILES = sorted((Path(__file__).parent / "golden").glob("*.toml"))
SPACE = ("max_depth", "minsup", "relminsup", "max_size", "labels", "trivial_splits")
ASKED = ("metrics", "where", "semiring", "aggregation", "positive")


def read_table(lines, positive=None):
    names, *rows = (line.split() for line in lines)
    columns = {name: tuple(int(row[c]) for row in rows) for c, name in enumerate(names)}
    special = {name for name in names if name in ("y", "z", "w") or name.startswith("ref:")}
    features = [columns[name] for name in names if name not in special]
    return oracle.Table(
        rows=tuple(zip(*features, strict=True)),
        y=columns["y"],
        z=columns.get("z"),
        weights=columns.get("w"),
        references=tuple(
            (name.removeprefix("ref:"), columns[name]) for name in names if name[:4] == "ref:"
        ),
        positive=positive,
    )


def read_space(query):
    options = {name: query[name] for name in SPACE if name in query}
    if "relminsup" in options:
        options["relminsup"] = Fraction(str(options["relminsup"]))
    return oracle.Space(**options)


def read_index(text):
    return tuple(None if part == "undefined" else Fraction(part) for part in text.split(","))


@pytest.fixture(params=FILES, ids=lambda path: path.stem)
def case(request):
    """Read one file: the table, the space, the query, and the expected answer."""
    golden = tomllib.loads(request.param.read_text(encoding="utf-8"))
    query, expect = golden["query"], golden["expect"]
    assert set(golden) == {"data", "query", "expect"}
    assert set(query) <= {*SPACE, *ASKED}
    if isinstance(expect, dict):
        expect = {read_index(index): count for index, count in expect.items()}
    return read_table(golden["data"], query.get("positive")), read_space(query), query, expect


def test_oracle(case):
    table, space, query, expect = case
    where = oracle.constraint(query["where"]) if "where" in query else None
    good = oracle.good_trees(table, space, where)
    if "metrics" in query:
        answer = oracle.model_tensor(table, space, query["metrics"], where)
    elif query.get("semiring") == "boolean":
        answer = bool(good)
    elif query.get("semiring") == "min-plus":
        cost = oracle.term(query["aggregation"])
        answer = min((cost(m) for _, m in good), default=math.inf)
    else:
        assert "semiring" not in query
        answer = len(good)
    assert answer == expect


@pytest.mark.parametrize("engine", ENGINES, ids=str)
def test_engine(case, engine):
    table, space, query, expect = case
    given, where = (data_of(table), space_of(space)), query.get("where")
    if "metrics" in query:
        answer = dict(adtc.model_tensor(*given, query["metrics"], where=where, **engine))
    elif "semiring" in query:
        aggregation = query.get("aggregation")
        answer = adtc.evaluate(
            *given, query["semiring"], aggregation=aggregation, where=where, **engine
        )
    else:
        answer = adtc.count(*given, where=where, **engine)
    assert answer == expect


def test_there_are_cases():
    assert len(FILES) >= 30

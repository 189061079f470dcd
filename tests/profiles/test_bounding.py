"""Coarse axes: every bracket holds the number that the oracle counts; tiny steps are exact."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import adtc
import oracle
from adtc.engine.plan.coarse import coarsened
from adtc.engine.query import ask
from adtc.errors import QueryError
from test_agreement import questions

DATA = adtc.load_dataset("german-credit", nbins=2)
SPACE = adtc.Space(max_depth=3, relminsup=0.2)
EDGES = [0, 0.3, 0.5, 0.8, 1]


def counted(good, x: str, y: str, cell) -> int:
    """Count listed trees in a cell of two bins."""

    def within(value, one) -> bool:
        if value is None or one.kind == "undefined":
            return value is None and one.kind == "undefined"
        if one.kind == "above":
            return value > one.low
        if one.kind == "range" and value < one.low:
            return False
        return value <= one.high if one.closed else value < one.high

    return sum(within(m[x], cell[0]) and within(m[y], cell[1]) for _, m in good)


@settings(max_examples=50)
@given(questions(labels=(2,)), st.sampled_from([0.001, 0.5, 1, 2, 5]), st.data())
def test_brackets_hold_what_the_oracle_counts(question, width, drawn):
    if question.where is not None and ("support" in question.where or "depth" in question.where):
        return
    data, space = question.given
    names = [
        name for name in oracle.metric_names(question.table) if name not in ("depth", "support")
    ]
    metrics = drawn.draw(st.lists(st.sampled_from(names), min_size=2, max_size=2))
    found = adtc.bound(data, space, metrics, where=question.where, width=width)
    good = question.good()
    assert len(good) in found.count
    table = found.crosstab(*metrics, bins=(EDGES, [-1, 0, 1, 2, 4]))
    for x, row in zip(table.x_bins, table.cells, strict=True):
        for y, cell in zip(table.y_bins, row, strict=True):
            assert counted(good, *metrics, (x, y)) in cell
    every = sum(counted(good, *metrics, (x, y)) for x in table.x_bins for y in table.y_bins)
    assert every == len(good)  # each tree has its place, outside of the edges and undefined, too
    if width == 0.001:
        assert found.status == "exact"
        assert all(cell.status == "exact" for row in table.cells for cell in row)


@pytest.mark.parametrize("where", [None, "acc >= 0.7", "acc >= 0.7 and dp <= 0.05", "f1 >= 0.7"])
@pytest.mark.parametrize("width", [0.01, 1, 4, 20])
def test_brackets_hold_the_exact_table(width, where):
    metrics, bins = ["size", "acc", "dp", "f1"], ([0.5, 0.7, 0.75, 0.8], [0, 0.05, 0.1, 1])
    exact = adtc.profile(DATA, SPACE, metrics, where=where)
    found = adtc.bound(DATA, SPACE, metrics, where=where, width=width)
    assert exact.count in found.count
    table = found.crosstab("acc", "dp", bins=bins)
    for x, row in zip(table.x_bins, table.cells, strict=True):
        for y, cell in zip(table.y_bins, row, strict=True):
            conditions = [x.condition("acc"), y.condition("dp")]
            assert exact.where(" and ".join(conditions)).count in cell


@pytest.mark.parametrize("difference", ["N01 - N10", "N10 - N01"])
def test_the_ends_of_a_difference_are_taken_crosswise(difference):
    exact = adtc.profile(DATA, SPACE, [difference]).marginal(difference).values
    found = adtc.bound(DATA, SPACE, ["N01", "N10", difference], width=16)
    assert found.width == 16
    low, high = found.ends(difference)
    assert low <= min(exact) <= max(exact) <= high


def test_larger_steps_make_fewer_cells_and_wider_brackets():
    found = [adtc.bound(DATA, SPACE, ["size", "acc", "dp"], width=w) for w in (0.01, 4, 64)]
    cells = [len(one.trees) for one in found]
    assert cells[0] > cells[1] > cells[2]
    bins = [0.5, 0.7, 0.8], [0, 0.05, 1]
    tables = [one.crosstab("acc", "dp", bins=bins) for one in found]
    widths = [sum(c.upper - c.lower for row in table.cells for c in row) for table in tables]
    assert widths[0] == 0 < widths[1] < widths[2]
    assert [one.status for one in found] == ["exact", "bounded", "bounded"]
    assert ".." in str(tables[2])


def test_budgets_stay_exact():
    where = "acc >= 0.7 and dp <= 0.05"
    found = adtc.bound(DATA, SPACE, ["size", "acc", "dp"], where=where, width=50)
    assert int(found.count) == adtc.count(DATA, SPACE, where=where)


def test_axes_of_budgets_and_the_number_of_leaves_have_steps_of_one():
    from adtc.algebra.semirings import COUNT

    asked = ask(DATA, SPACE, semiring=COUNT, metrics=["size", "f1"], where="acc >= 0.7")
    coarse = coarsened(asked, 7)
    exact = [
        axis.form.name for axis, w in zip(coarse.plan.axes, coarse.widths, strict=True) if w == 1
    ]
    assert "size" in exact
    assert len(exact) == 2
    assert max(coarse.widths) == 7


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"width": 0}, "width is 0, expected a number of rows above 0"),
        ({"where": "depth = 2"}, "axes are coarsened by the fast engine"),
    ],
)
def test_what_cannot_be_bounded_gets_one_sentence(options, sentence):
    with pytest.raises(QueryError, match=sentence):
        adtc.bound(DATA, SPACE, ["acc"], **options)


def test_a_metric_that_was_not_asked_for():
    found = adtc.bound(DATA, SPACE, ["acc"], width=5)
    with pytest.raises(QueryError, match="unknown metric 'dp'"):
        found.range("dp")

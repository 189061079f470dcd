"""A cross-table counts every tree once, in the cell whose formula selects it."""

import csv
import sys
from fractions import Fraction
from itertools import pairwise
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import adtc
from adtc.engine.exact.columns import Ratios
from adtc.profiles.bins import Bin, Bins, make_bins
from adtc.profiles.crosstab import Crosstab, crosstab
from adtc.profiles.writing import places_for, scientific
from strategies import problems

NAMES = ["size", "error", "acc", "precision", "f1", "dp"]
FEW = st.integers(1, 6)
EDGES = st.lists(st.fractions(-1, 8, max_denominator=12), min_size=2, max_size=5, unique=True).map(
    sorted
)
AXIS = FEW | EDGES | st.just("values")


def profile_of(problem):
    table, space = problem
    data = adtc.Data.from_arrays(table.rows, table.y, z=table.z, weights=table.weights)
    space = adtc.Space(
        max_depth=space.max_depth,
        minsup=space.support(table),
        max_size=space.max_size,
        labels=space.labels,
        trivial_splits=space.trivial_splits,
    )
    names = NAMES[: 6 if table.z else 5]
    return adtc.profile(data, space, names)


PROFILES = problems(labels=(2,), groups=(2, 0)).map(profile_of)


def small(**options):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (60, 4))
    data = adtc.Data.from_arrays(X, X[:, 0] ^ (rng.random(60) < 0.2), z=rng.integers(0, 2, 60))
    return adtc.profile(data, adtc.Space(max_depth=2), [*NAMES, "error / size"], **options)


@given(PROFILES, st.data())
@settings(max_examples=30)
def test_every_table_holds_every_tree_once_where_its_formula_says(profile, data):
    x, y = (data.draw(st.sampled_from(profile.names)) for _ in range(2))
    bins = data.draw(st.tuples(AXIS, AXIS))
    round_edges = data.draw(st.booleans())
    table = profile.crosstab(x, y, bins=bins, round_edges=round_edges)
    assert table.total == profile.count == sum(table.x_totals) == sum(table.y_totals)
    assert len(table.counts) == len(table.x_bins)
    for i, row in enumerate(table.counts):
        assert len(row) == len(table.y_bins)
        for j, n in enumerate(row):
            assert table.select(i, j).count == n
            kinds = table.x_bins[i].kind, table.y_bins[j].kind
            if "undefined" not in kinds and (n or (i + j) % 3 == 0):  # formulas take their time
                assert profile.where(table.cell(i, j)).count == n


@given(PROFILES, st.data())
@settings(max_examples=40)
def test_a_profile_that_is_read_in_parts_says_the_same(profile, data):
    terms = st.sampled_from([*profile.names, "error - least(error)", "largest(size) - size"])
    x, y, bins = data.draw(terms), data.draw(terms), data.draw(st.tuples(AXIS, AXIS))
    where = data.draw(st.sampled_from([None, "error <= 1.5 * least(error) + 1", "precision > 0.4"]))

    def told(found):
        table = found.crosstab(x, y, bins=bins, where=where)
        means = [found.moments(x, exact=False).mean, found.moments(y, exact=False).mean]
        near = [None if mean is None else round(mean, 9) for mean in means]
        return table.x_bins, table.y_bins, table.counts, found.num_cells, near

    whole = told(profile)
    with mock.patch.object(sys.modules[adtc.Profile.__module__], "_PART", 2):
        assert told(profile.project(*profile.names)) == whole


@given(PROFILES, st.sampled_from(["all", "x", "y"]))
@settings(max_examples=20)
def test_shares_sum_to_one(profile, of):
    table = profile.crosstab("size", "acc", bins=3)
    rows = table.shares(of)
    columns = [list(column) for column in zip(*rows, strict=True)]
    lines = {"all": [[s for row in rows for s in row]], "x": rows, "y": columns}[of]
    for line in lines:
        if None in line:
            assert set(line) == {None}
        else:
            assert sum(line) == 1


def test_equal_width_bins_reach_from_the_least_to_the_largest_value():
    profile = small()
    table = profile.crosstab("acc", "dp", bins=(4, 7))
    values = [v for v in profile.values("acc").distinct if v is not None]
    edges = table.x_bins.edges
    assert (edges[0], edges[-1]) == (values[0], values[-1])
    assert {b - a for a, b in pairwise(edges)} == {(edges[4] - edges[0]) / 4}
    assert len(table.x_bins) == 4
    assert len(table.y_bins) == 7


def test_round_edges_are_multiples_of_a_round_step():
    table = small().crosstab("acc", "dp", bins=10, round_edges=True)
    edges = table.x_bins.edges
    step = edges[1] - edges[0]
    assert step in {Fraction(s) for s in ("0.05", "0.1", "0.2", "0.025", "0.5", "0.25")}
    assert all((edge / step).denominator == 1 for edge in edges)
    assert len(edges) <= 11


def test_whole_numbers_keep_a_bin_each_even_where_none_occurs():
    profile = small().where("size != 3")
    assert profile.crosstab("size", "acc").x_bins.values == (1, 2, 3, 4)
    assert profile.crosstab("size", "acc").x_totals[2] == 0
    assert profile.crosstab("size", "acc", bins="values").x_bins.values == (1, 2, 4)


def test_edges_are_exact_and_the_last_bin_is_closed():
    column = Ratios(np.array([1, 2, 3, 10, 0, 5]), np.array([10, 10, 10, 10, 0, 10]))
    bins, (codes,) = make_bins("share", [column], [0.1, 0.2, "0.3", Fraction(1, 2)])
    assert [b.kind for b in bins] == ["range", "range", "range", "above", "undefined"]
    assert codes.tolist() == [0, 1, 2, 3, 4, 2]
    assert bins[2].condition("share") == "share >= 0.3 and share <= 0.5"


def test_values_that_floats_confuse_with_an_edge_are_placed_exactly():
    big = 10**17
    edge = Fraction(big, big + 1)
    tops, bottoms = [big - 1, big, big + 1], [big, big + 1, big + 2]
    column = Ratios(np.array(tops), np.array(bottoms))
    assert len({a / b for a, b in zip(tops, bottoms, strict=True)}) == 1
    _, (codes,) = make_bins("near", [column], [0, edge, 1])
    assert codes.tolist() == [0, 1, 1]


def test_thirds_have_formulas_that_select_them():
    assert Bin("value", Fraction(1, 3), Fraction(1, 3)).condition("acc") == "acc = (1/3)"
    profile = small()
    table = profile.crosstab("acc", "size", bins=([Fraction(1, 3), Fraction(2, 3)], "values"))
    assert table.x_bins[0].kind == "below"
    assert profile.where(table.cell(1, 1)).count == table.counts[1][1]


def test_where_is_part_of_the_table_and_of_its_formulas():
    profile = small()
    table = profile.crosstab("acc", "size", bins=3, where="dp <= 0.1 or size = 1")
    assert table.total == profile.where("dp <= 0.1 or size = 1").count < profile.count
    assert all(
        profile.where(table.cell(i, j)).count == n
        for i, row in enumerate(table.counts)
        for j, n in enumerate(row)
    )


def test_terms_can_be_axes():
    profile = small()
    table = profile.crosstab("error + 2 * size", "error / size", bins=4)
    assert table.total == profile.count
    assert profile.where(table.cell(2, 2)).count == table.counts[2][2]


def test_undefined_is_last_and_has_no_formula():
    table = small().crosstab("precision", "acc", bins=2)
    assert table.x_bins.undefined
    assert table.x_bins.labels[-1] == "undefined"
    assert table.x_totals[-1] > 0
    with pytest.raises(adtc.ADTCError, match=r"undefined satisfies none; use select"):
        table.cell(len(table.x_bins) - 1, 0)


def test_all_values_undefined_leave_one_bin():
    profile = small()
    undefined = profile.crosstab("precision", "size")
    last = undefined.select(len(undefined.x_bins) - 1, 0)
    table = last.crosstab("precision", "size")
    assert [b.kind for b in table.x_bins] == ["undefined"]
    assert table.total == last.count > 0
    assert table.x_bins.to_json()["edges" if table.x_bins.edges else "values"] == []


def test_an_empty_profile_is_an_answer():
    nothing = small().where("acc > 1")
    table = nothing.crosstab("acc", "dp")
    assert (table.total, table.counts) == (0, ())
    assert str(table) == "acc by dp: no tree"
    given_edges = nothing.crosstab("acc", "dp", bins=[0, 0.5, 1])
    assert given_edges.counts == ((0, 0), (0, 0))
    assert given_edges.shares() == ((None, None), (None, None))
    assert nothing.crosstab("size", "size", bins="values").counts == ()


@pytest.mark.parametrize(
    ("bins", "sentence"),
    [
        (0, "bins is 0, expected a whole number from 1 to 1,000"),
        (-3, "bins is -3, expected"),
        (1001, "bins is 1001, expected"),
        ((4, 0), "bins is 0, expected"),
        ([0.5], "bins has 1 edges, expected at least two"),
        ([], "bins has 0 edges"),
        ([0.5, 0.5], "must ascend, but 1/2 comes before 1/2"),
        ([0.1, 0.9, 0.5], "must ascend, but 9/10 comes before 1/2"),
        ([0, float("nan")], "expected a number of bins, a list of edges"),
        ([0, "x"], "expected a number of bins, a list of edges"),
        ([0, "1/0"], "expected a number of bins, a list of edges"),
        (2.5, "expected a number of bins, a list of edges"),
        (True, "expected a number of bins, a list of edges"),
        ("many", "bins is 'many', expected"),
    ],
)
def test_bins_that_make_no_sense(bins, sentence):
    with pytest.raises(adtc.ADTCError, match=sentence):
        small().crosstab("acc", "size", bins=bins)


def test_other_mistakes_are_named():
    profile = small()
    with pytest.raises(adtc.ADTCError, match=r"unknown metric 'bacc'.*Known metrics"):
        profile.crosstab("acc", "bacc")
    table = profile.crosstab("acc", "size", bins=3)
    with pytest.raises(adtc.ADTCError, match=r"no cell \(3, 0\): the table has 3 bins of acc"):
        table.cell(3, 0)
    with pytest.raises(adtc.ADTCError, match=r"no cell \(-1, 0\)"):
        table.select(-1, 0)
    with pytest.raises(adtc.ADTCError, match=r"expected 'all', 'x' or 'y'"):
        table.shares("z")
    with pytest.raises(adtc.ADTCError, match="made without a profile"):
        Crosstab(table.x_bins, table.y_bins, table.counts).select(0, 0)


def test_one_bin_per_value_has_a_limit():
    column = Ratios(np.arange(1001), np.ones(1001, np.int64))
    with pytest.raises(adtc.ADTCError, match=r"'n' has 1,001 values.*give a number of bins"):
        make_bins("n", [column], "values")


def table_of(count):
    half = (
        Bin("range", Fraction(0), Fraction(1, 2)),
        Bin("range", Fraction(1, 2), Fraction(1), True),
    )
    values = Bin("value", Fraction(2), Fraction(2), True), Bin("undefined")
    return Crosstab(Bins("acc", half), Bins("a<b", values), ((count, 0), (1, 2)))


def test_text_is_aligned_and_exact_with_twenty_digits():
    text = table_of(12_345_678_901_234_567_890).to_text()
    assert text == (
        "acc \\ a<b                            2  undefined                         all\n"
        "[0.0, 0.5)  12,345,678,901,234,567,890          0  12,345,678,901,234,567,890\n"
        "[0.5, 1.0]                           1          2                           3\n"
        "all         12,345,678,901,234,567,891          2  12,345,678,901,234,567,893"
    )
    assert "1.23e19" in table_of(12_345_678_901_234_567_890).to_text(shorten=True)
    assert len(table_of(10**200).to_text(shorten=True).splitlines()[0]) < 60
    assert "1.00e200" in str(table_of(10**200))


def test_html_names_rows_and_columns_and_escapes():
    html = table_of(1000).to_html()
    assert html.count('scope="row"') == 3
    assert html.count('scope="col"') == 4
    assert "a&lt;b" in html
    assert "a<b" not in html
    assert "<td>1,000</td>" in html


def test_json_holds_bins_and_counts():
    json = table_of(10**25).to_json()
    assert json["counts"] == [[10**25, 0], [1, 2]]
    assert json["count"] == 10**25 + 3
    assert json["x"]["edges"] == [0, 0.5, 1]
    assert json["y"]["values"] == [2]
    assert json["y"]["kinds"] == ["value", "undefined"]
    assert len(json["y"]["bins"]) == 2


def test_csv_holds_the_counts_in_full(tmp_path):
    table_of(10**25).to_csv(tmp_path / "table.csv")
    with (tmp_path / "table.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))
    assert rows[1] == ["[0.0, 0.5)", str(10**25), "0"]
    assert [path.name for path in tmp_path.iterdir()] == ["table.csv"]


def test_large_tables_need_no_loop_over_cells():
    rng = np.random.default_rng(1)
    n = 10**6
    top = rng.integers(0, 10**6, n)
    column = Ratios(top, np.full(n, 999_983))
    bins, (codes,) = make_bins("x", [column], 50)
    assert len(bins) == 50
    width = Fraction(int(top.max()) - int(top.min()), 50)
    place = ((top - top.min()) * width.denominator) // width.numerator
    assert np.array_equal(codes, np.minimum(place, 49))


def test_numbers_are_rounded_exactly():
    assert scientific(10**50 - 1, 3) == ("1.00", 50)
    assert scientific(7, 1) == ("7", 0)
    assert places_for([Fraction(1, 10**9), Fraction(2, 10**9)]) == 9
    assert places_for([]) == 0


def test_function_and_method_agree():
    profile = small()
    by_function, by_method = crosstab(profile, "acc", "dp"), profile.crosstab("acc", "dp")
    assert by_function.counts == by_method.counts


def test_a_list_of_two_lists_is_a_pair():
    edges = [1, 2, 3], [0, 0.5, 1]
    data = adtc.load_dataset("german-credit", nbins=2)
    made = adtc.profile(data, adtc.Space(max_depth=1, relminsup=0.2), ["size", "acc"])
    one, two = (made.crosstab("size", "acc", bins=bins) for bins in (list(edges), edges))
    assert (one.x_bins, one.y_bins, one.counts) == (two.x_bins, two.y_bins, two.counts)

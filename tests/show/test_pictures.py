"""Pictures: what they show is tested as plain values, and every kind is drawn once to memory."""

import sys
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

import adtc
from adtc.profiles.bins import Bin, Bins
from adtc.profiles.crosstab import Crosstab
from adtc.profiles.curves import Optimum, PenaltyCurve, ToleranceCurve
from adtc.profiles.marginals import Marginal
from adtc.profiles.multiplicity import MultiplicityCurve
from adtc.show import plot
from adtc.show.charts import front_data, marginal_data, penalty_data, tolerance_data
from adtc.show.heatmap import (
    GAP,
    Tick,
    axis_data,
    difference_data,
    heatmap_data,
    mesh_shades,
    thinned,
)
from adtc.show.painting import free_place, step_path
from adtc.show.ranges import loss_data, range_data
from adtc.show.style import compact, count_forms, fitted, ink_on, log_ticks, measure

pytest.importorskip("matplotlib")


def ranges(name, n, *, undefined=False, outside=False):
    edges = [Fraction(i, n) for i in range(n + 1)]
    bins = [Bin("range", edges[i], edges[i + 1], i == n - 1) for i in range(n)]
    if outside:
        bins = [Bin("below", None, edges[0]), *bins, Bin("above", edges[-1])]
    return Bins(name, (*bins, Bin("undefined")) if undefined else tuple(bins))


def table_of(x, y, count=lambda i, j: (i * j) ** 3):
    rows = [[count(i, j) for j in range(len(y))] for i in range(len(x))]
    return Crosstab(x, y, tuple(map(tuple, rows)))


@pytest.fixture(scope="module")
def profile():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (60, 4))
    data = adtc.Data.from_arrays(X, X[:, 0] ^ (rng.random(60) < 0.2), z=rng.integers(0, 2, 60))
    names = ["size", "error", "acc", "precision", "dp"]
    return adtc.profile(data, adtc.Space(max_depth=2), names)


# --- what is shown ----------------------------------------------------------------------------


def test_bins_that_stand_apart_have_a_gap():
    axis = axis_data(ranges("acc", 2, undefined=True, outside=True), total=True)
    assert axis.starts == pytest.approx((0, 1 + GAP, 2 + GAP, 3 + 2 * GAP, 4 + 3 * GAP))
    assert axis.total == pytest.approx(5 + 4 * GAP)
    assert [tick.label for tick in axis.ticks if tick.stays] == [
        "< 0.0",
        "> 1.0",
        "undefined",
        "all",
    ]
    assert [tick.label for tick in axis.ticks if not tick.stays] == ["0.0", "0.5", "1.0"]
    assert len(axis.blocks) == 5


def test_shades_are_logarithms_of_counts_of_any_size():
    table = table_of(
        ranges("x", 2), ranges("y", 2), lambda i, j: 0 if i == j == 0 else 10**300 * i + j
    )
    data = heatmap_data(table)
    assert data.shades[0][0] is None
    assert data.shades[1][0] == 0
    assert data.shades[0][1] == data.shades[1][1] == pytest.approx(300)
    assert data.limits == pytest.approx((0, 300))
    assert data.texts[0][0][0] == ""
    _, _, grid = mesh_shades(data)
    assert np.isnan(grid[0, 0])
    assert grid[1, 0] == 0


def test_gaps_are_part_of_the_mesh():
    data = heatmap_data(
        table_of(ranges("x", 2, undefined=True), ranges("y", 1), lambda i, j: i + 1)
    )
    xs, ys, grid = mesh_shades(data)
    assert xs == pytest.approx([0, 1, 2, 2 + GAP, 3 + GAP])
    assert ys == [0, 1]
    assert np.isnan(grid[0, 2])
    assert grid[0, 3] == pytest.approx(np.log10(3))


def test_margins_hold_the_totals_in_every_form():
    table = table_of(ranges("x", 2), ranges("y", 3), lambda i, j: 10**9 + 1)
    data = heatmap_data(table, margins=True)
    assert data.x_totals[0] == ["3,000,000,003", "3,000,000,003", "6,000,000,006"]
    assert data.y_totals[0] == ["2,000,000,002"] * 3
    assert len(data.x_totals) == len(data.y_totals) == len(data.texts) == len(count_forms())


def test_a_front_lies_where_its_values_are(profile):
    front = profile.pareto(maximize="acc", minimize="dp")
    table = profile.crosstab("acc", "dp", bins=4)
    data = heatmap_data(table, front=front)
    assert len(data.line) == len(front)
    assert data.steps == "steps-pre"
    edges = table.x_bins.edges
    best = max(acc for acc, _ in front.points)
    assert data.line[-1][0] == pytest.approx(float(4 * (best - edges[0]) / (edges[4] - edges[0])))
    with pytest.raises(adtc.ADTCError, match="the cross-table shows 'size'"):
        heatmap_data(profile.crosstab("acc", "size"), front=front)


def test_differences_are_percentage_points_and_tell_empty_from_equal(profile):
    whole = profile.minus(profile)
    data = difference_data(whole.crosstab("size", "acc", bins=("values", [-1, 0, 0.5, 1])))
    assert data.shades[0] == [None] * 4
    assert {shade for row in data.shades[1:] for shade in row} == {0.0}
    kept = profile.minus(profile.where("size <= 2"))
    data = difference_data(kept.crosstab("size", "acc", bins=("values", [0, 1])))
    share = profile.where("size = 4").count / profile.count
    assert data.shades[0][3] == pytest.approx(100 * share)
    assert data.limits[0] == -data.limits[1]
    assert data.texts[0][0][3] == f"+{100 * share:.1f}"


@pytest.mark.parametrize(("unit", "kept"), [(30, 11), (15, 6), (4, 3), (2.5, 2), (0.5, 1)])
def test_labels_are_thinned_until_none_touch(unit, kept):
    ticks = [Tick(float(i), f"{i / 10:.1f}") for i in range(11)]
    found = thinned(ticks, lambda tick: 20.0, unit)
    assert len(found) == kept
    gaps = [b.place - a.place for a, b in pairwise(found)]
    assert all(gap * unit >= 20 for gap in gaps)


def test_labels_that_must_stay_push_others_out():
    ticks = [Tick(0.0, "0"), Tick(1.0, "1"), Tick(1.5, "undefined", stays=True)]
    assert [tick.label for tick in thinned(ticks, lambda tick: 20.0, 30)] == ["0", "undefined"]


@pytest.mark.parametrize(
    ("count", "digits", "text"),
    [
        (999, 1, "999"),
        (15_340, 3, "15.3k"),
        (15_340, 1, "15k"),
        (999_999, 3, "1.00M"),
        (999_999_999, 2, "1.0·10⁹"),
        (1_234_567, 2, "1.2M"),
        (12_345_678_901_234_567_890, 3, "1.23·10¹⁹"),
        (10**300, 1, "10³⁰⁰"),
        (2 * 10**20, 1, "2·10²⁰"),
    ],
)
def test_counts_in_few_characters(count, digits, text):
    assert compact(count, digits) == text


def test_every_form_of_a_large_count_is_shorter_than_the_one_before():
    lengths = [max(map(len, form(12 * 10**18).split("\n"))) for form in count_forms()]
    assert lengths == sorted(lengths, reverse=True)
    assert lengths[-1] == 4


def test_ink_has_contrast():
    assert ink_on((1, 1, 1)) == ink_on((1, 0.9, 0.2)) == "black"
    assert ink_on((0, 0, 0)) == ink_on((0.2, 0.1, 0.4)) == "white"


@pytest.mark.parametrize(("low", "high"), [(0, 0.1), (0, 300), (3.2, 3.3), (1.1, 2.9), (19, 19)])
def test_scales_have_one_to_six_different_ticks_inside(low, high):
    ticks = log_ticks(low, high)
    assert 1 <= len(ticks) <= 6
    assert all(low - 1e-6 <= place <= high + 1e-6 for place, _ in ticks)
    assert len({label for _, label in ticks}) == len(ticks)


def test_long_names_are_made_to_fit():
    text, size = fitted("agreement[" + "long_" * 30 + "]", 100, 7.0)
    assert measure(text, size)[0] <= 100
    assert "…" in text
    assert text.startswith("agree")


def test_numbers_make_way_for_the_front():
    line = step_path([(0.0, 0.5), (1.0, 0.55)], "steps-pre")
    assert line == [(0.0, 0.5), (0.0, 0.55), (1.0, 0.55)]
    assert free_place((0, 0), (0.4, 0.3), line)[1] != 0.5
    assert free_place((5, 5), (0.4, 0.3), line) == (0.5, 0.5)
    assert free_place((0, 0), (0.9, 0.99), line) is None
    assert free_place((0, 0), (0.9, 0.99), []) == (0.5, 0.5)


def test_the_cloud_of_a_front_is_in_its_view(profile):
    data = front_data(profile.pareto(maximize="acc", minimize="dp"))
    assert data.points == tuple(sorted(data.points))
    (left, right), (bottom, top) = data.view
    for x, y in (*data.points, *data.cloud):
        assert left - 1e-9 <= x <= right + 1e-9
        assert bottom - 1e-9 <= y <= top + 1e-9
    assert len(data.cloud) >= len(data.points)


def test_fronts_of_more_criteria_need_a_choice(profile):
    front = profile.pareto(maximize=["acc", "precision"], minimize="size")
    with pytest.raises(adtc.ADTCError, match="this front has 3: name two"):
        front_data(front)
    assert front_data(front, "acc", "size").goals == ("max", "min")
    with pytest.raises(adtc.ADTCError, match="no criterion 'dp'"):
        front_data(front, "acc", "dp")


def test_tolerance_in_per_cent():
    curve = ToleranceCurve(
        "error", 10, (Fraction(0), Fraction(1, 10), Fraction(1)), (1, 10, 10**40)
    )
    data = tolerance_data(curve)
    assert (data.xs, data.ys, data.end) == ((0, 10, 100), (0, 1, pytest.approx(40)), 100)
    assert tolerance_data(curve, "0.5").xs == (0, 10)
    with pytest.raises(adtc.ADTCError, match="expected a tolerance above 0"):
        tolerance_data(curve, 0)


def test_penalties_on_a_logarithmic_axis(profile):
    curve = profile.penalty_curve()
    pieces = penalty_data(curve)
    assert len(pieces) == len(curve.pieces)
    assert all(piece.low > 0 for piece in pieces)
    assert [piece.high for piece in pieces[:-1]] == [piece.low for piece in pieces[1:]]


def test_marginals_have_bars_or_bins():
    few = marginal_data(Marginal("size", (1, 2, 4, None), (5, 6, 7, 8)))
    assert few.undefined == 8
    assert few.labels == ("1", "2", "4")
    many = marginal_data(Marginal("n", tuple(range(1000)), (10**30,) * 1000))
    assert many.labels == ()
    assert sum(many.trees) == 1000 * 10**30
    assert many.trees[0] == many.trees[-1] == 25 * 10**30


# --- drawing ----------------------------------------------------------------------------------

HUGE = table_of(
    ranges("acc", 10),
    ranges("a_long_name + " * 5, 10, undefined=True),
    lambda i, j: 3 * 10 ** (2 * i + 1),
)
SHOWN = {
    "huge": (HUGE, {}),
    "bands": (
        table_of(ranges("x", 5, undefined=True, outside=True), ranges("y", 3, undefined=True)),
        {"margins": True, "title": "a title"},
    ),
    "one": (table_of(ranges("x", 1), ranges("y", 1), lambda i, j: 10**20), {}),
    "empty": (Crosstab(Bins("x", ()), Bins("y", ()), ()), {"margins": True}),
    "no tree": (table_of(ranges("x", 2), ranges("y", 2), lambda i, j: 0), {"margins": True}),
    "fine": (table_of(ranges("x", 120), ranges("y", 110), lambda i, j: i + j), {}),
    "marginal": (Marginal("precision", (0, Fraction(1, 3), None), (10**20, 1, 5)), {}),
    "one value": (Marginal("precision", (1,), (5,)), {}),
    "undefined": (Marginal("precision", (None,), (5,)), {}),
    "nothing": (Marginal("precision", (), ()), {}),
    "tolerance": (ToleranceCurve("error", 1, (Fraction(0), Fraction(1)), (1, 10**300)), {}),
    "no tolerance": (ToleranceCurve("error", None, (), ()), {}),
    "penalty": (
        PenaltyCurve(
            "error", "size", (Optimum(Fraction(0), None, 1, 5, 10**20),), ((1, 5, 10**20),)
        ),
        {},
    ),
    "multiplicity": (
        MultiplicityCurve("h0", "error", 1, (Fraction(0), Fraction(1)), (1, 9), *[(0, 1)] * 2),
        {},
    ),
    "no multiplicity": (MultiplicityCurve("h0", "error", None, (), (), (), ()), {}),
    "no penalty": (PenaltyCurve("error", "size", (), ()), {"title": "none"}),
}


@pytest.mark.parametrize("width", [3.3, 7])
@pytest.mark.parametrize("name", SHOWN)
def test_everything_can_be_drawn(name, width):
    thing, options = SHOWN[name]
    png = plot(thing, width=width, **options).to_bytes("png", dpi=60)
    assert png.startswith(b"\x89PNG")


def texts_of(picture):
    from matplotlib.text import Text

    picture.figure.draw_without_rendering()
    found = []
    for text in picture.figure.findobj(Text):
        if text.get_visible() and text.get_text().strip():
            found.append((text.get_text(), text.get_window_extent()))
    return found


@pytest.mark.parametrize("width", [3.3, 7])
@pytest.mark.parametrize("name", ["huge", "bands", "one", "fine"])
def test_no_texts_overlap_and_none_is_cut_off(name, width):
    thing, options = SHOWN[name]
    picture = plot(thing, width=width, **options)
    texts = texts_of(picture)
    whole = picture.figure.bbox
    assert len(texts) > 3
    for at, (text, box) in enumerate(texts):
        assert box.x0 >= whole.x0 - 1, text
        assert box.y0 >= whole.y0 - 1, text
        assert box.x1 <= whole.x1 + 1, text
        assert box.y1 <= whole.y1 + 1, text
        for other, around in texts[at + 1 :]:
            apart = box.x1 <= around.x0 + 0.5 or around.x1 <= box.x0 + 0.5
            apart |= box.y1 <= around.y0 + 0.5 or around.y1 <= box.y0 + 0.5
            assert apart, (text, other)


def test_twenty_digits_are_written_at_column_width():
    texts = [text for text, _ in texts_of(plot(HUGE, width=3.3))]
    assert "3.0·\n10¹⁹" in texts or "3·\n10¹⁹" in texts


def test_methods_draw_too(profile):
    front = profile.pareto(maximize="acc", minimize="dp")
    assert front.plot().figure is not None
    assert profile.crosstab("acc", "dp").plot(front=front, margins=True).figure is not None
    assert profile.minus(profile).crosstab("acc", "dp").plot().figure is not None
    assert profile.marginal("size").plot().figure is not None
    assert profile.where("acc > 1").pareto(maximize="acc", minimize="dp").plot().figure is not None


def test_axes_of_ones_own(profile):
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 3))
    left, right = figure.subplots(1, 2)
    picture = plot(profile.crosstab("acc", "dp", bins=4), ax=left)
    assert picture.figure is figure
    assert left.get_xlabel() == "acc"
    assert plot(profile.marginal("size"), ax=right).figure is figure


@pytest.mark.parametrize("suffix", ["png", "svg", "pdf"])
def test_the_same_picture_is_the_same_file(profile, tmp_path, suffix):
    for name in ("a", "b"):
        profile.crosstab("acc", "dp").plot().save(tmp_path / f"{name}.{suffix}")
    first, second = ((tmp_path / f"{name}.{suffix}").read_bytes() for name in ("a", "b"))
    assert first == second
    assert len(first) > 1000
    assert len(list(tmp_path.iterdir())) == 2


def test_mistakes_are_named(profile, tmp_path, monkeypatch):
    table = profile.crosstab("acc", "dp")
    with pytest.raises(adtc.ADTCError, match=r"ends in \.png, \.svg or \.pdf"):
        table.plot().save(tmp_path / "a.jpg")
    with pytest.raises(adtc.ADTCError, match=r"the folder '.*' does not exist"):
        table.plot().save(tmp_path / "no" / "a.png")
    with pytest.raises(adtc.ADTCError, match="no picture of a int"):
        plot(5)
    with pytest.raises(adtc.ADTCError, match="has no option 'colour'"):
        plot(table, colour="red")
    with pytest.raises(adtc.ADTCError, match="cannot be drawn"):
        plot(table, width=-1)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(adtc.ADTCError, match=r"pip install 'adtc\[plot\]'"):
        plot(table)


def test_reliance_shows_all_trees_inside_its_range():
    data = adtc.load_dataset("german-credit", nbins=2)
    space = adtc.Space(max_depth=2, relminsup=0.2)
    good = adtc.profile(data, space, ["error"], where="error <= 298")
    drawn = loss_data(good.reliance("checking_status"))
    assert round(sum(10**log for *_, log in drawn.points)) == good.count
    assert min(x for x, *_ in drawn.points) == pytest.approx(drawn.low)
    assert max(x for x, *_ in drawn.points) == pytest.approx(drawn.high)
    ranges = range_data(adtc.reliance(data, space, "error <= 298"))
    body = ranges.bodies[ranges.names.index("checking_status")]
    assert max(body) == 1
    assert body[0] > 0
    assert body[-1] > 0
    for thing in (good.reliance("checking_status"), adtc.reliance(data, space, "error < 0")):
        assert plot(thing).to_bytes("png", dpi=60).startswith(b"\x89PNG")

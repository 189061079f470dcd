"""Reliance on a variable: agreement with all pairs of rows, one by one, for every listed tree."""

import dataclasses
from collections import Counter
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import adtc
import oracle
from adtc.errors import QueryError
from adtc.profiles.reliance import reliance_range
from adtc.show.ranges import range_data
from strategies import problems
from test_agreement import ENGINES, data_of, plain, space_of

SMALL = {"max_rows": 6, "max_features": 3, "labels": (2, 3), "groups": (0, 2)}


def switched(tree, table, own):
    """Count the errors as they are, and over all pairs: the variable from row j, else row i."""
    rows = range(len(table.rows))
    error = sum(table.weight(i) for i in rows if oracle.predict(tree, table.rows[i]) != table.y[i])
    over_pairs = 0
    for i in rows:
        for j in rows:
            hybrid = tuple(table.rows[j if f in own else i][f] for f in range(table.n_features))
            if oracle.predict(tree, hybrid) != table.y[i]:
                over_pairs += table.weight(i) * table.weight(j)
    return error, over_pairs


def measured(tree, table, own):
    """Compute every variant by its definition; a row is no donor of its own but for lossless."""
    error, over_pairs = switched(tree, table, own)
    n = table.total
    original = Fraction(error, n)
    lossless = Fraction(over_pairs, n * n)
    others = None if n == 1 else Fraction(over_pairs - error, n * (n - 1))  # j = i changes nothing

    def ratio(e):
        return None if e is None or error == 0 else e / original

    return {
        "reliance": ratio(others),
        "reliance_difference": None if others is None else others - original,
        "reliance_lossless": ratio(lossless),
        "reliance_lossless_difference": lossless - original,
        "switched": over_pairs,
    }


def with_variable(data, own):
    """Let some features come from one source column, v."""
    features = tuple(
        dataclasses.replace(feature, column="v") if f in own else feature
        for f, feature in enumerate(data.features)
    )
    return dataclasses.replace(data, features=features)


@st.composite
def reliances(draw, **options):
    table, space = draw(problems(shares=True, **SMALL, **options))
    own = draw(st.sets(st.integers(0, table.n_features - 1), min_size=1, max_size=2))
    return table, space, own, with_variable(data_of(table), own)


@given(reliances())
@settings(max_examples=15)
def test_every_variant_in_every_engine(problem):
    table, space, own, data = problem
    every = [tuple(measured(t, table, own).values()) for t in oracle.list_trees(table, space)]
    names = [f"{name}[v]" for name in measured(0, table, own)]
    for engine in ENGINES:
        found = adtc.model_tensor(data, space_of(space), names, **engine)
        assert dict(found) == Counter(every), engine


@given(reliances(), st.sampled_from([Fraction(9, 10), 1, Fraction(11, 10), Fraction(3, 2)]))
@settings(max_examples=15)
def test_constraints_and_ranges(problem, limit):
    table, space, own, data = problem
    listed = [(t, measured(t, table, own)["reliance"]) for t in oracle.list_trees(table, space)]
    where = f"reliance[v] <= {limit}"
    good = {tree: value for tree, value in listed if value is not None and value <= limit}
    for engine in ENGINES:
        assert adtc.count(data, space_of(space), where, **engine) == len(good), engine
    for few in (10**6, 0):  # by counting, and by search
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("adtc.profiles.reliance._FEW", few)
            found = reliance_range(data, space_of(space), where, "v")
        ends = (min(good.values(), default=None), max(good.values(), default=None))
        assert (found.min, found.max) == ends
        if good:
            assert good[plain(found.min_tree)] == found.min
            assert good[plain(found.max_tree)] == found.max


@given(reliances(further=("test",)))
@settings(max_examples=10)
def test_reliance_on_a_further_table(problem):
    table, space, own, data = problem
    (_, other) = table.further[0]
    listed = oracle.list_trees(table, space)
    values = [
        (measured(t, other, own)["reliance"], measured(t, table, own)["reliance_difference"])
        for t in listed
    ]
    names = ["test.reliance[v]", "reliance_difference[v]"]
    for engine in ENGINES[:2]:
        found = adtc.model_tensor(data, space_of(space), names, **engine)
        assert dict(found) == Counter(values), engine


DATA = adtc.Data.from_arrays([[1, 1], [1, 0], [0, 1], [0, 0]] * 2, [1, 1, 0, 0, 1, 1, 1, 0])


def test_a_profile_tells_the_distribution():
    profile = adtc.profile(DATA, adtc.Space(max_depth=2), ["error"], where="error <= 4")
    found = profile.reliance("f0")
    assert sum(found.marginal.as_dict().values()) == profile.count
    assert found.range == adtc.reliance(DATA, adtc.Space(max_depth=2), "error <= 4")[0]
    assert found.range.to_json()["max_exact"] == str(found.range.max)
    tighter = profile.reliance("f0", where="error <= 1")
    assert tighter.profile.count == adtc.count(DATA, adtc.Space(max_depth=2), "error <= 1")
    with pytest.raises(QueryError, match="holds a part of its trees only"):
        profile.where("error <= 1").reliance("f0")


def test_ranges_as_a_table_and_a_picture(tmp_path):
    found = adtc.reliance(DATA, adtc.Space(max_depth=2), "error <= 4")
    assert found.to_text().splitlines()[0].split() == ["variable", "least", "largest"]
    bars = range_data(found)
    assert sorted(bars.names) == ["f0", "f1"]
    assert list(bars.highs) == sorted(float(one.max) for one in found)
    assert bars.neutral == 1
    path = tmp_path / "ranges.svg"
    found.plot(title="f0 and f1").save(path)
    assert path.stat().st_size > 0
    by_difference = adtc.reliance(DATA, adtc.Space(max_depth=1), variant="reliance_difference")
    assert range_data(by_difference).neutral == 0


def test_trees_without_errors_have_no_ratio():
    data = adtc.Data.from_arrays([[1], [0]], [1, 0])
    none = reliance_range(data, adtc.Space(max_depth=1), "error = 0", "f0")
    assert (none.min, none.max, none.min_tree, none.null) == (None, None, None, False)
    by_difference = reliance_range(
        data, adtc.Space(max_depth=1), "error = 0", "f0", variant="reliance_difference"
    )
    assert by_difference.min == by_difference.max == 1  # each row gets the other's value
    assert not by_difference.null


def test_a_saved_profile_keeps_reliance(tmp_path):
    profile = adtc.profile(DATA, adtc.Space(max_depth=2), ["error", "reliance[f0]"])
    profile.save(tmp_path / "p.adtc", circuit=True)
    again = adtc.load_profile(tmp_path / "p.adtc")
    assert again.draw(2, seed=1)[0].metrics == profile.draw(2, seed=1)[0].metrics
    assert again.marginal("reliance[f0]").as_dict() == profile.marginal("reliance[f0]").as_dict()


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda: adtc.count(DATA, adtc.Space(), "reliance[f7] <= 1"), "unknown variable 'f7'"),
        (lambda: adtc.reliance(DATA, adtc.Space(), columns=["f7"]), "unknown variable 'f7'"),
        (lambda: adtc.reliance(DATA, adtc.Space(), variant="mr"), "unknown reliance 'mr'"),
        (lambda: adtc.count(DATA, adtc.Space(), "test.reliance[f0] <= 1"), "unknown further table"),
    ],
)
def test_mishaps(ask, message):
    with pytest.raises(adtc.ADTCError, match=message):
        ask()

"""Reliance on a variable: agreement with all pairs of rows, one by one, for every listed tree."""

import dataclasses
from collections import Counter
from contextlib import contextmanager
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import adtc
import oracle
from adtc import _core
from adtc.engine.circuit import core_circuit
from adtc.errors import LimitError, QueryError, TooLargeError
from adtc.profiles import reliance
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
    for few, walk in ((10**6, True), (10**6, False), (0, False)):  # by counting, and by search
        with alone(few, walk):
            found = reliance_range(data, space_of(space), where, "v")
        ends = (min(good.values(), default=None), max(good.values(), default=None))
        assert (found.min, found.max) == ends
        if good:
            assert good[plain(found.min_tree)] == found.min
            assert good[plain(found.max_tree)] == found.max


@contextmanager
def alone(few, walk=False):
    """Let every variable have a run of its own, and few trees be counted."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("adtc.profiles.reliance._FEW", few)
        if not walk:
            patch.setattr("adtc.profiles.reliance.can_switch", lambda *_: False)
        yield


def ends_of(ranges):
    """Return the ends alone: several trees may have the same reliance."""
    return [(one.column, one.min, one.max) for one in ranges]


VARIANTS = [
    "reliance",
    "reliance_difference",
    "reliance_lossless",
    "reliance_lossless_difference",
]


@given(reliances(), st.sampled_from(VARIANTS), st.integers(0, 6))
@settings(max_examples=60)
def test_one_walk_finds_the_ends_of_all_variables(problem, variant, most):
    table, space, own, data = problem
    columns = {"v": own} | {f"f{f}": {f} for f in range(table.n_features) if f not in own}
    trees = [t for t in oracle.list_trees(table, space) if switched(t, table, own)[0] <= most]
    found = adtc.reliance(data, space_of(space), f"error <= {most}", variant=variant)
    assert {one.column for one in found} == set(columns)
    for one in found:
        values = {t: measured(t, table, columns[one.column])[variant] for t in trees}
        defined = [value for value in values.values() if value is not None]
        assert (one.min, one.max) == (min(defined, default=None), max(defined, default=None))
        if defined:
            assert values[plain(one.min_tree)] == one.min
            assert values[plain(one.max_tree)] == one.max
            assert one.distribution.as_dict() == Counter(values.values())


@given(st.integers(0, 2**32), st.sampled_from(VARIANTS), st.sampled_from([3, 4, 5]))
@settings(max_examples=10)
def test_the_walk_agrees_with_a_run_for_each_variable(seed, variant, depth):
    """Deeper than a listing reaches: literals of a variable lie on all levels of a path."""
    rng = np.random.default_rng(seed)
    columns = sorted(rng.integers(0, 4, 7).tolist())
    data = adtc.Data.from_arrays(
        rng.integers(0, 2, (60, 7)), rng.integers(0, 3, 60), weights=rng.integers(1, 4, 60)
    )
    features = [
        dataclasses.replace(feature, column=f"v{v}")
        for feature, v in zip(data.features, columns, strict=True)
    ]
    data = dataclasses.replace(data, features=tuple(features))
    space = adtc.Space(max_depth=depth, minsup=4)
    where = "error + 2 * size <= 1.03 * least(error + 2 * size)"
    walked = adtc.reliance(data, space, where, variant=variant)
    with alone(10**6):
        apart = adtc.reliance(data, space, where, variant=variant)
    assert ends_of(walked) == ends_of(apart), columns
    for one in walked:
        ends = ((one.min_tree, one.min), (one.max_tree, one.max))
        assert all(adtc.score(tree, data, [one.metric])[one.metric] == end for tree, end in ends)


def test_many_variables_are_walked_in_parts(monkeypatch):
    space, where = adtc.Space(max_depth=2), "error <= 4"
    together = adtc.reliance(DATA, space, where)
    monkeypatch.setattr("adtc.engine.switched._CELL_BYTES", 2**60)  # one at a time
    assert adtc.reliance(DATA, space, where) == together

    def too_large(*_):
        raise TooLargeError("no room")

    monkeypatch.setattr("adtc.profiles.reliance.switched_errors", too_large)
    assert ends_of(adtc.reliance(DATA, space, where)) == ends_of(together)
    assert len(together) == len(DATA.features)


def test_wide_keys_and_heavy_rows(monkeypatch):
    rng = np.random.default_rng(5)
    X, y, weights = rng.integers(0, 2, (40, 5)), rng.integers(0, 2, 40), rng.integers(1, 5, 40)

    where = "error <= 1.05 * least(error) and size != 6"

    def table(times):
        return adtc.Data.from_arrays(X, y, weights=weights * times)

    def ends(data):
        space = adtc.Space(max_depth=3)
        return ends_of(adtc.reliance(data, space, where, variant="reliance_lossless"))

    narrow = ends(table(1))
    assert ends(table(2**24)) == narrow  # too heavy for the walk: pairs of rows exceed 64 bits
    monkeypatch.setattr("adtc.engine.plan._NARROW", 200)
    data = table(1)
    assert adtc.profile(data, adtc.Space(max_depth=3), ["error"], where=where).keys.ndim == 2
    assert ends(data) == narrow


def test_the_walk_refuses_what_does_not_belong_together():
    found = adtc.profile(DATA, adtc.Space(max_depth=2), ["error"])
    core, control = core_circuit(found.source.circuit), adtc.Monitor().control
    n = len(found.keys)
    every, columns = np.arange(n), np.array([0, 1])
    for groups, of, count in (
        (every[1:], columns, 2),
        (every, columns, 1),
        (every + 1, columns, 2),
    ):
        with pytest.raises(ValueError, match="groups are those of the root's cells"):
            _core.switched_errors(control, core, groups, n, of, count, 10**9)
    walked = _core.switched_errors(control, core, every, n, columns, 2, 10**9)
    names, straight = np.array([0, 1]), np.zeros(2, bool)
    with pytest.raises(ValueError, match="no such group or lane"):
        walked.trees(np.array([n]), np.array([0]), names, straight)
    with pytest.raises(ValueError, match="an original feature for each"):
        walked.trees(np.array([0]), np.array([0]), names[:1], straight[:1])


def test_features_of_two_variables_that_are_alike():
    """Equal on the table, they differ on hybrid rows: both have a run of their own."""
    data = adtc.Data.from_arrays([[1, 1, 0], [1, 1, 1], [0, 0, 1], [0, 0, 0]] * 2, [1, 1, 0, 1] * 2)
    found = adtc.reliance(data, adtc.Space(max_depth=2), "error <= 2")
    with alone(10**6):
        apart = adtc.reliance(data, adtc.Space(max_depth=2), "error <= 2")
    assert ends_of(found) == ends_of(apart)
    assert found[0].max == found[1].max > found[0].min


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


def test_within_limits_trees_of_a_smaller_depth_are_no_exact_range(monkeypatch):
    data = adtc.load_dataset("german-credit", nbins=2)
    good = adtc.profile(
        data, adtc.Space(max_depth=3, relminsup=0.1), ["error"], where="acc >= 0.72"
    )
    monkeypatch.setattr("adtc.profiles.reliance.switched_errors", lambda *args: ())
    honest = reliance._GoodTrees.profile

    def shallow(self, column):
        return honest(
            dataclasses.replace(self, options={"monitor": adtc.Monitor(memory_limit=2_000)}), column
        )

    monkeypatch.setattr(reliance._GoodTrees, "profile", shallow)
    source = good.need_source("this test")
    found = adtc.reliance(source.data, source.space, "acc >= 0.72", columns=["duration"])
    assert [one.status for one in found] == ["partial"]


def test_a_limit_is_not_taken_for_a_filtered_profile():
    data = adtc.load_dataset("german-credit", nbins=2)
    good = adtc.profile(
        data, adtc.Space(max_depth=3, relminsup=0.1), ["error"], where="acc >= 0.72"
    )
    few = adtc.Monitor(memory_limit=2_000)
    with pytest.raises(LimitError):
        good.leave_one_out(monitor=few)
    with pytest.raises(LimitError):
        reliance.ranges_of_profile(good, monitor=few)


def test_no_part_of_the_answer_is_offered_for_all():
    data = adtc.load_dataset("german-credit", nbins=2)
    monitor = adtc.Monitor(exact=False)
    adtc.reliance(data, adtc.Space(2, relminsup=0.2), "acc >= 0.7", monitor=monitor)
    assert monitor.finished is None

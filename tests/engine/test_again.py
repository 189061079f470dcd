"""Questions asked again of the same table: nothing stale, nothing kept beyond the table."""

import gc
import pickle
import weakref
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import adtc
from adtc import Data, Space
from adtc.algebra.metrics import additive
from adtc.algebra.semirings import COUNT
from adtc.engine.plan import plan_of
from adtc.engine.query import ask
from adtc.engine.switches import Switches

X = [[1, 0, 1], [1, 1, 0], [0, 1, 1], [0, 0, 1], [1, 0, 0], [0, 1, 0]]
Y, Z = [1, 1, 0, 0, 1, 0], [0, 1, 0, 1, 0, 1]
SPACES = (
    Space(2),
    Space(1),
    Space(2, 2),
    Space(2, labels="majority"),
    Space(2, trivial_splits=False),
    Space(2, banned=("f0",)),
    Space(2, max_size=3),
    Space(2, min_leaf_share="0.6"),
)
FORMULAS = (
    None,
    "error <= 2",
    "error <= 1.5 * least(error)",
    "error + size <= 1.2 * least(error + size)",
    "acc >= 0.5 and dp <= 0.5",
    "depth <= 1 and N01 <= 1",
)
SWITCHES = (Switches(), Switches(push=False), Switches(merge_features=False, merge_rows=False))


def table() -> Data:
    return Data.from_arrays(X, Y, z=Z)


QUESTIONS = st.tuples(
    st.sampled_from(SPACES),
    st.sampled_from(FORMULAS),
    st.sampled_from(SWITCHES),
    st.sampled_from(["auto", "spec"]),
    st.sampled_from([("error",), ("N01", "size"), ("acc", "least(error)")]),
)


@settings(max_examples=20)
@given(st.lists(QUESTIONS, min_size=2, max_size=6))
def test_a_table_answers_as_a_fresh_one_does(asked: list[tuple]) -> None:
    data = table()
    for space, where, switches, engine, metrics in [*asked, *asked]:
        options = {"where": where, "switches": switches, "engine": engine}
        again = adtc.model_tensor(data, space, metrics, **options)
        fresh = adtc.model_tensor(table(), space, metrics, **options)
        assert again == fresh
        again.record.seconds = fresh.record.seconds
        assert again.record.to_json() == fresh.record.to_json()
        best = [adtc.optimize(d, space, where=where, switches=switches) for d in (data, table())]
        assert best[0].value == best[1].value


def test_the_same_question_is_the_same_object() -> None:
    data = table()

    def bound(where: str, depth: int = 2) -> object:
        return ask(data, Space(depth), semiring=COUNT, where=where)

    assert bound("error <= 2") is bound("error<=2")
    assert bound("error <= 2") is not bound("error <= 3")
    assert bound("error <= 2") is not bound("error <= 2", depth=1)
    assert plan_of(bound("error <= 2"), data) is plan_of(bound("error <= 2"), data)
    assert plan_of(bound("error <= 2"), data) is not plan_of(bound("error <= 2"), data, push=False)


def test_own_metrics_are_read_each_time() -> None:
    data, space = table(), Space(1)
    counts = [
        int(adtc.count(data, space, "cost <= 2", define={"cost": text}))
        for text in ("error", "2 * error", "error")
    ]
    assert counts[0] == counts[2] > counts[1]
    for price in (1, 2, 1):
        cost = additive("cost", lambda label, row, price=price: price * int(label != row.y))
        found = adtc.count(data, space, "cost <= 2", define={"cost": cost})
        assert int(found) == counts[price - 1]


def test_what_questions_keep_is_freed_with_the_table() -> None:
    data = table()
    adtc.count(data, Space(2), "error <= 1.5 * least(error) and dp <= 0.5")
    adtc.optimize(data, Space(2))
    kept = weakref.ref(data.cache)
    gone = weakref.ref(data)
    assert len(data.cache) > 0
    gc.disable()
    try:
        del data
        assert (gone(), kept()) == (None, None)
    finally:
        gc.enable()


def test_a_pickled_table_takes_its_rows_along_alone() -> None:
    data = table()
    first = int(adtc.count(data, Space(2), "error <= 2"))
    copy = pickle.loads(pickle.dumps(data))
    assert len(copy.cache) == 0
    assert int(adtc.count(copy, Space(2), "error <= 2")) == first


@pytest.mark.parametrize("share", [0.5, Fraction(1, 2), "0.5"])
def test_a_record_repeats_what_was_asked_not_what_was_asked_before(share: object) -> None:
    data = table()
    for relminsup in (0.5, share):
        found = adtc.count(data, Space(1, relminsup=relminsup))
        assert found.record.conventions["relminsup"] == str(relminsup)


def test_an_option_that_no_question_has_is_refused() -> None:
    with pytest.raises(TypeError, match="maxdep"):
        adtc.count(table(), Space(1), maxdep=3)

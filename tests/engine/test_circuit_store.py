"""A circuit taken apart and put together again walks as before."""

import json
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import adtc
from adtc import _core
from adtc.algebra.metrics import additive
from adtc.algebra.semirings import COUNT
from adtc.engine import fast
from adtc.engine.query import Space, ask
from adtc.engine.ranks import Ranks
from adtc.engine.store import circuit_from_json, circuit_to_json, space_from_json, space_to_json
from adtc.engine.switches import Switches
from strategies import problems

SWITCHES = [
    Switches(),
    Switches(push=False, dense=False),
    Switches(merge_rows=True),
    Switches(merge_features=False),
]


def again(circuit, data):
    saved, arrays = circuit_to_json(circuit)
    copies = {name: array.copy(order="K") for name, array in arrays.items()}
    return circuit_from_json(json.loads(json.dumps(saved)), copies, data)


def parts(value, name="circuit"):
    """List the arrays and scalars of a circuit by their places; the question is looked at apart."""
    if name.endswith("plan"):
        return
    names = getattr(value, "_fields", None) or getattr(value, "__dataclass_fields__", None)
    if isinstance(value, _core.Table | _core.Lattice | _core.Leaves):
        names = [n for n in dir(type(value)) if n[0] != "_" and n != "dense"]  # a switch
        names = [n for n in names if not callable(getattr(value, n))]
    if names:
        for part in names:
            yield from parts(getattr(value, part), f"{name}.{part}")
    elif isinstance(value, tuple) and value and not isinstance(value[0], int):
        for i, part in enumerate(value):
            yield from parts(part, f"{name}[{i}]")
    else:
        yield name, value


def assert_same(back, circuit):
    found, expected = dict(parts(back)), dict(parts(circuit))
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        if isinstance(value, np.ndarray):
            assert found[name].dtype == value.dtype, name
            assert np.array_equal(found[name], value), name
        else:
            assert type(found[name]) is type(value), name
            assert found[name] == value, name
    for part in ("groups", "totals", "axes", "budgets", "basis", "most_leaves", "axis_names"):
        assert getattr(back.prepared.plan, part) == getattr(circuit.prepared.plan, part)
    assert back.proof_of_none == circuit.proof_of_none


def trees(circuit):
    ranks = Ranks(circuit)
    return {key: list(ranks.trees(key)) for key in ranks.keys}


@pytest.mark.parametrize("switches", SWITCHES, ids=["all", "no push", "merged rows", "all twins"])
@given(
    drawn=problems(max_features=4),
    where=st.sampled_from([None, "error <= 3 and size <= 4", "acc >= 0.9 or N00 > 1", "acc > 1"]),
)
@settings(max_examples=10)
def test_circuits_come_back(drawn, where, switches):
    table, space = drawn
    references = dict(table.references)
    data = adtc.Data.from_arrays(
        table.rows, table.y, z=table.z, weights=table.weights, references=references
    )
    space = Space(
        max_depth=space.max_depth,
        minsup=space.support(table),
        max_size=space.max_size,
        labels=space.labels,
        trivial_splits=space.trivial_splits,
    )
    metrics = ["size", "bacc", *(f"agreement[{name}]" for name in references)]
    question = ask(data, space, semiring=COUNT, metrics=metrics, where=where)
    result = fast.run(question, data, switches=switches)
    back = again(result.circuit, data)
    assert_same(back, result.circuit)
    assert trees(back) == trees(result.circuit)
    # the plan reads keys as before: metrics and constraint are those of the question
    loaded = fast.Result(back.prepared.plan, back, result.keys, result.values)
    assert loaded.tensor() == result.tensor()
    assert back.prepared.plan.question.constraint == question.constraint
    assert {n: str(t) for n, t in loaded.terms().items()} == {
        n: str(t) for n, t in result.terms().items()
    }


def deep():
    rng = np.random.default_rng(5)
    X = rng.integers(0, 2, (90, 6))
    data = adtc.Data.from_arrays(X, X[:, 0] ^ (X[:, 1] & X[:, 2]), z=X[:, 5])
    return data, adtc.Space(max_depth=4, minsup=4, max_size=5)


def test_a_deep_circuit_comes_back_with_its_combined_budgets():
    data, space = deep()
    question = ask(data, space, semiring=COUNT, metrics=["dp"], where="acc >= 0.8 and dp <= 0.3")
    circuit = fast.run(question, data).circuit
    assert len(circuit.levels) == 3
    assert len(circuit.prepared.plan.budgets) > 2
    assert_same(again(circuit, data), circuit)


def test_a_circuit_on_merged_rows_comes_back():
    X = np.tile(np.random.default_rng(5).integers(0, 2, (90, 6)), (64, 1))
    # so many equal rows that merging them leaves fewer words
    data, space = adtc.Data.from_arrays(X, X[:, 0] ^ (X[:, 1] & X[:, 2])), deep()[1]
    question = ask(data, space, semiring=COUNT, metrics=["size"], where="acc >= 0.8")
    circuit = fast.run(question, data, switches=Switches(merge_rows=True)).circuit
    assert circuit.prepared.features.columns.shape[1] < data.n_rows
    assert_same(again(circuit, data), circuit)


def test_definitions_in_words_are_kept_and_functions_refused():
    data, space = deep()
    words = {"both": "error + 2 * size"}
    question = ask(data, space, semiring=COUNT, metrics=["both"], define=words)
    circuit = fast.run(question, data).circuit
    assert_same(again(circuit, data), circuit)
    for name in ("cost", "N[1,1]"):  # a built-in name with another meaning is no built-in metric
        own = {"cost": additive(name, lambda label, group: 3 * label)}
        question = ask(data, space, semiring=COUNT, metrics=["cost"], define=own)
        circuit = fast.run(question, data).circuit
        with pytest.raises(adtc.ADTCError, match=r"Python function, which cannot be saved with"):
            circuit_to_json(circuit)


@pytest.mark.parametrize("share", [None, 0.15, "0.15", Fraction(1, 7)])
def test_spaces_come_back(share):
    space = Space(max_depth=np.int64(4), relminsup=share, max_size=6, labels="majority")
    back = space_from_json(json.loads(json.dumps(space_to_json(space))))
    assert back == space
    assert type(back.relminsup) is type(space.relminsup)


@pytest.mark.parametrize(
    ("name", "spoil"),
    [
        ("level1.stops", lambda a: a + 10**6),
        ("level0.starts", lambda a: a - 1),
        ("level2.values", lambda a: a[:-1]),
        ("outside.live", lambda a: a[:-1]),
        ("outside.live", np.zeros_like),
        ("inside.counts", lambda a: a.astype(np.float64)),
        ("inside.least", lambda a: a[:, :-1]),
    ],
)
def test_arrays_that_do_not_belong_together_are_refused(name, spoil):
    data, space = deep()
    question = ask(data, space, semiring=COUNT, metrics=["dp"], where="acc >= 0.8")
    saved, arrays = circuit_to_json(fast.run(question, data).circuit)
    arrays[name] = spoil(arrays[name])
    with pytest.raises(adtc.ADTCError, match="do not belong together"):
        circuit_from_json(saved, arrays, data)

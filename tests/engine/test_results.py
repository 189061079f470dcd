"""Answers carry the record of their run."""

import pytest

import adtc
from adtc.algebra.semirings import MIN_PLUS
from adtc.engine.results import ModelTensor

DATA = adtc.Data.from_arrays([[1, 0], [1, 1], [0, 1], [0, 0]], [1, 1, 0, 0])
SPACE = adtc.Space(max_depth=2)


@pytest.mark.parametrize("engine", ["spec", "fast"])
def test_a_tensor_says_how_it_was_made(engine):
    tensor = adtc.model_tensor(DATA, SPACE, ["error"], where="size <= 3", engine=engine)
    assert isinstance(tensor, ModelTensor)
    assert tensor.status == "exact"
    assert tensor.record.engine == engine
    assert tensor.record.question == {"ask": "tensor", "where": "size <= 3"}
    assert sum(tensor.values()) == adtc.count(DATA, SPACE, where="size <= 3")


def test_a_tensor_over_another_semiring_does_too():
    tensor = adtc.model_tensor(DATA, SPACE, ["size"], semiring=MIN_PLUS, aggregation="error")
    assert (tensor[1,], tensor[2,], tensor.record.engine) == (2, 0, "fast")

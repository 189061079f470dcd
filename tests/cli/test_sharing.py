"""Within a time limit: what the exact answer costs is foreseen, and trees are drawn before it."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

import adtc
from adtc.cli import beside, main
from adtc.engine.forecast import sharing
from adtc.engine.monitor import Monitor
from adtc.errors import LimitError
from adtc.profiles import making
from adtc.profiles.inexact import estimating


def run(*args: str) -> Result:
    return CliRunner().invoke(main, list(args))


LIMITED = ["german-credit", "--maxdep", "3", "--relminsup", "0.1", "--time-limit", "60", "--quiet"]


def foreseen(**costs: Any) -> Any:
    """Foresee a question that has the costs given."""
    data, space = adtc.load_dataset("german-credit"), adtc.Space(max_depth=2, relminsup=0.2)
    return replace(adtc.explain(data, space, None, ["acc", "dp"]), **costs)


@pytest.mark.parametrize(
    ("costs", "fits"),
    [
        ({"seconds": 9.0, "cells": 10.0}, True),
        ({"seconds": 11.0, "cells": 10.0}, False),  # twice as long would not fit
        ({"seconds": 1.0, "cells": None}, False),
        ({"seconds": 1.0, "cells": 10.0, "tensor_memory": 10**12}, False),
        ({"seconds": 1.0, "cells": 10.0, "refusal": "too many cells"}, False),
    ],
)
def test_all_the_time_is_for_the_exact_answer_if_it_fits_twice(costs: Any, fits: bool) -> None:
    monitor = Monitor(time_limit=10.05, memory_limit=10**9, threads=2)
    assert sharing.exact_fits(foreseen(**costs), monitor) == fits


@pytest.mark.parametrize(("depth", "seconds", "late"), [(5, 1.0, True), (2, 60.0, False)])
def test_what_takes_too_long_by_its_size_is_told_at_once(
    depth: int, seconds: float, late: bool
) -> None:
    data, monitor = adtc.load_dataset("german-credit"), Monitor(time_limit=seconds)
    assert sharing.cannot_fit(data, adtc.Space(max_depth=depth), monitor) == late


def test_a_question_that_fits_has_no_trees_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(beside, "_drawn", None)  # a call would fail
    told = json.loads(
        run("profile", *LIMITED[:1], "--relminsup", "0.3", *LIMITED[5:], "--json").stdout
    )
    assert told["status"] == "exact"
    assert "estimated" not in told


@pytest.fixture
def order(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Let nothing be counted by metrics beyond depth 2, and foresee that."""
    honest, called = making._made, list[str]()

    def late(run: Any, *about: Any) -> Any:
        called.append(f"exact {run.space.max_depth}")
        if run.space.max_depth > 2:
            raise LimitError("the run did not finish within the time limit of 60 s: ask for less.")
        return honest(run, *about)

    def drawn(data: Any, space: Any, *about: Any, **options: Any) -> Any:
        called.append(f"drawn {space.max_depth}")
        return estimating.estimate(data, space, *about, **options)

    monkeypatch.setattr(making, "_made", late)
    monkeypatch.setattr(adtc, "estimate", drawn, raising=False)
    monkeypatch.setattr(sharing, "exact_fits", lambda *_: False)
    return called


def test_trees_are_drawn_first_if_exact_does_not_fit(order: list[str], tmp_path: Path) -> None:
    path = tmp_path / "run.adtc"
    told = json.loads(
        run("profile", *LIMITED, "--metrics", "acc,dp", "-o", str(path), "--json").stdout
    )
    assert order == ["drawn 2", "drawn 3", "exact 2", "exact 3"]
    assert (told["status"], told["finished"]) == ("estimated", "depth at most 2")
    assert told["estimated"]["max_depth"] == 3
    data, space = adtc.load_dataset("german-credit"), adtc.Space(max_depth=3, relminsup=0.1)
    assert told["count"] == adtc.count(data, space)
    saved = adtc.load_profile(path)  # the answer itself, not the exact part
    assert (saved.status, saved.count.value) == ("estimated", told["count"])
    picture = tmp_path / "map.svg"
    table = run("crosstab", "german-credit", "acc", "dp", *LIMITED[1:], "--plot", str(picture))
    assert "exact, but only for depth at most 2:" in table.stdout
    assert "trees, estimated" in picture.read_text()


def test_a_smaller_depth_is_drawn_if_the_asked_one_takes_too_long(
    order: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    honest = beside._drawn

    def slow(asked: Any, data: Any, metrics: Any, depth: int, seconds: float) -> Any:
        return None if depth > 2 else honest(asked, data, metrics, depth, seconds)

    monkeypatch.setattr(beside, "_drawn", slow)
    path = tmp_path / "run.adtc"
    asked = ["profile", *LIMITED, "--metrics", "acc,dp", "-o", str(path)]
    told = json.loads(run(*asked, "--json").stdout)
    assert (told["status"], told["finished"]) == ("partial", "depth at most 2")
    assert told["estimated"]["max_depth"] == 2
    assert told["lower"] == adtc.load_profile(path).total
    assert "estimated, for depth at most 2:" in run(*asked).stdout

"""What would make a question fit is told at once, and nothing is run for it."""

import json
import math

import numpy as np
import pytest
from click.testing import CliRunner

import adtc
from adtc.cli import main
from adtc.engine.forecast import announcing
from adtc.engine.forecast import explain as explaining
from adtc.engine.forecast.advice import FITS, Least
from adtc.engine.forecast.announcing import announcement
from adtc.engine.lattice import ones_of
from adtc.engine.monitor import Monitor
from adtc.errors import FoundToFitError, LimitError


def wide(features: int, rows: int = 60) -> adtc.Data:
    rng = np.random.default_rng(0)
    return adtc.Data.from_arrays(rng.integers(0, 2, (rows, features)), rng.integers(0, 2, rows))


def test_wide_questions_are_told_what_would_fit_and_nothing_is_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(explaining, "prepare", None)
    given = adtc.explain(wide(6000), adtc.Space(max_depth=3))
    assert given.live is None
    assert given.seconds > FITS
    assert [line.split(" ")[0] for line in given.advice] == ["depth", "at", "a"]
    assert "would fit    depth at most 2: about" in str(given)
    assert given.to_json()["advice"] == given.advice


def test_what_is_advised_is_foreseen_to_fit() -> None:
    asked = Least(np.full(3000, 30), 60, 1, 4, 3000, axes=0, budgets=0)
    (told,) = (line for line in asked.advice() if line.startswith("at most"))
    features = int(told.split()[2])
    assert asked.seconds(features) <= FITS < asked.seconds(features + 1)


def test_rows_per_leaf_are_advised_by_the_features_they_leave() -> None:
    ones = np.array([10] * 900 + [300] * 20)
    told = Least(ones, 1000, 1, 4, 920, axes=0, budgets=0).advice()
    assert any(line.startswith("relminsup 0.02 with 20 features left: about") for line in told)


def test_tensors_that_were_not_foreseen_leave_the_status_open() -> None:
    data, space = wide(6000), adtc.Space(max_depth=3)
    assert adtc.explain(data, space).status == "exact"  # a number for each path
    given = adtc.explain(data, space, metrics=["acc"])
    assert (given.status, given.cells) == ("unknown", None)
    assert "status       unknown" in str(given)
    assert "cheaper      depth at most 2" in str(given)
    soon = adtc.explain(data, space, metrics=["acc"], monitor=Monitor(time_limit=5))
    assert soon.status == "partial"


def test_small_questions_get_no_advice() -> None:
    credit = adtc.load_dataset("german-credit")
    assert adtc.explain(credit, adtc.Space(max_depth=3), "acc >= 0.7").advice == ()


def test_more_paths_than_a_float_holds_are_explained() -> None:
    given = adtc.explain(wide(6000), adtc.Space(max_depth=200))
    assert math.isfinite(given.seconds)
    assert "days" in str(given)


def test_a_run_is_announced_if_it_takes_hours() -> None:
    credit = adtc.load_dataset("german-credit")
    assert announcement(credit, adtc.Space(max_depth=4)) is None
    told = announcement(wide(6000), adtc.Space(max_depth=4))
    assert told is not None
    assert "days on one thread. Cheaper: depth at most 2: about" in told


def test_the_command_line_announces_a_long_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(announcing, "LONG", 0.0)
    monkeypatch.setattr(announcing, "_HARDLY", 0.0)
    asked = ["count", "german-credit", "--maxdep", "2", "--json"]
    told = CliRunner().invoke(main, asked)
    assert told.stderr.startswith("adtc: this may take about ")
    assert "--time-limit answers" in told.stderr
    assert json.loads(told.stdout)["status"] == "exact"
    for calm in (["--time-limit", "60"], ["--quiet"]):
        assert "this may take" not in CliRunner().invoke(main, [*asked, *calm]).stderr


@pytest.mark.parametrize(
    ("monitor", "stopped"),
    [
        (Monitor(time_limit=1e-9, exact=True), "within the time limit of 1e-09 s: ask for "),
        (Monitor(memory_limit=10**6, exact=True), "that the run may use: ask for "),
    ],
)
def test_a_refusal_names_what_explain_advises(monitor: Monitor, stopped: str) -> None:
    data, space = wide(100), adtc.Space(max_depth=5)
    with pytest.raises(LimitError) as error:
        adtc.count(data, space, monitor=monitor)
    told = str(error.value)
    assert stopped in told
    assert told.endswith(", or a higher limit.")
    kinds, memory = len(data.labels), monitor.memory
    least = Least(
        ones_of(data), 60, 1, 5, 100, axes=0, budgets=0, groups=kinds, memory=memory
    )  # fmt: skip
    assert len(least.advice(monitor.time_limit)) > 1 or monitor.time_limit
    for advice in least.advice(monitor.time_limit):
        change, _, cost = advice.partition(": ")
        assert change in told
        assert "about" not in cost or f"({cost.split('about')[0]}about" in told


def test_what_was_found_to_fit_is_told_as_it_is() -> None:
    data = adtc.load_dataset("german-credit")
    space = adtc.Space(max_depth=4, relminsup=0.1)
    monitor = Monitor(memory_limit=3 * 10**7, exact=True)
    with pytest.raises(
        FoundToFitError, match=r"may use: ask for at most \d leaves, .*, or a constr"
    ):
        adtc.profile(data, space, ["size", "acc", "f1", "dp"], monitor=monitor)

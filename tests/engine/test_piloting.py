"""Pilots: with a pilot for every first test nothing is left to estimate; with fewer, little is."""

import numpy as np
import pytest
from hypothesis import given, settings
from test_estimate import grown, trees_of

import adtc
from adtc.engine import circuit
from adtc.engine.forecast import piloting, pricing
from adtc.engine.forecast.piloting import cells_of_all, chosen_features, foreseen_by_pilots, thinned
from adtc.engine.forecast.pricing import Forecast
from adtc.engine.monitor import Monitor
from adtc.errors import CancelledError
from strategies import problems
from test_agreement import data_of, space_of

CONSTRAINTS = (None, "2 * error <= N", "size <= 3", "3 * error <= N and size <= 4")


def foreseen(made: circuit.Circuit) -> Forecast | None:
    limits = [budget.limit for budget in made.prepared.plan.budgets]
    return foreseen_by_pilots(made.prepared, made.outside, limits, Monitor())


@given(problems())
@settings(max_examples=80)
def test_pilots_for_all_first_tests_are_exact(problem) -> None:
    table, space = problem
    for where in CONSTRAINTS:
        made = grown(data_of(table), space_of(space), ("error", "size"), where)
        if (found := foreseen(made)) is None:
            continue
        cells = [len(level.cells.keys) for level in made.levels]
        assert found.cells[0] == cells[0]
        first = made.outside.live[1 : 1 + 2 * len(made.prepared.features.twins)]
        if first.all():
            assert found.cells[1:] == pytest.approx(cells[1:])
        leaves = made.prepared.plan.question.schema.labels * len(first)  # are in every pilot
        trees = trees_of(made.levels[0])
        assert trees <= found.trees <= trees + leaves


@pytest.mark.parametrize("depth", [4, 5])
def test_a_path_belongs_to_as_many_pilots_as_it_has_features(depth: int) -> None:
    rng = np.random.default_rng(depth)
    data = adtc.Data.from_arrays(rng.integers(0, 2, (60, 6)), rng.integers(0, 2, 60))
    made = grown(data, adtc.Space(max_depth=depth), ("error",))
    found = foreseen(made)
    assert found is not None
    assert found.cells == pytest.approx([len(level.cells.keys) for level in made.levels])


@pytest.mark.parametrize(
    ("space", "metrics", "where"),
    [
        (adtc.Space(max_depth=3, relminsup=0.15), ("acc", "dp"), None),
        (adtc.Space(max_depth=3, relminsup=0.15), ("acc",), None),
        (adtc.Space(max_depth=4, relminsup=0.15), ("size", "acc", "f1"), None),
        (adtc.Space(max_depth=4, relminsup=0.1), ("acc",), "acc >= 0.72"),
        (adtc.Space(max_depth=5, relminsup=0.15, max_size=6), ("size", "acc"), "acc >= 0.7"),
        (
            adtc.Space(max_depth=4, relminsup=0.15, root=["savings_status", "checking_status"]),
            ("acc", "dp"),
            None,
        ),
    ],
)
def test_a_few_first_tests_tell_of_all(space, metrics, where, monkeypatch) -> None:
    monkeypatch.setattr(piloting, "_MOST", 10)
    monkeypatch.setattr(piloting, "_SOON", np.inf)
    made = grown(adtc.load_dataset("german-credit"), space, metrics, where)
    found = foreseen(made)
    assert found is not None
    for likely, level in zip(found.cells, made.levels, strict=True):
        assert likely / 3 <= len(level.cells.keys) <= likely * 3
    assert found.pairs / 3 <= made.cell_scan <= found.pairs * 3
    assert found.trees / 3 <= trees_of(made.levels[0]) <= found.trees * 3
    held = sum(sum(array.nbytes for array in level.cells) for level in made.levels)
    assert found.memory / 3 <= held <= found.memory * 3
    assert found.seconds > 0


def test_few_cells_that_all_first_tests_share_are_all(monkeypatch) -> None:
    monkeypatch.setattr(piloting, "_MOST", 6)
    monkeypatch.setattr(piloting, "_SOON", np.inf)
    made = grown(adtc.load_dataset("german-credit"), adtc.Space(3, relminsup=0.15), ("size",))
    assert foreseen(made).cells[0] == len(made.levels[0].cells.keys)


def test_a_slower_machine_may_take_longer(monkeypatch) -> None:
    for speed, longer in ((0.5, 1.0), (1.7, 1.7), (8.0, 2.0)):
        monkeypatch.setattr(pricing, "speed", lambda speed=speed: speed)
        assert pricing.patience() == longer


def test_who_is_chosen() -> None:
    rng, times = np.random.default_rng(3), np.zeros(40)
    chances = rng.random(40) ** 4
    chances[:3] = 0
    chances /= chances.sum()
    for _ in range(2000):
        chosen, included = chosen_features(chances, 10, rng)
        assert len(set(chosen.tolist())) == 10
        times[chosen] += 1
    assert included.sum() == pytest.approx(10)
    assert (times[:3] == 0).all()
    assert times / 2000 == pytest.approx(included, abs=0.05)
    assert sorted(chosen_features(chances, 99, rng)[0].tolist()) == [*range(3, 40)]


def test_cells_in_common_tell_of_those_unseen() -> None:
    """Every feature fills a third of 10,000 cells."""
    rng = np.random.default_rng(1)
    fills = [np.flatnonzero(rng.random(10_000) < 1 / 3) for _ in range(40)]
    everything = len(np.unique(np.concatenate(fills)))
    common = np.unique(np.concatenate(fills[:5]), return_counts=True)[1]
    assert len(common) < 0.9 * everything
    assert cells_of_all(common, 5, 40) == pytest.approx(everything, rel=0.05)


@pytest.mark.parametrize("words", [1, 2])
def test_keys_are_thinned_alike(words: int) -> None:
    keys = np.random.default_rng(0).integers(0, 2**40, (60_000, words)) * 1024
    few, fewer = thinned(keys, 3), thinned(keys, 5)
    assert len(few) == pytest.approx(60_000 / 8, rel=0.1)
    assert len(fewer) == pytest.approx(60_000 / 32, rel=0.1)
    assert thinned(few, 5).tolist() == fewer.tolist()


def test_few_pilots_keep_their_tensors(monkeypatch) -> None:
    seen: list[piloting.Pilot] = []
    honest = piloting._Pilots.extrapolated

    def noted(self, pilots, most_cells):
        seen.extend(pilots)
        return honest(self, pilots, most_cells)

    monkeypatch.setattr(piloting._Pilots, "extrapolated", noted)
    monkeypatch.setattr(piloting, "_SOON", np.inf)
    foreseen(grown(adtc.load_dataset("german-credit"), adtc.Space(max_depth=3, relminsup=0.2)))
    kept = [pilot.sizes[0].pairs for pilot in seen if pilot.below is not None]
    pairs = sorted((pilot.sizes[0].pairs for pilot in seen), reverse=True)
    assert len(seen) > 3
    assert sorted(kept, reverse=True) == pairs[:3]


def test_what_takes_too_long_has_no_pilots(monkeypatch) -> None:
    made = grown(adtc.load_dataset("german-credit"), adtc.Space(max_depth=3, relminsup=0.2))
    monkeypatch.setattr(piloting, "_SECONDS", 0.0)
    assert foreseen(made) is None


def test_pilots_can_be_cancelled() -> None:
    made = grown(adtc.load_dataset("german-credit"), adtc.Space(max_depth=3, relminsup=0.2))
    monitor = Monitor()
    monitor.cancel()
    with pytest.raises(CancelledError):
        foreseen_by_pilots(made.prepared, made.outside, [], monitor)

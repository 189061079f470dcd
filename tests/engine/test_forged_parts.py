"""Parts of checkpoints that were changed and sealed anew: what cannot be is computed anew.

Kernels read the arrays of a part without looking, so here a crash is the failure.
"""

import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import adtc
from adtc.engine.executors import checkpoint as checkpoints
from forging import Arrays, opened, sealed

STAGES = ("inside", "level2", "level1", "level0")  # each is made from those before it
SPACE = adtc.Space(max_depth=4, minsup=2)
QUESTIONS: dict[str, dict[str, Any]] = {
    "dense": {"metrics": ["error"], "where": None},
    "budget": {"metrics": ["size", "error"], "where": "error <= 27"},
    "budgets": {"metrics": ["size", "error"], "where": "error <= 27 and size <= 9"},
}


def table(seed: int = 5) -> adtc.Data:
    source = np.random.default_rng(seed)
    return adtc.Data.from_arrays(source.integers(0, 2, (60, 8)), source.integers(0, 2, 60))


def ask(question: str, kept: adtc.Checkpoint | None = None) -> adtc.Profile:
    monitor = adtc.Monitor(threads=1, checkpoint=kept)
    asked = QUESTIONS[question]
    return adtc.profile(table(), SPACE, asked["metrics"], where=asked["where"], monitor=monitor)


@pytest.fixture(scope="module")
def folders() -> Iterator[dict[str, Path]]:
    """Keep every part of every question."""
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as root:
        patch.setattr(checkpoints, "_WORTH", 0.0)
        made = {name: Path(root, name) for name in QUESTIONS}
        for name, folder in made.items():
            ask(name, adtc.Checkpoint(folder))
        yield made


def part_of(folder: Path, stage: str, array: str) -> Path:
    """Find the part with the most of an array."""
    return max(folder.glob(f"{stage}-*"), key=lambda path: opened(path)[1][array].size)


def resumed(
    question: str, folder: Path, name: str, forge: Callable[[Path], None]
) -> tuple[adtc.Profile, adtc.Checkpoint]:
    """Forge a part, and go on from it: what is made from it is not there."""
    stage = name.split("-", maxsplit=1)[0]
    with tempfile.TemporaryDirectory() as root:
        copied = Path(root, "parts")
        shutil.copytree(folder, copied)
        for later in STAGES[STAGES.index(stage) + 1 :]:
            for path in copied.glob(f"{later}-*"):
                path.unlink()
        forge(copied / name)
        kept = adtc.Checkpoint(copied)
        return ask(question, kept), kept


def assert_same(found: adtc.Profile, expected: adtc.Profile) -> None:
    assert np.array_equal(found.keys, expected.keys)
    assert np.array_equal(found.trees, expected.trees)
    assert found.record.cell_scan == expected.record.cell_scan


def with_entry(value: int) -> Callable[[Any], Any]:
    def change(array: Any) -> Any:
        array.reshape(-1)[array.size // 2] = value
        return array

    return change


CHANGES: dict[str, Callable[[Any], Any]] = {
    "huge": with_entry(2**62 + 1),
    "largest": with_entry(2**63 - 1),
    "floats": lambda array: array.astype(float),
    "swapped": lambda array: array.astype(array.dtype.newbyteorder()),
    "narrow": lambda array: array.astype(np.int32),
    "short": lambda array: array[:-1],
    "none": lambda array: array[:0],
    "flat": lambda array: array.reshape(-1, 1, 1),
    "deep": lambda array: array.reshape(-1)[:1].reshape([1] * 30),
    "twice": lambda array: np.concatenate([array, array]),
}


@pytest.mark.parametrize(
    ("change", "question"),
    [(change, "budgets") for change in CHANGES] + [("huge", "dense"), ("largest", "budget")],
)
def test_what_no_part_holds_is_computed_anew(folders, question, change):
    folder, expected = folders[question], ask(question)
    for stage in STAGES:
        for name in opened(next(folder.glob(f"{stage}-*")))[0]["arrays"]:
            victim = part_of(folder, stage, name)

            def forge(path: Path, name: str = name) -> None:
                header, arrays = opened(path)
                sealed(path, header, {**arrays, name: CHANGES[change](arrays[name])})

            if opened(victim)[1][name].size == 0:
                continue  # there are no costs without budgets, and none at the root
            found, kept = resumed(question, folder, victim.name, forge)
            assert kept.damaged == [victim.name], (stage, name)
            assert_same(found, expected)


def swap_cells(arrays: Arrays) -> None:
    at = int(np.argmax(arrays["stops"] - arrays["starts"]))
    first = int(arrays["starts"][at])
    for name in ("keys", "values", "costs"):
        arrays[name][[first, first + 1]] = arrays[name][[first + 1, first]]


def repeat_path(arrays: Arrays) -> None:
    arrays["paths"][1] = arrays["paths"][0]


def overlap(arrays: Arrays) -> None:
    arrays["starts"][1] -= 1


def leave_gap(arrays: Arrays) -> None:
    arrays["stops"][0] -= 1


def no_trees(arrays: Arrays) -> None:
    arrays["values"][0] = 0


def other_rows(arrays: Arrays) -> None:
    arrays["counts"][:, 0] += 1


def cheaper_split(arrays: Arrays) -> None:
    arrays["splits"][0] = -1


def cheaper_leaf(arrays: Arrays) -> None:
    arrays["least"][0] -= 1


OF_LEVELS = (swap_cells, repeat_path, overlap, leave_gap, no_trees)
OF_INSIDE = (other_rows, cheaper_split, cheaper_leaf)


@pytest.mark.parametrize("change", [*OF_LEVELS, *OF_INSIDE])
def test_arrays_that_contradict_each_other_are_noticed(folders, change):
    folder, expected = folders["budget"], ask("budget")
    stage, name = ("level2", "paths") if change in OF_LEVELS else ("inside", "splits")
    victim = part_of(folder, stage, name)

    def forge(path: Path) -> None:
        header, arrays = opened(path)
        change(arrays)
        sealed(path, header, arrays)

    found, kept = resumed("budget", folder, victim.name, forge)
    assert kept.damaged == [victim.name]
    assert_same(found, expected)


@pytest.mark.parametrize(
    "forged",
    [[], 7, "arrays", None, {}, {"arrays": 3}, {"arrays": [[1]]}, {"arrays": ["keys"] * 99},
     {"arrays": []}],
)  # fmt: skip
def test_headers_of_any_kind_are_noticed(folders, forged):
    folder, expected = folders["budget"], ask("budget")
    victim = part_of(folder, "level2", "paths")

    def forge(path: Path) -> None:
        header, arrays = opened(path)
        told = {**header, **forged} if isinstance(forged, dict) and forged else forged
        sealed(path, told, arrays)

    found, kept = resumed("budget", folder, victim.name, forge)
    assert kept.damaged == [victim.name]
    assert_same(found, expected)


@settings(max_examples=150, deadline=None)
@given(data=st.data(), question=st.sampled_from(sorted(QUESTIONS)), stage=st.sampled_from(STAGES))
def test_no_entry_whatever_it_is_ends_the_process(folders, data, question, stage):
    """Numbers that are possible may be believed: then there is an answer, if another one."""
    folder = folders[question]
    victim = data.draw(st.sampled_from(sorted(folder.glob(f"{stage}-*"))))
    header, arrays = opened(victim)
    name = data.draw(st.sampled_from([name for name in arrays if arrays[name].size]))
    array = arrays[name]
    info = np.iinfo(array.dtype)
    places = data.draw(st.lists(st.integers(0, array.size - 1), min_size=1, max_size=3))
    for place in places:
        near = st.integers(-3, 3).map(lambda step, at=place: int(array.flat[at]) + step)
        anything = st.integers(int(info.min), int(info.max))
        value = data.draw(near | anything | st.integers(0, 20))
        array.flat[place] = min(max(value, int(info.min)), int(info.max))
    changed = not np.array_equal(array, opened(victim)[1][name])
    found, kept = resumed(question, folder, victim.name, lambda path: sealed(path, header, arrays))
    if kept.damaged or not changed:
        assert_same(found, ask(question))
    if changed and name in ("counts", "starts", "stops"):
        assert kept.damaged

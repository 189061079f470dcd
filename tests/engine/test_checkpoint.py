"""Checkpoints: what was kept is used again, what is damaged is not; the answer stays the same."""

import hashlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import adtc
from adtc.engine import fast
from adtc.engine.executors import checkpoint as checkpoints
from adtc.engine.executors.parts import content_key, first_features, paths_of_features
from adtc.engine.lattice import numbered_paths, path_counts, path_number
from adtc.engine.run import opened
from adtc.errors import DataError, LimitError, QueryError
from adtc.profiles.people.voting import votes_of

SPACE = adtc.Space(max_depth=4, minsup=2)
METRICS = ["size", "error"]
WHERE = "error <= 0.45 * N"


@pytest.fixture
def every_part(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep parts however little time they took."""
    monkeypatch.setattr(checkpoints, "_WORTH", 0.0)


@pytest.fixture(scope="module")
def data() -> adtc.Data:
    source = np.random.default_rng(5)
    return adtc.Data.from_arrays(source.integers(0, 2, (60, 8)), source.integers(0, 2, 60))


def profile(data: adtc.Data, folder: Path | None = None, **options: Any) -> fast.Result:
    given = {} if folder is None else {"checkpoint": adtc.Checkpoint(folder)}
    with opened(
        data, SPACE, {}, define=None, engine="fast", monitor=adtc.Monitor(**given, **options)
    ) as run:
        result = run.fast(run.narrowed(run.ask(where=WHERE, metrics=METRICS)))
    return result


def assert_same(one: fast.Result, other: fast.Result) -> None:
    assert np.array_equal(one.keys, other.keys)
    assert np.array_equal(one.values, other.values)
    assert one.circuit.cell_scan == other.circuit.cell_scan
    for a, b in zip(one.circuit.levels, other.circuit.levels, strict=True):
        assert np.array_equal(a.stops - a.starts, b.stops - b.starts)
        for path in np.flatnonzero(a.stops > a.starts):
            ours, theirs = (
                slice(a.starts[path], a.stops[path]),
                slice(b.starts[path], b.stops[path]),
            )
            for mine, yours in zip(a.cells, b.cells, strict=True):
                assert np.array_equal(mine[ours], yours[theirs])


@pytest.mark.usefixtures("every_part")
@pytest.mark.parametrize("threads", [1, 2])
def test_a_resumed_run_has_the_same_circuit(data, tmp_path, threads):
    plain = profile(data, threads=1)
    first = profile(data, tmp_path, threads=threads)
    kept = sorted(path.name for path in tmp_path.iterdir())
    assert {name.split("-")[0] for name in kept} == {"inside", "level0", "level1", "level2"}
    for path in list(tmp_path.iterdir())[::2]:
        path.unlink()
    again = profile(data, tmp_path, threads=threads)
    assert_same(plain, first)
    assert_same(plain, again)


@pytest.mark.usefixtures("every_part")
@settings(max_examples=20, deadline=None)
@given(
    seed=st.integers(0, 999),
    features=st.integers(1, 6),
    depth=st.integers(0, 5),
    minsup=st.integers(0, 3),
)
def test_any_part_may_be_missing(seed, features, depth, minsup):
    source = np.random.default_rng(seed)
    X, y = source.integers(0, 2, (20, features)), source.integers(0, 3, 20)
    data, space = adtc.Data.from_arrays(X, y), adtc.Space(max_depth=depth, minsup=minsup)
    where = "error <= 12"
    expected = adtc.count(data, space, where)
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(2):
            kept = adtc.Checkpoint(folder)
            monitor = adtc.Monitor(checkpoint=kept)
            assert adtc.count(data, space, where, monitor=monitor) == expected
            assert kept.damaged == []
            for path in Path(folder).iterdir():
                if source.integers(2):
                    path.unlink()


def assert_taken(data: adtc.Data, folder: Path, space: adtc.Space, **asked: Any) -> adtc.Profile:
    """Ask twice: the second time all parts are there, and none is doubted."""
    plain = adtc.profile(data, space, **asked)
    for _ in range(2):
        kept = adtc.Checkpoint(folder)
        found = adtc.profile(data, space, **asked, monitor=adtc.Monitor(checkpoint=kept))
        assert np.array_equal(found.keys, plain.keys)
        assert np.array_equal(found.trees, plain.trees)
        assert kept.damaged == []
    assert kept.reused > kept.written == 0
    return plain


@pytest.mark.usefixtures("every_part")
@pytest.mark.parametrize("space", [
    adtc.Space(max_depth=4, minsup=0),
    adtc.Space(max_depth=4, minsup=9),
    adtc.Space(max_depth=4, trivial_splits=False, labels="majority"),
    adtc.Space(max_depth=4, minsup=2, max_size=5, root=("f0", "f3")),
    adtc.Space(max_depth=3, min_leaf_share="0.5"),
])  # fmt: skip
@pytest.mark.parametrize("where", [None, "error <= 30", "error <= 30 and size >= 3"])
def test_parts_of_all_spaces_are_taken_for_what_they_are(data, tmp_path, space, where):
    assert_taken(data, tmp_path, space, metrics=["size", "error", "fpr"], where=where)


@pytest.mark.usefixtures("every_part")
@pytest.mark.parametrize("where", [None, "bacc >= 0.6"])
def test_parts_with_wide_keys_are_taken_for_what_they_are(tmp_path, where):
    source = np.random.default_rng(0)
    X, z = source.integers(0, 2, (24, 4)), source.integers(0, 2, 24)
    y, weights = X[:, 0] ^ (source.random(24) < 0.3), source.integers(1, 2**24, 24)
    data = adtc.Data.from_arrays(X, y, z=z, weights=weights)
    metrics = ["size", "acc", "bacc", "dp", "eodd_sum"]
    made = assert_taken(data, tmp_path, adtc.Space(max_depth=3), metrics=metrics, where=where)
    assert made.keys.ndim == 2


@pytest.mark.usefixtures("every_part")
@pytest.mark.parametrize("ask", ["count", "exists", "optimize", "profile"])
def test_all_questions_use_their_parts_again(data, tmp_path, ask):
    def answer(folder: Path | None) -> tuple[Any, dict[str, Any]]:
        kept = None if folder is None else adtc.Checkpoint(folder)
        monitor = adtc.Monitor(checkpoint=kept)
        if ask == "optimize":
            best = adtc.optimize(data, SPACE, monitor=monitor)
            return (best.value, best.tree), best.record.details
        if ask == "profile":
            made = adtc.profile(data, SPACE, METRICS, where=WHERE, monitor=monitor)
            return votes_of(made).counts.tolist(), made.record.details
        found = getattr(adtc, ask)(data, SPACE, WHERE, monitor=monitor)
        return (found.tree if ask == "exists" else found), found.record.details

    expected, untold = answer(None)
    _, first = answer(tmp_path)
    found, details = answer(tmp_path)
    assert found == expected
    assert "checkpoint" not in untold
    assert first["checkpoint"]["written"] > 0
    assert details["checkpoint"] == {"reused": first["checkpoint"]["written"], "written": 0}


def _truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-7])


def _flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def _empty(path: Path) -> None:
    path.write_bytes(b"")


def _exchange(path: Path) -> None:
    other = next(p for p in sorted(path.parent.iterdir(), reverse=True) if p != path)
    shutil.copy(other, path)


def _forge(path: Path) -> None:
    content = path.read_bytes()[:-32].replace(b"'fortran_order': False", b"'fortran_order': (False")
    path.write_bytes(content + hashlib.sha256(content).digest())


@pytest.mark.usefixtures("every_part")
@pytest.mark.parametrize("spoil", [_truncate, _flip, _empty, _exchange, _forge])
def test_a_damaged_or_foreign_part_is_computed_anew_and_told(data, tmp_path, spoil):
    expected = profile(data, tmp_path)
    victim = min(tmp_path.iterdir())
    spoil(victim)
    kept = adtc.Checkpoint(tmp_path)
    number = adtc.profile(data, SPACE, METRICS, where=WHERE, monitor=adtc.Monitor(checkpoint=kept))
    assert number.count == expected.total
    assert kept.damaged == [victim.name]
    told = number.record.details["checkpoint"]
    assert told["notes"] == [
        f"the checkpoint '{victim.name}' was damaged or of another run, and was computed anew."
    ]
    assert kept.written > 0  # and is kept again
    assert_same(profile(data, tmp_path), expected)


@pytest.mark.usefixtures("every_part")
def test_parts_of_other_questions_lie_side_by_side_and_are_left_alone(data, tmp_path):
    adtc.count(data, SPACE, WHERE, monitor=adtc.Monitor(checkpoint=adtc.Checkpoint(tmp_path)))
    kept = adtc.Checkpoint(tmp_path)
    other = "error <= 0.4 * N"
    assert adtc.count(data, SPACE, other, monitor=adtc.Monitor(checkpoint=kept)) == adtc.count(
        data, SPACE, other
    )
    assert kept.damaged == []
    flipped = adtc.Data.from_arrays(data.dense(), 1 - np.asarray(data.y))
    kept = adtc.Checkpoint(tmp_path)
    adtc.count(flipped, SPACE, WHERE, monitor=adtc.Monitor(checkpoint=kept))
    assert kept.reused == 0


@pytest.mark.usefixtures("every_part")
def test_a_full_disk_costs_the_checkpoints_only(data, tmp_path, monkeypatch):
    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    kept = adtc.Checkpoint(tmp_path)
    number = adtc.count(data, SPACE, WHERE, monitor=adtc.Monitor(checkpoint=kept))
    assert number == adtc.count(data, SPACE, WHERE)
    assert number.record.details["checkpoint"]["notes"] == [
        f"no more checkpoints are kept in '{tmp_path}', because no space left on device; the run "
        f"goes on without them."
    ]
    assert not list(tmp_path.iterdir())


def test_folders_that_are_none_of_ours_are_refused(tmp_path):
    (tmp_path / "letters.txt").write_text("dear")
    with pytest.raises(QueryError, match=r"holds other files, such as 'letters.txt'"):
        adtc.Checkpoint(tmp_path)
    with pytest.raises(QueryError, match="nothing to resume"):
        adtc.Checkpoint(tmp_path / "new", resume=True)
    assert not (tmp_path / "new").exists()
    with pytest.raises(DataError, match="cannot keep checkpoints"):
        adtc.Checkpoint(tmp_path / "letters.txt")
    adtc.Checkpoint(tmp_path / "made" / "on the way")


def test_little_work_is_not_kept(data, tmp_path):
    profile(data, tmp_path)
    assert not list(tmp_path.iterdir())


@pytest.mark.usefixtures("every_part")
def test_a_run_out_of_time_goes_on_where_it_stopped(data, tmp_path):
    finished = 0

    def stop(stage: str, done: int, total: int) -> None:
        nonlocal finished
        finished += stage.startswith("parts of level2")
        if finished == 3:
            monitor.control.set_time_limit(0.0)

    monitor = adtc.Monitor(progress=stop, checkpoint=adtc.Checkpoint(tmp_path), threads=1)
    with pytest.raises(LimitError):
        adtc.count(data, SPACE, WHERE, monitor=monitor)
    kept = adtc.Checkpoint(tmp_path, resume=True)
    assert adtc.count(data, SPACE, WHERE, monitor=adtc.Monitor(checkpoint=kept)) == adtc.count(
        data, SPACE, WHERE
    )
    assert kept.reused > 3


@settings(max_examples=30)
@given(n=st.integers(1, 7), depth=st.integers(2, 6))
def test_paths_are_listed_by_their_first_feature(n, depth):
    lattice = numbered_paths(n, depth)
    for level in range(1, lattice.levels + 1):
        first = first_features(lattice, level)
        assert len(first) == path_counts(lattice)[level]
        path = tuple((f, f % 2 == 0) for f in range(n - level, n))
        assert first[path_number(lattice, path) - int(lattice.base[level])] == n - level
    counts = np.bincount(first_features(lattice, lattice.levels), minlength=n)
    assert paths_of_features(lattice) == (counts.tolist() if lattice.levels else [1])


def test_keys_tell_arrays_apart_that_have_the_same_bytes():
    one = np.arange(4)
    keys = {content_key(one), content_key(one.reshape(2, 2)), content_key(one.astype(np.uint64))}
    assert len(keys) == 3


RUN = """
import sys, adtc
from adtc.engine.executors import checkpoint
from adtc.engine.executors import parts
checkpoint._WORTH = 0.0
data = adtc.load_dataset("german-credit", nbins=2)
monitor = adtc.Monitor(threads=2, checkpoint=adtc.Checkpoint(sys.argv[1]))
space, where = adtc.Space(max_depth=4, relminsup=0.02), "acc >= 0.72"
profile = adtc.profile(data, space, ["size", "acc"], where=where, monitor=monitor)
print(profile.count, profile.record.details["checkpoint"]["reused"])
"""


@pytest.mark.parametrize("stage", ["inside", "level2", "level1"])
def test_a_killed_run_goes_on_with_the_same_answer(tmp_path, stage):
    expected = subprocess.run(
        [sys.executable, "-c", RUN, str(tmp_path / "whole")], capture_output=True, check=True
    )
    folder = tmp_path / "killed"
    run = subprocess.Popen([sys.executable, "-c", RUN, str(folder)], stdout=subprocess.DEVNULL)
    while run.poll() is None and not list(folder.glob(f"{stage}-*")):
        time.sleep(0.001)
    run.send_signal(signal.SIGKILL)
    run.wait()
    assert run.returncode == -signal.SIGKILL
    again = subprocess.run(
        [sys.executable, "-c", RUN, str(folder)], capture_output=True, check=True
    )
    (count, none), (same, reused) = expected.stdout.split(), again.stdout.split()
    assert (count, none) == (same, b"0")
    assert int(reused) > 0
    assert not list(folder.glob(".adtc-*"))

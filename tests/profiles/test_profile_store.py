"""A saved profile comes back as it was; a file that is not one is refused with one sentence."""

import copy
import hashlib
import io
import json
import os
import subprocess
import sys
import zipfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import adtc
from adtc.algebra.metrics import additive
from adtc.engine.walk import Walk
from adtc.engine.wide import counts_of
from adtc.profiles import store
from adtc.profiles.store import load_profile, save_profile
from strategies import problems


def small(rows=60):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (rows, 4))
    return adtc.Data.from_arrays(X, X[:, 0] ^ (rng.random(rows) < 0.2), z=rng.integers(0, 2, rows))


def made(**options):
    return adtc.profile(small(), adtc.Space(max_depth=2), ["size", "acc", "dp"], **options)


def assert_same(back, profile):
    assert list(back.axes) == list(profile.axes)
    for name, column in profile.axes.items():
        assert back.axes[name].dtype == column.dtype
        assert np.array_equal(back.axes[name], column)
    assert back.trees.dtype == profile.trees.dtype
    assert np.array_equal(back.trees, profile.trees)
    assert back.metrics == profile.metrics
    assert back.names == profile.names
    assert back.record == profile.record
    assert np.array_equal(back.keys, profile.keys)
    assert back.count == profile.count


def spoiled(path, content):
    path.write_bytes(content)
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("profiles")


@given(
    drawn=problems(),
    where=st.sampled_from([None, "error <= 3", "acc > 1"]),
    engine=st.sampled_from(["auto", "spec"]),
)
@settings(max_examples=40)
def test_profiles_come_back(folder, drawn, where, engine):
    table, space = drawn
    data = adtc.Data.from_arrays(table.rows, table.y, z=table.z, weights=table.weights)
    space = adtc.Space(
        max_depth=space.max_depth,
        minsup=space.support(table),
        max_size=space.max_size,
        labels=space.labels,
        trivial_splits=space.trivial_splits,
    )
    profile = adtc.profile(data, space, ["size", "bacc"], where=where, engine=engine)
    keeps = profile.source is not None
    back = load_profile(save_profile(profile, folder / "run.adtc", circuit=keeps))
    assert_same(back, profile)
    for formula in ("size <= 2", "bacc >= 0.5 or size = 1", "not bacc < 1/3"):
        assert back.where(formula).count == profile.where(formula).count
    if keeps:
        assert back.source.space == space
        assert back.source.data.fingerprint == data.fingerprint == back.record.data["fingerprint"]
        before, after = Walk(profile.source.circuit), Walk(back.source.circuit)
        for key in profile.keys.tolist():
            assert list(after.trees(key)) == list(before.trees(key))


def test_a_filtered_and_projected_profile_comes_back(tmp_path):
    profile = made().where("acc >= 0.7").project("acc - dp", "size")
    back = load_profile(profile.save(tmp_path / "run.adtc", circuit=True))
    assert_same(back, profile)
    assert back.values("acc - dp").distinct == profile.values("acc - dp").distinct
    assert back.source.circuit.root.keys.size > back.num_cells


def test_counts_beyond_a_word_and_axes_beyond_one_come_back(tmp_path):
    profile = made()
    trees = np.full((profile.num_cells, 3), 2**64 - 1, np.uint64)
    wide = {name: column.astype(object) * 10**30 for name, column in profile.axes.items()}
    profile = replace(profile, axes=wide, trees=trees)
    back = load_profile(profile.save(tmp_path / "run.adtc"))
    assert_same(back, profile)
    assert counts_of(back.trees)[0] == 2**192 - 1


def test_the_circuit_is_kept_on_request_only(tmp_path):
    profile = made()
    back = load_profile(profile.save(tmp_path / "run.adtc"))
    assert back.source is None
    with pytest.raises(adtc.ADTCError, match="circuit=True"):
        back.need_source("drawing")
    with pytest.raises(adtc.ADTCError, match="needs the circuit, which this profile has not"):
        back.save(tmp_path / "again.adtc", circuit=True)
    assert os.listdir(tmp_path) == ["run.adtc"]
    with zipfile.ZipFile(tmp_path / "run.adtc") as archive:
        assert archive.namelist() == ["mimetype", "cells.parquet", "manifest.json"]


def test_metrics_that_are_functions_are_kept_without_the_circuit(tmp_path):
    own = {"cost": additive("cost", lambda label, group: 3 * int(label != group.y))}
    profile = adtc.profile(small(), adtc.Space(max_depth=1), ["cost"], define=own)
    assert_same(load_profile(profile.save(tmp_path / "run.adtc")), profile)
    with pytest.raises(adtc.ADTCError, match="'cost' is defined by a Python function"):
        profile.save(tmp_path / "circuit.adtc", circuit=True)
    assert os.listdir(tmp_path) == ["run.adtc"]


def test_loading_without_a_circuit_needs_no_compiler(tmp_path):
    path = made().save(tmp_path / "run.adtc")
    lines = (
        "import sys",
        "from adtc.profiles.store import load_profile",
        f"found = load_profile({str(path)!r})",
        "assert found.where('acc >= 0.7').count > 0",
        "assert not {'numba', 'llvmlite'} & set(sys.modules)",
    )
    subprocess.run([sys.executable, "-c", "\n".join(lines)], check=True)


def test_a_kept_circuit_needs_no_compiler_until_a_tree_is_asked_for(tmp_path):
    path = made().save(tmp_path / "run.adtc", circuit=True)
    lines = (
        "import sys",
        "from adtc.profiles.store import load_profile",
        f"found = load_profile({str(path)!r})",
        "assert found.where('acc >= 0.7').count > 0",
        "source = found.need_source('drawing')",
        "assert (source.data.n_rows, source.space.max_depth) == (60, 2)",
        "assert not {'numba', 'llvmlite', 'pandas'} & set(sys.modules)",
        "assert found.tree(0).rank == 0",
        "assert 'numba' in sys.modules",
    )
    subprocess.run([sys.executable, "-c", "\n".join(lines)], check=True)


def test_threads_that_ask_at_once_get_one_circuit(tmp_path):
    source = load_profile(made().save(tmp_path / "run.adtc", circuit=True)).source
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: source.circuit, range(16)))
    assert all(circuit is found[0] for circuit in found)
    assert source._make is None  # what it was made of is let go


def test_a_loaded_source_can_be_copied(tmp_path):
    profile = made()
    back = load_profile(profile.save(tmp_path / "run.adtc", circuit=True))
    copied = copy.deepcopy(back)
    assert copied.source.circuit is not back.source.circuit
    assert [one.tree for one in copied.draw(5, seed=1)] == [
        one.tree for one in profile.draw(5, seed=1)
    ]


def test_nothing_inside_is_pickled(tmp_path):
    with zipfile.ZipFile(made().save(tmp_path / "run.adtc", circuit=True)) as archive:
        arrays = [name for name in archive.namelist() if name.endswith(".npy")]
        assert len(arrays) > 10
        for name in arrays:
            array = np.load(io.BytesIO(archive.read(name)), allow_pickle=False)
            assert array.dtype != object


# --- writing ----------------------------------------------------------------------------------


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError(28, "No space left on device")])
def test_an_interrupted_write_leaves_the_old_file_whole(tmp_path, monkeypatch, error):
    path = made(where="acc >= 0.7").save(tmp_path / "run.adtc")
    before = path.read_bytes()

    def interrupt(*_):
        raise error

    monkeypatch.setattr(store, "_encode", interrupt)
    kind = KeyboardInterrupt if error is KeyboardInterrupt else adtc.ADTCError
    with pytest.raises(kind) as caught:
        made().save(path)
    assert error is KeyboardInterrupt or "run.adtc': no space left" in str(caught.value)
    assert os.listdir(tmp_path) == ["run.adtc"]
    assert path.read_bytes() == before


def test_a_new_file_replaces_the_old_one_and_keeps_its_permissions(tmp_path):
    path = made(where="acc >= 0.7").save(tmp_path / "run.adtc")
    path.chmod(0o600)
    link = tmp_path / "link.adtc"
    link.symlink_to(path)
    profile = made()
    profile.save(link)
    assert link.is_symlink()
    assert_same(load_profile(path), profile)
    assert path.stat().st_mode & 0o777 == 0o600
    assert sorted(os.listdir(tmp_path)) == ["link.adtc", "run.adtc"]


def test_paths_that_cannot_be_written_are_named(tmp_path):
    profile = made()
    with pytest.raises(adtc.ADTCError, match=r"the folder '.*missing' does not exist"):
        profile.save(tmp_path / "missing" / "run.adtc")
    with pytest.raises(adtc.ADTCError, match=r"it is a folder"):
        profile.save(tmp_path)
    (tmp_path / "file").touch()
    with pytest.raises(adtc.ADTCError, match=r"the folder '.*file' does not exist"):
        profile.save(tmp_path / "file" / "run.adtc")
    with pytest.raises(adtc.ADTCError, match=r"cannot write .*: file name too long"):
        profile.save(tmp_path / ("x" * 300))
    assert os.listdir(tmp_path) == ["file"]


# --- reading ----------------------------------------------------------------------------------


def test_paths_that_cannot_be_read_are_named(tmp_path):
    with pytest.raises(adtc.ADTCError, match=r"there is no file '.*run.adtc'; give the path"):
        load_profile(tmp_path / "run.adtc")
    with pytest.raises(adtc.ADTCError, match="cannot be read: is a directory"):
        load_profile(tmp_path)


def other_zip():
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr("manifest.json", "{}")
    return content.getvalue()


@pytest.mark.parametrize("content", [b"", b"age,income\n1,2\n", b"PK\x03\x04", other_zip()])
def test_foreign_files_are_refused(tmp_path, content):
    with pytest.raises(adtc.ADTCError, match=r"run.adtc' is not a saved profile; give a file"):
        load_profile(spoiled(tmp_path / "run.adtc", content))


def test_truncated_files_are_refused(tmp_path):
    content = made().save(tmp_path / "run.adtc", circuit=True).read_bytes()
    for length in range(100, len(content), len(content) // 20):
        with pytest.raises(adtc.ADTCError, match="is damaged and cannot be loaded"):
            load_profile(spoiled(tmp_path / "cut.adtc", content[:length]))


@pytest.mark.parametrize("circuit", [False, True])
def test_a_wrong_byte_is_noticed_or_harmless(tmp_path, circuit):
    data = small(20)
    profile = adtc.profile(data, adtc.Space(max_depth=1), ["size", "acc"])
    content = bytearray(profile.save(tmp_path / "run.adtc", circuit=circuit).read_bytes())
    path, noticed = tmp_path / "wrong.adtc", 0
    for at in range(0, len(content), 50 if circuit else 5):
        for mask in (0xFF, 0x01, 0x08):
            content[at] ^= mask
            try:
                assert_same(load_profile(spoiled(path, content)), profile)
            except adtc.ADTCError:
                noticed += 1
            content[at] ^= mask
    assert noticed > 50


def rewritten(path, change):
    """Change the members of a saved file; each of them stays readable."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    change(members)
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


def with_manifest(**entries):
    def change(members):
        manifest = json.loads(members["manifest.json"])
        members["manifest.json"] = json.dumps(manifest | entries).encode()

    return change


def test_a_newer_format_says_what_to_do(tmp_path):
    path = made().save(tmp_path / "run.adtc")
    rewritten(path, with_manifest(version=2, adtc="9.1", members=None, record="different"))
    sentence = (
        rf"was made by adtc 9\.1 in format 2; this is adtc {adtc.__version__}, which reads up to "
        r"format 1: upgrade adtc\."
    )
    with pytest.raises(adtc.ADTCError, match=sentence):
        load_profile(path)


def test_a_record_that_tells_more_is_read(tmp_path):
    profile = made()
    path = profile.save(tmp_path / "run.adtc")
    rewritten(path, with_manifest(record=profile.record.to_json() | {"weather": "fine"}))
    assert_same(load_profile(path), profile)


@pytest.mark.parametrize(
    "change",
    [
        with_manifest(version="x"),
        with_manifest(metrics={"acc": ["%"]}),
        with_manifest(record=[]),
        with_manifest(members={}),
        lambda members: members.pop("manifest.json"),
        lambda members: members.pop("circuit/level0.keys.npy"),
        lambda members: members.update({"manifest.json": b"[" * 10**5}),
        lambda members: members.update({"cells.parquet": b"another"}),
        lambda members: members.update({"circuit/level0.keys.npy": b"another"}),
        # well formed, so that only its checksum tells
        lambda members: members.update({"data/y.npy": members["data/z.npy"]}),
    ],
)
def test_members_that_do_not_fit_are_refused(tmp_path, change):
    path = made().save(tmp_path / "run.adtc", circuit=True)
    with pytest.raises(adtc.ADTCError, match="is damaged and cannot be loaded"):
        load_profile(rewritten(path, change))


def test_a_circuit_of_a_wrong_maker_is_refused_when_a_tree_is_asked_for(tmp_path):
    def change(members):
        """Give a level fewer cells than it has places for, with the right checksum."""
        name = "circuit/level0.keys.npy"
        keys, content = np.load(io.BytesIO(members[name])), io.BytesIO()
        np.save(content, keys[:-1])
        members[name] = content.getvalue()
        manifest = json.loads(members["manifest.json"])
        manifest["members"][name] = hashlib.sha256(members[name]).hexdigest()
        members["manifest.json"] = json.dumps(manifest).encode()

    path = rewritten(made().save(tmp_path / "run.adtc", circuit=True), change)
    loaded = load_profile(path)
    assert loaded.count == made().count
    for _ in range(2):  # it stays refused
        with pytest.raises(adtc.ADTCError, match=r"run\.adtc' is damaged and cannot be loaded"):
            loaded.draw(1, seed=0)


def test_the_circuit_can_be_left_in_the_file(tmp_path):
    data = adtc.Data.from_arrays([[1, 0], [1, 1], [0, 1]], [1, 1, 0])
    profile = adtc.profile(data, adtc.Space(max_depth=1), ["size", "error"])
    path = profile.save(tmp_path / "run.adtc", circuit=True)
    loaded = adtc.load_profile(path, circuit=False)
    assert loaded.source is None
    assert loaded.count == profile.count
    assert adtc.load_profile(path).draw(1, seed=0)[0].tree == profile.draw(1, seed=0)[0].tree

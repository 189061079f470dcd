"""A saved profile comes back as it was; a file that is not one is refused with one sentence."""

import copy
import hashlib
import io
import json
import os
import subprocess
import sys
import warnings
import zipfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import adtc
from adtc.algebra.metrics import additive
from adtc.engine.exact.limbs import counts_of
from adtc.engine.ranks import Ranks
from adtc.profiles.saved import archive
from adtc.profiles.saved.store import load_profile, save_profile
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
        before, after = Ranks(profile.source.circuit), Ranks(back.source.circuit)
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
    trees = np.full((len(profile.trees), 3), 2**64 - 1, np.uint64)
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


def test_a_kept_circuit_is_put_together_when_a_tree_is_asked_for(tmp_path):
    source = load_profile(made().save(tmp_path / "run.adtc", circuit=True)).source
    assert (source.data.n_rows, source.space.max_depth) == (60, 2)
    assert source._make is not None
    assert len(source.circuit.levels) == 1
    assert source._make is None


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

    monkeypatch.setattr(archive, "encode", interrupt)
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
        with pytest.raises(adtc.ADTCError, match="is damaged, or was changed after it was saved"):
            load_profile(spoiled(tmp_path / "cut.adtc", content[:length]))


@pytest.mark.parametrize("circuit", [False, True])
def test_every_wrong_byte_is_noticed(tmp_path, circuit):
    data = small(20)
    profile = adtc.profile(data, adtc.Space(max_depth=1), ["size", "acc"])
    content = bytearray(profile.save(tmp_path / "run.adtc", circuit=circuit).read_bytes())
    path = tmp_path / "wrong.adtc"
    for at in range(0, len(content), 37 if circuit else 3):
        for mask in (0xFF, 0x01, 0x08):
            content[at] ^= mask
            with pytest.raises(adtc.ADTCError, match=r"wrong\.adtc'"):
                load_profile(spoiled(path, content))
            content[at] ^= mask
    for longer in (content + b" ", b" " + content, content + content):
        with pytest.raises(adtc.ADTCError):
            load_profile(spoiled(path, longer))
    assert_same(load_profile(spoiled(path, content)), profile)


def members_of(path):
    with zipfile.ZipFile(path) as saved:
        return {name: saved.read(name) for name in saved.namelist()}


def forged(path, change):
    """Change the members of a saved file and seal it again, as a careful forger would."""
    members = members_of(path)
    change(members)
    manifest = json.loads(members.pop("manifest.json"))
    members.pop("mimetype")
    with path.open("wb") as file:
        archive.write_archive(file, members.items(), manifest)
    return path


def with_manifest(**entries):
    def change(members):
        manifest = json.loads(members["manifest.json"])
        members["manifest.json"] = json.dumps(manifest | entries).encode()

    return change


def with_record(part, **entries):
    """Change a part of the record."""

    def change(members):
        manifest = json.loads(members["manifest.json"])
        if part is None:
            manifest["record"] |= entries
        else:
            manifest["record"][part] |= entries
        members["manifest.json"] = json.dumps(manifest).encode()

    return change


def with_plain(member, *keys, value):
    """Change an entry of a JSON member."""

    def change(members):
        content = json.loads(members[member])
        inner = content
        for key in keys[:-1]:
            inner = inner[key]
        inner[keys[-1]] = value
        members[member] = json.dumps(content).encode()

    return change


def with_array(name, change_it):
    """Change an array, in place or into another."""

    def change(members):
        array, content = np.load(io.BytesIO(members[name])), io.BytesIO()
        changed = change_it(array)
        np.save(content, array if changed is None else changed)
        members[name] = content.getvalue()

    return change


def with_cells(change_it):
    """Change the table of cells."""

    def change(members):
        columns = pq.read_table(io.BytesIO(members["cells.parquet"])).to_pydict()
        columns = {name: np.array(column) for name, column in columns.items()}
        rows = len(change_it(columns) or columns["key"])
        fields = [pa.field(name, pa.array(c).type, nullable=False) for name, c in columns.items()]
        content = io.BytesIO()
        table = pa.table(list(map(pa.array, columns.values())), schema=pa.schema(fields))
        pq.write_table(
            table, content, compression="none", use_dictionary=False, column_encoding="PLAIN"
        )
        members["cells.parquet"] = content.getvalue()
        with_manifest(cells=rows)(members)

    return change


def unsealed(path, change):
    """Change the members of a saved file without a digest at its end."""
    members = members_of(path)
    change(members)
    with zipfile.ZipFile(path, "w") as saved:
        for name, content in members.items():
            saved.writestr(name, content)
    return path


@pytest.mark.parametrize(
    ("version", "sentence"),
    [
        (3, r"was made by adtc 9\.1 in format 3; this is adtc .*, which reads format 2: upgrade"),
        (1, r"was saved by adtc 9\.1 in format 1, which does not show .*: make the profile anew"),
    ],
)
def test_another_format_says_what_to_do(tmp_path, version, sentence):
    path = made().save(tmp_path / "run.adtc")
    change = with_manifest(version=version, adtc="9.1", members=None, record="different")
    with pytest.raises(adtc.ADTCError, match=sentence):
        load_profile(unsealed(path, change))


def test_a_file_without_a_digest_is_refused(tmp_path):
    path = unsealed(made().save(tmp_path / "run.adtc"), lambda members: None)
    with pytest.raises(adtc.ADTCError, match="its SHA-256 is not the one at its end"):
        load_profile(path)


def test_a_record_that_tells_more_is_read(tmp_path):
    profile = made()
    path = forged(profile.save(tmp_path / "run.adtc"), with_record(None, weather="fine"))
    assert_same(load_profile(path), profile)


def test_a_forger_who_changes_nothing_is_not_noticed(tmp_path):
    profile = made(where="acc >= 0.6", define={"cost": "N01 + 5 * N10"})
    path = forged(profile.save(tmp_path / "run.adtc", circuit=True), lambda members: None)
    assert_same(load_profile(path), profile)


def plus_one(array):
    array[0] += 1


FORGERIES = {
    "where": (with_record("question", where="acc >= 0.7"), "the formula of its record and of its"),
    "no where": (with_record("question", where=None), "the formula of its record and of its"),
    "unknown name": (with_record("question", where="nice >= 1"), "cannot be asked: unknown metric"),
    "least": (
        with_record("question", where="error <= 2 * least(error)"),
        "the formula of its record and of its",
    ),
    "metrics": (with_record("question", metrics=["size", "f1", "dp"]), "the metrics of its record"),
    "support": (with_record("conventions", min_rows_per_leaf=5), "min_rows_per_leaf: 5"),
    "depth": (with_record("conventions", max_depth=3), "max_depth: 3"),
    "labels": (with_record("conventions", labels="majority"), "labels: majority"),
    "rows": (with_record("data", rows=70), "rows: 70"),
    "name": (with_record("data", name="another table"), "name: another table"),
    "fingerprint": (with_record("data", fingerprint="0" * 64), "fingerprint: 000"),
    "status": (with_record(None, status="bounded"), "the status of its record"),
    "cost": (with_record(None, cell_scan=7), "the cost of its record"),
    "space of the circuit": (
        with_plain("circuit.json", "asked", "max_depth", value=3),
        "max_depth: 2",
    ),
    "inner space of the circuit": (
        with_plain("circuit.json", "space", "max_depth", value=3),
        "the space of its record and of its circuit differ",
    ),
    "axis of the circuit": (
        with_plain("circuit.json", "plan", "axes", 0, 1, value=-5),
        "the axes of its circuit",
    ),
    "labels of rows": (with_array("data/y.npy", lambda y: 1 - y), "fingerprint"),
    "trees": (with_cells(lambda c: plus_one(c["trees 0"])), "the numbers of trees in its cells"),
    "trees of the circuit": (
        with_array("circuit/level0.values.npy", plus_one),
        "the numbers of trees in its cells",
    ),
    "key": (with_cells(lambda c: plus_one(c["key"])), "its cells are not those of its circuit"),
    "axis": (with_cells(lambda c: plus_one(c["axis k0"])), "the values in its cells are not"),
    "cells left out": (
        with_cells(lambda c: c.update({name: col[1:] for name, col in c.items()})),
        "1 cells of its circuit are missing",
    ),
    "metric's term": (
        with_manifest(metrics={"size": "k0", "acc": "k0", "dp": "k0"}),
        "is computed in another way",
    ),
    "metric's name": (
        with_manifest(metrics={"f1": "k0"}),
        "its metric 'f1' is not among those asked for",
    ),
    "metric that is none": (with_manifest(metrics={"acc": ["%"]}), "it cannot be unpacked"),
    "metric of other cells": (
        with_manifest(metrics={"size": "k0", "acc": "k0 + sizee"}),
        "its metrics are not computed from its cells",
    ),
    "no record": (with_manifest(record=[]), "it cannot be unpacked"),
    "record without rows": (
        with_manifest(record={"data": {"rows": None}}),
        "it cannot be unpacked|its record does not tell the number of rows",
    ),
    "number of rows": (with_manifest(cells=7), "another number of rows than told"),
    "no circuit array": (
        lambda members: members.pop("circuit/level0.keys.npy"),
        "circuit/level0.keys.npy is missing",
    ),
    "no table": (lambda members: members.pop("cells.parquet"), "cells.parquet is missing"),
    "other table": (
        lambda members: members.update({"cells.parquet": b"another"}),
        "it cannot be unpacked",
    ),
    "array of objects": (
        lambda members: members.update({"data/y.npy": objects()}),
        "the array data/y.npy has another size than told",
    ),
}


def objects():
    content = io.BytesIO()
    np.save(content, np.array([{}], object), allow_pickle=True)
    return content.getvalue()


@pytest.mark.parametrize(("change", "reason"), FORGERIES.values(), ids=FORGERIES)
def test_a_forged_file_is_refused_though_its_digest_is_right(tmp_path, change, reason):
    path = forged(made(where="acc >= 0.6").save(tmp_path / "run.adtc", circuit=True), change)
    sentence = rf"run\.adtc' is damaged, or was changed after it was saved: .*{reason}"
    for circuit in (True, False):
        with pytest.raises(adtc.ADTCError, match=sentence):
            load_profile(path, circuit=circuit)


def test_values_of_all_trees_are_found_again(tmp_path):
    profile = made(where="error <= 1.2 * least(error)")
    path = profile.save(tmp_path / "run.adtc", circuit=True)
    assert_same(load_profile(path), profile)
    forged(path, with_record("details", extremes={"least(error)": "7"}))
    with pytest.raises(adtc.ADTCError, match="the least values of its record"):
        load_profile(path)


# --- sizes ------------------------------------------------------------------------------------


def zeros(size):
    """Write the header of a large array of zeros, and them, a part at a time."""
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        header, {"descr": "|u1", "fortran_order": False, "shape": (size,)}
    )
    return header.getvalue()


def test_a_bomb_is_refused_before_it_is_unpacked(tmp_path, monkeypatch):
    path, size = made().save(tmp_path / "run.adtc", circuit=True), 2**28
    members = members_of(path)
    manifest = json.loads(members["manifest.json"])
    manifest["members"]["data/y.npy"] = len(zeros(size)) + size
    members["manifest.json"] = json.dumps(manifest).encode()
    with zipfile.ZipFile(path, "w") as saved:
        for name, content in members.items():
            entry = zipfile.ZipInfo(name)
            if name != "mimetype":
                entry.compress_type = zipfile.ZIP_DEFLATED
            with saved.open(entry, "w") as member:
                member.write(zeros(size) if name == "data/y.npy" else content)
                for _ in range(size >> 20 if name == "data/y.npy" else 0):
                    member.write(bytes(1 << 20))
        saved.comment = archive._COMMENT + bytes(64)
    seal(path)
    assert path.stat().st_size < 2**20
    monkeypatch.setattr(archive.Archive, "_array", lambda *_: pytest.fail("was unpacked"))
    with pytest.raises(
        adtc.ADTCError, match=r"it would unpack to 268,\d+,\d+ bytes, more than 100"
    ):
        load_profile(path)


def seal(path):
    content = path.read_bytes()[:-64]
    path.write_bytes(content + hashlib.sha256(content).hexdigest().encode())


def resealed(path, change):
    """Change the bytes of a file and its digest."""
    content = bytearray(path.read_bytes())
    change(content)
    path.write_bytes(content)
    seal(path)
    return path


def test_a_member_larger_than_told_is_not_read(tmp_path):
    def smaller(content):
        """Tell half the size of the table, where the list of members does."""
        at = content.rindex(b"cells.parquet") - 46 + 24
        size = int.from_bytes(content[at : at + 4], "little")
        content[at : at + 4] = (size // 2).to_bytes(4, "little")

    path = resealed(made().save(tmp_path / "run.adtc"), smaller)
    with pytest.raises(adtc.ADTCError, match="its members are not those that its manifest lists"):
        load_profile(path)


def test_an_unlisted_or_repeated_member_is_refused(tmp_path):
    for name in ("extra.txt", "cells.parquet", "mimetype"):
        path = made().save(tmp_path / "run.adtc")
        with zipfile.ZipFile(path, "a") as saved, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a repeated name
            saved.writestr(name, b"more")
        seal(path)
        with pytest.raises(adtc.ADTCError, match="its members are not those that its manifest"):
            load_profile(path)


def test_a_header_that_lies_is_refused(tmp_path):
    def larger(members):
        members["data/y.npy"] = members["data/y.npy"].replace(b"(60,)", b"(99,)")

    path = forged(made().save(tmp_path / "run.adtc", circuit=True), larger)
    with pytest.raises(adtc.ADTCError, match=r"the array data/y\.npy has another size than told"):
        load_profile(path)


def test_a_packed_table_is_refused(tmp_path):
    def packed(members):
        table, content = pq.read_table(io.BytesIO(members["cells.parquet"])), io.BytesIO()
        pq.write_table(table, content, compression="zstd")
        members["cells.parquet"] = content.getvalue()

    path = forged(made().save(tmp_path / "run.adtc"), packed)
    with pytest.raises(adtc.ADTCError, match="its table of cells is packed"):
        load_profile(path)


def test_a_packing_that_there_is_not_is_refused_and_does_not_end_the_process(tmp_path):
    def unknown(members):  # in Thrift: field 4, a number of 32 bits, none of the known codecs
        cells = members["cells.parquet"]
        packed = b"key\x15\x00"
        assert packed in cells
        members["cells.parquet"] = cells.replace(packed, b"key\x15\x7e")

    path = forged(made().save(tmp_path / "run.adtc"), unknown)
    code = "import sys, adtc; adtc.load_profile(sys.argv[1])"
    done = subprocess.run(
        [sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "run.adtc' is damaged, or was changed after it was saved" in done.stderr


def _other_counts(members):
    content = io.BytesIO()
    np.save(content, 0 * np.load(io.BytesIO(members["circuit/inside.counts.npy"])))
    members["circuit/inside.counts.npy"] = content.getvalue()


def _other_twins(members):
    told = json.loads(members["circuit.json"])
    told["twins"][0][0][1] = [[]]
    members["circuit.json"] = json.dumps(told).encode()


@pytest.mark.parametrize("change", [_other_counts, _other_twins])
def test_drawing_from_a_forged_circuit_is_refused_in_one_sentence(tmp_path, change):
    path = forged(made().save(tmp_path / "run.adtc", circuit=True), change)
    with pytest.raises(adtc.errors.DataError, match=r"run\.adtc' is damaged, or was changed"):
        load_profile(path).draw(50, seed=0)


def test_what_packs_well_is_saved_so_that_it_can_be_loaded(tmp_path, monkeypatch):
    monkeypatch.setattr(archive, "_FREE", 1000)
    data = adtc.Data.from_arrays(np.tile([[1], [0]], (50_000, 1)), np.tile([1, 0], 50_000))
    profile = adtc.profile(data, adtc.Space(max_depth=1), ["size", "error"])
    path = profile.save(tmp_path / "run.adtc", circuit=True)
    with zipfile.ZipFile(path) as saved:
        kinds = {entry.compress_type for entry in saved.infolist()}
    assert kinds == {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}
    assert_same(load_profile(path), profile)


def test_a_profile_goes_through_a_pipe(tmp_path):
    profile, pipe = made(), tmp_path / "pipe"
    os.mkfifo(pipe)
    with ThreadPoolExecutor(1) as pool:
        arrived = pool.submit(pipe.read_bytes)
        profile.save(pipe)
    assert_same(load_profile(spoiled(tmp_path / "run.adtc", arrived.result())), profile)


def test_a_circuit_of_a_wrong_maker_is_refused_when_a_tree_is_asked_for(tmp_path):
    # fewer cells than there are places for, below the root
    change = with_array("circuit/level0.costs.npy", lambda costs: costs[:-1])
    path = forged(made().save(tmp_path / "run.adtc", circuit=True), change)
    loaded = load_profile(path)
    assert loaded.count == made().count
    for _ in range(2):  # it stays refused
        with pytest.raises(adtc.ADTCError, match=r"run\.adtc' is damaged, or was changed"):
            loaded.draw(1, seed=0)


def test_the_circuit_can_be_left_in_the_file(tmp_path):
    data = adtc.Data.from_arrays([[1, 0], [1, 1], [0, 1]], [1, 1, 0])
    profile = adtc.profile(data, adtc.Space(max_depth=1), ["size", "error"])
    path = profile.save(tmp_path / "run.adtc", circuit=True)
    loaded = adtc.load_profile(path, circuit=False)
    assert loaded.source is None
    assert loaded.count == profile.count
    assert adtc.load_profile(path).draw(1, seed=0)[0].tree == profile.draw(1, seed=0)[0].tree

"""What verifying a saved profile says it checked, what it could not, and what it refuses."""

import json

import numpy as np
import pytest
from click.testing import CliRunner
from test_profile_store import (
    FORGERIES,
    forged,
    made,
    plus_one,
    unsealed,
    with_array,
    with_cells,
    with_manifest,
)

import adtc
from adtc.cli import main


def run(*args):
    return CliRunner().invoke(main, ["verify", *map(str, args)])


def test_a_file_with_its_circuit_is_checked_throughout(tmp_path):
    path = made(where="acc >= 0.6").save(tmp_path / "run.adtc", circuit=True)
    found = adtc.verify(path)
    assert found
    assert found.reason is None
    told = "\n".join(found.checked)
    for part in ("SHA-256", "sizes", "fingerprint", "conventions", "question", "circuit's root"):
        assert part in told
    count = made(where="acc >= 0.6").count
    assert f"counted again from the rows: the same {count:,} trees" in told
    assert "signed" in found.unchecked[-1]


def test_what_a_file_without_its_circuit_cannot_show_is_said(tmp_path):
    found = adtc.verify(made().save(tmp_path / "run.adtc"))
    assert found.valid
    assert "which the file does not hold" in found.unchecked[0]
    assert not any("fingerprint" in line for line in found.checked)


def test_counting_again_is_left_out_on_request_or_by_a_limit(tmp_path):
    path = made().save(tmp_path / "run.adtc", circuit=True)
    assert "were not counted again" in adtc.verify(path, recount=False).unchecked[0]
    small = adtc.Monitor(memory_limit=1)
    assert "the number of trees: " in adtc.verify(path, monitor=small).unchecked[0]


def test_a_filtered_profile_says_so(tmp_path):
    profile = made().where("acc >= 0.7").project("acc - dp", "size")
    found = adtc.verify(profile.save(tmp_path / "run.adtc", circuit=True))
    assert found.valid
    kept = f"filtered after the run, {len(profile.trees):,} of {len(made().trees):,}"
    assert any(kept in line for line in found.checked)


def both(*changes):
    def change(members):
        for one in changes:
            one(members)

    return change


def test_a_number_forged_in_cells_and_circuit_is_found_by_counting(tmp_path):
    def more(values):
        order = np.argsort(levels["keys"], kind="stable")
        values[order[0]] += 1

    levels = {}

    def note(members):
        with_array("circuit/level0.keys.npy", lambda keys: levels.update(keys=keys.copy()))(members)

    change = both(
        note,
        with_array("circuit/level0.values.npy", more),
        with_cells(lambda cells: plus_one(cells["trees 0"])),
    )
    path = forged(made().save(tmp_path / "run.adtc", circuit=True), change)
    assert adtc.load_profile(path).count == made().count + 1  # it fits together
    found = adtc.verify(path)
    assert not found.valid
    assert "counted again from its rows, its cells have other numbers" in found.reason


@pytest.mark.parametrize("name", ["where", "support", "trees", "other table"])
def test_a_forged_file_is_not_valid(tmp_path, name):
    change, reason = FORGERIES[name]
    path = forged(made(where="acc >= 0.6").save(tmp_path / "run.adtc", circuit=True), change)
    found = adtc.verify(path)
    assert not found
    assert reason in found.reason
    assert any("SHA-256" in line for line in found.checked)  # what was right before is told


def test_the_command_tells_programs_and_people(tmp_path):
    path = made().save(tmp_path / "run.adtc", circuit=True)
    given = run(path, "--json")
    assert given.exit_code == 0
    assert json.loads(given.stdout) == adtc.verify(path).to_json()
    shown = run(path)
    assert shown.stdout == f"{adtc.verify(path)}\n"
    assert shown.stdout.startswith(f"valid: {path}\n  checked: ")


def test_a_refused_file_gives_exit_code_1(tmp_path):
    path = made().save(tmp_path / "run.adtc")
    content = bytearray(path.read_bytes())
    content[200] ^= 1
    path.write_bytes(content)
    given = run(path, "--json", "-o", tmp_path / "out.json")
    assert (given.exit_code, given.stderr) == (1, "")
    told = json.loads(given.stdout)
    assert told["valid"] is False
    assert "SHA-256" in told["reason"]
    assert json.loads((tmp_path / "out.json").read_text()) == told
    assert run(path).exit_code == 1


def test_what_is_no_saved_profile_is_a_mistake(tmp_path):
    (tmp_path / "table.csv").write_text("a,y\n1,0\n")
    change = with_manifest(version=1)
    old = unsealed(made().save(tmp_path / "old.adtc"), change)
    for path, sentence in (
        (tmp_path / "missing.adtc", "there is no file"),
        (tmp_path / "table.csv", "is nothing that can be verified; give a file"),
        (tmp_path, "cannot be read: is a directory"),
        (old, "in format 1, which does not show whether a file was changed"),
    ):
        given = run(path)
        assert (given.exit_code, given.stdout) == (2, "")
        assert sentence in given.stderr

"""What used to be a traceback: odd names, full disks, closed streams. Each is run as a program."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

SMALL = "a,b,s,y\n1,0,m,1\n1,1,f,1\n0,1,f,0\n0,0,m,0\n1,1,m,1\n0,0,f,1\n"
SPACE = ["--target", "y", "--maxdep", "1"]
LONG = "x" * 300
NO_TEXT = b"caf\xe9"  # Latin-1, and so no UTF-8

pytestmark = pytest.mark.skipif(os.name == "nt", reason="names are bytes on POSIX only")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "small.csv").write_text(SMALL)
    (tmp_path / os.fsdecode(NO_TEXT + b".csv")).write_text(SMALL)
    (tmp_path / "empty.csv").touch()
    (tmp_path / "folder.csv").mkdir()
    return tmp_path


def program(
    folder: Path, *args: "str | bytes", **options: object
) -> "subprocess.CompletedProcess[bytes]":
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
    command = [sys.executable, "-m", "adtc", *args]
    return subprocess.run(command, cwd=folder, check=False, timeout=300, **streams)  # type: ignore[call-overload]


MISHAPS = {
    "share over zero": (["count", "small.csv", *SPACE, "--relminsup", "1/0"], "relminsup is 1/0"),
    "long name": (["count", LONG, *SPACE], "There is no file of this name either"),
    "long file": (["count", f"{LONG}.csv", *SPACE], "cannot be read: file name too long"),
    "long parquet": (["count", f"{LONG}.parquet", *SPACE], "cannot be read: file name too long"),
    "long profile": (["crosstab", f"{LONG}.adtc", "size", "acc"], "file name too long"),
    "long to verify": (["verify", LONG], "cannot be read: file name too long"),
    "long to draw": (["draw", LONG], "There is no file of this name either"),
    "long to report": (["report", f"{LONG}.adtc", "-o", "r.html"], "file name too long"),
    "long output": (["count", "small.csv", *SPACE, "-o", LONG], "file name too long; give another"),
    "long picture": (
        ["crosstab", "small.csv", "size", "acc", *SPACE, "--plot", f"{LONG}.png"],
        "file name too long",
    ),
    "long folder of pictures": (["draw", "small.csv", *SPACE, "--svg", LONG], "file name too long"),
    "long profile to write": (["profile", "small.csv", *SPACE, "-o", LONG], "file name too long"),
    "no name": (["count", "", *SPACE], "unknown table ''"),
    "no output": (["count", "small.csv", *SPACE, "-o", ""], "cannot write '.': it is a folder"),
    "folder as table": (
        ["count", "folder.csv", *SPACE],
        "'folder.csv' has no Parquet or CSV file in it",
    ),
    "folder as profile": (["verify", "folder.csv"], "cannot be read: is a directory"),
    "file as folder": (["count", "small.csv/x.csv", *SPACE], "cannot be read: not a directory"),
    "empty table": (["count", "empty.csv", *SPACE], "'empty.csv' is empty"),
    "no folder": (["report", "x.adtc", "-o", "no/r.html"], "no' does not exist"),
    "unknown bytes": ([b"count", NO_TEXT, *SPACE], "unknown table 'caf?'"),
    "unknown bytes in a formula": (
        [b"count", b"small.csv", *SPACE, b"--where", NO_TEXT + b" >= 1"],
        "unknown character",
    ),
    "unknown bytes as missing value": (
        [b"count", b"small.csv", *SPACE, b"--na", NO_TEXT],
        "'caf?' is not UTF-8 text",
    ),
    "unknown bytes as positive label": (
        [b"count", b"small.csv", *SPACE, b"--positive", NO_TEXT],
        "unknown label 'caf?'",
    ),
    "unknown bytes as target": (
        [b"count", b"small.csv", b"--target", NO_TEXT],
        "unknown column 'caf?'",
    ),
    "full file": (["count", "small.csv", *SPACE, "-o", "/dev/full"], "no space left on device"),
}


@pytest.mark.parametrize(("args", "sentence"), MISHAPS.values(), ids=MISHAPS)
def test_a_mishap_is_one_sentence(folder: Path, args: list[str], sentence: str) -> None:
    before = sorted(os.listdir(folder))
    done = program(folder, *args)
    told = done.stderr.decode()
    assert done.returncode == 2, told
    assert "Traceback" not in told
    assert sentence in told
    assert sorted(os.listdir(folder)) == before


def test_names_that_are_no_text_are_read_and_written(folder: Path) -> None:
    table, saved, page = (NO_TEXT + ending for ending in (b".csv", b".adtc", b".html"))
    for args in (
        [b"count", table, *SPACE],
        [b"profile", table, *SPACE, b"-o", saved],
        [b"verify", saved],
        [b"report", saved, b"-o", page],
        [b"crosstab", saved, b"size", b"acc", b"--json", b"-o", NO_TEXT + b".json"],
    ):
        done = program(folder, *args)
        assert (done.returncode, done.stderr) == (0, b""), args
        done.stdout.decode()
    for ending in (b".adtc", b".html", b".json"):
        assert (folder / os.fsdecode(NO_TEXT + ending)).is_file()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs Linux's devices")
@pytest.mark.parametrize("args", [["count", "small.csv", *SPACE], ["--help"], ["datasets"]])
def test_a_full_disk_is_told(folder: Path, args: list[str]) -> None:
    with open("/dev/full", "wb") as full:
        done = program(folder, *args, stdout=full)
    assert done.returncode == 2
    assert done.stderr.startswith(b"adtc: ")
    assert done.stderr.endswith(b"no space left on device.\n")
    assert done.stderr.count(b"\n") == 1


def test_a_closed_output_is_told_and_spoils_no_file(folder: Path) -> None:
    code = "import os, sys; os.close(1); os.execv(sys.argv[1], sys.argv[1:])"
    command = [sys.executable, "-c", code, sys.executable, "-m", "adtc", "count", "small.csv"]
    done = subprocess.run(
        [*command, *SPACE, "-o", "out.txt"], cwd=folder, stderr=subprocess.PIPE, check=False
    )
    assert done.returncode == 2
    assert done.stderr.startswith(b"adtc: standard output is closed, so there is no place")
    assert not (folder / "out.txt").exists()


def test_a_closed_error_output_leaves_the_exit_code(folder: Path) -> None:
    code = "import os, sys; os.close(2); os.execv(sys.argv[1], sys.argv[1:])"
    command = [sys.executable, "-c", code, sys.executable, "-m", "adtc", "count"]
    for table, expected in (("small.csv", 0), ("missing.csv", 2)):
        done = subprocess.run(
            [*command, table, *SPACE], cwd=folder, stdout=subprocess.PIPE, check=False
        )
        assert done.returncode == expected


def test_a_reader_that_has_seen_enough_is_no_mistake(folder: Path) -> None:
    read_end, write_end = os.pipe()
    os.close(read_end)
    done = program(folder, "count", "small.csv", *SPACE, stdout=write_end)
    os.close(write_end)
    assert (done.returncode, done.stderr) == (141, b"")


def test_a_terminal_of_ascii_is_enough(folder: Path) -> None:
    (folder / "ä.csv").write_text(SMALL, encoding="utf-8")
    env = {**os.environ, "LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}
    done = program(folder, "count", "ä.csv", *SPACE, env=env)
    assert (done.returncode, done.stderr) == (0, b"")

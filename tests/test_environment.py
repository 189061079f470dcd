"""Odd surroundings, met by the program as a whole: homes, disks, languages, rivals, no network."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import adtc

SMALL = "a,bä,s,y\n1,0,m,1\n1,1,f,1\n0,1,f,0\n0,0,m,0\n1,1,m,1\n0,0,f,1\n"
SPACE = ["--target", "y", "--maxdep", "1", "--sensitive", "s"]
PICTURE = ["crosstab", "small.csv", "size", "acc", *SPACE, "--plot", "picture.png"]
COMMANDS = {
    "count": ["count", "small.csv", *SPACE],
    "profile": ["profile", "small.csv", *SPACE, "-o", "run.adtc"],
    "picture": PICTURE,
    "report": ["report", "saved.adtc", "-o", "page.html"],
    "describe": ["describe", "small.csv", "--target", "y"],
}

pytestmark = pytest.mark.skipif(os.name == "nt", reason="POSIX homes, devices and permissions")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    table = tmp_path / "small.csv"
    table.write_text(SMALL, encoding="utf-8")
    data = adtc.read(table, target="y", sensitive="s")
    adtc.profile(data, adtc.Space(max_depth=1), ["size", "acc"]).save(tmp_path / "saved.adtc")
    return tmp_path


def program(
    folder: Path, *args: str, without: tuple[str, ...] = (), **changes: str
) -> "subprocess.CompletedProcess[bytes]":
    """Run a command in a folder, with some of the environment changed."""
    kept = {name: value for name, value in os.environ.items() if name not in without}
    return subprocess.run(
        [sys.executable, "-m", "adtc", *args],
        cwd=folder, env={**kept, **changes}, check=False, timeout=300, capture_output=True,
    )  # fmt: skip


def check(done: "subprocess.CompletedProcess[bytes]") -> None:
    assert done.returncode == 0, done.stderr.decode()
    assert b"Traceback" not in done.stderr


# --- homes ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["profile", "picture"])
def test_no_home_is_needed(folder: Path, name: str) -> None:
    check(program(folder, *COMMANDS[name], without=("HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME")))


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs a folder that root cannot write")
@pytest.mark.parametrize("name", ["profile", "picture"])
def test_nothing_is_written_to_the_home(folder: Path, name: str) -> None:
    home = folder / "home"
    home.mkdir()
    for place in ("/proc", str(home)):  # even root cannot write the first
        without = ("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "MPLCONFIGDIR")
        check(program(folder, *COMMANDS[name], without=without, HOME=place))
    # Matplotlib keeps a list of fonts there, where it can; adtc itself nothing
    assert {path.name for path in home.iterdir()} <= {".config", ".cache"}
    assert not [path for path in home.rglob("*") if "adtc" in path.name]


# --- disks ----------------------------------------------------------------------------------------


@pytest.fixture
def full_disk(tmp_path: Path) -> Iterator[Path]:
    """Mount a disk that holds 16 kB; only root may."""
    place = tmp_path / "disk"
    place.mkdir()
    mount = shutil.which("mount")
    options = ["-t", "tmpfs", "-o", "size=16k", "tmpfs", str(place)]
    done = subprocess.run([mount, *options], check=False, capture_output=True) if mount else None
    if done is None or done.returncode:
        pytest.skip("no disk can be mounted here")
    yield place
    subprocess.run(["umount", str(place)], check=True)


@pytest.mark.parametrize("name", ["report", "picture", "profile"])
def test_a_file_that_does_not_fit_the_disk_is_told_and_not_left_half(
    folder: Path, full_disk: Path, name: str
) -> None:
    args = [*COMMANDS[name][:-1], str(full_disk / COMMANDS[name][-1])]
    if name == "profile":
        (full_disk / "filling").write_bytes(bytes(15_000))
    before = sorted(os.listdir(full_disk))
    done = program(folder, *args)
    assert done.returncode == 2, done.stderr.decode()
    assert b"no space left on device" in done.stderr
    assert b"Traceback" not in done.stderr
    assert sorted(os.listdir(full_disk)) == before


# --- languages ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["describe", "report"])
def test_ascii_is_enough(folder: Path, name: str) -> None:
    ascii_only = {"LC_ALL": "C", "LANG": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}
    check(program(folder, *COMMANDS[name], without=("PYTHONIOENCODING",), **ascii_only))


# --- rivals ---------------------------------------------------------------------------------------


def test_two_processes_that_write_one_file_leave_a_whole_one(folder: Path) -> None:
    command = [sys.executable, "-m", "adtc", *COMMANDS["profile"]]
    rivals = [
        subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        for _ in range(3)
    ]
    for rival in rivals:
        _, told = rival.communicate(timeout=300)
        assert rival.returncode == 0, told.decode()
    assert adtc.verify(folder / "run.adtc").valid
    assert not list(folder.glob(".adtc-*"))


# --- no network -----------------------------------------------------------------------------------

NO_NETWORK = """
import socket

def refuse(*args, **options):
    raise SystemExit("the network was used")

class Socket(socket.socket):  # the methods of socket's own cannot be replaced
    bind = connect = connect_ex = sendto = refuse

socket.socket = Socket
socket.create_connection = socket.getaddrinfo = socket.gethostbyname = refuse
"""


def test_no_command_uses_the_network(folder: Path) -> None:
    start = folder / "start"
    start.mkdir()
    start.joinpath("sitecustomize.py").write_text(NO_NETWORK)  # imported when Python starts
    lines = "import socket; socket.socket().bind(('127.0.0.1', 0))"
    command = [sys.executable, "-c", lines]
    environment = {**os.environ, "PYTHONPATH": str(start)}
    refused = subprocess.run(command, env=environment, check=False, capture_output=True)
    assert b"the network was used" in refused.stderr  # else this test would see nothing
    for name in ("count", "picture", "report"):
        check(program(folder, *COMMANDS[name], PYTHONPATH=str(start)))

"""A file is complete or as it was: interrupts, permissions, links, devices, killed writers."""

import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from adtc.atomic import replacing, why_unwritable, write_whole
from adtc.errors import DataError

HANGING = """
import sys
from adtc.atomic import replacing
with replacing(sys.argv[1]) as file:
    file.write(b"half")
    file.flush()
    print("writing", flush=True)
    sys.stdin.read()
"""


def hanging_writer(path: Path) -> "subprocess.Popen[str]":
    """Start a writer that stops in the middle."""
    writer = subprocess.Popen(
        [sys.executable, "-c", HANGING, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert writer.stdout is not None
    assert writer.stdout.readline() == "writing\n"
    return writer


def test_a_new_file_has_the_usual_permissions(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        write_whole(tmp_path / "new", "text")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o640


@pytest.mark.parametrize("mode", [0o600, 0o644, 0o640])
def test_a_replaced_file_keeps_its_permissions(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "old"
    path.write_text("old")
    path.chmod(mode)
    with replacing(path) as file:
        # nor is what is being written open to more people meanwhile
        (temporary,) = tmp_path.glob(".adtc-*")
        assert stat.S_IMODE(temporary.stat().st_mode) == mode
        file.write(b"new")
    assert stat.S_IMODE(path.stat().st_mode) == mode
    assert path.read_text() == "new"


def test_a_link_stays_and_its_file_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    file, link, dangling = tmp_path / "folder" / "file", tmp_path / "link", tmp_path / "dangling"
    file.write_text("old")
    link.symlink_to(file)
    dangling.symlink_to(tmp_path / "folder" / "later")
    write_whole(link, "new")
    write_whole(dangling, "first")
    assert link.is_symlink()
    assert dangling.is_symlink()
    assert file.read_text() == "new"
    assert (tmp_path / "folder" / "later").read_text() == "first"


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError(28, "No space left on device")])
def test_an_interrupted_write_changes_nothing(tmp_path: Path, error: BaseException) -> None:
    path = tmp_path / "file"
    path.write_text("old")
    with pytest.raises((KeyboardInterrupt, DataError)), replacing(path) as file:  # noqa: PT012
        file.write(b"half")
        raise error
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["file"]


@pytest.mark.skipif(sys.platform == "win32", reason="no POSIX signals")
def test_what_a_killed_writer_left_is_removed_by_the_next_one(tmp_path: Path) -> None:
    path, other = tmp_path / "file", tmp_path / "other"
    writer = hanging_writer(path)
    (left,) = tmp_path.iterdir()
    write_whole(path, "by another writer meanwhile")  # one at work is left alone
    assert left.exists()
    writer.send_signal(signal.SIGKILL)
    writer.communicate()
    write_whole(other, "another file")
    assert left.exists()
    write_whole(path, "new")
    assert sorted(os.listdir(tmp_path)) == ["file", "other"]
    assert path.read_text() == "new"


def test_two_writers_of_one_file_do_not_mix(tmp_path: Path) -> None:
    path = tmp_path / "file"
    with replacing(path) as first, replacing(path) as second:
        first.write(b"first")
        second.write(b"second")
    assert path.read_bytes() == b"first"  # the one that ended last
    assert os.listdir(tmp_path) == ["file"]


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
def test_a_device_is_written_to_and_stays_one() -> None:
    reader, device = os.openpty()  # not /dev/null: a defect would replace that for everybody
    try:
        write_whole(os.ttyname(device), "text")
        assert os.read(reader, 100) == b"text"
        assert stat.S_ISCHR(os.stat(os.ttyname(device)).st_mode)
    finally:
        os.close(reader)
        os.close(device)


@pytest.mark.skipif(not Path("/dev/stdout").exists(), reason="needs /dev/stdout")
def test_standard_output_is_shared_not_replaced(tmp_path: Path) -> None:
    lines = "import sys; from adtc.atomic import write_whole; print('a', flush=True)"
    lines += "; write_whole('/dev/stdout', 'b\\n'); print('c')"
    with (tmp_path / "out").open("wb") as out:
        subprocess.run([sys.executable, "-c", lines], stdout=out, check=True)
    assert (tmp_path / "out").read_text() == "a\nb\nc\n"


def test_a_pipe_is_written_to(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    write_whole(pipe, "through")
    assert os.read(reader, 100) == b"through"
    os.close(reader)
    assert pipe.is_fifo()


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("", "its name is empty"),
        (".", "it is a folder"),
        ("missing/file", "the folder '.*missing' does not exist"),
        ("file/below", "the folder '.*file' does not exist"),
        ("x" * 300, "file name too long"),
        ("a\0b", "no file can have this name"),
        ("\ud800", "no file can have this name"),
    ],
)
def test_a_name_that_cannot_be_written_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, reason: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").touch()
    with pytest.raises(DataError, match=f"(?s)cannot write '.*': ({reason}); give another file"):
        write_whole(name, "text")
    assert os.listdir(tmp_path) == ["file"]


def test_a_name_that_is_no_text_does_not_spoil_the_content(tmp_path: Path) -> None:
    write_whole(tmp_path / "page", f"from {os.fsdecode(b'caf' + bytes([233]))}")
    assert (tmp_path / "page").read_text(encoding="utf-8") == "from caf?"


def test_a_name_of_the_greatest_length_and_one_that_is_no_text_are_written(tmp_path: Path) -> None:
    for name in ("x" * 255, os.fsdecode(b"caf\xe9")):
        write_whole(tmp_path / name, "text")
        assert (tmp_path / name).read_text() == "text"
        assert why_unwritable(tmp_path / name) is None


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write everywhere")
def test_a_file_that_is_write_protected_is_not_replaced(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("old")
    path.chmod(0o444)
    assert why_unwritable(path) == "permission is denied"

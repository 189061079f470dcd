"""A browser that is missing is said loudly, and where CI is set it is a failure."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SCRIPT = ROOT / "tools" / "browser.sh"
USER = """
def test_page(chromium):
    assert chromium
"""


def without_browser(folder: Path, **others: str) -> dict[str, str]:
    """Make an environment in which only a few programs are found, and Chromium is none of them."""
    tools = folder / "bin"
    tools.mkdir()
    for name in ("sh", "id", "command"):
        if program := shutil.which(name):
            (tools / name).symlink_to(program)
    kept = {name: value for name, value in os.environ.items() if name not in ("CI", "PATH")}
    return {**kept, "PATH": str(tools), **others}


@pytest.mark.parametrize(("ci", "code", "word"), [("1", 1, "1 error"), ("", 0, "1 skipped")])
def test_a_missing_browser_fails_in_ci_and_skips_loudly_elsewhere(
    tmp_path: Path, ci: str, code: int, word: str
) -> None:
    (tmp_path / "test_page.py").write_text(USER, encoding="utf-8")
    (tmp_path / "conftest.py").symlink_to(ROOT / "tests" / "conftest.py")
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-rs", "-q", "-p", "no:cacheprovider", "-c", os.devnull,
         "--rootdir", tmp_path, tmp_path / "test_page.py"],
        capture_output=True, text=True, check=False, env=without_browser(tmp_path, CI=ci),
    )  # fmt: skip
    assert ran.returncode == code, ran.stdout + ran.stderr
    assert word in ran.stdout
    assert "NO BROWSER TEST RUNS: there is no Chromium" in ran.stdout


def test_the_script_says_that_it_cannot_install(tmp_path: Path) -> None:
    ran = subprocess.run(
        ["/bin/sh", SCRIPT], capture_output=True, text=True, check=True,
        env=without_browser(tmp_path),
    )  # fmt: skip
    assert "NO BROWSER TEST WILL RUN" in ran.stderr


def test_the_script_installs_as_root_and_says_so(tmp_path: Path) -> None:
    env = without_browser(tmp_path)
    tools = tmp_path / "bin"
    (tools / "id").unlink()
    for name, text in (
        ("id", "echo 0"),
        ("apt-get", f'echo "$@" >>{tmp_path}/asked; ln -sf /bin/true {tools}/chromium'),
        ("ln", '/bin/ln "$@"'),
    ):
        (tools / name).write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
        (tools / name).chmod(0o755)
    ran = subprocess.run(
        ["/bin/sh", SCRIPT], capture_output=True, text=True, check=True, env=env
    )  # fmt: skip
    assert ran.stdout.startswith("installing Debian's packages for the browser tests: chromium ")
    assert ran.stderr == ""
    asked = (tmp_path / "asked").read_text(encoding="utf-8")
    assert "update" in asked
    assert "chromium fonts-dejavu-core poppler-utils" in asked

"""Settings for all tests: Hypothesis profiles, and where the full tables are kept."""

import importlib.util
import os
import shutil
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

import pytest
from hypothesis import HealthCheck, settings

# An example lists all trees of a space, so its time says nothing about a defect.
settings.register_profile(
    "here", deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("ci", settings.get_profile("here"), derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "here")

BROWSERS = ("chromium", "chromium-browser", "google-chrome")  # as in tools/browser.sh
SWITCHES = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]
SHARED_DATA = Path(__file__).resolve().parents[2] / "shared" / "data"


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Give the folder of the full tables, which live beside the repository, not in it."""
    if not SHARED_DATA.is_dir():
        pytest.skip("the full tables are not here: expected the folder ../shared/data")
    return SHARED_DATA


def no_browser(reason: str) -> NoReturn:
    """Skip a browser test; fail it where CI is set, for there nobody reads what was skipped."""
    said = f"NO BROWSER TEST RUNS: {reason}"
    pytest.fail(said, pytrace=False) if os.environ.get("CI") else pytest.skip(said)


@pytest.fixture(scope="module")  # two at a time would share an event loop, which must not be
def chromium() -> Iterator[Any]:
    """Start Chromium; without it skip loudly, or fail where CI is set."""
    if importlib.util.find_spec("playwright") is None:
        no_browser("playwright is not installed")
    program = next(filter(None, map(shutil.which, BROWSERS)), None)
    if program is None:
        no_browser("there is no Chromium; as root, `make browser` installs it")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=SWITCHES)
        yield browser
        browser.close()


@pytest.fixture(autouse=True)
def _no_sudden_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a command run inside a test not end the tests because a kernel is still at work.

    Nor let it leave out the nearest values because the machine is busy.
    """
    monkeypatch.setattr("adtc.cli.running._exit_now", sys.exit)
    monkeypatch.setattr("adtc.cli.infeasible.SECONDS", 300.0)


@pytest.fixture(autouse=True)
def _ctrl_c_stays() -> Iterator[None]:
    """Let Ctrl-C go on to stop the tests where a command run inside one has turned it off."""
    before = signal.getsignal(signal.SIGINT)
    yield
    signal.signal(signal.SIGINT, before)

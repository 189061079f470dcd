"""The report looks as it did: compared with stored pictures, which a broken layout exceeds."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import adtc
from adtc.show.report import write_report
from screenshots import (
    SHARE,
    add_style,
    check_screenshot,
    different_share,
    reduced,
    use_stored_font,
)

SIZES = {1280: 800, 390: 844}
BREAKS = {"the maps are gone": ".landscape { display: none }", "no styles": ""}


@pytest.fixture(scope="module")
def page_of(
    chromium: Any, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[..., Any]]:
    """Open the report on a bundled table at a width and a colour scheme."""
    data = adtc.load_dataset("german-credit", nbins=2)
    space = adtc.Space(max_depth=2, relminsup=0.2)
    profile = adtc.profile(data, space, ["size", "acc", "dp"], where="acc >= 0.65")
    made = datetime(2026, 1, 1, tzinfo=UTC)
    path = write_report(profile, tmp_path_factory.mktemp("report") / "report.html", made=made)
    contexts = []

    def open_page(width: int, scheme: str = "light", file: Path = path) -> Any:
        size = {"width": width, "height": SIZES[width]}
        context = chromium.new_context(viewport=size, color_scheme=scheme, bypass_csp=True)
        contexts.append(context)
        page = context.new_page()
        page.goto(file.as_uri())
        page.wait_for_selector(".landscape .cell")
        use_stored_font(page)
        return page

    yield open_page
    for context in contexts:
        context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", SIZES)
def test_the_report_looks_as_stored(page_of: Any, width: int, scheme: str) -> None:
    check_screenshot(f"report-{width}-{scheme}", page_of(width, scheme).screenshot(full_page=True))


@pytest.mark.parametrize("width", SIZES)
@pytest.mark.parametrize("what", BREAKS)
def test_a_broken_layout_exceeds_the_tolerance(page_of: Any, what: str, width: int) -> None:
    page = page_of(width)
    before = reduced(page.screenshot(full_page=True))
    if what == "no styles":
        page.evaluate("document.querySelectorAll('style').forEach(sheet => sheet.remove())")
    else:
        add_style(page, BREAKS[what])
    assert different_share(before, reduced(page.screenshot(full_page=True))) > SHARE

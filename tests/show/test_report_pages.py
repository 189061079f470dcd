"""The report on a screen and on paper: nothing is lost, clipped, struck through or overlapping."""

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import adtc
from adtc.profiles import Profile
from adtc.show.report import write_report

LONG = "share of instalments that were paid late in the five years before the application was made"


@pytest.fixture(scope="module")
def found() -> Profile:
    rng = np.random.default_rng(8)
    n = 400
    y = rng.integers(0, 2, n)
    frame = {
        LONG: (rng.integers(0, 30, n) + 6 * y).tolist(),
        "demographic_of_the_neighbourhood": rng.integers(0, 2, n).tolist(),
        "income": (rng.integers(0, 50, n) + 9 * y).tolist(),
        "sex": [["female", "male"][i] for i in (rng.integers(0, 3, n) + y > 1).astype(int)],
        "y": ["granted" if v else "refused" for v in y],
    }
    data = adtc.Data.from_frame(frame, target="y", sensitive="sex", nbins=5, name="credit")
    metrics = ["size", "acc", "dp", "eopp"]
    return adtc.profile(data, adtc.Space(max_depth=3, minsup=5), metrics, where="acc >= 0.5")


@pytest.fixture(scope="module")
def path(found: Profile, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("report") / "report.html"
    return write_report(found, place, best=2, note="For the file.")


@pytest.fixture
def opened(chromium: Any, path: Path, request: pytest.FixtureRequest) -> Iterator[Any]:
    context = chromium.new_context(**getattr(request, "param", {}))
    page = context.new_page()
    page.goto(path.as_uri())
    yield page
    context.close()


NO_SCRIPT = {"java_script_enabled": False}
CLOSED = """() => [...document.querySelectorAll('details')].filter(
    (one) => [...one.querySelectorAll('td')].some((cell) => !cell.checkVisibility())).length"""


def test_details_are_closed_on_a_screen_and_open_for_paper(opened: Any) -> None:
    n = opened.locator("details").count()
    assert n >= 3
    assert opened.evaluate(CLOSED) == n
    opened.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    assert opened.locator("details[open]").count() == n
    opened.evaluate("window.dispatchEvent(new Event('afterprint'))")
    assert opened.locator("details[open]").count() == 0


def test_a_style_rule_opens_them_where_no_event_is_sent(opened: Any) -> None:
    opened.emulate_media(media="print")
    assert opened.locator("details[open]").count() == 0
    assert opened.evaluate(CLOSED) == 0


@pytest.mark.parametrize("opened", [NO_SCRIPT], indirect=True)
def test_without_scripts_everything_is_open(opened: Any) -> None:
    assert opened.locator("details[open]").count() == opened.locator("details").count() > 0
    assert opened.locator("noscript").inner_text() != ""


def test_paper_holds_every_section_table_and_rule(
    opened: Any, found: Profile, path: Path, tmp_path: Path
) -> None:
    reader = shutil.which("pdftotext")
    if reader is None:
        pytest.skip("NO PDF IS READ: there is no pdftotext (Debian's poppler-utils)")
    place = tmp_path / "report.pdf"
    opened.pdf(path=str(place), format="A4")
    run = subprocess.run([reader, "-raw", str(place), "-"], check=True, capture_output=True)
    printed = _letters(run.stdout.decode())
    html = path.read_text(encoding="utf-8")
    page = opened.evaluate(
        """() => [...document.querySelectorAll('h2, h3, summary, td, th, dd, dt, li, pre, main p')]
        .filter((one) => !one.closest('nav, .no-print, noscript, .readout'))
        .filter((one) => !one.querySelector('.no-print'))
        .map((one) => one.textContent)"""
    )
    missing = [text for text in page if _letters(text) not in printed]
    assert missing == []
    assert len(page) > 100
    for name in ("finding", "landscape", "front", "trees", "groups", "record"):
        assert f'id="{name}"' in html


def _letters(text: str) -> str:
    """Leave out what a line break may change."""
    return re.sub(r"[\s\u00ad\u2010-]+", "", text)


@pytest.mark.parametrize("opened", [{"viewport": {"width": 720, "height": 900}}], indirect=True)
def test_pictures_fit_on_paper(opened: Any) -> None:
    opened.emulate_media(media="print")
    opened.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    for one in ("svg.adtc-tree", "svg.heatmap", "table", "pre"):
        rights = opened.eval_on_selector_all(
            one, "all => all.map((one) => one.getBoundingClientRect().right)"
        )
        assert max(rights) <= 721, one


STRUCK = """() => [...document.querySelectorAll('svg.heatmap')].flatMap((svg) => {
  const line = svg.querySelector('.front-line');
  if (!line) return [];
  const parts = line.getAttribute('d').slice(1).split('L');
  const corners = parts.map((part) => part.split(' ').map(Number));
  const patches = [...svg.querySelectorAll(':scope > rect')].map((one) => one.getBBox());
  const inside = (box) => patches.some((patch) => patch.x <= box.x && patch.y <= box.y + 3
    && patch.x + patch.width >= box.x + box.width
    && patch.y + patch.height >= box.y + box.height - 3);
  return [...svg.querySelectorAll('.cell-count')].filter((text) => {
    const box = text.getBBox();
    return !inside(box) && corners.some(([a, b], at) => {
      const [c, d] = corners[Math.min(at + 1, corners.length - 1)];
      return Math.min(a, c) < box.x + box.width && Math.max(a, c) > box.x
        && Math.min(b, d) < box.y + box.height - 3 && Math.max(b, d) > box.y + 3;
    });
  }).map((text) => text.textContent);
})"""
COVERED = """() => [...document.querySelectorAll('svg.heatmap')].filter((svg) => {
  const line = svg.querySelector('.front-line');
  return line && svg.querySelectorAll('.cell-count').length; }).length"""


@pytest.mark.parametrize(
    "opened",
    [{"viewport": {"width": width, "height": 844}} for width in (1280, 620)],
    indirect=True,
    ids=str,
)
def test_the_front_never_strikes_through_a_number(opened: Any) -> None:
    assert opened.evaluate(COVERED) > 0
    assert opened.evaluate(STRUCK) == []


OUTSIDE = """() => [...document.querySelectorAll('.adtc-node')].flatMap((node) => {
  const box = node.querySelector('.adtc-box').getBBox();
  return [...node.querySelectorAll('text')].filter((text) => {
    const { x, width } = text.getBBox();
    return x < box.x || x + width > box.x + box.width;
  }).map((text) => text.textContent);
})"""


@pytest.mark.parametrize(
    "opened",
    [
        {"viewport": {"width": width, "height": 844}, "color_scheme": scheme}
        for width in (1280, 390)
        for scheme in ("light", "dark")
    ],
    indirect=True,
    ids=str,
)
def test_nothing_is_clipped_or_broken_inside(opened: Any) -> None:
    width = opened.viewport_size["width"]
    assert opened.evaluate("document.documentElement.scrollWidth") <= width
    assert opened.evaluate(OUTSIDE) == []
    words = opened.eval_on_selector_all(
        "svg.adtc-tree text", "all => all.map((t) => t.textContent)"
    )
    assert "demographic_of_the_" in words
    heights = opened.eval_on_selector_all(
        ".adtc-split .adtc-box", "all => all.map((one) => Number(one.getAttribute('height')))"
    )
    assert max(heights) <= 3 * 15 + 16  # three lines of text, however high the leaves are

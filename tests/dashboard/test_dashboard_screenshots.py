"""The dashboard looks as it did: compared with stored pictures, which a broken layout exceeds."""

from collections.abc import Iterator
from typing import Any

import pytest
from browsing import Watched, serving

import adtc
from adtc.profiles import Profile
from screenshots import (
    SHARE,
    add_style,
    check_screenshot,
    different_share,
    reduced,
    use_stored_font,
)

SIZES = {1280: 800, 390: 844}
BREAKS = {
    "the map is gone": "#map { visibility: hidden }",
    "the tree is gone": "#tree-card { display: none }",
    "the question is gone": ".question { display: none }",
    "the grid is broken": ".columns, body.dashboard { display: block !important }",
    "what is hidden shows": "[hidden] { display: block !important }",
    "no styles": "",
}


@pytest.fixture(scope="module")
def page_of(chromium: Any) -> Iterator[Any]:
    """Open the dashboard of a bundled table at a width and a colour scheme."""
    from adtc.dashboard import make_app

    data = adtc.load_dataset("german-credit", nbins=2)
    space = adtc.Space(max_depth=2, relminsup=0.1)
    profile = adtc.profile(data, space, ["size", "acc", "dp", "eodd_sum"], where="acc >= 0.65")
    contexts = []
    with serving(make_app(profile)) as address:

        def open_page(width: int, scheme: str = "light") -> Any:
            context = chromium.new_context(
                viewport={"width": width, "height": SIZES[width]},
                color_scheme=scheme,
                reduced_motion="reduce",
                bypass_csp=True,
            )
            contexts.append(context)
            page = Watched(context.new_page()).open(f"{address}/#")
            use_stored_font(page)
            return page

        yield open_page
        for context in contexts:
            context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", SIZES)
def test_the_dashboard_looks_as_stored(page_of: Any, width: int, scheme: str) -> None:
    check_screenshot(
        f"dashboard-{width}-{scheme}", page_of(width, scheme).screenshot(full_page=width < 500)
    )


PANELS = {
    "people": ".deciding svg",
    "builder": ".place.test",
    "variables": ".variables tbody tr",
    "further": "#further-map .diagonal",
}


@pytest.fixture(scope="module")
def panel_of(chromium: Any, credit: Profile) -> Iterator[Any]:
    """Open a panel at a width and a colour scheme."""
    from adtc.dashboard import make_app

    step = credit.builder().choices().features[0].number
    contexts = []
    with serving(make_app(credit)) as address:

        def open_panel(tab: str, width: int, scheme: str) -> Any:
            context = chromium.new_context(
                viewport={"width": width, "height": SIZES[width]},
                color_scheme=scheme,
                reduced_motion="reduce",
                bypass_csp=True,
            )
            contexts.append(context)
            page = Watched(context.new_page())
            page = page.open(f"{address}/#tab={tab}&steps=f{step}&rank=5")
            page.wait_for_selector(PANELS[tab])
            use_stored_font(page)
            page.wait_for_function("() => !document.querySelector('.waiting, [aria-busy=true]')")
            return page

        yield open_panel
        for context in contexts:
            context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", SIZES)
@pytest.mark.parametrize("tab", PANELS)
def test_a_panel_looks_as_stored(panel_of: Any, tab: str, width: int, scheme: str) -> None:
    page = panel_of(tab, width, scheme)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    check_screenshot(f"panel-{tab}-{width}-{scheme}", page.screenshot(full_page=width < 500))


@pytest.mark.parametrize("width", SIZES)
@pytest.mark.parametrize("what", BREAKS)
def test_a_broken_layout_exceeds_the_tolerance(page_of: Any, what: str, width: int) -> None:
    page = page_of(width)
    before = reduced(page.screenshot(full_page=width < 500))
    if what == "no styles":
        page.evaluate("document.querySelectorAll('link[rel=stylesheet]').forEach(l => l.remove())")
    else:
        add_style(page, BREAKS[what])
    assert different_share(before, reduced(page.screenshot(full_page=width < 500))) > SHARE

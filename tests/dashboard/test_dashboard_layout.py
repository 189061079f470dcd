"""What is on the screen of the dashboard, and where: nothing hidden shows, nothing needed hides."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from browsing import ALL, SETTLED, Watched, serving

import adtc
from adtc.profiles import Profile

CLIPPED = """() => [...document.querySelectorAll('.heatmap .tick-label')].filter(label => {
  const box = label.getBoundingClientRect(), frame = label.ownerSVGElement.getBoundingClientRect();
  return box.width && (box.right > frame.right + 1 || box.left < frame.left - 1);
}).map(label => label.textContent)"""
BROKEN = """() => {
  const found = [], range = document.createRange();
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const node = walk.currentNode;
    if (!node.parentElement.checkVisibility() || node.parentElement.closest('code, pre')) continue;
    for (const word of node.data.matchAll(/[A-Za-z]{2,18}/g)) {
      range.setStart(node, word.index);
      range.setEnd(node, word.index + word[0].length);
      if (new Set([...range.getClientRects()].map(r => Math.round(r.top))).size > 1)
        found.push(word[0]);
    }
  }
  return found;
}"""


def wide_table() -> adtc.Data:
    """Make a table on which good trees are deep, with columns of long names."""
    rng = np.random.default_rng(5)
    bits = rng.integers(0, 2, (400, 5))
    y = (bits[:, 0] & bits[:, 1]) ^ (bits[:, 2] & bits[:, 3]) ^ (rng.random(400) < 0.1)
    names = [f"a rather long name of the column number {at}" for at in range(5)]
    frame = {name: column.tolist() for name, column in zip(names, bits.T, strict=True)}
    frame["sex"] = [["f", "m"][i] for i in rng.integers(0, 2, 400)]
    return adtc.Data.from_frame(
        {**frame, "y": y.tolist()}, target="y", sensitive="sex", name="wide"
    )


@pytest.fixture(scope="module")
def limited() -> tuple[Profile, Profile]:
    """Give two profiles with a condition of their own that differ only in the labels of leaves."""
    found = [
        adtc.profile(
            wide_table(),
            adtc.Space(max_depth=3, minsup=20, labels=labels),
            ["size", "acc", "dp"],
            where="acc >= 0.6",
        )
        for labels in ("any", "majority")
    ]
    return found[0], found[1]


@pytest.fixture(scope="module")
def alone(limited: tuple[Profile, Profile]) -> Iterator[str]:
    from adtc.dashboard import make_app

    with serving(make_app(limited[0])) as address:
        yield address


@pytest.fixture(scope="module")
def both(limited: tuple[Profile, Profile]) -> Iterator[str]:
    from adtc.dashboard import make_app

    with serving(make_app(*limited, titles=("any", "majority"))) as address:
        yield address


@pytest.fixture
def screen(chromium: Any) -> Iterator[Any]:
    context = chromium.new_context(viewport={"width": 1280, "height": 800})
    yield Watched(context.new_page())
    context.close()


@pytest.fixture
def phone(chromium: Any) -> Iterator[Any]:
    context = chromium.new_context(viewport={"width": 390, "height": 844}, has_touch=True)
    yield Watched(context.new_page())
    context.close()


def bottom(page: Any, selector: str) -> float:
    """Tell where an element ends, from the top of the screen."""
    box = page.locator(selector).first.bounding_box()
    return float(box["y"] + box["height"])


def test_what_is_hidden_does_not_show(screen: Watched, alone: str) -> None:
    page = screen.open(alone)
    assert page.locator("[hidden]").count() > 0
    showing = page.eval_on_selector_all(
        "[hidden]", "all => all.filter(e => e.getClientRects().length).map(e => e.id)"
    )
    assert showing == []
    assert not page.is_visible("#both")


def test_a_message_goes_when_it_is_no_longer_true(screen: Watched, alone: str) -> None:
    page = screen.open(f"{alone}/#where=acc+%3E%3D+0.999&rank=3")
    page.wait_for_function("() => document.getElementById('notice').innerText.includes('no tree')")
    page.fill("#formula", "size <= 4")
    page.wait_for_function(
        "() => /^[0-9,]+ tree/.test(document.getElementById('result').innerText)"
    )
    page.wait_for_selector("#map .cell")
    page.wait_for_function("() => document.getElementById('notice').innerText === ''")
    page.wait_for_selector(SETTLED)
    assert "o tree" not in page.inner_text("#tree-card")


def test_a_slider_says_the_limit_that_is_written(screen: Watched, alone: str) -> None:
    page = screen.open(f"{alone}/#where=acc+%3E%3D+0.6255")
    page.wait_for_function(
        "() => document.querySelector('output[for=limit-acc]').textContent !== 'no limit'"
    )
    said = page.evaluate("document.querySelector('output[for=limit-acc]').textContent")
    assert said == "at least 0.6255"


def test_the_message_about_a_row_is_on_the_screen(phone: Watched, alone: str) -> None:
    page = phone.open(f"{alone}/{ALL}&rank=5")
    page.fill("#row", "999999")
    page.locator("#row").scroll_into_view_if_needed()
    page.keyboard.press("Enter")
    sentence = page.get_by_text("the table has rows 0 to 399")
    sentence.wait_for()
    box = sentence.bounding_box()
    assert 0 <= box["y"] <= 844 - box["height"]


def test_comparing_says_what_differs_and_clips_no_tick(screen: Watched, both: str) -> None:
    page = screen.open(f"{both}/{ALL}&tab=compare")
    page.wait_for_selector("#map-difference .cell")
    rows = page.locator("#differs tr").all_inner_texts()
    assert [row.split("\t") for row in rows[1:]] == [
        ["labels", "any label on a leaf", "majority label on a leaf"]
    ]
    assert page.evaluate(CLIPPED) == []


@pytest.mark.parametrize("device", ["screen", "phone"])
def test_no_word_is_broken_inside(request: pytest.FixtureRequest, server: str, device: str) -> None:
    page = request.getfixturevalue(device).open(server)
    page.eval_on_selector("#limits-box", "box => { box.open = true; }")
    for tab in ("map", "people", "variables", "builder", "compare", "shortlist", "about"):
        page.click(f"#tab-{tab}")
        page.wait_for_function(
            "() => !document.querySelector('.waiting, [aria-busy=true]')", timeout=10_000
        )
        assert page.evaluate(BROKEN) == []


def test_the_first_screen_has_question_map_and_tree(screen: Watched, alone: str) -> None:
    page = screen.open(f"{alone}/#")
    for part in ("#formula", "#result", "#map svg", "#tree svg"):
        assert page.is_visible(part)
        assert bottom(page, part) <= 800, part
    assert page.get_attribute("#limits-box", "open") is None
    assert page.inner_text("#tree-title") == "The best tree"
    assert "Largest acc, then smallest dp" in page.inner_text("#tree-where")


def test_the_tree_shown_first_is_the_best(
    screen: Watched, alone: str, limited: tuple[Profile, Profile]
) -> None:
    page = screen.open(f"{alone}/#")
    acc = limited[0].values("acc").distinct[-1]
    dp = limited[0].where(f"acc = {acc}").values("dp").distinct[0]
    size = limited[0].where(f"acc = {acc} and dp = {dp}").values("size").distinct[0]
    shown = dict(
        page.eval_on_selector_all(
            "#tree [data-metric]", "cells => cells.map(c => [c.dataset.metric, c.dataset.exact])"
        )
    )
    assert shown == {"acc": str(acc), "dp": str(dp), "size": str(size)}


def test_the_condition_stands_in_the_header_and_in_shares(
    screen: Watched, alone: str, limited: tuple[Profile, Profile]
) -> None:
    page = screen.open(f"{alone}/#")
    assert page.inner_text(".facts .condition") == "only acc >= 0.6"
    n = f"{limited[0].count:,}"
    assert page.inner_text("#result").split() == (
        f"{n} trees 100 % of the {n} trees with acc >= 0.6".split()
    )


def test_the_start_shows_trees_near_the_best_and_says_so(
    screen: Watched, server: str, small: Profile
) -> None:
    page = screen.open(f"{server}/#")
    best = max(value for value in small.values("acc").distinct if value is not None)
    formula = page.input_value("#formula")
    floor = float(formula.removeprefix("acc >= "))
    assert float(best) - 0.021 <= floor <= float(best) - 0.02
    n = small.where(formula).count
    assert page.inner_text("#result").startswith(f"{n:,} tree")
    assert "near the best: acc within 2 percentage points" in page.inner_text("#begin")
    page.click("#show-all")
    page.wait_for_function(
        "t => document.getElementById('result').innerText.startsWith(t)", arg=f"{small.count:,} "
    )
    assert not page.is_visible("#begin")
    page.reload()
    page.wait_for_selector("body[data-ready]")
    assert page.input_value("#formula") == ""  # the link knows that all were wanted


def test_on_a_phone_the_map_comes_first(phone: Watched, alone: str) -> None:
    page = phone.open(f"{alone}/#")
    order = [bottom(page, part) for part in ("#map svg", "#formula", "#tree svg")]
    assert order == sorted(order)
    assert order[0] <= 844


def test_a_wide_tree_scrolls_and_says_so(phone: Watched, screen: Watched, alone: str) -> None:
    page = phone.open(f"{alone}/#where=size+%3E%3D+7")
    assert page.is_visible(".scroll-hint")
    room = page.evaluate("[...document.querySelectorAll('#tree .tree-picture')].map(e => e.scrollWidth - e.clientWidth)")  # fmt: skip  # noqa: E501
    assert room[0] > 0
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page = screen.open(f"{alone}/#where=size+%3D+2")
    assert not page.is_visible(".scroll-hint")


def test_tabs_are_moved_between_by_keys_and_kept_in_the_link(screen: Watched, both: str) -> None:
    page = screen.open(f"{both}/#")
    page.click("#tab-shortlist")
    page.keyboard.press("ArrowLeft")
    assert page.get_attribute("#tab-compare", "aria-selected") == "true"
    assert page.is_visible("#map-difference")
    assert not page.is_visible("#map")
    page.reload()
    page.wait_for_selector("body[data-ready]")
    assert page.is_visible("#map-difference")


def test_the_token_does_not_stay_in_the_address(
    screen: Watched, limited: tuple[Profile, Profile]
) -> None:
    from adtc.dashboard import make_app

    with serving(make_app(limited[0], token="s3cret")) as address:
        page = screen.open(f"{address}/?token=s3cret#where=size+%3C%3D+4")
        assert page.url == f"{address}/#where=size+%3C%3D+4"
        assert page.input_value("#formula") == "size <= 4"
        assert page.evaluate("document.cookie") == ""  # no script reads it
        page.context.clear_cookies()
        assert page.goto(f"{address}/?again").status == 403
        assert "open that link once in this browser" in page.inner_text("body")

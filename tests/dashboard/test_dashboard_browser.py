"""The dashboard in a real browser: seen, clicked, typed into, restored from a link, exported."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from browsing import ALL, READY, SETTLED, Watched

import adtc
from adtc.profiles import Profile

LONG = "months since the applicant last changed the registered address of residence"
FILLED = "#map .cell rect.heat"


def pick(page: Any, at: int = 0) -> None:
    """Click a filled cell and wait for its tree."""
    page.locator(FILLED).nth(at).click()
    page.wait_for_selector("#map .picked")
    page.wait_for_function("() => location.hash.includes('rank=')")
    page.wait_for_function(
        "() => document.getElementById('tree-title').innerText.startsWith('A tree')"
    )
    page.wait_for_selector(SETTLED)


def head(page: Any) -> str:
    return str(page.inner_text("#tree-head"))


def show_compare(page: Any) -> None:
    """Go to the view of two profiles."""
    page.click("#tab-compare")
    page.wait_for_selector("#map-difference .cell")


def wait_for_title(page: Any, title: str) -> None:
    page.wait_for_function("t => document.getElementById('tree-title').innerText === t", arg=title)


def wait_for_result(page: Any, text: str) -> None:
    page.wait_for_function(
        "t => document.getElementById('result').innerText.startsWith(t)", arg=text
    )


def test_landscape_is_shown_with_exact_counts(
    watched: Watched, server: str, small: Profile
) -> None:
    page = watched.open(server)
    assert page.inner_text("#result").startswith(f"{small.count:,} trees")
    table = small.crosstab("acc", "dp", bins=10, round_edges=True)
    labels = page.eval_on_selector_all(
        "#map [role=gridcell]", "cells => cells.map(c => [c.dataset.i, c.dataset.j, c.ariaLabel])"
    )
    assert len(labels) == len(table.x_bins) * len(table.y_bins)
    for i, j, label in labels:
        n = table.counts[int(i)][int(j)]
        assert (f"{n:,} tree" if n else "no tree") in label
    assert page.locator("#map .front-line").count() == 1
    assert page.locator("#map .margin").count() == len(table.x_bins) + len(table.y_bins)


def test_hovering_tells_the_exact_count(watched: Watched, server: str) -> None:
    page = watched.open(server)
    cell = page.locator("#map .cell:has(rect.heat)").first
    cell.hover()
    assert page.inner_text("#readout") == cell.get_attribute("aria-label")
    assert re.search(r"\d+ trees? \(", page.inner_text("#readout"))


def test_a_cell_gives_a_tree_that_scores_as_shown(
    watched: Watched, server: str, small: Profile
) -> None:
    page = watched.open(server)
    pick(page, 3)
    number, of = re.fullmatch(r"Tree ([\d,]+) of ([\d,]+)", head(page)).groups()  # type: ignore[union-attr]
    label = page.get_attribute("#map .picked", "aria-label")
    said = page.inner_text("#tree")
    place, here = re.search(r"at place ([\d,]+), from 0, of ([\d,]+)\.", said).groups()  # type: ignore[union-attr]
    assert f": {here} tree" in label
    assert page.input_value("#jump-to") == place
    rank = int(re.search(r"profile\.tree\((\d+)\)", page.inner_text("#tree"))[1])  # type: ignore[index]
    drawn = small.tree(rank)
    shown = page.eval_on_selector_all(
        "#tree [data-metric]", "cells => cells.map(c => [c.dataset.metric, c.dataset.exact])"
    )
    scored = adtc.score(drawn.tree, drawn.data, small.names)
    assert dict(shown) == {k: "undefined" if v is None else str(v) for k, v in scored.items()}
    assert page.locator("#tree svg.adtc-tree").count() == 1
    assert page.locator("#tree svg .adtc-leaf").count() == drawn.metrics["size"]
    assert (number, of) == (f"{rank:,}", f"{small.count:,}")  # the number of the command line
    assert 0 <= int(place.replace(",", "")) < int(here.replace(",", ""))


def test_trees_are_stepped_through_and_jumped_to(watched: Watched, server: str) -> None:
    page = watched.open(server)
    watched.draw()
    page.fill("#jump-to", "1,000")
    page.keyboard.press("Enter")
    page.wait_for_function(
        "() => document.getElementById('tree-head').innerText.startsWith('Tree 1,000 of')"
    )
    page.click("#next")
    page.wait_for_function(
        "() => document.getElementById('tree-head').innerText.startsWith('Tree 1,001 of')"
    )
    page.click("#previous")
    page.wait_for_function(
        "() => document.getElementById('tree-head').innerText.startsWith('Tree 1,000 of')"
    )
    page.fill("#jump-to", "0")
    page.keyboard.press("Enter")
    page.wait_for_function(
        "() => document.getElementById('tree-head').innerText.startsWith('Tree 0 of')"
    )
    assert page.is_disabled("#previous")
    assert profile_rank(page) == 0
    last = int(page.inner_text("#tree-head").split(" of ")[1].replace(",", "")) - 1
    page.fill("#jump-to", str(last + 1))
    page.keyboard.press("Enter")
    assert f"numbered from 0 to {last:,}." in page.inner_text("#notice")
    page.fill("#jump-to", str(last))
    page.keyboard.press("Enter")
    page.wait_for_function(
        "t => document.getElementById('tree-head').innerText.startsWith(t)", arg=f"Tree {last:,} of"
    )
    assert page.is_disabled("#next")


def test_a_mistake_is_pointed_at_and_mended(watched: Watched, server: str, small: Profile) -> None:
    page = watched.open(server)
    page.fill("#formula", "acc >= 0.6 and ddp <= 0.1")
    page.wait_for_selector("#formula-error pre")
    lines = page.inner_text("#formula-error pre").split("\n")
    assert lines[1].index("^") == lines[0].index("ddp")
    assert "Did you mean 'dp'?" in page.inner_text("#formula-error")
    assert page.get_attribute("#formula", "aria-invalid") == "true"
    page.fill("#formula", "acc >= 0.6 and dp <= 0.1")
    n = small.where("acc >= 0.6 and dp <= 0.1").count
    wait_for_result(page, f"{n:,} trees")
    assert f"{small.count - n:,} fewer than before" in page.inner_text("#result")
    assert page.get_attribute("#formula", "aria-invalid") is None
    assert page.inner_text("#formula-error") == ""
    page.wait_for_function("() => location.hash.includes('where=acc')")


def test_where_no_tree_exists_the_nearest_are_told(watched: Watched, server: str) -> None:
    page = watched.open(server)
    page.fill("#formula", "acc >= 0.99 and size <= 2")
    wait_for_result(page, "No tree exists")
    assert "acc >= 0.99: at most" in page.inner_text("#nearest")
    page.wait_for_selector("#map .empty")


def test_sliders_write_the_formula_and_read_it(
    watched: Watched, server: str, small: Profile
) -> None:
    page = watched.open(server)
    page.click("#limits-box summary")
    page.fill("#limit-size", "3")
    wait_for_result(page, f"{small.where('size <= 3').count:,} trees")
    assert page.input_value("#formula") == "size <= 3"
    page.fill("#limit-acc", "0.6")
    wait_for_result(page, f"{small.where('size <= 3 and acc >= 0.6').count:,} trees")
    assert page.input_value("#formula") == "size <= 3 and acc >= 0.6"
    page.fill("#formula", "size <= 2 or dp <= 0.05")
    page.wait_for_function("() => document.getElementById('limit-size').value === '2'")
    page.fill("#limit-acc", "0.7")
    wait_for_result(
        page, f"{small.where('(size <= 2 or dp <= 0.05) and acc >= 0.7').count:,} trees"
    )
    assert page.input_value("#formula") == "(size <= 2 or dp <= 0.05) and acc >= 0.7"


def test_a_link_restores_the_view_in_a_fresh_browser(
    watched: Watched, chromium: Any, server: str
) -> None:
    page = watched.open(server)
    page.fill("#formula", "acc >= 0.5")
    page.wait_for_function("() => location.hash.includes('where=acc')")
    page.select_option("#y", "precision")
    page.wait_for_function("() => document.querySelector('#map .axis-name:last-of-type') !== null")
    page.wait_for_function("() => location.hash.includes('y=precision')")
    page.wait_for_selector(SETTLED)
    pick(page, 4)
    page.fill("#row", "7")
    page.keyboard.press("Enter")
    page.wait_for_selector(".path")
    context = chromium.new_context()
    again = Watched(context.new_page())
    fresh = again.open(page.url)
    fresh.wait_for_selector(".path")
    for part in ("#tree-head", ".path", "#tree .values", "#tree-where"):
        assert fresh.inner_text(part) == page.inner_text(part)
    trees = page.inner_text("#result").partition(" trees")[0]
    assert fresh.inner_text("#result").startswith(f"{trees} trees")
    assert fresh.input_value("#formula") == "acc >= 0.5"
    for name in ("data-i", "data-j", "aria-label"):
        assert fresh.get_attribute("#map .picked", name) == page.get_attribute("#map .picked", name)
    assert fresh.inner_html("#tree svg") == page.inner_html("#tree svg")
    again.check(server)
    context.close()


def test_following_a_row_tells_its_values(watched: Watched, server: str, small: Profile) -> None:
    job = "job = clerk"
    assert small.source is not None
    data = small.source.data
    bit = data.dense()[:, data.feature_names.index(job)]
    none = data.dense()[:, data.feature_names.index("job = none")]
    row = int(np.flatnonzero((bit == 0) & (none == 1))[0])
    rank = next(one.rank for one in small.iterate() if one.model.features == (job,))
    page = watched.open(f"{server}/{ALL}&rank={rank}&row={row}")
    page.wait_for_selector(".path")
    assert page.locator(".path ol li").all_inner_texts() == ["job = clerk? no, for job = none"]
    page.locator(".path summary").click()
    known = page.locator(".path ul li").all_inner_texts()
    assert "job = none" in known
    assert any(re.search(rf"{LONG} (<=|>) ", text) for text in known)


def test_going_back_goes_back_in_the_view(watched: Watched, server: str) -> None:
    page = watched.open(server)
    watched.draw()
    page.fill("#jump-to", "5")
    page.keyboard.press("Enter")
    page.wait_for_function(
        "() => document.getElementById('tree-head').innerText.startsWith('Tree 5 of')"
    )
    page.fill("#jump-to", "6")
    page.keyboard.press("Enter")
    page.wait_for_function(
        "() => document.getElementById('tree-head').innerText.startsWith('Tree 6 of')"
    )
    page.go_back()
    page.wait_for_function(
        "() => document.getElementById('tree-head').innerText.startsWith('Tree 5 of')"
    )


def test_the_keyboard_is_enough(watched: Watched, server: str) -> None:
    page = watched.open(server)
    focused = "document.activeElement.closest('#map [role=gridcell]') !== null"
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate(focused):
            break
    assert page.evaluate(focused)
    where = "[document.activeElement.dataset.i, document.activeElement.dataset.j].map(Number)"
    i, j = page.evaluate(where)
    page.keyboard.press("ArrowLeft")
    assert page.evaluate(where) == [i - 1, j]
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowUp")
    assert page.evaluate(where) == [i, j + 1]
    page.keyboard.press("ArrowDown")
    assert page.inner_text("#readout") == page.evaluate("document.activeElement.ariaLabel")
    assert (
        page.evaluate("getComputedStyle(document.activeElement.querySelector('rect')).strokeWidth")
        == "3.5px"
    )
    page.keyboard.press("Enter")
    page.wait_for_selector("#tree-head")
    assert page.evaluate(focused)  # drawing anew must not lose the place
    assert page.evaluate(where) == [i, j]
    assert page.get_attribute("#map .picked", "aria-selected") == "true"


def test_trees_stand_side_by_side(watched: Watched, server: str) -> None:
    page = watched.open(server)
    for number in ("10", "2000"):
        watched.draw()
        page.fill("#jump-to", number)
        page.keyboard.press("Enter")
        text = f"Tree {int(number):,} of"
        page.wait_for_function(
            "t => document.getElementById('tree-head').innerText.startsWith(t)", arg=text
        )
        page.click("#pin")
    page.wait_for_function("() => document.querySelectorAll('#side article svg').length === 2")
    assert "Tree 10" in page.inner_text("#side table")
    assert "Tree 2,000" in page.inner_text("#side table")
    page.locator("#side button", has_text="Put away").first.click()
    page.wait_for_function("() => document.querySelectorAll('#side article').length === 1")


def test_the_shortlist_stays_and_travels(watched: Watched, server: str, tmp_path: Path) -> None:
    page = watched.open(server)
    watched.draw()
    page.click("#keep")
    page.click("#tab-shortlist")
    note = page.locator("#shortlist textarea")
    note.fill("small and fair")
    page.reload()
    page.wait_for_selector(READY)
    assert page.locator("#shortlist textarea").input_value() == "small and fair"
    with page.expect_download() as saved:
        page.click("#list-save")
    path = tmp_path / "list.json"
    saved.value.save_as(path)
    kept = json.loads(path.read_text(encoding="utf-8"))
    assert kept["trees"][0]["note"] == "small and fair"
    page.locator("#shortlist button", has_text="Remove").click()
    assert page.locator("#shortlist textarea").count() == 0
    page.set_input_files("#list-load", path)
    page.wait_for_selector("#shortlist textarea")
    page.locator("#shortlist button", has_text="Show").click()
    rank = int(kept["trees"][0]["rank"])
    page.wait_for_function(
        "t => document.getElementById('tree-head')?.innerText.startsWith(t)",
        arg=f"Tree {rank:,} of",
    )
    path.write_text('{"format": "else"}', encoding="utf-8")
    page.set_input_files("#list-load", path)
    page.wait_for_function(
        "() => document.getElementById('notice').innerText.includes('not a shortlist')"
    )


def test_two_profiles_are_compared(watched: Watched, server: str) -> None:
    page = watched.open(server)
    show_compare(page)
    assert page.inner_text("#compare-first").startswith("original:")
    assert page.locator("#map-difference rect.more").count() > 0
    assert page.locator("#map-difference rect.less").count() > 0
    label = page.locator("#map-difference .cell").first.get_attribute("aria-label")
    assert "percentage points (original" in label


def compared_cell(page: Any, name: str, at: int = 0) -> Any:
    return page.locator(f"#map-{name} .cell:has(rect.heat)").nth(at)


def exact_metrics(page: Any) -> dict[str, str]:
    return dict(
        page.eval_on_selector_all(
            "#tree [data-metric]", "cells => cells.map(c => [c.dataset.metric, c.dataset.exact])"
        )
    )


def profile_rank(page: Any) -> int:
    return int(re.search(r"profile\.tree\((\d+)\)", page.inner_text("#tree"))[1])  # type: ignore[index]


def scores(profile: Profile, rank: int) -> dict[str, str]:
    drawn = profile.tree(rank)
    found = adtc.score(drawn.tree, drawn.data, profile.names)
    return {k: "undefined" if v is None else str(v) for k, v in found.items()}


@pytest.mark.parametrize(("name", "title"), [("first", "original"), ("second", "changed")])
def test_a_cell_of_either_map_gives_a_tree_of_its_profile(
    watched: Watched, server: str, pair: tuple[Profile, Profile], name: str, title: str
) -> None:
    page = watched.open(server)
    show_compare(page)
    cell = compared_cell(page, name, 5)
    label = cell.get_attribute("aria-label")
    cell.click()
    wait_for_title(page, f"A tree of {title}")
    said = page.inner_text("#tree")
    here = re.search(r"at place [\d,]+, from 0, of ([\d,]+)\.", said)[1]  # type: ignore[index]
    assert f": {here} tree" in label
    assert label.partition(":")[0] + f" of {title}" in page.inner_text("#tree-where")
    assert exact_metrics(page) == scores(pair[name == "second"], profile_rank(page))
    assert page.get_attribute(f"#map-{name} .picked", "aria-label") == label
    assert page.locator(".picked").count() == 1


def test_trees_of_the_second_profile_are_stepped_through_and_restored(
    watched: Watched, chromium: Any, server: str, other: Profile
) -> None:
    page = watched.open(server)
    show_compare(page)
    compared_cell(page, "second", 5).focus()
    page.keyboard.press("Enter")
    wait_for_title(page, "A tree of changed")
    page.fill("#jump-to", "0")
    page.keyboard.press("Enter")
    page.wait_for_function(
        "() => document.getElementById('tree').innerText.includes('at place 0, from 0')"
    )
    page.click("#next")
    page.wait_for_function(
        "() => document.getElementById('tree').innerText.includes('at place 1, from 0')"
    )
    assert exact_metrics(page) == scores(other, profile_rank(page))
    page.click("#pin")
    page.wait_for_selector("#side article")
    context = chromium.new_context()
    again = Watched(context.new_page())
    fresh = again.open(page.url)
    for part in ("#tree-title", "#tree-head", "#tree-where", "#tree .values", "#side table"):
        assert fresh.inner_text(part) == page.inner_text(part)
    assert fresh.locator("#map-second .picked").count() == 1
    assert fresh.locator(".picked").count() == 1
    again.check(server)
    context.close()


def test_switching_the_profile_keeps_the_shared_cell(watched: Watched, server: str) -> None:
    page = watched.open(server)
    show_compare(page)
    i, j = page.evaluate("""() => {
      const full = name => new Set([...document.querySelectorAll(`#map-${name} .cell`)]
        .filter(c => c.querySelector('.heat')).map(c => `${c.dataset.i},${c.dataset.j}`));
      const second = full('second');
      return [...full('first')].find(c => second.has(c)).split(',');
    }""")
    page.click(f'#map-first [data-i="{i}"][data-j="{j}"]')
    page.wait_for_selector("#tree-head")
    page.select_option("#from", "2")
    page.wait_for_function("() => document.querySelector('#map-second .picked')")
    wait_for_title(page, "The best tree of changed")
    assert page.get_attribute("#map-second .picked", "data-i") == i
    page.select_option("#from", "")
    page.wait_for_function("() => document.querySelector('#map-first .picked')")
    wait_for_title(page, "The best tree of original")


def test_a_tree_of_each_profile_side_by_side(
    watched: Watched, server: str, small: Profile, other: Profile
) -> None:
    page = watched.open(f"{server}/#where=acc+%3E%3D+0.6")
    show_compare(page)
    page.click("#both")
    page.wait_for_function("() => document.querySelectorAll('#side article svg').length === 2")
    heads = page.eval_on_selector_all("#side h3", "all => all.map(h => h.innerText)")
    for text, title, profile in zip(heads, ("original", "changed"), (small, other), strict=True):
        rank = int(re.fullmatch(rf"Tree ([\d,]+) of {title}", text)[1].replace(",", ""))  # type: ignore[index]
        row = page.locator("#side tr", has_text=text)
        shown = row.locator("td").evaluate_all("cells => cells.map(c => c.dataset.exact)")
        assert shown == list(scores(profile, rank).values())
    assert "on its own profile's table" in page.inner_text("#side")
    assert page.locator("#side tr", has_text="first minus second").count() == 1
    page.reload()
    page.wait_for_function("() => document.querySelectorAll('#side article svg').length === 2")
    assert page.eval_on_selector_all("#side h3", "all => all.map(h => h.innerText)") == heads


def test_a_cell_of_the_difference_gives_a_tree_of_each(watched: Watched, server: str) -> None:
    page = watched.open(server)
    show_compare(page)
    page.locator("#map-difference .cell:has(rect.more)").nth(3).click()
    page.wait_for_selector("#side article")
    assert "pins=" in page.url
    assert page.locator("#map-first .picked, #map-second .picked").count() == 1


def test_the_shortlist_tells_the_profiles_apart(watched: Watched, server: str) -> None:
    page = watched.open(f"{server}/{ALL}&rank=5")
    page.wait_for_selector("#tree-head")
    page.click("#keep")
    page.select_option("#from", "2")
    page.wait_for_function(
        "() => document.getElementById('tree-title').innerText.endsWith('changed')"
    )
    page.wait_for_selector("#tree-head")
    rank = profile_rank(page)
    page.click("#keep")
    page.click("#tab-shortlist")
    page.reload()
    page.wait_for_selector(READY)
    assert page.locator("#shortlist strong").all_inner_texts() == [
        "Tree 5 of original",
        f"Tree {rank:,} of changed",
    ]
    page.locator("#shortlist button", has_text="Show").nth(0).click()
    page.wait_for_function(
        "() => document.getElementById('tree-head').innerText.startsWith('Tree 5 of')"
    )
    page.locator("#shortlist button", has_text="Show").nth(1).click()
    page.wait_for_function(
        "() => document.getElementById('tree-title').innerText.endsWith('changed')"
    )
    assert profile_rank(page) == rank


def test_pictures_are_downloaded(watched: Watched, server: str, tmp_path: Path) -> None:
    page = watched.open(server)
    page.click("#map-options summary")
    with page.expect_download() as png:
        page.click("#map-png")
    png.value.save_as(tmp_path / "map.png")
    assert (tmp_path / "map.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "map.png").stat().st_size > 5_000
    with page.expect_download() as svg:
        page.click("#map-svg")
    svg.value.save_as(tmp_path / "map.svg")
    text = (tmp_path / "map.svg").read_text(encoding="utf-8")
    assert text.startswith("<svg")
    assert "oklab" not in text
    assert "var(" not in text


def test_rules_json_and_svg_are_copied(chromium: Any, server: str) -> None:
    context = chromium.new_context(permissions=["clipboard-read", "clipboard-write"])
    watched = Watched(context.new_page())
    page = watched.open(server)
    watched.draw()
    for name, begins in (("rules", ("if", "always")), ("JSON", ("{",)), ("SVG", ("<svg",))):
        page.locator("#tree button", has_text=f"Copy {name}").click()
        page.wait_for_function(
            "t => document.getElementById('notice').innerText === t", arg=f"Copy {name}: copied."
        )
        assert page.evaluate("navigator.clipboard.readText()").startswith(begins)
    watched.check(server)
    context.close()


def test_the_exported_report_opens_from_disk(
    watched: Watched, chromium: Any, server: str, small: Profile, tmp_path: Path
) -> None:
    page = watched.open(f"{server}/#where=acc+%3E%3D+0.6")
    watched.draw()
    with page.expect_download() as saved:
        page.click("#export")
    path = tmp_path / "report.html"
    saved.value.save_as(path)
    context = chromium.new_context(offline=True)
    report = Watched(context.new_page())
    report.page.goto(path.as_uri())
    report.page.wait_for_selector(".landscape .cell")
    n = small.where("acc >= 0.6").count
    assert report.page.inner_text(".answer").startswith(f"{n:,} trees")
    assert report.page.locator("#trees .tree-card svg").count() == 1
    assert [url for url in report.asked if not url.startswith(("file:", "data:"))] == []
    assert report.troubles == []
    assert report.page.evaluate("window.hacked") is None
    context.close()


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_is_wider_than_the_screen(
    chromium: Any, server: str, width: int, scheme: str
) -> None:
    context = chromium.new_context(
        viewport={"width": width, "height": 844}, color_scheme=scheme, has_touch=width < 500
    )
    watched = Watched(context.new_page())
    page = watched.open(server)
    pick(page, 2)
    page.click("#pin")
    page.wait_for_selector("#side article")
    page.fill(
        "#formula", "acc >= 0.6 and ddp <= 0.1 and dp <= 0.1 and size <= 12345678 or acc = 0.123456"
    )
    page.wait_for_selector("#formula-error pre")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    overlapping = """() => {
      const labels = [...document.querySelectorAll('#map .tick-label')];
      const boxes = labels.map(t => t.getBoundingClientRect());
      const beside = (a, b) => a.left >= b.right || b.left >= a.right;
      const hit = (a, b) => !(beside(a, b) || a.top >= b.bottom || b.top >= a.bottom);
      return boxes.some((a, i) => boxes.some((b, j) => i < j && hit(a, b)));
    }"""
    assert page.evaluate(overlapping) is False
    sticking_out = """() => {
      const parts = [...document.querySelectorAll('.card :is(button, select, label, p, h2)')];
      const shown = parts.filter(p => p.clientWidth && !p.closest('.scroll, .visually-hidden'));
      const edge = p => p.closest('.card').getBoundingClientRect().right;
      const out = p => p.getBoundingClientRect().right > edge(p);
      return shown.filter(p => out(p) || p.scrollWidth > p.clientWidth).map(p => p.outerHTML);
    }"""
    assert page.evaluate(sticking_out) == []
    watched.check(server)
    context.close()

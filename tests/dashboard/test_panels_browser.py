"""The panels in a real browser: people, variables, the builder and the test set."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from browsing import READY, SETTLED, Watched, serving

from adtc.profiles import Profile

READ = "id => document.getElementById(id).innerText"
LINES = ".list-line:has([role=gridcell])"


@pytest.fixture(scope="module")
def address(credit: Profile) -> Iterator[str]:
    from adtc.dashboard import make_app

    with serving(make_app(credit)) as found:
        yield found


@pytest.fixture
def panels(chromium: Any, address: str) -> Iterator[Watched]:
    context = chromium.new_context(viewport={"width": 1280, "height": 800})
    found = Watched(context.new_page())
    yield found
    found.check(address)
    context.close()


def wait_for(page: Any, name: str, text: str) -> None:
    """Wait until an element's text holds something."""
    page.wait_for_function(
        "([id, text]) => document.getElementById(id).innerText.includes(text)", arg=[name, text]
    )


def first_rows(page: Any, n: int) -> list[int]:
    cells = page.locator(f"{LINES} .c-row").all_inner_texts()
    return [int(text.replace(",", "")) for text in cells[:n]]


def test_a_status_stands_in_the_header(panels: Watched, address: str) -> None:
    page = panels.open(address)
    assert page.inner_text("#status") == "exact"
    assert "every number is the true one" in page.get_attribute("#status", "title")


def test_people_are_listed_most_contested_first(
    panels: Watched, address: str, credit: Profile
) -> None:
    page = panels.open(f"{address}/#tab=people")
    page.wait_for_selector(LINES)
    votes = credit.vote_shares()
    tops = votes.expected_disagreement().tops
    expected = sorted(range(len(votes)), key=lambda row: (-tops[row], row))
    assert first_rows(page, 8) == expected[:8]
    assert page.inner_text("#people-head").startswith(f"{credit.count:,} trees vote on 700 people")
    assert page.locator(".vote-histogram").count() == 3
    page.get_by_role("button", name="conflict").click()
    against = votes.conflict("model").tops
    expected = sorted(range(len(votes)), key=lambda row: (-against[row], row))
    page.wait_for_function(
        "row => document.querySelector('.list-line .c-row')?.innerText === row",
        arg=f"{expected[0]:,}",
    )
    assert first_rows(page, 8) == expected[:8]
    assert "sort=conflict" in page.url


def test_the_list_holds_only_the_lines_in_sight_and_reaches_the_last(
    panels: Watched, address: str
) -> None:
    page = panels.open(f"{address}/#tab=people&sort=row&rising=1")
    page.wait_for_selector(LINES)
    assert page.locator(".list-line").count() < 60
    assert page.get_attribute("#people-list", "aria-rowcount") == "700"
    page.locator(".list-line").first.focus()
    page.keyboard.press("End")
    page.wait_for_function(
        "() => document.activeElement.querySelector('.c-row')?.innerText === '699'"
    )
    assert page.locator(".list-line").count() < 60
    page.keyboard.press("Enter")
    page.wait_for_function("() => document.getElementById('person-title').innerText === 'Row 699'")


def test_a_person_is_shown_with_a_tree_for_each_side(
    panels: Watched, address: str, credit: Profile
) -> None:
    page = panels.open(f"{address}/#tab=people")
    page.wait_for_selector(".deciding svg.adtc-tree")
    page.locator(LINES).nth(2).click()
    row = int(page.locator(f"{LINES} .c-row").nth(2).inner_text().replace(",", ""))
    page.wait_for_function(
        "row => document.getElementById('person-title').innerText === `Row ${row}`", arg=row
    )
    page.wait_for_selector("#person:not([aria-busy]) .deciding")
    votes = credit.vote_shares()
    counts = dict(zip(votes.label_texts, votes.counts[row].tolist(), strict=True))
    for label, n in counts.items():
        assert f"{n:,} trees" in page.inner_text(f".votes li:has-text('{label}')")
    assert page.locator(".deciding svg.adtc-tree").count() == 2
    assert page.locator(".deciding svg .adtc-leaf.adtc-on").count() == 2
    assert page.locator("#person .chips li").count() > 10
    assert page.is_visible(".tests")
    page.click("#tab-map")
    page.wait_for_selector(".path")  # the tree beside follows the same row
    assert f"Row {row}" in page.inner_text(".path")


def test_a_row_that_does_not_exist_is_refused_in_a_sentence(panels: Watched, address: str) -> None:
    page = panels.open(f"{address}/#tab=people")
    page.wait_for_selector(LINES)
    page.fill("#people-row", "700")
    page.keyboard.press("Enter")
    wait_for(page, "notice", "the table has rows 0 to 699")


def test_a_tree_is_built_by_keys_undone_and_finished(
    panels: Watched, address: str, credit: Profile
) -> None:
    page = panels.open(f"{address}/#tab=builder")
    page.wait_for_selector(".way")
    name, step = page.eval_on_selector(".way", "way => [way.title, way.dataset.step]")
    page.focus(".way")
    page.keyboard.press("Enter")
    builder = credit.builder().split(name)
    wait_for(page, "builder-head", f"{builder.count:,} trees begin like this")
    assert f"acc {float(builder.best(maximize='acc')):.5f}" in page.inner_text("#builder-head")
    assert page.locator(".place").count() == 3
    page.locator(".open-place").nth(1).click()
    page.wait_for_function("() => document.querySelectorAll('.place.here').length === 1")
    page.wait_for_function("() => document.querySelectorAll('.place')[2].matches('.here')")
    leaf = page.locator(".leaf-way").first
    label = leaf.locator("strong").inner_text()
    leaf.click()
    builder.leaf(label, "0")
    wait_for(page, "builder-head", f"{builder.count:,} trees begin like this")
    page.click("#builder-draw")
    page.wait_for_function("() => location.hash.includes('rank=')")
    page.wait_for_function(
        "name => document.querySelector('#tree svg').textContent.replace(/\\s/g, '')"
        ".includes(name.replace(/\\s/g, ''))",
        arg=name,
    )
    page.click("#builder-undo")
    builder.undo()
    wait_for(page, "builder-head", f"{builder.count:,} trees begin like this")
    page.go_back()
    wait_for(page, "builder-head", f"{builder.leaf(label, '0').count:,} trees begin like this")
    page.click("#builder-clear")
    wait_for(page, "builder-head", f"{credit.count:,} trees of the profile")
    assert step not in page.url


def test_a_tree_that_comes_too_late_is_not_shown(
    panels: Watched, address: str, credit: Profile
) -> None:
    page = panels.open(f"{address}/#tab=builder")
    page.click(".way")
    page.wait_for_function("() => location.hash.includes('rank=')")
    page.wait_for_selector(SETTLED)
    held: list[Any] = []
    page.route("**/api/complete?*seed=*", lambda route: held.append(route))  # noqa: PLW0108
    page.click("#builder-draw")
    page.wait_for_selector("body[data-asking]")
    page.click("#builder-undo")
    wait_for(page, "builder-head", f"{credit.total:,} trees of the profile")
    (late,) = held
    late.continue_()
    page.wait_for_selector(SETTLED)
    assert "rank=" not in page.url


def test_the_tree_beside_is_the_best_that_begins_like_this(
    panels: Watched, address: str, credit: Profile
) -> None:
    page = panels.open(f"{address}/#tab=builder")
    page.wait_for_selector(".way")
    name = page.get_attribute(".way", "title")
    page.click(".way")
    best = credit.builder().split(name).best(maximize="acc")
    page.wait_for_function(
        "acc => document.querySelector('#tree [data-metric=acc]')?.dataset.exact === acc",
        arg=str(best),
    )


def test_a_test_is_taken_back_with_all_below_it(panels: Watched, address: str) -> None:
    page = panels.open(f"{address}/#tab=builder")
    page.wait_for_selector(".way")
    page.click(".way")
    page.wait_for_function("() => document.querySelectorAll('.place').length === 3")
    page.click(".way")
    page.wait_for_function("() => document.querySelectorAll('.place').length === 5")
    page.locator(".take-back").first.click()
    page.wait_for_function("() => document.querySelectorAll('.place').length === 1")
    assert page.is_disabled("#builder-undo")


def test_variables_tell_what_is_necessary_and_compute_reliance(
    panels: Watched, address: str, credit: Profile
) -> None:
    where = "acc >= 0.72"
    page = panels.open(f"{address}/#tab=variables&where=acc+%3E%3D+0.72")
    page.wait_for_selector(".variables tbody tr")
    found = credit.variables(where)
    names = page.locator(".variables tbody th").all_inner_texts()
    assert names == [one.name for one in found.ranked()]
    kinds = page.locator(".variables .kind").all_inner_texts()
    assert kinds == [one.kind for one in found.ranked()]
    page.click("#reliance-start")
    page.wait_for_selector("#reliance-progress")
    page.wait_for_function(
        "n => document.querySelectorAll('.range-bar').length === n", arg=len(found), timeout=60_000
    )
    wait_for(page, "reliance-note", "1 means that it does not matter")
    assert not page.is_visible("#reliance-progress")


def test_train_against_test_has_a_diagonal_and_gives_trees(
    panels: Watched, address: str, credit: Profile
) -> None:
    page = panels.open(f"{address}/#tab=further&limit=0.05")
    page.wait_for_selector("#further-map .diagonal")
    n = credit.generalization("test").losing_more_than("0.05")
    assert page.inner_text("#further-losing").startswith(f"{n:,} trees")
    page.click("#further-worst")
    largest = credit.generalization("test").worst()
    assert largest is not None
    page.wait_for_function(
        "acc => document.querySelector('#tree [data-metric=\"test.acc\"]')?.dataset.exact === acc",
        arg=str(largest.metrics["test.acc"]),
    )
    before = page.url
    page.locator("#further-map .cell:has(rect.heat)").first.click()
    page.wait_for_function("before => location.href !== before", arg=before)
    page.fill("#further-limit", "much")
    page.keyboard.press("Enter")
    wait_for(page, "notice", "Give a number such as 0.02")


def test_a_link_restores_a_panel(panels: Watched, address: str) -> None:
    page = panels.open(f"{address}/#tab=builder")
    page.wait_for_selector(".way")
    page.click(".way")
    page.wait_for_function("() => location.hash.includes('rank=')")
    head = page.inner_text("#builder-head")
    page.reload()
    page.wait_for_selector(READY)
    page.wait_for_selector(".place.test")
    assert page.inner_text("#builder-head") == head


def test_without_a_circuit_panels_say_why(chromium: Any, credit: Profile) -> None:
    from adtc.dashboard import make_app

    with serving(make_app(replace(credit, source=None, keys=None))) as address:
        found = Watched(chromium.new_page())
        for tab in ("people", "variables", "builder"):
            page = found.open(f"{address}/#tab={tab}")
            assert "--circuit" in page.inner_text(f"#{tab}-head")
            assert not page.is_visible(f"#{tab}-body")
        page.click("#tab-further")
        page.wait_for_selector("#further-map .diagonal")
        assert page.locator("#further-worst").count() == 0
        found.check(address)
        page.close()


def test_without_a_further_table_there_is_no_tab(watched: Watched, server: str) -> None:
    page = watched.open(server)
    assert not page.is_visible("#tab-further")

"""The report: complete, exact, self-contained, safe with any name."""

import html
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import adtc
from adtc.algebra.formula import parse_term
from adtc.errors import DataError, QueryError, UnknownMetricError
from adtc.profiles import Profile
from adtc.show import words
from adtc.show.assets import asset_names, bundled, hash_of
from adtc.show.fragment import landscape_html
from adtc.show.markup import json_text
from adtc.show.report import report_html, write_report

HOSTILE = '</script><script>window.hacked=1</script><img src=x onerror="window.hacked=1">'
LONG = "share of instalments that were paid late in the five years before the application was made"


def table(name: str = "credit") -> adtc.Data:
    rng = np.random.default_rng(2)
    n = 50
    y = rng.integers(0, 2, n)
    frame = {
        LONG: (rng.integers(0, 30, n) + 9 * y).tolist(),
        HOSTILE: rng.integers(0, 2, n).tolist(),
        "sex": [["f", "m"][i] for i in rng.integers(0, 2, n)],
        "y": ["yes" if v else "no" for v in y],
    }
    return adtc.Data.from_frame(frame, target="y", sensitive="sex", nbins=3, name=name)


@pytest.fixture(scope="module")
def found() -> Profile:
    metrics = ["size", "acc", "precision", "dp", "N11", "error + 2 * size"]
    return adtc.profile(table(), adtc.Space(max_depth=2, minsup=3), metrics, where="acc >= 0.4")


@pytest.fixture(scope="module")
def page(found: Profile) -> str:
    return report_html(found)


def block(text: str) -> Any:
    match = re.search(r'<script type="application/json" id="adtc-data">(.*?)</script>', text)
    assert match is not None
    return json.loads(match[1])


def shown(text: str) -> str:
    """Give what a reader sees, without scripts, styles and tags."""
    bare = re.sub(r"<(script|style)\b.*?</\1>", "", text, flags=re.DOTALL)
    return html.unescape(re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", bare)))


def cards(text: str) -> dict[int, list[str]]:
    """Give the trees that are drawn, by rank, and why each is there."""
    found = re.findall(r'<article class="tree-card[^"]*" id="tree-(\d+)"><h3>(.*?)</h3>', text)
    return {int(rank): re.findall(r'class="role">([^<]*)<', head) for rank, head in found}


def test_nothing_outside_is_named(page: str) -> None:
    addresses = set(re.findall(r"https?://[^\s\"'<)]+", page))
    assert addresses <= {"http://www.w3.org/2000/svg"}
    assert '<link rel="stylesheet"' not in page
    assert "@import" not in page


def test_only_the_pages_own_script_may_run(page: str) -> None:
    script = re.search(r'<script type="module">(.*?)</script>', page, re.DOTALL)
    assert script is not None
    assert hash_of(script[1]) in page
    assert "script-src 'sha256-" in page
    assert page.count("<script") == 2


def test_the_question_is_put_into_words(page: str, found: Profile) -> None:
    text = shown(page)
    assert "The table credit has 50 rows" in text
    assert "at most 2 tests on a path" in text
    assert "at least 3 rows in every leaf" in text
    assert "Only trees with acc >= 0.4" in text
    assert "demographic parity: gap of selection rates" in text
    assert f"{found.count:,} trees" in text
    assert found.record.data["fingerprint"] in text
    assert "two trees that predict alike are two trees" in text


def test_landscapes_hold_every_tree_as_decimal_strings(page: str, found: Profile) -> None:
    views = block(page)["landscapes"]
    assert (views[0]["x"]["metric"], views[0]["y"]["metric"]) == ("acc", "dp")  # gaps first
    for view in views:
        cells = [n for row in view["counts"] for n in row]
        assert all(isinstance(n, str) for n in cells)
        assert sum(map(int, cells)) == found.count
    (precision,) = (view for view in views if view["y"]["metric"] == "precision")
    assert "undefined" in precision["y"]["kinds"]


def test_the_table_beside_a_landscape_has_the_same_counts(found: Profile) -> None:
    table = found.crosstab("acc", "dp", bins=4)
    text = report_html(found, crosstabs=[table], trees=0)
    assert table.to_html() in text
    assert block(text)["landscapes"][0]["counts"] == [[str(n) for n in row] for row in table.counts]


def test_metrics_are_defined_with_formulas(page: str, found: Profile) -> None:
    assert "N<sub>1,1</sub> / N<sub>*,1</sub>" in page
    text = shown(page)
    assert "number of rows with true label yes, predicted label yes" in text
    assert "a metric of your own" in text
    assert words.definition(found, "error + 2 * size").formula == "error + 2 * size"
    assert words.definition(found, "N[~1,*,0]").about == (
        "number of rows with true label other than yes, group f"
    )


def test_moments_and_front_are_told(page: str, found: Profile) -> None:
    text = shown(page)
    acc = found.moments("acc")
    assert f"{float(acc.mean or 0):.5f}" in text
    lost = found.moments("precision").undefined
    assert f"{lost:,} trees" in text
    front = found.pareto(maximize=["acc", "precision"])
    points, trees = words.many(len(front), "point"), words.many(front.count, "tree")
    assert f"accuracy (acc) and precision: {points}, {trees}" in text


def test_drawn_trees_are_those_of_the_seed(page: str, found: Profile) -> None:
    drawn = found.draw(3, seed=0)
    assert {card for card, roles in cards(page).items() if "drawn at random, seed 0" in roles} == {
        one.rank for one in drawn
    }
    for one in drawn:
        assert f"profile.tree({one.rank})" in page
        for rule in adtc.TreeModel(one.tree, one.data).rules(small=10):
            assert html.escape(rule.claim) in page
            assert html.escape(rule.evidence) in page
    assert page.count('class="adtc-tree"') == len(cards(page))
    chosen = report_html(found, trees=[found.tree(7)])
    assert cards(chosen)[7] == ["chosen by hand"]
    assert "with the same probability (seed 0)" in page


def test_a_further_condition_is_reported(found: Profile) -> None:
    text = report_html(found, where="acc >= 0.6", trees=1, crosstabs=[("acc", "dp")])
    n = found.where("acc >= 0.6").count
    assert f"{n:,} trees" in shown(text)
    assert "Only trees with acc >= 0.4, and on top of that acc >= 0.6." in shown(text)
    assert int(block(text)["landscapes"][0]["total"]) == n


def test_an_empty_profile_says_that_no_tree_exists(found: Profile) -> None:
    empty = adtc.profile(
        table(), adtc.Space(max_depth=1, minsup=3), ["size", "acc"], where="acc > 1"
    )
    text = shown(report_html(empty))
    assert "No tree exists" in text
    assert "nothing to average" in text
    near = shown(report_html(found, where="acc >= 1"))
    assert "acc >= 1: at most" in near


def test_a_profile_without_circuit_says_why_no_tree_is_drawn(found: Profile) -> None:
    text = report_html(replace(found, source=None, keys=None))
    assert "kept without its circuit" in text
    assert "adtc-tree" not in re.sub(r"<style>.*?</style>", "", text, flags=re.DOTALL)
    assert "N<sub>1,1</sub>" in text


def test_huge_counts_stay_exact(found: Profile) -> None:
    n = 40
    trees = np.full((n, 2), 2**63, np.uint64)
    axes = {"a": np.arange(n), "b": np.arange(n) % 7}
    metrics = {"acc": parse_term("a / 40"), "dp": parse_term("b / 0")}
    huge = Profile(axes, trees, metrics, found.record)
    text = report_html(huge)
    assert huge.count == 40 * (2**63 + 2**127)
    assert f"{huge.count:,}" in text
    assert "About 10<sup>39.8" in text
    total = sum(int(n) for row in block(text)["landscapes"][0]["counts"] for n in row)
    assert total == huge.count
    assert "undefined" in shown(text)


def test_names_from_the_table_never_become_code() -> None:
    data = table(HOSTILE)
    profile = adtc.profile(data, adtc.Space(max_depth=1), ["size", "acc"])
    text = report_html(profile, title=HOSTILE)
    assert "<script>window" not in text
    assert "<img" not in text
    assert html.escape(HOSTILE) in text
    assert "<script>window" not in landscape_html(profile)


def test_the_json_block_cannot_end_its_element() -> None:
    text = json_text({"where": HOSTILE, "line": "\u2028"})
    assert "<" not in text
    assert json.loads(text) == {"where": HOSTILE, "line": "\u2028"}


def test_an_unknown_metric_is_refused(found: Profile) -> None:
    with pytest.raises(UnknownMetricError, match="unknown metric 'eror'"):
        report_html(found, crosstabs=[("acc", "eror")])
    with pytest.raises(QueryError, match="pairs of metrics"):
        report_html(found, crosstabs=["acc"])  # type: ignore[list-item]


def test_the_file_is_whole_or_not_there(found: Profile, tmp_path: Path, monkeypatch: Any) -> None:
    path = tmp_path / "report.html"
    assert write_report(found, path, trees=1) == path
    before = path.read_bytes()
    monkeypatch.setattr("os.fsync", _interrupted)  # with all bytes written, before they have a name
    with pytest.raises(KeyboardInterrupt):
        write_report(found, path, trees=1)
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["report.html"]


def _interrupted(descriptor: int) -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize(("place", "reason"), [(".", "folder"), ("none/report.html", "folder")])
def test_a_path_that_cannot_be_written_is_one_sentence(
    found: Profile, tmp_path: Path, place: str, reason: str
) -> None:
    with pytest.raises(DataError, match=reason) as caught:
        write_report(found, tmp_path / place, trees=0)
    assert "\n" not in str(caught.value)


def test_modules_are_joined_without_imports() -> None:
    script = bundled("report.js")
    assert not re.search(r"^(import|export)\b", script, re.MULTILINE)
    assert script.index("function compact") < script.index("function drawHeatmap")
    assert {"page.css", "dashboard.html", "app.js", "notebook.js"} <= set(asset_names())


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_opens_from_disk(
    chromium: Any, found: Profile, tmp_path: Path, width: int, scheme: str
) -> None:
    path = write_report(found, tmp_path / "report.html")
    context = chromium.new_context(
        viewport={"width": width, "height": 844}, color_scheme=scheme, offline=True
    )
    opened = context.new_page()
    asked: list[str] = []
    troubles: list[str] = []
    opened.on("request", lambda request: asked.append(request.url))
    opened.on("console", lambda m: troubles.append(m.text))
    opened.on("pageerror", lambda error: troubles.append(str(error)))
    opened.goto(path.as_uri())
    opened.wait_for_selector(".landscape .cell")
    views = block(path.read_text(encoding="utf-8"))["landscapes"]
    assert opened.locator("figure svg.heatmap").count() == len(views)
    cell = opened.locator(".landscape .cell:has(rect.heat)").first
    cell.hover()
    assert opened.locator(".readout").first.inner_text() == cell.get_attribute("aria-label")
    cell.press("ArrowRight")
    assert opened.evaluate("document.activeElement.dataset.i !== undefined")
    assert opened.evaluate("document.documentElement.scrollWidth") <= width
    assert opened.evaluate("window.hacked") is None
    assert [url for url in asked if not url.startswith(("file:", "data:"))] == []
    assert troubles == []
    opened.emulate_media(media="print")
    assert opened.evaluate("getComputedStyle(document.querySelector('nav')).display") == "none"
    context.close()

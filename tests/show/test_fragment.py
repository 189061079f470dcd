"""The landscape in a notebook: the same map as in the report, and a table where no script runs."""

import json
import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import adtc
from adtc.algebra.formula import parse_term
from adtc.profiles import Profile
from adtc.show import embedding
from adtc.show.assets import notebook_script, scoped_style
from adtc.show.fragment import landscape_html

HOSTILE = '</script><script>window.hacked=1</script><img src=x onerror="window.hacked=1">'
METRICS = ["size", "acc", "precision", "dp", "error + 2 * size"]


def table(name: str = "credit", seed: int = 2) -> adtc.Data:
    rng = np.random.default_rng(seed)
    n = 50
    y = rng.integers(0, 2, n)
    frame = {
        "late": (rng.integers(0, 30, n) + 9 * y).tolist(),
        HOSTILE: rng.integers(0, 2, n).tolist(),
        "sex": [["f", "m"][i] for i in rng.integers(0, 2, n)],
        "y": ["yes" if v else "no" for v in y],
    }
    return adtc.Data.from_frame(frame, target="y", sensitive="sex", nbins=3, name=name)


@pytest.fixture(scope="module")
def found() -> Profile:
    return adtc.profile(table(), adtc.Space(max_depth=2, minsup=3), METRICS, where="acc >= 0.4")


@pytest.fixture(scope="module")
def second() -> Profile:
    return adtc.profile(table("later", 3), adtc.Space(max_depth=2, minsup=3), METRICS[:4])


def block(text: str) -> Any:
    match = re.search(r'<script type="application/json">(.*?)</script>', text)
    assert match is not None
    return json.loads(match[1])


def counts(view: Any, a: int, b: int, bins: int) -> list[list[int]]:
    rows = view["tables"][f"{a},{b},{bins}"]["rows"]
    return [[int(n or 0) for n in row.split(",")] for row in rows]


def test_without_script_there_is_a_table(found: Profile) -> None:
    text = re.sub(r"<script.*?</script>", "", landscape_html(found), flags=re.DOTALL)
    tab = found.crosstab("acc", "dp", bins=10, round_edges=True)
    filled = [n for row in tab.counts for n in row if n]
    many = replace(found, trees=found.trees * np.uint64(10**6))
    assert f": {max(filled) * 10**6:,} trees" in landscape_html(many)
    assert text.count("aria-label=") == len(filled)
    assert f"{max(filled):,} trees" in text
    empty = landscape_html(found.where("acc > 1"))
    assert "No tree exists" in empty
    assert "<script" not in empty


def test_every_pair_of_metrics_is_there_with_exact_counts(found: Profile) -> None:
    view = block(landscape_html(found))
    names = [metric["name"] for metric in view["metrics"]]
    assert names == METRICS
    assert [names[i] for i in view["start"]] == ["acc", "dp"]  # gaps first
    assert view["bins"] == [5, 10, 20]
    for at, bins in enumerate(view["bins"]):
        for a in range(len(names)):
            for b in range(a + 1, len(names)):
                expected = found.crosstab(names[a], names[b], bins=bins, round_edges=True)
                assert counts(view, a, b, at) == [list(row) for row in expected.counts]
                assert view["axes"][a][at]["labels"] == list(expected.x_bins.labels)
    assert view["total"] == str(found.count)
    assert view["notes"] == []


def test_a_front_runs_where_the_report_draws_it(found: Profile) -> None:
    view = block(landscape_html(found))
    front = view["tables"]["1,3,1"]["front"]  # acc and dp in 10 bins
    assert front["goals"] == ["max", "min"]
    points = found.pareto(maximize="acc", minimize="dp").points
    axis = view["axes"][1][1]
    edges = [float(tick["label"]) for tick in axis["ticks"]]
    width = (edges[-1] - edges[0]) / (len(edges) - 1)
    places = {round((float(acc) - edges[0]) / width, 2) for acc, _ in points}
    assert {x for x, _ in front["line"]} == places
    assert view["tables"]["1,4,1"]["front"] is None  # nobody knows which way is better


def wide(record: Any, cells: int, metrics: int) -> Profile:
    rng = np.random.default_rng(0)
    axes = {f"a{i}": rng.integers(0, 1000, cells) for i in range(metrics)}
    terms = {f"m{i}": parse_term(f"a{i} / 1000") for i in range(metrics)}
    return Profile(axes, rng.integers(1, 2**62, (cells, 2)).astype(np.uint64), terms, record)


def test_many_cells_and_metrics_stay_small_and_that_is_said(found: Profile) -> None:
    text = landscape_html(wide(found.record, 250_000, 10))
    view = block(text)
    assert len(text) < embedding.LARGEST + 60_000
    assert view["bins"] == [10]
    assert "250,000 cells are counted in 10 bins per metric" in view["notes"][0]
    assert "2 of 10 metrics are left out" in view["notes"][0]
    assert sum(map(sum, counts(view, 0, 1, 0))) == int(view["total"]) > 2**64


def test_what_would_still_be_large_is_cut_down(found: Profile, monkeypatch: Any) -> None:
    monkeypatch.setattr(embedding, "LARGEST", 30_000)
    profile = wide(found.record, 3_000, 6)
    view = block(landscape_html(profile))
    assert view["bins"] == [10]
    assert len(json.dumps(view["tables"])) < 30_000
    assert "To keep this output small" in view["notes"][0]


def test_script_and_style_keep_to_themselves() -> None:
    script, mark = notebook_script()
    assert script.startswith("(() => {")
    assert f'drawAll("{mark}")' in script
    assert not re.search(r"^(import|export)\b", script, re.MULTILINE)
    assert "</script" not in script.lower()
    assert "<!--" not in script
    style = scoped_style()
    assert ":root" not in style
    assert "rem" not in re.findall(r"[\d.]+([a-z]+)", style)
    assert not re.search(r"^(html|body)\b", style, re.MULTILINE)


def test_names_from_the_table_never_become_code(found: Profile) -> None:
    profile = adtc.profile(table(HOSTILE), adtc.Space(max_depth=1), ["size", "acc"])
    text = landscape_html(profile)
    assert "<script>window" not in text
    assert "<img" not in text
    assert HOSTILE in block(text)["head"][1]


class Notebook:
    """A page with outputs below each other, with all that went wrong on it."""

    def __init__(self, chromium: Any, outputs: list[str], **options: Any) -> None:
        self.style = options.pop("style", "")
        self.context = chromium.new_context(offline=True, **options)
        self.page = self.context.new_page()
        self.asked: list[str] = []
        self.troubles: list[str] = []
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.on("console", lambda m: self.troubles.append(m.text))
        self.page.on("pageerror", lambda error: self.troubles.append(str(error)))
        cells = "".join(
            f"<section class='output' id='out{i}'>{o}</section>" for i, o in enumerate(outputs)
        )
        self.page.set_content(f"<style>{self.style}</style><h1>Notebook</h1>{cells}")

    def close(self) -> None:
        assert self.troubles == []
        assert self.asked == []
        assert self.page.evaluate("window.hacked") is None
        self.context.close()


def test_two_outputs_in_one_notebook(chromium: Any, found: Profile, second: Profile) -> None:
    outputs = [landscape_html(p) for p in (found, second, found)]
    notebook = Notebook(chromium, outputs, viewport={"width": 1000, "height": 900})
    page = notebook.page
    for at, profile in enumerate((found, second, found)):
        cells = page.locator(f"#out{at} .cell")
        tab = profile.crosstab("acc", "dp", bins=10, round_edges=True)
        assert cells.count() == len(tab.x_bins) * len(tab.y_bins)
        assert f"{profile.count:,} trees" in page.inner_text(f"#out{at} .head")
        for i, j, label in cells.evaluate_all(
            "all => all.map(c => [c.dataset.i, c.dataset.j, c.ariaLabel])"
        ):
            n = tab.counts[int(i)][int(j)]
            assert (f"{n:,} tree" if n else "no tree") in label
    page.locator("#out1 select").nth(1).select_option("0")
    assert page.text_content("#out1 .axis-name >> nth=1") == "size"
    assert page.text_content("#out0 .axis-name >> nth=1") == "dp"
    assert page.text_content("#out2 .axis-name >> nth=1") == "dp"
    assert page.evaluate("Object.keys(window).filter(k => /draw|heat/i.test(k))") == []
    notebook.close()


def test_the_map_answers_like_that_of_the_report(chromium: Any, found: Profile) -> None:
    notebook = Notebook(chromium, [landscape_html(found)])
    page = notebook.page
    across, upwards, bins, colour = (page.locator("#out0 select").nth(at) for at in range(4))

    def shown(x: str, y: str, n: int) -> None:
        tab = found.crosstab(x, y, bins=n, round_edges=True)
        labels = page.locator(".cell").evaluate_all(
            "all => all.map(c => [c.dataset.i, c.dataset.j, c.ariaLabel])"
        )
        assert len(labels) == len(tab.x_bins) * len(tab.y_bins)
        for i, j, label in labels:
            n = tab.counts[int(i)][int(j)]
            assert label.startswith(x)
            assert (f": {n:,} tree" if n else ": no tree") in label

    shown("acc", "dp", 10)
    bins.select_option("2")
    shown("acc", "dp", 20)
    across.select_option("3")
    shown("dp", "acc", 20)  # they changed places
    assert page.locator(".front-line").count() == 1
    across.select_option("2")
    upwards.select_option("3")
    shown("precision", "dp", 20)
    before = page.locator(".cell rect.heat").first.evaluate("r => r.style.getPropertyValue('--t')")
    colour.select_option("1")
    after = page.locator(".cell rect.heat").first.evaluate("r => r.style.getPropertyValue('--t')")
    assert before != after
    page.locator("input[type=checkbox]").uncheck()
    assert page.locator(".front-line").count() == 0
    cell = page.locator(".cell:has(rect.heat)").first
    cell.hover()
    assert page.inner_text(".readout") == cell.get_attribute("aria-label")
    cell.focus()
    page.keyboard.press("ArrowLeft")
    focused = page.evaluate(
        "document.querySelector('[data-adtc-landscape]').shadowRoot.activeElement.ariaLabel"
    )
    assert page.inner_text(".readout") == focused
    notebook.close()


LOOKS = {
    "light": ("#000", "#fff", "rgb(255, 255, 255)"),
    "dark": ("#eee", "#111", "rgb(27, 33, 38)"),
}


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1000, 390])
@pytest.mark.parametrize("look", ["light", "dark"])
def test_it_follows_the_notebook_and_not_the_system(
    chromium: Any, found: Profile, scheme: str, width: int, look: str
) -> None:
    ink, paper, card = LOOKS[look]
    style = f"html {{ font-size: 10px }} body {{ margin: 8px; color: {ink}; background: {paper} }}"
    notebook = Notebook(
        chromium,
        [landscape_html(found)],
        style=style,
        color_scheme=scheme,
        viewport={"width": width, "height": 844},
    )
    page = notebook.page
    assert page.locator(".page").evaluate("p => getComputedStyle(p).backgroundColor") == card
    assert page.locator(".page").evaluate("p => getComputedStyle(p).fontSize") == "15px"
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    other = "#111" if look == "dark" else "#eee"
    page.evaluate("ink => { document.body.style.color = ink; }", other)  # the theme is changed
    host = "document.querySelector('[data-adtc-landscape]')"
    page.wait_for_function(
        f"dark => {host}.hasAttribute('data-dark') === dark", arg=look == "light"
    )
    notebook.close()


def test_without_scripts_the_table_is_seen(chromium: Any, found: Profile) -> None:
    notebook = Notebook(chromium, [landscape_html(found)], java_script_enabled=False)
    assert notebook.page.locator("#out0 table").is_visible()
    assert notebook.page.locator("#out0 svg").count() == 0
    assert f"{found.count:,} trees" in notebook.page.locator("#out0 p").first.inner_text()
    assert notebook.asked == []
    notebook.context.close()


def test_with_scripts_the_table_is_folded_away(chromium: Any, found: Profile) -> None:
    notebook = Notebook(chromium, [landscape_html(found)])
    assert not notebook.page.locator("#out0 table").is_visible()
    notebook.page.locator("summary").click()
    assert notebook.page.locator("#out0 table").is_visible()
    notebook.close()

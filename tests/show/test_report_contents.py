"""The report's finding, its trees, its groups and its origin, against values found another way."""

import html
import re
from datetime import UTC, datetime
from fractions import Fraction
from math import log10
from typing import Any

import numpy as np
import pytest

import adtc
from adtc.algebra.trees import Leaf, Split
from adtc.engine import fast
from adtc.engine.monitor import Monitor
from adtc.engine.query import Question
from adtc.errors import LimitError, QueryError
from adtc.profiles import Profile
from adtc.profiles.audits.rates import group_counts
from adtc.show import groups, sections
from adtc.show.exhibits import best_trees, spread_over
from adtc.show.report import report_html

PEOPLE = ["Ada", "Ben", "Cleo", "Dan", "Eve"]


def table(rows: int = 120, few: int = 0) -> adtc.Data:
    rng = np.random.default_rng(5)
    y = rng.integers(0, 2, rows)
    frame = {
        "income": (rng.integers(0, 30, rows) + 6 * y).tolist(),
        "owner": rng.integers(0, 2, rows).tolist(),
        "group": ["c"] * few + [["a", "b"][i] for i in rng.integers(0, 2, rows - few)],
        "y": ["yes" if v else "no" for v in y],
    }
    return adtc.Data.from_frame(frame, target="y", sensitive="group", nbins=3, name="loans")


@pytest.fixture(scope="module")
def found() -> Profile:
    return adtc.profile(table(), adtc.Space(max_depth=2, minsup=12), ["size", "acc", "dp"])


def shown(text: str) -> str:
    bare = re.sub(r"<(script|style)\b.*?</\1>", "", text, flags=re.DOTALL)
    return html.unescape(re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", bare)))


def part(text: str, name: str) -> str:
    match = re.search(rf'<section id="{name}".*?</section>', text, re.DOTALL)
    assert match is not None
    return match[0]


def cards(text: str) -> dict[int, list[str]]:
    found = re.findall(r'<article class="tree-card[^"]*" id="tree-(\d+)"><h3>(.*?)</h3>', text)
    return {int(rank): re.findall(r'class="role">([^<]*)<', head) for rank, head in found}


# --- the finding ------------------------------------------------------------------------------


def test_the_finding_comes_first_and_is_true(found: Profile) -> None:
    text = report_html(found, where="acc >= 0.55")
    every = [one for one in found.iterate() if (one.metrics["acc"] or 0) >= Fraction("0.55")]
    best = max(one.metrics["acc"] for one in every)
    gap = min(one.metrics["dp"] for one in every if one.metrics["acc"] == best)
    least = min(one.metrics["dp"] for one in every)
    acc = max(one.metrics["acc"] for one in every if one.metrics["dp"] == least)
    said = shown(part(text, "finding"))
    assert text.index('id="finding"') < text.index("data-landscape") < text.index("<article")
    assert f"{len(every):,} trees satisfy acc >= 0.55" in said
    assert f"of the {found.count:,} there are" in said
    assert f"The largest accuracy is {float(best):.5f} (tree" in said
    assert re.search(rf"among trees that reach it is {float(gap):.5f}", said)
    value = f"{float(least):.5f}" if least else "0"
    assert f"The least demographic parity gap is {value} (tree" in said
    assert re.search(rf"the largest accuracy among trees that reach it is {float(acc):.5f}", said)
    points = {(one.metrics["acc"], one.metrics["dp"]) for one in every}
    front = [
        (a, d) for a, d in points
        if not any((b > a and e <= d) or (b >= a and e < d) for b, e in points)
    ]  # fmt: skip
    assert f"a front of {len(front)} points" in said


def test_a_partial_count_names_the_bracket_of_what_was_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    honest = fast.run

    def late(question: Question, *about: object, **options: Any) -> object:
        if question.space.max_depth > 2:
            raise LimitError("it did not fit: ask for less.")
        return honest(question, *about, **options)

    monkeypatch.setattr(fast, "run", late)
    space, limits = adtc.Space(max_depth=4, minsup=12), Monitor(time_limit=60)
    made = adtc.profile(table(), space, ["size", "acc", "dp"], monitor=limits)
    said = shown(part(report_html(made), "finding"))
    upper = made.record.details["upper"]
    assert "A limit stopped the run: this is exact for depth at most 2. Of depth at most 4" in said
    assert f"there are between {made.total:,} and {upper:,} trees." in said
    monkeypatch.setattr(sections, "_LONG", 2)
    assert f"About 10<sup>{log10(made.total):.2f}</sup>. " in report_html(made)
    some = shown(part(report_html(made, where="acc >= 0.6"), "finding"))
    assert "exact for depth at most 2, a part of what was asked." in some


def test_the_numbers_of_the_finding_name_these_trees(found: Profile) -> None:
    said = shown(part(report_html(found), "finding"))
    best, fairest = (int(n.replace(",", "")) for n in re.findall(r"\(tree ([\d,]+)\)", said))
    front = found.pareto(maximize="acc", minimize="dp")
    for rank, point in ((best, front.points[0]), (fairest, front.points[-1])):
        metrics = found.tree(rank).metrics
        assert (metrics["acc"], metrics["dp"]) == point
        same = [one.metrics["size"] for one in found.iterate() if
                (one.metrics["acc"], one.metrics["dp"]) == point]  # fmt: skip
        assert metrics["size"] == min(same)  # type: ignore[type-var]


def test_a_tree_that_says_the_same_for_everybody_is_called_so() -> None:
    data = adtc.Data.from_frame(
        {"f": [0, 1] * 20, "g": ["a", "a", "b", "b"] * 10, "y": [0, 0, 0, 1] * 10},
        target="y", sensitive="g",
    )  # fmt: skip
    profile = adtc.profile(data, adtc.Space(max_depth=1), ["size", "acc", "dp"])
    assert "That tree says 0 for every row." in shown(part(report_html(profile), "finding"))


def test_without_a_gap_size_is_weighed_and_without_both_the_best_is_told() -> None:
    data = table()
    sized = adtc.profile(data, adtc.Space(max_depth=1, minsup=12), ["size", "acc"])
    assert "least number of leaves is 1" in shown(part(report_html(sized), "finding"))
    alone = adtc.profile(data, adtc.Space(max_depth=1, minsup=12), ["acc"])
    assert "The largest accuracy is" in shown(part(report_html(alone), "finding"))


# --- the trees --------------------------------------------------------------------------------


def test_the_trees_of_the_front_are_drawn_with_rules(found: Profile) -> None:
    text = report_html(found, trees=0)
    front = found.pareto(maximize="acc", minimize="dp")
    drawn = cards(text)
    values = {(m["acc"], m["dp"]) for m in (found.tree(rank).metrics for rank in drawn)}
    assert len(drawn) == min(len(front), 6)
    assert {front.points[0], front.points[-1]} <= values <= set(front.points)
    for rank in drawn:
        for rule in found.tree(rank).model.rules(small=10):
            assert html.escape(rule.claim) in text


def test_trees_are_chosen_by_rank_and_no_others_are_drawn(found: Profile) -> None:
    text = report_html(found, ranks=[7, 3])
    assert cards(text)[7] == ["by its rank"]
    assert list(cards(text))[-2:] == [7, 3]
    assert "drawn at random" not in shown(text)
    with pytest.raises(QueryError, match="rank 99,999,999 is out of range"):
        report_html(found, ranks=[99_999_999])


def test_a_chosen_tree_that_fails_the_condition_says_so(found: Profile) -> None:
    bad = found.best(1, minimize="acc")[0].rank
    text = report_html(found, ranks=[bad], where="acc >= 0.55")
    assert "This tree does not satisfy the condition" in text
    assert "does not satisfy the condition" not in report_html(found, ranks=[bad])


def test_the_best_trees_differ_in_what_they_predict(found: Profile) -> None:
    best = best_trees(found, found, 4)
    values = [(one.metrics["acc"], one.metrics["dp"]) for one in best]
    assert values == sorted(values, key=lambda pair: (-pair[0], pair[1]))
    assert values[0][0] == max(one.metrics["acc"] for one in found.iterate())
    said = {tuple(one.model.predict(one.data)) for one in best}
    assert len(said) == 4
    assert [found.rank(one.tree) for one in best] == [one.rank for one in best]
    text = shown(report_html(found, best=4))
    for at, one in enumerate(best, 1):
        assert re.search(rf"Tree {one.rank:,} (of {found.count:,} .*?)?\(?best {at}\b", text)


def test_fewer_best_trees_than_asked_for_are_explained() -> None:
    data = adtc.Data.from_frame({"f": [0, 1] * 20, "y": [0, 1] * 20}, target="y")
    profile = adtc.profile(data, adtc.Space(max_depth=1), ["size", "acc"])
    text = shown(report_html(profile, best=50))
    assert "50 of the best trees were asked for; all that were looked at predict like" in text


def test_best_needs_a_metric_of_which_more_is_better() -> None:
    profile = adtc.profile(table(), adtc.Space(max_depth=1), ["size", "error"])
    with pytest.raises(QueryError, match="best is 2, but of none of the metrics size, error"):
        report_html(profile, best=2)
    for wrong in (-1, 1.5, True):
        with pytest.raises(QueryError, match=r"best is .* whole number of at least 0"):
            report_html(profile, best=wrong)


def test_places_along_a_front_hold_both_ends() -> None:
    assert spread_over(65, 6) == [0, 13, 26, 38, 51, 64]
    assert spread_over(1, 6) == [0]


# --- small numbers ----------------------------------------------------------------------------


def test_leaves_of_few_rows_show_no_numbers() -> None:
    rng = np.random.default_rng(1)
    names = PEOPLE + ["others"] * 55
    frame = {"name": names, "y": [["no", "yes"][i] for i in rng.integers(0, 2, 60)]}
    data = adtc.Data.from_frame(frame, target="y", name="people")
    profile = adtc.profile(data, adtc.Space(max_depth=2), ["size", "acc"])
    text = report_html(profile, best=5, trees=10)
    told = part(text, "front") + part(text, "trees")
    assert "fewer than 10 rows" in shown(told)
    assert not re.search(r"\b[1-9] rows?\b", shown(told))
    for card in re.findall(r'<ol class="rules">(.*?)</ol>', told, re.DOTALL):
        evidence = re.findall(r'class="evidence">\((.*?)\)<', card)
        hidden = [one for one in evidence if "%" not in one]
        assert len(hidden) != 1  # the total would tell it
    assert re.search(r"\b[1-9] rows?\b", shown(report_html(profile, best=5, trees=10, small=0)))
    assert "fewer than 3 rows" in shown(report_html(profile, best=5, trees=10, small=3))
    with pytest.raises(QueryError, match="small is -1"):
        report_html(profile, small=-1)


def test_a_small_group_and_the_next_are_hidden() -> None:
    data = table(few=4)
    counts = group_counts(data, Split(0, Leaf(1), Leaf(0)))
    base = {row[0]: row[1:] for row in groups.base_rows(counts, 10)}
    rates = {row[0]: row[1:] for row in groups.rate_rows(counts, 10)}
    assert base["c"][0] == "fewer than 10"
    assert base["c"][1] == "not shown"
    hidden = [name for name, cells in base.items() if "%" not in cells[1]]
    assert len(hidden) == 2
    for name in hidden:
        assert set(rates[name]) == {"not shown"}
    everything = {row[0]: row[1:] for row in groups.base_rows(counts, 0)}
    assert everything["c"][0] == "4"
    assert groups.some_hidden(counts, 10)
    assert not groups.some_hidden(counts, 0)


def test_few_positive_rows_of_a_group_hide_the_rates_that_rest_on_them() -> None:
    frame = {
        "f": [0, 1] * 60,
        "g": ["a"] * 40 + ["b"] * 40 + ["c"] * 40,
        "y": [1] * 3 + [0] * 37 + [0, 1] * 40,
    }
    data = adtc.Data.from_frame(frame, target="y", sensitive="g")
    counts = group_counts(data, Split(0, Leaf(1), Leaf(0)))
    base = {row[0]: row[1:] for row in groups.base_rows(counts, 10)}
    rates = {row[0]: row[1:] for row in groups.rate_rows(counts, 10)}
    assert base["a"] == ["40", "33.3 %", "fewer than 10", "not shown"]
    assert rates["a"][2:4] == ["not shown", "not shown"]
    assert "%" in rates["a"][1]
    assert sum(cells[2] == "not shown" for cells in rates.values()) == 2


# --- rates by group ---------------------------------------------------------------------------


def test_rates_by_group_are_those_of_a_plain_count(found: Profile) -> None:
    drawn = found.tree(11)
    data = drawn.data
    said = np.array(drawn.model.predict(data)) == "yes"
    true = np.array([data.labels[i] for i in data.y]) == "yes"
    for name, code in (("all rows", None), ("a", 0), ("b", 1)):
        rows = np.ones(data.n_rows, bool) if code is None else data.z == code
        (group,) = (g for g in group_counts(data, drawn.tree) if g.name == name)
        assert group.rows == rows.sum()
        assert group.positive == (rows & true).sum()
        assert group.selected == (rows & said).sum()
        assert group.true_positive == (rows & said & true).sum()
        assert group.wrong == (rows & (said != true)).sum()
        (cells,) = (r for r in groups.rate_rows([group], 0) if r[0] == name)
        want = [group.selected / group.rows, group.true_positive / group.positive,
                (group.selected - group.true_positive) / group.negative,
                group.wrong / group.rows]  # fmt: skip
        rates = [float(c.split()[0]) for c in cells if "%" in c]
        assert rates == pytest.approx([100 * w for w in want], abs=0.0501)


def test_the_report_shows_sizes_base_rates_and_every_tree(found: Profile) -> None:
    text = report_html(found, ranks=[11])
    told = shown(part(text, "groups"))
    assert "share truly yes (base rate)" in told
    for rank in cards(text):
        assert f"Tree {rank:,}" in told
    counts = group_counts(table(), found.tree(11).tree)
    for row in (*groups.base_rows(counts, 10), *groups.rate_rows(counts, 10)):
        assert " ".join(row) in told


def test_three_labels_without_a_positive_one_have_error_rates() -> None:
    data = adtc.Data.from_frame(
        {"f": [0, 1] * 30, "g": ["a", "b", "b"] * 20, "y": ["u", "v", "w"] * 20},
        target="y", sensitive="g",
    )  # fmt: skip
    profile = adtc.profile(data, adtc.Space(max_depth=1), ["size", "acc"])
    told = shown(part(report_html(profile), "groups"))
    assert "error rate" in told
    assert "selection rate" not in told


# --- title, note and origin -------------------------------------------------------------------


def test_title_and_note_are_the_authors(found: Profile) -> None:
    text = report_html(found, title="Loans <2026>", note="First <b>.\n\nSecond.", trees=0)
    assert "<h1>Loans &lt;2026&gt;</h1>" in text
    assert "<p>First &lt;b&gt;.</p><p>Second.</p>" in text
    assert 'class="remark"' not in report_html(found, note="  ", trees=0)


def test_it_says_how_to_make_it_again(found: Profile) -> None:
    made = datetime(2026, 3, 5, 9, 7, tzinfo=UTC)
    text = shown(part(report_html(found, trees=0, made=made, command="adtc report x"), "record"))
    assert "adtc.profile(data, adtc.Space(max_depth=2, minsup=12" in text
    assert "adtc report x" in text
    assert "5 March 2026, 09:07 UTC" in text
    assert found.record.data["fingerprint"] in text
    assert f"adtc {adtc.__version__}" in text
    assert f"numpy {np.__version__}" in text


def test_the_origin_of_a_file_is_in_its_record(found: Profile) -> None:
    found.record.details["made"] = origin = {
        "command": "adtc profile loans.csv --target y -o run.adtc",
        "date": "2026-03-04T08:00:00+00:00",
        "source": {"file": "loans.csv", "sha256": "ab" * 32, "bytes": 1234},
    }
    try:
        text = shown(part(report_html(found, trees=0), "record"))
    finally:
        del found.record.details["made"]
    assert origin["command"] in text
    assert "loans.csv (1,234 bytes)" in text
    assert "SHA-256 " + "ab" * 32 in text
    assert "4 March 2026, 08:00 UTC" in text


def test_an_option_that_is_none_is_refused(found: Profile) -> None:
    wrong: Any = {"colour": "red"}
    with pytest.raises(TypeError, match="colour"):
        report_html(found, **wrong)

"""The page of an audit: the finding first, every number from the audit, nothing from outside."""

import html
import re
from datetime import UTC, datetime
from fractions import Fraction

import numpy as np
import pytest

import adtc
from adtc.profiles.audits.audited import Audit
from adtc.profiles.audits.rates import GroupCounts
from adtc.show.audit_pictures import selection_bars, trade_off
from adtc.show.audit_words import metric_text, sentences
from adtc.show.groups import NOT_SHOWN, audit_rows

MADE = datetime(2026, 3, 5, 9, 7, tzinfo=UTC)


def loans(few: int = 0, groups: tuple[str, ...] = ("a", "b")) -> adtc.Data:
    rng = np.random.default_rng(3)
    n = 200
    y = rng.integers(0, 2, n)
    frame = {
        "income": (rng.integers(0, 40, n) + 12 * y).tolist(),
        "owner": rng.integers(0, 2, n).tolist(),
        "sex": ["<c>"] * few + [groups[i] for i in rng.integers(0, len(groups), n - few)],
        "approved": ["yes" if v else "no" for v in (y ^ (rng.random(n) < 0.3))],
        "paid": ["paid" if v else "late" for v in y],
    }
    return adtc.Data.from_frame(
        frame, target="paid", sensitive="sex", name="loans", positive="paid",
        references=["approved"], nbins=3,
    )  # fmt: skip


@pytest.fixture(scope="module")
def found() -> Audit:
    return adtc.audit(loans(), adtc.Space(max_depth=2, minsup=10), decision="approved")


def written(found: Audit, tmp_path, **options) -> str:
    return found.report(tmp_path / "audit.html", made=MADE, **options).read_text(encoding="utf-8")


def shown(text: str) -> str:
    bare = re.sub(r"<(script|style)\b.*?</\1>", "", text, flags=re.DOTALL)
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]+>", " ", bare)))


def test_the_finding_stands_in_the_first_lines(found, tmp_path) -> None:
    text = shown(written(found, tmp_path, title="Loans", note="For the board."))
    answer = f"Yes: {found.count:,} trees do as well with a smaller gap"
    places = [text.index(part) for part in ("Loans", "For the board.", answer, "selection rate")]
    assert places == sorted(places)
    for sentence in sentences(found):
        assert sentence in text
    assert "5 March 2026, 09:07 UTC" in text
    assert found.data.fingerprint in text
    assert "This page is no legal advice." in text


def test_rates_are_those_of_the_audit(found, tmp_path) -> None:
    text = shown(written(found, tmp_path, small=0))
    for here in (found.baseline.train, found.shown[0].train):
        for row in audit_rows(here.groups, 0):
            assert " ".join(" ".join(row).split()) in text
    for change in found.shown[0].changes:
        assert f"{change.changed}" in text
    assert metric_text("dp", found.shown[0].metrics["dp"]) in text


def test_the_page_needs_nothing_and_runs_nothing(found, tmp_path) -> None:
    text = written(found, tmp_path)
    assert "script-src 'none'" in text
    assert "<script" not in text
    assert not re.search(r'(src|href)="(?!#|data:)', text)


def test_the_command_is_printed_or_the_call(found, tmp_path) -> None:
    assert "adtc audit loans.csv --decision approved" in shown(
        written(found, tmp_path, command="adtc audit loans.csv --decision approved")
    )
    call = shown(written(found, tmp_path))
    assert "adtc.audit(data, adtc.Space(max_depth=2, minsup=10" in call
    assert "decision='approved'" in call


def test_names_are_escaped_and_small_groups_keep_their_numbers(tmp_path) -> None:
    found = adtc.audit(loans(few=4), adtc.Space(max_depth=2, minsup=10), decision="approved",
                       gap="eodd_max")  # fmt: skip
    text = written(found, tmp_path)
    assert "<c>" not in text
    assert "&lt;c&gt;" in text
    rows = {row[0]: row for row in audit_rows(found.baseline.train.groups, 10)}
    assert rows["<c>"][1] == "fewer than 10"
    assert set(rows["<c>"][2:]) == {NOT_SHOWN}
    assert sum(NOT_SHOWN in row[2:] for row in rows.values()) > 1  # else it would follow
    assert "sex = &lt;c&gt;" not in selection_bars(found, 10)


def test_ratios_to_a_hidden_group_are_hidden() -> None:
    counts = [
        GroupCounts("all rows", 305, 0, 150, 105, 90),
        GroupCounts("a", 200, 0, 100, 60, 50),
        GroupCounts("b", 100, 0, 50, 40, 40),
        GroupCounts("c", 5, 0, 0, 5, 0),
    ]
    shown = {row[0]: row[5] for row in audit_rows(counts, 0)}
    assert shown == {"all rows": "", "a": "0.30", "b": "0.40", "c": "1.00"}
    shown = {row[0]: row[5] for row in audit_rows(counts, 10)}
    assert shown == {"all rows": "", "a": NOT_SHOWN, "b": NOT_SHOWN, "c": NOT_SHOWN}


def test_pictures_place_points_by_their_values(found) -> None:
    picture = trade_off(found)
    numbers = re.findall(r'<circle cx="([\d.]+)" cy="([\d.]+)" r="10"', picture)
    assert len(numbers) == len(found.shown)
    by_gap = [float(y) for _, y in numbers]
    gaps = [tree.metrics["dp"] for tree in found.shown]
    assert gaps == sorted(gaps)
    assert by_gap == sorted(by_gap, reverse=True)  # upwards is more
    bars = selection_bars(found, 0)
    rate = found.baseline.train.groups[1].selection_rate
    assert f"{float(100 * rate):.1f} %" in bars


def test_a_model_that_says_the_same_of_all_is_named(tmp_path) -> None:
    data = loans()
    found = adtc.audit(data, adtc.Space(max_depth=1), decision=["late"] * 200)
    assert (found.exists, found.count) == (False, 0)
    assert "says 'late' of every row" in shown(written(found, tmp_path))
    assert "floor that such a model fails" in str(found)


def test_none_is_explained(tmp_path) -> None:
    data = loans()
    found = adtc.audit(data, adtc.Space(max_depth=2, minsup=10), floor="acc >= 0.999")
    text = shown(written(found, tmp_path))
    assert "No: no tree of this class does as well with a smaller gap" in text
    assert "Why there is none" in text
    assert "acc >= 0.999: at most" in text
    assert "Alternative 1" not in text


def test_a_second_table_has_intervals(tmp_path) -> None:
    data = loans()
    test = adtc.Data.apply(data, _frame(data), name="later")
    found = adtc.audit(data, adtc.Space(max_depth=2, minsup=10), decision="approved", test=test)
    text = shown(written(found, tmp_path))
    assert "On other rows" in text
    assert "in use, later" in text
    assert text.count("95 % interval") >= 4
    assert test.fingerprint in text


def _frame(data: adtc.Data) -> dict[str, list[object]]:
    rng = np.random.default_rng(8)
    y = rng.integers(0, 2, 60)
    return {
        "income": (rng.integers(0, 40, 60) + 12 * y).tolist(),
        "owner": rng.integers(0, 2, 60).tolist(),
        "sex": [["a", "b"][i] for i in rng.integers(0, 2, 60)],
        "approved": ["yes" if v else "no" for v in y],
        "paid": ["paid" if v else "late" for v in y],
    }


def test_a_notebook_shows_the_finding_and_a_tree(found) -> None:
    text = found._repr_html_()
    assert f"{found.count:,} trees" in text
    assert "<svg" in text


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("acc", Fraction(1, 3), "33.3 %"),
        ("acc", Fraction(99_999, 100_000), "99.99900 %"),
        ("dp", Fraction(1, 10**6), "0.00010 percentage points"),
        ("dp", 0, "0 percentage points"),
        ("size", 7, "7"),
        ("dp", None, "undefined"),
    ],
)
def test_values_for_people_never_round_to_nothing_or_all(name, value, text) -> None:
    assert metric_text(name, value) == text

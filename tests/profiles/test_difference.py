"""Differences of profiles are exact differences of shares."""

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_crosstab import AXIS, PROFILES, small
from test_curves import trees_by

import adtc


@given(PROFILES, st.sampled_from(["size <= 2", "acc >= 0.5", "error = 0", "precision >= 0"]))
@settings(max_examples=40)
def test_rows_hold_both_counts_and_their_shares(profile, formula):
    kept = profile.where(formula)
    found = profile.minus(kept)
    first, second = {}, {}
    for counts, one in ((first, profile), (second, kept)):
        for values, trees in trees_by(one, *profile.names):
            counts[values] = counts.get(values, 0) + trees
    rows = found.rows()
    assert {row.values: row.first for row in rows} == first
    assert {row.values: row.second for row in rows if row.second} == second
    for row in rows:
        share = Fraction(row.second, kept.count) if kept.count else 0
        assert row.difference == Fraction(row.first, profile.count) - share
    assert found.distance == sum(abs(row.difference) for row in rows) / 2


@given(PROFILES, st.tuples(AXIS, AXIS), st.sampled_from(["size <= 2", "acc >= 0.5", "f1 > 0.2"]))
@settings(max_examples=40)
def test_cross_tables_share_their_bins(profile, bins, formula):
    kept = profile.where(formula)
    table = profile.minus(kept).crosstab("acc", "f1", bins=bins)
    assert table.first.x_bins == table.second.x_bins
    assert table.first.y_bins == table.second.y_bins
    assert table.first.total == profile.count
    assert table.second.total == kept.count
    assert table.first.counts == profile.crosstab("acc", "f1", bins=bins).counts
    total = sum(d for row in table.differences for d in row)
    assert total == (0 if kept.count else bool(profile.count))


def test_two_tables_can_be_compared():
    profile, other = small(), small(where="dp <= 0.2")
    table = profile.minus(other, titles=("all", "fair")).crosstab("dp", "size", bins=4)
    assert table.titles == ("all", "fair")
    assert table.second.y_totals[-1] == other.where("size = 4").count
    assert table.first.x_bins.edges[-1] == profile.values("dp").distinct[-1]


def test_text_html_json_and_csv(tmp_path):
    profile = small()
    found = profile.minus(profile.where("size <= 2"), titles=("all", "stumps"))
    table = found.crosstab("size", "acc", bins=("values", [0, 0.5, 1]))
    share = Fraction(table.first.counts[1][1], profile.count)
    share -= Fraction(table.second.counts[1][1], profile.where("size <= 2").count)
    assert share < 0
    assert table.to_text().splitlines()[2].endswith(f"-{float(-100 * share):.1f}%")
    assert "all minus stumps" in table.to_html()
    assert table.to_json()["exact"][1][1] == str(share)
    table.to_csv(tmp_path / "d.csv")
    assert str(share) in (tmp_path / "d.csv").read_text(encoding="utf-8").splitlines()[2]
    assert len(found.to_text(5).splitlines()) == 6
    assert "stumps" in found.to_text().splitlines()[0]


def test_mistakes_are_named():
    profile = small()
    with pytest.raises(adtc.ADTCError, match="different metrics"):
        profile.minus(profile.project("acc"))
    with pytest.raises(adtc.ADTCError, match="expected two names"):
        profile.minus(profile, titles="ab")
    with pytest.raises(adtc.ADTCError, match="unknown metric 'bacc'"):
        profile.minus(profile).crosstab("acc", "bacc")


def test_empty_profiles_have_shares_of_nothing():
    profile = small()
    nothing = profile.where("acc > 1")
    assert profile.minus(nothing).distance == Fraction(1, 2)
    assert nothing.minus(nothing).rows() == []
    assert nothing.minus(nothing).distance == 0

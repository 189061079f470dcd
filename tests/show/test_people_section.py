"""The people of a report: exact numbers, no row, and nothing about few people."""

import re
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

import adtc
from adtc.show import people_section
from adtc.show.people_section import hidden_in_all, people_html
from adtc.show.report import report_html
from adtc.text import percent


@pytest.fixture(scope="module")
def profile() -> adtc.Profile:
    data = adtc.load_dataset("german-credit", nbins=2)
    space = adtc.Space(max_depth=2, relminsup=0.2)
    return adtc.profile(data, space, ["acc", "dp"], where="acc > 0.7")


def cells(page: str) -> list[list[str]]:
    rows = [re.split(r"</t[hd]>", row)[:-1] for row in re.findall(r"<tr>(.*?)</tr>", page)]
    return [[re.sub(r"<[^>]+>", "", cell) for cell in row] for row in rows]


def test_the_section_says_what_the_votes_say(profile):
    votes = profile.vote_shares()
    page = people_html(profile, 10)
    assert ["everybody", "1,000", "0.7748", "0.8344", "0.1325", "0.3600"] in cells(page)
    assert f'title="{votes.share().by_group["female"]}"' in page
    by_bin = {row[0]: row[1] for row in cells(page) if len(row) == 2}
    assert by_bin["0.8 to 0.9"] == str(sum(v == 4 for v in votes.counts[:, 1]))
    assert by_bin["0.3 to 0.4"] == "0"
    assert 'id="people"' in report_html(profile)


def test_few_people_are_not_told_of():
    data = adtc.Data.from_arrays([[1], [1], [0]], [1, 1, 0], z=["a", "b", "b"], weights=[3, 40, 60])
    found = adtc.profile(data, adtc.Space(max_depth=1), ["error"], where="error <= 43")
    assert found.vote_shares().disputed().count == 43
    page = people_html(found, 10)
    rows = {row[0]: row[1:] for row in cells(page)}
    assert rows["a"][0] == "fewer than 10"
    assert set(rows["b"]) == {"not shown"}  # it would tell how many a are
    assert rows["everybody"][-1] == "0.4175"
    assert "fewer than" not in people_html(found, 0)
    half = adtc.Data.from_arrays([[1], [1], [0]], [1, 1, 0], weights=[1, 2, 60])
    near = adtc.profile(half, adtc.Space(max_depth=1), ["error"], where="error <= 3")
    assert near.vote_shares().disputed().count == 3
    page = people_html(near, 10)
    assert {row[0]: row[-1] for row in cells(page)}["everybody"] == "not shown"
    assert "fewer than 10" in page
    assert ">3<" not in page


def by_group(page: str) -> dict[str, list[str]]:
    rows = cells(page.partition("by group</h3>")[2])
    return {row[0]: row[1:] for row in rows[1:]}


def test_groups_are_compared_by_their_vote_shares(profile):
    votes = profile.vote_shares()
    found = by_group(people_html(profile, 0))
    assert list(found) == ["female", "male"]
    for name, shares in found.items():
        mine = votes.people.z == votes.people.groups.index(name)
        high = sum(5 * int(v) >= 4 * votes.total for v in votes.counts[mine, 1])
        assert shares[-1] == percent(Fraction(high, int(mine.sum())))
    everybody = adtc.profile(
        adtc.load_dataset("mushroom"), adtc.Space(1), ["acc"], where="acc > 0.8"
    )
    assert "by group" not in people_html(everybody, 0)


COUNTS = st.lists(st.integers(0, 30), min_size=5, max_size=5)


@given(st.lists(COUNTS, min_size=2, max_size=4), COUNTS, st.integers(1, 12))
def test_a_bin_with_few_of_one_group_is_hidden_in_all(groups, others, small):
    everybody = [sum(of) for of in zip(others, *groups, strict=True)]
    hidden = hidden_in_all(everybody, groups, small)
    for part in (*groups, others):
        assert all(gone for n, gone in zip(part, hidden, strict=True) if 0 < n < small)
        unseen = [n for n, gone in zip(part, hidden, strict=True) if n and gone]
        assert len(unseen) != 1 or unseen[0] >= small or sum(map(bool, part)) == 1


def test_no_tree_no_circuit_or_too_many_cells(profile, tmp_path, monkeypatch):
    assert "nobody votes" in people_html(profile.where("acc > 0.9"), 10)
    profile.save(tmp_path / "run.adtc", circuit=False)
    assert "kept without it" in people_html(adtc.load_profile(tmp_path / "run.adtc"), 10)
    monkeypatch.setattr(people_section, "_MOST_CELLS", 1)
    assert "too many to count votes" in people_html(profile, 10)

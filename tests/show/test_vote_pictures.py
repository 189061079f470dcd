"""Pictures of votes: what they show is tested as plain values, and each is drawn once to memory."""

from fractions import Fraction

import pytest

import adtc
from adtc.errors import QueryError
from adtc.profiles.people import VoteShares
from adtc.show import plot
from adtc.show.voting import disagreement_data, histogram_data, shown_groups

pytest.importorskip("matplotlib")


@pytest.fixture(scope="module")
def votes() -> VoteShares:
    """Five good trees: p is 3/5 for two rows and 2/5 for one; 12 people in two groups."""
    data = adtc.Data.from_arrays([[1], [1], [0]], [1, 1, 0], z=["a", "b", "b"], weights=[2, 4, 6])
    return adtc.profile(data, adtc.Space(max_depth=1), ["error"], where="error <= 6").vote_shares()


def test_histogram_counts_people_by_share(votes):
    assert votes.counts.tolist() == [[2, 3], [2, 3], [3, 2]]
    found = histogram_data(votes, bins=5)
    assert (found.label, [part.name for part in found.parts]) == ("1", ["everybody", "a", "b"])
    assert [part.people for part in found.parts] == [
        (0, 0, 6, 6, 0),
        (0, 0, 0, 2, 0),
        (0, 0, 6, 4, 0),
    ]
    assert found.parts[2].shares[2] == Fraction(6, 10)


def test_a_share_of_one_is_in_the_last_bin(votes):
    data = adtc.Data.from_arrays([[1], [0]], [1, 0])
    best = adtc.profile(data, adtc.Space(max_depth=1), ["error"], where="error = 0")
    assert histogram_data(best.vote_shares(), bins=3).parts[0].people == (1, 0, 1)


def test_the_curve_falls_from_value_to_value(votes):
    whole, a, _ = disagreement_data(votes)
    assert whole.values == (0, Fraction(6, 25))
    assert whole.shares == (1, 0)
    assert a.shares == (1, 0)
    best = votes.data
    alone = adtc.profile(best, adtc.Space(max_depth=1), ["error"], where="error = 0")
    assert disagreement_data(alone.vote_shares())[0].shares == (0,)


def test_small_groups_are_left_out(votes):
    assert shown_groups(votes.people, 0) == ["a", "b"]
    assert shown_groups(votes.people, 3) == []  # b would tell how many a are
    assert [part.name for part in disagreement_data(votes, small=3)] == ["everybody"]
    assert len(histogram_data(votes, by_group=False).parts) == 1


def test_drawn_to_memory(votes):
    for kind in ("histogram", "disagreement"):
        assert votes.plot(kind=kind).to_bytes("svg").startswith(b"<?xml")
    none = adtc.profile(votes.data, adtc.Space(max_depth=1), ["error"], where="error < 0")
    for kind in ("histogram", "disagreement"):
        assert plot(none.vote_shares(), kind=kind, title="nobody").to_bytes()
    assert votes_of_three_classes().plot(kind="disagreement").to_bytes()
    with pytest.raises(QueryError, match="kind is 'pie', expected 'histogram'"):
        votes.plot(kind="pie")
    with pytest.raises(QueryError, match="bins is 0"):
        votes.plot(bins=0)


def votes_of_three_classes() -> VoteShares:
    data = adtc.Data.from_arrays([[1], [0], [0]], [0, 1, 2])
    return adtc.profile(data, adtc.Space(max_depth=1), ["error"]).vote_shares()


def test_discrepancy_is_drawn(votes):
    data = votes.data
    profile = adtc.profile(data, adtc.Space(max_depth=1), ["error"])
    assert profile.discrepancy("y").plot().to_bytes("svg").startswith(b"<?xml")

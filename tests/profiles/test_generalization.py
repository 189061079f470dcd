"""Losses on further tables: exact counts, the worst tree, and by which table trees are good."""

from fractions import Fraction

import pytest
from hypothesis import given, settings

import adtc
from adtc.errors import QueryError
from adtc.show.report import report_html
from test_agreement import plain, questions


@given(questions(further=("test",)))
@settings(max_examples=15)
def test_losses_agree_with_a_listing(asked):
    profile = adtc.profile(*asked.given, ["acc", "test.acc"], where=asked.where)
    found = profile.generalization("test")
    losses = {tree: m["acc"] - m["test.acc"] for tree, m in asked.good()}
    for x in (0, Fraction(1, 10), Fraction(1, 3)):
        assert found.losing_more_than(x) == sum(loss > x for loss in losses.values())
    assert found.largest == max(losses.values(), default=None)
    if losses and profile.source is not None:
        assert losses[plain(found.worst().tree)] == found.largest


def sample(**options):
    data = adtc.load_dataset("german-credit", nbins=3).split(0.3)
    space = adtc.Space(max_depth=2, relminsup=0.2)
    return adtc.profile(data, space, **options)


@pytest.mark.parametrize(
    ("where", "told"),
    [
        (None, "none: all trees of the space"),
        ("acc >= 0.7", "german-credit"),
        ("test.acc >= 0.7 and size <= 4", "test"),
        ("acc >= 0.7 and test.acc >= 0.7", "german-credit and test"),
        ("size <= 3", "none: trees are chosen by their shape"),
    ],
)
def test_the_table_that_chose_the_trees_is_named(where, told):
    found = sample(metrics=["acc", "test.acc"], where=where).generalization()
    assert found.defined_by == told
    assert f"good by {told}" in found.to_text()


def test_gaps_lose_where_they_grow():
    found = sample(metrics=["dp", "test.dp"]).generalization(metric="dp")
    assert found.loss == "test.dp - dp"
    limits = [limit for limit, _ in found.steps()]
    counts = [n for _, n in found.steps()]
    assert counts == sorted(counts, reverse=True)
    assert len(limits) <= 21
    assert limits[-1] <= found.largest


def test_the_report_has_a_section_about_further_tables():
    page = report_html(sample(metrics=["acc", "test.acc"]))
    assert "On further tables" in page
    assert "accuracy on test" in page
    section = page.partition('id="tables"')[2].partition("</section>")[0]
    assert "The tree that loses most on test" in section
    assert '<th scope="row">0.05</th>' in section
    many = report_html(sample(metrics=["acc", "dp", "test.acc"]))
    section = many.partition('id="tables"')[2].partition("</section>")[0]
    assert section.count('class="landscape"') == 1
    assert many.count('class="landscape"') == 2
    assert "On further tables" not in report_html(sample(metrics=["acc"]))


def test_both_metrics_are_needed():
    with pytest.raises(QueryError, match="the profile must have both"):
        sample(metrics=["acc"]).generalization()

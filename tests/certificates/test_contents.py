"""What a certificate of less discriminatory alternatives has to hold, as JSON and as a page."""

import json
from pathlib import Path

import pytest
from pyarrow import csv

import adtc
from adtc.certificates.certificate import groups_of
from adtc.show.certificate import certificate_html

DATA = Path(__file__).resolve().parents[3] / "shared" / "data" / "compas"
RAW = DATA / "propublica_data_for_fairml.csv"
PEOPLE = ["sex,job,age,used,y"] + [
    f"{sex},{job},{20 + i},{'yes' if i % 3 else 'no'},{'yes' if i % 2 else 'no'}"
    for i in range(40)
    for sex, job in [("f" if i % 5 < 2 else "" if i == 9 else "m", "cook" if i % 4 else "clerk")]
]


@pytest.fixture
def people(tmp_path: Path) -> Path:
    path = tmp_path / "people.csv"
    path.write_text("\n".join(PEOPLE) + "\n", encoding="utf-8")
    return path


def certified(path: Path, floor: str = "acc >= 0.3 and size = 2") -> tuple[adtc.Certificate, str]:
    data = adtc.read(
        path, target="y", sensitive="sex", references=["used"], cuts={"age": [30, 45]}
    ).with_table("later", csv.read_csv(path))
    made = adtc.certify_alternative(
        data, adtc.Space(max_depth=1), baseline="used", floor=floor, command="adtc certify …"
    )
    return made, certificate_html(made, data)


def test_a_certificate_of_alternatives_holds_what_people_ask_for(people: Path) -> None:
    made, page = certified(people)
    told = json.loads(made.to_bytes())
    assert made.count
    asked = told["question"]
    assert (asked["positive"], asked["where"], asked["term"]) == (
        "yes",
        "acc >= 0.3 and size = 2",
        "dp",
    )
    assert told["in_use"]["column"] == "used"
    assert (told["groups"]["column"], told["groups"]["unknown"]) == ("sex", 1)
    assert told["groups"]["small"] == ["f", "m", "(missing)"]
    for metrics in (made.shown["metrics"], told["in_use"]["metrics"]):
        groups = groups_of(told, metrics)
        assert [group["group"] for group in groups] == ["f", "m", "(missing)"]
        assert sum(int(group["rows"]) for group in groups) == told["table"]["rows"] == 40
    (held,) = told["held_out"]
    assert held["intervals"].keys() >= {"acc", "selection_rate[f]", "selection_rate[m]"}
    assert held["in_use"]["acc"] == told["in_use"]["metrics"]["acc"]
    assert told["table"]["file"]["changed"] <= told["made"]["date"]
    assert "no legal advice" in told["notice"]
    for words in (
        "y (no, yes); yes is the positive label",  # the decision
        "the column used, with dp",  # and what is in use
        "acc &gt;= 0.3 and size = 2",  # the floor
        "dp: demographic parity: gap of selection rates",  # the measure
        "1 row without a value is a group of its own",
        "Small groups",
        "Of intersections with other columns nothing is said",
        "impact ratio",
        "all decision trees with 1 or fewer tests on a path",  # the class, in words
        "people.csv, last changed 20",  # source and dates
        told["table"]["fingerprint"],
        "if ",  # rules
        "95 % interval",
        "The decisions in use on these rows",
        "They can be counted again",
        f"adtc {adtc.__version__}, Python",
        "adtc verify claim.json people.csv",
        "no legal advice",
    ):
        assert words in page, words
    assert adtc.verify(made.save(people.with_name("claim.json")), people)


def test_a_certificate_of_none_says_in_this_class_and_why(people: Path) -> None:
    made, page = certified(people, floor="acc > 1")
    assert made.count == 0
    assert made.claim.startswith("None in this class: there are no decision trees with acc > 1")
    assert "None in this class" in page
    assert "Such a tree would have" in page
    assert (made.shown, made.rules, made.document["held_out"]) == (None, [], [])
    assert adtc.verify(made.save(people.with_name("claim.json")), people)


@pytest.mark.skipif(not RAW.is_file(), reason="the raw table of recidivism is not here")
def test_a_raw_table_is_certified_and_checked(tmp_path: Path) -> None:
    data = adtc.read(
        RAW, target="Two_yr_Recidivism", positive=0, sensitive="Female", nbins=3,
        references=["score_factor"],
    )  # fmt: skip
    space = adtc.Space(max_depth=2, relminsup=0.05)
    made = adtc.certify_alternative(data, space, baseline="score_factor")
    assert (made.count, made.proved) == (0, True)
    found = adtc.verify(made.save(tmp_path / "claim.json"), RAW)
    assert found.valid
    assert "proved: " in found.checked[-1]

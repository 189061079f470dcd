"""`adtc audit`: from a file to an answer, JSON, files; and what is refused."""

import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

import adtc
from adtc.cli import main
from adtc.errors import TooLargeError
from adtc.profiles.audits.auditing import Inquiry


def run(*args: str, given: str | None = None) -> Result:
    return CliRunner().invoke(main, list(args), input=given)


@pytest.fixture(scope="module")
def people(tmp_path_factory) -> str:
    rng = np.random.default_rng(11)
    n = 240
    y = rng.integers(0, 2, n)
    columns = {
        "income": rng.integers(0, 40, n) + 12 * y,
        "owner": rng.integers(0, 2, n),
        "sex": np.array(["f", "m"])[rng.integers(0, 2, n)],
        "score": np.array(["Low", "Medium", "High"])[np.clip(y + rng.integers(0, 2, n), 0, 2)],
        "said": np.array(["no", "yes"])[y ^ (rng.random(n) < 0.3)],
        "paid": np.array(["late", "paid"])[y],
    }
    path = tmp_path_factory.mktemp("audit") / "people.csv"
    lines = [",".join(columns), *(",".join(map(str, row)) for row in zip(*columns.values(),
                                                                         strict=True))]  # fmt: skip
    path.write_text("\n".join(lines) + "\n")
    return str(path)


TABLE = ["--target", "paid", "--sensitive", "sex", "--nbins", "3", "--maxdep", "2"]


def audit(people: str, *more: str) -> Result:
    return run("audit", people, *TABLE, "--minsup", "10", *more)


def test_decisions_in_a_column(people, tmp_path) -> None:
    rows = tmp_path / "rows.csv"
    asked = ["--decision", "said", "--drop", "score"]
    told = json.loads(audit(people, *asked, "--rows", str(rows), "--json").stdout)
    data = adtc.read(
        people, target="paid", sensitive="sex", nbins=3, references=["said"], drop=["score"]
    )
    assert not any("said" in name for name in data.feature_names)
    space = adtc.Space(max_depth=2, minsup=10)
    base = told["baseline"]
    where = f"acc >= {base['acc_exact']} and dp < {base['dp_exact']}"
    assert told["count"] == adtc.count(data, space, where) > 0
    assert told["exists"] is True
    least = adtc.optimize(data, space, minimize="dp", where=where)
    assert Fraction(told["best"]["value_exact"]) == least.value
    assert told["best"]["proved"] is True
    assert (told["status"], told["certificate"], told["report"]) == ("exact", None, None)
    assert base["read_as"] == {"no": "late", "yes": "paid"}
    assert told["rows"] == str(rows)
    assert (
        len(rows.read_text().splitlines()) == 1 + told["alternatives"][0]["changes"][0]["changed"]
    )
    assert [g["group"] for g in base["groups"]] == [None, "f", "m"]
    shown = audit(people, *asked).stdout
    assert shown.startswith(f"Yes: {told['count']:,} trees do as well with a smaller gap (exact)")
    assert "'no' was read as late and 'yes' as paid" in shown
    assert "alternative 1: smallest gap" in shown


def test_values_that_are_no_labels_are_mapped_by_hand(people) -> None:
    asked = ["--decision", "score", "--drop", "said"]
    refused = audit(people, *asked)
    assert refused.exit_code == 2
    assert "--decision-label 'High=paid'" in refused.output or "'Low=paid'" in refused.output
    labels = [("Low", "late"), ("Medium", "late"), ("High", "paid")]
    given = [part for value, label in labels for part in ("--decision-label", f"{value}={label}")]
    told = json.loads(audit(people, *asked, *given, "--json").stdout)
    assert told["baseline"]["read_as"] == dict(labels)


def test_a_tree_in_use_in_every_form(people, tmp_path) -> None:
    options = {"target": "paid", "sensitive": "sex", "drop": ["score", "said"]}
    data = adtc.read(people, nbins=3, **options)
    name = data.feature_names[0]
    model = adtc.TreeModel(adtc.optimize(data, adtc.Space(max_depth=1)).tree, data)
    saved = tmp_path / "tree.json"
    saved.write_text(json.dumps(model.to_json()))
    other = tmp_path / "other.json"  # the same tree, of a table with other cuts
    finer = adtc.read(people, nbins=3, cuts={"owner": [0.5]}, **options)
    same = adtc.TreeModel(adtc.optimize(finer, adtc.Space(max_depth=1)).tree, finer)
    other.write_text(json.dumps(same.to_json()))
    profile = adtc.profile(data, adtc.Space(max_depth=1), ["error"])
    profile.save(tmp_path / "run.adtc", circuit=True)
    best = profile.best(1, minimize="error")[0]
    drop = ["--drop", "score", "--drop", "said", "--json"]
    forms = [
        ["--tree", str(saved)],
        ["--tree", str(other)],
        ["--tree", str(tmp_path / "run.adtc"), "--rank", str(best.rank)],
    ]
    told = [json.loads(audit(people, *form, *drop).stdout) for form in forms]
    assert len({(one["count"], one["baseline"]["acc_exact"]) for one in told}) == 1
    assert [one["baseline"]["kind"] for one in told] == ["tree", "decision", "tree"]
    written = json.loads(audit(people, "--tree", f'<"{name}", late, paid>', *drop).stdout)
    assert written["baseline"]["tree"]["feature"] == name


def test_held_out_rows_and_a_test_file_measure_what_was_found(people, tmp_path) -> None:
    rows = tmp_path / "rows.csv"
    asked = ["--decision", "said", "--drop", "score", "--json"]
    told = json.loads(audit(people, *asked, "--test-share", "0.3", "--rows", str(rows)).stdout)
    assert told["test"]["rows"] + told["baseline"]["groups"][0]["rows"] == 240
    low, high = told["test"]["baseline"]["acc_interval"]
    assert low < told["test"]["baseline"]["acc"] < high
    frame = Path(people).read_text().splitlines()
    for line in rows.read_text().splitlines()[1:]:
        row, sex, paid, before, _ = line.split(",")
        there = frame[1 + int(row)].split(",")  # below its header, numbered as in the whole file
        assert (sex, paid) == (there[2], there[5])
        assert before == {"yes": "paid", "no": "late"}[there[4]]
    test = tmp_path / "test.csv"
    test.write_text("\n".join([frame[0], *frame[-50:]]) + "\n")
    told = json.loads(audit(people, *asked, "--test", str(test)).stdout)
    assert (told["test"]["rows"], told["baseline"]["groups"][0]["rows"]) == (50, 240)
    right = sum(
        (line.split(",")[4] == "yes") == (line.split(",")[5] == "paid") for line in frame[-50:]
    )
    assert Fraction(told["test"]["baseline"]["acc_exact"]) == Fraction(right, 50)
    assert told["alternatives"][0]["test"]["groups"][0]["rows"] == 50


def test_a_certificate_agrees_and_can_be_checked(people, tmp_path) -> None:
    claim = tmp_path / "claim.json"
    asked = ["--drop", "score", "--certificate", str(claim), "--json"]
    told = json.loads(audit(people, "--decision", "said", *asked).stdout)
    assert told["certificate"] == str(claim)
    document = json.loads(claim.read_text())
    assert document["statements"][0]["trees"] == told["count"]
    *best, value = document["statements"][1]["where"][-1]
    assert (best, Fraction(value)) == (["=", "dp"], Fraction(told["best"]["value_exact"]))
    assert document["in_use"]["where"] == ["=", "dp", told["baseline"]["dp_exact"]]
    checked = json.loads(run("verify", str(claim), people, "--json").stdout)
    assert checked["valid"] is True
    told = json.loads(audit(people, "--drop", "said", "--floor", "acc >= 0.6", *asked).stdout)
    assert json.loads(claim.read_text())["statements"][0]["trees"] == told["count"]
    refused = audit(people, "--decision", "said", *asked, "--test-share", "0.2")
    assert refused.exit_code == 2
    assert "give test rows as a file of their own (--test)" in refused.output


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "needs the model in use or a floor"),
        (["--where", "acc >= 0.5"], "give 'acc >= 0.5' to --floor"),
        (["--floor", "acc >="], "expected"),
        (["--decision-label", "a=b"], "--decision-label says how to read the column"),
        (["--rank", "3"], "--rank chooses a tree of the saved profile"),
        (["--tree", "nowhere.json"], "nowhere.json"),
        (["--decision", "sai"], "Did you mean 'said'"),
        (["--decision", "said", "--gap", "acc"], "'acc' is no gap"),
        (["--decision", "said", "--rows", "/nowhere/x.csv"], "give another file to --rows"),
    ],
)
def test_refusals_are_one_sentence(people, options, message) -> None:
    refused = audit(people, "--drop", "score", *options)
    assert refused.exit_code == 2
    assert message in refused.output
    assert "Traceback" not in refused.output


def test_a_table_without_groups_is_told_what_would_help(people) -> None:
    refused = run("audit", people, "--target", "paid", "--drop", "score", "--floor", "acc >= 0.5")
    assert refused.exit_code == 2
    assert "--sensitive" in refused.output


def test_none_says_how_near(people) -> None:
    told = audit(people, "--drop", "score", "--drop", "said", "--floor", "acc >= 0.99").stdout
    assert told.startswith("No: no tree of this class does as well with a smaller gap (exact)")
    assert "None in this class: no tree reaches the floor. This is proved, not sampled." in told
    assert "Nearest to acc >= 0.99: at most" in told


def test_a_limit_gives_what_was_found(people, monkeypatch) -> None:
    def stop(inquiry: Inquiry) -> None:
        inquiry._baseline()
        raise TooLargeError("the clock ran out.")

    monkeypatch.setattr(Inquiry, "run", stop)
    asked = ["--decision", "said", "--drop", "score"]
    told = json.loads(audit(people, *asked, "--json").stdout)
    assert (told["exists"], told["count"], told["status"]) == (None, None, "partial")
    assert told["stopped"] == ["the clock ran out."]
    assert "not found within the limits: the clock ran out." in audit(people, *asked).stdout


def test_a_name_of_a_page_gets_the_page_and_others_the_text(people, tmp_path) -> None:
    page, words = tmp_path / "audit.html", tmp_path / "audit.txt"
    asked = ["--decision", "said", "--drop", "score"]
    told = json.loads(audit(people, *asked, "-o", str(page), "--json").stdout)
    assert told["report"] == str(page)
    assert page.read_text().startswith("<!DOCTYPE html>")
    printed = audit(people, *asked, "-o", str(words)).stdout
    assert words.read_text().splitlines()[0] in printed
    assert "<html" not in words.read_text()
    both = audit(people, *asked, "-o", str(page), "--report", str(tmp_path / "other.html"))
    assert both.exit_code == 2
    assert "would both be the page" in both.stderr

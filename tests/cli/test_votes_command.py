"""`adtc votes`: against a listing of all trees, for people and for programs."""

import csv
import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result

import adtc
import oracle
from adtc.cli import main
from adtc.profiles.people import VoteShares

SPACE = ["german-credit", "--nbins", "2", "--maxdep", "2", "--relminsup", "0.2"]
GOOD = [*SPACE, "--where", "acc > 0.7"]


def run(*args: str) -> Result:
    return CliRunner().invoke(main, ["votes", *args])


def answer(*args: str) -> dict:
    result = run(*args, "--json")
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


def test_votes_of_monk_1_are_those_of_a_listing(shared_data: Path) -> None:
    path = shared_data / "binarized-sparse-trees" / "monk_1.csv"
    given = answer(
        str(path), "--target", "class_1", "--maxdep", "2", "--where", "error <= 40", "--quiet"
    )
    with path.open() as file:
        lines = list(csv.DictReader(file))
    rows = [tuple(int(v) for name, v in line.items() if name != "class_1") for line in lines]
    table = oracle.Table(tuple(rows), tuple(int(line["class_1"]) for line in lines))
    good = oracle.good_trees(table, oracle.Space(2), oracle.constraint("error <= 40"))
    positive = [sum(oracle.predict(tree, row) for tree, _ in good) for row in rows]
    assert (given["total"], given["status"]) == (len(good), "exact")
    assert given["labels"] == ["0", "1"]
    assert given["positive"] == positive
    assert given["votes"] == [[len(good) - n for n in positive], positive]
    assert given["record"]["question"]["where"] == "error <= 40"


@pytest.fixture(scope="module")
def votes() -> VoteShares:
    data = adtc.load_dataset("german-credit", nbins=2)
    space = adtc.Space(max_depth=2, relminsup="0.2")
    return adtc.profile(data, space, ["acc"], where="acc > 0.7").vote_shares()


def test_votes_for_programs(votes: VoteShares) -> None:
    given = answer(*GOOD, "--baseline", "class", "--delta", "0.5", "--kappa", "0.7")
    assert given["votes"] == votes.counts.T.tolist()
    summary = given["summary"]
    assert summary["conflict"]["overall_exact"] == str(votes.conflict("class").overall)
    ambiguity = votes.ambiguity("class", 0.5)
    assert summary["ambiguity"]["overall_exact"] == str(ambiguity.overall)
    female = summary["ambiguity"]["by_group"]["female"]
    assert female["share_exact"] == str(ambiguity.by_group["female"])
    assert given["decisions"] == list(votes.abstain(0.7).decisions)
    assert given["discrepancy"]["discrepancy_exact"] == "291/1000"
    assert (given["discrepancy"]["changed"], given["discrepancy"]["trees"]) == (
        [273, 286, 291],
        [1, 1, 3],
    )


def test_votes_for_people() -> None:
    shown = run(*GOOD, "--row", "13", "--by-group", "--contested", "1").stdout
    assert "5 good trees vote on 1,000 rows (exact)" in shown
    assert "female        310              0.7703" in shown
    assert "13   3 (0.6000)     2 (0.4000)" in shown
    assert "checking_status = <0, duration > 19" in shown
    assert "female        310" not in run(*GOOD).stdout


def test_votes_of_a_saved_profile_and_in_files(tmp_path: Path, votes: VoteShares) -> None:
    saved, table = tmp_path / "run.adtc", tmp_path / "votes.parquet"
    data = adtc.load_dataset("german-credit", nbins=2)
    space = adtc.Space(max_depth=2, relminsup="0.2")
    adtc.profile(data, space, ["acc"], where="acc > 0.69").save(saved, circuit=True)
    picture, curve = tmp_path / "shares.svg", tmp_path / "curve.svg"
    given = answer(
        str(saved), "--where", "acc > 0.7", "--save", str(table),
        "--plot", str(picture), "--curve", str(curve),
    )  # fmt: skip
    assert given["votes"] == votes.counts.T.tolist()
    assert given["files"] == [str(table), str(picture), str(curve)]
    assert pq.read_table(table)["votes[good]"].to_pylist()[13] == "2"
    assert b"<svg" in picture.read_bytes()
    assert b"<svg" in curve.read_bytes()


def test_new_rows(tmp_path: Path) -> None:
    table, new = tmp_path / "people.csv", tmp_path / "new.csv"
    table.write_text("age,y,old\n20,n,n\n30,n,n\n40,p,n\n50,p,p\n")
    new.write_text("age,said\n10,p\n60,p\n")
    space = [str(table), "--target", "y", "--maxdep", "1", "--where", "error = 0", "--quiet"]
    given = answer(*space, "--drop", "old", "--new", str(new), "--baseline", "said")
    assert given["positive"] == [0, 1]
    assert given["summary"]["conflict"]["overall_exact"] == "1/2"
    assert "discrepancy" not in given
    shown = run(*space, "--drop", "old", "--new", str(new)).stdout
    assert "1    0 (0.0000)   1 (1.0000)" in shown
    given = answer(*space, "--baseline", "old")  # read as labels, so it is no feature
    assert given["total"] == 1
    assert given["record"]["data"]["features"] == 3


def test_nobody_votes() -> None:
    given = answer(*SPACE, "--where", "acc > 0.9")
    assert (given["total"], set(given["positive"])) == (0, {0})
    assert given["summary"]["disagreement"]["overall"] is None
    shown = run(*SPACE, "--where", "acc > 0.9").stdout
    assert "no tree is good, so nobody votes on the 1,000 rows" in shown
    assert "acc > 0.9: at most 0.727" in shown


def test_gibbs_weights() -> None:
    given = answer(*GOOD, "--gibbs", "0.1")
    assert 1 < given["total"] < 5
    assert given["votes"][0][13] + given["votes"][1][13] == pytest.approx(given["total"])


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--delta", "0.1"], "--delta compares votes with decisions: give --baseline COLUMN."),
        (["--delta", "7", "--baseline", "class"], "delta is 7, expected a share between 0 and 1."),
        (["--kappa", "-1"], "kappa is -1, expected a share between 0 and 1."),
        (["--baseline", "job"], "holds 'skilled' in row 1, which is none of the known values"),
        (["--baseline", "jop"], "unknown column 'jop'. Did you mean 'job'?"),
        (["--row", "1000"], "row 1,000 is out of range: there are rows 0 to 999."),
        (["--gibbs", "much"], "'much' is not a number."),
        (["--gibbs", "-1"], "gibbs is -1.0, expected a finite number of at least 0."),
        (["--save", "votes.txt"], "expected a name that ends in .csv or .parquet"),
        (["--new", "nowhere.csv"], "there is no file 'nowhere.csv'"),
    ],
)
def test_mistakes_in_options(options: list[str], said: str) -> None:
    result = CliRunner().invoke(main, ["votes", *GOOD, *options])
    assert result.exit_code != 0
    assert said in str(result.exception) + result.stderr


def test_ambiguity_and_discrepancy_by_tolerance(tmp_path: Path) -> None:
    path = tmp_path / "curves.png"
    told = answer(*GOOD, "--baseline", "class", "--multiplicity", str(path))
    assert path.read_bytes().startswith(b"\x89PNG")
    assert told["files"] == [str(path)]
    assert told["multiplicity"]["trees"][-1] == told["total"]
    assert told["multiplicity"]["ambiguity"] == sorted(told["multiplicity"]["ambiguity"])
    refused = run(*GOOD, "--multiplicity", str(path))
    assert (refused.exit_code, "give --baseline" in refused.stderr) == (2, True)

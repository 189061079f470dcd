"""`adtc posterior`: text, JSON, predictions, and what it refuses."""

import json

import pytest
from click.testing import CliRunner, Result

import adtc
from adtc.cli import main

TABLE = "x,g,y\n1,a,0\n2,b,0\n3,a,0\n4,b,1\n5,a,1\n6,b,1\n"
ASKED = ["posterior", "-", "--target", "y", "--maxdep", "1"]


def run(*args: str) -> Result:
    return CliRunner().invoke(main, list(args), input=TABLE)


def test_json_has_what_the_api_returns(tmp_path):
    path, new = tmp_path / "table.csv", tmp_path / "new.csv"
    path.write_text(TABLE)
    new.write_text("g,x\nb,9\nz,\n")
    more = ["--draws", "2", "--seed", "3", "--rows", "--predict", str(new), "--prior", "bcart-all"]
    shown = run("posterior", str(path), "--target", "y", "--maxdep", "1", *more, "--json")
    told = json.loads(shown.stdout)
    found = adtc.posterior(adtc.read(path, target="y"), adtc.Space(max_depth=1), prior="bcart-all")
    assert told["log_evidence"] == found.log_evidence
    assert told["lost_mass"] == found.lost_mass
    assert told["inclusion"] == found.inclusion
    assert told["map"]["probability"] == found.best.probability
    assert told["map"]["tree"] == {"feature": "x <= 3.5", "yes": {"label": 0}, "no": {"label": 1}}
    assert [d["probability"] for d in told["draws"]] == [
        one.probability for one in found.draw(2, seed=3)
    ]
    assert told["rows"] == found.predict_proba().tolist()
    assert told["predictions"] == found.predict_proba({"x": [9, None], "g": ["b", "z"]}).tolist()
    assert told["status"] == told["record"]["status"] == "bounded"


def test_the_text_names_prior_variables_and_the_best_tree():
    lines = run(*ASKED, "--siz", "1", "--rows").stdout.splitlines()
    assert lines[0].startswith("log evidence = -4.")
    assert "0.95 of the prior is on no tree of the space, and is divided out" in lines[1]
    assert "most probable tree, posterior probability 1.0000" in lines
    assert "5    0.5000  0.5000" in lines
    flat = run(*ASKED, "--prior", "flat", "--rho", "1,2").stdout
    assert "prior flat, rho 1, 2; about 10^" in flat
    assert "no label on a leaf" in flat


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--alpha", "0"], "alpha is 0.0, expected a probability above 0"),
        (["--alpha", "1,2"], "--alpha takes a single number"),
        (["--rho", "x"], "'x' is neither a number nor numbers between commas"),
        (["--where", "acc > 0.5"], "a posterior is over all trees of the space"),
        (["--engine", "spec"], "only the fast engine averages over trees"),
        (["--labels", "majority"], "a leaf carries no label"),
        (["--no-trivial-splits"], "a leaf carries no label"),
        (["--leaf-share", "0.6"], "a leaf carries no label"),
        (["--predict", "nowhere.csv"], "there is no file 'nowhere.csv'"),
    ],
)
def test_what_means_nothing_here_is_refused(options, message):
    shown = run(*ASKED, *options)
    assert shown.exit_code == 2
    assert message in shown.stderr

"""The command `adtc variables`, on tables and saved profiles."""

import json

import pytest
from click.testing import CliRunner

import adtc
from adtc.cli import main
from adtc.engine.uses import Uses
from adtc.errors import TooLargeError

GERMAN = ["german-credit", "--nbins", "2", "--maxdep", "2", "--relminsup", "0.2"]


def run(*arguments: str, code: int = 0) -> str:
    result = CliRunner().invoke(main, ["variables", *arguments])
    assert result.exit_code == code, result.output
    return result.stdout if code == 0 else result.stderr


@pytest.fixture(scope="module")
def good():
    data = adtc.load_dataset("german-credit", nbins=2)
    space = adtc.Space(max_depth=2, relminsup=0.2)
    return adtc.profile(data, space, ["size", "error"], where="error <= 298")


def test_json_has_the_keys_that_programs_read(good):
    told = json.loads(run(*GERMAN, "--where", "error <= 298", "--json"))
    assert (told["total"], told["status"]) == (good.count, "exact")
    one = next(v for v in told["variables"] if v["name"] == "checking_status")
    assert (one["necessary"], one["possible"], one["trees_using"]) == (True, True, good.count)
    assert one["least_error_without"] == 300
    assert told["minimal_sets"][0] == ["checking_status", "duration"]
    assert told["by_number"] == {"2": 5}
    assert told["record"]["question"]["where"] == "error <= 298"


def test_a_saved_profile_answers_too(good, tmp_path):
    path = good.save(tmp_path / "good.adtc", circuit=True)
    told = json.loads(run(str(path), "--where", "error <= 290", "--json"))
    assert (told["total"], told["where"]) == (2, "error <= 290")
    small = good.save(tmp_path / "small.adtc")
    assert "needs the circuit" in run(str(small), code=2)


def test_text_and_picture(tmp_path):
    text = run(*GERMAN, "--where", "error <= 298", "--plot", str(tmp_path / "v.png"))
    assert text.startswith("5 trees (exact)")
    assert "good trees by number of variables: 5 with 2" in text
    assert (tmp_path / "v.png").stat().st_size > 1000


def test_nothing_good_is_an_answer():
    text = run(*GERMAN, "--where", "error <= 1")
    assert text.startswith("0 trees (exact)")
    assert json.loads(run(*GERMAN, "--where", "error <= 1", "--json"))["total"] == 0


def test_banned_columns_are_in_the_words():
    text = run(*GERMAN, "--where", "error <= 300", "--ban", "checking_status")
    assert "no test of checking_status" in text
    assert "unknown column or feature 'chess'" in run(*GERMAN, "--ban", "chess", code=2)


def test_sets_beyond_the_memory_are_refused_and_said(monkeypatch):
    def refuse(self, groups=None):
        raise TooLargeError("there are too many sets.")

    monkeypatch.setattr(Uses, "by_set", refuse)
    text = run(*GERMAN, "--where", "error <= 298")
    assert "good trees by number of variables: there are too many sets." in text
    told = json.loads(run(*GERMAN, "--where", "error <= 298", "--json"))
    assert (told["by_number"], told["by_number_refused"]) == (None, "there are too many sets.")


def test_reliance_comes_with_exact_ends(good, tmp_path):
    told = json.loads(run(*GERMAN, "--where", "error <= 298", "--reliance", "--json"))
    data = adtc.load_dataset("german-credit", nbins=2)
    space = adtc.Space(max_depth=2, relminsup=0.2)
    ranges = {one.column: one for one in adtc.reliance(data, space, "error <= 298")}
    for variable in told["variables"]:
        one = ranges[variable["name"]]
        assert variable["reliance"]["min_exact"] == str(one.min)
        assert variable["reliance"]["max"] == float(one.max)
    path = good.save(tmp_path / "good.adtc", circuit=True)
    again = json.loads(run(str(path), "--reliance", "--json"))
    assert again["variables"] == told["variables"]
    assert "model reliance" in run(str(path), "--reliance", "--where", "error <= 290")
    assert "as a number" in run(str(path), "--reliance", "--where", "error <= least(error)", code=2)
    assert "reliance" not in json.loads(run(*GERMAN, "--json"))["variables"][0]


@pytest.mark.parametrize("of", [[], ["--reliance-of", "duration"]])
def test_pictures_of_reliance(tmp_path, of):
    path = tmp_path / "reliance.svg"
    said = run(*GERMAN, "--where", "error <= 298", "--reliance-plot", str(path), *of)
    assert str(path) in said
    drawn = path.read_text()
    assert ("MCR" in drawn) == bool(of)
    assert ("checking_status" in drawn) == (not of)


def test_a_column_without_a_picture_is_refused():
    assert "give --reliance-plot FILE" in run(*GERMAN, "--reliance-of", "age", code=2)
    said = run(*GERMAN, "--reliance-of", "agee", "--reliance-plot", "x.png", code=2)
    assert "unknown variable 'agee'" in said

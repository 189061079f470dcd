"""Commands that read something off a profile: within limits, and stopped by Ctrl-C."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import adtc
from adtc.cli import beside, main, text
from adtc.errors import LimitError
from adtc.profiles import people, variables
from adtc.profiles.making import profile_and_read

SPACE = ["german-credit", "--nbins", "2", "--maxdep", "2", "--relminsup", "0.2", "--quiet"]
GOOD = [*SPACE, "--where", "acc > 0.7"]
DATA = adtc.load_dataset("german-credit", nbins=2)
OUT_OF_TIME = "the run did not finish within the time limit of 1 s: raise the limit."


def run(*args: str) -> Result:
    return CliRunner().invoke(main, args)


def told(*args: str, code: int = 0) -> dict:
    done = run(*args, "--json")
    assert done.exit_code == code, done.stderr
    return json.loads(done.stdout)


def test_what_cannot_be_read_is_read_of_a_smaller_depth() -> None:
    def read(made: adtc.profiles.Profile, monitor: adtc.Monitor) -> int:
        if made.source.space.max_depth > 1:
            raise LimitError(OUT_OF_TIME)
        return made.total

    asked = DATA, adtc.Space(max_depth=3, relminsup=0.2), ["size"]
    monitor = adtc.Monitor(exact=False)
    made, found = profile_and_read(*asked, read, monitor=monitor, give=lambda *both: both)
    assert (made.status, found) == ("partial", adtc.count(DATA, adtc.Space(1, relminsup=0.2)))
    assert made.count.finished == "depth at most 1"
    with pytest.raises(LimitError, match="time limit of 1 s"):
        profile_and_read(*asked, read, give=lambda *both: both)


def test_whoever_stops_a_run_gets_an_answer_of_its_kind() -> None:
    monitor = adtc.Monitor(exact=False)
    asked = DATA, adtc.Space(max_depth=2, relminsup=0.2), ["size"]
    adtc.profile(*asked, monitor=monitor)
    stopped = monitor.finished("the run was interrupted: let it run longer")
    assert (type(stopped), stopped.status) == (adtc.Profile, "partial")


@pytest.fixture
def _no_time_to_vote(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = people.votes_of

    def votes_of(profile: adtc.profiles.Profile, **options: object) -> object:
        if profile.source.space.max_depth > 1:
            raise LimitError(OUT_OF_TIME)
        return honest(profile, **options)

    monkeypatch.setattr(people, "votes_of", votes_of)


@pytest.mark.usefixtures("_no_time_to_vote")
def test_votes_are_those_of_the_deepest_depth_that_fits() -> None:
    shallow = [*SPACE, "--maxdep", "1"]
    given, smaller = told("votes", *SPACE), told("votes", *shallow)
    assert (given["status"], smaller["status"]) == ("partial", "exact")
    assert (given["total"], given["votes"]) == (smaller["total"], smaller["votes"])
    assert given["record"]["details"]["finished"] == "depth at most 1"
    first, second, *_ = run("votes", *SPACE).stdout.splitlines()
    assert first.endswith("good trees vote on 1,000 rows (partial: exact for depth at most 1)")
    assert second == "stopped: the run did not finish within the time limit of 1 s"


@pytest.mark.usefixtures("_no_time_to_vote")
def test_no_good_tree_of_a_smaller_depth_is_no_proof() -> None:
    given = told("votes", *SPACE, "--where", "acc > 0.7")
    assert (given["total"], given["status"]) == (0, "partial")
    assert "nearest" not in given


def test_variables_do_without_least_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    def too_long(*args: object, **options: object) -> None:
        raise LimitError(OUT_OF_TIME)

    whole = told("variables", *GOOD)
    monkeypatch.setattr(variables, "optimize", too_long)
    given = told("variables", *GOOD)
    assert (given["status"], given["least_errors_refused"]) == ("exact", OUT_OF_TIME)
    for one, other in zip(given["variables"], whole["variables"], strict=True):
        assert one == {**other, "least_error_without": None}
    assert f"least errors: {OUT_OF_TIME}" in run("variables", *GOOD).stdout


def test_reliance_and_pictures_of_it_are_left_out_where_they_do_not_fit(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def too_long(*args: object, **options: object) -> None:
        raise LimitError(OUT_OF_TIME)

    monkeypatch.setattr(adtc, "reliance", too_long)
    path = tmp_path / "ranges.png"
    asked = ["variables", *GOOD, "--reliance", "--reliance-plot", str(path)]
    given = told(*asked)
    assert (given["status"], given["reliance_refused"]) == ("exact", text.NOT_FOUND)
    assert not path.exists()
    assert f"model reliance: {text.NOT_FOUND}" in run(*asked).stdout
    refused = run(*asked, "--exact")
    assert (refused.exit_code, refused.stderr) == (2, f"adtc: {OUT_OF_TIME}\n")


def test_ctrl_c_shows_what_is_finished(monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(*args: object, **options: object) -> None:
        raise KeyboardInterrupt

    whole = told("variables", *GOOD)
    monkeypatch.setattr(variables, "optimize", stopped)
    done = run("variables", *GOOD, "--json")
    assert (done.exit_code, done.stderr) == (130, "adtc: stopped; this is what was finished.\n")
    given = json.loads(done.stdout)
    assert given["total"] == whole["total"]
    assert given["least_errors_refused"] == "not found within the limits"


def test_ctrl_c_while_an_estimate_is_added_shows_what_is_exact(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def stopped(*args: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("adtc.engine.monitor.SECONDS_PER_VALUE", 1.0)
    monkeypatch.setattr(beside, "_exact_fits", lambda *asked: True)
    monkeypatch.setattr(beside, "_drawn", stopped)
    given = told("profile", *SPACE, "--time-limit", "200", "--metrics", "size,acc", code=130)
    assert (given["status"], given["finished"]) == ("partial", "depth at most 1")


def test_an_answer_that_holds_all_the_memory_is_told_without_an_estimate(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def full(*args: object) -> None:
        raise LimitError("--memory-limit is 180 MB, but the program and the table hold 162 MB.")

    monkeypatch.setattr("adtc.engine.monitor.SECONDS_PER_VALUE", 1.0)
    monkeypatch.setattr(beside, "_exact_fits", lambda *asked: True)
    monkeypatch.setattr(beside, "_drawn", full)
    given = told("profile", *SPACE, "--time-limit", "200", "--metrics", "size,acc")
    assert (given["status"], given["finished"]) == ("partial", "depth at most 1")
    assert "estimated" not in given


def test_drawn_trees_of_a_smaller_depth_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("adtc.engine.monitor.SECONDS_PER_VALUE", 1.0)
    asked = [*SPACE, "--seed", "0", "--time-limit", "200", "--metrics", "size,acc"]
    given = told("draw", *asked)
    assert (given["status"], given["count"]) == ("partial", None)
    reached = given["record"]["conventions"]["max_depth"]
    assert given["lower"] == adtc.count(DATA, adtc.Space(reached, relminsup=0.2))
    first, second, *_ = run("draw", *asked).stdout.splitlines()
    assert "(partial: exact for depth at most" in first
    assert second.startswith("stopped: the ")

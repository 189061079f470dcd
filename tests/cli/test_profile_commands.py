"""Profiles on the command line: made, saved, cross-tabulated, drawn from, reported, completed."""

import hashlib
import html
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import zipfile
from contextlib import suppress
from fractions import Fraction
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import adtc
from adtc.cli import findings, main
from adtc.cli.demo import FILES, MARK, QUESTIONS, STEPS, prepare
from adtc.errors import QueryError, TooLargeError

SPACE = ["german-credit", "--maxdep", "2", "--relminsup", "0.2"]
METRICS = ["size", "acc", "f1", "dp"]


def run(*args: str) -> Result:
    return CliRunner().invoke(main, list(args))


def answer(*args: str) -> dict:
    result = run(*args, "--json")
    assert result.exit_code == 0, result.stderr
    assert result.stderr == ""
    return json.loads(result.stdout)


@pytest.fixture(scope="module")
def whole() -> adtc.Profile:
    """Make the profile that the commands should find."""
    space = adtc.Space(max_depth=2, relminsup="0.2")
    return adtc.profile(adtc.load_dataset("german-credit"), space, METRICS)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, whole: adtc.Profile) -> Path:
    """Work in a folder that holds a saved profile."""
    monkeypatch.chdir(tmp_path)
    whole.save("run.adtc", circuit=True)
    return tmp_path


def files(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


# --- profile ----------------------------------------------------------------------------------


def test_a_profile_is_made_and_saved(folder: Path, whole: adtc.Profile) -> None:
    given = answer("profile", *SPACE, "-o", "new.adtc")
    assert (given["count"], given["num_cells"]) == (whole.count, whole.num_cells)
    assert given["cell_scan"] == given["record"]["cell_scan"] == whole.record.cell_scan
    assert (given["status"], given["path"], given["circuit"]) == ("exact", "new.adtc", True)
    assert given["log10"] == whole.log10
    assert list(given["metrics"]) == METRICS
    best = Fraction(given["metrics"]["acc"]["exact"]["largest"])
    assert best == whole.moments("acc").largest
    assert given["metrics"]["acc"]["largest"] == float(best)
    loaded = adtc.load_profile("new.adtc")
    assert (loaded.count, loaded.names) == (whole.count, tuple(METRICS))
    assert loaded.draw(1, seed=3)[0].tree == whole.draw(1, seed=3)[0].tree
    assert files(folder) == ["new.adtc", "run.adtc"]


@pytest.mark.usefixtures("folder")
def test_a_profile_for_people(whole: adtc.Profile) -> None:
    shown = run("profile", *SPACE, "--no-circuit", "-o", "new.adtc").stdout
    lines = shown.splitlines()
    assert lines[0] == f"{whole.count:,} trees in {whole.num_cells:,} cells (exact)"
    assert re.fullmatch(r"metric +least +mean +largest", lines[2])
    assert re.fullmatch(r"size +1 +3\.\d+ +4", lines[3])
    assert re.search(r"saved: new\.adtc \([\d.]+ kB, without the circuit", shown)
    assert adtc.load_profile("new.adtc").source is None


@pytest.mark.usefixtures("folder")
def test_undefined_values_are_counted_in_words() -> None:
    shown = run("profile", "german-credit", "--maxdep", "1", "--metrics", "precision").stdout
    assert re.search(r"metric .* undefined for\nprecision .* \d+ trees", shown)


def test_nothing_is_saved_unless_told(folder: Path) -> None:
    given = answer("profile", *SPACE, "--metrics", "acc, size * 2", "--where", "dp <= 0.1")
    assert (given["path"], given["circuit"]) == (None, None)
    assert list(given["metrics"]) == ["acc", "size * 2"]
    assert given["record"]["question"]["where"] == "dp <= 0.1"
    assert files(folder) == ["run.adtc"]


def test_default_metrics_are_those_that_the_table_has(folder: Path) -> None:
    (folder / "three.csv").write_text("a,y\n1,x\n0,y\n1,z\n0,x\n")
    given = answer("profile", "three.csv", "--target", "y", "--maxdep", "1")
    assert list(given["metrics"]) == ["size", "acc"]
    (folder / "two.csv").write_text("a,y\n1,x\n0,y\n1,x\n0,x\n")
    given = answer("profile", "two.csv", "--target", "y", "--maxdep", "1")
    assert list(given["metrics"]) == ["size", "acc", "f1"]


def test_the_specification_has_no_circuit_to_keep(folder: Path) -> None:
    (folder / "two.csv").write_text("a,y\n1,x\n0,y\n1,x\n0,x\n")
    args = ["profile", "two.csv", "--target", "y", "--maxdep", "1", "--engine", "spec"]
    assert answer(*args, "-o", "spec.adtc")["circuit"] is False
    assert adtc.load_profile("spec.adtc").count == answer(*args)["count"] == 6
    refused = run(*args, "--circuit", "-o", "other.adtc")
    assert refused.exit_code == 2
    assert "needs the circuit" in refused.stderr
    assert not (folder / "other.adtc").exists()


# --- cross-tables -----------------------------------------------------------------------------


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("source", [["run.adtc"], SPACE])
def test_a_cross_table_sums_to_the_count(whole: adtc.Profile, source: list[str]) -> None:
    given = answer("crosstab", *source, "acc", "dp", "--bins", "4,3")
    expected = whole.crosstab("acc", "dp", bins=(4, 3))
    assert given["counts"] == [list(row) for row in expected.counts]
    assert sum(map(sum, given["counts"])) == given["count"] == whole.count
    assert (len(given["x"]), len(given["y"])) == (5, 4)
    assert given["axes"]["x"]["metric"] == "acc"
    assert Fraction(given["axes"]["x"]["exact"][0]) == whole.moments("acc").least
    assert given["status"] == "exact"


@pytest.mark.usefixtures("folder")
def test_bins_are_given_per_axis(whole: adtc.Profile) -> None:
    args = ["--x-bins", "0.5,0.7,1", "--y-bins", "values", "--where", "dp <= 1/10"]
    given = answer("crosstab", "run.adtc", "acc", "size", *args)
    assert given["x"] == [0.5, 0.7, 1]
    assert given["y"] == [1, 2, 3, 4]
    assert given["axes"]["x"]["kinds"] == ["below", "range", "range"]
    assert given["count"] == whole.where("dp <= 1/10").count == sum(map(sum, given["counts"]))
    below = whole.where("dp <= 1/10 and acc < 1/2 and size = 3").count
    assert given["counts"][0][2] == below
    assert given["where"] == "dp <= 1/10"


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("given", "meant"),
    [
        (["--bins", "values,2"], ("values", 2)),
        (["--bins", "0,0.5,1"], ([0, "0.5", 1], [0, "0.5", 1])),
        (["--bins", "0.5,1"], (["0.5", 1], ["0.5", 1])),
        (["--x-bins", "0,1", "--y-bins", "3"], ([0, 1], 3)),
        (["--bins", "2", "--x-bins", "1/4, 0.5, 1"], (["1/4", "0.5", 1], 2)),
    ],
)
def test_bins_are_read(whole: adtc.Profile, given: list[str], meant: tuple) -> None:
    found = answer("crosstab", "run.adtc", "acc", "dp", "--where", "acc > 0.708", *given)
    expected = whole.crosstab("acc", "dp", where="acc > 0.708", bins=meant)
    assert found["axes"] == {"x": expected.x_bins.to_json(), "y": expected.y_bins.to_json()}
    assert found["counts"] == [list(row) for row in expected.counts]


@pytest.mark.usefixtures("folder")
def test_undefined_bins_are_counted() -> None:
    given = answer("crosstab", "german-credit", "precision", "size", "--maxdep", "1")
    assert given["axes"]["x"]["kinds"][-1] == "undefined"
    assert sum(given["counts"][-1]) > 0
    assert sum(map(sum, given["counts"])) == given["count"]


@pytest.mark.usefixtures("folder")
def test_bins_are_round_unless_a_number_is_given() -> None:
    free = answer("crosstab", "run.adtc", "acc", "dp")
    assert all(Fraction(edge).denominator <= 40 for edge in free["axes"]["x"]["exact"])
    ten = answer("crosstab", "run.adtc", "acc", "dp", "--bins", "10")
    assert len(ten["x"]) == 11
    assert ten["x"] != free["x"]


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("of", ["all", "x", "y"])
def test_shares_add_up(of: str) -> None:
    given = answer("crosstab", "run.adtc", "acc", "size", "--bins", "3", "--shares", of)
    shares = given["shares"]
    sums = {
        "all": [sum(map(sum, shares))],
        "x": [sum(row) for row in shares],
        "y": [sum(column) for column in zip(*shares, strict=True)],
    }[of]
    assert sums == pytest.approx([1] * len(sums))
    shown = run("crosstab", "run.adtc", "acc", "size", "--bins", "3", "--shares", of).stdout
    assert " %" in shown.splitlines()[3]


def test_a_cross_table_is_drawn_and_written(folder: Path) -> None:
    args = ["run.adtc", "acc", "dp", "--plot", "map.svg", "--html", "map.html", "-o", "map.txt"]
    result = run("crosstab", *args)
    assert result.exit_code == 0
    assert (folder / "map.txt").read_text() == result.stdout
    assert (folder / "map.svg").read_text().startswith("<?xml")
    page = (folder / "map.html").read_text()
    assert page.startswith("<!DOCTYPE html>")
    assert "<table" in page
    assert "written: map.svg, map.html" in result.stdout
    assert "profile: run.adtc" in result.stdout
    assert files(folder) == ["map.html", "map.svg", "map.txt", "run.adtc"]


@pytest.mark.skipif(os.name == "nt", reason="pseudo-terminals are a POSIX matter")
def test_a_narrow_terminal_gets_short_counts_and_a_pipe_all_digits(folder: Path) -> None:
    import pty

    args = [sys.executable, "-m", "adtc", "crosstab", "run.adtc", "size * 1000000", "acc"]
    source = """if True:
        import sys
        from adtc.cli import profiling, main
        profiling.get_terminal_size = lambda: __import__("os").terminal_size((40, 20))
        from adtc.profiles import crosstab
        crosstab.short = lambda count: "short"
        main(sys.argv[1:])
    """
    ours, theirs = pty.openpty()
    subprocess.run([sys.executable, "-c", source, *args[3:]], cwd=folder, stdout=theirs, check=True)
    os.close(theirs)
    shown = b""
    with suppress(OSError):  # the end of a terminal without a writer
        while part := os.read(ours, 1 << 16):
            shown += part
    os.close(ours)
    assert b"short" in shown
    piped = subprocess.run(
        [sys.executable, "-c", source, *args[3:]],
        cwd=folder, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert "short" not in piped.stdout


# --- fronts -----------------------------------------------------------------------------------


def test_a_front(folder: Path, whole: adtc.Profile) -> None:
    goals = ["--maximize", "acc", "--minimize", "dp", "--minimize", "size"]
    given = answer("pareto", "run.adtc", *goals, "--plot", "front.png")
    expected = whole.pareto(maximize="acc", minimize=["dp", "size"])
    assert [point["trees"] for point in given["points"]] == list(expected.trees)
    exact = [[Fraction(v) for v in point["exact"].values()] for point in given["points"]]
    assert exact == [[Fraction(v) for v in point] for point in expected.points]
    assert (given["count"], given["among"]) == (expected.count, whole.count)
    assert (folder / "front.png").read_bytes().startswith(b"\x89PNG")
    table = answer("pareto", *SPACE, *goals, "--counts", "--plot", "searched.png")
    found = [{k: point[k] for k in given["points"][0]} for point in table["points"]]
    assert found == given["points"]
    assert (table["count"], table["among"]) == (expected.count, whole.count)
    assert given.keys() == table.keys()
    assert (table["status"], table["stopped"]) == ("exact", None)
    assert all(len(p["rules"]) == p["values"]["size"] for p in table["points"])
    assert (folder / "searched.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.usefixtures("folder")
def test_a_front_is_searched_without_a_profile(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("adtc.profiles.making.profile", lambda *args, **options: 1 / 0)
    monkeypatch.setattr("adtc.profiles.profile", lambda *args, **options: 1 / 0)
    given = answer("pareto", *SPACE, "--maximize", "acc", "--minimize", "dp")
    assert given["points"]
    assert (given["count"], given["among"]) == (None, None)


@pytest.mark.usefixtures("folder")
def test_a_limit_leaves_the_points_of_a_front_found_so_far(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(
        "adtc.cli.running._WATCH", 60.0
    )  # let the table be read, however long that takes
    goals = ["--maximize", "acc", "--minimize", "dp"]
    done = run("pareto", *SPACE, *goals, "--time-limit", "0.000001", "--json")
    assert done.exit_code == 0
    given = json.loads(done.stdout)
    assert (given["status"], given["points"]) == ("partial", [])
    assert "time limit" in given["stopped"]
    told = run("pareto", *SPACE, *goals, "--time-limit", "0.000001").stdout
    assert "points of the front (partial): " in told


# --- trees ------------------------------------------------------------------------------------


def test_trees_are_drawn_with_a_seed(folder: Path, whole: adtc.Profile) -> None:
    args = ["-n", "3", "--seed", "5", "--where", "acc >= 0.7"]
    given = answer("draw", "run.adtc", *args, "--svg", "pictures")
    expected = whole.draw(3, seed=5, where="acc >= 0.7")
    assert [tree["rank"] for tree in given["trees"]] == [one.rank for one in expected]
    assert (given["seed"], given["count"]) == (5, whole.count)
    for tree, one in zip(given["trees"], expected, strict=True):
        assert {k: Fraction(v) for k, v in tree["exact"].items()} == dict(one.metrics)
        assert tree["metrics"]["acc"] >= 0.7
        assert len(tree["rules"]) == len(tree["leaves"]) == tree["metrics"]["size"]
        assert sum(leaf["support"] for leaf in tree["leaves"]) == 1000
        assert all(sum(leaf["shares"]) == pytest.approx(1) for leaf in tree["leaves"])
        picture = folder / "pictures" / f"tree-{tree['rank']}.svg"
        assert picture.read_text().startswith("<svg")
        assert str(picture.relative_to(folder)) in given["files"]


@pytest.mark.usefixtures("folder")
def test_trees_for_people(whole: adtc.Profile) -> None:
    shown = run("draw", "run.adtc", "--seed", "5").stdout
    (one,) = whole.draw(1, seed=5)
    assert shown.startswith(f"1 tree drawn, each of {whole.count:,} with the same probability")
    assert f"(seed 5); ranks run from 0 to {whole.count - 1:,} (exact)\n" in shown
    assert f"\ntree {one.rank:,} of {whole.count:,}\n  if " in shown
    assert re.search(r" then (good|bad)   \(\d+ rows, \d+ %\)\n", shown)
    assert "  size = " in shown


@pytest.mark.usefixtures("folder")
def test_a_fresh_seed_is_told_and_draws_the_same_again() -> None:
    first = answer("draw", "run.adtc", "-n", "4")
    again = answer("draw", "run.adtc", "-n", "4", "--seed", str(first["seed"]))
    assert again["trees"] == first["trees"]


@pytest.mark.usefixtures("folder")
def test_ranks_are_read_as_they_are_printed(whole: adtc.Profile) -> None:
    given = answer("draw", "run.adtc", "--rank", "8,412", "--rank", "0")
    assert [tree["rank"] for tree in given["trees"]] == [8412, 0]
    assert given["seed"] is None
    data = whole.need_source("this").data
    expected = adtc.TreeModel(whole.tree(8412).tree, data)
    assert given["trees"][0]["rules"] == [str(rule) for rule in expected.rules()]


@pytest.mark.usefixtures("folder")
def test_the_best_trees_keep_their_ranks_in_the_whole(whole: adtc.Profile) -> None:
    given = answer("draw", "run.adtc", "--maximize", "acc - dp", "-k", "4", "--where", "size = 3")
    expected = whole.where("size = 3").best(4, maximize="acc - dp")
    assert [tree["rank"] for tree in given["trees"]] == [whole.rank(one) for one in expected]
    for tree, one in zip(given["trees"], expected, strict=True):
        assert whole.tree(tree["rank"]).tree == one.tree
    made = answer("draw", *SPACE, "--minimize", "dp - acc", "-n", "1")["trees"][0]
    assert "dp - acc" in made["metrics"]
    assert made["exact"]["dp - acc"] == str(-whole.values("acc - dp").distinct[-1])


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("pick", ["spread", "different"])
def test_picks_lie_apart(pick: str) -> None:
    seed = ["--seed", "1"] if pick == "different" else []
    given = answer("draw", "run.adtc", "--pick", pick, "-n", "3", *seed)
    assert len({json.dumps(tree["tree"]) for tree in given["trees"]}) == 3


@pytest.mark.usefixtures("folder")
def test_trees_of_a_table_show_the_metrics_of_the_question() -> None:
    given = answer("draw", *SPACE, "--seed", "0", "--where", "tnr >= 0.5 and size <= 2")
    (tree,) = given["trees"]
    assert list(tree["metrics"]) == [*METRICS, "tnr"]
    assert given["count"] == answer("count", *SPACE, "--where", "tnr >= 0.5 and size <= 2")["count"]


def test_drawn_trees_keep_small_leaves_to_themselves(folder: Path) -> None:
    args = ["draw", "german-credit", "--maxdep", "2", "--metrics", "size, acc", "-n", "8"]
    args += ["--seed", "1", "--small", "40", "--svg", "pictures"]
    given = answer(*args)
    leaves = [leaf for tree in given["trees"] for leaf in tree["leaves"]]
    hidden = [leaf for leaf in leaves if leaf["support"] is None]
    assert hidden
    assert all(leaf["counts"] is None and leaf["shares"] is None for leaf in hidden)
    assert all(leaf["support"] >= 40 for leaf in leaves if leaf["support"] is not None)
    rules = [line for line in run(*args).stdout.splitlines() if " then " in line]
    pictures = "".join(path.read_text() for path in (folder / "pictures").iterdir())
    shown = "\n".join([*rules, *re.findall(r"<text .*</text>", pictures)])
    assert "(fewer than 40 rows)" in shown
    assert not re.search(r"\b[1-3]?\d rows?\b(?<!40 rows)", shown)


# --- the report -------------------------------------------------------------------------------


def test_a_report(folder: Path, whole: adtc.Profile) -> None:
    args = ["--crosstab", "acc,f1", "--crosstab", "acc,dp", "--trees", "1", "--title", "Our audit"]
    given = answer("report", "run.adtc", "-o", "report.html", *args)
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert given["path"] == "report.html"
    assert given["bytes"] == len(page.encode())
    assert (given["count"], given["status"], given["seed"]) == (whole.count, "exact", 0)
    assert "Our audit" in page
    assert f"{whole.count:,}" in page
    assert files(folder) == ["report.html", "run.adtc"]


def test_a_report_on_chosen_trees(folder: Path, whole: adtc.Profile) -> None:
    args = ["--where", "acc >= 0.7", "--rank", "1,000", "--rank", "7", "--best", "2"]
    args += ["--note", "For the file.", "--small", "0"]
    given = answer("report", "run.adtc", "-o", "report.html", *args)
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert given["count"] == whole.where("acc >= 0.7").count
    assert (given["where"], given["ranks"]) == ("acc >= 0.7", [1000, 7])
    assert f"Tree 1,000 of {whole.count:,}" in page
    assert f"Tree 7 of {whole.count:,}" in page
    assert "For the file." in page
    assert "best 2" in page
    assert "drawn at random" not in page
    assert "All numbers are shown, however small." in page
    again = shlex.join(["adtc", "report", "run.adtc", "-o", "report.html", *args, "--json"])
    assert html.escape(again) in page


def test_a_report_names_the_command_and_the_file_of_its_profile(folder: Path) -> None:
    rows = "\n".join(f"{i % 7},{'ab'[i % 2]},{i % 3 % 2}" for i in range(60))
    (folder / "loans.csv").write_text(f"income,sex,y\n{rows}\n")
    made = ["profile", "loans.csv", "--target", "y", "--sensitive", "sex", "--maxdep", "1"]
    answer(*made, "-o", "loans.adtc")
    answer("report", "loans.adtc", "-o", "report.html")
    page = (folder / "report.html").read_text(encoding="utf-8")
    digest = hashlib.sha256((folder / "loans.csv").read_bytes()).hexdigest()
    assert shlex.join(["adtc", *made, "-o", "loans.adtc", "--json"]) in page
    assert f"SHA-256 {digest}" in page
    assert f"loans.csv ({(folder / 'loans.csv').stat().st_size:,} bytes)" in page


def test_a_failed_report_leaves_the_old_one(folder: Path) -> None:
    (folder / "report.html").write_text("old")
    result = run("report", "run.adtc", "-o", "report.html", "--crosstab", "acc,eror")
    assert result.exit_code == 2
    assert "unknown metric 'eror'" in result.stderr
    assert (folder / "report.html").read_text() == "old"
    assert files(folder) == ["report.html", "run.adtc"]


# --- no tree exists ---------------------------------------------------------------------------


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    "command",
    [["count"], ["exists"], ["optimize"], ["profile"], ["pareto", "--maximize", "acc"]],
    ids=lambda command: command[0],
)
def test_no_tree_is_an_answer_with_the_nearest_values(
    whole: adtc.Profile, command: list[str]
) -> None:
    name, *goal = command
    args = [name, *SPACE, *goal, "--where", "acc >= 0.9 and dp <= 0.05"]
    given = answer(*args)
    assert given.get("count", 0) == 0
    acc, dp = given["nearest"]
    best = whole.moments("acc").largest
    assert (acc["atom"], dp["atom"]) == ("acc >= 0.9", "dp <= 0.05")
    assert acc["exact"]["alone"] == [str(best)]
    assert acc["possible"] is False
    assert acc["exact"]["together"] == [str(whole.where("dp <= 0.05").moments("acc").largest)]
    assert dp["together"] == []
    shown = run(*args).stdout
    assert re.search("no (such )?tree (exists|satisfies)", shown)
    assert "  acc >= 0.9: at most 0.7" in shown


@pytest.mark.usefixtures("folder")
def test_the_nearest_values_are_left_out_where_they_take_too_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import adtc.engine.nearest as module

    def slow(*args: object, **options: object) -> None:
        raise TooLargeError("too long")

    monkeypatch.setattr(module, "nearest", slow)
    given = answer("count", *SPACE, "--where", "acc > 1")
    assert (given["count"], given["nearest"]) == (0, None)
    assert run("count", *SPACE, "--where", "acc > 1").stdout.startswith("0 trees (exact): no tree")


@pytest.mark.usefixtures("folder")
def test_an_undefined_objective_is_no_missing_tree() -> None:
    args = ["german-credit", "--maxdep", "1", "--maximize", "precision", "--where", "N01 + N11 = 0"]
    given = answer("optimize", *args)
    assert (given["tree"], given["nearest"]) == (None, None)


@pytest.mark.usefixtures("folder")
def test_an_empty_profile_is_saved_and_read() -> None:
    given = answer("profile", *SPACE, "--where", "acc > 0.9", "-o", "none.adtc")
    assert (given["count"], given["metrics"]["acc"]["mean"]) == (0, None)
    table = answer("crosstab", "none.adtc", "acc", "dp")
    assert (table["count"], sum(map(sum, table["counts"]))) == (0, 0)
    shown = run("crosstab", "run.adtc", "acc", "dp", "--where", "acc > 0.9").stdout
    assert "(exact): no tree exists\n" in shown
    assert run("draw", "none.adtc").exit_code == 2


# --- mistakes ---------------------------------------------------------------------------------

CROSS = ["crosstab", "run.adtc", "acc", "dp"]
MISTAKES = {
    "unknown metric": (["crosstab", "run.adtc", "acc", "eror"], "unknown metric 'eror'"),
    "unknown metric of a table": (
        ["crosstab", *SPACE, "acc", "eror"],
        "unknown metric 'eror'. Did you mean 'error'",
    ),
    "metric not in the profile": (
        ["pareto", "run.adtc", "--maximize", "bacc"],
        "unknown metric 'bacc'.* A profile knows the metrics it was made with",
    ),
    "profile of an unknown metric": (
        ["profile", *SPACE, "--metrics", "size, eror", "-o", "x.adtc"],
        "unknown metric 'eror'",
    ),
    "no bins": ([*CROSS, "--bins", "0"], "'--bins': '0' is not a number of bins above 0"),
    "negative bins": ([*CROSS, "--y-bins", "-3"], "'--y-bins': '-3' is not a number of bins"),
    "one axis without bins": ([*CROSS, "--bins", "4,0"], "'4,0' is not a number of bins above 0"),
    "bins in words": ([*CROSS, "--bins", "many"], "'many' is none of N, 'values'"),
    "a single edge": ([*CROSS, "--x-bins", "0.5"], "'0.5' is none of N"),
    "descending edges": ([*CROSS, "--x-bins", "0.8,0.7"], "must ascend"),
    "too many bins": ([*CROSS, "--bins", "5000"], "expected a whole number from 1 to 1,000"),
    "empty cell": (
        ["draw", "run.adtc", "--where", "acc > 0.99"],
        "no tree satisfies 'acc > 0.99', so there is none to draw",
    ),
    "best of none": (
        ["draw", "run.adtc", "--where", "acc > 0.99", "--minimize", "dp"],
        "no tree satisfies 'acc > 0.99', so there is none to show",
    ),
    "rank out of range": (
        ["draw", "run.adtc", "--rank", "11482"],
        "rank 11,482 is out of range: there are 11,482 trees, ranks 0 to 11,481",
    ),
    "negative rank": (["draw", "run.adtc", "--rank", "-1"], "rank -1 is out of range"),
    "rank in words": (["draw", "run.adtc", "--rank", "first"], "'first' is not a whole number"),
    "rank and formula": (
        ["draw", "run.adtc", "--rank", "1", "--where", "acc > 0.5"],
        "--where cannot choose among them",
    ),
    "rank and number": (["draw", "run.adtc", "--rank", "1", "-n", "2"], "leave one out"),
    "rank and seed": (["draw", "run.adtc", "--rank", "1", "--seed", "2"], "leave out --seed"),
    "two goals": (
        ["draw", "run.adtc", "--maximize", "acc", "--minimize", "dp"],
        "--maximize and --minimize are two ways",
    ),
    "no trees": (["draw", "run.adtc", "-n", "0"], "'0' is not a whole number of at least 1"),
    "metrics of a saved profile": (
        ["draw", "run.adtc", "--metrics", "acc"],
        "has its own metrics: leave out --metrics",
    ),
    "no circuit": (["draw", "bare.adtc"], "drawing .*circuit"),
    "newer version": (
        ["crosstab", "newer.adtc", "acc", "dp"],
        "'newer.adtc' was made by adtc 9.0 in format 99",
    ),
    "damaged": (["draw", "damaged.adtc"], "'damaged.adtc' is damaged"),
    "foreign file": (["draw", "foreign.adtc"], "'foreign.adtc' is not a saved profile"),
    "foreign archive": (["draw", "foreign.zip"], "'foreign.zip' is not a saved profile"),
    "no such profile": (["draw", "nowhere.adtc"], "there is no file 'nowhere.adtc'"),
    "neither profile nor table": (
        ["draw", "nowhere"],
        "unknown table 'nowhere'.* There is no file of this name either",
    ),
    "neither, but bytes": (["draw", "bytes.bin"], "'bytes.bin' is not UTF-8 text"),
    "a folder": (["draw", "."], "'.' has no Parquet or CSV file in it"),
    "trees of a saved profile": (
        [*CROSS, "--maxdep", "3"],
        "'run.adtc' is a saved profile, whose trees are chosen already: leave out --maxdep",
    ),
    "table of a saved profile": ([*CROSS, "--target", "class"], "leave out --target"),
    "definition for a saved profile": ([*CROSS, "--define", "a=acc"], "leave out --define"),
    "no criterion": (["pareto", "run.adtc"], "a front needs a criterion"),
    "one criterion drawn": (
        ["pareto", "run.adtc", "--maximize", "acc", "--plot", "a.png"],
        "needs two criteria",
    ),
    "criterion twice": (
        ["pareto", "run.adtc", "--maximize", "acc", "--minimize", "acc"],
        "'acc' is named twice",
    ),
    "picture of no kind": ([*CROSS, "--plot", "a.gif"], r"ends in \.png, \.svg or \.pdf"),
    "picture nowhere": ([*CROSS, "--plot", "no/a.png"], "does not exist; .* --plot"),
    "page nowhere": ([*CROSS, "--html", "no/a.html"], "does not exist; .* --html"),
    "text over the profile": ([*CROSS, "-o", "run.adtc"], "it is the profile itself"),
    "svg into a file": (["draw", "run.adtc", "--svg", "run.adtc"], "it is no folder"),
    "svg nowhere": (["draw", "run.adtc", "--svg", "a/b"], "the folder above it does not exist"),
    "profile nowhere": (["profile", *SPACE, "-o", "no/a.adtc"], "does not exist"),
    "report nowhere": (["report", "run.adtc", "-o", "no/r.html"], "does not exist"),
    "report into a folder": (["report", "run.adtc", "-o", "."], "it is a folder"),
    "report over the profile": (["report", "run.adtc", "-o", "run.adtc"], "the profile itself"),
    "report without a place": (["report", "run.adtc"], "Missing option '-o'"),
    "report of a table": (
        ["report", "german-credit", "-o", "r.html"],
        "make one with `adtc profile german-credit -o run.adtc`",
    ),
    "report on a rank that is none": (
        ["report", "run.adtc", "-o", "r.html", "--rank", "999999999"],
        "rank 999,999,999 is out of range",
    ),
    "report with a negative limit": (
        ["report", "run.adtc", "-o", "r.html", "--small", "-1"],
        "'-1' is not a whole number of at least 0",
    ),
    "report on an unknown metric": (
        ["report", "run.adtc", "-o", "r.html", "--where", "eror <= 3"],
        "unknown metric 'eror'",
    ),
    "report of one metric": (
        ["report", "run.adtc", "-o", "r.html", "--crosstab", "acc"],
        "'acc' does not name two metrics",
    ),
    "unknown shell": (["completion", "tcsh"], "'tcsh' is not one of"),
}


@pytest.fixture
def oddities(folder: Path, whole: adtc.Profile) -> Path:
    """Add files that cannot be used."""
    whole.save("bare.adtc")
    with (
        zipfile.ZipFile("run.adtc") as saved,
        zipfile.ZipFile("newer.adtc", "w") as newer,
    ):
        for item in saved.infolist():
            content = saved.read(item)
            if item.filename == "manifest.json":
                manifest = json.loads(content) | {"version": 99, "adtc": "9.0"}
                content = json.dumps(manifest).encode()
            newer.writestr(zipfile.ZipInfo(item.filename), content)
    (folder / "damaged.adtc").write_bytes((folder / "run.adtc").read_bytes()[:-2000])
    (folder / "foreign.adtc").write_bytes(b"something else")
    (folder / "bytes.bin").write_bytes(b"\xff\xfe\x00\x81" * 50)
    with zipfile.ZipFile("foreign.zip", "w") as foreign:
        foreign.writestr("a", "b")
    return folder


@pytest.mark.parametrize(("args", "message"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_gives_one_sentence_and_writes_nothing(
    oddities: Path, args: list[str], message: str
) -> None:
    before = {name: (oddities / name).read_bytes() for name in files(oddities)}
    result = run(*args)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("adtc: ")
    assert result.stderr.count("\n") == 1
    assert re.search(message, result.stderr), result.stderr
    assert {name: (oddities / name).read_bytes() for name in files(oddities)} == before


@pytest.mark.usefixtures("folder")
def test_files_are_checked_before_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adtc, "profile", lambda *args, **options: pytest.fail("worked in vain"))
    monkeypatch.setattr(adtc, "load_profile", lambda *args: pytest.fail("worked in vain"))
    for args in (
        ["profile", *SPACE, "-o", "no/a.adtc"],
        ["crosstab", *SPACE, "acc", "dp", "--plot", "a.gif"],
        ["crosstab", "run.adtc", "acc", "dp", "--html", "."],
        ["draw", *SPACE, "--svg", "run.adtc"],
        ["report", "run.adtc", "-o", "."],
    ):
        assert run(*args).exit_code == 2


@pytest.mark.parametrize("place", ["replace", "fsync"])
def test_an_interrupted_save_leaves_the_old_file(
    folder: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    def interrupted(*args: object) -> None:
        raise KeyboardInterrupt

    before = (folder / "run.adtc").read_bytes()
    monkeypatch.setattr(Path if place == "replace" else os, place, interrupted)
    result = run("profile", *SPACE, "-o", "run.adtc")
    assert (result.exit_code, result.stdout) == (130, "")
    assert result.stderr.strip() == "adtc: stopped; nothing was written."
    assert (folder / "run.adtc").read_bytes() == before
    assert files(folder) == ["run.adtc"]


@pytest.mark.skipif(os.name == "nt", reason="Ctrl-C is sent as a POSIX signal")
def test_interrupted_while_a_profile_is_made(folder: Path) -> None:
    code = """if True:
        import os, signal, sys
        signal.signal(signal.SIGINT, signal.default_int_handler)  # also in the background
        from adtc.cli import main
        from adtc.engine.monitor import Monitor
        interrupts = iter([signal.SIGINT])
        def after_the_first_job(*args):
            for interrupt in interrupts:
                os.kill(os.getpid(), interrupt)
        Monitor.report = after_the_first_job
        main(sys.argv[1:])
    """
    args = ["profile", "german-credit", "--maxdep", "3", "--relminsup", "0.1", "-o", "out.adtc"]
    done = subprocess.run(
        [sys.executable, "-c", code, *args],
        cwd=folder, capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (128 + signal.SIGINT, "")
    assert done.stderr.strip() == "adtc: stopped; nothing was written."
    assert files(folder) == ["run.adtc"]


# --- completion -------------------------------------------------------------------------------


def completed(line: str, cwd: Path | None = None) -> list[str]:
    """Ask as bash does; the last word is the one being typed."""
    words = line.split(" ")
    result = CliRunner().invoke(
        main,
        [],
        prog_name="adtc",
        env={
            "_ADTC_COMPLETE": "bash_complete",
            "COMP_WORDS": line,
            "COMP_CWORD": str(len(words) - 1),
        },
    )
    assert result.exit_code == 0
    return result.stdout.splitlines()


def test_words_are_completed(folder: Path) -> None:
    (folder / "table.csv").write_text("a,y\n")
    bundled = [f"plain,{table.name}" for table in adtc.datasets()]
    assert completed("adtc cro") == ["plain,crosstab"]
    assert completed("adtc count ") == [*bundled, "plain,table.csv"]
    assert completed("adtc count g") == ["plain,german-credit"]
    assert completed("adtc count some/pl") == ["file,some/pl"]
    assert completed("adtc draw ") == ["plain,run.adtc", *bundled, "plain,table.csv"]
    assert completed("adtc report ") == ["plain,run.adtc"]
    assert completed("adtc completion z") == ["plain,zsh"]


@pytest.mark.usefixtures("folder")
def test_metrics_are_completed_those_of_a_profile_first() -> None:
    own = [f"plain,{name}" for name in METRICS]
    assert completed("adtc crosstab run.adtc ") == own
    assert completed("adtc crosstab run.adtc acc d") == ["plain,dp"]
    assert completed("adtc pareto run.adtc --maximize ") == own
    assert completed("adtc report run.adtc --crosstab acc,f") == ["plain,acc,f1"]
    gaps = ["eodd_max", "eodd_mean", "eodd_sum", "eopp", "eopp_signed"]
    assert completed("adtc crosstab adult acc eo") == [f"plain,{name}" for name in gaps]
    listed = completed("adtc profile adult --metrics size,eo")
    assert listed == [f"plain,size,{name}" for name in gaps]
    assert completed("adtc crosstab nowhere.adtc eopp_") == ["plain,eopp_signed"]


def test_completing_needs_no_numpy(folder: Path) -> None:
    code = """if True:
        import sys
        from adtc.cli import main
        try:
            main([], prog_name="adtc")
        finally:
            print("numpy" in sys.modules, "zipfile" in sys.modules)
    """
    words = {"COMP_WORDS": "adtc crosstab run.adtc acc d", "COMP_CWORD": "4"}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=True,
        env={**os.environ, **words, "_ADTC_COMPLETE": "bash_complete"},
    )  # fmt: skip
    assert done.stdout == "plain,dp\nFalse True\n"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_every_shell_has_its_script(shell: str) -> None:
    script = run("completion", shell).stdout
    assert f"_ADTC_COMPLETE={shell}_complete" in script
    assert "adtc" in script


def test_bash_understands_its_script() -> None:
    script = f"{run('completion', 'bash').stdout}\ncomplete -p adtc\n"
    try:
        done = subprocess.run(
            ["bash", "-c", script], capture_output=True, text=True, check=False, timeout=60
        )
    except FileNotFoundError:
        pytest.skip("there is no bash here")
    assert "_adtc_completion adtc" in done.stdout


# --- the demo ---------------------------------------------------------------------------------


def test_the_demo_makes_everything_and_its_findings_are_true(folder: Path) -> None:
    (folder / "made").mkdir()
    (folder / "made" / "mine.txt").write_text("mine")
    first = run("demo", "-o", "made")
    assert first.exit_code == 0, first.stderr
    for question, command in QUESTIONS:
        assert f"{question}\n$ adtc {command}\n" in first.stdout
    _, command = QUESTIONS[0]
    alone = run(*shlex.split(command)).stdout.splitlines()[0]
    assert f"$ adtc {command}\n{alone}\n" in first.stdout
    for question, command in STEPS:
        asked = command.format(**{name: f"made/{file}" for name, file in FILES.items()})
        assert f"{question}\n$ adtc {asked}\n" in first.stdout
    for name in FILES.values():
        assert (folder / "made" / name).exists()
        assert f"  made/{name}\n" in first.stdout
    assert len(list((folder / "made" / "trees").glob("*.svg"))) == 2
    profile = adtc.load_profile("made/adult.adtc")
    assert profile.names == findings.METRICS
    always = profile.where("size = 1").moments("acc").largest
    better = profile.where(f"acc > {always}")
    narrow = better.where("dp <= 0.05")
    assert f"There are {profile.count:,} such trees, and {better.count:,} of them" in first.stdout
    assert f"Of the {better.count:,} trees that beat that rule, {narrow.count:,} " in first.stdout
    front = profile.pareto(maximize="acc", minimize="dp")
    top = front.points[0]
    near = [gap for acc, gap in front.points if acc >= top[0] - Fraction(2, 100)]
    assert f"({100 * float(top[0]):.1f} %) say 'more' of one sex" in first.stdout
    assert f"at least {100 * float(top[1]):.1f} points more often" in first.stdout
    assert f"down to {100 * float(min(near)):.1f} points, and no further" in first.stdout
    assert (folder / "made" / "mine.txt").read_text() == "mine"


def test_a_finding_that_is_not_true_is_noticed(whole: adtc.Profile) -> None:
    with pytest.raises(RuntimeError, match="a count finds"):
        findings._check(whole, "size = 1", 3)


def test_the_demo_replaces_its_own_files_only(folder: Path) -> None:
    prepare(folder / "made")
    (folder / "made" / "report.html").write_text("the demo's")
    prepare(folder / "made")  # again
    (folder / "made" / MARK).unlink()
    with pytest.raises(QueryError, match=r"it holds a 'report\.html' that the demo did not make"):
        prepare(folder / "made")
    for place, reason in (("run.adtc", "it is no folder"), ("no/where", "No such file")):
        refused = run("demo", "-o", place)
        assert (refused.exit_code, refused.stdout) == (2, "")
        assert reason in refused.stderr


# --- help -------------------------------------------------------------------------------------


@pytest.mark.usefixtures("folder")
def test_the_report_example_in_the_help_runs() -> None:
    example = run("report", "--help").stdout.split("Example:\n")[1].strip()
    assert run(*shlex.split(example)[1:]).exit_code == 0


def test_help_says_what_a_file_holds() -> None:
    shown = " ".join(run("profile", "--help").stdout.split())
    assert "the file then holds the binarised rows" in shown
    assert "SOURCE is a profile saved by" in " ".join(run("crosstab", "--help").stdout.split())


# --- estimates --------------------------------------------------------------------------------


def test_estimates_on_the_command_line() -> None:
    asked = ["german-credit", "--nbins", "2", "--relminsup", "0.2"]
    drawn = ["--estimated", "--draws", "300", "--seed", "1", "--confidence", "0.9"]
    where = ["--where", "f1 + acc >= 1.3"]
    exact = json.loads(run("count", *asked, *where, "--json").stdout)["count"]
    given = json.loads(run("count", *asked, *where, *drawn, "--json").stdout)
    assert (given["count"], given["status"]) == (None, "estimated")
    assert given["lower"] <= exact <= given["upper"]
    interval = given["estimate"]
    assert (interval["draws"], interval["seed"], interval["confidence"]) == (300, 1, 0.9)
    assert interval["low"] <= exact <= interval["high"]
    table = json.loads(
        run("crosstab", *asked[:1], "acc", "dp", *asked[1:], *drawn, "--json").stdout
    )
    assert (table["status"], table["record"]["seed"]) == ("estimated", 1)
    assert len(table["estimate"]) == len(table["counts"]) == len(table["lower"])
    profile = json.loads(run("profile", *asked, *drawn, "--json").stdout)
    assert (profile["status"], profile["path"]) == ("estimated", None)
    assert {name: len(shares) for name, shares in profile["metrics"].items()}["acc"] == 3
    told = run("count", *asked, *where, *drawn).stdout
    assert re.match(r"about [\d,]+ trees \(estimated: 90% sure between [\d,]+ and ", told)


@pytest.mark.parametrize(
    ("args", "sentence"),
    [
        (["count", "--draws", "5"], "--draws is for estimates: give --estimated, too."),
        (["count", "--estimated", "--confidence", "2"], "'2' is not a number between 0 and 1"),
    ],
)
def test_estimates_that_cannot_be(args: list[str], sentence: str) -> None:
    done = run(args[0], "german-credit", *args[1:])
    assert (done.exit_code, done.stdout) == (2, "")
    assert sentence in done.stderr


def alone(*args: str) -> subprocess.CompletedProcess[str]:
    """Run the program in a process of its own: what another one holds counts against its limit."""
    command = [sys.executable, "-m", "adtc", *args]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_a_profile_cut_short_comes_with_an_estimate_of_what_was_asked() -> None:
    asked = ["german-credit", "--maxdep", "3", "--relminsup", "0.1", "--threads", "1", "--quiet"]
    refused = alone("profile", *asked, "--memory-limit", "1MB")
    least = re.search(r"program alone holds \d+ MB: give at least (\d+) MB\.", refused.stderr)
    assert (refused.returncode, refused.stdout) == (2, "")
    asked += ["--memory-limit", f"{int(least[1]) + 40}MB"]  # too little for any of the tensors
    trees = adtc.count(adtc.load_dataset("german-credit"), adtc.Space(3, relminsup=0.1))
    metrics = ["--metrics", "size,acc,f1,dp,eopp"]
    told = json.loads(alone("profile", *asked, *metrics, "--json").stdout)
    assert (told["status"], told["finished"]) == ("estimated", "depth at most 2")
    assert told["count"] == trees
    assert set(told["estimated"]["metrics"]) == {"size", "acc", "f1", "dp", "eopp"}
    lines = alone("profile", *asked, *metrics).stdout
    assert "exact, but only for depth at most 2:" in lines
    table = json.loads(alone("crosstab", "german-credit", "acc", "dp", *asked[1:], "--json").stdout)
    assert table["status"] == "estimated"
    assert len(table["estimated"]["lower"]) == len(table["estimated"]["x"]["bins"])


BOUNDED = ["--maxdep", "2", "--relminsup", "0.15", "--bounded", "--step", "3", "--quiet"]


def test_bounded_answers_hold_the_exact_ones(tmp_path) -> None:
    data, space = adtc.load_dataset("german-credit"), adtc.Space(max_depth=2, relminsup=0.15)
    where = "f1 + acc >= 1.4"
    exact = adtc.profile(data, space, ["acc", "dp"], where=where)
    told = json.loads(run("count", "german-credit", *BOUNDED, "--where", where, "--json").stdout)
    assert (told["status"], told["count"]) == ("bounded", None)
    assert told["lower"] < exact.count < told["upper"]
    asked = ["german-credit", *BOUNDED, "--where", where, "--metrics", "acc,dp", "--json"]
    metrics = json.loads(run("profile", *asked).stdout)["metrics"]
    for name, ends in metrics.items():
        found = exact.moments(name)
        assert ends["at_least"] <= found.least <= found.largest <= ends["at_most"]
    picture = tmp_path / "ranges.svg"
    bins = ["--x-bins", "0,0.7,1", "--y-bins", "0,0.05,1"]
    table = ["crosstab", "german-credit", "acc", "dp", *BOUNDED, "--where", where, *bins]
    cells = json.loads(run(*table, "--plot", str(picture), "--json").stdout)
    whole = exact.crosstab("acc", "dp", bins=([0, 0.7, 1], [0, 0.05, 1]))
    for low, n, high in zip(cells["lower"], whole.counts, cells["upper"], strict=True):
        assert all(a <= b <= c for a, b, c in zip(low, n, high, strict=True))
    assert any(a < c for low, high in zip(cells["lower"], cells["upper"], strict=True)
               for a, c in zip(low, high, strict=True))  # fmt: skip
    assert picture.read_text().startswith("<?xml")


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        (["--step", "3"], "--step is for bounded answers"),
        (["--bounded", "--estimated"], "two kinds of answers"),
    ],
)
def test_bounded_options_that_do_not_fit(more: list[str], sentence: str) -> None:
    result = run("profile", *SPACE, *more)
    assert result.exit_code == 2
    assert sentence in result.stderr

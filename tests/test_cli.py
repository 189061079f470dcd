"""The command line as a user meets it: answers, files, and one sentence for every mistake."""

import inspect
import json
import os
import re
import shlex
import subprocess
import sys
import threading
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any, get_args

import pytest
from click.testing import CliRunner, Result

import adtc
from adtc.cli import main
from adtc.cli.commands import count as count_command
from adtc.cli.options import SHARED, Option
from adtc.cli.running import Lines
from adtc.cli.text import trees as trees_text
from adtc.data.binning import Binning
from adtc.engine import fast
from adtc.engine.executors.workers import connected
from adtc.engine.query import Question
from adtc.engine.results import Count
from adtc.errors import LimitError

# y is 1 exactly where a is; s splits the rows in two groups of four
SMALL = """\
a,b,s,y,w
1,0,m,1,1
1,1,f,1,1
1,0,m,1,2
0,1,f,0,1
0,0,m,0,3
0,1,f,0,1
1,1,m,1,1
0,0,f,0,1
"""
SPACE = ["--target", "y", "--maxdep", "1"]


def run(*args: str) -> Result:
    return CliRunner().invoke(main, list(args))


def answer(*args: str) -> dict:
    result = run(*args, "--json")
    assert result.exit_code == 0, result.stderr
    assert result.stderr == ""
    return json.loads(result.stdout)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in an empty folder that holds the small table."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "small.csv").write_text(SMALL)
    return tmp_path


# --- answers ----------------------------------------------------------------------------------


@pytest.mark.usefixtures("folder")
def test_count_as_json_is_what_the_api_says() -> None:
    given = answer("count", "small.csv", *SPACE, "--drop", "w", "--where", "error <= 2")
    data = adtc.read("small.csv", target="y", drop=["w"])
    expected = adtc.count(data, adtc.Space(max_depth=1), where="error <= 2")
    assert given["count"] == int(expected) > 0
    assert given["log10"] == expected.log10
    assert given["status"] == "exact"
    assert given["record"]["data"]["fingerprint"] == data.fingerprint
    assert given["record"]["question"] == {"ask": "count", "where": "error <= 2"}
    assert set(given) == {"count", "log10", "status", "record"}


@pytest.mark.usefixtures("folder")
def test_count_for_people_names_number_status_and_conventions() -> None:
    result = run("count", "small.csv", *SPACE, "--minsup", "3", "--no-trivial-splits")
    assert result.exit_code == 0
    first, *rest = result.stdout.splitlines()
    assert re.fullmatch(r"\d+ trees \(exact\)", first)
    assert "depth at most 1" in result.stdout
    assert "at least 3 rows per leaf" in result.stdout
    assert "trivial splits are left out" in result.stdout
    assert re.fullmatch(r"time: [\d.]+ s, fast engine, [\d,]+ cells scanned", rest[-1])
    assert "\x1b" not in result.stdout


@pytest.mark.usefixtures("folder")
def test_no_tree_counts_zero_and_has_no_logarithm() -> None:
    given = answer("count", "small.csv", *SPACE, "--where", "error < 0")
    assert (given["count"], given["log10"]) == (0, None)
    assert [(near["atom"], near["alone"]) for near in given["nearest"]] == [("error < 0", [0])]


@pytest.mark.usefixtures("folder")
def test_exists_shows_a_tree_or_none() -> None:
    yes = answer("exists", "small.csv", *SPACE, "--where", "error = 0")
    assert yes["exists"] is True
    assert yes["tree"] == {"feature": "a", "yes": {"label": 1}, "no": {"label": 0}}
    no = answer("exists", "small.csv", *SPACE, "--where", "error = 0 and size = 1")
    assert (no["exists"], no["tree"], no["status"]) == (False, None, "exact")
    assert set(yes) == {"exists", "tree", "status", "record"}
    assert set(no) == {"exists", "tree", "status", "nearest", "record"}


@pytest.mark.usefixtures("folder")
def test_exists_for_people() -> None:
    yes = run("exists", "small.csv", *SPACE, "--where", "error = 0").stdout
    assert yes.splitlines()[:3] == [
        "yes, such a tree exists (exact)",
        "  if a then 1   (4 rows, 100 %)",
        "  if not a then 0   (4 rows, 100 %)",
    ]
    assert "error = 0" in yes
    no = run("exists", "small.csv", *SPACE, "--where", "error < 0").stdout
    assert no.startswith("no such tree exists (exact)\n")


@pytest.mark.usefixtures("folder")
def test_optimize_reports_value_tree_and_metrics_scored_anew() -> None:
    given = answer(
        "optimize", "small.csv", *SPACE, "--sensitive", "s", "--maximize", "acc",
        "--where", "size = 1",
    )  # fmt: skip
    assert (given["value"], given["value_exact"], given["error"]) == (0.5, "1/2", 4)
    gaps = {"dp": 0, "eopp": 0, "eodd_max": 0}
    assert given["metrics"] == {"acc": 0.5, "size": 1, "error": 4, **gaps}
    assert given["tree"] in ({"label": 0}, {"label": 1})
    assert given["rules"] == [f"always {given['tree']['label']}   (8 rows, 50 %)"]
    assert (given["status"], given["proved"]) == ("exact", True)


@pytest.mark.usefixtures("folder")
def test_optimize_minimizes_error_unless_told_otherwise() -> None:
    given = answer("optimize", "small.csv", *SPACE)
    assert (given["value"], given["value_exact"], given["error"]) == (0, "0/1", 0)
    assert given["rules"] == [
        "if a then 1   (4 rows, 100 %)",
        "if not a then 0   (4 rows, 100 %)",
    ]
    assert given["metrics"]["acc"] == 1


@pytest.mark.usefixtures("folder")
def test_optimize_without_any_good_tree() -> None:
    given = answer("optimize", "small.csv", *SPACE, "--where", "error < 0")
    nothing = {"value": None, "value_exact": None, "error": None, "tree": None, "rules": []}
    assert {key: given[key] for key in nothing} == nothing
    assert given["proved"] is True
    shown = run("optimize", "small.csv", *SPACE, "--where", "error < 0").stdout
    assert shown.startswith("no tree satisfies the constraint")


@pytest.mark.usefixtures("folder")
def test_weights_sensitive_references_and_own_metrics_reach_the_engine() -> None:
    given = answer(
        "optimize", "small.csv", *SPACE, "--weights", "w", "--sensitive", "s", "--reference", "b",
        "--define", "loss=error + 2 * size", "--minimize", "loss",
        "--where", "dp <= 1 and agreement[b] >= 0",
    )  # fmt: skip
    data = adtc.read("small.csv", target="y", weights="w", sensitive="s", references=["b"])
    assert given["record"]["data"]["fingerprint"] == data.fingerprint
    assert given["record"]["data"]["rows"] == 11
    assert given["value"] == 4
    asked = {"loss", "size", "error", "acc", "dp", "agreement[b]"}
    assert set(given["metrics"]) == {*asked, "eopp", "eodd_max"}


@pytest.mark.usefixtures("folder")
def test_columns_are_typed_cut_and_dropped() -> None:
    options = ["--type", "w=category", "--type", "b=ignore", "--drop", "s", "--nbins", "3"]
    given = answer("count", "small.csv", *SPACE, *options, "--onehot", "all", "--binning", "width")
    data = adtc.read(
        "small.csv", target="y", types={"w": "category", "b": "ignore"}, drop=["s"], nbins=3,
        onehot="all", binning="width",
    )  # fmt: skip
    assert given["record"]["data"]["fingerprint"] == data.fingerprint
    given = answer("count", "small.csv", *SPACE, "--cuts", "w=1.5, 2.5", "--numeric", "bins")
    data = adtc.read("small.csv", target="y", cuts={"w": [1.5, 2.5]}, numeric="bins")
    assert given["record"]["data"]["fingerprint"] == data.fingerprint


def test_tables_without_header_in_tabs_with_own_missing_values(folder: Path) -> None:
    rows = [line.replace(",", "\t") for line in SMALL.splitlines()[1:]]
    (folder / "bare.tsv").write_text("\n".join(["-\t0\tm\t1\t1", *rows]))
    given = answer(
        "count", "bare.tsv", "--no-header", "--sep", "tab", "--na", "-", "--target", "3",
        "--maxdep", "1",
    )  # fmt: skip
    data = adtc.read("bare.tsv", header=False, sep="\t", na=["-"], target="3")
    assert given["record"]["data"]["fingerprint"] == data.fingerprint
    assert data.n_rows == 9


@pytest.mark.usefixtures("folder")
def test_siz_labels_and_relminsup_reach_the_space() -> None:
    options = ["--siz", "1", "--labels", "majority", "--relminsup", "0.5"]
    given = answer("count", "small.csv", "--target", "y", *options)
    assert given["count"] == 1
    conventions = given["record"]["conventions"]
    assert (conventions["max_depth"], conventions["max_size"]) == (3, 1)
    assert (conventions["relminsup"], conventions["min_rows_per_leaf"]) == ("0.5", 4)


def test_monk_1_at_depth_2(shared_data: Path) -> None:
    table = shared_data / "binarized-sparse-trees" / "monk_1.csv"
    assert answer("count", str(table), "--target", "class_1", "--maxdep", "2")["count"] == 17390


def test_datasets() -> None:
    given = answer("datasets")
    assert {t["name"] for t in given["datasets"]} >= {"adult", "german-credit", "mushroom"}
    assert all(t["licence"] and t["citation"] and t["rows"] for t in given["datasets"])
    assert "german-credit" in run("datasets").stdout


@pytest.mark.usefixtures("folder")
def test_a_count_is_an_integer_however_large(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = adtc.count

    def huge(*args: object, **options: object) -> Count:
        found = Count(10**5000)
        found.record = honest(*args, **options).record
        return found

    monkeypatch.setattr(adtc, "count", huge)
    given = answer("count", "small.csv", *SPACE)
    assert given["count"] == 10**5000
    assert given["log10"] == pytest.approx(5000)


def test_a_count_is_short_for_people() -> None:
    assert trees_text(1234567) == "1,234,567 trees"
    assert "all 5,001 digits" in trees_text(10**5000)


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(("engine", "told"), [("spec", "specification"), ("fast", "fast")])
def test_the_engine_is_a_choice_and_the_answer_is_the_same(engine: str, told: str) -> None:
    chosen = answer("count", "small.csv", *SPACE, "--engine", engine)
    assert chosen["record"]["engine"] == engine
    assert chosen["count"] == answer("count", "small.csv", *SPACE)["count"] > 0
    shown = run("exists", "small.csv", *SPACE, "--engine", engine).stdout
    assert f" s, {told} engine, " in shown.splitlines()[-1]


@pytest.mark.usefixtures("folder")
def test_reading_obeys_the_time_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    released = threading.Event()

    def endless(*args: object, **options: object) -> None:
        released.wait(60)

    monkeypatch.setattr("adtc.cli.asking.Asked.sheet", endless)
    result = run("count", "small.csv", *SPACE, "--time-limit", "0.2")
    released.set()
    assert (result.exit_code, result.stdout) == (2, "")
    assert "'small.csv' could not be read within the time limit of 0.2 s: raise" in result.stderr


@pytest.mark.usefixtures("folder")
def test_limits_and_threads_reach_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    honest = adtc.optimize

    def watch(*args: object, **options: object) -> object:
        seen.append(options["monitor"])
        return honest(*args, **options)

    monkeypatch.setattr(adtc, "optimize", watch)
    monkeypatch.setattr("adtc._core.resident_bytes", lambda: 10**8)
    answer(
        "optimize", "small.csv", *SPACE, "--threads", "2", "--time-limit", "1e3",
        "--memory-limit", "1.5 gb",
    )  # fmt: skip
    (monitor,) = seen
    assert (monitor.threads, monitor.time_limit, monitor.answers) == (2, 1000, True)
    # what the program holds already is not there for the run
    assert (monitor.memory_limit, monitor.resident_limit) == (1400000000, 1500000000)
    assert isinstance(monitor.progress, Lines)  # no terminal


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("500MB", 500 * 10**6),
        ("4GB", 4 * 10**9),
        ("2GiB", 2**31),
        ("70000000", 7 * 10**7),
        ("90000k", 9 * 10**7),
    ],
)
@pytest.mark.usefixtures("folder")
def test_sizes_are_read(monkeypatch: pytest.MonkeyPatch, text: str, size: int) -> None:
    def told(*args: object, monitor: adtc.Monitor, **options: object) -> None:
        raise adtc.ADTCError(f"{monitor.memory_limit}")

    monkeypatch.setattr("adtc._core.resident_bytes", lambda: 0)
    monkeypatch.setattr(adtc, "count", told)
    result = run("count", "small.csv", *SPACE, "--memory-limit", text)
    assert result.stderr == f"adtc: {size}\n"


def test_explain_as_json_is_what_the_api_says() -> None:
    options = ["--relminsup", "0.1", "--where", "acc >= 0.75 and dp <= 0.1"]
    given = answer("explain", "german-credit", *options, "--metrics", "size, N[1,1]")
    data = adtc.load_dataset("german-credit")
    expected = adtc.explain(
        data, adtc.Space(relminsup="0.1"), "acc >= 0.75 and dp <= 0.1", ["size", "N[1,1]"]
    )
    wanted = json.loads(json.dumps(expected.to_json()))
    assert given | {"seconds": 0} == wanted | {"seconds": 0}  # measured, so never the same
    assert {"N[1,1]", "size"} <= {axis["name"] for axis in given["axes"]}
    shown = run("explain", "german-credit", *options, "--metrics", "size,N[1,1]").stdout
    told = [line for line in shown.splitlines() if not line.startswith("time ")]
    assert told == [line for line in str(expected).splitlines() if not line.startswith("time ")]


def test_explain_runs_only_when_told(monkeypatch: pytest.MonkeyPatch) -> None:
    from adtc.engine import fast

    args = ["german-credit", "--relminsup", "0.2", "--where", "acc >= 0.72"]
    given = answer("explain", *args, "--run")
    found = {cost["what"]: cost["actual"] for cost in given["compared"]}
    record = answer("count", *args)["record"]
    assert (found["num_cells"], found["cell_scan"]) == (record["num_cells"], record["cell_scan"])
    assert 0 < found["live subproblems, level 1"] <= given["subproblems"][1]
    monkeypatch.setattr(fast, "run", lambda *args, **options: pytest.fail("it ran"))
    assert run("explain", *args).exit_code == 0


def test_a_run_that_a_limit_stops_is_explained(monkeypatch: pytest.MonkeyPatch) -> None:
    def too_long(*args: object, **options: object) -> None:
        raise LimitError("the run did not finish within the time limit of 9 s: ask for less.")

    args = ["explain", "german-credit", "--maxdep", "4", "--metrics", "size", "--run"]
    monkeypatch.setattr("adtc.engine.forecast.explain.measure", too_long)
    given = answer(*args)
    assert given["engine"] == "fast"
    assert given["compared"] is None
    # the least costs alone are known, and the sentence says so
    assert given["stopped"].startswith("the run did not finish within the time limit of 9 s: ask")
    assert "tensors on top" in given["stopped"]
    assert run(*args).stdout.splitlines()[-1] == f"stopped: {given['stopped']}"
    refused = run(*args, "--exact")
    assert (refused.exit_code, refused.stderr) == (2, f"adtc: {given['stopped']}\n")


EXAMPLES = ["count", "exists", "optimize", "explain", "datasets", "profile", "crosstab", "pareto"]


@pytest.mark.parametrize("command", [*EXAMPLES, "draw"])
def test_the_example_in_the_help_runs(command: str) -> None:
    shown = run(command, "--help").stdout
    example = shown.split("Example:\n")[1].strip()
    name, *args = shlex.split(example)
    assert name == "adtc"
    assert run(*args).exit_code == 0


def parameters(call: Callable[..., object]) -> dict[str, object]:
    """Give the keywords of a call with their defaults, those behind ``**options`` included."""
    found = {}
    for name, parameter in inspect.signature(call).parameters.items():
        if parameter.kind is parameter.VAR_KEYWORD:
            (options,) = get_args(parameter.annotation)  # Unpack[a TypedDict]
            found |= dict.fromkeys(options.__annotations__)
        else:
            found[name] = parameter.default
    return found


@pytest.mark.parametrize("option", SHARED, ids=lambda option: str(option.name))
def test_every_shared_option_is_one_of_the_api(option: Option) -> None:
    calls = {
        "Table": (adtc.read,),
        "Trees": (adtc.Space,),
        "Question": (adtc.count,),
        "Run": (adtc.count, adtc.Monitor, adtc.Checkpoint, connected),
    }
    name = {"dask": "address"}.get(str(option.name), option.name)
    assert any(name in parameters(call) for call in calls[option.section])


def test_defaults_told_in_the_help_are_those_of_the_api() -> None:
    known = {
        **parameters(adtc.Space), **parameters(Binning), **parameters(adtc.Monitor),
        "engine": "auto",
    }  # fmt: skip
    told = {
        str(option.name): match[1]
        for option in SHARED
        if (match := re.search(r"\(default (\w+)\)", option.help or ""))
    }
    assert told == {name: str(known[name]) for name in told}
    assert {"max_depth", "minsup", "labels", "nbins", "binning", "max_categories"} <= set(told)
    assert "engine" in told


# --- files ------------------------------------------------------------------------------------


@pytest.mark.parametrize("as_json", [["--json"], []])
def test_output_holds_what_is_printed(folder: Path, as_json: list[str]) -> None:
    result = run("count", "small.csv", *SPACE, *as_json, "-o", "out.txt")
    assert result.exit_code == 0
    assert (folder / "out.txt").read_text() == result.stdout != ""
    assert sorted(path.name for path in folder.iterdir()) == ["out.txt", "small.csv"]


def test_output_replaces_a_file_through_a_link(folder: Path) -> None:
    (folder / "old.json").write_text("old")
    (folder / "link.json").symlink_to("old.json")
    result = run("count", "small.csv", *SPACE, "--json", "-o", "link.json")
    assert (folder / "link.json").is_symlink()
    assert (folder / "old.json").read_text() == result.stdout


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes here")
def test_output_to_a_pipe_leaves_it_a_pipe(folder: Path) -> None:
    pipe = folder / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    result = run("count", "small.csv", *SPACE, "-o", "pipe")
    arrived = os.read(reader, 1 << 16).decode()
    os.close(reader)
    assert arrived == result.stdout != ""
    assert pipe.is_fifo()


def test_a_failed_write_leaves_the_old_file(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(self: Path, *args: object, **options: object) -> int:
        raise OSError(28, "No space left on device")

    (folder / "out.json").write_text("old")
    monkeypatch.setattr(Path, "replace", full)
    result = run("count", "small.csv", *SPACE, "--json", "-o", "out.json")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "cannot write 'out.json': no space left on device" in result.stderr
    assert (folder / "out.json").read_text() == "old"
    assert sorted(path.name for path in folder.iterdir()) == ["out.json", "small.csv"]


# --- mistakes ---------------------------------------------------------------------------------

LINES = SMALL.splitlines()
TABLES = {
    "small.csv": SMALL.encode(),
    "one-class.csv": b"a,y\n1,1\n0,1\n",
    "constant.csv": b"a,y\n1,1\n1,0\n",
    "header-only.csv": b"a,y\n",
    "ragged.csv": b"a,y\n1,1\n0,0,7\n",
    "latin.csv": b"a,y\n\xe4\xff\xfe,1\n0,0\n",
    "twice.csv": b"a,a,y\n1,0,1\n0,1,0\n",
    "negative.csv": b"a,y,w\n1,1,-1\n0,0,2\n",
    "fractional.csv": b"a,y,w\n1,1,0.5\n0,0,2\n",
    "empty.csv": b"",
}
WHERE = ["count", "small.csv", "--target", "y", "--where"]

MISTAKES = {
    "unknown column": (
        ["count", "small.csv", "--target", "yy"],
        r"unknown column 'yy'\. Did you mean 'y'\?",
    ),
    "unknown metric": ([*WHERE, "eror <= 1"], r"unknown metric 'eror'\. Did you mean 'error'\?"),
    "unknown objective": (
        ["optimize", "small.csv", "--target", "y", "--minimize", "siz"],
        r"unknown metric 'siz'\. Did you mean 'size'\?",
    ),
    "formula syntax": ([*WHERE, "size <= and error <= 5"], r"\n  size <= and.*\n          \^\^\^$"),
    "sensitive metric without column": ([*WHERE, "dp <= 0.1"], "no sensitive column was given"),
    "one class": (["count", "one-class.csv", "--target", "y"], "one class"),
    "constant table": (["count", "constant.csv", "--target", "y"], "constant|no feature"),
    "table without rows": (["count", "header-only.csv", "--target", "y"], "no rows|empty"),
    "ragged line": (["count", "ragged.csv", "--target", "y"], "line 3|3 fields|fields"),
    "undecodable text": (["count", "latin.csv", "--target", "y"], "UTF-8|utf-8"),
    "duplicate names": (["count", "twice.csv", "--target", "y"], "'a'"),
    "minsup above N": (
        ["count", "small.csv", "--target", "y", "--minsup", "9"],
        "minsup is 9, but the table has only 8 rows",
    ),
    "relminsup above 1": (
        ["count", "small.csv", "--target", "y", "--relminsup", "1.5"],
        "relminsup is 1.5, expected a share",
    ),
    "negative depth": (
        ["count", "small.csv", "--target", "y", "--maxdep", "-1"],
        "'--max-depth': '-1' is not a whole number of at least 0",
    ),
    "depth no integer": (
        ["count", "small.csv", "--target", "y", "--maxdep", "1.5"],
        "'--max-depth': '1.5' is not a whole number of at least 0",
    ),
    "negative weights": (["count", "negative.csv", "--target", "y", "--weights", "w"], "-1"),
    "fractional weights": (["count", "fractional.csv", "--target", "y", "--weights", "w"], "0.5"),
    "target is sensitive": (
        ["count", "small.csv", "--target", "y", "--sensitive", "y"],
        "'y'.*(both|target)",
    ),
    "formula too long": ([*WHERE, " and ".join(["size <= 4"] * 200)], "2,?000"),
    "formula with dunder": ([*WHERE, "__import__('os') = 0"], "__"),
    "formula with an attribute": (
        [*WHERE, "size.real <= 1"],
        "a metric of a further table 'size', but there is none",
    ),
    "missing file": (["count", "nowhere.csv", "--target", "y"], "'nowhere.csv'"),
    "unknown table": (["count", "adlut"], "unknown table 'adlut'. Did you mean 'adult'"),
    "folder with an empty file": (["count", ".", "--target", "y"], "empty.csv' is empty"),
    "empty file": (["count", "empty.csv", "--target", "y"], "empty"),
    "no target": (
        ["count", "small.csv"],
        r"--target: a, b, s, y, w; the last one, 'w', would only be a guess",
    ),
    "both directions": (
        ["optimize", "small.csv", "--target", "y", "--minimize", "size", "--maximize", "acc"],
        "either minimize or maximize",
    ),
    "definition without a name": (
        ["count", "small.csv", "--target", "y", "--define", "error + 1"],
        "'--define': 'error \\+ 1' does not have the form NAME=TERM",
    ),
    "definition of a built-in": (
        ["count", "small.csv", "--target", "y", "--define", "size=1"],
        "'size' is a built-in metric",
    ),
    "definition of a function": (
        ["count", "small.csv", "--target", "y", "--define", "least=error"],
        "'least' is a function of formulas: give the metric another name",
    ),
    "unknown kind": (["count", "small.csv", "--target", "y", "--type", "a=numbr"], "numbr"),
    "kind given twice": (
        ["count", "small.csv", "--target", "y", "--type", "a=ignore", "--type", "a=numeric"],
        "'a' is given twice",
    ),
    "cut is no number": (
        ["count", "small.csv", "--target", "y", "--cuts", "w=1,x"],
        "'--cuts': 'x' is not a number",
    ),
    "unknown option": (["count", "small.csv", "--maxdeep", "1"], "--maxdeep"),
    "unknown command": (["cuont", "small.csv"], "unknown command 'cuont'. Did you mean 'count'"),
    "separator of a bundled table": (
        ["count", "adult", "--sep", ";"],
        "'adult' is a bundled table, so 'sep' cannot be chosen",
    ),
    "no threads": (
        ["count", "small.csv", *SPACE, "--threads", "0"],
        "'--threads': '0' is not a whole number of at least 1",
    ),
    "negative time limit": (
        ["count", "small.csv", *SPACE, "--time-limit", "-1"],
        "'--time-limit': '-1' is not a number of seconds above 0",
    ),
    "endless time limit": (
        ["exists", "small.csv", *SPACE, "--time-limit", "inf"],
        "'--time-limit': 'inf' is not a number of seconds above 0",
    ),
    "time limit in words": (
        ["optimize", "small.csv", *SPACE, "--time-limit", "soon"],
        "'--time-limit': 'soon' is not a number of seconds above 0",
    ),
    "negative memory limit": (
        ["count", "small.csv", *SPACE, "--memory-limit", "-4GB"],
        "'--memory-limit': '-4GB' is not a size such as 500MB or 4GB",
    ),
    "unknown unit of memory": (
        ["count", "small.csv", *SPACE, "--memory-limit", "4 elephants"],
        "'--memory-limit': '4 elephants' is not a size such as 500MB or 4GB",
    ),
    "no memory": (
        ["count", "small.csv", *SPACE, "--memory-limit", "0.0001KB"],
        "'--memory-limit': '0.0001KB' is not a size",
    ),
    "memory limit hit": (
        ["count", "small.csv", *SPACE, "--memory-limit", "1B"],
        "--memory-limit is 0 MB, but the program alone holds",
    ),
    "unknown engine": (["count", "small.csv", *SPACE, "--engine", "best"], "'best' is not one of"),
    "metric too much for the engine": (
        [*WHERE, "support <= 1", "--engine", "fast"],
        "the fast engine does not handle the metric 'support'",
    ),
    "explained metric unknown": (
        ["explain", "small.csv", *SPACE, "--metrics", "size, eror"],
        r"unknown metric 'eror'\. Did you mean 'error'\?",
    ),
    "no table": (["count"], "Missing argument 'TABLE'"),
}


@pytest.mark.parametrize(("args", "message"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_gives_one_sentence_and_writes_nothing(
    folder: Path, args: list[str], message: str
) -> None:
    for name, content in TABLES.items():
        (folder / name).write_bytes(content)
    result = run(*args, "-o", "out.json")
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.startswith("adtc: ")
    assert "Traceback" not in result.stderr
    assert re.search(message, result.stderr.rstrip("\n")), result.stderr
    assert sorted(path.name for path in folder.iterdir()) == sorted(TABLES)


@pytest.mark.parametrize(
    ("output", "reason"),
    [
        ("nowhere/out.json", "the folder '.*nowhere' does not exist"),
        (".", "it is a folder"),
        ("small.csv", "it is the table itself"),
    ],
)
def test_unwritable_output_is_told_before_the_work(
    folder: Path, monkeypatch: pytest.MonkeyPatch, output: str, reason: str
) -> None:
    monkeypatch.setattr(adtc, "count", lambda *args, **options: pytest.fail("worked in vain"))
    result = run("count", "small.csv", *SPACE, "-o", output)
    assert (result.exit_code, result.stdout) == (2, "")
    assert re.fullmatch(f"adtc: cannot write '{re.escape(output)}': {reason}; .*\n", result.stderr)
    assert (folder / "small.csv").read_text() == SMALL


@pytest.mark.usefixtures("folder")
def test_a_defect_is_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*args: object, **options: object) -> None:
        raise ValueError("a defect, not a user's mistake")

    monkeypatch.setattr(adtc, "count", broken)
    assert isinstance(run("count", "small.csv", *SPACE).exception, ValueError)


@pytest.mark.usefixtures("folder")
def test_too_little_memory_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def greedy(*args: object, **options: object) -> None:
        raise MemoryError

    monkeypatch.setattr(adtc, "count", greedy)
    result = run("count", "small.csv", *SPACE)
    assert result.exit_code == 2
    assert result.stderr.startswith("adtc: this needs more memory")


# --- the program ------------------------------------------------------------------------------


def test_without_arguments_help_is_shown() -> None:
    result = run()
    assert result.exit_code == 0
    assert result.stdout == run("--help").stdout
    assert 'eval "$(adtc completion bash)"' in result.stdout
    assert all(name in result.stdout for name in main.commands)


def test_version() -> None:
    assert run("--version").stdout == f"adtc {adtc.__version__}\n"


def test_help_is_grouped() -> None:
    shown = run("count", "--help").stdout
    places = [
        shown.index(f"\n{section}:\n") for section in ("Question", "Trees", "Table", "Output")
    ]
    assert places == sorted(places)
    assert count_command.name == "count"


def program(*args: str, **options: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "adtc", *args]
    return subprocess.run(command, capture_output=True, text=True, check=False, **options)


def test_as_a_program(folder: Path) -> None:
    done = program("count", "small.csv", *SPACE, "--json", cwd=folder)
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["count"] > 0


def test_a_pipe_gets_no_colours_even_where_they_are_forced(folder: Path) -> None:
    forced = {**os.environ, "FORCE_COLOR": "1", "TERM": "xterm-256color"}
    done = program("count", "small.csv", *SPACE, cwd=folder, env=forced)
    assert done.stdout.splitlines()[0].endswith(" trees (exact)")
    assert "\x1b" not in done.stdout


@pytest.mark.skipif(os.name == "nt", reason="pseudo-terminals are a POSIX matter")
def test_a_terminal_gets_colours(folder: Path) -> None:
    import pty

    ours, theirs = pty.openpty()
    plain = {k: v for k, v in os.environ.items() if k != "NO_COLOR"}
    subprocess.run(
        [sys.executable, "-m", "adtc", "count", "small.csv", *SPACE],
        cwd=folder, stdout=theirs, env={**plain, "TERM": "xterm-256color"}, check=True,
    )  # fmt: skip
    os.close(theirs)
    shown = os.read(ours, 1 << 16).decode()
    os.close(ours)
    assert re.match(r"\x1b\[1m\d+ trees \(exact\)\x1b\[0m\r\n", shown)


def test_a_mistake_as_a_program(folder: Path) -> None:
    done = program("count", "small.csv", "--target", "z", cwd=folder)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("adtc: unknown column 'z'.")
    assert done.stderr.count("\n") == 1


@pytest.mark.usefixtures("folder")
def test_interrupted(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*args: object, **options: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(adtc, "count", interrupted)
    result = run("count", "small.csv", *SPACE)
    assert (result.exit_code, result.stdout) == (130, "")


@pytest.mark.skipif(os.name == "nt", reason="Ctrl-C is sent as a POSIX signal")
def test_interrupted_as_a_program(folder: Path) -> None:
    rows = [",".join(format(i, "012b")) for i in range(2000)]
    header = ",".join([*(f"x{i}" for i in range(11)), "y"])
    (folder / "large.csv").write_text("\n".join([header, *rows]))
    # the program sends the signal to itself when the engine is loaded, however long that takes;
    # while other modules are loaded, some of them may swallow it
    code = """if True:
        import os, signal, sys, threading, time
        signal.signal(signal.SIGINT, signal.default_int_handler)  # also in the background
        from adtc.cli import main
        def interrupt():
            while "adtc.engine.circuit" not in sys.modules:
                time.sleep(0.01)
            os.kill(os.getpid(), signal.SIGINT)
        threading.Thread(target=interrupt, daemon=True).start()
        main(sys.argv[1:])
    """
    args = ["count", "large.csv", "--target", "y", "--maxdep", "9", "-o", "out.json"]
    done = subprocess.run(
        [sys.executable, "-c", code, *args],
        cwd=folder, capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (130, "")
    assert done.stderr.strip() == "adtc: stopped; nothing was written."
    assert sorted(path.name for path in folder.iterdir()) == ["large.csv", "small.csv"]


@pytest.mark.skipif(os.name == "nt", reason="Ctrl-C is sent as a POSIX signal")
def test_interrupted_a_second_time_while_saying_so(folder: Path) -> None:
    code = """if True:
        import os, signal, sys
        signal.signal(signal.SIGINT, signal.default_int_handler)  # also in the background
        import click
        import adtc
        from adtc.cli import main
        def interrupted(*args, **options):
            raise KeyboardInterrupt
        def said(*args, echo=click.echo, **options):
            os.kill(os.getpid(), signal.SIGINT)
            echo(*args, **options)
        adtc.count, click.echo = interrupted, said
        main(sys.argv[1:])
    """
    done = subprocess.run(
        [sys.executable, "-c", code, "count", "small.csv", *SPACE],
        cwd=folder, capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (130, "")
    assert done.stderr.strip() == "adtc: stopped; nothing was written."


@pytest.mark.skipif(os.name == "nt", reason="Ctrl-C is sent as a POSIX signal")
def test_interrupted_inside_the_fast_engine(folder: Path) -> None:
    code = """if True:
        import os, signal, sys
        signal.signal(signal.SIGINT, signal.default_int_handler)  # also in the background
        from adtc.cli import main
        from adtc.engine.monitor import Monitor
        interrupts = iter([signal.SIGINT])
        def on_the_way(self, stage, *args):
            if stage == "tensors of level 1":
                for interrupt in interrupts:
                    os.kill(os.getpid(), interrupt)
        Monitor.report = on_the_way
        main(sys.argv[1:])
    """
    args = ["count", "german-credit", "--maxdep", "4", "--relminsup", "0.1", "-o", "out.json"]
    done = subprocess.run(
        [sys.executable, "-c", code, *args],
        cwd=folder, capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert done.returncode == 130
    first, stopped, *_ = done.stdout.splitlines()
    assert first.endswith("trees (partial: the first is exact for depth at most 2)")
    assert stopped == "stopped: the run was interrupted"
    assert done.stderr.strip() == "adtc: stopped; this is what was finished."
    assert [path.name for path in folder.iterdir()] == ["small.csv"]  # and no file


@pytest.mark.parametrize("engine", ["spec", "fast"])
def test_a_time_limit_is_hit(folder: Path, engine: str) -> None:
    args = ["adult", "--maxdep", "6", "--relminsup", "0.02", "--engine", engine]
    done = program("count", *args, "--time-limit", "3", "--exact", "-o", "out.json", cwd=folder)
    assert (done.returncode, done.stdout) == (2, "")
    late = "the run did not finish|'adult' could not be read"  # on a machine that is very slow
    assert re.fullmatch(rf"adtc: ({late}) within the time limit of 3 s: .*\n", done.stderr)
    assert [path.name for path in folder.iterdir()] == ["small.csv"]


@pytest.fixture
def _out_of_time_below_depth_2(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let deeper trees take too long, whatever the clock says."""
    honest = fast.run

    def late(question: Question, *about: object, **options: Any) -> object:
        if question.space.max_depth > 2:
            raise LimitError("the run did not finish within the time limit of 9 s: ask for less.")
        return honest(question, *about, **options)

    monkeypatch.setattr(fast, "run", late)


@pytest.mark.usefixtures("folder", "_out_of_time_below_depth_2")
def test_a_limit_that_is_hit_is_answered() -> None:
    asked = ["small.csv", "--target", "y", "--maxdep", "3", "--time-limit", "9"]
    given = answer("count", *asked)
    shallow = answer("count", "small.csv", "--target", "y", "--maxdep", "2")["count"]
    assert (given["count"], given["status"], given["lower"]) == (None, "partial", shallow)
    assert given["upper"] > shallow
    assert (given["finished"], given["estimate"]) == ("depth at most 2", None)
    assert given["stopped"] == "the run did not finish within the time limit of 9 s"
    told = run("count", *asked)
    assert told.exit_code == 0
    first, stopped, advice = told.stdout.splitlines()[:3]
    assert re.fullmatch(r"between \d.* trees \(partial: the first is exact for depth .* 2\)", first)
    assert stopped == "stopped: the run did not finish within the time limit of 9 s"
    assert advice == "to go on: ask for less"
    none = answer("exists", *asked, "--where", "error < 0")
    assert (none["exists"], none["tree"], none["status"]) == (None, None, "partial")
    refused = run("count", *asked, "--exact")
    assert (refused.exit_code, refused.stdout) == (2, "")


@pytest.mark.usefixtures("folder", "_out_of_time_below_depth_2")
def test_profiles_and_cross_tables_within_limits(tmp_path: Path) -> None:
    asked = ["small.csv", "--target", "y", "--time-limit", "9"]
    given = answer("profile", *asked, "--maxdep", "3", "-o", str(tmp_path / "part.adtc"))
    assert (given["count"], given["status"], given["finished"]) == (
        None, "partial", "depth at most 2",
    )  # fmt: skip
    table = answer("crosstab", str(tmp_path / "part.adtc"), "size", "acc")
    assert (table["count"], table["status"], table["lower"]) == (None, "partial", given["lower"])
    assert sum(map(sum, table["counts"])) == table["lower"]


@pytest.mark.skipif(os.name == "nt", reason="Ctrl-C is sent as a POSIX signal")
@pytest.mark.parametrize(
    ("limit", "code"), [([], 130), (["--time-limit", "3"], 2)], ids=["Ctrl-C", "time limit"]
)
def test_a_kernel_that_never_returns_is_left(folder: Path, limit: list[str], code: int) -> None:
    source = """if True:
        import os, signal, sys, time
        signal.signal(signal.SIGINT, signal.default_int_handler)  # also in the background
        from concurrent.futures import ThreadPoolExecutor
        import adtc
        from adtc.cli import main
        def count(*args, **options):
            if options["monitor"].time_limit is None:
                os.kill(os.getpid(), signal.SIGINT)
            with ThreadPoolExecutor(2) as pool:
                pool.submit(time.sleep, 1000).result()
        adtc.count = count
        main(sys.argv[1:])
    """
    done = subprocess.run(
        [sys.executable, "-c", source, "count", "small.csv", *SPACE, *limit],
        cwd=folder, capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (code, "")
    assert re.fullmatch(r"adtc: (stopped|the run did not finish within).*", done.stderr.strip())


@pytest.mark.skipif(os.name == "nt", reason="pseudo-terminals are a POSIX matter")
def test_a_terminal_sees_progress(folder: Path) -> None:
    source = """if True:
        import sys, time
        from adtc.cli import main
        from adtc.engine import executors
        honest = executors.Monitor.report
        def slowly(self, stage, done, total):
            honest(self, stage, done, total)
            time.sleep(0.01)  # so that the bar is drawn between jobs
        executors.Monitor.report = slowly
        main(sys.argv[1:])
    """
    import pty

    ours, theirs = pty.openpty()
    args = ["count", "german-credit", "--relminsup", "0.1", "--json"]
    child = subprocess.Popen(
        [sys.executable, "-c", source, *args], cwd=folder, stdout=subprocess.PIPE, stderr=theirs,
        env={**os.environ, "TERM": "xterm-256color", "COLUMNS": "120"},
    )  # fmt: skip
    os.close(theirs)
    seen = b""
    while True:
        try:
            part = os.read(ours, 1 << 16)
        except OSError:  # how Linux tells that the other end is closed
            break
        if not part:
            break
        seen += part
    os.close(ours)
    printed, _ = child.communicate()
    assert child.returncode == 0
    assert json.loads(printed)["count"] > 0
    shown = seen.decode()
    assert "least costs" in shown
    assert "left" in shown


@pytest.mark.skipif(os.name == "nt", reason="a closed pipe is a POSIX matter")
def test_a_closed_pipe_is_silent(folder: Path) -> None:
    command = [sys.executable, "-m", "adtc", "count", "small.csv", *SPACE, "--json"]
    read_end, write_end = os.pipe()
    os.close(read_end)
    done = subprocess.run(
        command, cwd=folder, stdout=write_end, stderr=subprocess.PIPE, text=True, check=False
    )
    os.close(write_end)
    assert done.stderr == ""


def test_exact_values_are_fractions() -> None:
    given = answer("optimize", "german-credit", "--maxdep", "1", "--minsup", "100",
                   "--maximize", "f1")  # fmt: skip
    exact = Fraction(given["value_exact"])
    assert float(exact) == given["value"] == given["metrics"]["f1"]

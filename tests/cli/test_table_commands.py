"""Commands about a table: trees as text, other names of options, standard input, progress."""

import json
import subprocess
import sys

import pytest
from click.testing import CliRunner, Result

import adtc
from adtc.algebra.trees import Leaf, Split
from adtc.cli import main, running
from adtc.engine.monitor import Monitor

TABLE = "x,g,y\n1,a,0\n2,b,0\n3,a,0\n4,b,1\n5,a,1\n6,b,1\n"


def run(*args: str, given: str | None = None) -> Result:
    return CliRunner().invoke(main, list(args), input=given)


def test_an_optimum_shows_its_leaves_and_the_gaps() -> None:
    asked = ["optimize", "-", "--target", "y", "--sensitive", "g", "--maxdep", "1"]
    lines = run(*asked, given=TABLE).stdout.splitlines()
    assert lines[1:3] == [
        "  if x <= 3.5 then 0   (3 rows, 100 %)",
        "  if x > 3.5 then 1   (3 rows, 100 %)",
    ]
    assert lines[3] == ("error = 0, size = 2, acc = 1, dp = 0.3333 (1/3), eopp = 0, eodd_max = 0")
    told = json.loads(run(*asked, "--json", given=TABLE).stdout)
    assert told["rules"] == [line.strip() for line in lines[1:3]]
    assert told["metrics"]["dp"] == pytest.approx(1 / 3)


def test_without_groups_there_are_no_gaps() -> None:
    shown = run("optimize", "-", "--target", "y", "--maxdep", "1", given=TABLE).stdout
    assert "dp" not in shown


def test_options_have_long_names() -> None:
    short = ["--maxdep", "2", "--siz", "3", "--minsup", "2"]
    long = ["--max-depth", "2", "--max-leaves", "3", "--min-support", "2"]
    found = [
        json.loads(run("count", "german-credit", *given, "--json").stdout)
        for given in (short, long)
    ]
    assert found[0]["count"] == found[1]["count"] > 0
    assert found[0]["record"]["conventions"] == found[1]["record"]["conventions"]


def test_a_table_comes_from_standard_input(tmp_path) -> None:
    path = tmp_path / "table.csv"
    path.write_text(TABLE)
    asked = ["--target", "y", "--maxdep", "1", "--json"]
    piped = json.loads(run("count", "-", *asked, given=TABLE).stdout)
    stored = json.loads(run("count", str(path), *asked).stdout)
    assert piped["count"] == stored["count"]
    assert piped["record"]["data"].pop("name") == "stdin"
    stored["record"]["data"].pop("name")
    assert piped["record"]["data"] == stored["record"]["data"]


def test_a_front_comes_from_standard_input() -> None:
    shown = run("pareto", "-", "--target", "y", "--minimize", "error", given=TABLE)
    assert shown.exit_code == 0
    assert shown.stdout.startswith("1 point of the front")


@pytest.mark.parametrize(
    ("given", "args", "sentence"),
    [
        ("", ["--target", "y"], "standard input is empty; a header and at least one row"),
        ("a,b\n1\n", ["--target", "b"], "line 2 of standard input has 1 fields"),
        (TABLE, [], "which column of standard input is the target?"),
    ],
    ids=["empty", "broken", "target"],
)
def test_standard_input_is_named_in_what_went_wrong(given, args, sentence) -> None:
    result = run("count", "-", *args, given=given)
    assert result.exit_code == 2
    assert sentence in result.stderr
    assert "/" not in result.stderr.replace("'adtc", "")


def test_a_terminal_is_no_table(monkeypatch) -> None:
    monkeypatch.setattr("adtc.cli.asking._is_terminal", lambda: True)
    result = run("count", "-", "--target", "y")
    assert result.exit_code == 2
    assert "standard input, which is a terminal: pipe CSV into it" in result.stderr


def test_answers_show_themselves_in_notebooks() -> None:
    data = adtc.Data.from_arrays([[1], [1], [0]], [1, 1, 0])
    space = adtc.Space(max_depth=1)
    best = adtc.optimize(data, space, maximize="acc", where="size <= 2")
    shown = best._repr_html_()
    assert "acc = 1 (exact, proved)" in shown
    assert "size &lt;= 2" in shown
    assert shown.count("<li>") == 2
    assert "<li><code>if f0 then 1</code></li>" in shown  # by name, not by number
    assert "no tree" in adtc.optimize(data, space, where="size > 2")._repr_html_()
    assert "such a tree exists" in adtc.exists(data, space)._repr_html_()
    assert "no such tree" in adtc.exists(data, space, "size > 2")._repr_html_()
    people = adtc.Data.from_frame({"age": [20, 30, 40], "y": ["no", "yes", "yes"]}, target="y")
    for answer in (adtc.optimize(people, space), adtc.exists(people, space, "error = 0")):
        assert "<code>if age &lt;= 25 then no</code>" in answer._repr_html_()
    found = adtc.profile(data, space, ["size", "error"])
    assert "<table" in found.crosstab("size", "error")._repr_html_()
    assert "<table" in found.pareto(minimize=["size", "error"])._repr_html_()
    assert "<svg" in found.tree(0)._repr_html_()
    assert "<svg" in adtc.TreeModel(Split(0, Leaf(1), Leaf(0)), data)._repr_html_()


def test_a_pipe_gets_a_line_a_minute(monkeypatch, capsys) -> None:
    clock = iter(range(0, 100_000, 20))  # each look at the clock is 20 s after the last
    monkeypatch.setattr(running, "monotonic", lambda: float(next(clock)))
    lines = running.Lines(begun=0.0, entered=0.0, written=0.0)
    lines("counting", 1, 4)
    for _ in range(9):
        lines.tick()
    told = capsys.readouterr().err.splitlines()
    assert len(told) == 3
    assert all(line.startswith("adtc: counting, 25 %, about ") for line in told)


def test_a_short_run_in_a_pipe_is_silent() -> None:
    source = "import sys; from adtc.cli import main; main(sys.argv[1:])"
    args = ["count", "german-credit", "--maxdep", "1"]
    done = subprocess.run(
        [sys.executable, "-c", source, *args], capture_output=True, text=True, check=True
    )
    assert done.stderr == ""


def test_watched_runs_tick(monkeypatch, capsys) -> None:
    monkeypatch.setattr(running, "_MINUTE", 0.0)
    monkeypatch.setattr(running, "_WATCH", 0.001)
    monitor = Monitor()

    def work() -> int:
        for done in range(1, 30):
            monitor.report("counting", done, 30)
            running.threading.Event().wait(0.005)
        return 7

    assert running.watched(work, monitor) == 7
    assert "adtc: counting, " in capsys.readouterr().err

"""`adtc describe`, and the line about an odd table that every command prints."""

import json
import random
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import adtc
from adtc.cli import main

ODD = "adtc: warning: 'power' came in as categories because of '?'"


def run(*args: str) -> Result:
    return CliRunner().invoke(main, list(args))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a folder with a table of cars, one column of which is odd, and one of owners."""
    monkeypatch.chdir(tmp_path)
    rng = random.Random(1)
    rows = [(rng.choice("?789"), rng.randrange(9), rng.choice("ab"), i % 2) for i in range(60)]
    power = ["?" if p == "?" and i % 2 else f"{90 + i % 30}" for i, (p, *_) in enumerate(rows)]
    lines = [f"{p},{x},{z},{y}" for p, (_, x, z, y) in zip(power, rows, strict=True)]
    (tmp_path / "cars.csv").write_text("\n".join(["power,x,z,y", *lines]) + "\n")
    owned = [f"Jane Doe {i},{line}" for i, line in enumerate(lines)]
    (tmp_path / "owners.csv").write_text("\n".join(["owner,power,x,z,y", *owned]) + "\n")
    return tmp_path


def test_it_prints_what_the_api_says(folder: Path) -> None:
    options = ["--target", "y", "--sensitive", "z", "--nbins", "3"]
    found = adtc.describe("cars.csv", target="y", sensitive="z", nbins=3)
    shown = run("describe", "cars.csv", *options)
    assert (shown.exit_code, shown.stderr) == (0, "")
    assert shown.stdout == f"{found}\n"
    printed = run("describe", "cars.csv", *options, "--json")
    assert printed.stderr == ""
    assert json.loads(printed.stdout) == json.loads(json.dumps(found.to_json()))


def test_it_needs_no_target_and_refuses_nothing(folder: Path) -> None:
    result = run("describe", "owners.csv")
    assert result.exit_code == 0
    assert "'owner' looks like an identifier" in result.stdout
    assert "--drop owner" in result.stdout
    assert "--type owner=category" in result.stdout
    assert "Jane" not in result.stdout


def test_it_writes_a_file(folder: Path) -> None:
    result = run("describe", "cars.csv", "--json", "-o", "cars.json")
    assert (folder / "cars.json").read_text() == result.stdout


def test_bundled_tables_and_mistakes(folder: Path) -> None:
    assert "sensitive sex" in run("describe", "german-credit").stdout
    wrong = run("describe", "german-credi")
    assert (wrong.exit_code, wrong.stdout) == (2, "")
    assert "Did you mean 'german-credit'?" in wrong.stderr
    unknown = run("describe", "cars.csv", "--target", "yy")
    assert "Did you mean 'y'?" in unknown.stderr


COMMANDS = {
    "count": [],
    "exists": ["--where", "acc >= 0.5"],
    "optimize": [],
    "explain": [],
    "profile": ["--metrics", "size,acc"],
    "crosstab": ["size", "acc"],
    "pareto": ["--maximize", "acc", "--minimize", "size"],
    "draw": [],
}


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("as_json", [[], ["--json"]])
def test_every_command_warns_in_one_line(folder: Path, command: str, as_json: list[str]) -> None:
    args = [command, "cars.csv", "--target", "y", "--maxdep", "1", *COMMANDS[command], *as_json]
    result = run(*args)
    assert result.exit_code == 0, result.exception
    assert result.stderr.startswith(ODD)
    assert result.stderr.count("\n") == 1
    assert "warning" not in result.stdout
    if as_json:
        json.loads(result.stdout)
    assert run(*args, "--quiet").stderr == ""
    assert run(*args, "--na", "?").stderr == ""


def test_the_warning_comes_before_a_mistake_about_a_file(folder: Path) -> None:
    result = run("count", "cars.csv", "--target", "y", "--maxdep", "1", "--where", "eror < 1")
    assert result.stderr.startswith(ODD)
    assert "unknown metric 'eror'" in result.stderr.splitlines()[1]


def test_a_bundled_table_warns_beside_its_answer_only(folder: Path) -> None:
    args = ["count", "adult", "--nbins", "2", "--maxdep", "1"]
    answered = run(*args)
    assert answered.stderr.startswith("adtc: warning: 'relationship' tells 'sex'")
    assert answered.stderr.count("\n") == 1
    failed = run(*args, "--where", "eror < 1")
    assert failed.stderr.startswith("adtc: unknown metric")
    assert failed.stderr.count("\n") == 1
    assert run(*args, "--quiet").stderr == ""


def test_a_table_without_oddities_brings_no_line(folder: Path) -> None:
    assert run("count", "german-credit", "--maxdep", "1").stderr == ""


def test_identifiers_are_refused_until_the_user_decides(folder: Path) -> None:
    args = ["count", "owners.csv", "--target", "y", "--maxdep", "1", "--na", "?"]
    refused = run(*args)
    assert (refused.exit_code, refused.stdout) == (2, "")
    for part in ("column 'owner' (60 different texts in 60 rows) looks like an identifier",
                 "--drop owner", "--type owner=category"):  # fmt: skip
        assert part in refused.stderr
    assert refused.stderr.count("\n") == 1
    assert run(*args, "--drop", "owner").exit_code == 0
    kept = run(*args, "--type", "owner=category")
    assert kept.exit_code == 0
    assert kept.stderr == ""

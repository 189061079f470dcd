"""What the commands of development write into the docs: lines are kept, replaced and added up."""

import sys
import tomllib
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[1]
WHEN = {"date": "2026-01-01", "commit": "abcdefg"}


def module(name: str, folders: tuple[str, ...], patch: pytest.MonkeyPatch) -> ModuleType:
    for folder in folders:
        if not (ROOT / folder).is_dir():
            pytest.skip(f"there is no {folder}/ beside these tests")
        patch.syspath_prepend(str(ROOT / folder))
    patch.delitem(sys.modules, name, raising=False)
    return __import__(name)


def test_a_table_is_read_back(monkeypatch: pytest.MonkeyPatch) -> None:
    page = module("page", ("benchmarks",), monkeypatch)
    table = page.table(["name", "trees"], [["a | b", 1234], ["acc >= 0.8", 5], ["", 0]])
    filled = page.fill("<!-- x -->\n<!-- /x -->", {"x": f"Words.\n\n{table}"})
    assert page.rows(filled, "x") == [
        {"name": "a | b", "trees": "1,234"},
        {"name": "acc >= 0.8", "trees": "5"},
        {"name": "", "trees": "0"},
    ]
    assert page.rows("<!-- x -->\n<!-- /x -->", "x") == []


def test_inputs_of_other_seeds_add_up(monkeypatch: pytest.MonkeyPatch) -> None:
    record = module("record", ("benchmarks", "tools/fuzz"), monkeypatch)

    def line(target: str, seed: int, inputs: int, memory: int, findings: int) -> list[str | int]:
        return [target, str(seed), inputs, 1, 0, 9, memory, findings, "2026-01-01", "abcdefg"]

    content = "<!-- fuzz -->\n<!-- /fuzz -->"
    for row in (
        line("csv", 1, 4000, 50, 1),
        line("text", 1, 500, 90, 0),
        line("csv", 2, 60, 40, 0),
        line("csv", 1, 3000, 30, 0),  # the same inputs again
        line("csv", 10, 1, 40, 0),
        line("gone", 1, 7, 7, 7),
    ):
        content = record.added(content, row, ["text", "csv"])
    rows = record.page.rows(content, "fuzz")
    assert [(row["target"], row["seed"], row["inputs"]) for row in rows] == [
        ("text", "1", "500"),
        ("csv", "1", "3,000"),
        ("csv", "2", "60"),
        ("csv", "10", "1"),
        ("all", "", "3,561"),
    ]
    assert (rows[-1]["MB"], rows[-1]["findings"]) == ("90", "0")


def test_a_changed_patch_loses_its_line(monkeypatch: pytest.MonkeyPatch) -> None:
    mutants = module("mutants", ("benchmarks", "tools"), monkeypatch)
    first, second = (
        mutants.Mutant(name, "src/adtc/a.py", "1", "2", "tests/test_a.py")
        for name in ("first", "second")
    )
    content = "<!-- mutants -->\n<!-- /mutants -->"
    for mutant, found in ((second, "red"), (first, "SURVIVED"), (first, "red")):
        content = mutants.recorded(content, [first, second], mutant.row(found, mutant.test, WHEN))
    assert "Of 2 mutants 2 were tried, and 2 noticed." in content
    rows = mutants.page.rows(content, "mutants")
    assert [(row["what is broken"], row["test"]) for row in rows] == [
        ("first", "red"),
        ("second", "red"),
    ]
    other = replace(second, new="3")
    content = mutants.recorded(content, [first, other], first.row("red", first.test, WHEN))
    assert "Of 2 mutants 1 were tried, and 1 noticed." in content


def test_every_mutant_changes_one_place() -> None:
    path = ROOT / "tools" / "mutants.toml"
    if not path.exists():
        pytest.skip("there is no tools/ beside these tests")
    for mutant in tomllib.loads(path.read_text(encoding="utf-8"))["mutant"]:
        text = (ROOT / mutant["file"]).read_text(encoding="utf-8")
        assert text.count(mutant["old"]) == 1, mutant["name"]
        assert mutant["new"] != mutant["old"]

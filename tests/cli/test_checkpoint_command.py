"""`--checkpoint` and `--resume`: what is kept is told, what cannot be is said in one sentence."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from adtc.cli import main
from adtc.engine.executors import checkpoint

ASKED = ["german-credit", "--nbins", "2", "--maxdep", "3", "--relminsup", "0.1", "--quiet"]


def run(command: str, *args: object) -> Result:
    return CliRunner().invoke(main, [command, *ASKED, *map(str, args)])


@pytest.mark.parametrize("command", ["count", "exists", "optimize", "votes"])
def test_a_second_run_tells_what_it_took_from_the_first(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkpoint, "_WORTH", 0.0)
    where = [] if command == "optimize" else ["--where", "acc >= 0.7"]
    plain = run(command, *where, "--json")
    first = run(command, *where, "--json", "--checkpoint", tmp_path)
    again = run(command, *where, "--json", "--checkpoint", tmp_path, "--resume")
    assert (first.exit_code, again.exit_code) == (0, 0)
    assert f"taken from '{tmp_path}'" in again.stderr
    answers = [json.loads(result.stdout) for result in (plain, first, again)]
    records = [answer.pop("record") for answer in answers]
    assert answers[0] == answers[1] == answers[2]
    kept = [record["details"].get("checkpoint") for record in records]
    assert kept[0] is None
    assert kept[2] == {"reused": kept[1]["written"], "written": 0}


def test_resume_needs_something_to_go_on_from(tmp_path: Path) -> None:
    for given in (["--resume"], ["--checkpoint", tmp_path / "new", "--resume"]):
        result = run("count", *given)
        assert result.exit_code == 2
        assert result.stderr.startswith("adtc: ")
        assert "resum" in result.stderr
    assert not (tmp_path / "new").exists()


def test_a_folder_of_other_files_is_refused_before_the_table_is_read(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("")
    result = CliRunner().invoke(main, ["count", "nowhere.csv", "--checkpoint", str(tmp_path)])
    assert result.exit_code == 2
    assert "holds other files, such as 'thesis.tex'" in result.stderr


def test_verify_takes_the_options_of_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoint, "_WORTH", 0.0)
    saved, parts = tmp_path / "saved.adtc", tmp_path / "parts"
    assert run("profile", "--where", "acc >= 0.7", "-o", saved).exit_code == 0

    def verify(*options: object) -> Result:
        return CliRunner().invoke(main, ["verify", str(saved), *map(str, options)])

    first = verify("--checkpoint", parts)
    assert first.exit_code == 0, first.output
    assert list(parts.iterdir())
    again = verify("--checkpoint", parts, "--resume")
    assert (again.exit_code, again.stdout) == (0, first.stdout)
    assert f"taken from '{parts}'" in again.stderr
    for given in (["--resume"], ["--insecure"]):
        refused = verify(*given)
        assert refused.exit_code == 2
        assert refused.stderr.startswith("adtc: ")

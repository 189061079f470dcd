"""`--dask`: the same answer from workers, and one sentence where there can be none."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from adtc.cli import main
from adtc.engine.executors import checkpoint

ASKED = ["german-credit", "--nbins", "2", "--maxdep", "2", "--relminsup", "0.1", "--quiet"]


def run(*args: str) -> Result:
    return CliRunner().invoke(main, ["count", *ASKED, *args])


@pytest.mark.filterwarnings("ignore")
def test_local_workers_count_the_same_trees() -> None:
    pytest.importorskip("distributed", reason="the extra 'dask' is not installed")
    there = run("--where", "acc >= 0.7", "--dask", "local", "--threads", "1", "--json")
    assert there.exit_code == 0, there.output
    here = run("--where", "acc >= 0.7", "--json")
    assert json.loads(there.stdout)["count"] == json.loads(here.stdout)["count"]


@pytest.mark.filterwarnings("ignore")
def test_parts_of_workers_are_kept_and_taken_by_one_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("distributed", reason="the extra 'dask' is not installed")
    monkeypatch.setattr(checkpoint, "_WORTH", 0.0)
    asked = ["--where", "acc >= 0.7", "--json", "--checkpoint", str(tmp_path)]
    there = run(*asked, "--dask", "local", "--threads", "1")
    assert there.exit_code == 0, there.output
    here = run(*asked, "--resume")
    assert f"taken from '{tmp_path}'" in here.stderr
    answers = [json.loads(result.stdout) for result in (there, here)]
    kept = [answer.pop("record")["details"]["checkpoint"] for answer in answers]
    assert answers[0] == answers[1]
    assert kept[0]["written"] == kept[1]["reused"] > 0


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--dask", "tcp://10.1.2.3:8786"], "neither on this machine nor under TLS"),
        (["--dask", "somewhere"], "is not the address of a scheduler"),
        (["--dask", "["], "is not the address of a scheduler"),
        (["--insecure"], "give its address with --dask"),
    ],
)
def test_what_cannot_be_is_said_in_one_sentence(options, sentence) -> None:
    pytest.importorskip("distributed", reason="the extra 'dask' is not installed")
    result = run(*options)
    assert result.exit_code == 2
    assert result.stderr.startswith("adtc: ")
    assert sentence in result.stderr
    assert result.stderr.count("\n") == 1

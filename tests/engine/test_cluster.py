"""Workers answer as one thread does, also where one of them is killed at any stage."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import adtc
from adtc.engine.exact.limbs import counts_of, limbs_of
from adtc.engine.executors import checkpoint as checkpoints
from adtc.engine.executors import tasks, workers
from adtc.engine.executors.cluster import RemoteCircuit
from adtc.engine.plan.keys import added_up, key_integers, packed_keys
from adtc.errors import CancelledError, LimitError, QueryError, TooLargeError
from adtc.profiles.people.voting import votes_of
from forging import opened, sealed

distributed = pytest.importorskip("distributed", reason="the extra 'dask' is not installed")
# scheduler and nannies live in this process: a warning must not end one of their threads
pytestmark = pytest.mark.filterwarnings("ignore")
METRICS = ["size", "error"]
QUICK = ("inside_part", "last_part", "root_part")
STAGES = [
    "table", "inside_part", "bounds", "base", "last_part", "last_joined", "upper_part",
    "upper_joined", "root_part", "root_sum", "asked_of",
]  # fmt: skip


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    with workers.connected("local", workers=2) as opened:
        yield opened


def table(seed: int, features: int = 8, labels: int = 2) -> adtc.Data:
    source = np.random.default_rng(seed)
    X = source.integers(0, 2, (60, features))
    return adtc.Data.from_arrays(X, source.integers(0, labels, 60))


def one_thread() -> adtc.Monitor:
    return adtc.Monitor(threads=1)


@pytest.mark.parametrize(
    ("depth", "where"),
    [(0, None), (1, None), (2, "error <= 25"), (3, "error <= 20"), (4, None), (4, "error <= 18")],
)
def test_a_profile_is_that_of_one_thread(client, depth, where):
    data, space = table(depth), adtc.Space(max_depth=depth, minsup=2)
    here = adtc.profile(data, space, METRICS, where=where, monitor=one_thread())
    there = adtc.profile(data, space, METRICS, where=where, monitor=adtc.Monitor(client=client))
    assert isinstance(there.source.circuit, RemoteCircuit)
    assert np.array_equal(here.keys, there.keys)
    assert np.array_equal(here.trees, there.trees)
    for name in ("cell_scan", "num_cells"):
        assert getattr(here.record, name) == getattr(there.record, name)
    assert here.record.details == there.record.details
    assert np.array_equal(votes_of(here).counts, votes_of(there).counts)
    drawn = [[(t.rank, t.tree) for t in of.draw(5, seed=1)] for of in (here, there)]
    assert drawn[0] == drawn[1]


@pytest.mark.parametrize("space", [
    adtc.Space(max_depth=4, minsup=0),
    adtc.Space(max_depth=4, trivial_splits=False, labels="majority"),
    adtc.Space(max_depth=3, max_size=5, root=("f0", "f3")),
    adtc.Space(max_depth=2, max_variables=2),
    adtc.Space(max_depth=4, min_leaf_share="0.5"),
])  # fmt: skip
def test_conventions_hold_on_workers(client, space):
    data = table(3, features=5, labels=3)
    for ask in (adtc.count, adtc.exists):
        here = ask(data, space, "error <= 35", monitor=one_thread())
        there = ask(data, space, "error <= 35", monitor=adtc.Monitor(client=client))
        assert here == there if ask is adtc.count else here.tree == there.tree


@pytest.mark.parametrize("question", [{}, {"where": "size <= 6"}, {"maximize": "f1"}])
def test_the_best_tree_is_that_of_one_thread(client, question):
    data, space = table(7), adtc.Space(max_depth=4, minsup=3)
    here = adtc.optimize(data, space, **question, monitor=one_thread())
    there = adtc.optimize(data, space, **question, monitor=adtc.Monitor(client=client))
    assert (here.value, here.tree) == (there.value, there.tree)


def test_only_the_root_comes_here_unless_more_is_asked_for(client):
    found = adtc.profile(
        table(1), adtc.Space(max_depth=4), METRICS, where="error <= 20",
        monitor=adtc.Monitor(client=client),
    )  # fmt: skip
    votes_of(found)
    found.draw(3, seed=0)
    held = found.source.circuit._held
    assert not {"levels", "outside"} & set(vars(held))
    assert len(found.source.circuit.levels) == 3  # and then it does
    assert "levels" in vars(held)


def test_progress_is_told_and_the_run_can_be_cancelled(client):
    told: list[tuple[str, int, int]] = []

    def tell(*progress: Any) -> None:
        told.append(progress)
        if progress[0] == "tensors":
            monitor.cancel()

    monitor = adtc.Monitor(progress=tell, client=client)
    # wide enough that the tensors take more than one look
    with pytest.raises(CancelledError):
        adtc.count(table(2, features=20), adtc.Space(max_depth=5), "error <= 20", monitor=monitor)
    assert all(0 <= done <= total for _, done, total in told)
    with pytest.raises(LimitError, match="time"):
        adtc.count(
            table(2, features=20), adtc.Space(max_depth=5),
            monitor=adtc.Monitor(client=client, time_limit=0.02, exact=True),
        )  # fmt: skip
    assert adtc.count(table(2), adtc.Space(max_depth=2), monitor=adtc.Monitor(client=client)) > 0


@pytest.fixture
def every_part(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep parts however little time they took."""
    monkeypatch.setattr(checkpoints, "_WORTH", 0.0)


def some_removed(folder: Path, stage: str) -> None:
    """Remove every second part of a stage, and all of what is made from it."""
    order = ["inside", "level2", "level1", "level0"]
    for later in order[order.index(stage) + 1 :]:
        for path in folder.glob(f"{later}-*"):
            path.unlink()
    for path in sorted(folder.glob(f"{stage}-*"))[::2]:
        path.unlink()


@pytest.mark.usefixtures("every_part")
@pytest.mark.parametrize("stage", ["inside", "level2", "level1", "level0"])
@pytest.mark.parametrize("first", ["there", "here"])
def test_a_run_goes_on_there_or_here_from_what_was_kept(client, tmp_path, stage, first):
    data, space, where = table(11), adtc.Space(max_depth=4, minsup=2), "error <= 20"
    plain = adtc.profile(data, space, METRICS, where=where, monitor=one_thread())
    for place in ("there", "here") if first == "there" else ("here", "there"):
        kept = adtc.Checkpoint(tmp_path)
        given = {"client": client} if place == "there" else {"threads": 2}
        found = adtc.profile(
            data, space, METRICS, where=where, monitor=adtc.Monitor(checkpoint=kept, **given)
        )
        assert isinstance(found.source.circuit, RemoteCircuit) is (place == "there")
        assert np.array_equal(found.keys, plain.keys)
        assert np.array_equal(found.trees, plain.trees)
        assert found.record.cell_scan == plain.record.cell_scan
        assert np.array_equal(votes_of(found).counts, votes_of(plain).counts)
        assert (kept.reused > 0) is (place != first)
        assert kept.written > 0
        assert kept.damaged == []
        some_removed(tmp_path, stage)


@pytest.mark.usefixtures("every_part")
@pytest.mark.parametrize("depth", [0, 1, 2, 3])
def test_parts_of_any_depth_are_kept(client, tmp_path, depth):
    data, space = table(depth), adtc.Space(max_depth=depth, minsup=2)
    plain = adtc.count(data, space, "error <= 25", monitor=one_thread())
    for reused in (False, True):
        kept = adtc.Checkpoint(tmp_path)
        monitor = adtc.Monitor(client=client, checkpoint=kept)
        assert adtc.count(data, space, "error <= 25", monitor=monitor) == plain
        assert (kept.reused > 0, kept.written > 0) == (reused, not reused)


@pytest.mark.usefixtures("every_part")
def test_a_search_for_the_best_tree_keeps_its_parts(client, tmp_path):
    data, space = table(7), adtc.Space(max_depth=4, minsup=3)
    here = adtc.optimize(data, space, monitor=one_thread())
    for reused in (False, True):
        kept = adtc.Checkpoint(tmp_path)
        there = adtc.optimize(data, space, monitor=adtc.Monitor(client=client, checkpoint=kept))
        assert (here.value, here.tree) == (there.value, there.tree)
        assert (kept.reused > 0, kept.written > 0) == (reused, not reused)


def test_small_parts_are_kept_together(client, tmp_path, monkeypatch):
    data, space, where = table(13), adtc.Space(max_depth=4, minsup=2), "error <= 20"
    plain = adtc.profile(data, space, METRICS, where=where, monitor=one_thread())

    def put_aside(writer: Any, units: range, seconds: float) -> None:
        writer.small[units] = 1.0

    monkeypatch.setattr(checkpoints._Writer, "finished", put_aside)
    for reused, given in ((0, client), (4, None)):
        kept = adtc.Checkpoint(tmp_path)
        found = adtc.profile(
            data, space, METRICS, where=where,
            monitor=adtc.Monitor(client=given, checkpoint=kept),
        )  # fmt: skip
        assert np.array_equal(found.trees, plain.trees)
        assert np.array_equal(votes_of(found).counts, votes_of(plain).counts)
        assert (kept.reused, kept.written) == (reused, 4 - reused)


@pytest.mark.usefixtures("every_part")
def test_a_part_that_cannot_be_is_computed_there(client, tmp_path):
    data, space, where = table(12), adtc.Space(max_depth=4, minsup=2), "error <= 20"
    plain = adtc.count(data, space, where, monitor=one_thread())
    adtc.count(data, space, where, monitor=adtc.Monitor(checkpoint=adtc.Checkpoint(tmp_path)))
    victims = [min(tmp_path.glob(f"{stage}-*")) for stage in ("inside", "level2", "level1")]
    for victim in victims:
        header, arrays = opened(victim)
        first = next(iter(arrays))  # rows of paths, or keys of cells
        sealed(victim, header, {**arrays, first: arrays[first] + 2**40})
    some_removed(tmp_path, "level0")
    kept = adtc.Checkpoint(tmp_path)
    monitor = adtc.Monitor(client=client, checkpoint=kept)
    assert adtc.count(data, space, where, monitor=monitor) == plain
    assert set(kept.damaged) == {victim.name for victim in victims}


RUN = """
import sys, hashlib, adtc
from adtc.engine.executors import checkpoint, workers

if __name__ == "__main__":
    checkpoint._WORTH = 0.0
    data = adtc.load_dataset("german-credit", nbins=2)
    space, where = adtc.Space(max_depth=4, relminsup=0.02), "acc >= 0.72"
    kept = adtc.Checkpoint(sys.argv[1])
    def ask(**given):
        monitor = adtc.Monitor(checkpoint=kept, **given)
        return adtc.profile(data, space, ["size", "acc"], where=where, monitor=monitor)
    if sys.argv[2] == "there":
        with workers.connected("local", workers=2) as client:
            found = ask(client=client)
    else:
        found = ask(threads=2)
    digest = hashlib.sha256(found.keys.tobytes() + found.trees.tobytes()).hexdigest()
    print(digest, kept.reused)
"""


@pytest.mark.parametrize(
    "stage", [pytest.param("inside", marks=pytest.mark.slow), "level2",
              pytest.param("level1", marks=pytest.mark.slow)]
)  # fmt: skip
def test_a_client_killed_goes_on_there_and_here(tmp_path, stage):
    script = tmp_path / "run.py"
    script.write_text(RUN)

    def command(folder: Path, place: str) -> list[str]:
        return [sys.executable, str(script), str(folder), place]

    def answer(folder: Path, place: str) -> tuple[bytes, int]:
        done = subprocess.run(command(folder, place), capture_output=True, check=True)
        digest, reused = done.stdout.split()
        return digest, int(reused)

    expected, _ = answer(tmp_path / "whole", "here")
    folder, copied = tmp_path / "killed", tmp_path / "copied"
    run = subprocess.Popen(
        command(folder, "there"), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    while run.poll() is None and not list(folder.glob(f"{stage}-*.adtc-part")):
        time.sleep(0.001)
    run.send_signal(signal.SIGKILL)
    assert run.wait() == -signal.SIGKILL
    shutil.copytree(folder, copied)
    for place, parts in (("here", folder), ("there", copied)):
        found, reused = answer(parts, place)
        assert found == expected
        assert reused > 0


@pytest.mark.slow
def test_a_scheduler_killed_ends_the_run_which_goes_on_here(tmp_path):
    cli, ask = [sys.executable, "-m"], [sys.executable, "-m", "adtc", "profile", "german-credit"]
    ask += ["--maxdep", "5", "--relminsup", "0.05", "--metrics", "size,acc", "--quiet", "--json"]
    ask += ["--where", "acc >= 0.75"]
    told, folder, silent = tmp_path / "scheduler", tmp_path / "parts", subprocess.DEVNULL
    options = ["--host", "127.0.0.1", "--port", "0", "--no-dashboard"]
    scheduler = subprocess.Popen(
        [*cli, "distributed.cli.dask_scheduler", *options, "--scheduler-file", str(told)],
        stdout=silent, stderr=silent,
    )  # fmt: skip
    worker = subprocess.Popen(
        [*cli, "distributed.cli.dask_worker", "--scheduler-file", str(told), "--nthreads", "1",
         "--no-dashboard", "--no-nanny"], stdout=silent, stderr=silent,
    )  # fmt: skip
    try:
        while not told.exists() or not told.read_text():
            time.sleep(0.1)
        address = json.loads(told.read_text())["address"]
        run = subprocess.Popen(
            [*ask, "--dask", address, "--checkpoint", str(folder)], stdout=silent,
            stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        while run.poll() is None and not list(folder.glob("level*.adtc-part")):
            time.sleep(0.01)
    finally:
        scheduler.kill()
        worker.kill()
        scheduler.wait()
        worker.wait()
    _, said = run.communicate(timeout=60)
    assert run.returncode == 2
    assert said.startswith("adtc: the cluster that holds the parts of this answer is no longer")
    assert said.count("\n") == 1
    answers = [
        json.loads(subprocess.run([*ask, *more], capture_output=True, check=True).stdout)
        for more in ([], ["--checkpoint", str(folder), "--resume"])
    ]
    details = [answer.pop("record")["details"] for answer in answers]
    assert answers[0] == answers[1]
    assert details[1]["checkpoint"]["reused"] > 0


def killer(stage: str, spared: Path | None, pause: float = 0.5) -> Any:
    """Make a plugin that kills the worker that begins a task: once, if a file is to tell that."""

    def first() -> bool:
        if spared is None:
            return True
        try:
            os.close(os.open(spared, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return False
        return True

    class Killer(distributed.WorkerPlugin):
        name = "killer"

        def setup(self, worker: Any) -> None:
            from adtc.engine.executors import tasks

            self.plain = plain = getattr(tasks, stage)

            def deadly(*args: Any) -> Any:
                if first():
                    time.sleep(pause)  # a nanny forgets a worker that dies before it has begun
                    os.kill(os.getpid(), signal.SIGKILL)
                return plain(*args)

            setattr(tasks, stage, deadly)

        def teardown(self, worker: Any) -> None:
            from adtc.engine.executors import tasks

            setattr(tasks, stage, self.plain)

    return Killer()


@pytest.fixture
def mortal() -> Iterator[Any]:
    """Start workers of their own: nannies do not always bring a killed one back."""
    with workers.connected("local", workers=2) as opened:
        yield opened


@pytest.mark.parametrize("stage", [
    stage if stage in QUICK else pytest.param(stage, marks=pytest.mark.slow) for stage in STAGES
])  # fmt: skip
def test_a_worker_killed_at_any_stage_costs_only_time(mortal, stage, tmp_path):
    assert callable(getattr(tasks, stage))
    data, space = table(20 + STAGES.index(stage)), adtc.Space(max_depth=4, minsup=2)
    expected = adtc.profile(data, space, METRICS, where="error <= 20", monitor=one_thread())
    killed = tmp_path / "killed"
    mortal.register_plugin(killer(stage, killed), name="killer")
    found = adtc.profile(
        data, space, METRICS, where="error <= 20", monitor=adtc.Monitor(client=mortal)
    )
    votes = votes_of(found).counts
    assert killed.exists()
    assert np.array_equal(found.keys, expected.keys)
    assert np.array_equal(found.trees, expected.trees)
    assert np.array_equal(votes, votes_of(expected).counts)


@pytest.mark.slow
@pytest.mark.usefixtures("every_part")
@pytest.mark.parametrize("stage", ["inside_part", "last_part", "upper_part"])
def test_a_worker_killed_costs_only_time_where_parts_are_kept(mortal, stage, tmp_path):
    data, space, where = table(50), adtc.Space(max_depth=4, minsup=2), "error <= 20"
    expected = adtc.profile(data, space, METRICS, where=where, monitor=one_thread())
    killed, kept = tmp_path / "killed", adtc.Checkpoint(tmp_path / "parts")
    mortal.register_plugin(killer(stage, killed), name="killer")
    monitor = adtc.Monitor(client=mortal, checkpoint=kept)
    found = adtc.profile(data, space, METRICS, where=where, monitor=monitor)
    assert killed.exists()
    assert np.array_equal(found.trees, expected.trees)
    again = adtc.Checkpoint(tmp_path / "parts", resume=True)
    found = adtc.profile(data, space, METRICS, where=where, monitor=adtc.Monitor(checkpoint=again))
    assert np.array_equal(votes_of(found).counts, votes_of(expected).counts)
    assert (again.reused, again.written) == (kept.written, 0)


@pytest.mark.slow
def test_a_task_that_ends_three_workers_ends_the_run_in_one_sentence(mortal):
    mortal.register_plugin(killer("last_part", None, pause=3.0), name="killer")
    monitor = adtc.Monitor(client=mortal)
    with pytest.raises(TooLargeError, match="ended each of the 3 workers that tried it"):
        adtc.count(table(40), adtc.Space(max_depth=3), "error <= 20", monitor=monitor)


def test_scheduler_and_dashboard_listen_to_this_machine_alone(client):
    info = client.scheduler_info()
    assert info["address"].startswith("tcp://127.0.0.1:")
    assert "//127.0.0.1:" in client.dashboard_link
    for worker in info["workers"]:
        assert worker.startswith("tcp://127.0.0.1:")


def test_addresses_in_clear_need_a_word(client):
    for fine in ("tcp://127.0.0.1:1", "localhost:8786", "tcp://[::1]:1", "tls://far.example:1"):
        workers.check_address(fine, insecure=False)
    workers.check_address("tcp://10.0.0.7:8786", insecure=True)
    with pytest.raises(QueryError, match="neither on this machine nor under TLS"):
        workers.check_address("tcp://10.0.0.7:8786", insecure=False)
    for wrong in ("nonsense", "tcp://", "http://127.0.0.1:80", "tcp://127.0.0.1:port"):
        with pytest.raises(QueryError, match="not the address of a scheduler"):
            workers.check_address(wrong, insecure=True)


def test_an_address_serves_as_well(client):
    with workers.connected(client.scheduler_info()["address"]) as other:
        monitor = adtc.Monitor(client=other)
        assert adtc.count(table(1), adtc.Space(max_depth=2), monitor=monitor) == adtc.count(
            table(1), adtc.Space(max_depth=2)
        )


def test_without_the_extra_one_sentence_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with (
        pytest.raises(QueryError, match=r"pip install 'adtc\[dask\]'"),
        workers.connected("local"),
    ):
        pass


def test_sums_of_cells_are_exact():
    source = np.random.default_rng(0)
    keys = [int(k) for k in source.integers(-3, 3, 40)]
    counts = [int(n) << int(shift) for n, shift in source.integers(1, 2**60, (40, 2)) % (2**60, 70)]
    expected: dict[int, int] = {}
    for key, count in zip(keys, counts, strict=True):
        expected[key] = expected.get(key, 0) + count
    width = limbs_of([sum(counts)]).shape[1]
    values = np.pad(limbs_of(counts), ((0, 0), (0, width - limbs_of(counts).shape[1])))
    for wide in (False, True):
        found, sums = added_up(packed_keys(keys, wide=wide), values)
        assert dict(zip(key_integers(found), counts_of(sums), strict=True)) == expected
        assert key_integers(found) == sorted(expected)
    assert len(added_up(np.zeros(0, np.int64), np.zeros((0, 1), np.uint64))[0]) == 0

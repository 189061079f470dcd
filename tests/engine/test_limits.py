"""Tables at the edge of what there is, and runs at the edge of what is allowed."""

import threading
import time
from collections import Counter

import numpy as np
import pytest

import adtc
import oracle
from adtc.algebra.semirings import COUNT
from adtc.engine import bounds, fast
from adtc.engine.executors import run_jobs
from adtc.engine.monitor import Monitor
from adtc.engine.plan.forms import SMALL
from adtc.engine.query import ask
from adtc.engine.switches import Switches
from adtc.errors import ADTCError, CancelledError, TooLargeError

# --- tables -----------------------------------------------------------------------------------


def random_data(rows: int, features: int, seed: int = 0, **options) -> adtc.Data:
    rng = np.random.default_rng(seed)
    X, y = rng.integers(0, 2, (rows, features)), rng.integers(0, 2, rows)
    return adtc.Data.from_arrays(X, y, labels=[0, 1], **options)


CORNERS = np.array([[r >> f & 1 for f in range(3)] for r in range(8)])
TABLES = {
    "one row": adtc.Data.from_arrays([[1, 0]], [0], labels=[0, 1]),
    "one feature": adtc.Data.from_arrays([[1], [0], [1]], [1, 0, 0]),
    "constant features": adtc.Data.from_arrays([[1, 0], [1, 0], [1, 0]], [1, 0, 1]),
    "one label": adtc.Data.from_arrays(CORNERS, [0] * 8),
    "all rows of one class": adtc.Data.from_arrays(CORNERS, [1] * 8, labels=[0, 1]),
    "all rows equal": adtc.Data.from_arrays([[1, 0, 1]] * 6, [0, 1, 1, 0, 1, 1]),
    "each row twice": adtc.Data.from_arrays(np.tile(CORNERS, (2, 1)), [0, 1, 1, 0, 1, 0, 0, 1] * 2),
    "all features equal": adtc.Data.from_arrays(CORNERS[:, [0, 0, 0, 0]], [0, 1] * 4),
    "weights of 0": adtc.Data.from_arrays(
        CORNERS, [0, 1, 2, 0, 1, 0, 0, 1], weights=[0, 2, 0, 0, 1, 3, 1, 0]
    ),
    "63 rows": random_data(63, 3),
    "64 rows": random_data(64, 3),
    "65 rows": random_data(65, 3),
    "129 rows": random_data(129, 4),
    "five labels": adtc.Data.from_arrays(CORNERS, [0, 1, 2, 3, 4, 0, 1, 2]),
}
SPACES = {
    "depth 0": adtc.Space(max_depth=0),
    "depth 1": adtc.Space(max_depth=1),
    "depth 2": adtc.Space(max_depth=2),
    "deeper than there are features": adtc.Space(max_depth=5),
    "empty leaves": adtc.Space(max_depth=3, minsup=0),
    "majority": adtc.Space(max_depth=3, minsup=0, labels="majority"),
    "no trivial splits": adtc.Space(max_depth=3, trivial_splits=False),
    "one leaf": adtc.Space(max_depth=3, max_size=1),
    "all rows in each leaf": adtc.Space(max_depth=3, relminsup=1),
}


MANY = 300  # labels, of 1, 2, 3 … rows: as many different errors of a leaf


def many_labels() -> adtc.Data:
    y = np.arange(MANY)
    return adtc.Data.from_arrays(np.stack([y % 2, y % 3 == 0], axis=1), y, weights=y + 1)


@pytest.mark.parametrize("depth", range(4))
def test_more_leaves_than_a_small_table_holds(depth):
    cells = adtc.model_tensor(many_labels(), adtc.Space(depth, max_size=1), ["error"])
    rows = MANY * (MANY + 1) // 2
    assert cells == {(rows - n,): 1 for n in range(1, MANY + 1)}


@pytest.mark.parametrize("most", [MANY**2, MANY * MANY // 2 - 50])
def test_stumps_with_more_labels_than_a_small_table_holds(most):
    data = many_labels()
    n = np.array(data.weights)
    errors = Counter((n.sum() - n).tolist())
    for column in (np.arange(MANY) % 2, np.arange(MANY) % 3 == 0):
        one, zero = (np.where(column == side, n, 0) for side in (1, 0))
        errors.update((n.sum() - one[:, None] - zero).ravel().tolist())
    cells = adtc.model_tensor(data, adtc.Space(1), ["error"], where=f"error <= {most}")
    assert cells == {(e,): trees for e, trees in errors.items() if e <= most}


@pytest.mark.parametrize("where", [None, "size <= 3 and 2 * error <= N"])
@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("table", TABLES)
def test_edge_cases_are_counted_as_specified(table, space, where):
    asked = TABLES[table], SPACES[space], ["size", "error"]
    found, expected = (
        adtc.model_tensor(*asked, where=where, engine=engine) for engine in ("fast", "spec")
    )
    assert found == expected


@pytest.mark.parametrize("objective", ["N00", "error", "-size"])
@pytest.mark.parametrize("minsup", [1, 14_000, 40_000, 70_000])
@pytest.mark.parametrize("depth", [1, 2, 3, 5])
def test_more_rows_of_one_label_than_short_numbers_hold(depth, minsup, objective):
    data = adtc.Data.from_arrays(CORNERS, [0] * 8, weights=[14_000] * 8)
    found, expected = (
        adtc.optimize(data, adtc.Space(depth, minsup), minimize=objective, engine=engine)
        for engine in ("fast", "spec")
    )
    assert found.value == expected.value


@pytest.mark.parametrize("where", [None, "error <= 1"])
def test_depth_is_counted_up_to_the_number_of_features_only(where):
    data = TABLES["one feature"]
    shallow, deep = (
        adtc.count(data, adtc.Space(max_depth=depth), where, engine="fast") for depth in (1, 60)
    )
    assert shallow == deep > 0


def stumps(data: adtc.Data, minsup: int) -> tuple[int, int]:
    """Count the trees of depth at most 1 and at most 2 from sums over the table."""
    X = data.dense().astype(np.int64)
    both = X.T @ X
    ones, rows = np.diag(both), len(X)

    def enough(n: np.ndarray) -> np.ndarray:
        return (n >= minsup).astype(int)

    on_1 = enough(both) * enough(ones[:, None] - both)  # f is 1, then g
    rest = ones[None, :] - both
    on_0 = enough(rest) * enough(rows - ones[:, None] - rest)
    np.fill_diagonal(on_1, 0)
    np.fill_diagonal(on_0, 0)
    side1, side0 = enough(ones), enough(rows - ones)
    depth_1 = 2 + 4 * int((side1 * side0).sum())
    depth_2 = 2 + int(
        ((2 * side1 + 4 * on_1.sum(axis=1)) * (2 * side0 + 4 * on_0.sum(axis=1))).sum()
    )
    return depth_1, depth_2


@pytest.mark.parametrize("minsup", [1, 20])
def test_more_than_500_features(minsup):
    data = random_data(130, 520, seed=4)
    expected = stumps(data, minsup)
    found = tuple(
        adtc.count(data, adtc.Space(max_depth=depth, minsup=minsup), engine="fast")
        for depth in (1, 2)
    )
    assert found == expected
    assert minsup > 1 or expected[0] == 2 + 4 * 520


def test_the_best_of_more_than_500_stumps():
    data = random_data(130, 520, seed=4)
    wrong = (data.dense() != data.y[:, None]).sum(axis=0)  # ⟨f, 1, 0⟩
    least = min(wrong.min(), 130 - wrong.max(), (data.y == 0).sum(), (data.y == 1).sum())
    best = adtc.optimize(data, adtc.Space(max_depth=1), minimize="error", engine="fast")
    assert best.value == least


HUGE = [2**29 + 1, 3, 2**29 + 7, 0, 2**28, 2**30, 1, 2**20]  # 2.4e9 in all: no int32


@pytest.mark.parametrize(
    ("space", "where"),
    [
        (adtc.Space(max_depth=3, minsup=2), "acc >= 0.6"),
        (adtc.Space(max_depth=3, minsup=2**28), "error <= 536870919 and size <= 3"),
        (adtc.Space(max_depth=3, labels="majority"), "f1 >= 0.9"),
    ],
)
def test_weights_that_add_up_beyond_31_bits(space, where):
    data = adtc.Data.from_arrays(CORNERS, [0, 1, 1, 0, 1, 0, 0, 1], weights=HUGE)
    assert data.total > 2**31
    found, expected = (
        adtc.model_tensor(data, space, ["error"], where=where, engine=engine)
        for engine in ("fast", "spec")
    )
    assert found == expected
    assert found


@pytest.mark.parametrize("largest", [2**13, 2**14, 2**15, 2**16, SMALL, 2**29, 2**30, 2**31, 2**32])
@pytest.mark.parametrize("less", [0, 1])
@pytest.mark.parametrize("depth", [2, 3, 5])
def test_rows_as_heavy_as_a_width_of_numbers_holds(depth, largest, less):
    weights = [largest // 8] * 8
    weights[3] -= less
    data = adtc.Data.from_arrays(CORNERS, [0, 0, 0, 1, 0, 1, 1, 1], weights=weights)
    space, where = adtc.Space(depth), f"error <= {largest // 2}"
    found, expected = (
        adtc.model_tensor(data, space, ["error"], where=where, engine=engine)
        for engine in ("fast", "spec")
    )
    assert found == expected
    assert found
    # a form with costs that a width does not hold, on rows that it does
    objective = "7 * error + size"
    best, least = (
        adtc.optimize(data, space, minimize=objective, engine=engine) for engine in ("fast", "spec")
    )
    assert best.value == least.value


@pytest.mark.parametrize("weight", [2**56, 2**57])
def test_heavier_rows_than_64_bits_add_up_are_refused(weight):
    data = adtc.Data.from_arrays(CORNERS, [0] * 4 + [1] * 4, weights=[weight, *[1] * 7])
    space, where = adtc.Space(1), "acc >= 0.5"
    expected = adtc.count(data, space, where, engine="spec")
    if weight < 2**57:
        assert adtc.count(data, space, where, engine="fast") == expected
        assert adtc.optimize(data, space, engine="fast").value == 0
    else:
        clear = pytest.raises(TooLargeError, match=r"costs reach .*smaller weights.*engine='spec'")
        with clear:
            adtc.count(data, space, where, engine="fast")
        with clear:
            adtc.optimize(data, space, engine="fast")


def test_a_gap_between_huge_groups():
    data = adtc.Data.from_arrays(
        CORNERS, [0, 1, 1, 0, 1, 0, 0, 1], z=[0, 0, 1, 1, 0, 1, 0, 1], weights=HUGE
    )
    space, where = adtc.Space(max_depth=2), "dp <= 0.5"
    expected = adtc.count(data, space, where, engine="spec")
    assert adtc.count(data, space, where, engine="fast") == expected


def test_more_paths_than_numbers_for_them_are_refused():
    data = random_data(40, 500)
    with pytest.raises(TooLargeError, match="subproblems"):
        adtc.count(
            data,
            adtc.Space(max_depth=14),
            engine="fast",
            monitor=Monitor(memory_limit=10**9, exact=True),
        )


# --- limits -----------------------------------------------------------------------------------

WIDE = random_data(100, 9, seed=1, z=np.arange(100) % 2)
SPACE = adtc.Space(max_depth=4, minsup=5)


AT_ONCE = 2  # up to this depth everything is one closed form and no job is run


def run(monitor: Monitor | None = None, *, max_depth: int = 4, where="acc >= 0.6") -> fast.Result:
    space = adtc.Space(max_depth=max_depth, minsup=5)
    question = ask(WIDE, space, semiring=COUNT, metrics=["size", "error"], where=where)
    return fast.run(question, WIDE, monitor=monitor)


@pytest.mark.parametrize("max_depth", [AT_ONCE, 3, 4])
def test_no_time_at_all(max_depth):
    with pytest.raises(TooLargeError, match=r"time limit of 0 s: raise the limit, or ask for less"):
        run(Monitor(time_limit=0), max_depth=max_depth)


def test_enough_time():
    assert run(Monitor(time_limit=600)).total == run().total > 0


@pytest.mark.parametrize("threads", [1, 2])
def test_time_runs_out_on_the_way(threads):
    def slow(stage: str, done: int, total: int) -> None:
        time.sleep(0.02)

    with pytest.raises(TooLargeError, match="time limit"):
        run(Monitor(time_limit=0.05, progress=slow, threads=threads))


@pytest.mark.parametrize("limit", [1, 1000])
def test_too_little_memory_is_said_before_it_is_taken(limit):
    with pytest.raises(TooLargeError, match=r"would need about .* GB, more than"):
        run(Monitor(memory_limit=limit))


def test_too_little_memory_for_the_tensors():
    with pytest.raises(TooLargeError, match=r"the tensors do not fit .* add a constraint"):
        run(Monitor(memory_limit=20_000), where=None)


def test_enough_memory():
    assert run(Monitor(memory_limit=10**9)).total == run().total


def test_pairs_of_many_features_are_counted_by_as_many_threads_as_have_room(monkeypatch):
    rng = np.random.default_rng(5)
    data = adtc.Data.from_arrays(rng.integers(0, 2, (50, 700)), rng.integers(0, 2, 50))
    threads: set[int] = set()

    def noted(work, jobs, stage, monitor):
        threads.add(monitor.threads)
        return run_jobs(work, jobs, stage, monitor)

    monkeypatch.setattr(bounds, "run_jobs", noted)
    space = adtc.Space(max_depth=3, minsup=20)
    counted = {}
    for memory, most in ((10**9, 3), (12_000_000, 2), (9_000_000, 1)):
        monitor = Monitor(memory_limit=memory, threads=3, exact=True)
        counted[memory] = adtc.count(data, space, "acc >= 0.6", monitor=monitor)
        assert threads == {most}
        threads.clear()
    assert len(set(counted.values())) == 1
    monitor = Monitor(memory_limit=4_000_000, threads=3, exact=True)
    with pytest.raises(TooLargeError, match="the counts of pairs of features would need"):
        adtc.count(data, space, "acc >= 0.6", monitor=monitor)


def test_more_subproblems_than_memory_holds():
    data = random_data(300, 150, seed=3)
    with pytest.raises(TooLargeError, match="the table of subproblems would need"):
        adtc.count(
            data,
            adtc.Space(max_depth=7),
            "acc >= 0.9",
            engine="fast",
            monitor=Monitor(memory_limit=10**9, exact=True),
        )


@pytest.mark.parametrize("max_depth", [AT_ONCE, 3, 4])
def test_cancelled_before_it_starts(max_depth):
    monitor = Monitor()
    monitor.cancel()
    with pytest.raises(CancelledError, match="nothing was written"):
        run(monitor, max_depth=max_depth)


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("stop_at", ["least costs", "tensors of the last level"])
def test_cancelled_on_the_way_leaves_nothing_behind(stop_at, threads):
    before = threading.active_count()
    seen = []

    def stop(stage: str, done: int, total: int) -> None:
        seen.append(stage)
        if stage == stop_at:
            monitor.cancel()

    monitor = Monitor(progress=stop, threads=threads)
    with pytest.raises(CancelledError):
        run(monitor)
    assert seen.count(stop_at) >= 1
    assert seen[-1] == stop_at
    assert threading.active_count() == before
    assert run().total == run(Monitor(threads=threads)).total


def test_cancelled_from_another_thread():
    monitor = Monitor()
    started = threading.Event()
    monitor.progress = lambda *_: (started.set(), time.sleep(0.005))
    other = threading.Thread(target=lambda: (started.wait(10), monitor.cancel()))
    other.start()
    with pytest.raises(CancelledError):
        run(monitor)
    other.join()


def test_limits_are_errors_of_our_own():
    for limit in (Monitor(time_limit=0), Monitor(memory_limit=1)):
        with pytest.raises(ADTCError):
            run(limit)


# --- threads and progress ---------------------------------------------------------------------


@pytest.mark.parametrize("where", [None, "acc >= 0.6", "acc >= 0.6 and dp <= 0.2"])
@pytest.mark.parametrize("threads", [2, 4])
def test_threads_give_the_same_cells_in_the_same_order(threads, where):
    one, several = run(where=where), run(Monitor(threads=threads), where=where)
    assert one.keys.tolist() == several.keys.tolist()
    assert one.values.tolist() == several.values.tolist()
    assert one.circuit.cell_scan == several.circuit.cell_scan
    for a, b in zip(one.circuit.levels, several.circuit.levels, strict=True):
        assert a.cells.keys.tolist() == b.cells.keys.tolist()
        assert a.starts.tolist() == b.starts.tolist()


@pytest.mark.parametrize("inclusion", [True, False])
def test_runs_are_repeatable(inclusion):
    question = ask(WIDE, SPACE, semiring=COUNT, metrics=["error"], where="acc >= 0.6")
    one, other = (
        fast.run(question, WIDE, switches=Switches(inclusion=i)) for i in (inclusion, True)
    )
    assert one.keys.tolist() == other.keys.tolist()
    assert one.values.tolist() == other.values.tolist()


@pytest.mark.parametrize("threads", [1, 2])
def test_progress_counts_up_to_the_end_of_each_stage(threads):
    seen: list[tuple[str, int, int]] = []
    run(Monitor(progress=lambda *report: seen.append(report), threads=threads))
    stages = list(dict.fromkeys(stage for stage, _, _ in seen))
    assert stages[-1] == "tensors of level 0"
    assert len(stages) >= 3
    for stage in stages:
        reports = [(done, total) for name, done, total in seen if name == stage]
        totals = {total for _, total in reports}
        dones = [done for done, _ in reports]
        # a stage may run several times; each time it starts anew
        starts = [i for i, done in enumerate(dones) if done == 1]
        for start, stop in zip(starts, [*starts[1:], len(dones)], strict=True):
            assert dones[start:stop] == list(range(1, stop - start + 1))
            assert dones[stop - 1] in totals


def test_jobs_give_their_results_in_order():
    def square(job: int) -> int:
        time.sleep(0.001 * (7 - job))  # the last ones are done first
        return job * job

    for threads in (1, 4):
        found = run_jobs(square, range(7), "squares", Monitor(threads=threads))
        assert found == [job * job for job in range(7)]


@pytest.mark.parametrize("threads", [1, 4])
def test_an_error_in_a_job_ends_the_run(threads):
    def fail(job: int) -> int:
        if job == 2:
            raise RuntimeError("job 2")
        return job

    with pytest.raises(RuntimeError, match="job 2"):
        run_jobs(fail, range(50), "jobs", Monitor(threads=threads))
    assert run_jobs(fail, range(2), "jobs", Monitor(threads=threads)) == [0, 1]


def test_whole_space_of_a_table_without_rows_to_split():
    data = adtc.Data.from_arrays([[1] * 6], [0], labels=[0, 1, 2])
    assert adtc.count(data, adtc.Space(max_depth=4), engine="fast") == 3
    everything = adtc.count(data, adtc.Space(max_depth=4, minsup=0), engine="fast")
    assert everything == oracle.number_of_trees(3, 4, 6)

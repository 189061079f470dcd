"""How soon the core notices that a run shall stop: cancelled from outside, or out of time.

    python benchmarks/noticing.py [TIMES]

Each question is stopped at random moments; printed are seconds from then until its error arrives,
and the CPU seconds that the process used meanwhile, which a loaded machine does not stretch.
"""

import random
import sys
import threading
import time

import adtc
from adtc.errors import CancelledError, LimitError

QUESTIONS = {
    "adult, depth 4, 5 %, four metrics": ("adult", 4, 0.05, ["size", "acc", "f1", "dp"]),
    "adult, depth 5, 2 %, errors": ("adult", 5, 0.02, ["error"]),
    "mushroom, depth 4, size and errors": ("mushroom", 4, 0.01, ["size", "error"]),
}
LONGEST = 2.0  # seconds after the start


def main() -> None:
    times = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    rng = random.Random(0)
    for name, (table, depth, share, metrics) in QUESTIONS.items():
        data, space = adtc.load_dataset(table), adtc.Space(max_depth=depth, relminsup=share)
        for how in (cancelled, out_of_time):
            found = [how(data, space, metrics, rng.uniform(0.05, LONGEST)) for _ in range(times)]
            late = [pair for pair in found if pair is not None]
            if late:
                wall, cpu = (max(pair[i] for pair in late) for i in range(2))
                kind = how.__name__.replace("_", " ")
                print(f"{name}, {kind}: {wall:.3f} s, {cpu:.3f} CPU s at most, {len(late)} times")
            else:
                print(f"{name}: done before it was stopped")


def cancelled(data, space, metrics, after):
    monitor, stopped = adtc.Monitor(), []

    def stop():
        stopped.append((time.perf_counter(), time.process_time()))
        monitor.cancel()

    timer = threading.Timer(after, stop)
    timer.start()
    try:
        adtc.model_tensor(data, space, metrics, monitor=monitor)
    except CancelledError:
        return time.perf_counter() - stopped[0][0], time.process_time() - stopped[0][1]
    except LimitError:
        return None
    finally:
        timer.cancel()
    return None


def out_of_time(data, space, metrics, after):
    stopped = []
    timer = threading.Timer(
        after, lambda: stopped.append((time.perf_counter(), time.process_time()))
    )
    monitor = adtc.Monitor(time_limit=after, exact=True)
    timer.start()
    try:
        adtc.model_tensor(data, space, metrics, monitor=monitor)
    except LimitError:
        if not stopped:  # it was foreseen
            return None
        return time.perf_counter() - stopped[0][0], time.process_time() - stopped[0][1]
    finally:
        timer.cancel()
    return None


if __name__ == "__main__":
    main()

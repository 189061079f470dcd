"""What workers cost: CPU seconds and bytes of one question, on one thread and on 1 and 2 workers.

    python benchmarks/cluster.py

CPU time does not depend on what else the machine does. The busier of two workers says how long the
run takes where each has a core of its own.
"""

import time

import adtc
from adtc.engine.executors.workers import connected

TABLE, BINS, METRICS, WHERE = "german-credit", 2, ["size", "acc"], "acc >= 0.755"
SPACE = adtc.Space(max_depth=5, relminsup=0.02)


def main() -> None:
    data = adtc.load_dataset(TABLE, nbins=BINS)
    print(
        f"{TABLE}, depth {SPACE.max_depth}, at least {SPACE.min_support(data.total)} rows per leaf,"
    )
    print(f"metrics {', '.join(METRICS)}, where {WHERE}")
    started = time.process_time()
    here = adtc.profile(data, SPACE, METRICS, where=WHERE, monitor=adtc.Monitor(threads=1))
    print(f"one thread: {time.process_time() - started:.2f} s CPU")
    for workers in (1, 2):
        with connected("local", workers=workers) as client:
            monitor = adtc.Monitor(client=client)
            adtc.count(data, adtc.Space(max_depth=1), monitor=monitor)  # modules are loaded now
            before, own = client.run(time.process_time), time.process_time()
            there = adtc.profile(data, SPACE, METRICS, where=WHERE, monitor=monitor)
            spent = [t - before[w] for w, t in client.run(time.process_time).items()]
            own = time.process_time() - own
            assert there.count == here.count
            print(
                f"{workers} worker(s): {sum(spent):.2f} s CPU in all, the busiest {max(spent):.2f} "
                f"s; client with scheduler {own:.2f} s"
            )
            if workers == 1:
                held = {k.removeprefix("adtc-"): n for k, n in client.nbytes(summary=True).items()}
                print("held by workers at the end, bytes by kind of task:")
                for kind, size in sorted(held.items(), key=lambda item: -item[1]):
                    print(f"  {kind:60.60} {size:>12,}")
                root = there.source.circuit.root
                print(
                    f"come to the client: {sum(column.nbytes for column in root):,} bytes of cells"
                )
            del there


if __name__ == "__main__":
    main()

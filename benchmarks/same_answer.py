"""Print one answer from one thread, two threads, workers, and runs killed with -9 and resumed.

    python benchmarks/same_answer.py [--table german-credit] [--maxdep 4] ...

Every run is a process of its own. The digest is that of all cells with their numbers of trees.
"""

import argparse
import hashlib
import json
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PART = "*.adtc-part"


def main() -> None:
    if sys.argv[1:2] == ["answer"]:
        print(json.dumps(answer(json.loads(sys.argv[2]))))
        return
    given = argparse.ArgumentParser(description=__doc__)
    given.add_argument("--table", default="german-credit")
    given.add_argument("--nbins", type=int, default=2)
    given.add_argument("--maxdep", type=int, default=4)
    given.add_argument("--relminsup", default="0.02")
    given.add_argument("--metrics", default="size,acc")
    given.add_argument("--where", default="acc >= 0.74")
    asked = vars(given.parse_args())
    print(json.dumps(asked))
    one = show("one thread", asked, threads=1)
    others = [
        show("two threads", asked, threads=2),
        show("one worker", asked, workers=1),
        show("two workers", asked, workers=2),
        killed_and_resumed(asked, "two threads", threads=2),
        killed_and_resumed(asked, "two workers", workers=2),
    ]
    same = all(other["digest"] == one["digest"] for other in others)
    print("all the same" if same else "THEY DIFFER")
    sys.exit(not same)


def show(name: str, asked: dict, **how: object) -> dict:
    """Ask in a process, and print what it says."""
    output = subprocess.run(command({**asked, **how}), check=True, capture_output=True, text=True)
    found = json.loads(output.stdout)
    kept = f"  parts reused: {found['reused']}" if "folder" in how else ""
    print(
        f"{name:24} {found['count']:>28,} trees  {found['cells']:>9,} cells  "
        f"{found['digest'][:16]}  {found['seconds']:6.2f} s{kept}",
        flush=True,
    )
    return found


def killed_and_resumed(asked: dict, name: str, **how: int) -> dict:
    """Kill a run as soon as a third of the parts are there, and go on with two threads."""
    with tempfile.TemporaryDirectory() as whole, tempfile.TemporaryDirectory() as folder:
        show(f"{name}, parts kept", asked, **how, folder=whole)
        enough = max(1, len(list(Path(whole).glob(PART))) // 3)
        run = subprocess.Popen(
            command({**asked, **how, "folder": folder}),
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        while run.poll() is None and len(list(Path(folder).glob(PART))) < enough:
            time.sleep(0.001)
        run.send_signal(signal.SIGKILL)
        died = run.wait() == -signal.SIGKILL
        print(f"killed with -9: {died}, parts there: {len(list(Path(folder).glob(PART)))}")
        return show("resumed here", asked, threads=2, folder=folder)


def command(asked: dict) -> list[str]:
    return [sys.executable, __file__, "answer", json.dumps(asked)]


def answer(asked: dict) -> dict:
    """Profile the table, and digest the cells."""
    import adtc
    from adtc.engine.executors.workers import connected

    data = adtc.load_dataset(asked["table"], nbins=asked["nbins"])
    space = adtc.Space(max_depth=asked["maxdep"], relminsup=asked["relminsup"])

    def made(**how: object) -> "tuple[adtc.Profile, float]":
        started = time.perf_counter()
        found = adtc.profile(
            data, space, asked["metrics"].split(","), where=asked["where"],
            monitor=adtc.Monitor(**how),
        )  # fmt: skip
        return found, time.perf_counter() - started

    kept = adtc.Checkpoint(asked["folder"]) if "folder" in asked else None
    if "workers" in asked:
        with connected("local", workers=asked["workers"]) as client:
            profile, seconds = made(client=client, checkpoint=kept)
    else:
        profile, seconds = made(threads=asked["threads"], checkpoint=kept)
    digest = hashlib.sha256(profile.keys.tobytes() + profile.trees.tobytes()).hexdigest()
    return {
        "count": profile.count,
        "cells": len(profile.keys),
        "digest": digest,
        "seconds": seconds,
        "reused": None if kept is None else kept.reused,
    }


if __name__ == "__main__":
    main()

"""Try the inputs of one target, one by one, in a process of its own.

Before each input its number goes into a shared file: whoever watches knows what a process that
crashed or hangs was doing. Python's own hangs and what memory an input takes are noticed here.
"""

import json
import mmap
import os
import re
import resource
import signal
import struct
import sys
import tempfile
import time
import traceback
import warnings
from pathlib import Path
from random import Random

from target import Target, Trial

from adtc.errors import ADTCError

STATE = struct.Struct("<4Q")  # inputs begun, accepted, compared, MB of memory at most
CPU_SECONDS = 20  # of one input
MOST_MEMORY = 1 << 30  # bytes that one input may add
ADDRESSES = 12 << 30  # bytes; what asks for more gets a MemoryError


class HangError(BaseException):
    """An input took too long."""


def work(target: Target, seed: int, numbers: range, seconds: float, state: Path) -> None:
    """Try the inputs of these numbers; findings go to standard output as JSON lines."""
    out = os.fdopen(os.dup(1), "w", buffering=1)  # commands under test may take over sys.stdout
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESSES, ADDRESSES))
    signal.signal(signal.SIGPROF, _too_long)
    warnings.simplefilter("ignore")
    end = time.monotonic() + seconds
    with state.open("r+b") as file, mmap.mmap(file.fileno(), STATE.size) as shared:
        _, accepted, compared, _ = STATE.unpack(shared)
        with tempfile.TemporaryDirectory(dir=_memory_folder()) as folder:
            trial = target.prepare(Path(folder))
            peak = _peak()
            for number in numbers:
                if time.monotonic() > end:
                    break
                shared[:] = STATE.pack(number + 1, accepted, compared, peak >> 20)
                answers, finding = _tried(trial, target.name, seed, number)
                if answers is not None:
                    accepted, compared = accepted + 1, compared + answers
                peak, before = _peak(), peak
                if peak - before > MOST_MEMORY:
                    finding = finding or f"it took {(peak - before) >> 20} MB"
                if finding:
                    out.write(json.dumps({"number": number, "finding": finding}) + "\n")
            shared[:] = STATE.pack(STATE.unpack(shared)[0], accepted, compared, peak >> 20)
            os.chdir("/")
    sys.stdout.flush()


def _tried(trial: Trial, name: str, seed: int, number: int) -> tuple[int | None, str | None]:
    """Try one input: how many answers were compared (None: refused), and what is wrong."""
    given = trial.generate(source(name, seed, number))
    signal.setitimer(signal.ITIMER_PROF, CPU_SECONDS)
    try:
        return trial.call(given), None
    except ADTCError as error:
        return None, None if str(error).strip() else "it is refused without a word"
    except HangError:
        return None, f"it took more than {CPU_SECONDS} s"
    except BaseException as error:
        return None, _where(error)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def source(name: str, seed: int, number: int) -> Random:
    """Make the random source of an input."""
    return Random(f"{seed}/{name}/{number}")


def _where(error: BaseException) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    inside = [f for f in frames if "adtc" in Path(f.filename).parts] or frames
    place = f"{Path(inside[-1].filename).name}:{inside[-1].lineno}"
    said = re.sub(r"'[^']*'|\d+", "_", " ".join(str(error).split()))  # alike: one finding
    return f"{type(error).__name__} at {place}: {said[:120]}"


def _too_long(*_: object) -> None:
    raise HangError


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10


def _memory_folder() -> str | None:
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None

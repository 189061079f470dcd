"""Ask five questions that are too large, within limits, and print whether the limits held.

Time and resident memory are measured from outside, the start of Python included. A limit is held
if it is exceeded by at most 10 %. Run it as ``make limits``, or with fewer seconds as
``python benchmarks/limits.py --seconds 5``.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ADULT = ["adult", "--maxdep", "5", "--relminsup", "0.01"]
QUESTIONS = {
    "profile by four metrics": ["profile", *ADULT, "--metrics", "size,acc,f1,eodd_sum"],
    "profile by five metrics": [
        "profile", *ADULT[:3], "--relminsup", "0.05", "--metrics", "size,acc,f1,dp,eopp",
    ],
    "count within a formula": ["count", *ADULT, "--where", "acc >= 0.8 and f1 >= 0.5"],
    "best tree within a gap": ["optimize", "adult", "--maxdep", "6", "--where", "dp <= 0.01"],
    "is there such a tree": [
        "exists", "german-credit", "--maxdep", "6", "--where", "acc >= 0.9 and dp <= 0.001",
    ],
}  # fmt: skip
ALLOWED = 1.1
_LOOK = 0.005  # seconds between looks at the memory


def main() -> int:
    """Ask them all; the exit code is 1 if a limit did not hold."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--megabytes", type=float, default=1000.0)
    limits = parser.parse_args()
    print(f"{'question':26}{'seconds':>9}{'of':>6}{'MB':>8}{'of':>7}  held  status")
    held = [_ask(name, args, limits.seconds, limits.megabytes) for name, args in QUESTIONS.items()]
    print(f"{sum(held)} of {len(held)} held both limits within {ALLOWED - 1:.0%}")
    return 0 if all(held) else 1


def _ask(name: str, args: list[str], seconds: float, megabytes: float) -> bool:
    command = [
        sys.executable, "-m", "adtc", *args, "--quiet", "--json",
        "--time-limit", f"{seconds:g}", "--memory-limit", f"{megabytes:g}MB",
    ]  # fmt: skip
    started, peak = time.monotonic(), 0
    # a file takes an answer of any length; a pipe would hold the process up
    with (
        tempfile.TemporaryFile() as answered,
        subprocess.Popen(command, stdout=answered) as process,
    ):
        while process.poll() is None:
            peak = max(peak, _resident(process.pid))
            time.sleep(_LOOK)
            if time.monotonic() - started > 3 * seconds + 10:
                process.kill()
        took = time.monotonic() - started
        answered.seek(0)
        told = answered.read()
    answer = json.loads(told) if told else {"status": "none"}
    held = (
        process.returncode == 0 and took <= ALLOWED * seconds and peak <= ALLOWED * megabytes * 1e6
    )
    more = answer.get("finished") or ""
    print(
        f"{name:26}{took:9.2f}{seconds:6g}{peak / 1e6:8.0f}{megabytes:7g}  "
        f"{'yes ' if held else 'NO  '}  {answer['status']} {more}",
        flush=True,
    )
    return held


def _resident(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1]) * 4096
    except (OSError, IndexError):  # it has just ended
        return 0


if __name__ == "__main__":
    sys.exit(main())

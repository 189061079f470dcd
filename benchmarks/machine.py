"""On what, when and from which commit something was measured."""

import datetime
import os
import platform
import subprocess
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]


def describe() -> dict[str, Any]:
    """Return what a reader needs to judge seconds by."""
    return {
        "date": datetime.date.today().isoformat(),
        "commit": commit(),
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "processor": processor(),
        "cores": os.cpu_count(),
        "load": round(os.getloadavg()[0], 1),
    }


def in_words(told: dict[str, Any]) -> str:
    """Write the description as one sentence."""
    return (
        f"{told['date']}, commit {told['commit']}, Python {told['python']}, {told['system']}, "
        f"{told['cores']} cores ({told['processor']}), load {told['load']} at the start"
    )


def commit() -> str:
    """Name the commit, with a mark if files differ from it (pages, where figures go, aside)."""
    name = _git("describe", "--always", "--exclude=*")
    changed = _git("status", "--porcelain", "--untracked-files=no", "--", ".", ":!docs/*.md")
    return f"{name or 'unknown'}{', changed since' if changed else ''}"


def _git(*words: str) -> str:
    done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.strip()


def processor() -> str:
    """Name the processor as the system does."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or "unknown"
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else "unknown"

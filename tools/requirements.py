"""Print what an extra of this package asks for, without the package itself."""

import sys
import tomllib
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent / "pyproject.toml"


def requirements(project: dict, extra: str) -> list[str]:
    """List what an extra needs, with the extras that it names."""
    found = []
    for text in project["optional-dependencies"][extra]:
        if text.startswith("adtc["):
            for other in text[5:-1].split(","):
                found += requirements(project, other)
        else:
            found.append(text)
    return found


if __name__ == "__main__":
    project = tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]
    print(*dict.fromkeys(project["dependencies"] + requirements(project, sys.argv[1])))

"""Folders of finished parts, damaged or mixed up: the answer is that of a run that begins anew.

No part is sealed anew after a change: one with numbers that are possible would be believed.
"""

import re
import shutil
from pathlib import Path
from random import Random

import numpy as np
from mutating import change_bytes
from target import ACCEPTED, Trial, WrongError

import adtc
from adtc.engine.executors import checkpoint

Part = tuple[str, bytes | None]  # a file's name and content; None is a folder of this name


def prepare(folder: Path) -> Trial:
    """Make the trial."""
    checkpoint._WORTH = 0.0  # every part is kept, however quickly it was made
    rng = np.random.default_rng(0)
    data = adtc.Data.from_arrays(rng.integers(0, 2, (40, 6)), rng.integers(0, 2, 40))
    kept = folder / "kept"
    right = _asked(data, kept)
    corpus = {path.name: path.read_bytes() for path in sorted(kept.iterdir())}

    def generate(random: Random) -> list[Part]:
        names = random.sample(sorted(corpus), random.choice((1, 1, 2, 3)))
        return [_changed(random, name, corpus) for name in names]

    def call(parts: list[Part]) -> int:
        shutil.rmtree(kept)
        kept.mkdir()
        changed = dict(parts)
        for name, content in (corpus | changed).items():
            if content is None:
                (kept / name).mkdir()
            else:
                (kept / name).write_bytes(content)
        found = _asked(data, kept)
        if found != right:
            raise WrongError(f"{found} from a damaged checkpoint, not {right}")
        return ACCEPTED

    return Trial(generate, call)


def _asked(data: adtc.Data, folder: Path) -> dict[tuple[object, ...], int]:
    monitor = adtc.Monitor(threads=1, checkpoint=adtc.Checkpoint(folder))
    where = "error <= 12 or size <= 3"
    return dict(
        adtc.model_tensor(data, adtc.Space(3), ["error", "size"], where=where, monitor=monitor)
    )


def _changed(random: Random, name: str, corpus: dict[str, bytes]) -> Part:
    content, others = corpus[name], list(corpus.values())
    match random.randrange(10):
        case 0:
            return name, random.choice([other for other in others if other != content])
        case 1:
            return name, None
        case 2:  # as if of other units
            start, stop = random.randrange(10), random.randrange(20)
            return re.sub(r"-\d+-\d+\.", f"-{start}-{stop}.", name), content
        case _:
            return name, change_bytes(random, content, others)

"""Where no tree satisfies a formula: how near trees come to each of its conditions.

It is part of the answer as long as it is found quickly; a run that takes too long is left out.
"""

from typing import TYPE_CHECKING, Any

from adtc.cli.asking import Asked
from adtc.cli.output import Line
from adtc.cli.running import watched_beside

if TYPE_CHECKING:
    from adtc.data import Data
    from adtc.engine.nearest import Nearest

SECONDS = 10.0
BYTES = 10**8  # the least gap of all trees may take hours; its tensors outgrow this in a second

Report = tuple[dict[str, Any], list[Line]]


def nearest_report(asked: Asked, data: "Data", *, sure: bool = True) -> Report:
    """Tell the nearest feasible value of each atom, for programs and for people.

    Parameters
    ----------
    sure
        Whether it is known that no tree satisfies the formula; else that is asked first.
    """
    if asked.where is None:
        return {}, []
    found = _found(asked, data, sure)
    if not found:
        return {"nearest": None}, []
    from adtc.profiles.audits.audit_json import nearest_json

    head = Line("the nearest that trees come to each condition:")
    return {"nearest": [nearest_json(one) for one in found]}, [
        head,
        *(Line(f"  {one}") for one in found),
    ]


def _found(asked: Asked, data: "Data", sure: bool) -> "tuple[Nearest, ...]":
    from adtc.engine.monitor import Monitor
    from adtc.engine.nearest import nearest
    from adtc.engine.questions import exists

    memory = min(BYTES, asked.limits.get("memory_limit", BYTES))
    left = asked.time_left
    seconds = SECONDS if left is None else max(0.0, min(SECONDS, left))
    limits = {**asked.limits, "time_limit": seconds, "memory_limit": memory, "exact": True}
    monitor = Monitor(**limits)
    options: dict[str, Any] = {"engine": asked.engine, "monitor": monitor, "define": asked.define}
    about = data, asked.space(), asked.where or "true"

    def ask() -> "tuple[Nearest, ...]":
        if not sure and exists(*about, **options):
            return ()
        return nearest(*about, **options)

    return watched_beside(ask, monitor) or ()

"""Where the parts of a run are kept and computed: --checkpoint, --resume, --dask, --insecure."""

from typing import Any

import click


def opened_run(run: dict[str, Any]) -> dict[str, Any]:
    """Open the folder and connect to the workers that the options of a run name."""
    return _with_client(_with_checkpoint(run))


def _with_checkpoint(run: dict[str, Any]) -> dict[str, Any]:
    """Open the folder that parts of the run are kept in, if one is given."""
    from adtc.errors import QueryError

    resume = run.pop("resume", False)
    if "checkpoint" not in run:
        if resume:
            raise QueryError("--resume goes on from a folder: give it with --checkpoint FOLDER.")
        return run
    from adtc.engine.executors.checkpoint import Checkpoint

    return {**run, "checkpoint": Checkpoint(run["checkpoint"], resume=resume)}


def _with_client(run: dict[str, Any]) -> dict[str, Any]:
    """Connect to the workers, if some are to compute, until the command ends."""
    from adtc.errors import QueryError

    address, insecure = run.pop("dask", None), run.pop("insecure", False)
    if address is None:
        if insecure:
            raise QueryError("--insecure is about a cluster: give its address with --dask ADDRESS.")
        return run
    from adtc.engine.executors.workers import connected
    from adtc.engine.monitor import usable_cores

    workers = run.get("threads") or usable_cores()
    found = connected(address, insecure=insecure, workers=workers)
    return {**run, "client": click.get_current_context().with_resource(found)}

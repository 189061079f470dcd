"""Workers for a run: started on this machine, or found at an address.

What a scheduler is sent, it executes; so one on this machine listens to this machine alone, and
one elsewhere is contacted under TLS only, unless the user insists.
"""

import ipaddress
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

from adtc._version import __version__
from adtc.engine.executors import tasks
from adtc.errors import QueryError

LOCAL = "local"
_HERE = "127.0.0.1"
_PATIENCE = 10.0  # seconds until a scheduler, or its first worker, answers
_DEATHS = 3  # of workers over one task, before the run gives up


@contextmanager
def connected(address: str, *, insecure: bool = False, workers: int = 1) -> Iterator[Any]:
    """Open a client of a cluster, and close it at the end.

    Parameters
    ----------
    address
        That of a scheduler, such as ``tls://host:8786``; or ``local``: workers on this machine.
    insecure
        Whether the scheduler may be elsewhere and without TLS.
    workers
        How many processes ``local`` starts, of one thread each.
    """
    distributed = _distributed()
    if address != LOCAL:
        check_address(address, insecure=insecure)
        with _quiet(), _client_of(distributed, address) as client:
            yield client
        return
    import dask

    # a task is given up when more workers than that have died over it
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": _DEATHS - 1}),
        distributed.LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            processes=True,
            host=_HERE,
            dashboard_address=f"{_HERE}:0",
            silence_logs="ERROR",
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@contextmanager
def _quiet() -> Iterator[None]:
    """Let the client log no tracebacks where a scheduler is lost: the run says so in a sentence."""
    logger = logging.getLogger("distributed.client")
    level = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(level)


def _distributed() -> Any:
    """Import what is an extra, or say which."""
    try:
        import distributed
    except ImportError:
        raise QueryError(
            "a cluster needs the package distributed: install it with pip install 'adtc[dask]'."
        ) from None
    return distributed


def check_address(address: str, *, insecure: bool) -> None:
    """Refuse an address that sends the table and the code in clear over a network.

    Examples
    --------
    >>> check_address("tcp://127.0.0.1:8786", insecure=False)
    >>> check_address("tls://scheduler.example:8786", insecure=False)
    """
    try:
        parts = urlsplit(address if "://" in address else f"tcp://{address}")
        scheme, host, port = parts.scheme, parts.hostname, parts.port
    except ValueError:
        scheme, host, port = "", None, None
    if not host or port is None or scheme not in ("tcp", "tls", "ws", "wss"):
        raise QueryError(
            f"'{address}' is not the address of a scheduler: give one such as "
            f"tls://host:8786, or local for workers on this machine."
        )
    if scheme in ("tls", "wss") or insecure or _is_here(host):
        return
    raise QueryError(
        f"'{address}' is neither on this machine nor under TLS, so others could read the table "
        f"or run code on the workers: give a tls:// address, or --insecure (insecure=True) if the "
        f"network is yours alone."
    )


def _is_here(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


@contextmanager
def _client_of(distributed: Any, address: str) -> Iterator[Any]:
    """Open a client of a scheduler that has workers with this version of adtc."""
    try:
        client = distributed.Client(address, timeout=_PATIENCE)
    except (OSError, ValueError, TypeError) as error:
        reason = str(error).partition("\n")[0].rstrip(".")
        raise QueryError(
            f"no scheduler answers at '{address}' ({reason}): start one with dask scheduler, and "
            f"workers with dask worker {address}."
        ) from None
    with client:
        try:
            client.wait_for_workers(1, timeout=_PATIENCE)
        except TimeoutError:
            raise QueryError(
                f"the scheduler at '{address}' has no workers: start some with dask worker "
                f"{address} --nthreads 1."
            ) from None
        _check_versions(client)
        yield client


def _check_versions(client: Any) -> None:
    """Raise if workers compute with another version than this one."""
    try:
        found = set(client.run(tasks.version).values())
    except Exception:  # whatever a worker without adtc raises
        found = {"no adtc"}
    if other := sorted(found - {__version__}):
        raise QueryError(
            f"a worker has {other[0]}, and this is adtc {__version__}: install the same version "
            f"on all machines."
        )

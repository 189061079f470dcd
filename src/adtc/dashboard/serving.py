"""Start the dashboard on this machine: a free port, a browser, and an end with Ctrl-C."""

import socket
import threading
import time
import webbrowser
from collections.abc import Callable
from contextlib import suppress
from urllib.parse import urlencode

from adtc.dashboard.guard import new_token
from adtc.dashboard.server import make_app
from adtc.dashboard.session import Session
from adtc.errors import ADTCError, QueryError
from adtc.models.small import SMALL
from adtc.profiles.inexact.ranged import Ranged
from adtc.profiles.profile import Profile
from adtc.text import is_whole

HOST = "127.0.0.1"
PORT = 8765
_TRIES = 100
_LAST = 65535
_PATIENCE = 10.0  # seconds until the browser is opened anyway
_IDLE = 2.0  # seconds without a question before work is done ahead


def serve(
    profile: Profile | Ranged,
    compare: Profile | None = None,
    *,
    titles: tuple[str, str] | None = None,
    port: int = PORT,
    browser: bool = True,
    where: str | None = None,
    small: int = SMALL,
    say: Callable[[str], object] = print,
) -> None:
    """Serve the dashboard of a profile until it is stopped with Ctrl-C.

    Parameters
    ----------
    profile, compare, titles, small
        As in `make_app`.
    port
        Where to listen; if the port is taken, the next free one is used and said.
    browser
        Whether to open a browser.
    where
        The formula that the dashboard opens with.
    say
        Takes what there is to tell: where the dashboard is.

    Notes
    -----
    The link that is told and opened carries a token, made anew each time: other users of the
    machine reach the port, too.
    """
    token = new_token()
    app = make_app(profile, compare, titles=titles, token=token, small=small)
    try:
        import uvicorn
    except ImportError:
        raise QueryError(
            "the dashboard needs uvicorn: install it with `pip install 'adtc[dashboard]'`."
        ) from None
    listener = listen(port)
    found = listener.getsockname()[1]
    begin = f"#{urlencode({'where': where})}" if where else ""
    address = f"http://{HOST}:{found}/?token={token}{begin}"
    if found != port and port:
        say(f"port {port} is taken, so the dashboard uses {found}.")
    say(f"the dashboard is at {address} (stop it with Ctrl-C)")
    config = uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,
        server_header=False,
        lifespan="off",
        ws="none",
        limit_concurrency=200,
    )
    server = uvicorn.Server(config)
    threading.Thread(target=_warm, args=(server, app.state.session), daemon=True).start()
    if browser:
        threading.Thread(target=_open, args=(server, address), daemon=True).start()
    try:
        server.run(sockets=[listener])
    finally:
        listener.close()


def listen(port: int) -> socket.socket:
    """Take a port of this machine, or the next one that is free; 0 takes any."""
    if not is_whole(port, 0) or port > _LAST:
        raise QueryError(f"port is {port!r}, expected a whole number from 0 to {_LAST}.")
    for candidate in range(port, min(port + _TRIES, _LAST + 1)):
        # with the protocol named, asyncio sends small answers at once, not 40 ms later
        listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((HOST, candidate))
            listener.listen(128)
        except PermissionError:
            listener.close()
            raise QueryError(
                f"port {candidate} is not yours to use; give one above 1023."
            ) from None
        except OSError:
            listener.close()
            continue
        return listener
    raise QueryError(f"no port from {port} to {candidate} is free; give another one to --port.")


def _open(server: object, address: str) -> None:
    """Open the browser once the server answers."""
    _wait(server)
    webbrowser.open(address)


def _warm(server: object, session: Session) -> None:
    """Make drawing ready once the first landscape is out, or nobody has asked for a while."""
    _wait(server)
    session.seen.wait(_IDLE)
    with suppress(ADTCError):  # told to whoever asks for a tree
        session.warm()


def _wait(server: object) -> None:
    end = time.monotonic() + _PATIENCE
    while not getattr(server, "started", False) and time.monotonic() < end:
        time.sleep(0.02)

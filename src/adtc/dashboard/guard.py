"""Who may ask: requests to this machine's own names that only read and carry the token.

The port is open to every user of the machine, so the address alone must not be enough. The first
link carries a token; it is kept in a cookie, and the browser is sent on to an address without it.
"""

import json
import secrets
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any
from urllib.parse import parse_qs

Message = MutableMapping[str, Any]
Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

HOSTS = ("127.0.0.1", "localhost", "[::1]")
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = (
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
)
STRANGER = (
    "this dashboard opens with the link that `adtc dashboard` printed when it started (it ends in "
    "?token=...): open that link once in this browser."
)


def new_token() -> str:
    """Make a token that nobody guesses."""
    return secrets.token_urlsafe(24)


class Guard:
    """Lets in who may ask, and marks every answer.

    Parameters
    ----------
    token
        What the first link must carry; None lets in whoever asks, for use within one process.
    """

    def __init__(self, app: App, token: str | None = None) -> None:
        self.app, self.token = app, token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            return
        sentence, status = _objection(scope)
        if sentence:
            await _refuse(scope, send, sentence, status)
            return
        if self.token is not None:
            given = parse_qs(scope["query_string"].decode("latin-1")).get("token")
            if given is not None and scope["path"] == "/" and self._is_right(given):
                await self._welcome(scope, send)
                return
            if not self._is_right(_kept_tokens(scope)):
                await _refuse(scope, send, STRANGER, 403)
                return

        async def marked(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", ()), *HEADERS]
            await send(message)

        await self.app(scope, receive, marked)

    def _is_right(self, given: list[str]) -> bool:
        """Compare in a time that does not tell how much of a guess is right."""
        wanted = (self.token or "").encode()
        return any([secrets.compare_digest(one.encode(), wanted) for one in given])

    async def _welcome(self, scope: Scope, send: Send) -> None:
        """Keep the token in a cookie and send the browser on to an address without it."""
        cookie = f"{_cookie_name(scope)}={self.token}; Path=/; HttpOnly; SameSite=Strict"
        headers = [(b"location", b"/"), (b"set-cookie", cookie.encode())]
        await _send(send, 303, headers, b"")


def host_name(header: str) -> str:
    """Cut the port off a Host header.

    Examples
    --------
    >>> host_name("127.0.0.1:8765"), host_name("[::1]:80"), host_name("localhost")
    ('127.0.0.1', '[::1]', 'localhost')
    """
    name, colon, port = header.rpartition(":")
    return (name if colon and port.isdigit() else header).lower()


def _headers(scope: Scope, wanted: bytes) -> list[str]:
    return [value.decode("latin-1") for name, value in scope["headers"] if name == wanted]


def _objection(scope: Scope) -> tuple[str, int]:
    hosts = _headers(scope, b"host")
    if len(hosts) != 1 or host_name(hosts[0]) not in HOSTS:  # a foreign name may point here, too
        return "this server answers requests to 127.0.0.1 and localhost only.", 403
    if scope["method"] not in ("GET", "HEAD"):
        return f"{scope['method']} is not possible here: the dashboard only reads.", 405
    if not scope["query_string"].isascii():
        return "the query is not ASCII: write other characters as %XX.", 400
    return "", 200


def _cookie_name(scope: Scope) -> str:
    """Name the cookie after the port: all ports of a machine share their cookies."""
    (host,) = _headers(scope, b"host")
    port = host[len(host_name(host)) :].lstrip(":")
    return f"adtc_{port or 80}"


def _kept_tokens(scope: Scope) -> list[str]:
    name = _cookie_name(scope)
    parts = ";".join(_headers(scope, b"cookie")).split(";")
    pairs = (part.strip().partition("=") for part in parts)
    return [value for key, _, value in pairs if key == name]


async def _refuse(scope: Scope, send: Send, sentence: str, status: int) -> None:
    """Answer with a sentence: as JSON to the page's questions, as text to a person."""
    if scope["path"].startswith("/api/"):
        body, kind = json.dumps({"error": sentence}).encode(), b"application/json"
    else:
        body, kind = f"adtc: {sentence}\n".encode(), b"text/plain; charset=utf-8"
    await _send(send, status, [(b"content-type", kind)], body)


async def _send(send: Send, status: int, headers: list[tuple[bytes, bytes]], body: bytes) -> None:
    length = (b"content-length", str(len(body)).encode())
    start = {"type": "http.response.start", "status": status}
    await send({**start, "headers": [*headers, length, *HEADERS]})
    await send({"type": "http.response.body", "body": body})

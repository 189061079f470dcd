"""The token of the first link: nobody gets in without it, and it does not stay in the address."""

import asyncio
import re
from typing import Any

import pytest

import adtc
from adtc.errors import QueryError
from adtc.profiles import Profile

httpx = pytest.importorskip("httpx", reason="the server's tests ask through httpx")
testclient = pytest.importorskip("starlette.testclient", reason="the dashboard needs starlette")

from adtc.dashboard import make_app, serving  # noqa: E402
from adtc.dashboard.guard import Guard, new_token  # noqa: E402

TOKEN = "not-to-be-guessed"


@pytest.fixture(scope="module")
def app(small: Profile) -> Any:
    return make_app(small, token=TOKEN)


@pytest.fixture
def client(app: Any) -> Any:
    return testclient.TestClient(app, base_url="http://127.0.0.1:8765")


@pytest.mark.parametrize("path", ["/", "/page/app.js", "/api/overview", "/api/report?x=acc&y=dp"])
@pytest.mark.parametrize(
    "cookie", [None, "adtc_8765=wrong", "adtc_8765=", f"adtc_8766={TOKEN}", f"other={TOKEN}"]
)
def test_without_the_token_nothing_is_answered(client: Any, path: str, cookie: str | None) -> None:
    answer = client.get(path, headers={"cookie": cookie} if cookie else {})
    assert answer.status_code == 403
    said = answer.json()["error"] if path.startswith("/api/") else answer.text
    assert "open that link once in this browser" in said
    assert TOKEN not in answer.text
    assert "set-cookie" not in answer.headers


@pytest.mark.parametrize("token", ["", "wrong", TOKEN[:-1], TOKEN + "x", "é"])
def test_a_wrong_token_is_refused(client: Any, token: str) -> None:
    answer = client.get("/", params={"token": token}, follow_redirects=False)
    assert answer.status_code == 403
    assert "set-cookie" not in answer.headers


def test_the_token_moves_from_the_address_into_a_cookie(client: Any) -> None:
    answer = client.get("/", params={"token": TOKEN}, follow_redirects=False)
    assert answer.status_code == 303
    assert answer.headers["location"] == "/"
    assert answer.headers["cache-control"] == "no-store"
    name, *flags = answer.headers["set-cookie"].split("; ")
    assert name == f"adtc_8765={TOKEN}"
    assert set(flags) == {"Path=/", "HttpOnly", "SameSite=Strict"}
    assert client.get("/").status_code == 200
    assert client.get("/api/overview").status_code == 200


def test_a_token_in_another_address_opens_nothing(client: Any) -> None:
    assert client.get("/api/overview", params={"token": TOKEN}).status_code == 403


def test_a_foreign_name_is_refused_even_with_the_token(client: Any) -> None:
    headers = {"host": "evil.example:8765", "cookie": f"adtc_8765={TOKEN}"}
    answer = client.get("/api/overview", headers=headers)
    assert answer.status_code == 403
    assert "127.0.0.1" in answer.json()["error"]


def test_tokens_are_compared_in_constant_time(app: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    compared = []
    monkeypatch.setattr(
        "adtc.dashboard.guard.secrets.compare_digest", lambda a, b: compared.append((a, b)) or True
    )
    assert Guard(app, TOKEN)._is_right(["guess"])
    assert compared == [(b"guess", TOKEN.encode())]


def test_every_start_makes_a_new_token() -> None:
    assert len({new_token() for _ in range(100)}) == 100
    assert len(new_token()) >= 32


def test_the_printed_link_carries_the_token_before_the_view(
    small: Profile, monkeypatch: pytest.MonkeyPatch
) -> None:
    uvicorn = pytest.importorskip("uvicorn", reason="the dashboard needs uvicorn")
    monkeypatch.setattr(uvicorn.Server, "run", lambda self, sockets: None)
    monkeypatch.setattr(serving, "_warm", lambda server, session: None)
    said: list[str] = []
    serving.serve(small, port=0, browser=False, where="acc >= 0.6", say=said.append)
    assert re.search(r"/\?token=[\w-]{32}#where=acc\+%3E%3D\+0\.6 ", said[-1])


def test_small_leaves_show_no_numbers_anywhere() -> None:
    data = adtc.Data.from_arrays([[1]] * 4 + [[0]] * 30, [1] * 4 + [0] * 29 + [1])
    profile = adtc.profile(data, adtc.Space(max_depth=1), ["size", "acc"])
    for small, shown in ((10, False), (0, True)):
        client = testclient.TestClient(make_app(profile, small=small), base_url="http://localhost")
        view = client.get("/api/tree", params={"where": "size = 2 and acc > 0.9"}).json()
        texts = [view["svg"], *view["rules"]]
        assert any(re.search(r"\b4 rows", text) for text in texts) is shown
        assert any("fewer than" in text for text in texts) is not shown


def test_a_strange_limit_is_refused(small: Profile) -> None:
    with pytest.raises(QueryError, match="small is -1, expected a whole number of at least 0"):
        make_app(small, small=-1)


def test_a_query_that_is_not_ascii_is_refused(small: Profile) -> None:
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    async def ask() -> None:
        scope = {
            "type": "http",
            "method": "GET",
            "path": "/api/count",
            "headers": [(b"host", b"localhost")],
        }
        await make_app(small)({**scope, "query_string": b"a\xb5=1"}, None, send)

    asyncio.run(ask())
    assert sent[0]["status"] == 400
    assert b"is not ASCII" in sent[1]["body"]

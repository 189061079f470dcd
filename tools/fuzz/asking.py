"""Requests to the dashboard, within one process, and arguments of the command line."""

import asyncio
import os
import sys
from pathlib import Path
from random import Random
from typing import Any
from urllib.parse import quote

import click
from click.testing import CliRunner
from formulas import METRICS, WORDS, formula
from mutating import ODD_TEXTS, change_bytes, change_text
from saved import PEOPLE, people
from target import ACCEPTED, Trial, WrongError

import adtc
from adtc.cli import main
from adtc.dashboard import make_app
from adtc.errors import QueryError

# --- the dashboard --------------------------------------------------------------------------------

Request = tuple[str, bytes, bytes, list[tuple[bytes, bytes]]]  # method, path, query, headers
PATHS = ("overview", "count", "check", "landscape", "tree", "compare")
PARAMETERS = (
    "where",
    "x",
    "y",
    "bins",
    "fit",
    "cell",
    "side",
    "rank",
    "seed",
    "row",
    "trees",
    "token",
)
OK, REFUSED, BROKEN = 200, 400, 500


def a_value(random: Random, name: str) -> str:
    """Write what a parameter may be, or something odd."""
    if random.random() < 0.05:
        return random.choice(ODD_TEXTS)
    if name == "where":
        text = random.choice(
            (formula(random, 1), "size <= 2", "acc >= 0.5", "dp < 0.1 or acc = 1", "f1 > 1/3", "")
        )
        return text if random.random() < 0.8 else change_text(random, text, WORDS)
    if name in ("x", "y"):
        return random.choice(("size", "acc", "dp", "f1"))
    if name == "cell":
        return random.choice(("0,0", "1,2", "99,0", "1", "a,b", "0,0,0"))
    if name == "trees":
        return random.choice(("0", "0,1", "0,0,9999", ","))
    return random.choice(("0", "1", "1", "1", "2", "5", "10", "40", "41", "-1", "9" * 30, "00"))


def a_request(random: Random) -> Request:
    """Make a request, in most cases a possible one."""
    name = random.choice(PATHS) if random.random() < 0.95 else "report"
    path = f"/api/{name}".encode()
    if random.random() < 0.1:
        path = random.choice(
            (b"/", b"/page/dashboard.css", b"/page/../x", b"/page/%00", b"//", b"")
        )
    if random.random() < 0.05:
        path = change_bytes(random, path)
    wanted = {"x", "y", "where"} if name in ("landscape", "compare", "report") else {"where"}
    wanted = wanted if random.random() < 0.7 else set()
    usual = [
        p for p in PARAMETERS if name == "tree" or (p in ("bins", "fit") and name == "landscape")
    ]
    wanted |= set(random.sample(usual, min(len(usual), random.choice((0, 1, 2)))))
    wanted |= set(random.sample(PARAMETERS, random.choice((0, 0, 0, 0, 1))))
    pairs = [(one, a_value(random, one)) for one in sorted(wanted)]
    query = "&".join(f"{key}={quote(text, errors='replace')}" for key, text in pairs).encode()
    if random.random() < 0.1:
        query = change_bytes(random, query)
    method = "GET" if random.random() < 0.97 else random.choice(("POST", "HEAD", "PUT", "X", ""))
    host = (
        b"127.0.0.1:80" if random.random() < 0.97 else random.choice((b"evil", b"", b"[::1]", b":"))
    )
    headers = [(b"host", host)]
    if random.random() < 0.03:
        headers.append(random.choice(((b"host", b"localhost"), (b"cookie", b"\xff=;;adtc_80"))))
    return method, path, query, headers


def prepare_dashboard(folder: Path) -> Trial:
    """Make the trial of the dashboard."""
    data = people(folder)
    profiles = [
        adtc.profile(data, adtc.Space(max_depth=depth), ["size", "acc", "dp", "f1"])
        for depth in (2, 1)
    ]
    apps = [make_app(*profiles), make_app(profiles[0], token="right")]
    loop = asyncio.new_event_loop()
    seen = 0

    def call(request: Request) -> int:
        nonlocal seen
        seen += 1
        app = apps[seen % 10 == 0]
        status = loop.run_until_complete(_answered(app, request))
        if status >= BROKEN:
            raise WrongError(f"the answer has status {status}")
        if status >= REFUSED:
            raise QueryError("refused, as it should be")
        return ACCEPTED

    return Trial(a_request, call)


async def _answered(app: Any, request: Request) -> int:
    """Ask, and return the status."""
    method, path, query, headers = request
    scope = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": method,
        "scheme": "http", "path": path.decode("utf-8", "replace"), "raw_path": path,
        "query_string": query, "root_path": "", "headers": headers, "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 80),
    }  # fmt: skip
    sent: list[Any] = []

    async def receive() -> Any:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    await app(scope, receive, send)
    return int(sent[0]["status"])


# --- the command line -----------------------------------------------------------------------------

LEFT_OUT = ("dashboard", "demo", "paper")  # a server, and what takes minutes
COLUMNS = ("y", "age", "job", "sex", "used", "no")
FILES = ("people.csv", "saved.adtc", "claim.json", "missing.csv", "other.csv")
VALUES = {
    "COLUMN": COLUMNS,
    "COLUMN=C1,C2": ("age=30,40", "job=1"),
    "COLUMN=KIND": ("age=numeric", "job=numeric", "age=x"),
    "FILE": ("out", "out.svg", "out.csv", *FILES),
    "LABEL": ("yes", "no", "?"),
    "METRIC": METRICS,
    "N": "12357",
    "NAME": (*COLUMNS, "job = cook"),
    "NAME=FILE": ("t=people.csv", "t=no.csv"),
    "NAME=TERM": ("cost=N01 + 5 * N10", "size=1", "a=b"),
    "NAMES": ("size", "size,acc", "acc dp", "acc,acc", "eror"),
    "SECONDS": ("1", "0", "0.001", "-1"),
    "SHARE": ("0.1", "1/20", "0", "1", "2"),
    "SIZE": ("500MB", "1", "4GB", "x"),
    "TERM": ("error", "size + error", "acc / 0"),
}
ANY_VALUE = ("0", "1", "2", "3", "-1", "7", "0.5", "yes", "no", "size", "acc", "dp", "error")
GOOD = (0, 1, 2)


def prepare_commands(folder: Path) -> Trial:
    """Make the trial of the command line; it runs in the folder and may write there."""
    data = people(folder)
    space = adtc.Space(max_depth=1)
    adtc.profile(data, space, ["size", "acc", "dp"]).save(folder / "saved.adtc", circuit=True)
    adtc.certify(data, space, "acc >= 0.6").save(folder / "claim.json")
    (folder / "other.csv").write_text(PEOPLE.replace("cook", "smith"), encoding="utf-8")
    os.chdir(folder)
    sys.modules["adtc.cli.running"]._exit_now = sys.exit
    runner = CliRunner()
    commands = {name: one for name, one in main.commands.items() if name not in LEFT_OUT}

    def generate(random: Random) -> list[str]:
        name = random.choice(list(commands))
        args = [name, *_arguments(random, commands[name])]
        if random.random() < 0.15 and args:
            at = random.randrange(len(args))
            args[at] = _tame(change_text(random, args[at]))
        if random.random() < 0.05:
            random.shuffle(args)
        return args

    def call(args: list[str]) -> int:
        result = runner.invoke(main, args, input=PEOPLE)
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        if result.exit_code not in GOOD:
            raise WrongError(f"the exit code is {result.exit_code}")
        if "Traceback" in result.stderr:
            raise WrongError("a traceback was printed")
        if result.exit_code == GOOD[-1]:
            raise QueryError(result.stderr)
        return ACCEPTED

    return Trial(generate, call)


def _arguments(random: Random, command: click.Command) -> list[str]:
    options = [p for p in command.params if isinstance(p, click.Option) and p.name != "help"]
    found: list[str] = []
    for parameter in command.params:
        if isinstance(parameter, click.Argument) and random.random() < 0.97:
            usual = "people.csv" if random.random() < 0.6 else random.choice(FILES)
            usual = random.choice(("size", "acc", "dp")) if parameter.name in ("x", "y") else usual
            found.append(usual if random.random() < 0.9 else _value(random, parameter))
    if random.random() < 0.85 and any(p.name == "target" for p in options):
        found += ["--target", "y", "--maxdep", random.choice("0112"), "--quiet"]
    for option in random.sample(options, min(len(options), random.choice((0, 1, 2, 2, 3, 5)))):
        found.append(random.choice([*option.opts, *option.secondary_opts]))
        if not option.is_flag:
            found.append(_value(random, option))
    return found


def _value(random: Random, parameter: click.Parameter) -> str:
    if random.random() < 0.08:
        return _tame(random.choice(ODD_TEXTS))
    if isinstance(parameter.type, click.Choice):
        return str(random.choice(parameter.type.choices))
    metavar = str(parameter.metavar or parameter.name).upper()
    if metavar == "FORMULA":
        return _tame(formula(random, 1))
    return random.choice(VALUES.get(metavar, ANY_VALUE))


def _tame(text: str) -> str:
    """Let no file be named outside of the folder, nor a NUL, which no argument can hold."""
    return text.replace("\0", "0").replace("..", ".").lstrip("/")

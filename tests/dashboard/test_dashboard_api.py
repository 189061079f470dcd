"""The dashboard's server: what it answers, what it refuses, and that load changes nothing."""

import asyncio
import json
import random
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlencode

import numpy as np
import pytest

import adtc
from adtc.algebra.formula import parse_term
from adtc.engine.nearest import nearest
from adtc.errors import DataError, QueryError
from adtc.models import TreeModel
from adtc.profiles import Profile
from adtc.profiles.profile import Source
from adtc.show import views
from adtc.show.rows import known_values

httpx = pytest.importorskip("httpx", reason="the server's tests ask through httpx")
pytest.importorskip("starlette", reason="the dashboard needs starlette")

from adtc.cache import LRUCache  # noqa: E402
from adtc.dashboard import make_app, serving  # noqa: E402
from adtc.dashboard.asking import NotFoundError, checked_formula  # noqa: E402
from adtc.dashboard.serving import listen  # noqa: E402
from adtc.dashboard.session import Session  # noqa: E402
from adtc.dashboard.side import Selection  # noqa: E402

PAIR = {"x": "acc", "y": "precision"}


@pytest.fixture(scope="module")
def client(server: str) -> Iterator[Any]:
    with httpx.Client(base_url=server, timeout=60) as found:
        yield found


def ask(client: Any, name: str, **parameters: object) -> Any:
    response = client.get(f"/api/{name}", params=parameters)
    assert response.status_code == 200, response.text
    return response.json()


def asked_inside(app: Any, *addresses: str) -> list[Any]:
    """Ask an application without a server."""

    async def ask_all() -> list[Any]:
        transport = httpx.ASGITransport(app=app)
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
            return [await client.get(address) for address in addresses]

    with ThreadPoolExecutor(1) as pool:  # a thread of its own has no event loop yet
        return pool.submit(lambda: asyncio.run(ask_all())).result()


def total(view: Any) -> int:
    return sum(int(n) for row in view["counts"] for n in row)


def test_overview_tells_the_count_as_a_decimal_string(client: Any, small: Profile) -> None:
    view = ask(client, "overview")
    assert view["count"] == str(small.count)
    assert [metric["name"] for metric in view["metrics"]] == list(small.names)
    assert view["drawable"] is True
    assert view["compare"]["titles"] == ["original", "changed"]


@pytest.mark.parametrize("where", ["", "acc >= 0.6", "precision >= 0.5 or size = 1"])
@pytest.mark.parametrize("fit", [0, 1])
def test_landscape_counts_every_tree_once(
    client: Any, small: Profile, where: str, fit: int
) -> None:
    view = ask(client, "landscape", **PAIR, where=where, fit=fit)
    chosen = small.where(where or None)
    assert total(view) == int(view["total"]) == chosen.count
    assert [int(n) for n in view["x_totals"]] == [sum(map(int, row)) for row in view["counts"]]


def test_landscape_keeps_its_bins_under_a_formula(client: Any, small: Profile) -> None:
    whole = ask(client, "landscape", **PAIR)
    part = ask(client, "landscape", **PAIR, where="acc >= 0.6")
    assert part["x"]["labels"] == whole["x"]["labels"]
    for i, row in enumerate(part["counts"]):
        condition = whole["formulas"]["x"][i]
        expected = small.where(f"({condition}) and acc >= 0.6").count
        assert sum(map(int, row)) == expected


def test_undefined_values_have_their_own_band(client: Any, small: Profile) -> None:
    view = ask(client, "landscape", **PAIR)
    assert view["y"]["kinds"][-1] == "undefined"
    undefined = small.moments("precision").undefined
    assert int(view["y_totals"][-1]) == undefined > 0


def test_trees_of_a_cell_are_numbered_without_gap(client: Any, small: Profile) -> None:
    view = ask(client, "landscape", **PAIR, bins=6)
    counts = {
        (i, j): int(n)
        for i, row in enumerate(view["counts"])
        for j, n in enumerate(row)
        if 3 <= int(n) <= 40
    }
    (i, j), n = min(counts.items(), key=lambda item: item[1])
    table = small.crosstab("acc", "precision", bins=6, round_edges=True)
    seen = set()
    for rank in range(n):
        tree = ask(client, "tree", **PAIR, bins=6, cell=f"{i},{j}", rank=rank)
        assert tree["rank"] == str(rank)
        assert tree["of"] == str(n)
        drawn = small.tree(int(tree["profile_rank"]))
        assert {k: v["exact"] for k, v in tree["metrics"].items()} == {
            k: str(v) if v is not None else "undefined" for k, v in drawn.metrics.items()
        }
        seen.add(int(tree["profile_rank"]))
    inside = table.select(i, j)
    assert seen == {small.rank(one) for one in inside.iterate()}


def test_shown_metrics_are_those_of_a_new_score(client: Any, small: Profile) -> None:
    for seed in range(5):
        tree = ask(client, "tree", seed=seed)
        found = small.tree(int(tree["profile_rank"]))
        scored = adtc.score(found.tree, found.data, small.names)
        exact = {k: "undefined" if v is None else str(v) for k, v in scored.items()}
        assert {k: v["exact"] for k, v in tree["metrics"].items()} == exact


def test_a_seed_draws_the_same_tree_and_seeds_differ(client: Any) -> None:
    ranks = [ask(client, "tree", where="acc >= 0.5", seed=seed)["rank"] for seed in range(30)]
    again = [ask(client, "tree", where="acc >= 0.5", seed=seed)["rank"] for seed in range(30)]
    assert ranks == again
    assert len(set(ranks)) > 20


def test_a_row_is_followed_to_the_label_that_the_tree_predicts(client: Any, small: Profile) -> None:
    assert small.source is not None
    data = small.source.data
    tree = small.tree(777)
    leaves = TreeModel(tree.tree, data).predict(data)
    for row in (0, 30, 59):
        view = ask(client, "tree", rank=777, row=row)["path"]
        assert view["label"] == str(leaves[row])
        assert view["truth"] == str(data.labels[data.y[row]])
        assert view["right"] is (view["label"] == view["truth"])


def test_a_followed_row_is_told_in_raw_values(client: Any, small: Profile) -> None:
    assert small.source is not None
    data = small.source.data
    said = set()
    for rank in range(0, 2000, 97):
        for row in (2, 31):
            path = ask(client, "tree", rank=rank, row=row)["path"]
            known = known_values(data, row)
            assert path["known"] == list(known.values())
            assert any(text.startswith("job = ") for text in path["known"])
            for step in path["steps"]:
                feature = data.features[data.feature_names.index(step["test"])]
                answer = bool(data.dense()[row, data.features.index(feature)])
                assert step["answer"] == ("yes" if answer else "no")
                more = known.get(feature.column)
                assert step["value"] == (None if answer and more == feature.name else more)
                said.add((feature.test, step["value"] is None))
    assert {("in", False), ("equals", False), ("equals", True), ("is", True)} <= said


def test_no_tree_is_an_answer_with_what_comes_near(client: Any, small: Profile) -> None:
    where = "acc >= 0.99 and size <= 2"
    view = ask(client, "count", where=where)
    assert small.source is not None
    expected = nearest(small.source.data, small.source.space, where)
    assert view["count"] == "0"
    assert view["nearest"] == [str(one) for one in expected]


def test_compare_subtracts_shares_exactly(client: Any, small: Profile, other: Profile) -> None:
    view = ask(client, "compare", x="acc", y="size")
    table = small.minus(other).crosstab("acc", "size", bins=10, round_edges=True)
    assert view["first"]["counts"] == [[str(n) for n in row] for row in table.first.counts]
    assert view["points"] == [[float(100 * d) for d in row] for row in table.differences]


@pytest.mark.parametrize("where", ["", "acc >= 0.6"])
@pytest.mark.parametrize(("side", "name"), [(1, "first"), (2, "second")])
def test_cells_of_the_comparison_hold_the_trees_of_their_profile(
    client: Any, pair: tuple[Profile, Profile], where: str, side: int, name: str
) -> None:
    view = ask(client, "compare", x="acc", y="dp", bins=5, where=where)
    profile = pair[side - 1]
    table = (
        pair[0].minus(pair[1]).crosstab("acc", "dp", bins=5, where=where or None, round_edges=True)
    )
    part = (table.first, table.second)[side - 1]
    counts = {
        (i, j): int(n)
        for i, row in enumerate(view[name]["counts"])
        for j, n in enumerate(row)
        if int(n)
    }
    (i, j), n = min(counts.items(), key=lambda item: item[1])
    ranks = set()
    for rank in range(min(n, 30)):
        tree = ask(
            client, "tree", x="acc", y="dp", bins=5, where=where, side=side, cell=f"{i},{j}",
            rank=rank,
        )  # fmt: skip
        assert tree["of"] == str(n)
        assert tree["profile"] == ("original", "changed")[side - 1]
        assert tree["profile_of"] == str(profile.count)
        drawn = profile.tree(int(tree["profile_rank"]))
        scored = adtc.score(drawn.tree, drawn.data, profile.names)
        assert {k: v["exact"] for k, v in tree["metrics"].items()} == {
            k: "undefined" if v is None else str(v) for k, v in scored.items()
        }
        ranks.add(int(tree["profile_rank"]))
    inside = {profile.rank(one) for one in part.select(i, j).iterate()}
    assert ranks <= inside
    assert len(ranks) == min(n, 30)


def test_the_report_is_about_the_profile_that_is_meant(client: Any, other: Profile) -> None:
    text = client.get("/api/report", params={**PAIR, "side": 2, "trees": "7"}).text
    assert other.record.data["fingerprint"] in text
    assert f"Tree 7 of {other.count:,}" in text


def test_a_second_profile_without_circuit_is_compared_but_not_drawn_from(
    small: Profile, other: Profile
) -> None:
    session = Session(small, replace(other, source=None, keys=None), ("a", "b"))
    session.warm()
    view = session.overview()
    assert (view["drawable"], view["compare"]["drawable"]) == (True, False)
    assert session.difference(Selection(x="acc", y="dp"))["second"]["total"] == str(other.count)
    with pytest.raises(QueryError, match="needs the circuit"):
        session.tree(Selection(side=2), 0, 0, None)


def test_without_a_second_profile_there_is_no_second_side(small: Profile) -> None:
    session = make_app(small).state.session
    with pytest.raises(NotFoundError, match="no second profile"):
        session.tree(Selection(side=2), 0, 0, None)


def test_profiles_with_other_metrics_cannot_be_compared(small: Profile) -> None:
    with pytest.raises(QueryError, match="different metrics"):
        make_app(small, small.project("size", "acc"))


BAD = [
    ("landscape", {"x": "acc"}, "'y' is missing"),
    ("landscape", {"x": "acc", "y": "eror"}, "unknown metric 'eror'"),
    ("landscape", {**PAIR, "bins": "0"}, "from 1 to 40"),
    ("landscape", {**PAIR, "bins": "41"}, "from 1 to 40"),
    ("landscape", {**PAIR, "bins": "ten"}, "expected a whole number"),
    ("landscape", {**PAIR, "bins": "1" * 5000}, "expected a whole number"),
    ("landscape", {**PAIR, "bins": "٣"}, "expected a whole number"),
    ("landscape", {**PAIR, "fit": "yes"}, "expected 0 or 1"),
    ("landscape", {**PAIR, "colour": "red"}, "unknown parameter 'colour'"),
    ("landscape", {**PAIR, "where": "acc >= "}, "expected a number"),
    ("count", {"where": "eror <= 5"}, "unknown metric 'eror'"),
    ("count", {"where": "__class__ <= 5"}, "not allowed"),
    ("count", {"where": "acc.real <= 5"}, "unknown metric 'acc.real'"),
    ("count", {"where": "1 <= " * 400 + "1000"}, "at most 2,000 are read"),
    ("count", {"where": "1e999999999 <= acc"}, "expected a number between"),
    ("tree", {"rank": "-1"}, "expected a whole number"),
    ("tree", {"rank": "1.5"}, "expected a whole number"),
    ("tree", {"seed": str(2**64)}, "expected a whole number"),
    ("tree", {"cell": "1,1"}, "'x' is missing"),
    ("tree", {**PAIR, "cell": "1;1"}, "two positions"),
    ("tree", {**PAIR, "cell": "1,-1"}, "two positions"),
    ("tree", {"row": "first"}, "expected a whole number"),
    ("tree", {"side": "3"}, "which of the two profiles"),
    ("report", {**PAIR, "trees": "1,x"}, "expected ranks"),
    ("report", {**PAIR, "trees": ",".join("1" * 20)}, "at most 12"),
]


@pytest.mark.parametrize(("name", "parameters", "sentence"), BAD)
def test_a_bad_parameter_gets_400_and_a_sentence(
    client: Any, name: str, parameters: dict[str, str], sentence: str
) -> None:
    response = client.get(f"/api/{name}", params=parameters)
    assert response.status_code == 400
    assert sentence in response.json()["error"]


def test_a_parameter_given_twice_is_refused(client: Any) -> None:
    response = client.get("/api/count?where=acc%3E0&where=acc%3E1")
    assert response.status_code == 400
    assert "twice" in response.json()["error"]


UNKNOWN = [
    ("tree", {**PAIR, "cell": "99,0"}, "there is no cell 99,0"),
    ("tree", {"rank": str(10**30)}, "there is no tree with rank"),
    ("tree", {"rank": "0", "row": "60"}, "there is no row 60"),
    ("tree", {"rank": "0", "row": "9" * 30}, "there is no row 999"),
    ("tree", {"where": "acc > 1"}, "there is no tree here"),
    ("tree", {**PAIR, "side": "2", "cell": "99,0"}, "there is no cell 99,0"),
    ("report", {**PAIR, "trees": str(10**30)}, "there is no tree with rank"),
]


@pytest.mark.parametrize(("name", "parameters", "sentence"), UNKNOWN)
def test_an_unknown_cell_rank_or_row_gets_404(
    client: Any, name: str, parameters: dict[str, str], sentence: str
) -> None:
    response = client.get(f"/api/{name}", params=parameters)
    assert response.status_code == 404
    assert sentence in response.json()["error"]


def test_random_questions_never_break_the_server(client: Any) -> None:
    chance = random.Random(5)
    pieces = [
        "acc",
        "dp",
        ">=",
        "<=",
        "0.5",
        "1/0",
        "and",
        "(",
        ")",
        "not",
        "%",
        "é",
        "\0",
        "[",
        "N",
    ]
    for _ in range(200):
        parameters = {
            "where": " ".join(chance.choices(pieces, k=chance.randint(0, 8))),
            "x": chance.choice(["acc", "dp", "N", "", "é"]),
            "y": chance.choice(["precision", "size", "acc"]),
            "cell": chance.choice(["", "0,0", "3,3", "9,", "a,b"]),
            "rank": chance.choice(["", "0", "5", "-5", "1e3"]),
        }
        response = client.get("/api/tree", params=parameters)
        assert response.status_code in (200, 400, 404), (parameters, response.text)
        assert response.status_code == 200 or response.json()["error"]


def test_a_mistake_in_a_formula_is_pointed_at(client: Any) -> None:
    response = client.get("/api/count", params={"where": "size <= and acc > 0"})
    view = response.json()
    assert response.status_code == 400
    assert view["place"] == [8, 11]
    assert view["pointer"] == ["size <= and acc > 0", "        ^^^"]
    typed = ask(client, "check", where="size <= and acc > 0")
    assert typed == {"ok": False, **view}


def test_an_unknown_metric_is_pointed_at() -> None:
    with pytest.raises(QueryError, match="Did you mean 'dp'") as caught:
        checked_formula("acc > 0 and ddp <= 0.1", {"acc": 0, "dp": 0})
    assert caught.value.place == (12, 15)  # type: ignore[attr-defined]


def test_only_this_machines_names_are_served(client: Any) -> None:
    for host in ("evil.example", "127.0.0.1.evil.example", "evil.example:80"):
        response = client.get("/api/overview", headers={"host": host})
        assert response.status_code == 403
        assert "127.0.0.1" in response.json()["error"]
    assert client.get("/", headers={"host": "localhost:1234"}).status_code == 200


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS"])
def test_nothing_can_be_written(client: Any, method: str) -> None:
    response = client.request(method, "/api/overview")
    assert response.status_code == 405
    assert "only reads" in response.json()["error"]


def test_answers_carry_a_strict_policy(client: Any) -> None:
    for path in ("/", "/page/app.js", "/api/overview", "/api/count?where=", "/nowhere"):
        headers = client.get(path).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize("path", ["/page/report.py", "/page/..%2freport.py", "/page/", "/x"])
def test_only_files_of_the_page_are_served(client: Any, path: str) -> None:
    assert client.get(path).status_code == 404


def test_pages_hold_no_inline_script_or_style(client: Any) -> None:
    page = client.get("/").text
    assert "<style" not in page
    assert " style=" not in page
    assert " onclick" not in page
    assert '<script type="module" src=' in page


@pytest.mark.parametrize("n", [20, pytest.param(200, marks=pytest.mark.slow)])
def test_many_clients_get_the_bytes_of_one(server: str, n: int) -> None:
    chance = random.Random(1)
    kinds = [
        lambda: ("overview", {}),
        lambda: ("count", {"where": f"acc >= 0.{chance.randint(10, 90)}"}),
        lambda: ("landscape", {**PAIR, "bins": chance.randint(2, 30)}),
        lambda: ("landscape", {**PAIR, "where": f"dp <= 0.{chance.randint(1, 30)}"}),
        lambda: ("tree", {"rank": chance.randint(0, 300)}),
        lambda: ("tree", {"where": "acc >= 0.6", "seed": chance.randint(0, 300)}),
        lambda: ("tree", {**PAIR, "cell": f"{chance.randint(0, 9)},1", "seed": 3}),
        lambda: ("compare", {"x": "acc", "y": "size", "bins": chance.randint(2, 12)}),
        lambda: ("tree", {"side": chance.randint(1, 2), "seed": chance.randint(0, 300)}),
        lambda: ("count", {"where": "acc >= "}),
        lambda: ("people", {"where": f"acc >= 0.{chance.randint(4, 6)}"}),
        lambda: ("rows", {"start": chance.randint(0, 40), "n": 20, "sort": "share"}),
        lambda: ("person", {"row": chance.randint(0, 59), "seed": chance.randint(0, 9)}),
        lambda: ("variables", {"where": f"acc >= 0.{chance.randint(4, 6)}"}),
        lambda: ("builder", {"steps": chance.choice(["", "f0", "f0,1l0", "f3"]), "by": "acc"}),
        lambda: ("complete", {"steps": "f0", "seed": chance.randint(0, 99)}),
    ]
    plans = [[chance.choice(kinds)() for _ in range(n)] for _ in range(8)]
    urls = [[f"{server}/api/{n}?{urlencode(p)}" for n, p in plan] for plan in plans]
    with httpx.Client(timeout=60) as client:
        alone = {url: client.get(url).content for plan in urls for url in plan}

    def run(plan: list[str]) -> list[bytes]:
        with httpx.Client(timeout=60) as client:
            return [client.get(url).content for url in plan]

    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(run, urls))
    for plan, answers in zip(urls, together, strict=True):
        assert answers == [alone[url] for url in plan]


def test_what_is_kept_is_bounded(small: Profile) -> None:
    kept: LRUCache[int] = LRUCache(3)
    for key in range(50):
        assert kept.get(key, lambda key=key: key) == key
    assert len(kept) == 3
    app = make_app(small)
    side = app.state.session.sides[0]
    for k in range(60):
        side.chosen(f"acc >= 0.{k + 10}")
    assert len(side._filtered) <= 32


def wide_profile(small: Profile, n: int) -> Profile:
    """Make a profile of many cells with counts far beyond 64 bits, without a circuit."""
    rng = np.random.default_rng(0)
    axes = {"e": rng.integers(0, 5000, n), "a": rng.integers(0, 400, n), "s": rng.integers(1, 9, n)}
    trees = rng.integers(1, 2**62, (n, 2)).astype(np.uint64)
    metrics = {
        "acc": parse_term("(5000 - e) / 5000"),
        "dp": parse_term("abs(a / 200 - 1)"),
        "size": parse_term("s"),
    }
    return Profile(axes, trees, metrics, small.record)


def test_counts_beyond_64_bits_stay_exact(small: Profile) -> None:
    profile = wide_profile(small, 2000)
    view = json.loads(json.dumps(Session(profile).overview()))
    assert view["count"] == str(profile.count)
    assert profile.count > 2**70
    app_view = views.landscape(profile.crosstab("acc", "dp"))
    assert total(app_view) == profile.count


def test_many_cells_are_binned_by_the_server(small: Profile) -> None:
    profile = wide_profile(small, 200_000)
    session = Session(profile)
    place = Selection(where="acc >= 0.5", x="acc", y="dp", bins=40)
    view = session.landscape(place)
    assert total(view) == profile.where("acc >= 0.5").count
    assert len(json.dumps(view)) < 200_000
    with pytest.raises(QueryError, match="needs the circuit"):
        session.tree(place, None, 0, None)


@pytest.mark.parametrize("pair", [("acc", "dp"), ("acc", "size"), ("size", "dp")])
def test_sifting_leaves_the_front_as_it_is(small: Profile, pair: tuple[str, str]) -> None:
    profile = wide_profile(small, 20_000)
    front = views.front_for(profile, *pair)
    goals = {n: "maximize" if n == "acc" else "minimize" for n in pair}
    criteria = {goal: [n for n in pair if goals[n] == goal] for goal in ("maximize", "minimize")}
    whole = profile.pareto(**criteria)
    assert front is not None
    assert views.contenders(profile, *pair).num_cells < profile.num_cells
    assert (front.points, front.trees) == (whole.points, whole.trees)


def test_the_report_shows_the_view(client: Any, small: Profile) -> None:
    where = "acc >= 0.6"
    response = client.get("/api/report", params={**PAIR, "where": where, "trees": "5,700"})
    assert response.status_code == 200
    assert "attachment" in response.headers["content-disposition"]
    assert "acc &gt;= 0.6" in response.text
    assert f"{small.where(where).count:,} trees" in response.text
    assert "profile.tree(700)" in response.text


def test_a_taken_port_gives_the_next_free_one() -> None:
    first = listen(0)
    port = first.getsockname()[1]
    second = listen(port)
    assert second.getsockname()[1] > port
    assert first.getsockname()[0] == second.getsockname()[0] == "127.0.0.1"
    first.close()
    second.close()
    with pytest.raises(QueryError, match="from 0 to 65535"):
        listen(70000)


def test_a_listener_is_reachable_from_this_machine_only() -> None:
    listener = listen(0)
    with socket.create_connection(("127.0.0.1", listener.getsockname()[1]), timeout=5) as found:
        assert found.getpeername()[0] == "127.0.0.1"
    listener.close()


def test_a_circuit_waits_until_a_tree_is_asked_for(small: Profile, tmp_path: Path) -> None:
    small.save(tmp_path / "full.adtc", circuit=True)
    program = (
        "import sys, adtc; from adtc.dashboard import make_app; "
        f"app = make_app(adtc.load_profile({str(tmp_path / 'full.adtc')!r})); "
        "from adtc.dashboard.side import Selection; session = app.state.session; "
        "session.landscape(Selection('acc > 0', 'acc', 'dp')); "
        "print(session.overview()['drawable'], {'pandas'} & set(sys.modules)); "
        "session.warm(); print(session.tree(Selection(), 5, 0, None)['rank'])"
    )
    run = [sys.executable, "-c", program]
    done = subprocess.run(run, capture_output=True, text=True, check=True)
    assert done.stdout.split("\n")[:2] == ["True set()", "5"]


def test_the_command_answers_from_a_saved_file(small: Profile, tmp_path: Path) -> None:
    path = small.save(tmp_path / "full.adtc", circuit=True)
    run = [sys.executable, "-m", "adtc", "dashboard", str(path), "--no-browser", "--port", "0"]
    with subprocess.Popen(run, stdout=subprocess.PIPE, text=True) as started:
        try:
            assert started.stdout is not None
            address, _, token = started.stdout.readline().split()[4].partition("/?token=")
            with httpx.Client(base_url=address, timeout=120) as client:
                while True:
                    try:
                        assert client.get("/").status_code == 403
                        break
                    except httpx.ConnectError:
                        time.sleep(0.01)
                client.get("/", params={"token": token})
                view = ask(client, "landscape", **PAIR)
                assert total(view) == small.count
                tree = ask(client, "tree", rank=777)
        finally:
            started.terminate()
    assert tree["profile_rank"] == "777"
    assert tree["rules"] == [rule.text for rule in small.tree(777).model.rules(small=10)]


def test_a_circuit_that_cannot_be_made_is_one_sentence_and_the_rest_works(small: Profile) -> None:
    assert small.source is not None

    def make() -> Any:
        raise DataError("'run.adtc' is damaged and cannot be loaded.")

    source = Source(small.source.data, small.source.space, make)
    app = make_app(replace(small, source=source))
    *trees, landscape = asked_inside(
        app, "/api/tree?rank=0", "/api/tree?rank=0", f"/api/landscape?{urlencode(PAIR)}"
    )
    for response in trees:
        assert response.status_code == 400
        assert response.json()["error"] == "'run.adtc' is damaged and cannot be loaded."
    assert total(landscape.json()) == small.count


def test_work_ahead_waits_for_the_first_landscape(small: Profile, monkeypatch: Any) -> None:
    app = make_app(small)
    session = app.state.session
    warmed: list[bool] = []
    monkeypatch.setattr(session, "warm", lambda: warmed.append(session.seen.is_set()))
    monkeypatch.setattr(serving, "_IDLE", 60)
    ahead = threading.Thread(
        target=serving._warm, args=(SimpleNamespace(started=True), session), daemon=True
    )
    ahead.start()
    (overview,) = asked_inside(app, "/api/overview")
    assert (overview.status_code, warmed) == (200, [])
    (landscape,) = asked_inside(app, f"/api/landscape?{urlencode(PAIR)}")
    assert landscape.status_code == 200
    ahead.join(30)
    assert warmed == [True]


def test_warming_up_holds_up_nobody(small: Profile) -> None:
    session = Session(small)
    with session.lock:  # a walk that needed it would wait for ever
        warming = threading.Thread(target=session.warm, daemon=True)
        warming.start()
        warming.join(120)
        assert not warming.is_alive()
    assert session.tree(Selection(), 5, 0, None)["rank"] == "5"


def test_shares_are_rounded_from_exact_counts() -> None:
    assert views.share_text(10**30, 3 * 10**30) == "33.3 %"
    assert views.share_text(10**30 - 1, 10**30) == "more than 99.999 %"
    assert views.number_text(Fraction(1, 3)) == "0.33333"


def test_the_command_serves_what_it_is_given(monkeypatch: Any, tmp_path: Path) -> None:
    from click.testing import CliRunner

    import adtc.cli.dashboard  # noqa: F401 (registers the command)
    from adtc.cli import main

    calls: list[tuple[Any, Any, dict[str, Any]]] = []
    monkeypatch.setattr("adtc.dashboard.serve", lambda p, c, **o: calls.append((p, c, o)))
    saved = tmp_path / "run.adtc"
    made = ["german-credit", "--maxdep", "1", "--metrics", "size, acc"]
    result = CliRunner().invoke(main, ["dashboard", *made, "--where", "acc >= 0.7"])
    assert result.exit_code == 0, result.output
    profile, compare, options = calls.pop()
    assert profile.names == ("size", "acc")
    assert compare is None
    assert profile.where("acc < 0.7").count == 0
    profile.save(saved, circuit=True)
    args = ["dashboard", str(saved), "--compare", str(saved), "--no-browser", "--port", "9000"]
    result = CliRunner().invoke(main, [*args, "--where", "size = 1"])
    assert result.exit_code == 0, result.output
    loaded, compare, options = calls.pop()
    assert loaded.count == compare.count == profile.count
    assert options["port"] == 9000
    assert options["titles"] == (f"{saved} (1)", f"{saved} (2)")
    assert options["browser"] is False
    assert options["where"] == "size = 1"

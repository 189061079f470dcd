"""What the panels answer: people, variables, the builder and the test set, and what they refuse."""

import random
import time
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

import adtc
from adtc.profiles import Profile
from adtc.profiles.reliance import reliance
from adtc.show import views

testclient = pytest.importorskip("starlette.testclient", reason="the dashboard needs starlette")

from adtc.dashboard import make_app  # noqa: E402
from adtc.dashboard.hiding import hidden_bars  # noqa: E402


def client_of(profile: Profile, **options: Any) -> Any:
    return testclient.TestClient(make_app(profile, **options), base_url="http://localhost")


@pytest.fixture(scope="module")
def client(credit: Profile) -> Any:
    return client_of(credit)


def ask(client: Any, name: str, **parameters: object) -> Any:
    response = client.get(f"/api/{name}", params=parameters)
    assert response.status_code == 200, response.text
    return response.json()


def test_the_overview_tells_which_panels_there_are(client: Any) -> None:
    view = ask(client, "overview")
    assert view["without"] is None
    assert view["further"] == {"test": ["acc"]}
    assert view["status"] == "exact"
    assert len(view["colours"]) == 2


def test_a_partial_profile_says_what_is_open(credit: Profile) -> None:
    details = {"finished": "depth at most 2", "stopped": "time ran out", "upper": 10**6}
    record = replace(credit.record, status="partial", details=details)
    view = ask(client_of(replace(credit, record=record)), "overview")
    assert view["status"] == "partial"
    assert view["open"] == (
        "All numbers are exact for depth at most 2. More was asked, but time ran out. "
        f"What was asked for has between {credit.count:,} and 1,000,000 trees."
    )
    assert ask(client_of(credit), "overview")["open"] is None


def test_votes_are_those_of_the_profile(client: Any, credit: Profile) -> None:
    view = ask(client, "people", where="size <= 3")
    votes = credit.vote_shares(where="size <= 3")
    assert view["trees"] == str(votes.total)
    assert view["label"] == votes.label_texts[votes.positive or 0]
    parts = {part["name"]: part for part in view["parts"]}
    assert set(parts) == {"everybody", "female", "male"}
    assert {name: part["people"] for name, part in parts.items()} == {
        "everybody": votes.people.count,
        **votes.people.sizes,
    }
    shares = votes.share().values
    for at, n in enumerate(parts["everybody"]["bars"]):
        inside = [s for s in shares if s is not None and min(int(s * 10), 9) == at]
        assert n is None or n == len(inside)


def test_bars_of_few_people_are_hidden(credit: Profile) -> None:
    shown = ask(client_of(credit, small=0), "people")["parts"]
    hidden = ask(client_of(credit, small=40), "people")["parts"]
    assert all(n is not None for part in shown for n in part["bars"])
    gone = [[n is None for n in part["bars"]] for part in hidden]
    assert any(map(any, gone))
    for part, whole in zip(hidden, shown, strict=True):
        for n, true in zip(part["bars"], whole["bars"], strict=True):
            assert n == true if n is not None else true >= 0
            assert n is None or n == 0 or n >= 40
    for line in [*gone, *zip(*gone, strict=True)]:
        assert sum(line) != 1  # a single one would follow from the others


@pytest.mark.parametrize("seed", range(20))
def test_no_hidden_bar_is_alone_in_its_part_or_bin(seed: int) -> None:
    chance = random.Random(seed)
    groups = {name: [chance.choice([0, 3, 12, 90]) for _ in range(6)] for name in "abc"}
    everybody = [sum(bars) for bars in zip(*groups.values(), strict=True)]
    counts = {"everybody": everybody, **groups}
    hidden = hidden_bars(counts, 10)
    assert {(name, at) for name, bars in counts.items() for at, n in enumerate(bars) if 0 < n < 10} <= hidden  # fmt: skip  # noqa: E501
    assert all(sum(at == one for _, one in hidden) != 1 for at in range(6))
    assert all(sum(name == one for one, _ in hidden) != 1 for name in counts)


@pytest.mark.parametrize("rising", [0, 1])
@pytest.mark.parametrize("sort", ["contested", "share", "conflict", "row"])
def test_people_are_listed_in_exact_order(
    client: Any, credit: Profile, sort: str, rising: int
) -> None:
    query = {"sort": sort, "rising": rising, "baseline": "model"}
    first = ask(client, "rows", **query, n=300)
    rest = ask(client, "rows", **query, start=300, n=500)
    listed = [*first["rows"], *rest["rows"]]
    votes = credit.vote_shares()
    values = {
        "contested": votes.expected_disagreement().values,
        "share": votes.share().values,
        "conflict": votes.conflict("model").values,
        "row": tuple(range(len(votes))),
    }[sort]
    sign = 1 if rising else -1
    expected = sorted(range(len(votes)), key=lambda row: (sign * values[row], row))  # type: ignore[operator]
    assert [one["row"] for one in listed] == expected
    assert first["of"] == len(votes)
    one = listed[17]
    share = votes.share().values[one["row"]]
    assert isinstance(share, Fraction)
    assert one["share"] == views.share_text(share.numerator, share.denominator)
    assert one["part"] == float(share)


def test_a_group_is_listed_alone(client: Any, credit: Profile) -> None:
    assert credit.source is not None
    data = credit.source.data
    view = ask(client, "rows", group="female", n=500)
    women = {row for row, z in enumerate(data.z) if data.groups[z] == "female"}
    assert {one["row"] for one in view["rows"]} == women
    assert view["of"] == len(women)


@pytest.mark.parametrize(
    ("where", "small", "sentence"),
    [
        ("acc >= 0.72", 10, "They do not all agree on 289 of them (41.3 %)."),
        ("acc >= 0.72", 290, "They all agree, but on fewer than 290 people."),
        ("acc >= 0.7", 200, "They all agree on fewer than 200 people."),
        ("acc >= 0.73", 10, "They all agree on everybody."),
        ("", 10, "They all agree on nobody."),
    ],
)
def test_how_many_are_disputed_is_a_sentence(
    credit: Profile, where: str, small: int, sentence: str
) -> None:
    assert ask(client_of(credit, small=small), "people", where=where)["disputed"] == sentence
    whole, n = 700, credit.vote_shares(where=where or None).disputed().count
    assert n == {"acc >= 0.72": 289, "acc >= 0.7": 535, "acc >= 0.73": 0, "": whole}[where]


def test_a_small_group_is_not_told(credit: Profile) -> None:
    client = client_of(credit, small=300)
    assert ask(client, "people")["groups"] == []
    assert {one["group"] for one in ask(client, "rows")["rows"]} == {"not shown"}
    response = client.get("/api/rows", params={"group": "female"})
    assert response.status_code == 404
    assert "no group 'female'" in response.json()["error"]


def test_a_person_has_trees_on_both_sides(client: Any, credit: Profile) -> None:
    assert credit.source is not None
    row = ask(client, "rows", n=1)["rows"][0]["row"]
    view = ask(client, "person", row=row, seed=4)
    votes = credit.vote_shares()
    counts = dict(zip(votes.label_texts, votes.counts[row].tolist(), strict=True))
    assert {one["label"]: int(one["trees"]) for one in view["votes"]} == counts
    assert {side["label"]: int(side["trees"]) for side in view["sides"]} == counts
    for side in view["sides"]:
        drawn = credit.tree(int(side["profile_rank"]))
        assert side["path"]["label"] == side["label"]
        assert str(drawn.model.predict(credit.source.data)[row]) == side["label"]
    (decision,) = view["decisions"]
    assert decision["name"] == "model"


def test_what_decides_compares_variables_exactly(client: Any, credit: Profile) -> None:
    row = ask(client, "rows", n=1)["rows"][0]["row"]
    view = ask(client, "person", row=row)
    sides = [credit.deciding({row: side["label"]}).trees.variables() for side in view["sides"]]
    gaps = [line["gap"] for line in view["tests"]]
    assert gaps == sorted(gaps, reverse=True)
    for line in view["tests"]:
        shares = [float(side[line["column"]].share or 0) for side in sides]
        assert line["parts"] == shares


def test_people_of_no_tree_are_an_answer(client: Any) -> None:
    view = ask(client, "people", where="acc > 1")
    assert (view["trees"], view["parts"]) == ("0", [])
    assert ask(client, "person", row=3, where="acc > 1")["sides"] == []


def test_every_way_has_the_count_and_the_best_of_its_trees(client: Any, credit: Profile) -> None:
    view = ask(client, "builder", by="acc", where="size >= 2")
    chosen = credit.where("size >= 2")
    assert view["count"] == view["of"] == str(chosen.count)
    assert [place["kind"] for place in view["places"]] == ["open"]
    assert sum(int(way["trees"]) for way in view["ways"]) == chosen.count
    for way in view["ways"][:5]:
        builder = chosen.builder().split(way["name"])
        assert int(way["trees"]) == builder.count
        assert way["best"]["exact"] == str(builder.best(maximize="acc"))


def test_steps_lead_on_and_back(client: Any, credit: Profile) -> None:
    first = ask(client, "builder", by="dp")["ways"][0]["step"]
    second = ask(client, "builder", by="dp", steps=first, at="0")
    assert second["at"] == "0"
    step = next(way["step"] for way in second["ways"] if way["kind"] == "leaf")
    third = ask(client, "builder", by="dp", steps=f"{first},{step}")
    assert [place["kind"] for place in third["places"]] == ["test", "open", "leaf"]
    assert third["at"] == "1"  # the only place left
    again = ask(client, "builder", by="dp", steps=first)
    assert again["count"] == second["count"]
    builder = credit.builder().split(int(first[1:]))
    assert again["best"]["exact"] == str(builder.best(minimize="dp"))
    assert again["places"][0]["rows"] == "700 rows"


def test_a_tree_is_finished_by_a_draw_or_by_the_best(client: Any, credit: Profile) -> None:
    first = ask(client, "builder")["ways"][0]["step"]
    feature = int(first[1:])
    drawn = {
        ask(client, "complete", steps=first, seed=seed, where="size >= 3")["profile_rank"]
        for seed in range(12)
    }
    assert len(drawn) > 6
    for rank in drawn:
        tree = credit.tree(int(rank))
        assert tree.tree.feature == feature
        assert tree.metrics["size"] >= 3
    best = ask(client, "complete", steps=first, by="acc")
    found = credit.tree(int(best["profile_rank"]))
    assert found.tree.feature == feature
    assert found.metrics["acc"] == credit.builder().split(feature).best(maximize="acc")


def test_small_places_do_not_tell_their_rows(credit: Profile) -> None:
    first = ask(client_of(credit), "builder")["ways"][0]["step"]
    texts = [
        place["rows"]
        for place in ask(client_of(credit, small=699), "builder", steps=first)["places"]
    ]
    assert texts[0] == "700 rows"
    assert texts[1:] == ["fewer than 699 rows"] * 2


def test_variables_are_those_of_the_profile(client: Any, credit: Profile) -> None:
    view = ask(client, "variables", where="acc >= 0.72")
    found = credit.variables("acc >= 0.72")
    assert view["total"] == str(found.total)
    assert view["necessary"] == list(found.necessary)
    for line in view["variables"]:
        one = found[line["name"]]
        assert (line["using"], line["without"]) == (str(one.trees_using), str(one.trees_without))
        assert line["kind"] == one.kind
    assert [set(names) for names in view["minimal"]] == [set(s) for s in found.minimal_sets[:12]]


def test_reliance_is_computed_aside(credit: Profile) -> None:
    client = client_of(credit)
    where = "acc >= 0.72"
    view = ask(client, "reliance", where=where)
    while not view["done"]:
        assert 0 <= view["ready"] <= view["of"]
        time.sleep(0.05)
        view = ask(client, "reliance", where=where)
    assert view["error"] is None
    assert credit.source is not None
    source = credit.source
    expected = reliance(source.data, source.space, f"acc >= 0.65 and {where}")
    assert {c: (r["min_exact"], r["max_exact"]) for c, r in view["ranges"].items()} == {
        r.column: (str(r.min), str(r.max)) for r in expected
    }
    least = credit.variables(where).least_errors
    base = least[None]
    assert view["least"] == {
        name: [cost, cost - base] for name, cost in least.items() if name is not None
    }


def test_reliance_of_other_trees_than_those_shown_is_refused(credit: Profile) -> None:
    client = client_of(credit.where("dp <= 0.1"))
    view = ask(client, "reliance")
    while not view["done"]:
        time.sleep(0.05)
        view = ask(client, "reliance")
    assert "find other trees than those shown" in view["error"]
    assert view["ranges"] == {}


def test_train_against_test_counts_every_tree(client: Any, credit: Profile) -> None:
    view = ask(client, "further", limit="0.05")
    found = credit.generalization("test")
    assert sum(int(n) for row in view["counts"] for n in row) == credit.count
    assert view["x"]["labels"] == view["y"]["labels"]  # so that equal values are a diagonal
    assert view["losing"] == str(found.losing_more_than("0.05"))
    worst = credit.tree(int(view["worst"]["rank"]))
    assert worst.metrics["acc"] - worst.metrics["test.acc"] == found.largest
    assert view["steps"] == [[float(at), str(n)] for at, n in found.steps()]


def test_a_cell_of_train_against_test_gives_one_of_its_trees(client: Any, credit: Profile) -> None:
    where = "size >= 3"
    view = ask(client, "further", where=where)
    i, j = max(
        ((i, j) for i in range(len(view["counts"])) for j in range(len(view["counts"][0]))),
        key=lambda at: int(view["counts"][at[0]][at[1]]),
    )
    rank = ask(client, "further_tree", where=where, cell=f"{i},{j}", seed=5)["rank"]
    tree = credit.where(where).tree(int(rank))
    for metric, axis, at in (("acc", "x", i), ("test.acc", "y", j)):
        low, high = (float(t) for t in view[axis]["labels"][at].strip("[])").split(","))
        assert low <= tree.metrics[metric] <= high


BAD = [
    ("rows", {"sort": "name"}, "unknown sort 'name'"),
    ("rows", {"sort": "conflict"}, "name their column"),
    ("rows", {"sort": "conflict", "baseline": "class"}, "unknown baseline 'class'"),
    ("rows", {"n": "501"}, "from 1 to 500"),
    ("rows", {"start": "-1"}, "expected a whole number"),
    ("rows", {"rising": "yes"}, "expected 0 or 1"),
    ("people", {"where": "ac > 0"}, "unknown metric 'ac'"),
    ("people", {"row": "1"}, "unknown parameter 'row'"),
    ("person", {}, "'row' is missing"),
    ("person", {"row": "me"}, "expected a whole number"),
    ("person", {"row": "1", "seed": "x"}, "expected a whole number"),
    ("builder", {"steps": "x1"}, "expected steps such as"),
    ("builder", {"steps": "f1,,f2"}, "expected steps such as"),
    ("builder", {"steps": ",".join(["f0"] * 600)}, "at most 512"),
    ("builder", {"steps": "f99999"}, "features are numbered from 0"),
    ("builder", {"steps": "l7"}, "labels are numbered from 0 to 1"),
    ("builder", {"steps": "1f0"}, "no open place has the address"),
    ("builder", {"at": "2"}, "expected a place"),
    ("builder", {"by": "eror"}, "unknown metric 'eror'"),
    ("complete", {"seed": "-1"}, "expected a whole number"),
    ("further", {"table": "train"}, "unknown table 'train'"),
    ("further", {"metric": "dp"}, "unknown metric 'dp'"),
    ("further", {"limit": "1e999999999"}, "expected a number such as 0.05"),
    ("further_tree", {}, "'cell' is missing"),
    ("variables", {"where": "acc >="}, "expected a number"),
    ("reliance", {"where": "acc >="}, "expected a number"),
]


@pytest.mark.parametrize(("name", "parameters", "sentence"), BAD)
def test_a_bad_request_gets_400_and_a_sentence(
    client: Any, name: str, parameters: dict[str, str], sentence: str
) -> None:
    response = client.get(f"/api/{name}", params=parameters)
    assert response.status_code == 400
    assert sentence in response.json()["error"]


UNKNOWN = [
    ("person", {"row": "700"}, "there is no row 700"),
    ("person", {"row": "9" * 30}, "there is no row 999"),
    ("complete", {"where": "acc > 1"}, "no good tree begins like this"),
    ("further_tree", {"cell": "99,0"}, "there is no cell 99,0"),
    ("rows", {"group": "children"}, "there is no group 'children'"),
]


@pytest.mark.parametrize(("name", "parameters", "sentence"), UNKNOWN)
def test_what_does_not_exist_gets_404(
    client: Any, name: str, parameters: dict[str, str], sentence: str
) -> None:
    response = client.get(f"/api/{name}", params=parameters)
    assert response.status_code == 404
    assert sentence in response.json()["error"]


def test_without_a_circuit_the_panels_say_what_to_do(credit: Profile) -> None:
    client = client_of(replace(credit, source=None, keys=None))
    assert "save it with circuit=True (--circuit)" in ask(client, "overview")["without"]
    for name in ("people", "rows", "variables", "builder", "complete"):
        response = client.get(f"/api/{name}")
        assert response.status_code == 400, name
        assert "needs the circuit" in response.json()["error"]
    view = ask(client, "further")  # needs no trees
    assert view["worst"] is None
    assert view["total"] == str(credit.count)


def test_panels_know_which_trees_a_space_leaves_out() -> None:
    data = adtc.load_dataset("german-credit", nbins=2)
    space = adtc.Space(max_depth=2, relminsup=0.2, max_variables=1)
    profile = adtc.profile(data, space, ["size", "acc"])
    client = client_of(profile)
    assert ask(client, "overview")["without"] is None
    votes = ask(client, "person", row=1)["votes"]
    assert sum(int(vote["trees"]) for vote in votes) == profile.count
    assert profile.count < adtc.count(data, adtc.Space(max_depth=2, relminsup=0.2))


def test_without_a_further_table_there_is_no_test_set(small: Profile) -> None:
    client = client_of(small)
    assert ask(client, "overview")["further"] == {}
    response = client.get("/api/further")
    assert response.status_code == 400
    assert "knows no further table" in response.json()["error"]


def test_several_classes_without_a_positive_one_vote_for_the_first() -> None:
    frame = {"x": [0, 0, 1, 1, 2, 2] * 5, "y": ["a", "a", "b", "b", "c", "b"] * 5}
    data = adtc.Data.from_frame(frame, target="y", nbins=3)
    client = client_of(adtc.profile(data, adtc.Space(max_depth=2), ["size", "error"]))
    assert ask(client, "people")["label"] == "a"
    assert len(ask(client, "person", row=1)["votes"]) == 3
    assert len(ask(client, "person", row=1)["sides"]) == 2

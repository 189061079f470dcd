"""The dashboard of bounded and estimated profiles: a map with ranges, and what is left out."""

from collections.abc import Iterator
from typing import Any

import pytest
from browsing import Watched, serving

import adtc
from adtc.profiles import Profile
from adtc.profiles.inexact.bounding import BoundedProfile
from adtc.profiles.inexact.estimating import EstimatedProfile

testclient = pytest.importorskip("starlette.testclient", reason="the dashboard needs starlette")

from adtc.dashboard import make_app  # noqa: E402
from adtc.errors import QueryError  # noqa: E402
from adtc.show.ranged import range_words  # noqa: E402

METRICS = ["size", "acc", "dp"]
WHERE = "f1 >= 0.7"


@pytest.fixture(scope="module")
def data() -> adtc.Data:
    return adtc.load_dataset("german-credit", nbins=2)


@pytest.fixture(scope="module")
def space() -> adtc.Space:
    return adtc.Space(max_depth=2, relminsup=0.1)


@pytest.fixture(scope="module")
def bounded(data: adtc.Data, space: adtc.Space) -> BoundedProfile:
    return adtc.bound(data, space, METRICS, where=WHERE, width=5)


@pytest.fixture(scope="module")
def estimated(data: adtc.Data, space: adtc.Space) -> EstimatedProfile:
    return adtc.estimate(data, space, METRICS, where=WHERE, seed=0)


@pytest.fixture(scope="module")
def exact(data: adtc.Data, space: adtc.Space) -> Profile:
    return adtc.profile(data, space, METRICS, where=WHERE)


@pytest.fixture(scope="module")
def client(bounded: BoundedProfile) -> Any:
    return testclient.TestClient(make_app(bounded), base_url="http://localhost")


def ends(words: str) -> tuple[int, int]:
    """Read the two ends of a range in words."""
    if words == "no tree":
        return 0, 0
    numbers = [int(part.replace(",", "")) for part in words.split() if part[0].isdigit()]
    return numbers[0], numbers[-1]


def test_every_cell_holds_the_true_number(client: Any, exact: Profile) -> None:
    view = client.get("/api/landscape", params={"x": "acc", "y": "dp", "bins": 6}).json()
    axes = [[label.strip("[])").split(", ") for label in view[axis]["labels"]] for axis in "xy"]
    wide = 0
    for i, (a, b) in enumerate(axes[0]):
        for j, (c, d) in enumerate(axes[1]):
            last = [
                "<=" if at == len(axis) - 1 else "<" for at, axis in ((i, axes[0]), (j, axes[1]))
            ]
            inside = f"acc >= {a} and acc {last[0]} {b} and dp >= {c} and dp {last[1]} {d}"
            least, most = ends(view["range_words"][i][j])
            assert least <= exact.where(inside).count <= most
            wide += least < most
            assert (view["ranges"][i][j] == "") == (most == 0)
    assert wide > 5


def test_the_overview_says_what_kind_of_numbers_these_are(
    client: Any, bounded: BoundedProfile
) -> None:
    view = client.get("/api/overview").json()
    assert view["status"] == bounded.status == "bounded"
    assert range_words(bounded.count) in view["open"]
    assert "holds none" in view["without"]
    assert view["further"] == {}


@pytest.mark.parametrize(
    ("path", "sentence"),
    [
        ("count?where=acc>least(acc)", "least(acc) is not known of a profile that is bounded"),
        ("tree", "it counts trees and holds none"),
        ("people", "needs the circuit"),
        ("builder", "needs the circuit"),
        ("report?x=acc&y=dp&trees=3", "needs single trees or exact counts"),
        ("compare?x=acc&y=dp", "no second profile"),
    ],
)
def test_what_needs_trees_is_refused_in_a_sentence(client: Any, path: str, sentence: str) -> None:
    response = client.get(f"/api/{path}")
    assert response.status_code in (400, 404)
    assert sentence in response.json()["error"]


def test_a_formula_narrows_the_ranges(client: Any, exact: Profile) -> None:
    whole, some = (
        client.get("/api/count", params={"where": where}).json() for where in ("", "acc >= 0.7")
    )
    least, most = ends(some["range"])
    assert least <= exact.where("acc >= 0.7").count <= most < int(whole["count"])
    asked = {"x": "acc", "y": "dp", "where": "acc >= 0.7"}
    view = client.get("/api/landscape", params=asked).json()
    assert float(view["x"]["labels"][0][1:].split(",")[0]) > 0.6


def test_the_report_shows_ranges_and_the_status(client: Any, bounded: BoundedProfile) -> None:
    page = client.get("/api/report", params={"x": "acc", "y": "size", "where": "acc >= 0.7"})
    assert page.status_code == 200
    assert f"The count is {bounded.where('acc >= 0.7').count.status}" in page.text
    assert "Counted in steps of 5 rows" in page.text
    assert "Single trees, trade-offs, people and variables are left out" in page.text


def test_sliders_know_their_ends(client: Any, bounded: BoundedProfile) -> None:
    metrics = {m["name"]: m for m in client.get("/api/overview").json()["metrics"]}
    assert [metrics[name]["whole"] for name in METRICS] == [True, False, False]
    assert metrics["acc"]["least"] == float(bounded.ends("acc")[0])


def test_estimates_are_shown_with_their_intervals(estimated: EstimatedProfile) -> None:
    client = testclient.TestClient(make_app(estimated), base_url="http://localhost")
    assert client.get("/api/overview").json()["status"] == "estimated"
    view = client.get("/api/landscape", params={"x": "acc", "y": "size"}).json()
    assert any(".." in text for row in view["ranges"] for text in row)


def test_a_bounded_profile_is_not_compared(bounded: BoundedProfile, exact: Profile) -> None:
    with pytest.raises(QueryError, match="cannot be compared"):
        make_app(bounded, exact)


@pytest.fixture(scope="module")
def address(bounded: BoundedProfile) -> Iterator[str]:
    with serving(make_app(bounded)) as found:
        yield found


def test_cells_show_both_ends(chromium: Any, address: str) -> None:
    watched = Watched(chromium.new_page())
    page = watched.open(f"{address}/#bins=6")
    assert page.inner_text("#status") == "bounded"
    assert page.locator("#map .cell-count tspan").count() > 4
    card, formula = (page.locator(one).bounding_box() for one in (".question", "#formula"))
    assert (
        formula["y"] + formula["height"] < card["y"] + card["height"]
    )  # there are no limits below
    cell = page.locator("#map .cell:has(rect.heat)").first
    cell.hover()
    assert "trees" in page.inner_text("#readout")
    assert "holds none" in page.inner_text("#tree-where")
    page.click("#tab-people")
    assert "holds none" in page.inner_text("#people-head")
    watched.check(address)
    page.close()

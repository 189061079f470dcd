"""Bounded and estimated profiles come back from a file as they were; a changed file is refused."""

import json
import pickle

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from test_profile_store import forged, members_of, small, with_array, with_cells, with_manifest
from test_profile_store import with_record as with_run

import adtc
import oracle
from adtc.cli import main
from adtc.errors import DataError, QueryError
from adtc.show.report import write_report
from test_agreement import questions

METRICS = ["size", "acc", "dp"]
WHERE = "f1 + acc >= 0.9"  # cannot be pushed
SPACE = adtc.Space(max_depth=2)
EDGES = [0, 0.3, 0.5, 0.8, 1]


def bounded():
    return adtc.bound(small(), SPACE, METRICS, where=WHERE, width=3)


def estimated():
    return adtc.estimate(small(), SPACE, METRICS, where=WHERE, draws=200, seed=7)


KINDS = {"bounded": bounded, "estimated": estimated}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("ranged")


def run(*args):
    return CliRunner().invoke(main, [str(arg) for arg in args])


@settings(max_examples=40)
@given(
    questions(labels=(2,)),
    st.sampled_from(["bounded", "estimated"]),
    st.integers(1, 5),
    st.data(),
)
def test_brackets_come_back(folder, question, kind, width, drawn):
    if question.where is not None and ("support" in question.where or "depth" in question.where):
        return
    data, space = question.given
    rows = drawn.draw(st.booleans())
    known = [n for n in oracle.metric_names(question.table) if n not in ("depth", "support")]
    metrics = drawn.draw(st.lists(st.sampled_from(known), min_size=2, max_size=2, unique=True))
    if kind == "bounded":
        found = adtc.bound(data, space, metrics, where=question.where, width=width)
    else:
        found = adtc.estimate(data, space, metrics, where=question.where, draws=30, seed=width)
    back = adtc.load_profile(found.save(folder / "run.adtc", rows=rows))
    assert type(back) is type(found)
    assert (back.count, back.status, back.names) == (found.count, found.status, found.names)
    assert back.record == found.record
    assert (back.origin is not None) == rows
    bins = (EDGES, [-1, 0, 1, 2, 4])
    one, other = (profile.crosstab(*metrics, bins=bins) for profile in (found, back))
    assert (one.cells, one.x_totals, one.total) == (other.cells, other.x_totals, other.total)
    assert back.ends(metrics[0]) == found.ends(metrics[0])
    formula = f"{metrics[0]} >= 0.5"
    kept = back.where(formula)
    assert kept.count == found.where(formula).count
    good = question.good()
    assert len(good) in back.count
    assert sum(m[metrics[0]] is not None and 2 * m[metrics[0]] >= 1 for _, m in good) in kept.count


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("filtered", [False, True])
def test_a_file_with_its_rows_is_made_again(tmp_path, kind, filtered):
    found = KINDS[kind]()
    found = found.where("acc >= 0.5") if filtered else found
    checked = adtc.verify(found.save(tmp_path / "run.adtc", rows=True))
    assert checked, checked.reason
    again = {"bounded": "counted again in steps of 3 rows", "estimated": "200 trees drawn again"}
    assert again[kind] in checked.checked[-1]
    quick = adtc.verify(tmp_path / "run.adtc", recount=False)
    assert "not counted again" in quick.unchecked[0]
    without = adtc.verify(found.save(tmp_path / "small.adtc"))
    assert "rows, which the file does not hold" in without.unchecked[0]


@pytest.mark.parametrize("kind", KINDS)
def test_the_record_tells_status_ranges_draws_and_seed(tmp_path, kind):
    found = KINDS[kind]()
    told = json.loads(members_of(found.save(tmp_path / "run.adtc"))["manifest.json"])["record"]
    assert told["status"] == kind
    assert told["details"]["count"] == found.count.to_json()
    if kind == "estimated":
        drawn = told["details"]["count"]["estimate"]
        assert (drawn["draws"], drawn["seed"], told["seed"]) == (200, 7, 7)
        assert drawn["low"] < drawn["high"]
    else:
        assert told["details"]["width"] == 3
        assert told["details"]["count"]["lower"] < told["details"]["count"]["upper"]


@pytest.mark.parametrize("kind", KINDS)
def test_every_wrong_byte_is_noticed(tmp_path, kind):
    content = KINDS[kind]().save(tmp_path / "run.adtc").read_bytes()
    path = tmp_path / "spoiled.adtc"
    for at in range(0, len(content), 97):
        path.write_bytes(content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :])
        with pytest.raises(DataError):
            adtc.load_profile(path)


def cells(change_it):
    def change(columns):
        change_it(columns)
        return list(next(iter(columns.values())))

    return with_cells(change)


def one_more(name, by=1):
    def change(columns):
        columns[name] = columns[name] + by

    return change


def narrower(columns):
    columns["holds"] = np.where(columns["holds"] == 1, 2, columns["holds"])


def many_hits(columns):
    for name in columns:
        columns[name] = np.resize(columns[name], 500)


FORGERIES = {
    "count": ("bounded", with_run("details", count={"count": 3}), "does not follow"),
    "sure": ("bounded", cells(narrower), "does not follow from its cells"),
    "trees": ("bounded", cells(one_more("trees 0")), "does not follow from its cells"),
    "ends": ("bounded", cells(one_more("low k0", 10**6)), "above the largest"),
    "step": ("bounded", with_manifest(width=1), "its step is not the one of its record"),
    "exact": ("bounded", with_run(None, status="exact"), "says exact, and its cells are ranges"),
    "kind": ("bounded", with_manifest(kind="sworn"), "its kind is 'sworn'"),
    "rows": ("bounded", with_manifest(cells=5), "another number of rows"),
    "seed": ("estimated", with_manifest(seed=8), "are not those of its record"),
    "draws": ("estimated", with_manifest(draws=10**6), "are not those of its record"),
    "pool": ("estimated", with_manifest(pool="0x10"), "drawn from are not those of its record"),
    "hits": ("estimated", cells(many_hits), "more trees are said to be drawn than were"),
    "known": ("estimated", with_manifest(different=10**4), "more trees are said to be drawn"),
    "status": ("estimated", with_run(None, status="bounded"), "are not those of its record"),
    "metrics": ("estimated", with_manifest(metrics={"acc": "nothing"}), "not computed"),
}


@pytest.mark.parametrize(("kind", "change", "reason"), FORGERIES.values(), ids=FORGERIES)
def test_a_forged_file_is_refused_though_its_digest_is_right(tmp_path, kind, change, reason):
    path = forged(KINDS[kind]().save(tmp_path / "run.adtc"), change)
    with pytest.raises(DataError, match=r"damaged, or was changed") as error:
        adtc.load_profile(path)
    assert reason in str(error.value) or reason == "not computed"
    assert not adtc.verify(path)


def test_numbers_forged_everywhere_are_found_by_counting_again(tmp_path):
    everything = adtc.bound(small(), SPACE, METRICS, width=3)
    path = everything.save(tmp_path / "run.adtc", rows=True)

    def change(members):
        cells(one_more("trees 0"))(members)
        manifest = json.loads(members["manifest.json"])
        count = manifest["record"]["details"]["count"]
        for end in ("count", "lower", "upper"):
            count[end] += len(everything.trees)
        members["manifest.json"] = json.dumps(manifest).encode()

    found = adtc.verify(forged(path, change))
    assert not found
    assert "made again from its rows, its numbers are others" in found.reason


def test_other_rows_are_noticed(tmp_path):
    path = bounded().save(tmp_path / "run.adtc", rows=True)
    change = with_array("data/y.npy", lambda y: 1 - y)
    with pytest.raises(DataError, match="the rows in its record"):
        adtc.load_profile(forged(path, change))


@pytest.mark.parametrize("kind", KINDS)
def test_what_needs_trees_is_one_sentence(tmp_path, kind):
    found = adtc.load_profile(KINDS[kind]().save(tmp_path / "run.adtc"))
    for name in ("draw", "vote_shares", "variables", "pareto", "moments"):
        with pytest.raises(QueryError, match=f"{name} needs single trees or exact counts"):
            getattr(found, name)
    assert not hasattr(found, "draw")
    with pytest.raises(AttributeError, match="has no attribute 'colour'"):
        _ = found.colour
    with pytest.raises(QueryError, match="it was saved without: make it anew"):
        found.save(tmp_path / "again.adtc", rows=True)
    assert pickle.loads(pickle.dumps(found)).count == found.count
    for command in (["draw"], ["votes"], ["variables"], ["pareto", "--maximize", "acc"]):
        done = run(command[0], tmp_path / "run.adtc", *command[1:])
        assert done.exit_code == 2
        assert f"holds a profile that is {kind}: ranges of numbers, no trees" in done.stderr


@pytest.mark.parametrize("where", ["size > 9", "acc > 1"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_report_without_trees_says_so(tmp_path, kind, where):
    found = KINDS[kind]().where(where)
    page = write_report(found, tmp_path / "page.html").read_text()
    if kind == "bounded":  # a draw that is not good excludes no other tree
        assert '<p class="answer">No tree exists' in page
        assert "there is no tree, of" not in page
    assert found.crosstab("acc", "dp").total.lower == 0


@pytest.mark.parametrize("option", ["--bounded", "--estimated"])
def test_saved_ranges_on_the_command_line(tmp_path, option):
    path, kind = tmp_path / "run.adtc", option.removeprefix("--")
    seed = ["--seed", "3"] if kind == "estimated" else []
    asked = ["german-credit", "--maxdep", "2", "--relminsup", "0.15", "--quiet"]
    where = ["--where", "f1 + acc >= 1.4"]
    metrics = ["--metrics", "size,acc,dp"]
    made = run("profile", *asked, *where, *metrics, option, *seed, "-o", path)
    assert f"{kind}, with the binarised rows; it holds ranges, and no trees" in made.stdout
    assert run("verify", path).exit_code == 0
    bins = ["--x-bins", "0,0.7,1", "--y-bins", "0,0.05,1"]
    first = ["crosstab", "german-credit", "acc", "dp", *asked[1:], *where, *bins, option, *seed]
    one = json.loads(run(*first, "--json").stdout)
    files = ["--plot", tmp_path / "map.png", "--html", tmp_path / "map.html"]
    two = json.loads(run("crosstab", path, "acc", "dp", *bins, *files, "--json").stdout)
    assert two["status"] == kind
    assert two["source"] == str(path)
    exact = adtc.profile(
        adtc.load_dataset("german-credit"),
        adtc.Space(max_depth=2, relminsup=0.15),
        ["acc", "dp"],
        where=where[1],
    )
    whole = exact.crosstab("acc", "dp", bins=([0, 0.7, 1], [0, 0.05, 1]))
    for told in (one, two):  # the steps are those of all metrics asked for
        for low, n, high in zip(told["lower"], whole.counts, told["upper"], strict=True):
            assert all(a <= b <= c for a, b, c in zip(low, n, high, strict=True))
    assert (tmp_path / "map.png").read_bytes().startswith(b"\x89PNG")
    assert kind in (tmp_path / "map.html").read_text()
    page = tmp_path / "page.html"
    report = run("report", path, "-o", page, "--where", "acc >= 0.7")
    assert report.exit_code == 0, report.stderr
    text = page.read_text()
    assert f"The count is {kind}" in text
    assert "are left out: they need an exact profile" in text
    assert '"ranges"' in text
    refused = run("report", path, "-o", page, "--best", "2")
    assert "showing trees needs single trees or exact counts" in refused.stderr
    refused = run("crosstab", path, "acc", "dp", "--shares", "x")
    assert f"--shares needs exact counts, and these are {kind}" in refused.stderr
    assert run("crosstab", path, "acc", "dp", "--maxdep", "3").exit_code == 2

"""The paper's experiments on small samples: numbers that fit together, files that come back."""

import csv
import json
import re
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import adtc
from adtc.cli import main
from adtc.cli import paper as _paper_command  # noqa: F401  # registers the command
from adtc.errors import DataError, QueryError
from adtc.paper import EXPERIMENTS, Setting, conventions, find, landscape, reported, run_all
from adtc.paper import running as running_module
from adtc.paper.costs import effect_of_size, impact_of_depth, scalability
from adtc.paper.reference import plain_run, published_time
from adtc.paper.results import read_finished
from adtc.paper.tables import balanced, load, read_compas, some_rows, take

SMALL = Setting(max_depth=2, relminsup="0.2", max_size=3, rows=60, depth=2)


@pytest.fixture(scope="module")
def adult():
    return some_rows(adtc.load_dataset("adult", nbins=3), 200, seed=1)


@pytest.fixture(scope="module")
def few_features(adult):
    """Few enough features for the specification engine."""
    X = adult.dense()
    best = np.argsort(-np.minimum(X.mean(0), 1 - X.mean(0)), kind="stable")[:6]
    return adtc.Data.from_arrays(X[:, np.sort(best)], adult.y, z=adult.z, name="adult")


def table_of(panel):
    """Read the counts of a cross-table panel back from its rows."""
    return [[int(n) for n in row[1:]] for row in panel.rows[1:]]


def test_the_setting_is_the_papers():
    space = Setting().space()
    assert (space.max_depth, space.relminsup, space.max_size) == (5, "0.15", 6)
    assert Setting().nbins == 7


def test_fig1_counts_every_tree_once_in_each_table(adult):
    result = landscape.accuracy_f1_dp(adult, SMALL)
    trees = int(adtc.count(adult, SMALL.space()))
    assert trees > 100
    assert result.facts["trees"] == trees
    for panel in result.panels:
        assert sum(map(sum, table_of(panel))) == trees
    assert f"{trees:,} trees here" in result.sentence
    assert f"{reported.TREES:,} in the paper" in result.sentence


def test_fig1_names_the_best_accuracy(adult):
    best = adtc.optimize(adult, SMALL.space(), maximize="acc").value
    assert f"{float(best):.4f}" in landscape.accuracy_f1_dp(adult, SMALL).sentence


def test_fig2_balancing_makes_the_two_accuracies_equal(adult):
    result = landscape.accuracy_balanced_accuracy(adult, SMALL)
    equal = int(adtc.count(adult, SMALL.space(), "acc - bacc = 0"))
    assert result.facts["original"]["apart"] == result.facts["original"]["trees"] - equal > 0
    assert result.facts["balanced"]["apart"] == 0
    even = balanced(adult, SMALL.seed)
    assert result.facts["balanced"]["trees"] == adtc.count(even, SMALL.space())
    assert f"{result.facts['balanced']['trees']:,} on the class-balanced" in result.sentence


def test_balanced_keeps_the_rarest_class_whole(adult):
    even = balanced(adult, seed=3)
    counts = np.bincount(even.y)
    assert counts[0] == counts[1] == np.bincount(adult.y).min()


def test_size_depth_counts_the_near_optimal_trees(few_features):
    result = landscape.size_depth(few_features, SMALL)
    trees = int(adtc.count(few_features, SMALL.space(), "acc >= 0.749"))
    assert trees > 0
    assert result.facts["trees"] == trees
    counts = table_of(result.panels[0])
    assert sum(map(sum, counts)) == trees
    assert max(map(max, counts)) == result.facts["most"]
    assert f"{trees:,} trees with acc" in result.sentence
    assert "352,768" in result.sentence


def test_size_depth_of_no_tree_says_so(few_features):
    nobody = replace(SMALL, relminsup="0.9")
    flipped = replace(few_features, y=np.arange(few_features.n_rows, dtype=np.int32) % 2)
    result = landscape.size_depth(flipped, nobody)
    assert result.facts == {"trees": 0, "most": 0, "size": None, "depth": None}


def test_fairness_counts_the_named_cells(adult):
    result = landscape.fairness(adult, SMALL)
    named = [int(adtc.count(adult, SMALL.space(), c.where)) for c in reported.NAMED_CELLS]
    assert sum(named) > 0
    assert result.facts["named"] == named
    assert all(f"{n:,}" in result.sentence for n in named)
    assert [row[2] for row in result.rows] == [34_706, 15_340, 688, 10_906, 15_340]
    assert table_of(result.panels[0])[-1][0] == result.rows[-1][3] == result.facts["corner"]
    for panel in result.panels:
        assert sum(map(sum, table_of(panel))) == result.facts["trees"]


def test_named_cells_have_the_bins_that_the_paper_prints():
    high, top = "acc >= 0.765 and acc <= 0.831", "eodd_sum >= 0.886 and eodd_sum <= 1"
    assert [cell.where for cell in reported.NAMED_CELLS] == [
        f"{high} and eodd_sum <= 0.086",
        f"{high} and {top}",
        f"acc >= 0.566 and acc <= 0.633 and {top}",
    ]


def test_profiles_are_symmetric_when_labels_are_exchanged(adult):
    # with every label on every leaf the 34,706 trees cannot hold the paper's named cells above
    # accuracy 1/2: see docs/paper.md
    found = adtc.profile(adult, SMALL.space(), ["acc", "eodd_sum"])
    above = found.where("acc > 0.7 and eodd_sum <= 0.1").count
    assert above == found.where("acc < 0.3 and eodd_sum <= 0.1").count > 0
    assert 2 * sum(cell.trees for cell in reported.NAMED_CELLS) > reported.TREES


def test_scalability_doubles_the_rows(adult):
    result = scalability(adult, SMALL)
    assert [row[0] for row in result.rows] == [40, 80, 160, 200]
    last = result.rows[-1]
    assert last[4] == adtc.count(adult, SMALL.space())
    assert f"{last[2]:,} scanned cells" in result.sentence
    assert "255.79 s" in result.sentence


def test_scalability_on_a_table_of_fewer_rows_than_the_first_sample(adult):
    assert [row[0] for row in scalability(some_rows(adult, 30, 0), SMALL).rows] == [30]


def test_depth_scans_more_cells_the_deeper(adult):
    result = impact_of_depth(adult, SMALL)
    assert [row[:3] for row in result.rows] == [(1, 2, 60), (1, 2, 200), (2, 3, 60), (2, 3, 200)]
    for scans in result.facts["cell_scan"]:
        assert scans == sorted(scans)
        assert f"{scans[-1]:,}" in result.sentence


def test_siz_stands_still_where_no_more_leaves_fit(adult):
    result = effect_of_size(adult, SMALL)
    assert [row[0] for row in result.rows] == list(range(1, 17))
    trees = [row[4] for row in result.rows]
    assert trees == sorted(trees)
    still = result.facts["still_from"]
    assert 1 < still <= 4  # depth 2
    assert len(set(trees[still - 1 :])) == 1
    assert f"from siz {still} on" in result.sentence
    assert "room for no more than 5" in result.sentence


@pytest.mark.parametrize("memo", [False, True])
def test_plain_python_computes_what_the_engine_does(few_features, memo):
    space = adtc.Space(3, relminsup="0.1", max_size=5)
    _, scanned, cells, trees = plain_run(few_features, space, memo=memo, monitor=adtc.Monitor())
    spec = adtc.profile(few_features, space, ["size", "acc", "f1"], engine="spec")
    assert (cells, trees) == (len(adtc.model_tensor(few_features, space, ["size", "N11", "N01"])),
                              spec.count)  # fmt: skip
    assert scanned <= spec.record.cell_scan


def test_the_published_time_stands_beside_plain_python(few_features):
    result = published_time(few_features, SMALL)
    assert len(set(result.facts["trees"])) == 1
    assert result.rows[0][0].startswith("the paper's program")
    assert result.rows[0][1] == 255.79


def test_conventions_show_all_combinations_and_never_tune(adult, monkeypatch):
    monkeypatch.setattr(conventions, "_DROPS", conventions._DROPS[:1])
    result = conventions.compare(adult, replace(SMALL, nbins=3))
    assert result.facts["combinations"] == len(list(conventions.grid())) == 144
    told = result.facts["all"]
    assert len(told) == 144
    off = [abs(trees - reported.TREES) for _, _, _, trees, _ in told]
    assert off == sorted(off)
    assert f"{result.facts['default']:,}" in result.sentence
    first = take(adtc.load_dataset("adult", nbins=3), np.arange(adult.n_rows))
    assert result.facts["default"] == adtc.count(first, SMALL.space())
    assert result.rows[-1][0] == "the defaults"


def test_conventions_leave_out_incomplete_rows():
    setting = Setting()
    whole = replace(conventions.DEFAULT, complete=True)
    assert conventions._read(whole, setting, 10**6).n_rows == 30_162


def test_minsup_may_be_rounded_down(adult):
    odd = take(adult, np.arange(199))
    up, down = (
        replace(conventions.DEFAULT, round_down=down).space(odd, SMALL).min_support(odd.total)
        for down in (False, True)
    )
    assert (up, down) == (40, 39)
    assert Fraction(SMALL.relminsup) * 199 == Fraction(398, 10)


def tiny(monkeypatch, adult):
    monkeypatch.setattr(running_module, "load", lambda name, setting, compas: adult)


def test_files_come_back_as_they_were_written(tmp_path, monkeypatch, adult):
    tiny(monkeypatch, adult)
    [done] = run_all(find(["fairness"], compas=False), tmp_path, setting=SMALL)
    told = json.loads((tmp_path / "fairness.json").read_text(encoding="utf-8"))
    assert told == done.summary
    assert sorted(told["files"] + ["fairness.json"]) == sorted(p.name for p in tmp_path.iterdir())
    with (tmp_path / "fairness-acc-eodd.csv").open(encoding="utf-8", newline="") as file:
        head, *body = csv.reader(file)
    assert head[0] == "acc \\ eodd_sum"
    assert sum(int(n) for row in body for n in row[1:]) == told["facts"]["trees"]
    assert (tmp_path / "fairness-acc-eodd.png").read_bytes().startswith(b"\x89PNG")
    assert "<svg" in (tmp_path / "fairness-acc-eopp.svg").read_text(encoding="utf-8")[:600]


def test_a_finished_experiment_is_not_run_again(tmp_path, monkeypatch, adult):
    tiny(monkeypatch, adult)
    chosen = find(["depth"], compas=False)
    [first] = run_all(chosen, tmp_path, setting=SMALL)
    ran = []
    spy = replace(chosen[0], run=lambda *about: ran.append(1) or chosen[0].run(*about))
    [second] = run_all([spy], tmp_path, setting=SMALL)
    assert (first.kept, second.kept, ran) == (False, True, [])
    assert second.summary == first.summary
    [third] = run_all([spy], tmp_path, setting=SMALL, again=True)
    assert (third.kept, ran) == (False, [1])


@pytest.mark.parametrize("change", ["setting", "table", "file"])
def test_a_finished_experiment_about_something_else_is_run_again(
    tmp_path, monkeypatch, adult, change
):
    tiny(monkeypatch, adult)
    chosen = find(["depth"], compas=False)
    list(run_all(chosen, tmp_path, setting=SMALL))
    if change == "table":
        tiny(monkeypatch, some_rows(adult, 100, 0))
    if change == "file":
        (tmp_path / "depth-costs.csv").unlink()
    setting = replace(SMALL, seed=7) if change == "setting" else SMALL
    [found] = run_all(chosen, tmp_path, setting=setting)
    assert not found.kept


def test_a_damaged_file_is_no_finished_experiment(tmp_path):
    (tmp_path / "fig1.json").write_text("{", encoding="utf-8")
    (tmp_path / "fig2.json").write_text("[]", encoding="utf-8")
    assert read_finished(tmp_path, "fig1", {}) is None
    assert read_finished(tmp_path, "fig2", {}) is None


def test_a_failure_stops_neither_what_was_nor_what_comes(tmp_path, monkeypatch, adult):
    tiny(monkeypatch, adult)

    def fail(*about):
        raise QueryError("no such thing.")

    first, last = find(["depth", "siz-adult"], compas=False)
    broken = replace(first, name="broken", run=fail)
    outcomes = list(run_all([first, broken, last], tmp_path, setting=SMALL))
    assert [o.failure for o in outcomes] == ["", "no such thing.", ""]
    assert (tmp_path / "depth.json").exists()
    assert (tmp_path / "siz-adult.json").exists()
    assert not (tmp_path / "broken.json").exists()


def test_an_interrupt_leaves_what_was_finished(tmp_path, monkeypatch, adult):
    tiny(monkeypatch, adult)

    def interrupt(*about):
        raise KeyboardInterrupt

    first, last = find(["depth", "siz-adult"], compas=False)
    runs = run_all([first, replace(last, run=interrupt)], tmp_path, setting=SMALL)
    assert next(runs).summary is not None
    with pytest.raises(KeyboardInterrupt):
        next(runs)
    [again] = run_all([first], tmp_path, setting=SMALL)
    assert again.kept


@pytest.mark.parametrize("name", ["summary", *(experiment.name for experiment in EXPERIMENTS)])
def test_the_docs_page_shows_every_experiment(name):
    page = (Path(__file__).resolve().parents[2] / "docs" / "paper.md").read_text(encoding="utf-8")
    _, begin, rest = page.partition(f"<!-- {name} -->")
    shown, end, _ = rest.partition(f"<!-- /{name} -->")
    assert begin
    assert end
    assert re.search(r"^\| -+:? \|", shown, re.MULTILINE)


def test_names_are_found_in_the_papers_order():
    assert [e.name for e in find(["rows", "fig1"], compas=False)] == ["fig1", "rows"]
    assert len(find([], compas=True)) == len(EXPERIMENTS) == 11
    assert "siz-compas" not in [e.name for e in find([], compas=False)]
    with pytest.raises(QueryError, match="Did you mean 'fairness'"):
        find(["fairnes"], compas=False)
    with pytest.raises(QueryError, match="--compas PATH"):
        find(["siz-compas"], compas=False)


@pytest.mark.parametrize(
    ("head", "rows", "target", "features"),
    [
        ("sex,age,race,decile_score,is_recid,decile_score",
         ["m,20,A,9,0,9", "f,30,B,1,1,1", "m,40,A,5,-1,5"], "is_recid", {"sex", "age"}),
        ("name,age,race,two_year_recid", ["x,20,A,0", "y,30,B,1"], "two_year_recid", {"age"}),
        ("Two_yr_Recidivism,Female,score_factor", ["0,1,1", "1,0,0"], "Two_yr_Recidivism",
         {"Female"}),
    ],
)  # fmt: skip
def test_compas_is_read_in_its_usual_forms(tmp_path, head, rows, target, features):
    path = tmp_path / "compas.csv"
    path.write_text("\n".join([head, *rows]) + "\n", encoding="utf-8")
    data = read_compas(path, SMALL)
    assert data.target == target
    assert data.total == 2  # the unknown outcome is left out
    assert {name.split(" ")[0] for name in data.feature_names} == features


def test_compas_that_is_none_is_refused(tmp_path):
    path = tmp_path / "other.csv"
    path.write_text("a,b\n1,2\n", encoding="utf-8")
    with pytest.raises(DataError, match="no form of COMPAS known here"):
        read_compas(path, SMALL)
    with pytest.raises(DataError, match="cannot read COMPAS"):
        read_compas(tmp_path / "absent.csv", SMALL)
    with pytest.raises(DataError, match="not bundled"):
        load("compas", SMALL)


@pytest.mark.parametrize(
    ("file", "rows"),
    [
        ("cox-violent-parsed_filt.csv", 17_496),
        ("propublica_data_for_fairml.csv", 6_172),
        ("compas-binary.csv", 7_214),
    ],
)
def test_public_forms_of_compas(shared_data, file, rows):
    assert load("compas", Setting(), shared_data / "compas" / file).total == rows


def test_the_command_prints_sentences_and_keeps_files(tmp_path, monkeypatch, adult):
    tiny(monkeypatch, adult)
    args = ["paper", "depth", "-o", str(tmp_path / "made")]
    printed = CliRunner().invoke(main, args)
    assert printed.exit_code == 0, printed.output
    told = json.loads((tmp_path / "made" / "depth.json").read_text(encoding="utf-8"))
    assert told["sentence"] in printed.stdout
    assert "[1/1] depth: done" in printed.stderr
    again = CliRunner().invoke(main, [*args, "--json"])
    assert json.loads(again.stdout)["experiments"] == [told]
    assert "kept" in again.stderr


def test_the_command_says_which_experiment_failed(tmp_path):
    args = ["paper", "siz-compas", "--compas", str(tmp_path / "no.csv"), "-o", str(tmp_path)]
    result = CliRunner().invoke(main, args, standalone_mode=False)
    assert isinstance(result.exception, QueryError)
    assert "siz-compas: cannot read COMPAS" in str(result.exception)

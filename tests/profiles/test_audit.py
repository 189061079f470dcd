"""Audits, held against a listing of all trees: what exists, how many, the best, who is affected."""

import json
from collections import Counter
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import adtc
import oracle
from adtc.algebra.trees import parse_tree
from adtc.errors import ADTCError, QueryError, TooLargeError
from adtc.profiles.audits.auditing import Inquiry
from adtc.profiles.audits.rates import decision_counts, impact_ratios, small_groups
from strategies import problems
from test_agreement import data_of, plain, space_of

GAPS = ["dp", "eopp", "eodd_max"]


@st.composite
def asked(draw):
    """Draw a table of two labels with groups, a space, decisions, a gap."""
    options = {"max_rows": 9, "max_features": 4, "labels": (2,), "groups": (2, 3)}
    table, space = draw(problems(shares=True, **options))
    said = draw(st.lists(st.integers(0, 1), min_size=len(table.y), max_size=len(table.y)))
    return table, space, said, draw(st.sampled_from(GAPS))


def measured(table, said):
    """Measure decisions as a tree on one more feature, which holds them."""
    rows = tuple((*row, d) for row, d in zip(table.rows, said, strict=True))
    wide = replace(table, rows=rows)
    return oracle.Metrics(oracle.measure((table.n_features, 1, 0), wide), wide)


def expected(table, space, floor, gap, used):
    """List the trees that reach the floor with a smaller gap."""
    every = oracle.good_trees(table, space, floor)
    return [(t, m) for t, m in every if m[gap] is not None and m[gap] < used]


@given(asked())
@settings(max_examples=20)
def test_alternatives_to_decisions_equal_those_listed(question):
    table, space, said, gap = question
    used = measured(table, said)
    assume(used[gap] is not None)
    data = data_of(table)
    found = adtc.audit(data, space_of(space), decision=said, gap=gap)
    for name in ("acc", "error", gap, "selection_rate"):
        assert found.baseline.metrics[name] == used[name]
    good = expected(table, space, lambda m: m["acc"] >= used["acc"], gap, used[gap])
    assert (found.exists, found.count, found.status) == (bool(good), len(good), "exact")
    if not good:
        assert found.best is None
        assert not found.shown
        return
    least = min(m[gap] for _, m in good)
    most = max(m["acc"] for _, m in good if m[gap] == least)
    size = min(m["size"] for _, m in good if (m[gap], m["acc"]) == (least, most))
    best = found.best.metrics
    assert (best[gap], best["acc"], best["size"]) == (least, most, size)
    assert plain(found.best.model.tree) in [tree for tree, _ in good]
    points = {(m["acc"], m[gap]) for _, m in good}
    front = [
        (a, g)
        for a, g in sorted(points)
        if not any(b >= a and h <= g and (b, h) != (a, g) for b, h in points)
    ]
    assert sorted(found.front.points) == front


@given(asked())
@settings(max_examples=12)
def test_trees_that_a_person_would_consider_equal_those_listed(question):
    table, space, said, gap = question
    used = measured(table, said)
    assume(used[gap] is not None)
    found = adtc.audit(data_of(table), space_of(space), decision=said, gap=gap, consider="0.3")
    part = found.considered
    share = part.space.leaf_share
    rare = min(Counter({0: 0, 1: 0} | _weights_of_labels(table)).values()) / Fraction(table.total)
    assert share in {max(s, space.min_leaf_share) for s in (Fraction(3, 10), min(rare, share))}
    good = expected(
        table,
        replace(space, min_leaf_share=share),
        lambda m: m["acc"] >= used["acc"] and 0 < m["selection_rate"] < 1,
        gap,
        used[gap],
    )
    assert (part.exists, part.count) == (bool(good), len(good))
    for tree in found.shown if good else ():
        assert plain(tree.model.tree) in [t for t, _ in good]
    assert len({tree.predictions.tobytes() for tree in found.shown}) == len(found.shown)


def _weights_of_labels(table):
    totals = Counter()
    for r, label in enumerate(table.y):
        totals[label] += table.weight(r)
    return dict(totals)


@given(asked(), st.sampled_from(["acc >= 0.6", "f1 >= 0.5", "error <= 1.2 * least(error)"]))
@settings(max_examples=12)
def test_with_a_floor_alone_the_most_accurate_tree_is_in_use(question, floor):
    table, space, _, gap = question
    meets = oracle.constraint(floor.replace("least(error)", _least_error(table, space)))
    every = oracle.good_trees(table, space)
    reached = oracle.good_trees(table, space, meets)
    candidates = [m for _, m in reached or every]
    assume(candidates)
    most = max(m["acc"] for m in candidates)
    gaps = [m[gap] for m in candidates if m["acc"] == most]
    assume(None not in gaps)
    found = adtc.audit(data_of(table), space_of(space), floor=floor, gap=gap)
    assert found.baseline.metrics["acc"] == most
    assert found.baseline.metrics[gap] == min(gaps)
    good = expected(table, space, meets, gap, min(gaps))
    assert (found.exists, found.count) == (bool(good), len(good))
    least = [m[gap] for _, m in reached if m[gap] is not None]
    assert found.every.least == min(least, default=None)


def _least_error(table, space):
    return str(oracle.best(table, space, "error", min) or 0)


@given(asked())
@settings(max_examples=8)
def test_rates_and_changes_are_those_of_the_rows(question):
    table, space, said, gap = question
    data = data_of(table)
    counts = decision_counts(data, np.array(said, np.int32))
    for k, group in enumerate(counts[1:]):
        rows = [r for r in range(len(table.y)) if table.z[r] == k]

        def total(test, rows=rows):
            return sum(table.weight(r) for r in rows if test(r))

        assert group.rows == total(lambda r: True)
        assert group.positive == total(lambda r: table.y[r] == 1)
        assert group.selected == total(lambda r: said[r] == 1)
        assert group.true_positive == total(lambda r: said[r] == table.y[r] == 1)
        assert group.wrong == total(lambda r: said[r] != table.y[r])
    assume(measured(table, said)[gap] is not None)
    found = adtc.audit(data, space_of(space), decision=said, gap=gap)
    for tree in found.shown:
        then = [oracle.predict(plain(tree.model.tree), row) for row in table.rows]
        whole, *groups = tree.changes
        assert whole.changed == sum(g.changed for g in groups)
        for k, change in enumerate(groups):
            pairs = Counter()
            for r, z in enumerate(table.z):
                if z == k:
                    pairs[said[r], then[r]] += table.weight(r)
            assert (change.gained, change.lost) == (pairs[0, 1], pairs[1, 0])


def loans(**options):
    rng = np.random.default_rng(3)
    n = 200
    y = rng.integers(0, 2, n)
    frame = {
        "income": (rng.integers(0, 40, n) + 12 * y).tolist(),
        "owner": rng.integers(0, 2, n).tolist(),
        "sex": [["f", "m"][i] for i in rng.integers(0, 2, n)],
        "approved": ["yes" if v else "no" for v in (y ^ (rng.random(n) < 0.3))],
        "paid": ["paid" if v else "late" for v in y],
    }
    options = {"references": ["approved"], "nbins": 3} | options
    data = adtc.Data.from_frame(
        frame, target="paid", sensitive="sex", name="loans", positive="paid", **options
    )
    return data, frame


SPACE = adtc.Space(max_depth=2, minsup=10)


def test_a_column_of_decisions_is_a_reference_and_its_spellings_are_told():
    data, frame = loans()
    assert not any("approved" in name for name in data.feature_names)
    found = adtc.audit(data, SPACE, decision="approved")
    assert found.baseline.spelled == (("no", "late"), ("yes", "paid"))
    right = sum((a == "yes") == (p == "paid") for a, p in zip(frame["approved"], frame["paid"],
                                                             strict=True))  # fmt: skip
    assert found.baseline.metrics["acc"] == Fraction(right, 200)
    assert found.floor == "acc >= 0.655"
    assert "'no' was read as late and 'yes' as paid" in str(found)
    again = adtc.audit(data, SPACE, decision=[{"yes": "paid", "no": "late"}[a]
                                              for a in frame["approved"]])  # fmt: skip
    assert (again.count, again.best.metrics) == (found.count, found.best.metrics)


def test_a_tree_in_use_is_measured_like_its_decisions():
    data, _ = loans()
    best = adtc.optimize(data, SPACE, maximize="acc")
    model = adtc.TreeModel(best.tree, data)
    by_tree = adtc.audit(data, SPACE, tree=model)
    by_labels = adtc.audit(data, SPACE, decision=model.predict(data))
    assert by_tree.baseline.metrics["acc"] == best.value == by_labels.baseline.metrics["acc"]
    assert (by_tree.count, by_tree.exists) == (by_labels.count, by_labels.exists)
    assert by_tree.baseline.model is not None


def test_with_a_floor_alone_the_tree_in_use_reaches_it():
    data, _ = loans()
    over_all = adtc.optimize(data, SPACE, maximize="acc")
    floor = f"tnr > {adtc.score(over_all.tree, data, ['tnr'])['tnr']}"
    best = adtc.optimize(data, SPACE, maximize="acc", where=floor)
    assert best.value < over_all.value  # else the floor would not matter
    found = adtc.audit(data, SPACE, floor=floor)
    assert found.baseline.metrics["acc"] == best.value
    assert found.good == "tnr"


def test_where_the_front_is_short_the_next_trees_are_shown():
    data = adtc.load_dataset("german-credit", nbins=2)
    rule = parse_tree("<housing = own, good, bad>", data.feature_names, data.labels)
    space = adtc.Space(max_depth=2, relminsup=0.1)
    found = adtc.audit(data, space, tree=rule, floor="acc >= 0.7 and tnr >= 0.38")
    assert len(found.considered.front) == 2
    roles = [tree.roles[0] for tree in found.shown]
    assert roles == ["smallest gap", "largest acc", "next smallest gap"]
    first, _, last = (tree.metrics["dp"] for tree in found.shown)
    between = f"{found.considered.where} and dp > {first} and dp < {last}"
    tensor = adtc.model_tensor(data, found.considered.space, ["dp"], where=between)
    assert set(tensor) == {(found.shown[1].metrics["dp"],)}  # nothing else was passed over


def test_a_second_table_measures_what_was_found():
    data, frame = loans()
    half = {name: column[:80] for name, column in frame.items()}
    test = data.apply(half, name="later")
    found = adtc.audit(data, SPACE, decision="approved", test=test)
    tree = found.shown[0]
    said = tree.model.predict(half)
    right = sum(a == b for a, b in zip(said, half["paid"], strict=True))
    assert tree.test.metrics["acc"] == Fraction(right, 80)
    low, high = tree.test.interval("acc")
    assert 0 < low < right / 80 < high < 1
    assert tree.train.interval("acc") is None
    assert found.baseline.test.groups[0].rows == 80
    assert found.to_json()["test"]["baseline"]["acc"] == float(found.baseline.test.metrics["acc"])
    assert "80 rows of later" in str(found)


def test_impact_ratios_and_small_groups():
    rng = np.random.default_rng(0)
    z = np.array(["a"] * 60 + ["b"] * 59 + ["c"])
    data = adtc.Data.from_arrays(rng.integers(0, 2, (120, 2)), np.arange(120) % 2, z=z)
    said = np.array([1] * 30 + [0] * 30 + [1] * 10 + [0] * 49 + [0], np.int32)
    counts = decision_counts(data, said)
    assert impact_ratios(counts) == [None, 1, Fraction(10, 59) / Fraction(1, 2), 0]
    assert [group.name for group in small_groups(counts)] == ["c"]
    found = adtc.audit(data, adtc.Space(max_depth=1), decision=said)
    assert found.to_json()["small_groups"] == ["c"]
    assert "Small groups, with less than 2.0 % of the rows: c (1 row" in str(found)


def test_none_is_proved_and_the_nearest_are_told():
    data, _ = loans()
    best = adtc.optimize(data, SPACE, maximize="acc")
    found = adtc.audit(data, SPACE, tree=best.tree, floor=f"acc > {best.value}")
    assert (found.exists, found.count, found.best, found.shown) == (False, 0, None, ())
    assert "None in this class" in str(found)
    assert found.nearest[0].alone == (best.value,)
    told = json.loads(json.dumps(found.to_json()))
    assert (told["exists"], told["count"], told["best"], told["status"]) == (
        False,
        0,
        None,
        "exact",
    )
    assert told["nearest"][0]["exact"]["alone"] == [str(best.value)]


def test_json_has_the_promised_keys():
    data, _ = loans()
    found = adtc.audit(data, SPACE, decision="approved")
    told = json.loads(json.dumps(found.to_json(), allow_nan=False))
    assert {"exists", "count", "best", "baseline", "status", "record"} <= set(told)
    assert {"value", "value_exact", "error", "tree", "status", "proved"} <= set(told["best"])
    assert Fraction(told["baseline"]["dp_exact"]) == found.baseline.metrics["dp"]
    assert Fraction(told["best"]["value_exact"]) == found.best.metrics["dp"]
    least = adtc.optimize(data, SPACE, minimize="dp", where=found.floor)
    assert Fraction(told["best"]["value_exact"]) == least.value


def test_a_limit_leaves_open_what_it_interrupts(monkeypatch):
    data, _ = loans()
    from adtc.profiles.audits import auditing

    def full(*args, **options):
        raise TooLargeError("too many cells: ask for less.")

    monkeypatch.setattr(auditing, "count", full)
    found = adtc.audit(data, SPACE, decision="approved")
    assert (found.exists, found.count, found.status) == (True, None, "partial")
    assert found.best is not None
    assert "the number: too many cells" in found.stopped[0]
    assert "they were not counted" in str(found)
    told = str(found).splitlines()[-1]
    assert told == (
        "not found within the limits: the number, the number of trees that a person would "
        "consider: too many cells: ask for less."
    )
    monkeypatch.setattr(auditing, "optimize", full)
    found = adtc.audit(data, SPACE, decision="approved")
    assert (found.exists, found.count, found.best) == (None, None, None)
    assert "Undecided" in str(found)
    with pytest.raises(TooLargeError, match="too many cells"):
        adtc.audit(data, SPACE, floor="acc >= 0.5")  # not even a baseline


def test_within_limits_only_what_is_proved_is_told():
    """The best tree so far decides that there is one, never that there is none."""
    data = adtc.load_dataset("german-credit", nbins=2)
    space = adtc.Space(max_depth=3, relminsup=0.1)
    used = adtc.optimize(data, replace(space, max_depth=2), maximize="acc").tree
    every = adtc.audit(data, space, tree=used)
    assert (every.exists, every.count, every.status) == (True, 1084, "exact")
    few = adtc.audit(data, space, tree=used, monitor=adtc.Monitor(memory_limit=2_000))
    assert (few.exists, few.count, few.every.least, few.status) == (None, None, None, "partial")
    assert few.stopped[0].startswith("the smallest gap: ")


def test_within_limits_a_tree_found_so_far_is_an_alternative():
    data = adtc.load_dataset("german-credit", nbins=2)
    space = adtc.Space(max_depth=3, relminsup=0.1)
    few = adtc.audit(data, space, floor="acc >= 0.71", monitor=adtc.Monitor(memory_limit=2_000))
    assert few.baseline.metrics["acc"] < adtc.optimize(data, space, maximize="acc").value
    assert not few.baseline.proved
    assert "the most accurate tree found that reaches the floor" in str(few)
    assert (few.exists, few.count, few.every.least, few.status) == (True, None, None, "partial")
    assert few.best.metrics["dp"] < few.baseline.metrics["dp"]
    told = few.to_json()["best"]
    assert (told["proved"], told["status"]) == (False, "partial")
    assert few.shown[0].roles == ("smallest gap found",)


def test_whoever_stops_an_audit_gets_what_is_known():
    data, _ = loans()
    monitor = adtc.Monitor(exact=False)
    every = Inquiry(data, SPACE, decision="approved", monitor=monitor).run()
    found = monitor.finished("the run was interrupted: let it run longer")
    assert (found.exists, found.count) == (every.exists, every.count)
    assert (found.status, found.stopped) == (
        "partial",
        ("the run was interrupted: let it run longer",),
    )


def test_an_inquiry_can_be_read_while_it_runs():
    data, _ = loans()
    inquiry = Inquiry(data, SPACE, decision="approved")
    with pytest.raises(TooLargeError):
        inquiry.found(stopped="out of time.")
    inquiry._baseline()
    found = inquiry.found(stopped="out of time.")
    assert (found.exists, found.status, found.stopped) == (None, "partial", ("out of time.",))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "needs the model in use or a floor: .* --decision"),
        ({"decision": "approved", "tree": adtc.TreeModel}, "given twice"),
        ({"decision": "age"}, "unknown column of decisions 'age'"),
        ({"decision": ["paid"]}, r"shape \(1,\), expected a label for each of the 200 rows"),
        ({"decision": ["maybe"] * 200}, "unknown label 'maybe'"),
        ({"floor": "acc >= 0.5", "gap": "dp_ratio"}, "'dp_ratio' is no gap"),
        ({"floor": "acc >= 0.5", "gap": "dp_signed"}, "take 'dp'"),
        ({"floor": "acc >= 0.5", "gap": "unfair"}, "unknown metric 'unfair'"),
        ({"floor": "acc >= 0.5", "consider": 2}, "min_leaf_share is 2"),
    ],
)
def test_what_cannot_be_answered_is_refused(options, message):
    with pytest.raises(ADTCError, match=message):
        adtc.audit(loans()[0], SPACE, **options)


def test_tables_without_groups_or_a_positive_label_are_refused():
    data = adtc.Data.from_arrays([[1], [0], [1]], [1, 0, 2])
    with pytest.raises(QueryError, match="no sensitive column: name one"):
        adtc.audit(data, SPACE, floor="acc >= 0.5")
    data = adtc.Data.from_arrays([[1], [0], [1]], [1, 0, 2], z=[0, 1, 1])
    with pytest.raises(QueryError, match="3 classes: name the one"):
        adtc.audit(data, SPACE, floor="acc >= 0.5")
    data = adtc.Data.from_arrays([[1], [0], [1]], [1, 0, 0], z=[0, 1, 1])
    with pytest.raises(QueryError, match="'eopp' is undefined for the model in use"):
        adtc.audit(data, adtc.Space(max_depth=1), floor="acc >= 0.5", gap="eopp")


def test_changed_rows_are_written_on_request(tmp_path):
    data, frame = loans()
    found = adtc.audit(data, SPACE, decision="approved")
    n = found.write_rows(tmp_path / "rows.csv")
    lines = (tmp_path / "rows.csv").read_text().splitlines()
    assert lines[0] == "row,sex,paid,decision in use,decision of the tree"
    assert len(lines) - 1 == n == found.shown[0].changes[0].changed
    row, sex, paid, before, after = lines[1].split(",")
    at = int(row)
    assert (sex, paid) == (frame["sex"][at], frame["paid"][at])
    assert before == {"yes": "paid", "no": "late"}[frame["approved"][at]] != after

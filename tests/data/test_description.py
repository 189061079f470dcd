"""What a table looks like: shares, columns, identifiers, warnings, and how all of it is shown."""

import json
import random
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import adtc
from adtc.data.association import associate, cross_counts
from adtc.data.columns import encode
from adtc.data.description import twins
from adtc.data.identifiers import identifier
from adtc.data.sheet import frame_sheet
from adtc.data.spellings import form, spelled_numbers
from adtc.data.warnings import short_line, table_warnings
from adtc.errors import DataError

N = 60
LABELS = ["no"] * 20 + ["yes"] * 40
random.Random(5).shuffle(LABELS)
GROUPS = ["f", "m"] * 30


def frame(**columns: Any) -> dict[str, Any]:
    """Make a table of 60 rows with a plain column, a target and groups."""
    return {"x": [i % 7 for i in range(N)], **columns, "y": LABELS, "z": GROUPS}


def kinds(found: adtc.data.Description) -> dict[str, str]:
    return {w.column: w.kind for w in found.warnings}


# --- shares and columns -----------------------------------------------------------------------


def test_rows_labels_and_groups_are_counted() -> None:
    found = adtc.describe(frame(), target="y", sensitive="z")
    assert found.target is not None
    assert found.groups is not None
    assert (found.rows, found.total, found.positive) == (60, 60, "yes")
    assert dict(zip(found.target.values, found.target.rows, strict=True)) == {"no": 20, "yes": 40}
    assert found.target.share(1) == Fraction(2, 3)
    by_hand = [
        sum(y == "yes" and z == g for y, z in zip(LABELS, GROUPS, strict=True)) for g in "fm"
    ]
    assert found.groups.rows == (30, 30)
    assert found.groups.positive_rows == tuple(by_hand)
    assert found.groups.base_rate(0) == Fraction(by_hand[0], 30)


def test_weights_count_rows_several_times() -> None:
    table = {"x": [1, 2, 3, 4], "y": [0, 1, 1, 0], "w": [5, 1, 0, 2]}
    found = adtc.describe(table, target="y", weights="w")
    assert found.target is not None
    assert (found.rows, found.total, found.target.rows) == (4, 8, (7, 1))


def test_each_column_says_how_it_was_read() -> None:
    table = frame(bit=[0, 1] * 30, job=["cook", "clerk", None] * 20, same=[3] * N, none=[None] * N)
    found = {c.name: c for c in adtc.describe(table, target="y", sensitive="z", nbins=2).columns}
    assert {n: c.read_as for n, c in found.items()} == {
        "x": "number", "bit": "0/1", "job": "category", "same": "constant", "none": "empty",
    }  # fmt: skip
    assert (found["x"].cuts, found["x"].low, found["x"].high) == ((3.5,), 0, 6)
    assert found["x"].features == ("x <= 3.5",)
    assert (found["job"].missing, found["none"].missing) == (20, 60)
    assert found["job"].frequent == (("clerk", 20), ("cook", 20))
    assert found["job"].features == ("job = cook", "job is missing")


def test_a_description_agrees_with_the_table_that_is_read() -> None:
    data = adtc.load_dataset("german-credit", nbins=3)
    found = adtc.describe("german-credit", nbins=3)
    assert tuple(f for c in found.columns for f in c.features) == data.feature_names
    assert found.distinct_rows == data.merged().n_rows
    assert found.left_out == ("personal_status",)


def test_without_a_target_columns_are_described_by_themselves() -> None:
    found = adtc.describe(frame())
    assert (found.target, found.groups, found.to_json()["labels"]) == (None, None, [])
    assert [c.name for c in found.columns] == ["x", "y", "z"]
    assert "no target" in str(found)


@given(st.lists(st.lists(st.booleans(), min_size=5, max_size=5), min_size=1, max_size=6))
def test_twins_are_features_equal_or_opposite_in_all_rows(rows: list[list[bool]]) -> None:
    bits = np.array(rows)
    data = adtc.Data.from_arrays(bits.T.astype(int), [0, 1, 0, 1, 1])
    found = twins(data.bits, 5)
    for a, b, opposite in found:
        assert a < b
        assert (bits[a] == (bits[b] ^ opposite)).all()
    repeated = {
        b
        for b in range(len(bits))
        if any((bits[a] == bits[b]).all() or (bits[a] != bits[b]).all() for a in range(b))
    }
    assert {b for _, b, _ in found} == repeated


# --- identifiers ------------------------------------------------------------------------------

rng = random.Random(3)
NAMES = [f"{rng.choice('ABCDE')}{i} Smith" for i in range(N)]
REFUSED: dict[str, tuple[str, Callable[[], dict[str, Any]]]] = {
    "texts, one per row": ("person", lambda: frame(person=NAMES)),
    "texts, nine of ten": ("person", lambda: frame(person=[*NAMES[:54], *["Ann"] * 6])),
    "names shared by few": ("last_name", lambda: frame(last_name=[f"n{i // 6}" for i in range(N)])),
    "camel case": ("CustomerID", lambda: frame(CustomerID=[9000 + 7 * i // 2 for i in range(N)])),
    "ids with gaps, as floats": ("id", lambda: frame(id=[*(i * 3.0 for i in range(59)), None])),
    "first names": ("first", lambda: frame(first=[f"n{i // 5}" for i in range(N)])),
}


@pytest.mark.parametrize("case", REFUSED)
def test_identifiers_are_refused(case: str) -> None:
    column, make = REFUSED[case]
    with pytest.raises(DataError, match=f"column '{column}' .* looks like an identifier") as raised:
        adtc.Data.from_frame(make(), target="y", sensitive="z")
    sentence = str(raised.value)
    assert f"--drop {column}" in sentence
    assert f"--type {column}=" in sentence
    assert "\n" not in sentence


@pytest.mark.parametrize("case", REFUSED)
def test_both_ways_out_work(case: str) -> None:
    column, make = REFUSED[case]
    dropped = adtc.Data.from_frame(make(), target="y", sensitive="z", drop=[column])
    assert {f.column for f in dropped.features} == {"x"}
    kind: Any = "numeric" if "id" in column.lower() else "category"
    kept = adtc.Data.from_frame(make(), target="y", sensitive="z", types={column: kind})
    assert {f.column for f in kept.features} == {"x", column}


ALLOWED: dict[str, Callable[[], dict[str, Any]]] = {
    "measurements, all different": lambda: frame(
        weight=[1.5 * i + 0.25 for i in range(N)],
        income=[1000 + 37 * i * i % 7919 for i in range(N)],
    ),
    "ages in order": lambda: frame(age=list(range(N))),
    "few rows": lambda: {"name": [f"n{i}" for i in range(20)], "y": [0, 1] * 10},
    "an id that many rows share": lambda: frame(region_id=[i % 6 for i in range(N)]),
    "a name that many rows share": lambda: frame(name=[f"n{i % 6}" for i in range(N)]),
    "words that hold id": lambda: frame(paid=[17 * i for i in range(N)], width=list(range(N))),
    "texts, eight of ten": lambda: frame(job=[*NAMES[:48], *["cook"] * 12]),
    "numbers that came in as text": lambda: frame(
        price=[f"{i},{500 + i}" for i in range(1, N + 1)]
    ),
    "truth values named id": lambda: frame(id=[True, False] * 30),
}


@pytest.mark.parametrize("case", ALLOWED)
def test_other_columns_are_not_refused(case: str) -> None:
    assert adtc.Data.from_frame(ALLOWED[case](), target="y").n_features


@pytest.mark.parametrize(
    ("values", "refused"),
    [
        (np.arange(1000), True),
        (np.random.default_rng(0).permutation(1000) + 1, True),
        (np.arange(1000) * 3 + 5000, True),
        (np.arange(1000) * 30 + 5000, False),
        (np.random.default_rng(0).permutation(1000) + 2, False),
        (np.arange(999), False),
        (np.arange(1000) / 2, False),
        (np.append(np.arange(999), 0), False),
    ],
)
def test_numbers_that_number_the_rows(values: Any, refused: bool) -> None:
    found = identifier(encode("case", pa.array(values)))
    assert (found is not None) == refused


def test_a_column_with_cuts_of_its_own_is_no_identifier() -> None:
    table = {"case": list(range(1000)), "y": [0, 1] * 500}
    assert adtc.Data.from_frame(table, target="y", cuts={"case": [500]}).n_features == 1


def test_many_identifiers_are_one_short_sentence() -> None:
    table = frame(**{f"name {i}": NAMES for i in range(9)})
    with pytest.raises(DataError, match="and 4 more look like identifiers") as raised:
        adtc.Data.from_frame(table, target="y")
    assert "--drop 'name 0'" in str(raised.value)
    assert "name 7" not in str(raised.value)


def test_reading_a_file_refuses_them_too(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_text("name,y\n" + "".join(f"{name},{i % 2}\n" for i, name in enumerate(NAMES)))
    with pytest.raises(DataError, match="looks like an identifier"):
        adtc.read(path, target="y")
    assert adtc.read(path, target="y", types={"name": "category"}).n_features == 50


def test_a_description_shows_no_value_of_an_identifier() -> None:
    found = adtc.describe(frame(person=NAMES), target="y", sensitive="z")
    assert kinds(found) == {"person": "identifier"}
    column = next(c for c in found.columns if c.name == "person")
    assert (column.refused, column.features, column.distinct) == (True, (), 60)
    for shown in (str(found), found._repr_html_(), json.dumps(found.to_json())):
        assert "Smith" not in shown


# --- numbers as text --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("12", "plain"), ("-1.5e3", "plain"), (".5", "plain"), ("1,000", "thousands"),
        ("12,345,678.9", "thousands"), ("1'000", "thousands"), ("3,5", "comma"),
        ("1.234,56", "comma"), ("$1,000", "sign"), ("5%", "sign"), ("12 %", "sign"),
        ("?", "other"), ("", "other"), ("%", "other"), ("A1", "other"), ("1-2", "other"),
    ],
)  # fmt: skip
def test_forms_of_numbers(text: str, expected: str) -> None:
    assert form(text) == expected


@pytest.mark.parametrize(
    ("values", "told"),
    [
        (["1", "2", "3", "4", "?"], ["'?' (12 rows) is none", "use --na '?'"]),
        (["1", "2", "3", "4", "5", "6", "7", "8", "?", "n/a"], ["are none", "--na '?' --na n/a"]),
        (["1,000", "2,500", "900"], ["'1,000' has a separator of thousands", "(1000)"]),
        (["3,5", "4,25", "1,000"], ["'3,5' has a decimal comma", "(0.5)"]),
        (["5 %", "6 %", "7"], ["'5 %' carries a sign"]),
    ],
)
def test_numbers_that_came_in_as_categories(values: list[str], told: list[str]) -> None:
    table = frame(v=(values * N)[:N])
    found = [str(w) for w in adtc.describe(table, target="y").warnings if w.column == "v"]
    assert len(found) == 1
    assert "'v' came in as categories" in found[0]
    for part in told:
        assert part in found[0]


def test_thousands_among_decimal_commas_are_decimal_commas() -> None:
    column = encode("v", pa.array(["3,5", "4,25", "1,000"]))
    found = spelled_numbers(column, np.ones(3, np.int64), kept=50)
    assert found is not None
    assert found.examples == (("comma", "3,5"),)


def test_the_advice_works(tmp_path: Path) -> None:
    path = tmp_path / "cars.csv"
    rows = [f"{'?' if i % 9 == 0 else 90 + i % 30},{i % 2}\n" for i in range(90)]
    path.write_text("power,y\n" + "".join(rows))
    assert kinds(adtc.describe(path, target="y"))["power"] == "number-as-text"
    mended = adtc.describe(path, target="y", na=["?"])
    assert mended.warnings == ()
    assert mended.columns[0].read_as == "number"


@pytest.mark.parametrize(
    "values",
    [
        ["cook", "clerk", "smith"],
        ["1", "2", "3"],  # as text in a frame: few of them are meant as categories
        ["18-25", "26-35", "36-45"],
        ["1", "2", "A", "B", "C"],  # three of five are no numbers
        ["<1", "1", "2"],
    ],
)
def test_categories_are_left_alone(values: list[str]) -> None:
    found = adtc.describe(frame(v=(values * N)[:N]), target="y")
    assert "number-as-text" not in kinds(found).values()


def test_many_plain_numbers_as_text_in_a_frame_are_told() -> None:
    column = encode("v", pa.array([str(i) for i in range(N)]))
    counts = np.ones(N, np.int64)
    assert spelled_numbers(column, counts, kept=50) is not None
    assert spelled_numbers(column, counts, kept=60) is None
    told = adtc.describe(frame(v=[str(i) for i in range(N)]), target="y").warnings
    assert "use --type v=numeric" in str(told[0])


def test_a_type_given_by_the_user_silences_the_warning() -> None:
    table = frame(v=["1", "2", "3", "4", "?"] * 12)
    assert adtc.describe(table, target="y", types={"v": "category"}).warnings == ()


def test_labels_with_a_full_stop_and_letter_case_are_told() -> None:
    table = frame(job=["cook", "Cook", "clerk"] * 20)
    table["y"] = [f"{y}." for y in LABELS]
    found = adtc.describe(table, target="y")
    assert kinds(found) == {"y": "full-stop", "job": "letter-case"}
    assert "'no.' and 'yes.'" in str(found)
    assert short_line(found.warnings) == ""


def test_blanks_go_and_odd_names_stay(tmp_path: Path) -> None:
    path = tmp_path / "odd.csv"
    path.write_text('"a, b=c",né è,y\n' + " u ,1,no\nu, 2,yes\n v,1,yes\n" * 4, encoding="utf-8")
    found = adtc.describe(path, target="y")
    assert [c.name for c in found.columns] == ["a, b=c", "né è"]
    assert found.columns[0].frequent == (("u", 8), ("v", 4))


# --- telling the target and the group ---------------------------------------------------------


@given(st.data())
def test_one_cut_tells_what_the_best_of_all_cuts_tells(data: st.DataObject) -> None:
    n = data.draw(st.integers(2, 30))
    values = data.draw(st.lists(st.one_of(st.integers(0, 9), st.none()), min_size=n, max_size=n))
    y = data.draw(st.lists(st.integers(0, 1), min_size=n, max_size=n))
    if all(v is None for v in values):
        return
    column = encode("x", pa.array(values, pa.int64()))
    found = associate(cross_counts(column, np.array(y, np.int64), 2, None), ordered=True)

    def most(labels: list[int]) -> int:
        return max(labels.count(0), labels.count(1))

    pairs = list(zip(values, y, strict=True))
    missing = most([b for v, b in pairs if v is None])
    known = [(v, b) for v, b in pairs if v is not None]
    best = max(
        most([b for v, b in known if v <= cut]) + most([b for v, b in known if v > cut])
        for cut in range(10)
    )
    assert found.right == Fraction(best + missing, n)
    assert found.baseline == Fraction(most(y), n)
    # missing values come last in the order
    ranks = [(99 if v is None else v, b) for v, b in pairs]
    ones, zeros = [v for v, b in ranks if b], [v for v, b in ranks if not b]
    if ones and zeros:
        won = sum(Fraction(int(a > b) * 2 + int(a == b), 2) for a in ones for b in zeros)
        auc = won / (len(ones) * len(zeros))
        assert found.auc == max(auc, 1 - auc)
    else:
        assert found.auc is None


def test_large_weights_do_not_overflow() -> None:
    counts = np.array([[2**60, 0, 0], [0, 2**60, 0]])
    found = associate(counts, ordered=True)
    assert (found.right, found.auc, found.sure) == (1, 1, 1)


def test_a_column_that_gives_the_target_away_is_told() -> None:
    leak = [int(y == "yes") for y in LABELS]
    found = adtc.describe(frame(leak=leak), target="y", sensitive="z")
    assert kinds(found) == {"leak": "predicts-target"}
    assert "'leak' alone predicts 'y' in 100 % of the rows" in str(found)
    leak[0] = 1 - leak[0]
    assert kinds(adtc.describe(frame(leak=leak), target="y")) == {"leak": "predicts-target"}


def test_a_numeric_leak_is_found_wherever_its_cut_is() -> None:
    y = [int(i >= 57) for i in range(600)]
    table = {"days": [float(i) for i in range(600)], "x": [i % 5 for i in range(600)], "y": y}
    assert kinds(adtc.describe(table, target="y", nbins=2))["days"] == "predicts-target"


def test_rare_categories_seem_to_tell_nothing() -> None:
    table = frame(town=[f"t{i % 50}" for i in range(N)])  # every town in one or two rows
    table["y"] = rng.choices(["no", "yes"], k=N)
    assert kinds(adtc.describe(table, target="y")) == {}


def test_few_rows_prove_nothing() -> None:
    table = {"x": list(range(20)), "y": [0] * 10 + [1] * 10}
    assert adtc.describe(table, target="y").warnings == ()


def strong(n: int) -> dict[str, Any]:
    """Make n columns with an AUC of 0.85."""
    y = [0, 1] * 30
    columns = {
        f"s{k}": [b ^ int(i % 20 in (2 * k, 2 * k + 1, 18)) for i, b in enumerate(y)]
        for k in range(n)
    }
    return {**columns, "y": y}


def test_strong_predictors_are_told_if_they_stand_out() -> None:
    assert set(kinds(adtc.describe(strong(3), target="y")).values()) == {"strong"}
    assert kinds(adtc.describe(strong(4), target="y")) == {}


def test_a_column_that_tells_the_group_is_told() -> None:
    # a third of the rows: wife or husband; of the others nothing is told
    role = [
        ("wife" if z == "f" else "husband") if i % 3 == 0 else "other" for i, z in enumerate(GROUPS)
    ]
    found = adtc.describe(frame(role=role), target="y", sensitive="z")
    assert kinds(found) == {"role": "tells-sensitive"}
    assert "for 33.3 % of the rows" in str(found)
    assert kinds(adtc.describe(frame(role=role), target="y")) == {}


def test_the_sensitive_column_is_no_proxy_of_itself() -> None:
    found = adtc.describe(frame(), target="y", sensitive="z", use_sensitive=True)
    assert found.warnings == ()
    assert [c.sensitive for c in found.columns if c.name == "z"] == [None]


def test_a_group_of_few_is_not_told_by_everything() -> None:
    table = frame(x2=[i % 3 for i in range(N)])
    table["z"] = ["b" if i in (1, 20) else "a" for i in range(N)]
    assert kinds(adtc.describe(table, target="y", sensitive="z")) == {}


def test_warnings_are_those_of_the_description() -> None:
    table = frame(v=["1", "2", "3", "4", "?"] * 12, leak=LABELS)
    sheet = frame_sheet(table, target="y", sensitive="z")
    assert table_warnings(sheet) == adtc.describe(table, target="y", sensitive="z").warnings
    assert short_line(table_warnings(sheet)) == (
        "'v' came in as categories because of '?'; 'leak' alone predicts 'y' (100 % right)"
    )
    many = frame(**{f"leak{i}": LABELS for i in range(5)})
    assert short_line(table_warnings(frame_sheet(many, target="y"))).endswith("; 2 more")


# --- public tables ----------------------------------------------------------------------------


def test_bundled_tables() -> None:
    assert kinds(adtc.describe("adult")) == {"relationship": "tells-sensitive"}
    assert kinds(adtc.describe("german-credit")) == {}
    assert kinds(adtc.describe("mushroom")) == {"odor": "predicts-target"}


def test_raw_tables_are_not_refused(shared_data: Path) -> None:
    bank = adtc.describe(shared_data / "bank" / "bank-full.csv", target="y", sensitive="marital")
    assert kinds(bank) == {"duration": "strong"}
    for path in sorted((shared_data / "binarized-sparse-trees").glob("*.csv")):
        assert not any(c.refused for c in adtc.describe(path).columns)
    for folder in (
        "adult/adult.data",
        "german-credit/german.data",
        "mushroom/agaricus-lepiota.data",
    ):
        assert not any(c.refused for c in adtc.describe(shared_data / folder, header=False).columns)


def test_compas_with_names_and_leaks_is_caught() -> None:
    """The columns of ProPublica's table, with made-up people."""
    n = 400
    recid = [rng.random() < 0.45 for _ in range(n)]
    table = {
        "id": sorted(rng.sample(range(1, 9000), n)),
        "name": [f"person {rng.randrange(350)}" for _ in range(n)],
        "first": [f"f{rng.randrange(150)}" for _ in range(n)],
        "last": [f"l{rng.randrange(200)}" for _ in range(n)],
        "dob": [f"19{rng.randrange(50, 99)}-0{rng.randrange(1, 9)}-1{i % 10}" for i in range(n)],
        "c_case_number": [f"13{i:06}CF10A" for i in range(n)],
        "age": [rng.randrange(18, 80) for _ in range(n)],
        "c_charge_degree": [rng.choice("FM") for _ in range(n)],
        "is_recid": [int(r) for r in recid],
        "two_year_recid": [int(r and rng.random() < 0.97) for r in recid],
    }
    found = adtc.describe(table, target="two_year_recid")
    caught = {"id", "name", "first", "last", "dob", "c_case_number"}
    assert {c.name for c in found.columns if c.refused} == caught
    assert kinds(found) == dict.fromkeys(caught, "identifier") | {"is_recid": "predicts-target"}


# --- how it is shown --------------------------------------------------------------------------


def test_html_is_escaped_and_json_is_plain() -> None:
    table = frame(**{"<b>x</b>": ["<i>", "&", "u"] * 20})
    found = adtc.describe(table, target="y", sensitive="z")
    shown = found._repr_html_()
    assert "<b>" not in shown
    assert "<i>" not in shown
    assert "&lt;b&gt;x&lt;/b&gt;" in shown
    assert found.groups is not None
    plain = json.loads(json.dumps(found.to_json(), allow_nan=False))
    assert Fraction(plain["groups"][0]["base_rate_exact"]) == found.groups.base_rate(0)
    assert plain["labels"][0] == {
        "value": "no", "rows": 20, "share": 1 / 3, "share_exact": "1/3",
    }  # fmt: skip
    assert plain["columns"][0]["target"]["auc_exact"].count("/") == 1


def test_many_columns_and_warnings_are_cut_short() -> None:
    table = frame(**{f"leak{i}": LABELS for i in range(150)})
    found = adtc.describe(table, target="y")
    assert "52 more columns are not listed" in str(found)  # with x and z: 152
    assert "130 more; the JSON form has all of them." in str(found)
    assert len(found.to_json()["columns"]) == 152
    assert len(found.to_json()["warnings"]) == 150
    assert len(str(found).splitlines()) < 150


def test_more_than_two_labels() -> None:
    found = adtc.describe(frame(c=["a", "b", "c"] * 20) | {"y": ["p", "q", "r"] * 20}, target="y")
    assert kinds(found) == {"c": "predicts-target"}
    assert "right: rows whose y the column alone tells (33.3 % without it)." in str(found)
    assert found.columns[0].target is not None
    assert found.columns[0].target.auc is None

"""What a table says of one of its rows holds of the row that it was made from."""

import re

import numpy as np
import pytest

import adtc
from adtc.show.rows import known_values

MISSING = None


def frame(seed: int) -> dict[str, list[object]]:
    rng = np.random.default_rng(seed)
    n = 80
    ages: list[object] = rng.integers(17, 80, n).tolist()
    pay: list[object] = np.round(rng.normal(0, 10, n), 2).tolist()
    jobs: list[object] = [["clerk", "cook", "none", "smith"][i] for i in rng.integers(0, 4, n)]
    for at in rng.integers(0, n, 9):
        ages[at] = MISSING
        jobs[(at * 7) % n] = MISSING
    return {
        "age": ages,
        "pay": pay,
        "job": jobs,
        "home": [["own", "rent"][i] for i in rng.integers(0, 2, n)],
        "married": rng.integers(0, 2, n).tolist(),
        "y": rng.integers(0, 2, n).tolist(),
    }


def holds(text: str, column: str, value: object) -> bool:
    if text == f"{column} is missing":
        return value is None
    if value is None:
        return False
    if " = " in text:
        return text.removeprefix(f"{column} = ") in ("(other)", str(value))
    found = re.fullmatch(rf"(?:(\S+) < )?{column}(?: (<=|>) (\S+))?", text)
    assert found is not None, text
    low, sign, end = found.groups()
    number = float(str(value))
    return (low is None or number > float(low)) and (
        sign is None or (number <= float(end) if sign == "<=" else number > float(end))
    )


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"numeric": "bins"},
        {"numeric": "bins", "nbins": 2},
        {"onehot": "all"},
        {"max_categories": 2},
        {"nbins": 2, "types": {"age": "category"}},
    ],
    ids=str,
)
def test_what_is_told_holds(seed: int, options: dict[str, object]) -> None:
    raw = frame(seed)
    data = adtc.Data.from_frame(raw, target="y", **options)  # type: ignore[arg-type]
    told = 0
    for row in range(data.n_rows):
        for column, text in known_values(data, row).items():
            assert holds(text, column, raw[column][row]), (column, text, raw[column][row])
            told += 1
    assert told > 3 * data.n_rows * 0.6


def test_an_interval_is_as_narrow_as_the_cuts_allow() -> None:
    ages = list(range(20, 60))
    data = adtc.Data.from_frame(
        {"age": ages, "y": [a % 2 for a in ages]}, target="y", cuts={"age": [30, 40, 50]}
    )
    texts = [known_values(data, ages.index(age))["age"] for age in (25, 30, 31, 50, 55)]
    assert texts == ["age <= 30", "age <= 30", "30 < age <= 40", "40 < age <= 50", "age > 50"]


def test_a_rare_category_is_told_as_other() -> None:
    jobs = ["clerk"] * 5 + ["cook"] * 4 + ["smith", "baker"]
    table = {"job": jobs, "y": [i % 2 for i in range(11)]}
    data = adtc.Data.from_frame(table, target="y", max_categories=3)
    told = [known_values(data, row)["job"] for row in (0, 5, 9, 10)]
    assert told == ["job = clerk", "job = cook", "job = (other)", "job = (other)"]


def test_of_two_values_only_the_named_one_is_told() -> None:
    data = adtc.Data.from_frame({"home": ["own", "rent"], "y": [0, 1]}, target="y")
    assert known_values(data, 1) == {"home": "home = rent"}
    assert known_values(data, 0) == {}


def test_the_group_is_told_where_it_is_a_feature() -> None:
    table = {"sex": ["f", "m", "f"], "age": [1, 2, 3], "y": [0, 1, 1]}
    data = adtc.Data.from_frame(table, target="y", sensitive="sex", use_sensitive=True)
    assert [known_values(data, row)["sex"] for row in range(3)] == ["sex = f", "sex = m", "sex = f"]


def test_plain_bits_tell_no_value() -> None:
    data = adtc.Data.from_arrays([[1, 0], [0, 1]], [1, 0])
    assert known_values(data, 0) == {}


def test_rows_beyond_a_word_are_found() -> None:
    ages = list(range(200))
    data = adtc.Data.from_frame(
        {"age": ages, "y": [a % 2 for a in ages]}, target="y", cuts={"age": [63, 64, 130]}
    )
    assert known_values(data, 64)["age"] == "63 < age <= 64"
    assert known_values(data, 199)["age"] == "age > 130"

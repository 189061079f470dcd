"""The verifier reads every kind of table as adtc does: separators, types, missing values, cuts."""

from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import adtc
from adtc.certificates import verify as verifier
from adtc.certificates.recipe import columns_of

ODD = """\
\ufeffage, income ,on,code,town,risk,used,w
-3,1.5e3,true,007,"Bath, Avon",1.0,YES,2
40,,false,7,Ely,2,no,1
0x1F,NAN,true,,"say ""hi"" twice",1,yes.,0
40,20,false,01,Ely,2,No,3
55,-.5,true,7,Rye,3,no,1
61,?,false,01,Wye,1,Yes,1
"""
OPTIONS = {"target": "risk", "positive": 2, "weights": "w", "na": ["?"], "types": {}}


def check(data: adtc.Data, path: Path, table: object) -> None:
    made = adtc.certify(data, adtc.Space(max_depth=1), where="acc >= 0.5")
    found = adtc.verify(made.save(path), table)
    assert found, found.reason


@pytest.mark.parametrize(
    "options",
    [
        {"types": {"code": "category"}},
        {"types": {"code": "category"}, "max_categories": 2, "onehot": "all"},
        {"cuts": {"risk": [1.5], "age": [0, 40]}, "positive": None, "numeric": "bins"},
        {"cuts": {"income": [10]}, "sensitive": "income", "use_sensitive": True},
        {"sensitive": "on", "references": ["code"], "drop": ["town", "used"], "positive": None},
        {"sensitive": "town", "binning": "width", "nbins": 3},
    ],
)
def test_tables_are_read_alike(tmp_path: Path, options: dict[str, object]) -> None:
    path = tmp_path / "odd.csv"
    text = ODD
    if "references" in options:  # a column that spells the labels its own way
        text = text.replace(",007,", ",1.,").replace(",01,", ",2,").replace(",7,", ",3,")
        text = text.replace("true,,", "true,1,")
    path.write_text(text, encoding="utf-8")
    data = adtc.read(path, **{**OPTIONS, "drop": ["used"], **options})
    check(data, tmp_path / "claim.json", path)


def test_decisions_may_be_spelled_otherwise(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_text("age,sex,used,y\n20,f,YES,1\n30,m,no,0\n40,f,No,0\n50,m,yes,1\n")
    data = adtc.read(path, target="y", sensitive="sex", references=["used"])
    made = adtc.certify_alternative(data, adtc.Space(max_depth=1), baseline="used")
    assert made.document["in_use"]["metrics"]["acc"] == "1"
    assert "Here agreement[used] is used: 0 = 0 or No or no, 1 = 1 or YES or yes" in made.claim
    assert adtc.verify(made.save(tmp_path / "claim.json"), path)


@pytest.mark.parametrize("sep", ["\t", " ", ";"])
def test_files_without_a_header_are_read_alike(tmp_path: Path, sep: str) -> None:
    path = tmp_path / "plain.txt"
    rows = [["1", "0", "5"], ["0", "1", "6"], ["1", "1", "7"], ["0", "0", "5"]]
    path.write_text("\n".join(sep.join(row) for row in rows) + "\n", encoding="utf-8")
    for given in (None, sep):
        data = adtc.read(path, target="0", header=False, sep=given)
        check(data, tmp_path / "claim.json", path)


def test_typed_tables_are_read_alike(tmp_path: Path) -> None:
    frame = pa.table(
        {
            "age": pa.array([20.0, None, 41.5, float("nan"), -9.0], pa.float64()),
            "job": pa.array(["cook", " clerk", None, "cook", ""]).dictionary_encode(),
            "on": [True, False, True, None, True],
            "n": pa.array([1, 2, 3, 2**60, -9], pa.int64()),
            "y": pa.array([1, 0, 1, 0, 1], pa.int8()),
        }
    )
    options = {"target": "y", "na": ["-9"], "types": {"n": "category"}}
    path = tmp_path / "typed.parquet"
    pq.write_table(frame, path)
    check(adtc.read(path, **options), tmp_path / "claim.json", path)
    check(adtc.Data.from_frame(frame, **options), tmp_path / "claim.json", frame)
    made = adtc.certify(adtc.Data.from_frame(frame, **options), adtc.Space(max_depth=1))
    report = verifier.Report(made.to_bytes(), partial(columns_of, str(path)))
    assert report.reason is None
    assert "values that change no feature" in report.trusted[0]

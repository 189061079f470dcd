"""Further tables are read like the table itself; what does not fit is refused in one sentence."""

import numpy as np
import pytest

from adtc import Data
from adtc.errors import ADTCError, DataError

FRAME = {
    "age": [20, 30, 40, 50],
    "job": ["cook", "clerk", "cook", "clerk"],
    "sex": ["f", "m", "f", "m"],
    "y": ["no", "yes", "yes", "no"],
}


def data(**options):
    return Data.from_frame(FRAME, target="y", sensitive="sex", nbins=2, **options)


def other(**columns):
    return {"age": [25, 45], "job": ["cook", "clerk"], "sex": ["f", "m"], "y": ["no", "yes"]} | (
        columns
    )


def test_rows_are_binarised_with_the_cuts_of_the_table():
    table = data()
    further = table.with_table("test", other(job=["smith", None])).further("test")
    assert table.feature_names == further.feature_names == ("age <= 35", "job = cook")
    assert further.dense().tolist() == [[1, 0], [0, 0]]  # an unseen category matches no feature
    assert (further.y.tolist(), further.z.tolist()) == ([0, 1], [0, 1])


def test_labels_are_matched_without_a_final_full_stop_which_is_said():
    further = data().with_table("test", other(y=["no.", "yes"])).further("test")
    assert further.y.tolist() == [0, 1]
    assert further.notes == ("labels such as 'no.' were read without their final full stop",)
    assert data().with_table("test", other()).further("test").notes == ()


def test_whole_numbers_as_labels_may_come_as_text():
    table = Data.from_frame(FRAME | {"y": [0, 1, 1, 0]}, target="y", drop=["sex"])
    assert table.with_table("test", other(y=["1", "0."])).further("test").y.tolist() == [1, 0]


def test_an_unknown_group_has_a_code_of_its_own():
    assert data().with_table("test", other(sex=["x", None])).further("test").z.tolist() == [2, 2]


def test_several_tables_and_the_fingerprint():
    one = data().with_table("test", other())
    two = one.with_table("later", other(age=[60, 70]))
    assert len({data().fingerprint, one.fingerprint, two.fingerprint}) == 3
    assert repr(two).endswith("sensitive sex, test (2 rows), later (2 rows)>")
    assert two.stack(["later"]).n_rows == 6


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"y": ["no", "perhaps"]}, "the table 'test' has the label 'perhaps' in its target"),
        ({"y": ["no", None]}, "has 1 missing values"),
        ({"age": ["old", "young"]}, "column 'age' should hold numbers"),
    ],
)
def test_values_that_do_not_fit(columns, message):
    with pytest.raises(DataError, match=message):
        data().with_table("test", other(**columns))


@pytest.mark.parametrize(
    ("column", "role"),
    [
        ("y", "the target of 'table'"),
        ("sex", "the sensitive column of 'table'"),
        ("job", "a column that features look at of 'table'"),
    ],
)
def test_a_table_that_lacks_a_column(column, role):
    frame = {name: values for name, values in other().items() if name != column}
    with pytest.raises(DataError, match=f"the table 'test' lacks the column '{column}', {role}"):
        data().with_table("test", frame)


@pytest.mark.parametrize("name", ["2020", "a b", "and", "__x", "a.b", ""])
def test_names_that_no_formula_could_hold(name):
    with pytest.raises(DataError, match="a further table cannot be called"):
        data().with_table(name, other())


def test_a_name_is_taken_once():
    with pytest.raises(DataError, match="there is a further table 'test' already"):
        data().with_table("test", other()).with_table("test", other())


def test_other_features_are_refused():
    with pytest.raises(DataError, match="has other features than"):
        data().with_table("test", Data.from_arrays([[1], [0]], [1, 0]))


def test_split_takes_the_share_of_each_label_and_group():
    y, z = np.repeat([0, 1], 50), np.tile([0, 0, 0, 1, 1], 20)
    table = Data.from_arrays(np.arange(100)[:, None] % 2, y, z=z)
    split = table.split("0.3", seed=4)
    counts = {(a, b): int(((y == a) & (z == b)).sum()) for a in (0, 1) for b in (0, 1)}
    test = split.further("test")
    for (a, b), n in counts.items():
        assert int(((test.y == a) & (test.z == b)).sum()) == round(0.3 * n)
    assert split.n_rows + test.n_rows == 100
    assert table.split("0.3", seed=4).fingerprint == split.fingerprint
    assert table.split("0.3", seed=5).fingerprint != split.fingerprint


@pytest.mark.parametrize(("share", "seed"), [(0, 0), (1, 0), ("x", 0), (0.3, -1), (0.3, 1.5)])
def test_shares_and_seeds_out_of_range(share, seed):
    with pytest.raises(ADTCError, match="expected"):
        data().split(share, seed=seed)

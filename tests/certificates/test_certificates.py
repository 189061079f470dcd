"""Certificates say what the oracle says, hold against their table, and against nothing else."""

import hashlib
import json
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import adtc
import oracle
from adtc.certificates import verify as verifier
from adtc.certificates.certificate import Certificate
from adtc.certificates.recipe import as_columns
from adtc.errors import QueryError
from test_agreement import Asked, plain, questions


def frame_of(table: oracle.Table) -> dict[str, list[int]]:
    """Write the oracle's table as columns, under the names that `Data.from_arrays` gives."""
    frame = {f"f{i}": [row[i] for row in table.rows] for i in range(table.n_features)}
    frame |= {"y": list(table.y)}
    frame |= {} if table.z is None else {"z": list(table.z)}
    frame |= {} if table.weights is None else {"weights": list(table.weights)}
    return frame | {name: list(column) for name, column in table.references}


def checked(certificate: Certificate | bytes, table: oracle.Table) -> verifier.Report:
    content = certificate if isinstance(certificate, bytes) else certificate.to_bytes()
    return verifier.Report(content, lambda about: as_columns(frame_of(table)))


def forged(certificate: Certificate, *path: object, value: object) -> bytes:
    """Change one value of a certificate and compute its digest anew."""
    document = json.loads(certificate.to_bytes())
    at = document
    for step in path[:-1]:
        at = at[step]
    at[path[-1]] = value(at[path[-1]]) if callable(value) else value
    document["sha256"] = "0" * 64
    text = json.dumps(document, indent=1, ensure_ascii=False) + "\n"
    return text.replace("0" * 64, hashlib.sha256(text.encode()).hexdigest()).encode()


@settings(max_examples=40)
@given(asked=questions())
def test_a_certified_number_is_the_oracles(asked: Asked) -> None:
    good = asked.good()
    made = adtc.certify(*asked.given, asked.where)
    assert made.kind == ("count" if good else "none")
    assert made.count == len(good)
    report = checked(made, asked.table)
    assert (report.reason, report.too_large) == (None, [])
    assert any(line.startswith(f"{len(good):,} trees satisfy") for line in report.checked)
    if not good:  # without the proof the trees are counted
        counted = checked(forged(made, "statements", 0, "proof", value=None), asked.table)
        assert counted.reason is None
    # a forged number is found out by counting, or the words tell
    more = json.loads(forged(made, "statements", 0, "trees", value=len(good) + 1))
    more["claim"] = verifier.in_words(more)
    report = checked(Certificate({k: v for k, v in more.items() if k != "sha256"}), asked.table)
    assert report.reason is not None


@settings(max_examples=40)
@given(asked=questions(), data=st.data())
def test_a_certified_optimum_is_the_oracles(asked: Asked, data: st.DataObject) -> None:
    term = data.draw(st.sampled_from(oracle.metric_names(asked.table)))
    choose = data.draw(st.sampled_from([min, max]))
    best = oracle.best(asked.table, asked.space, term, choose, asked.holds)
    ask = {"minimize" if choose is min else "maximize": term}
    if best is None:
        with pytest.raises(QueryError, match="there is no best one"):
            adtc.certify(*asked.given, asked.where, **ask)
        return
    made = adtc.certify(*asked.given, asked.where, **ask)
    assert Fraction(made.value) == best
    report = checked(made, asked.table)
    assert (report.reason, report.too_large) == (None, [])


@settings(max_examples=20)
@given(asked=questions())
def test_an_existence_shows_its_tree(asked: Asked) -> None:
    good = asked.good()
    if not good:
        with pytest.raises(QueryError, match="is not true: none does"):
            adtc.certify(*asked.given, asked.where, claim="existence")
        return
    made = adtc.certify(*asked.given, asked.where, claim="existence")
    tree = adtc.algebra.trees.from_json(
        made.shown["tree"], asked.given[0].feature_names, asked.given[0].labels
    )
    assert plain(tree) in [t for t, _ in good]
    assert checked(made, asked.table).reason is None


@settings(max_examples=20)
@given(asked=questions(), data=st.data())
def test_least_and_largest_values_are_stated_and_checked(asked: Asked, data: st.DataObject) -> None:
    term = data.draw(st.sampled_from(oracle.metric_names(asked.table)))
    which, choose = data.draw(st.sampled_from([("least", min), ("largest", max)]))
    best = oracle.best(asked.table, asked.space, term, choose, None)
    made = adtc.certify(*asked.given, f"{term} = {which}({term})")
    assert made.count == adtc.count(*asked.given, f"{term} = {which}({term})")
    assert (made.count == 0) == (best is None)
    report = checked(made, asked.table)
    assert (report.reason, report.too_large) == (None, [])
    last = made.document["statements"][-1]
    assert last["trees"] == 0
    if best is not None:  # a tree has it, and none has a better one
        fake = forged(made, "statements", -1, "trees", value=1)
        assert checked(fake, asked.table).reason is not None

"""Variables before people: the picture's numbers, the picture, the section of a report."""

import pytest

import adtc
from adtc.profiles.writing import approximate
from adtc.show import plot
from adtc.show.report import report_html
from adtc.show.variables import _MOST_BARS, usage_data, variables_html


@pytest.fixture(scope="module")
def good():
    data = adtc.load_dataset("german-credit", nbins=2)
    space = adtc.Space(max_depth=2, relminsup=0.2)
    return adtc.profile(data, space, ["size", "error"], where="error <= 298")


def test_the_picture_shows_shares_the_most_used_first(good):
    data = usage_data(good.variables())
    assert data.names[:2] == ("checking_status", "duration")
    assert (data.shares[:2], data.texts[1]) == ((100.0, 20.0), "20.0 %")
    assert (data.necessary[:2], data.left_out) == ((True, False), 0)


def test_many_variables_are_cut_off():
    X = [[int(r == c) for c in range(40)] for r in range(40)]
    data = adtc.Data.from_arrays(X, [r % 2 for r in range(40)])
    shown = usage_data(adtc.profile(data, adtc.Space(max_depth=1), ["error"]).variables())
    assert (len(shown.names), shown.left_out) == (_MOST_BARS, 40 - _MOST_BARS)


def test_pictures_are_drawn(good, tmp_path):
    plot(good.variables(), title="Variables").save(tmp_path / "v.svg")
    assert "checking_status" in (tmp_path / "v.svg").read_text(encoding="utf-8")
    none = good.where("error < 0").variables()
    assert usage_data(none).names == ()
    none.plot().save(tmp_path / "none.svg")


def test_the_report_tells_variables(good, tmp_path):
    page = report_html(good)
    assert '<section id="variables"' in page
    assert "checking_status</th>" in page or "checking_status</td>" in page
    assert "necessary" in variables_html(good)
    assert "checking_status, duration" in variables_html(good)
    assert "No tree exists" in variables_html(good.where("error < 0"))
    everything = adtc.profile(good.source.data, good.source.space, ["error"])
    assert "A single leaf, which tests nothing" in variables_html(everything)
    kept = good.save(tmp_path / "small.adtc")
    assert "kept without its circuit" in variables_html(adtc.load_profile(kept))


def test_the_report_tells_reliance(good, monkeypatch):
    best = min(value for value, _ in good.marginal("error").defined())
    asked = f"error <= {best + 2}"
    part = good.where(asked)
    page = variables_html(part, asked)
    source, own = good.source, good.record.question["where"]
    found = adtc.reliance(source.data, source.space, f"({own}) and ({asked})")
    lines = page.partition("<h3>Reliance")[2].split('<th scope="row">')[1:]
    shown = {line.partition("</th>")[0]: line for line in lines}
    assert set(shown) == {one.name for one in part.variables().values() if one.possible}
    for one in found:
        if one.column in shown:
            assert f"<td>{approximate(one.min)}</td>" in shown[one.column]
            assert f"<td>{approximate(one.max)}</td>" in shown[one.column]
    assert "Reliance" not in variables_html(part)  # it does not know by which formula
    monkeypatch.setattr("adtc.show.variables._MOST_WALKED", -1)
    assert "Reliance" not in variables_html(part, asked)

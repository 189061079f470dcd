"""A small profile with awkward names, a running dashboard over it, and a real browser."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from browsing import Watched, serving

import adtc
from adtc.profiles import Profile

METRICS = ["size", "acc", "precision", "dp", "eodd_sum"]
LONG = "months since the applicant last changed the registered address of residence"
MARKUP = '<img src=x onerror="window.hacked=1"> & "quotes"'


def table(seed: int = 3) -> adtc.Data:
    rng = np.random.default_rng(seed)
    n = 60
    y = rng.integers(0, 2, n)
    frame = {
        LONG: (rng.integers(0, 40, n) + 15 * y).tolist(),
        MARKUP: rng.integers(0, 2, n).tolist(),
        "job": [["none", "clerk", "skilled"][i] for i in rng.integers(0, 3, n)],
        "sex": [["f", "m"][i] for i in rng.integers(0, 2, n)],
        "y": ["granted" if v else "refused" for v in y],
    }
    return adtc.Data.from_frame(
        frame, target="y", positive="granted", sensitive="sex", nbins=3, name="credit & <b>more</b>"
    )


@pytest.fixture(scope="session")
def small() -> Profile:
    """About 10,000 trees; precision is undefined for some."""
    return adtc.profile(table(), adtc.Space(max_depth=2, minsup=3), METRICS)


@pytest.fixture(scope="session")
def other() -> Profile:
    return adtc.profile(table(4), adtc.Space(max_depth=2, minsup=3), METRICS)


@pytest.fixture(scope="session")
def pair(small: Profile, other: Profile) -> tuple[Profile, Profile]:
    return small, other


@pytest.fixture(scope="session")
def credit() -> Profile:
    """Good trees on a bundled table with a column of decisions and a further table."""
    data = adtc.load_dataset("german-credit", nbins=2).split(0.3, seed=0)
    data = replace(data, references=(("model", (data.y + data.z) % 2),))
    space = adtc.Space(max_depth=2, relminsup=0.1)
    metrics = ["size", "acc", "dp", "test.acc"]
    return adtc.profile(data, space, metrics, where="acc >= 0.65")


@pytest.fixture(scope="session")
def server(small: Profile, other: Profile) -> Iterator[str]:
    """Run the dashboard of two profiles, and give its address."""
    from adtc.dashboard import make_app

    with serving(make_app(small, other, titles=("original", "changed"))) as address:
        yield address


@pytest.fixture
def watched(chromium: Any, server: str) -> Iterator[Watched]:
    context = chromium.new_context(viewport={"width": 1280, "height": 800}, accept_downloads=True)
    found = Watched(context.new_page())
    yield found
    found.check(server)
    context.close()

"""A small profile with awkward names, a running dashboard over it, and a real browser."""

import threading
import time
from collections.abc import Iterator

import numpy as np
import pytest

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
def server(small: Profile, other: Profile) -> Iterator[str]:
    """Run the dashboard as users do, on a free port, and give its address."""
    uvicorn = pytest.importorskip("uvicorn", reason="the dashboard needs uvicorn")
    from adtc.dashboard import make_app
    from adtc.dashboard.serving import listen

    listener = listen(0)
    config = uvicorn.Config(
        make_app(small, other, titles=("original", "changed")),
        log_level="error",
        lifespan="off",
        ws="none",
    )
    running = uvicorn.Server(config)
    thread = threading.Thread(target=lambda: running.run(sockets=[listener]), daemon=True)
    thread.start()
    while not running.started:
        time.sleep(0.01)
    yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    running.should_exit = True
    thread.join(10)
    listener.close()

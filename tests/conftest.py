"""Settings for all tests: Hypothesis profiles, and where the full tables are kept."""

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# An example lists all trees of a space, so its time says nothing about a defect.
settings.register_profile(
    "here", deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("ci", settings.get_profile("here"), derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "here")

SHARED_DATA = Path(__file__).resolve().parents[2] / "shared" / "data"


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Give the folder of the full tables, which live beside the repository, not in it."""
    if not SHARED_DATA.is_dir():
        pytest.skip("the full tables are not here: expected the folder ../shared/data")
    return SHARED_DATA

"""For every test. Kept small: helpers that tests import live in components.py."""

import os

import pytest

from tests import components  # noqa: F401 - reads SIAR_TEST_STRICT before the guard below hides it


@pytest.fixture(autouse=True)
def _no_settings_of_the_developer(monkeypatch: pytest.MonkeyPatch) -> None:
    """SIAR_* in the developer's shell would change what is tested."""
    for name in [name for name in os.environ if name.startswith("SIAR_")]:
        monkeypatch.delenv(name)

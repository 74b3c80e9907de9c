"""For every test. Kept small: helpers that tests import live in components.py."""

import os
import signal

import pytest

from tests import components  # noqa: F401 - reads SIAR_TEST_STRICT before the guard below hides it

# A suite that was started in the background of a script hands down that Ctrl-C is to be ignored: programs under test
# would never hear theirs. A handler is not inherited over exec, so that they start with the default again.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def _no_settings_of_the_developer(monkeypatch: pytest.MonkeyPatch) -> None:
    """SIAR_* in the developer's shell would change what is tested."""
    for name in [name for name in os.environ if name.startswith("SIAR_")]:
        monkeypatch.delenv(name)

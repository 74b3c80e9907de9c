"""For every test. Kept small: helpers that tests import live in components.py and in support/."""

import contextlib
import os
import signal
from collections import Counter

import pytest

from tests import components  # noqa: F401 - reads SIAR_TEST_STRICT before the guard below hides it
from tests.tools.suite import files_that_mark

# A suite that was started in the background of a script hands down that Ctrl-C is to be ignored: programs under test
# would never hear theirs. A handler is not inherited over exec, so that they start with the default again.
signal.signal(signal.SIGINT, signal.default_int_handler)

# A busy machine takes longer than Hypothesis's 200 ms for an example, and that is no fault of what is tested.
with contextlib.suppress(ImportError):
    from hypothesis import HealthCheck, settings

    settings.register_profile("siar", deadline=None, suppress_health_check=[HealthCheck.too_slow])
    settings.load_profile("siar")


@pytest.fixture(autouse=True)
def _no_settings_of_the_developer(monkeypatch: pytest.MonkeyPatch) -> None:
    """SIAR_* in the developer's shell would change what is tested."""
    for name in [name for name in os.environ if name.startswith("SIAR_")]:
        monkeypatch.delenv(name)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Nightly tests run only when they are asked for, also where pytest is called by itself."""
    _refuse_hidden_marks(items)
    if "nightly" in config.option.markexpr or any("::" in argument for argument in config.args):
        return
    nightly = [item for item in items if item.get_closest_marker("nightly")]
    if nightly:
        config.hook.pytest_deselected(items=nightly)
        items[:] = [item for item in items if item not in nightly]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """One line for each reason to skip, since one missing component skips dozens of tests."""
    reports = terminalreporter.stats.get("skipped", [])
    reasons = Counter(str(report.longrepr[2]).removeprefix("Skipped: ") for report in reports)
    for reason, count in reasons.most_common():
        terminalreporter.write_line(f"skipped {count}: {reason}")


def _refuse_hidden_marks(items: list[pytest.Item]) -> None:
    """A test that is marked `alone` in a roundabout way would be run in neither half of the suite."""
    marked = {item.path for item in items if item.get_closest_marker("alone")}
    hidden = marked - set(files_that_mark("alone"))
    if hidden:
        raise pytest.UsageError(f"write `@pytest.mark.alone` out in {', '.join(map(str, sorted(hidden)))}")

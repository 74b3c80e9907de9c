"""Configuration of all tests. Helpers that tests import are in components.py and in support/."""

import contextlib
import os
import signal
from collections import Counter

import pytest

from tests import components  # noqa: F401 - reads SIAR_TEST_STRICT before the guard below hides it
from tests.tools.suite import files_that_mark

# A suite started in the background of a script inherits that SIGINT is ignored, and would pass that on to programs
# under test. A handler is reset by exec, so that they start with the default action.
signal.signal(signal.SIGINT, signal.default_int_handler)

# On a busy machine, an example may take longer than Hypothesis's 200 ms, which is no fault of the code.
with contextlib.suppress(ImportError):
    from hypothesis import HealthCheck, settings

    settings.register_profile("siar", deadline=None, suppress_health_check=[HealthCheck.too_slow])
    settings.load_profile("siar")


@pytest.fixture(autouse=True)
def _no_settings_of_the_developer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove SIAR_* of the developer's shell, which would change what is tested."""
    for name in [name for name in os.environ if name.startswith("SIAR_")]:
        monkeypatch.delenv(name)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect nightly tests unless they are requested, even if pytest is called directly."""
    _refuse_hidden_marks(items)
    if "nightly" in config.option.markexpr or any("::" in argument for argument in config.args):
        return
    nightly = [item for item in items if item.get_closest_marker("nightly")]
    if nightly:
        config.hook.pytest_deselected(items=nightly)
        items[:] = [item for item in items if item not in nightly]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print one line per reason to skip, because one missing component skips dozens of tests."""
    reports = terminalreporter.stats.get("skipped", [])
    reasons = Counter(str(report.longrepr[2]).removeprefix("Skipped: ") for report in reports)
    for reason, count in reasons.most_common():
        terminalreporter.write_line(f"skipped {count}: {reason}")


def _refuse_hidden_marks(items: list[pytest.Item]) -> None:
    """Reject tests marked `alone` indirectly, which no part of the suite would run, or without `nightly`."""
    marked = [item for item in items if item.get_closest_marker("alone")]
    hidden = {item.path for item in marked} - set(files_that_mark("alone"))
    if hidden:
        raise pytest.UsageError(f"write `@pytest.mark.alone` out in {', '.join(map(str, sorted(hidden)))}")
    daily = [item.nodeid for item in marked if not item.get_closest_marker("nightly")]
    if daily:
        raise pytest.UsageError(f"what needs the machine for itself is `nightly`, too: {', '.join(daily)}")

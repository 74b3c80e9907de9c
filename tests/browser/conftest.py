"""What most tests of pages need: for the tests of one file one server and one browser, for each test its own page."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.browser.cdp import Browser, Page, running_browser
from tests.browser.devices import DESK, new_device
from tests.components import require_chromium
from tests.support.server import RunningServer, running_server
from tests.support.stage import Stage


@pytest.fixture(scope="module")
def server(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[RunningServer]:
    """A server in a folder that is called after the file of tests; nothing in it fails unexpectedly."""
    with running_server(tmp_path_factory.mktemp(request.path.stem)) as running:
        yield running
        assert "Traceback" not in running.log()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Chromium; what it has reported is there from the test's own pages on."""
    with running_browser(require_chromium()) as running:
        yield running


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """An empty tab at a desk, with cookies of its own: nobody has signed in."""
    browser.events.clear()
    opened = new_device(browser, DESK)
    yield opened
    opened.close()


@pytest.fixture
def stage(server: RunningServer) -> Iterator[Stage]:
    """The server's room, with phones that a test plays."""
    made = Stage(server)
    with made.awake():
        yield made
    made.clear()

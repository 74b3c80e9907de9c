"""No page asks anybody but this server and its clock, whatever it shows; the browser's own log says so."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest

from tests.browser.cdp import Browser, running_browser
from tests.browser.classroom import STEP, join, phone
from tests.browser.devices import DESK, PROJECTOR, new_device
from tests.browser.guests import enter, open_room, operator_link, screen_url
from tests.components import require_chromium
from tests.support.server import RunningServer, running_server

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    with running_server(tmp_path_factory.mktemp("foreign")) as running:
        open_room(running)
        enter(running, "Red Gecko")
        yield running


@pytest.fixture
def browser() -> Iterator[Browser]:
    with running_browser(require_chromium()) as running:
        yield running


def hosts(browser: Browser) -> set[str]:
    """Who was asked by any page or worker; what a page carries in itself is nobody."""
    urls = [urlsplit(url) for url in browser.requested_urls()]
    return {url.netloc for url in urls if url.scheme not in ("data", "blob")}


@pytest.mark.slow
def test_phone_operator_and_big_screen_ask_this_server_and_its_clock_and_nobody_else(
    browser: Browser, server: RunningServer
) -> None:
    desk = new_device(browser, DESK)
    desk.go(operator_link(server))
    desk.wait_for("document.querySelectorAll('#seats > li').length >= 1")
    screen = new_device(browser, PROJECTOR)
    screen.go(screen_url(server))
    screen.wait_for("document.querySelectorAll('#seats > li').length >= 1")
    mobile = phone(browser, server.url)
    join(mobile)
    mobile.wait_for(f"{STEP} === 'lobby'")
    server.publish(title="https://example.org/", body="//example.org/x.png")

    own = f"127.0.0.1:{server.port}"
    clock = f"127.0.0.1:{server.clock_port}"
    paths = {urlsplit(url).path for url in browser.requested_urls()}
    browser.wait(lambda: clock in hosts(browser), "the clock channel")

    assert hosts(browser) == {own, clock}
    # Of the page's, the worker's and the operator's own: else the line above would say little.
    assert {"/api/assignment", "/api/screen", "/api/room"} <= paths
    assert browser.complaints() == []

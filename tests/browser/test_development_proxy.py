"""The phone page through the proxy of a front-end's development server, in real Chromium, which says that it asks its own origin."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.browser.cdp import Browser
from tests.browser.test_page import start, stop
from tests.support.node_proxy import node_proxy
from tests.support.server import RunningServer, running_server

pytestmark = [pytest.mark.browser, pytest.mark.slow]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """Chromium sends no Sec-Fetch-Site with a WebSocket, so that the name must have been allowed."""
    folder = tmp_path_factory.mktemp("server")
    with running_server(folder, trusted_proxies="127.0.0.1", allowed_hosts="127.0.0.1") as running:
        yield running
        assert "Traceback" not in running.log()


@pytest.fixture(scope="module")
def url(server: RunningServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The proxy puts its target into Host and does not tell what the browser asked for."""
    with node_proxy(tmp_path_factory.mktemp("node"), server.port, says_host=False) as port:
        yield f"http://127.0.0.1:{port}/"


@pytest.mark.parametrize("transport", ["sse", "socketio"])
def test_the_phone_page_receives(browser: Browser, url: str, server: RunningServer, transport: str) -> None:
    page = browser.new_page(alone=True)
    page.go(f"{url}?lang=en")
    page.wait_for("globalThis.siar !== undefined && !document.querySelector('#toggle').disabled")
    start(page, transport)
    server.publish(title="Compressed", body="and passed on")
    page.wait_for(f"siar.worker.tallies.{transport}.received_count === 1")
    page.wait_for("siar.worker.outbox.waiting_count === 0 && siar.worker.outbox.sent_count > 0")
    stop(page)
    page.close()

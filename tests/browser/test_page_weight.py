"""What the phone page weighs before compression, as the browser received it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.browser.cdp import Browser, running_browser
from tests.components import require_chromium
from tests.support.server import running_server

pytestmark = [pytest.mark.browser, pytest.mark.slow]

PAGE_BYTES_MAX = 60_000

CLIENT_LIBRARY = "/static/vendor/"


def received_bytes(browser: Browser) -> dict[str, int]:
    """Length of what came for each address, headers not counted; the browser says it once a request is over."""
    urls = {
        event.params["requestId"]: event.params["request"]["url"]
        for event in browser.events
        if event.method == "Network.requestWillBeSent"
    }
    found: dict[str, int] = {}
    for event in browser.events:
        if event.method == "Network.dataReceived" and event.params["requestId"] in urls:
            url = urls[event.params["requestId"]]
            found[url] = found.get(url, 0) + event.params["dataLength"]
    return found


def test_the_phone_page_with_an_experiment_to_join_weighs_at_most_60_kb(tmp_path: Path) -> None:
    with running_server(tmp_path) as server, running_browser(require_chromium()) as browser:
        server.request("POST", "/api/room", {"run": "r-weight", "wanted_count": 9, "length_s": 60})
        for language in ("en", "id"):
            browser.events.clear()
            page = browser.new_page()
            page.call("Network.setCacheDisabled", cacheDisabled=True)
            page.go(f"{server.url}/?lang={language}")
            page.wait_for("!document.querySelector('#room-join').hidden")

            received = received_bytes(browser)

            assert not any(CLIENT_LIBRARY in url for url in received)
            heaviest = sorted(received.items(), key=lambda each: -each[1])
            assert sum(received.values()) <= PAGE_BYTES_MAX, heaviest

        # The client library comes for the check of its transport, and not before.
        page.click("#join-button")
        page.wait_for("siar.room?.isReady")
        assert any(CLIENT_LIBRARY in url for url in received_bytes(browser))

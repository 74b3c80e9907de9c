"""What the phone page weighs before compression, as the browser received it: opened, and with all that it ever loads."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.browser.cdp import Browser, running_browser
from tests.browser.conductor import Conductor
from tests.components import require_chromium
from tests.support.server import running_server

pytestmark = [pytest.mark.browser, pytest.mark.slow]

OPENED_BYTES_MAX = 55_000
"""Until somebody presses a button, with an experiment to join. The limit that was set is 60 kB."""

EVER_BYTES_MAX = 105_000
"""With the worker that measures, both transports and the result, each file once: what a phone loads at most."""

CLIENT_LIBRARY = "/static/vendor/"

NO_PART_OF_THE_PAGE = ("/api/", "/events", "/socket.io/")
"""What is asked and told, however long the page is open."""


def received_bytes(browser: Browser) -> dict[str, int]:
    """Length of what came for each address, headers not counted; of several answers the longest.

    Page and worker each ask for what they share; a browser that may keep it takes it once.
    """
    lengths: dict[tuple[str | None, str], int] = {}
    urls: dict[tuple[str | None, str], str] = {}
    for event in browser.events:
        if event.method == "Network.requestWillBeSent":
            urls[event.session, event.params["requestId"]] = event.params["request"]["url"]
        elif event.method == "Network.dataReceived":
            request = event.session, event.params["requestId"]
            lengths[request] = lengths.get(request, 0) + event.params["dataLength"]
    found: dict[str, int] = {}
    for request, length in lengths.items():
        if url := urls.get(request):
            found[url] = max(found.get(url, 0), length)
    return found


def heaviest(received: dict[str, int]) -> list[tuple[str, int]]:
    """For whoever has to make it lighter."""
    return sorted(received.items(), key=lambda each: -each[1])


@pytest.mark.parametrize("language", ["en", "id"])
def test_the_phone_page_weighs_what_it_may_opened_and_with_all_that_it_ever_loads(
    tmp_path: Path, language: str
) -> None:
    with running_server(tmp_path) as server, running_browser(require_chromium()) as browser:
        conductor = Conductor(server)
        conductor.open(wanted_count=1)
        page = browser.new_page()
        page.call("Network.setCacheDisabled", cacheDisabled=True)
        page.go(f"{server.url}/?lang={language}")
        page.wait_for("!document.querySelector('#room-join').hidden")

        opened = received_bytes(browser)
        # The client library comes for the check of its transport, and not before.
        conductor.start(page)
        for transport in ("sse", "socketio"):
            conductor.begin_trial(page, transport, notifications=3, drain_ms=500)
            conductor.end_trial(page)
        ever = {
            url: length
            for url, length in received_bytes(browser).items()
            if not any(part in url for part in NO_PART_OF_THE_PAGE)
        }

    library = [url for url in ever if CLIENT_LIBRARY in url]
    assert not any(CLIENT_LIBRARY in url for url in opened)
    assert sum(opened.values()) <= OPENED_BYTES_MAX, heaviest(opened)
    assert len(library) == 1
    own = {url: length for url, length in ever.items() if url not in library}
    assert any(url.endswith("/trial_session.js") for url in own)
    assert sum(own.values()) <= EVER_BYTES_MAX, heaviest(own)

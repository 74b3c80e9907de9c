"""What the browser really receives for the phone page: no more than what its files name, and the library when it runs."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit

import pytest

from app.server.factory import create_app
from app.settings import Settings
from tests.browser.cdp import Browser, running_browser
from tests.browser.conductor import Conductor
from tests.components import require_chromium
from tests.support.server import running_server
from tests.unit.test_page_weight import CLIENT_LIBRARY, OPENED_BYTES_MAX, followed, heaviest

pytestmark = [pytest.mark.browser, pytest.mark.nightly]

RECEIVED_BYTES_MAX = OPENED_BYTES_MAX + 800
"""With the room's state and the server's answer to the device, which grow with names and addresses, not with the page."""


def received_bytes(browser: Browser) -> dict[str, int]:
    """Length of what came for each address, headers not counted; the browser says it once a request is over."""
    urls = {
        (event.session, event.params["requestId"]): event.params["request"]["url"]
        for event in browser.events
        if event.method == "Network.requestWillBeSent"
    }
    found: dict[str, int] = {}
    for event in browser.events:
        if event.method == "Network.dataReceived":
            url = urls.get((event.session, event.params["requestId"]), "")
            found[url] = found.get(url, 0) + event.params["dataLength"]
    return found


def test_a_phone_that_opens_the_page_and_measures_loads_what_was_weighed_and_the_library_when_it_runs(
    tmp_path: Path,
) -> None:
    files = create_app(Settings(admin_token="t", runs_dir=tmp_path)).test_client()
    weighed = followed(files, "en", later=True).keys()
    with running_server(tmp_path) as server, running_browser(require_chromium()) as browser:
        conductor = Conductor(server)
        conductor.open(wanted_count=1)
        page = browser.new_page()
        page.call("Network.setCacheDisabled", cacheDisabled=True)
        page.go(f"{server.url}/?lang=en")
        page.wait_for("!document.querySelector('#room-join').hidden")

        opened = received_bytes(browser)
        before = [urlsplit(url).path for url in browser.requested_urls()]
        conductor.start(page)
        for transport in ("sse", "socketio"):
            conductor.begin_trial(page, transport, notifications=3, drain_ms=500)
            conductor.end_trial(page)
        asked = {urlsplit(url).path for url in browser.requested_urls()}

    statics = {path for path in asked if path.startswith("/static/") and not path.startswith(CLIENT_LIBRARY)}
    files_of_page = {url: size for url, size in opened.items() if not urlsplit(url).path.startswith("/api/")}
    assert sum(files_of_page.values()) <= OPENED_BYTES_MAX, heaviest(files_of_page)
    assert sum(opened.values()) <= RECEIVED_BYTES_MAX, heaviest(opened)
    assert statics <= weighed
    assert "/static/js/trial_session.js" in statics
    # The client library comes for the check of its transport, and not before.
    assert not any(path.startswith(CLIENT_LIBRARY) for path in before)
    assert any(path.startswith(CLIENT_LIBRARY) for path in asked)

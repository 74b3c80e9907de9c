"""The phone page over HTTPS: what a secure context gives it, and that it still measures."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.browser.cdp import running_browser
from tests.browser.test_page import start, stop
from tests.components import require_chromium
from tests.support.encrypted import serving

pytestmark = pytest.mark.browser


@pytest.mark.slow
@pytest.mark.parametrize("choice", ["sse", "socketio"])
def test_the_page_is_isolated_and_its_clock_and_streams_are_encrypted(tmp_path: Path, choice: str) -> None:
    with (
        serving(tmp_path, "--https", "ca", trust="runs/.tls/ca.pem") as server,
        # The authority is not installed in this browser, as on a phone whose owner accepted the warning.
        running_browser(require_chromium(), "--ignore-certificate-errors") as browser,
    ):
        address = re.findall(rf"https://([\d.]+):{server.port}/", server.log.read_text())[0]
        page = browser.new_page()
        page.go(f"https://{address}:{server.port}/?lang=en")
        page.wait_for("globalThis.siar !== undefined && !document.querySelector('#toggle').disabled")
        start(page, choice)
        server.publish("over TLS")
        page.wait_for(f"siar.worker.tallies.{choice}.received_count === 1")
        # A machine too busy to open it within a second has the clock asked over HTTP until the next burst.
        page.wait_for("document.querySelector('#clock-channel').innerText === 'a WebSocket of its own'")
        secure = page.evaluate("[isSecureContext, crossOriginIsolated, 'wakeLock' in navigator]")
        stop(page)
        complaints = browser.complaints()

    assert secure == [True, True, True]
    assert complaints == []

"""A full server answers, with 503: its pages say so, and not that there is no answer."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.browser.cdp import Browser
from tests.browser.classroom import STEP
from tests.browser.conductor import Conductor
from tests.browser.test_page import open_page
from tests.support.server import RunningServer, running_server
from tests.support.streams import sse

pytestmark = [pytest.mark.browser, pytest.mark.slow]

IS_FULL = "siar.worker?.problems.includes('server_full')"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    with running_server(tmp_path_factory.mktemp("full"), connections_max=1, recorder=0) as running:
        yield running
        assert "Traceback" not in running.log()


@pytest.mark.parametrize(
    ("transport", "language", "words"),
    [
        ("sse", "en", "The server is full: it answers, but takes no more connections."),
        ("socketio", "id", "Server penuh: server menjawab, tetapi tidak menerima koneksi lagi."),
    ],
)
def test_the_page_of_a_full_server_says_so_until_there_is_a_place(
    browser: Browser, server: RunningServer, transport: str, language: str, words: str
) -> None:
    with sse(server.port):
        page = open_page(browser, server, language)
        page.click(f"[value={transport}]")
        page.click("#toggle")
        page.wait_for(IS_FULL)
        page.wait_for(f"document.querySelector('#problems').innerText.includes({words!r})")

    page.wait_for("siar.worker.phase === 'receiving'", 60)
    assert page.evaluate("siar.worker.problems") == []
    page.click("#toggle")
    page.wait_for("siar.worker.phase === 'stopped'")
    page.close()


def test_a_phone_s_checks_name_a_full_server(browser: Browser, server: RunningServer) -> None:
    Conductor(server).open(wanted_count=1)
    with sse(server.port):
        page = open_page(browser, server)
        page.wait_for(f"{STEP} === 'join'")
        page.click("#join-button")
        page.wait_for("siar.room?.reasons.socketio !== undefined")
        reasons = page.evaluate("[siar.room.reasons.sse, siar.room.reasons.socketio]")
        page.wait_for("document.body.innerText.includes('the server is full')")
    page.close()

    assert reasons == ["full", "full"]

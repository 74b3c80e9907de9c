"""The phone page while its server goes away and comes back: it says so, resumes, and still posts."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.browser.cdp import running_browser
from tests.browser.test_page import open_page, publish, start, stop, stored_samples
from tests.components import require_chromium
from tests.support.server import free_port, running_server

pytestmark = [pytest.mark.browser, pytest.mark.slow]


@pytest.mark.parametrize("transport", ["sse", "socketio"])
def test_a_page_says_that_the_server_is_away_and_goes_on_when_it_is_back(
    tmp_path: Path, transport: str
) -> None:
    port, clock_port = free_port(), free_port()
    with running_browser(require_chromium()) as browser:
        with running_server(tmp_path, port=port, clock_port=clock_port) as server:
            page = open_page(browser, server)
            start(page, transport)
            first = publish(server, 3)
            page.wait_for(f"siar.worker.tallies.{transport}.received_count === 3")
            stored_samples(server, first)

        page.wait_for("siar.worker.phase === 'reconnecting'")
        page.wait_for("document.querySelector('#problems').innerText.includes('does not answer')")

        with running_server(tmp_path, port=port, clock_port=clock_port) as server:
            page.wait_for("siar.worker.phase === 'receiving'")
            answered = page.evaluate("siar.worker.clock.answered_count")
            page.wait_for(f"siar.worker.clock.answered_count > {answered}")
            page.wait_for("document.querySelector('#problems').innerText === ''")
            second = publish(server, 3)
            page.wait_for(f"siar.worker.tallies.{transport}.received_count === 6")
            stop(page)
            page.wait_for("siar.worker.outbox.waiting_count === 0")

            tally = page.evaluate(f"siar.worker.tallies.{transport}")
            samples = stored_samples(server, second)

    # Another life of the history: its numbers start over, and none of them is lost or a duplicate.
    assert (tally["lost_count"], tally["duplicate_count"]) == (0, 0)
    assert {sample["outcome"] for sample in samples} == {"on_time"}


class Refusing(BaseHTTPRequestHandler):
    """What a proxy answers while the server behind it is being restarted."""

    def do_GET(self) -> None:
        self.send_error(503)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing: the tests' output is for failures."""


@contextlib.contextmanager
def refusing_server(port: int) -> Iterator[None]:
    with ThreadingHTTPServer(("127.0.0.1", port), Refusing) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield
        finally:
            server.shutdown()
            thread.join()


def test_a_stream_that_a_503_ended_before_its_first_event_misses_nothing(tmp_path: Path) -> None:
    """EventSource gives up at an error and keeps its position to itself; the page opens another from its own."""
    port, clock_port = free_port(), free_port()
    with running_browser(require_chromium()) as browser:
        with running_server(tmp_path, port=port, clock_port=clock_port) as server:
            page = open_page(browser, server)
            start(page, "sse")
        with refusing_server(port):
            page.wait_for("siar.worker.problems.includes('server_away')")

        with running_server(tmp_path, port=port, clock_port=clock_port) as server:
            publish(server, 1)
            page.wait_for("siar.worker.phase === 'receiving'")
            page.wait_for("siar.worker.tallies.sse.received_count === 1")

            assert page.evaluate("siar.worker.tallies.sse.lost_count") == 0

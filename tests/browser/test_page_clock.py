"""The phone page where the clock channel cannot be reached: HTTP takes its place within a second, and says so."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import psutil
import pytest

from tests.browser.cdp import Browser, running_browser
from tests.browser.test_page import open_page, publish, start, stop, stored_samples
from tests.components import require_chromium
from tests.support.server import RunningServer, running_server

pytestmark = pytest.mark.browser

FALLBACK_S = 1.0
"""What `clock_channel.js` promises: a second, of which it waits most for the WebSocket."""

LOAD_S = 9.0
"""A timer of the page may be that late when the machine has other work; tests/js has the second to the millisecond."""


def clock_process(server: RunningServer) -> psutil.Process:
    """The clock's process: a child of the server's master."""
    children = psutil.Process(server.process.pid).children()
    return next(child for child in children if "app.server.clock_process" in child.cmdline())


def requested_s(browser: Browser, path: str) -> float:
    """When the first request for a path began, in the browser's own time."""
    for event in browser.events:
        if event.method == "Network.requestWillBeSent" and path in event.params["request"]["url"]:
            return float(event.params["timestamp"])
    raise AssertionError(f"nobody asked for {path}")


@contextlib.contextmanager
def refused(server: RunningServer, clock: psutil.Process) -> Iterator[None]:
    """Nobody listens on the channel's port: its process is dead, and the port is held so that no new one gets it."""
    clock.kill()
    clock.wait(10)
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", server.clock_port or 0))  # bound, not listening: a connection is refused
        yield


@contextlib.contextmanager
def silent(_server: RunningServer, clock: psutil.Process) -> Iterator[None]:
    """The channel takes connections and never answers."""
    clock.suspend()
    try:
        yield
    finally:
        clock.resume()


@pytest.mark.slow
@pytest.mark.parametrize("out_of_reach", [refused, silent])
def test_the_page_reads_the_time_over_http_where_the_clock_channel_is_out_of_reach(
    tmp_path: Path, out_of_reach: Callable[..., AbstractContextManager[None]]
) -> None:
    with (
        running_server(tmp_path) as server,
        running_browser(require_chromium()) as browser,
        out_of_reach(server, clock_process(server)),
    ):
        page = open_page(browser, server)
        start(page, "sse")
        ids = publish(server, 3)
        page.wait_for("siar.worker.tallies.sse.received_count === 3")
        shown = page.text("#clock-channel")
        stop(page)
        samples = stored_samples(server, ids)

        # The history is asked as the session begins, at the moment in which the channel is tried.
        waited_s = requested_s(browser, "/api/clock") - requested_s(browser, "/api/notifications")
        assert waited_s < FALLBACK_S + LOAD_S
        assert shown.startswith("HTTP")
        assert {each["clock_channel"] for each in samples} == {"http"}
        assert {each["state"] for each in samples} <= {"ok", "wide_u"}

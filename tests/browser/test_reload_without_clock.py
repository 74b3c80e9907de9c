"""A phone that is loaded anew in the middle of a trial, and whose clock nobody answers for from then on."""

from __future__ import annotations

import itertools
import threading
from pathlib import Path

import pytest

from app.tools.calibrate.tcp_proxy import TcpProxy
from tests.browser.cdp import Browser
from tests.browser.conductor import COUNT, Conductor, conduct_of, samples_of
from tests.browser.test_page_clock import clock_process, silent
from tests.support.proxy import held
from tests.support.server import running_server

pytestmark = [pytest.mark.browser, pytest.mark.nightly]

NOTIFICATIONS = 80

CLOCK_BOUND = "siar.room.clock_bound_ms"
"""`null` as long as the phone's clock is not known."""


@pytest.mark.parametrize("transport", ["sse", "socketio"])
def test_a_trial_goes_on_to_its_end_without_a_clock_and_times_only_what_came_before_the_reload(
    browser: Browser, tmp_path: Path, transport: str
) -> None:
    """Both ways to the clock are shut, so that the end is read from the server's last answer (trial_session.js)."""
    may_ask_time = threading.Event()
    may_ask_time.set()
    hold_clock = held(may_ask_time, line=b" /api/clock")
    with (
        running_server(tmp_path) as server,
        TcpProxy("127.0.0.1", server.port, to_server=hold_clock) as proxy,
    ):
        page = browser.new_page(alone=True)
        page.go(f"{proxy.url}/?lang=en")
        page.wait_for("globalThis.siar !== undefined")
        page.evaluate("globalThis.isOfBefore = true")
        conductor = Conductor(server)
        conductor.measure(page, transport, notifications=NOTIFICATIONS, until_count=25)

        with silent(server, clock_process(server)):
            may_ask_time.clear()
            page.call("Page.reload")
            page.wait_for("!globalThis.isOfBefore && globalThis.siar?.room?.trial?.state === 'running'")
            page.wait_for(f"{COUNT} >= 25")
            known = [page.evaluate(CLOCK_BOUND)]
            batches = conductor.end_trial(page)
            known.append(page.evaluate(CLOCK_BOUND))
        may_ask_time.set()
        page.wait_for(f"{CLOCK_BOUND} !== null")
        page.close()

    samples, conduct = samples_of(batches), conduct_of(batches)
    timed = list(itertools.takewhile(lambda sample: sample["state"] == "ok", samples))
    untimed = samples[len(timed) :]
    assert known == [None, None]
    assert len({each["id"] for each in samples}) == conduct["received_count"] == NOTIFICATIONS
    assert timed
    # Of an event stream nobody can tell without a clock what was fetched and what came by itself (samples.js).
    assert {each["state"] for each in untimed} <= {"replay", "no_clock"}
    assert {each["clock_offset_us"] for each in untimed} == {None}
    assert [kind for _, kind in conduct["events"] if kind == "reload"] == ["reload"]

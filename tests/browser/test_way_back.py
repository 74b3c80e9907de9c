"""A page that was left and is come back to by the browser's own key: as it stood, from the back-forward cache."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.browser.cdp import Browser, Page
from tests.browser.conductor import Conductor, conduct_of, samples_of
from tests.browser.test_page import publish, start
from tests.support.server import RunningServer

pytestmark = pytest.mark.browser

WATCH = """
addEventListener("pageshow", (event) => { globalThis.cameBack = event.persisted; });
globalThis.sinceFirstOpened = "the same page";
"""


SET_ASIDE = "(left) => (left.hidden ?? 0) + (left.replay ?? 0) + (left.epoch_break ?? 0)"
"""How many arrivals count as come, and are not timed, since the page was away."""

AWAY = {"hidden", "frozen", "resumed"}


@pytest.fixture
def page(browser: Browser, server: RunningServer) -> Iterator[Page]:
    browser.events.clear()
    opened = browser.new_page()
    opened.go(f"{server.url}/?lang=en")
    opened.wait_for("globalThis.siar !== undefined")
    opened.evaluate(WATCH)
    yield opened
    opened.close()


def leave(page: Page, url: str) -> None:
    """Follow a link to another page."""
    page.go(url)


def come_back(page: Page) -> None:
    """Press Back; the page is the one that was left, and not another of the same address."""
    history = page.call("Page.getNavigationHistory")
    entry = history["entries"][history["currentIndex"] - 1]
    page.call("Page.navigateToHistoryEntry", entryId=entry["id"])
    page.wait_for("globalThis.siar !== undefined && document.readyState === 'complete'")
    why_not = [
        event.params["notRestoredExplanations"]
        for event in page.browser.events
        if event.method == "Page.backForwardCacheNotUsed"
    ]
    assert page.evaluate("globalThis.cameBack === true"), why_not
    assert page.evaluate("globalThis.sinceFirstOpened") == "the same page"


@pytest.mark.nightly
@pytest.mark.parametrize("transport", ["socketio", "sse"])
def test_a_page_from_the_cache_resumes_as_the_same_device_and_measures_its_clock_anew(
    page: Page, server: RunningServer, transport: str
) -> None:
    start(page, transport)
    publish(server, 3)
    page.wait_for(f"siar.worker.tallies.{transport}.received_count === 3")
    identity = page.evaluate("localStorage['siar.identity']")
    answered = page.evaluate("siar.worker.clock.answered_count")

    leave(page, f"{server.url}/healthz")
    publish(server, 4)
    come_back(page)

    page.wait_for(f"siar.worker.tallies.{transport}.received_count === 7")
    page.wait_for(f"siar.worker.clock.answered_count > {answered} && siar.worker.clock.state === 'ok'")
    # The browser cuts a WebSocket, and resuming replays; of an event stream it may keep what comes and hand it on late.
    page.wait_for(f"({SET_ASIDE})(siar.worker.tallies.{transport}.left_out) === 4")
    tally = page.evaluate(f"siar.worker.tallies.{transport}")
    assert (tally["lost_count"], tally["duplicate_count"]) == (0, 0)
    assert page.evaluate("localStorage['siar.identity']") == identity
    publish(server, 1)
    page.wait_for(f"siar.worker.tallies.{transport}.received_count === 8")


@pytest.mark.nightly
@pytest.mark.parametrize("transport", ["sse", "socketio"])
def test_a_trial_that_a_phone_left_and_came_back_to_says_so_and_lacks_nothing(
    page: Page, server: RunningServer, transport: str
) -> None:
    conductor = Conductor(server)
    device = conductor.measure(page, transport, notifications=60, until_count=10)

    leave(page, f"{server.url}/healthz")
    conductor.wait_for_published(30)
    come_back(page)
    batches = conductor.end_trial(page)

    samples, conduct = samples_of(batches), conduct_of(batches)
    kinds = [kind for _, kind in conduct["events"]]
    assert {each["device"] for each in batches} == {device}
    assert {"pagehide", "pageshow"} <= set(kinds)
    assert conduct["frozen_ms"] > 0
    assert conduct["received_count"] == len({each["id"] for each in samples}) == 60
    assert any(each["outcome"] == "replayed" or each["lifecycle"] in AWAY for each in samples)
    assert (samples[-1]["outcome"], samples[-1]["lifecycle"]) == ("on_time", "visible")

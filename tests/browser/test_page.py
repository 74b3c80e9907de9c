"""The phone page in real Chromium: receives over both transports, times truly, posts, and asks nobody else."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest
from websockets.sync.client import connect

from app.store.store import FILE_NAME, Store
from tests.browser.cdp import Browser, Page
from tests.support.server import RunningServer

pytestmark = pytest.mark.browser

LATE_US = 5_000_000
"""What takes longer is late (samples.js); less is not demanded of a machine that has other work."""

LINKED = "(siar.link?.offset_us ?? null) !== null"
"""The page can say in the worker's time when it drew something; one that is held up for long has to find out anew."""

CHANGE_AFTER_COUNT = 10
"""alternation.js: notifications until the page changes the transport."""

REFUSED_TRIES_MAX = 10
"""A first tab that a busy machine holds up does not answer in time, and the second one is let in (lock.js)."""

STORED_TIMEOUT_S = 180.0
"""Bursts are at most 6 s apart, and the recorder looks about once a second; the rest is for a busy machine."""


@pytest.fixture
def page(browser: Browser, server: RunningServer) -> Iterator[Page]:
    browser.events.clear()
    opened = open_page(browser, server)
    yield opened
    opened.close()


def open_page(browser: Browser, server: RunningServer, language: str = "en") -> Page:
    page = browser.new_page()
    page.go(f"{server.url}/?lang={language}")
    page.wait_for("globalThis.siar !== undefined && !document.querySelector('#toggle').disabled")
    return page


def start(page: Page, choice: str) -> None:
    """Choose, press Start, and wait until notifications can be received and timed."""
    page.click(f"[value={choice}]")
    page.click("#toggle")
    page.wait_for("siar.worker?.phase === 'receiving' && siar.worker.clock.state === 'ok'")


def stop(page: Page) -> None:
    page.click("#toggle")
    page.wait_for("siar.worker.phase === 'stopped'")


def publish(server: RunningServer, count: int) -> list[str]:
    """Publish notifications 20 ms apart; their ids."""
    ids = []
    for number in range(count):
        ids.append(server.publish(title=f"Notification {number}", body="Body")["id"])
        time.sleep(0.02)
    return ids


def stored_samples(server: RunningServer, ids: list[str]) -> list[dict[str, Any]]:
    """What the store holds of these notifications, as soon as it holds all of them."""
    folder = server.runs_dir / server.run
    deadline_s = time.monotonic() + STORED_TIMEOUT_S
    found: list[dict[str, Any]] = []
    while time.monotonic() < deadline_s:
        if (folder / FILE_NAME).exists():
            with Store.open(folder) as store:
                found = [sample for sample in store.samples() if sample["id"] in ids]
            if len(found) >= len(ids):
                return found
        time.sleep(0.1)
    raise AssertionError(f"{len(found)} of {len(ids)} samples in the store after {STORED_TIMEOUT_S} s")


def anchor_us(server: RunningServer, probe_count: int = 200) -> tuple[float, float]:
    """Server time minus this machine's monotonic clock: the middle and half the width of what is possible."""
    low_us, high_us = float("-inf"), float("inf")
    with connect(f"ws://127.0.0.1:{server.clock_port}/") as clock:
        for number in range(probe_count):
            before_us = time.monotonic_ns() / 1000
            clock.send(json.dumps({"probe": number}))
            answer = json.loads(clock.recv(5))
            after_us = time.monotonic_ns() / 1000
            low_us = max(low_us, answer["sent_us"] - after_us)
            high_us = min(high_us, answer["received_us"] - before_us)
    assert low_us <= high_us
    return (low_us + high_us) / 2, (high_us - low_us) / 2


@pytest.mark.parametrize("transport", ["sse", "socketio"])
def test_what_is_published_is_received_shown_and_stored(
    page: Page, server: RunningServer, transport: str
) -> None:
    start(page, transport)
    page.wait_for(LINKED)
    ids = publish(server, 12)
    page.wait_for(f"siar.worker.tallies.{transport}.received_count === 12")
    page.wait_for("document.querySelector('#newest h3').innerText === 'Notification 11'")
    stays_linked = page.evaluate(LINKED)
    stop(page)

    samples = stored_samples(server, ids)

    assert [sample["id"] for sample in samples] == ids
    for sample in samples:
        delay_us = sample["received_client_us"] + sample["clock_offset_us"] - sample["due_us"]
        assert (sample["transport"], sample["outcome"]) == (transport, "on_time")
        # A busy machine widens a burst's bound, and may have the clock asked over HTTP until the next burst.
        assert sample["state"] in ("ok", "wide_u")
        assert sample["clock_channel"] in ("websocket", "http")
        assert -sample["clock_bound_us"] <= delay_us < LATE_US
    assert any(sample["displayed_client_us"] for sample in samples) or not stays_linked
    tally = page.evaluate(f"siar.worker.tallies.{transport}")
    assert (tally["lost_count"], tally["duplicate_count"], tally["replayed_count"]) == (0, 0, 0)
    timed_count = sum(sample["state"] == "ok" for sample in samples)
    assert tally["median"]["sample_count"] == timed_count
    # It is drawn with the next frame.
    shown = f"document.querySelector('[data-transport={transport}]').innerText"
    page.wait_for(f"{shown}.includes('median, of {timed_count}')")


@pytest.mark.slow
def test_both_one_after_the_other_lose_and_repeat_nothing(page: Page, server: RunningServer) -> None:
    start(page, "both")

    ids = publish(server, 3 * CHANGE_AFTER_COUNT)
    total = "siar.worker.tallies.sse.received_count + siar.worker.tallies.socketio.received_count"
    page.wait_for(f"{total} === {len(ids)}")
    stop(page)

    samples = stored_samples(server, ids)
    assert sorted(sample["id"] for sample in samples) == sorted(ids)
    assert {sample["transport"] for sample in samples} == {"sse", "socketio"}
    for tally in page.evaluate("Object.values(siar.worker.tallies)"):
        assert (tally["lost_count"], tally["duplicate_count"]) == (0, 0)


@pytest.mark.slow
def test_what_arrives_while_the_tab_is_hidden_is_kept_and_not_timed(
    browser: Browser, page: Page, server: RunningServer
) -> None:
    start(page, "sse")
    before = publish(server, 2)
    page.wait_for("siar.worker.tallies.sse.received_count === 2")

    in_front = browser.new_page()
    page.wait_for("document.visibilityState === 'hidden'")
    stored = stored_samples(server, before)
    hidden = publish(server, 2)
    page.wait_for("siar.worker.tallies.sse.received_count === 4")
    in_front.close()
    page.call("Page.bringToFront")
    page.wait_for("document.visibilityState === 'visible'")
    # What is known of the clock may still be from before: an answer that comes from now on is of the page in front.
    answered = page.evaluate("siar.worker.clock.answered_count")
    page.wait_for(f"siar.worker.clock.answered_count > {answered} && siar.worker.clock.state === 'ok'")
    after = publish(server, 2)
    page.wait_for("siar.worker.tallies.sse.received_count === 6")
    stop(page)

    stored += stored_samples(server, hidden + after)
    assert {sample["id"]: (sample["state"], bool(sample["visible"])) for sample in stored} == {
        **dict.fromkeys(before + after, ("ok", True)),
        **dict.fromkeys(hidden, ("hidden", False)),
    }
    page.wait_for("document.querySelector('[data-tally=left_out]').innerText.includes('2 while hidden')")
    assert page.evaluate("siar.worker.tallies.sse.median.sample_count") == 4


def test_what_could_not_be_sent_survives_a_reload(
    browser: Browser, page: Page, server: RunningServer
) -> None:
    start(page, "sse")
    worker = browser.workers(page)[-1]
    browser.call("Network.setBlockedURLs", session=worker, urls=["*/api/deliveries"])
    ids = publish(server, 3)
    page.wait_for("siar.worker.outbox.waiting_count === 3 && siar.worker.problems.includes('sending_fails')")

    page.call("Page.reload")
    page.wait_for("globalThis.siar !== undefined && !document.querySelector('#toggle').disabled")
    start(page, "sse")

    assert [sample["id"] for sample in stored_samples(server, ids)] == ids
    stop(page)


@pytest.mark.slow
@pytest.mark.parametrize("others", [{"transport": "socketio"}, {"devices": ["somebody-else"]}])
def test_what_was_meant_for_others_is_not_lost_here(
    browser: Browser, page: Page, server: RunningServer, others: dict[str, Any]
) -> None:
    start(page, "sse")
    publish(server, 1)
    page.wait_for("siar.worker.tallies.sse.received_count === 1")

    # The page asks history two to four seconds later: it gets no answer until the test has seen what it says before.
    worker = browser.workers(page)[-1]
    browser.call("Network.setBlockedURLs", session=worker, urls=["*/api/notifications*"])
    server.publish(targets=others)
    publish(server, 1)
    page.wait_for("siar.worker.tallies.sse.received_count === 2")
    page.wait_for("siar.worker.tallies.sse.unknown_count === 1")
    assert missing(page) == [0, 1]
    browser.call("Network.setBlockedURLs", session=worker, urls=[])

    page.wait_for("siar.worker.tallies.sse.unknown_count === 0")
    assert missing(page) == [0, 0]
    stop(page)


def missing(page: Page) -> list[int]:
    """What is lost on SSE, and what may be."""
    counts: list[int] = page.evaluate(
        "[siar.worker.tallies.sse.lost_count, siar.worker.tallies.sse.unknown_count]"
    )
    return counts


def test_the_offset_of_the_worker_is_within_its_own_bound_of_the_truth(
    page: Page, server: RunningServer
) -> None:
    """V2 of measurement.md: NavigationStart is the page's zero on CLOCK_MONOTONIC, as is the server's clock."""
    start(page, "sse")
    ids = publish(server, 10)

    metrics = {each["name"]: each["value"] for each in page.call("Performance.getMetrics")["metrics"]}
    page_zero_us = metrics["NavigationStart"] * 1e6
    anchor_middle_us, anchor_error_us = anchor_us(server)
    link = page.wait_for("siar.link.offset_us !== null && siar.link")  # It is measured again and again.
    clock = page.evaluate("siar.worker.clock")
    stop(page)

    truth_us = anchor_middle_us + page_zero_us - link["offset_us"]
    truth_error_us = anchor_error_us + link["bound_us"]
    # So wide that a busy machine keeps within it, so narrow that a wrong sign or unit does not.
    assert truth_error_us < 10_000
    assert clock["bound_us"] < 20_000
    assert abs(clock["offset_us"] - truth_us) <= clock["bound_us"] + truth_error_us
    for sample in stored_samples(server, ids):
        error_us = abs(sample["clock_offset_us"] - truth_us)
        assert error_us <= sample["clock_bound_us"] + truth_error_us


def test_no_request_leaves_for_another_host_and_nothing_is_complained_of(
    browser: Browser, page: Page, server: RunningServer
) -> None:
    start(page, "both")
    ids = publish(server, CHANGE_AFTER_COUNT + 2)
    page.wait_for("siar.worker.tallies.socketio.received_count === 2")
    stop(page)
    stored_samples(server, ids)

    urls = [urlsplit(url) for url in browser.requested_urls()]
    own = f"127.0.0.1:{server.port}"
    assert {url.netloc for url in urls} == {own, f"127.0.0.1:{server.clock_port}"}
    # Those of the worker are among them, or the line above would say little.
    assert {"/events", "/socket.io/", "/api/deliveries"} <= {url.path for url in urls}
    assert browser.complaints() == []


@pytest.mark.slow
def test_a_second_tab_is_refused_in_a_sentence_until_the_first_one_stops(
    browser: Browser, page: Page, server: RunningServer
) -> None:
    start(page, "sse")

    second = refused_tab(browser, server)

    second.wait_for("document.querySelector('#problems').innerText.includes('another tab')")
    assert second.evaluate("siar.worker") is None
    stop(page)
    second.click("#toggle")
    second.wait_for("siar.worker?.phase === 'receiving'")

    second.wait_for("document.querySelector('#problems').innerText === ''")
    second.close()


def refused_tab(browser: Browser, server: RunningServer) -> Page:
    """A second tab that was refused when Start was pressed."""
    for _ in range(REFUSED_TRIES_MAX):
        second = open_page(browser, server)
        second.click("#toggle")
        second.wait_for("siar.problem !== null || siar.worker !== null")
        if second.evaluate("siar.problem") == "second_tab":
            return second
        second.close()
    raise AssertionError(f"the second tab was let in {REFUSED_TRIES_MAX} times")


@pytest.mark.parametrize("language", ["en", "id"])
def test_it_fits_320_pixels_in_either_language(
    browser: Browser, server: RunningServer, language: str
) -> None:
    narrow = open_page(browser, server, language)
    narrow.call("Emulation.setDeviceMetricsOverride", width=320, height=640, deviceScaleFactor=2, mobile=True)
    start(narrow, "sse")
    server.publish(title="W" * 120, body="https://" + "x" * 300)
    narrow.wait_for("document.querySelector('#newest h3').innerText.startsWith('WWW')")

    width = narrow.evaluate("[document.documentElement.scrollWidth, document.documentElement.clientWidth]")

    assert width == [320, 320]
    assert narrow.evaluate("document.documentElement.lang") == language
    narrow.close()


def test_it_is_used_from_the_keyboard(page: Page) -> None:
    page.evaluate("document.querySelector('[value=sse]').focus()")
    press(page, "ArrowDown")
    assert page.evaluate("document.querySelector('[name=choice]:checked').value") == "socketio"

    press(page, "Tab")
    press(page, "Enter")
    page.wait_for("siar.worker?.phase === 'receiving'")

    assert page.evaluate("siar.worker.transport") == "socketio"
    # The button keeps the focus, so that the same key stops.
    assert page.evaluate("document.activeElement.id") == "toggle"


def press(page: Page, key: str) -> None:
    codes = {"ArrowDown": 40, "Tab": 9, "Enter": 13}
    text = {"Enter": "\r"}.get(key)
    event: dict[str, Any] = {"key": key, "code": key, "windowsVirtualKeyCode": codes[key]}
    page.call("Input.dispatchKeyEvent", type="keyDown", **event, **({"text": text} if text else {}))
    page.call("Input.dispatchKeyEvent", type="keyUp", **event)

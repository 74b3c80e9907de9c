"""Compressed trials in real Chromium: what the network log says was agreed on, and what a phone measured."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.browser.cdp import Browser, Page
from tests.browser.conductor import Conductor, samples_of
from tests.browser.test_page import LATE_US
from tests.browser.test_room_page import open_page
from tests.support.server import RunningServer

pytestmark = [pytest.mark.browser, pytest.mark.nightly]


@pytest.fixture
def page(browser: Browser, server: RunningServer) -> Iterator[Page]:
    browser.events.clear()
    opened = open_page(browser, server.url)
    yield opened
    opened.close()


def test_a_phone_measures_compressed_and_plain_trials_over_each_transport(
    browser: Browser, page: Page, server: RunningServer
) -> None:
    conductor = Conductor(server)
    conductor.open()
    conductor.start(page)

    for transport, compression in (("sse", True), ("socketio", True), ("sse", False), ("socketio", False)):
        browser.events.clear()
        conductor.begin_trial(page, transport, compression=compression, notifications=20)
        batches = conductor.end_trial(page)

        assert agreed(browser, transport) is compression
        samples = samples_of(batches)
        assert [(each["outcome"], each["state"]) for each in samples] == [("on_time", "ok")] * 20
        for each in samples:
            delay_us = each["received_client_us"] + each["clock_offset_us"] - each["due_us"]
            assert -each["clock_bound_us"] <= delay_us < LATE_US
    assert browser.complaints() == []


def agreed(browser: Browser, transport: str) -> bool:
    """Whether server and browser agreed to compress, as the network log has it."""
    if transport == "sse":
        headers = [
            event.params["response"]["headers"]
            for event in browser.events
            if event.method == "Network.responseReceived" and "/events" in event.params["response"]["url"]
        ]
        return [lowered(each).get("content-encoding") for each in headers] == ["gzip"]
    channels = {
        event.params["requestId"]
        for event in browser.events
        if event.method == "Network.webSocketCreated" and "/socket.io/" in event.params["url"]
    }
    answers = [
        lowered(event.params["response"]["headers"])
        for event in browser.events
        if event.method == "Network.webSocketHandshakeResponseReceived"
        and event.params["requestId"] in channels
    ]
    return ["permessage-deflate" in each.get("sec-websocket-extensions", "") for each in answers] == [True]


def lowered(headers: dict[str, Any]) -> dict[str, str]:
    return {name.lower(): value for name, value in headers.items()}

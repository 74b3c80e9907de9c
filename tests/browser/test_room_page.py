"""A phone in a room, in real Chromium: joins, measures by itself, and says truly how it behaved meanwhile."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from app.tools.calibrate.tcp_proxy import TcpProxy
from tests.browser.cdp import Browser, Page, running_browser
from tests.browser.classroom import IS_READY
from tests.browser.conductor import COUNT, Conductor, conduct_of, samples_of
from tests.browser.test_page import LATE_US, LINKED, REFUSED_TRIES_MAX
from tests.components import require_chromium
from tests.support.server import RunningServer, free_port, running_server

pytestmark = pytest.mark.browser

STEP = "document.querySelector('#room').dataset.step"

LONG_COUNT = 150
"""Fifteen seconds: what a test does in the middle of a trial is over before its end, after a pause of seconds too."""


@pytest.fixture
def page(browser: Browser, server: RunningServer) -> Iterator[Page]:
    browser.events.clear()
    opened = open_page(browser, server.url)
    yield opened
    opened.close()


def open_page(browser: Browser, url: str) -> Page:
    page = browser.new_page(alone=True)
    page.go(f"{url}/?lang=en")
    page.wait_for("globalThis.siar !== undefined")
    return page


@pytest.mark.slow
def test_a_phone_joins_and_measures_over_each_transport_and_asks_nothing_meanwhile(
    browser: Browser, page: Page, server: RunningServer
) -> None:
    conductor = Conductor(server)
    conductor.open()
    conductor.start(page)
    page.wait_for(LINKED)

    for transport in ("sse", "socketio"):
        conductor.begin_trial(page, transport, radio="warm", notifications=LONG_COUNT)
        page.wait_for(f"{COUNT} >= 1")
        browser.events.clear()
        page.wait_for(f"{COUNT} >= 18")
        # Where a busy machine shut the way to the clock, that is opened again, or gone round over HTTP.
        asked = [
            urlsplit(url).path
            for url in browser.requested_urls()
            if urlsplit(url).port != server.clock_port and urlsplit(url).path != "/api/clock"
        ]
        stays_linked = page.evaluate(LINKED)
        batches = conductor.end_trial(page)

        samples = samples_of(batches)
        assert asked == []
        assert [each["outcome"] for each in samples] == ["on_time"] * LONG_COUNT
        # A busy machine widens a burst's bound, and a pause of its own is a sleep of the phone to the page.
        assert {each["lifecycle"] for each in samples} <= {"visible", "resumed"}
        assert {each["transport"] for each in samples} == {transport}
        assert {each["state"] for each in samples} <= {"ok", "wide_u"}
        for each in samples:
            delay_us = each["received_client_us"] + each["clock_offset_us"] - each["due_us"]
            assert -each["clock_bound_us"] <= delay_us < LATE_US
        assert any(each["displayed_client_us"] for each in samples) or not stays_linked
        conduct = conduct_of(batches)
        assert (conduct["expected_count"], conduct["received_count"]) == (LONG_COUNT, LONG_COUNT)
        assert (conduct["disconnects"], conduct["hidden_ms"], conduct["clock_steps"]) == (0, 0, 0)
    page.wait_for(f"{STEP} === 'between'")
    assert browser.complaints() == []


def test_a_phone_that_is_reloaded_comes_back_to_its_seat_by_itself(
    browser: Browser, page: Page, server: RunningServer
) -> None:
    conductor = Conductor(server)
    conductor.open(wanted_count=2)
    page.wait_for(f"{STEP} === 'join'")
    page.evaluate("document.querySelector('#join-name').value = 'Grace'")
    page.click("#join-button")
    page.wait_for(f"{STEP} === 'lobby'")
    before = conductor.room()["participants"]

    page.call("Page.reload")
    page.wait_for(IS_READY)
    page.wait_for(f"{STEP} === 'lobby'")
    page.wait_for("document.querySelector('#lobby-figure').innerText === '1 of 2 ready'")

    after = conductor.room()["participants"]
    assert [(each["device"], each["seat"], each["name"]) for each in after] == [
        (before[0]["device"], 1, "Grace")
    ]


@pytest.mark.slow
@pytest.mark.parametrize("transport", ["sse", "socketio"])
def test_a_phone_that_is_reloaded_in_a_trial_keeps_what_it_had_and_fetches_what_it_missed(
    page: Page, server: RunningServer, transport: str
) -> None:
    conductor = Conductor(server)
    device = conductor.measure(page, transport, notifications=80, until_count=25)
    assert not page.evaluate("document.querySelector('nav a').checkVisibility()"), "a stray tap reloads too"

    page.call("Page.reload")
    batches = conductor.end_trial(page)

    samples, conduct = samples_of(batches), conduct_of(batches)
    order = [int(each["id"].split(".")[1]) for each in samples]
    outcomes = [each["outcome"] for each in samples]
    # A busy machine may reload only when all has come.
    came_again = outcomes.index("replayed") if "replayed" in outcomes else len(outcomes)
    assert {each["device"] for each in batches} == {device}
    assert order == list(range(order[0], order[0] + 80))
    # At most a second of arrivals was not put down, which may be most where a busy machine brings many at once.
    assert came_again >= 1
    assert set(outcomes[:came_again]) == {"on_time"}
    states = [each["state"] for each in samples[:came_again]]
    hidden_from = states.index("hidden") if "hidden" in states else len(states)
    assert set(states[:hidden_from]) == {"ok"}
    assert set(states[hidden_from:]) <= {"hidden"}, "a reload hides the page before it ends it"
    assert set(outcomes) <= {"on_time", "replayed"}
    assert conduct["received_count"] == 80
    assert [kind for _, kind in conduct["events"] if kind == "reload"] == ["reload"]


@pytest.mark.slow
def test_a_phone_that_is_back_only_behind_its_trial_posts_what_it_had(
    browser: Browser, page: Page, server: RunningServer
) -> None:
    conductor = Conductor(server)
    conductor.measure(page, "sse", notifications=LONG_COUNT, drain_ms=500, until_count=15)

    page.go("about:blank")
    conductor.wait_for_published(LONG_COUNT)
    conductor.say("collect")
    page.go(f"{server.url}/?lang=en")
    batches = conductor.end_trial(page)

    samples, conduct = samples_of(batches), conduct_of(batches)
    assert len(samples) == conduct["received_count"] >= 1
    assert {each["outcome"] for each in samples} == {"on_time"}
    assert conduct["events"][-1][1] == "reload"


@pytest.mark.slow
def test_a_phone_whose_page_is_hidden_in_a_trial_says_so_and_keeps_what_came(
    browser: Browser, page: Page, server: RunningServer
) -> None:
    conductor = Conductor(server)
    conductor.measure(page, "sse", notifications=LONG_COUNT, until_count=3)

    page.call("Emulation.setFocusEmulationEnabled", enabled=False)
    in_front = browser.call("Target.createTarget", url="about:blank", browserContextId=page.context)[
        "targetId"
    ]
    page.wait_for("document.visibilityState === 'hidden'")
    conductor.wait_for_published(80)
    browser.call("Target.closeTarget", targetId=in_front)
    page.call("Page.bringToFront")
    batches = conductor.end_trial(page)

    conduct, samples = conduct_of(batches), samples_of(batches)
    # Not the gaps of a busy machine.
    kinds = [kind for _, kind in conduct["events"] if kind in ("hidden", "visible")]
    assert kinds[:2] == ["hidden", "visible"]
    assert conduct["hidden_ms"] > 0
    assert len(samples) == LONG_COUNT
    assert {each["state"] for each in samples} >= {"ok", "hidden"}
    assert all(each["visible"] == (each["lifecycle"] == "visible") for each in samples)
    page.wait_for("document.querySelector('#room-problem').innerText.includes('slept or was away')")


@pytest.mark.slow
@pytest.mark.parametrize("transport", ["sse", "socketio"])
def test_a_phone_that_is_cut_off_in_a_trial_fetches_what_it_missed(
    browser: Browser, server: RunningServer, transport: str
) -> None:
    with TcpProxy("127.0.0.1", server.port) as proxy:
        page = open_page(browser, proxy.url)
        conductor = Conductor(server)
        conductor.measure(page, transport, notifications=120, until_count=5)

        proxy.cut()
        batches = conductor.end_trial(page)

        conduct, samples = conduct_of(batches), samples_of(batches)
        assert conduct["disconnects"] == 1
        assert conduct["received_count"] == 120
        assert {each["outcome"] for each in samples} == {"on_time", "replayed"}
        page.close()


@pytest.mark.slow
def test_a_phone_that_is_frozen_in_a_trial_says_for_how_long(tmp_path: Path) -> None:
    """A browser of its own: tabs of a separate context cannot be frozen."""
    with running_server(tmp_path) as server, running_browser(require_chromium()) as browser:
        page = browser.new_page()
        page.go(f"{server.url}/?lang=en")
        conductor = Conductor(server)
        conductor.measure(page, "sse", notifications=LONG_COUNT, until_count=5)

        began_s = time.monotonic()
        page.call("Page.setWebLifecycleState", state="frozen")
        conductor.wait_for_published(100)
        page.call("Page.setWebLifecycleState", state="active")
        batches = conductor.end_trial(page)
        ended_s = time.monotonic()

    conduct, samples = conduct_of(batches), samples_of(batches)
    # It ends when the page hears of it, however busy the machine is then.
    assert 500 < conduct["frozen_ms"] < (ended_s - began_s) * 1000
    assert {"freeze", "resume"} <= {kind for _, kind in conduct["events"]}
    assert conduct["received_count"] == len({each["id"] for each in samples}) == LONG_COUNT
    # Chromium freezes the worker as well, or lets it go on: what it stamps is marked either way.
    assert {"frozen", "resumed"} & {each["lifecycle"] for each in samples}


def test_a_phone_in_the_lobby_shows_what_the_operator_broadcasts(page: Page, server: RunningServer) -> None:
    conductor = Conductor(server)
    conductor.open(wanted_count=2)
    page.wait_for(f"{STEP} === 'join'")
    page.click("#join-button")
    page.wait_for(IS_READY)
    page.wait_for("siar.worker?.phase === 'receiving'")

    for number in range(3):
        server.publish(title=f"Broadcast {number}", body="to whoever waits")

    page.wait_for("document.querySelector('#newest h3').innerText === 'Broadcast 2'")
    earlier = page.evaluate("[...document.querySelectorAll('#earlier b')].map((each) => each.innerText)")
    assert earlier == ["Broadcast 1", "Broadcast 0"]
    assert not page.evaluate("document.querySelector('#received').hidden")


@pytest.mark.slow
def test_a_phone_whose_server_was_started_anew_is_told_and_joins_again_as_the_same(
    browser: Browser, tmp_path: Path
) -> None:
    port = free_port()
    with running_server(tmp_path, port=port) as server:
        page = open_page(browser, server.url)
        conductor = Conductor(server)
        conductor.open(wanted_count=2)
        page.wait_for(f"{STEP} === 'join'")
        page.click("#join-button")
        page.wait_for(IS_READY)
        before = conductor.room()["participants"][0]["device"]

    page.wait_for("siar.room.problems.includes('server_away')")
    with running_server(tmp_path, port=port) as server:
        page.wait_for(f"{STEP} === 'lost'")
        assert "started anew" in page.text("#room-say")
        conductor = Conductor(server)
        conductor.open(wanted_count=2)
        page.wait_for(f"{STEP} === 'join'")
        page.click("#join-button")
        page.wait_for("siar.room.step === 'in'")
        page.wait_for(IS_READY)

        assert [each["device"] for each in conductor.room()["participants"]] == [before]
        page.close()


@pytest.mark.slow
def test_a_phone_that_the_operator_removes_is_told(page: Page, server: RunningServer) -> None:
    conductor = Conductor(server)
    conductor.open(wanted_count=2)
    page.wait_for(f"{STEP} === 'join'")
    page.click("#join-button")
    page.wait_for(f"{STEP} === 'lobby'")
    device = conductor.room()["participants"][0]["device"]

    server.request("DELETE", f"/api/room/participants/{device}")

    page.wait_for(f"{STEP} === 'removed'")
    assert "took this phone out" in page.text("#room-say")


@pytest.mark.slow
def test_a_second_tab_of_the_same_browser_is_refused_in_a_sentence(
    browser: Browser, page: Page, server: RunningServer
) -> None:
    conductor = Conductor(server)
    conductor.open(wanted_count=2)
    page.wait_for(f"{STEP} === 'join'")
    page.click("#join-button")
    page.wait_for(f"{STEP} === 'lobby'")

    target = browser.call("Target.createTarget", url="about:blank", browserContextId=page.context)["targetId"]
    session = browser.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
    second = Page(browser, target, session)
    for _ in range(REFUSED_TRIES_MAX):
        second.go("about:blank")
        second.go(f"{server.url}/?lang=en")
        second.wait_for("globalThis.siar?.problem || globalThis.siar?.room")
        if second.evaluate("siar.problem") == "second_tab":
            break

    second.wait_for("siar.problem === 'second_tab'")
    second.wait_for("document.querySelector('#room-problem').innerText.includes('another tab')")
    assert len(conductor.room()["participants"]) == 1

"""A phone whose person thinks again: has deleted what was recorded, or leaves between two rounds and comes back."""

from __future__ import annotations

from urllib.parse import urlsplit

import pytest

from tests.browser.cdp import Browser, Page
from tests.browser.classroom import IS_READY, STEP, join, phone
from tests.browser.conductor import Conductor, samples_of
from tests.support.server import RunningServer

pytestmark = [pytest.mark.browser, pytest.mark.slow]

WATCH_ALERTS = """
globalThis.alerts = [];
new MutationObserver(() => globalThis.alerts.push(document.querySelector("#room-problem").innerText))
  .observe(document.querySelector("#room-problem"), { attributes: true, childList: true, subtree: true });
"""

LABEL = "document.querySelector('#forget').textContent"

UNASKED = "Delete what was recorded about me"

KEPT_NOTHING = "Nothing about this phone is kept on this server any more."

VERDICT = {"code": "equivalent", "sentence_en": "The same.", "sentence_id": "Sama."}


def forget(page: Page) -> None:
    """Press twice: the first press asks."""
    page.evaluate("document.querySelector('#room-own details').open = true")
    page.click("#forget")
    page.wait_for(f"{LABEL} === 'Really delete it? Press again'")
    page.click("#forget")


def wait_for_two_looks(browser: Browser) -> None:
    """Until the page asks how the room stands a second time: what the first answer brought is there."""
    browser.events.clear()

    def is_asked_again() -> bool:
        asked = [urlsplit(url).path for url in browser.requested_urls()]
        return asked.count("/api/assignment") >= 2

    browser.wait(is_asked_again, "the page asks twice")


def was_told_of_a_restart(page: Page) -> bool:
    """Whether the page's alert has said so at any time."""
    return any("started anew" in text for text in page.evaluate("globalThis.alerts"))


def test_who_deletes_in_the_lobby_is_told_so_calmly_until_the_phone_joins_again(
    browser: Browser, server: RunningServer
) -> None:
    conductor = Conductor(server)
    conductor.open(wanted_count=2)
    page = phone(browser, server.url)
    page.evaluate(WATCH_ALERTS)
    join(page)

    forget(page)
    page.wait_for(f"{STEP} === 'join' && {LABEL} === 'Deleted'")
    wait_for_two_looks(browser)
    told = (page.evaluate(LABEL), page.text("#forget-words"), was_told_of_a_restart(page))
    seated = conductor.room()["participants"]
    join(page)

    assert told == ("Deleted", KEPT_NOTHING, False)
    assert seated == []
    page.wait_for(f"{LABEL} === '{UNASKED}'")
    assert page.text("#forget-words") == ""
    page.close()


def test_who_deletes_after_the_run_is_still_told_so_when_the_page_has_looked_again(
    browser: Browser, server: RunningServer
) -> None:
    conductor = Conductor(server)
    conductor.open()
    page = phone(browser, server.url)
    page.evaluate(WATCH_ALERTS)
    conductor.start(page)
    status, _ = server.request("POST", f"/api/room/finish?run={conductor.run}", {"verdict": VERDICT})
    assert status == 200
    page.wait_for(f"{STEP} === 'finished'")

    forget(page)
    page.wait_for(f"{STEP} === 'forgotten'")
    wait_for_two_looks(browser)

    assert page.evaluate(STEP) == "forgotten"
    assert page.text("#room-say") == KEPT_NOTHING
    assert not was_told_of_a_restart(page)
    page.close()


def test_who_leaves_between_two_rounds_may_come_back_to_the_same_seat_after_a_reload_too(
    browser: Browser, server: RunningServer
) -> None:
    conductor = Conductor(server)
    conductor.open()
    page = phone(browser, server.url)
    conductor.start(page)
    page.wait_for(f"{STEP} === 'between'")
    before = conductor.room()["participants"]
    page.click("#forget")
    page.wait_for(f"{LABEL} !== '{UNASKED}'")

    page.click("#leave")
    page.wait_for(f"{STEP} === 'join'")
    browser.wait(lambda: conductor.room()["participants"][0]["left"], "the server knows that it left")
    label = page.evaluate(LABEL)
    page.call("Page.reload")
    page.wait_for(f"globalThis.siar?.room === null && {STEP} === 'join'")
    facts = page.text("#join-facts")
    page.click("#join-button")
    page.wait_for(IS_READY)
    conductor.begin_trial(page, "sse", notifications=10)
    batches = conductor.end_trial(page)

    (after,) = conductor.room()["participants"]
    assert label == UNASKED
    assert "your seat is kept" in facts
    assert [(each["device"], each["seat"]) for each in before] == [(after["device"], after["seat"])]
    assert len(samples_of(batches)) == 10
    page.close()

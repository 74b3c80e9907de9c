"""What the page loads only when Start is pressed may not come: then it says so, and does not start for ever."""

from __future__ import annotations

import pytest

from tests.browser.cdp import Browser
from tests.browser.classroom import STEP
from tests.browser.conductor import Conductor
from tests.browser.test_page import open_page, start, stop
from tests.support.server import RunningServer

pytestmark = [pytest.mark.browser, pytest.mark.slow]

TOLD = "siar.problem === 'worker' && document.querySelector('#problems .problem') !== null"


def test_a_part_of_page_or_worker_that_does_not_load_after_start_is_told_of(
    browser: Browser, server: RunningServer
) -> None:
    page = open_page(browser, server)
    page.call("Network.setBlockedURLs", urls=["*/static/js/clock_link.js"])
    page.click("#toggle")
    page.wait_for(TOLD)
    by_page = page.text("#problems")
    page.call("Network.setBlockedURLs", urls=[])

    worker = browser.wait(lambda: browser.workers(page), "the worker")[-1]
    browser.call("Network.setBlockedURLs", session=worker, urls=["*/static/js/session.js"])
    page.click("#toggle")
    page.wait_for(TOLD)
    by_worker = page.text("#problems")
    button = page.evaluate("[toggle.innerText, toggle.getAttribute('aria-disabled')]")
    browser.call("Network.setBlockedURLs", session=worker, urls=[])

    for said in (by_page, by_worker):
        assert "did not load or broke off. Reload the page." in said
    assert button == ["Start", "false"]
    page.call("Page.reload")
    page.wait_for("globalThis.siar !== undefined && !document.querySelector('#toggle').disabled")
    start(page, "sse")
    stop(page)
    page.close()


def test_a_part_that_does_not_load_at_join_is_told_of_and_join_can_be_pressed_again(
    browser: Browser, server: RunningServer
) -> None:
    Conductor(server).open(wanted_count=2)
    page = open_page(browser, server)
    page.wait_for(f"{STEP} === 'join'")
    page.call("Network.setBlockedURLs", urls=["*/static/js/device_facts.js"])
    page.click("#join-button")
    page.wait_for(TOLD)
    said = page.text("#problems")
    page.wait_for("document.querySelector('#join-button').ariaDisabled === 'false'")
    page.call("Network.setBlockedURLs", urls=[])

    assert "did not load or broke off. Reload the page." in said
    page.call("Page.reload")
    page.wait_for(f"globalThis.siar?.problem === null && {STEP} === 'join'")
    page.click("#join-button")
    page.wait_for(f"{STEP} !== 'join'")
    page.close()

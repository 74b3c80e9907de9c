"""Whoever has no finger for the glass: the room is joined, read about and left with the keys alone."""

from __future__ import annotations

import json

import pytest

from tests.browser.cdp import Browser, Page
from tests.browser.classroom import STEP, phone
from tests.browser.conductor import Conductor
from tests.browser.devices import DESK
from tests.browser.test_page import press
from tests.support.server import RunningServer

pytestmark = [pytest.mark.browser, pytest.mark.slow]

TABS_MAX = 60
"""More than the page has places to stop at."""


def tab_to(page: Page, selector: str) -> None:
    """Press Tab until the element has the focus."""
    for _ in range(TABS_MAX):
        press(page, "Tab")
        if page.evaluate(f"document.activeElement.matches({json.dumps(selector)})"):
            return
    raise AssertionError(f"no key leads to {selector}")


def test_a_room_is_joined_and_what_is_recorded_is_read_with_the_keys_alone(
    browser: Browser, server: RunningServer
) -> None:
    conductor = Conductor(server)
    conductor.open(wanted_count=2)
    page = phone(browser, server.url, screen=DESK)

    tab_to(page, "#join-name")
    page.call("Input.insertText", text="Grace")
    tab_to(page, "#join-button")
    press(page, "Enter")
    page.wait_for(f"{STEP} === 'lobby'")
    tab_to(page, "#room-own summary")
    press(page, "Enter")
    page.wait_for("document.querySelector('#room-own details').open")
    tab_to(page, "#forget")
    tab_to(page, "#leave")

    names = [each["name"] for each in conductor.room()["participants"]]
    page.close()
    assert len(names) == 1
    assert "Grace" in names[0]

"""Titles, bodies and names from anybody are text: nothing runs, and nothing makes a page wider than its screen."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from app.core.wire import BODY_CHARS_MAX, TITLE_CHARS_MAX
from tests.browser import hostile
from tests.browser.cdp import Browser, Page
from tests.browser.devices import DESK, PROJECTOR, SMALL, look_through, new_device, overflow_px
from tests.browser.guests import enter, open_room, operator_link, screen_url
from tests.browser.test_page import start, stop
from tests.support.server import RunningServer

pytestmark = [pytest.mark.browser, pytest.mark.slow]


@pytest.fixture
def phone(browser: Browser, server: RunningServer) -> Iterator[Page]:
    browser.events.clear()
    page = new_device(browser, SMALL)
    page.go(f"{server.url}/?lang=en")
    page.wait_for("globalThis.siar !== undefined && !document.querySelector('#toggle').disabled")
    yield page
    page.close()


def assert_it_is_text(page: Page, browser: Browser) -> None:
    assert not hostile.ran(page)
    assert hostile.made_elements(page) == []
    assert hostile.policy_violations(browser) == []
    assert overflow_px(page) == 0


def test_notifications_with_hostile_texts_are_shown_as_text_on_a_small_phone(
    phone: Page, browser: Browser, server: RunningServer
) -> None:
    start(phone, "sse")
    for count, text in enumerate(hostile.TEXTS.values(), start=1):
        server.publish(title=text[:TITLE_CHARS_MAX], body=text[:BODY_CHARS_MAX])
        phone.wait_for(f"siar.worker.tallies.sse.received_count === {count}")
        assert overflow_px(phone) == 0, text[:40]
    stop(phone)

    assert_it_is_text(phone, browser)


@pytest.fixture(scope="module")
def room_of_hostile_names(server: RunningServer) -> RunningServer:
    open_room(server, wanted_count=len(hostile.TEXTS) + 1)
    for text in hostile.TEXTS.values():
        enter(server, text, model=text)
    return server


def assert_it_is_text_on_every_screen(page: Page, browser: Browser) -> None:
    for screen in (SMALL, DESK, PROJECTOR):
        look_through(page, screen)
        assert overflow_px(page) == 0, screen.name
    assert_it_is_text(page, browser)


@pytest.mark.slow
def test_names_and_models_are_shown_as_text_on_the_big_screen(
    browser: Browser, room_of_hostile_names: RunningServer
) -> None:
    browser.events.clear()
    page = new_device(browser, PROJECTOR)
    page.go(screen_url(room_of_hostile_names))
    page.wait_for(f"document.querySelectorAll('#seats > li').length >= {len(hostile.TEXTS)}")

    assert_it_is_text_on_every_screen(page, browser)
    page.close()


@pytest.mark.slow
def test_names_and_notifications_are_shown_as_text_on_the_operators_page(
    browser: Browser, room_of_hostile_names: RunningServer
) -> None:
    for text in hostile.TEXTS.values():
        room_of_hostile_names.publish(title=text[:TITLE_CHARS_MAX], body=text[:BODY_CHARS_MAX])
    browser.events.clear()
    page = new_device(browser, DESK)
    page.go(operator_link(room_of_hostile_names))
    page.wait_for(f"document.querySelectorAll('#seats > li').length >= {len(hostile.TEXTS)}")
    page.click("#history-details summary")
    page.wait_for(f"document.querySelectorAll('#history > li').length >= {len(hostile.TEXTS)}")

    assert_it_is_text_on_every_screen(page, browser)
    page.close()

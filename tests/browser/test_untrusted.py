"""Titles, bodies and names from anybody are text: nothing runs, and nothing makes a page wider than its screen."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from app.core.wire import BODY_CHARS_MAX, TITLE_CHARS_MAX
from tests.browser import hostile
from tests.browser.cdp import Browser, Page, running_browser
from tests.browser.devices import SMALL, new_device, overflow_px
from tests.browser.test_page import start, stop
from tests.components import require_chromium
from tests.support.server import RunningServer, running_server

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    with running_server(tmp_path_factory.mktemp("untrusted")) as running:
        yield running


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with running_browser(require_chromium()) as running:
        yield running


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

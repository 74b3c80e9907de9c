"""Received notifications as the system shows them: in real Chromium, which says itself what it shows."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest

from tests.browser.cdp import Browser, Page, running_browser
from tests.browser.test_page import open_page, start, stop
from tests.components import require_chromium
from tests.support.server import RunningServer

pytestmark = [pytest.mark.browser, pytest.mark.slow]

PLAIN = "siar.local"
"""A name of the LAN for the same server: plain http under it is no secure context, as under any address but loopback."""

SHOWN = """(async () => {
  const registration = await navigator.serviceWorker.getRegistration("/static/js/notices/");
  const shown = (await registration?.getNotifications()) ?? [];
  return shown.map(({ title, body }) => `${title}: ${body}`);
})()"""

SHOWN_SO_FAR = """(() => {
  const shown = (globalThis.shownSoFar ??= []);
  if (shown.isWatched) return;
  shown.isWatched = true;
  const show = ServiceWorkerRegistration.prototype.showNotification;
  ServiceWorkerRegistration.prototype.showNotification = async function (title, options) {
    await show.call(this, title, options);
    shown.push(`${title}: ${options.body}`);
  };
})()"""
"""Notes what the page has shown, so that Chromium is asked only afterwards. Asked again and again while it was about to
show one, it once never listed it; that the asking did it is likely and was not shown."""

FIRST = "Siar: Notifications appear like this one while the page is open."


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with running_browser(require_chromium(), f"--host-resolver-rules=MAP {PLAIN} 127.0.0.1") as running:
        yield running


def answer(browser: Browser, server: RunningServer, setting: str) -> None:
    """Settle what the person says to notifications: `prompt` leaves it open."""
    permission = {"name": "notifications"}
    browser.call("Browser.setPermission", origin=server.url, permission=permission, setting=setting)


def offers(page: Page) -> list[bool]:
    """Whether the button is there, and whether the sentence is that stands in its place."""
    seen: list[bool] = page.evaluate(
        "['notify', 'notify-failed'].map((id) => !document.getElementById(id).hidden)"
    )
    return seen


def wait_until_shown(page: Page, words: str) -> None:
    page.wait_for(f"shownSoFar.includes('{words}')")
    page.wait_for(f"{SHOWN}.then((shown) => shown.includes('{words}'))")


def test_once_it_is_allowed_the_system_shows_what_is_published_with_title_and_body(
    browser: Browser, server: RunningServer
) -> None:
    browser.events.clear()
    answer(browser, server, "prompt")
    page = open_page(browser, server)
    page.evaluate(SHOWN_SO_FAR)
    offered = offers(page)
    before = page.evaluate("navigator.serviceWorker.getRegistrations().then((all) => all.length)")

    browser.call("Browser.grantPermissions", origin=server.url, permissions=["notifications"])
    page.click("#notify")
    wait_until_shown(page, FIRST)
    start(page, "sse")
    server.publish(title="Door", body="Somebody rings")
    wait_until_shown(page, "Door: Somebody rings")

    assert (offered, before) == ([True, False], 0)
    assert offers(page) == [False, False]
    stop(page)

    page.call("Page.reload")
    page.wait_for("globalThis.siar !== undefined && !document.querySelector('#toggle').disabled")
    page.wait_for("document.querySelector('#notify').dataset.state === 'on'")
    page.evaluate(SHOWN_SO_FAR)
    start(page, "socketio")
    server.publish(title="Door", body="Somebody rings again")
    wait_until_shown(page, "Door: Somebody rings again")

    # It serves for showing only: no page runs under it.
    assert page.evaluate("navigator.serviceWorker.controller") is None
    assert {urlsplit(url).netloc for url in browser.requested_urls()} == {
        f"127.0.0.1:{server.port}",
        f"127.0.0.1:{server.clock_port}",
    }
    assert browser.complaints() == []
    stop(page)
    page.close()


def test_who_refuses_them_is_told_in_the_buttons_place(browser: Browser, server: RunningServer) -> None:
    answer(browser, server, "prompt")
    page = open_page(browser, server, language="id")

    answer(browser, server, "denied")
    page.click("#notify")
    page.wait_for("!document.querySelector('#notify-failed').hidden")

    assert offers(page) == [False, True]
    assert "izinnya ditolak" in page.text("#notify-failed")
    page.close()


def test_on_plain_http_nothing_is_offered_and_the_page_says_why(
    browser: Browser, server: RunningServer
) -> None:
    page = browser.new_page()
    page.go(f"http://{PLAIN}:{server.port}/?lang=en")
    page.wait_for("globalThis.siar !== undefined && !document.querySelector('#toggle').disabled")

    assert page.evaluate("isSecureContext") is False
    assert offers(page) == [False, False]
    assert "show system notifications" in page.text("#plain-http")
    page.close()

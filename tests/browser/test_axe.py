"""Every page for everybody: axe-core finds nothing, in both languages and both colour schemes."""

from __future__ import annotations

import pytest

from tests.browser.axe import axe_source, violations
from tests.browser.cdp import Browser, Page
from tests.browser.classroom import IS_READY
from tests.browser.conductor import Conductor
from tests.browser.devices import DESK, PIXEL, PROJECTOR, SCHEMES, new_device, paint
from tests.browser.guests import enter, open_room, operator_link, screen_url
from tests.browser.test_page import start, stop
from tests.support.server import RunningServer

pytestmark = pytest.mark.browser

IN_EACH_LANGUAGE = ["en", pytest.param("id", marks=pytest.mark.slow)]
"""Of the second only the words differ; test_every_screen.py sees all of it in both."""


@pytest.fixture(scope="module")
def source() -> str:
    return axe_source()


def found(page: Page, source: str) -> dict[str, list[str]]:
    """What is wrong, by colour scheme; empty when nothing is."""
    wrong = {}
    for scheme in SCHEMES:
        paint(page, scheme)
        if lines := violations(page, source):
            wrong[scheme] = lines
    return wrong


@pytest.mark.slow
@pytest.mark.parametrize("language", IN_EACH_LANGUAGE)
def test_the_phone_page_has_no_violation_before_and_while_it_listens(
    browser: Browser, server: RunningServer, source: str, language: str
) -> None:
    page = new_device(browser, PIXEL, language=language)
    page.go(f"{server.url}/?lang={language}")
    page.wait_for("globalThis.siar !== undefined && !document.querySelector('#toggle').disabled")

    ready = found(page, source)
    start(page, "sse")
    server.publish(title="A title", body="A body")
    page.wait_for("siar.worker.tallies.sse.received_count === 1")
    listening = found(page, source)
    stop(page)
    page.close()

    assert (ready, listening) == ({}, {})


@pytest.fixture(scope="module")
def room(server: RunningServer) -> RunningServer:
    open_room(server)
    enter(server, "Red Gecko", ready=True, visible=True, awake=True)
    enter(server, "Blue Heron")
    return server


@pytest.mark.parametrize("language", IN_EACH_LANGUAGE)
def test_the_big_screen_has_no_violation_while_phones_gather(
    browser: Browser, room: RunningServer, source: str, language: str
) -> None:
    page = new_device(browser, PROJECTOR, language=language)
    page.go(screen_url(room, language))
    page.wait_for("document.querySelectorAll('#seats > li').length >= 2")

    wrong = found(page, source)
    page.close()

    assert wrong == {}


@pytest.mark.parametrize("language", IN_EACH_LANGUAGE)
def test_the_operators_page_has_no_violation_before_and_after_signing_in(
    browser: Browser, room: RunningServer, source: str, language: str
) -> None:
    page = new_device(browser, DESK, language=language)
    page.go(f"{room.url}/admin?lang={language}")
    page.wait_for("!document.querySelector('#sign-in').hidden")
    outside = found(page, source)
    page.go(f"{operator_link(room)}&lang={language}")
    page.wait_for("document.querySelectorAll('#seats > li').length >= 2")

    inside = found(page, source)
    page.close()

    assert (outside, inside) == ({}, {})


@pytest.mark.slow
@pytest.mark.parametrize("language", IN_EACH_LANGUAGE)
def test_the_self_test_has_no_violation_before_and_after_an_answer(
    browser: Browser, server: RunningServer, source: str, language: str
) -> None:
    page = new_device(browser, PIXEL, language=language)
    page.go(f"{server.url}/selftest?lang={language}")
    page.wait_for("globalThis.siarSelfTest !== undefined")
    before = found(page, source)

    page.click("[data-key=qr] [data-part=no]")
    after = found(page, source)
    page.close()

    assert (before, after) == ({}, {})


STEP = "document.querySelector('#room').dataset.step"


@pytest.mark.slow
@pytest.mark.parametrize("language", IN_EACH_LANGUAGE)
def test_the_phone_page_has_no_violation_in_a_room(
    browser: Browser, server: RunningServer, source: str, language: str
) -> None:
    conductor = Conductor(server)
    conductor.open(wanted_count=2)
    page = new_device(browser, PIXEL, language=language)
    page.go(f"{server.url}/?lang={language}")
    page.wait_for(f"{STEP} === 'join'")
    page.evaluate("document.querySelector('details').open = true")
    wrong = [found(page, source)]

    page.click("#join-button")
    page.wait_for(IS_READY)
    page.wait_for("siar.room.assignment.ready_count === 1")
    wrong.append(found(page, source))
    server.request("POST", "/api/room/start")
    page.wait_for(f"['countdown', 'between'].includes({STEP})")
    wrong.append(found(page, source))
    page.wait_for(f"{STEP} === 'between'")
    server.request("POST", "/api/room/pause")
    page.wait_for(f"{STEP} === 'paused'")
    wrong.append(found(page, source))
    page.close()

    assert wrong == [{}] * 4

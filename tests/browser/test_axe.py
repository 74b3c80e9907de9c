"""Every page for everybody: axe-core finds nothing, in both languages and both colour schemes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.browser.axe import axe_source, violations
from tests.browser.cdp import Browser, Page, running_browser
from tests.browser.conductor import Conductor
from tests.browser.devices import DESK, PIXEL, PROJECTOR, SCHEMES, new_device, paint
from tests.browser.guests import enter, open_room, operator_link, screen_url
from tests.browser.test_page import start, stop
from tests.components import require_chromium
from tests.support.server import RunningServer, running_server

pytestmark = pytest.mark.browser

IN_EACH_LANGUAGE = ["en", pytest.param("id", marks=pytest.mark.slow)]
"""Of the second only the words differ; test_every_screen.py sees all of it in both."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    with running_server(tmp_path_factory.mktemp("axe")) as running:
        yield running


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with running_browser(require_chromium()) as running:
        yield running


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
    page.wait_for("siar.room?.isReady && siar.room.assignment.ready_count === 1")
    wrong.append(found(page, source))
    server.request("POST", "/api/room/start")
    page.wait_for(f"{STEP} === 'countdown'")
    wrong.append(found(page, source))
    page.wait_for(f"{STEP} === 'between'")
    server.request("POST", "/api/room/pause")
    page.wait_for(f"{STEP} === 'paused'")
    wrong.append(found(page, source))
    page.close()

    assert wrong == [{}] * 4

"""Every page for everybody: axe-core finds nothing, in both languages and both colour schemes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.browser.axe import axe_source, violations
from tests.browser.cdp import Browser, running_browser
from tests.browser.devices import LANGUAGES, PIXEL, SCHEMES, new_device, paint
from tests.browser.test_page import start, stop
from tests.components import require_chromium
from tests.support.server import RunningServer, running_server

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    with running_server(tmp_path_factory.mktemp("axe")) as running:
        yield running


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with running_browser(require_chromium()) as running:
        yield running


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_phone_page_has_no_violation_before_and_while_it_listens(
    browser: Browser, server: RunningServer, language: str
) -> None:
    source = axe_source()
    page = new_device(browser, PIXEL, language=language)
    page.go(f"{server.url}/?lang={language}")
    page.wait_for("globalThis.siar !== undefined && !document.querySelector('#toggle').disabled")

    found = {}
    for scheme in SCHEMES:
        paint(page, scheme)
        found[scheme, "ready"] = violations(page, source)
    start(page, "sse")
    server.publish(title="A title", body="A body")
    page.wait_for("siar.worker.tallies.sse.received_count === 1")
    for scheme in SCHEMES:
        paint(page, scheme)
        found[scheme, "listening"] = violations(page, source)
    stop(page)
    page.close()

    assert {where: lines for where, lines in found.items() if lines} == {}

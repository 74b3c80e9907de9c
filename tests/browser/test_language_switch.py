"""A phone page that was switched to another language than its browser's: what the server says to it follows the page."""

from __future__ import annotations

import json

import pytest

from tests.browser.cdp import Browser
from tests.browser.classroom import STEP
from tests.browser.conductor import Conductor
from tests.browser.devices import PIXEL, new_device
from tests.support.server import RunningServer

pytestmark = [pytest.mark.browser, pytest.mark.slow]

VERDICT = {"code": "equivalent", "sentence_en": "The same.", "sentence_id": "Sama."}


def test_the_proposed_name_and_the_link_to_the_result_speak_the_language_that_the_page_was_switched_to(
    browser: Browser, server: RunningServer
) -> None:
    conductor = Conductor(server)
    conductor.open()
    page = new_device(browser, PIXEL, language="en")
    page.go(f"{server.url}/?lang=id")
    page.wait_for(f"{STEP} === 'join'")
    shown = page.evaluate("document.querySelector('#join-name').value")
    identity = json.loads(page.evaluate("localStorage.getItem('siar.identity')"))
    names = {
        language: server.request(
            "GET",
            f"/api/assignment?lang={language}",
            token=f"{identity['device']}.{identity['token']}",
        )[1]["you"]["proposed_name"]
        for language in ("en", "id")
    }

    conductor.start(page)
    result = {"verdict": VERDICT, "results": {identity["device"]: f"/results/{conductor.run}/of-this-phone"}}
    status, _ = server.request("POST", f"/api/room/finish?run={conductor.run}", result)
    page.wait_for(f"{STEP} === 'finished' && !document.querySelector('#result-link').hidden")

    assert status == 200
    assert shown == names["id"] != names["en"]
    address = page.evaluate("document.querySelector('#result-link').href")
    assert address == f"{server.url}/results/{conductor.run}/of-this-phone?lang=id"
    page.close()

"""From the phone page to the self-test and back, and the operator's list of what phones answered, in real Chromium."""

from __future__ import annotations

from typing import Any

import pytest

from tests.browser import hostile
from tests.browser.axe import axe_source, violations
from tests.browser.cdp import Browser, Page
from tests.browser.devices import DESK, PIXEL, SCHEMES, SMALL, look_through, new_device, overflow_px, paint
from tests.browser.guests import operator_link
from tests.support.server import RunningServer

pytestmark = [pytest.mark.browser, pytest.mark.slow]

STEPS = [
    {"step": "clock", "state": "passed", "figures": {"bound_ms": 1.2}},
    {"step": "rotate", "state": "failed", "reason": "too_wide", "figures": {"too_wide_px": 12}},
    {"step": "join", "state": "skipped"},
]

ROWS = "document.querySelectorAll('#self-tests > li').length"


def answer(server: RunningServer, *, model: str = "Pixel 7", remarks: str = "", **members: Any) -> str:
    """Answer as a new phone; its device."""
    _status, device = server.request("POST", "/api/devices", {})
    facts = {"secure_context": False, "wake_lock": False, "timer_step_us": 0, "model": model[:80]}
    body = {"language": "en", "facts": facts, "steps": STEPS, "remarks": remarks[:1000], **members}
    token = f"{device['device']}.{device['token']}"
    status, said = server.request("POST", "/api/selftest", body, token=token)
    assert status == 200, said
    return str(device["device"])


def at_the_list(page: Page, server: RunningServer, language: str) -> None:
    """An operator with the list open."""
    page.go(f"{operator_link(server)}&lang={language}")
    page.wait_for("document.querySelector('#desk').checkVisibility()")
    page.click("#self-tests-details > summary")


def test_the_phone_page_leads_to_the_self_test_and_back(browser: Browser, server: RunningServer) -> None:
    page = new_device(browser, PIXEL, language="id")
    page.go(f"{server.url}/?lang=id")
    page.wait_for("globalThis.siar !== undefined && !document.querySelector('#toggle').disabled")

    assert page.text("footer a") == "Periksa ponsel ini, atau hapus catatan"
    assert page.evaluate("document.querySelector('footer a').getBoundingClientRect().height >= 48")
    page.click("footer a")
    page.wait_for("globalThis.siarSelfTest !== undefined")
    assert page.evaluate("location.pathname + location.search") == "/selftest?lang=id"
    page.click("footer a")
    page.wait_for("globalThis.siar !== undefined")
    assert page.evaluate("location.pathname + location.search") == "/?lang=id"
    page.close()


@pytest.mark.parametrize("language", ["en", "id"])
def test_the_operator_reads_what_phones_answered(
    browser: Browser, page: Page, server: RunningServer, language: str
) -> None:
    told = {
        "en": ("1 of 16 steps passed, 1 failed, 1 skipped", "Turning the phone: failed"),
        "id": ("1 dari 16 langkah lulus, 1 gagal, 1 dilewati", "Memutar ponsel: gagal"),
    }
    device = answer(server, remarks="Too dark.")
    at_the_list(page, server, language)
    row = f"#self-tests > li[data-key='{device}']"
    page.wait_for(f'document.querySelector("{row}") !== null')

    counts, failed = told[language]
    assert counts in page.text(f"{row} [data-part=facts]")
    assert page.text(f"{row} [data-part=failed]").startswith(failed)
    assert page.text(f"{row} [data-part=remarks]") == "Too dark."
    page.click(f"{row} summary")
    assert len(page.text(f"{row} [data-part=steps]").splitlines()) == len(STEPS)
    source = axe_source()
    for scheme in SCHEMES:
        paint(page, scheme)
        assert violations(page, source) == [], scheme
    assert browser.complaints() == []


def test_the_list_says_where_the_self_test_is_while_no_phone_has_answered(
    page: Page, server: RunningServer
) -> None:
    for each in server.request("GET", "/api/selftests")[1]["records"]:
        (server.runs_dir / ".selftest" / f"{each['device']}.json").unlink()

    at_the_list(page, server, "en")

    page.wait_for("document.querySelector('#self-tests-none').checkVisibility()")
    answer(server)
    page.click("#self-tests-details > summary")
    page.click("#self-tests-details > summary")
    page.wait_for(f"{ROWS} === 1")
    assert not page.evaluate("document.querySelector('#self-tests-none').checkVisibility()")


def test_models_remarks_and_made_up_steps_are_shown_as_text(
    browser: Browser, page: Page, server: RunningServer
) -> None:
    twice = [{"step": "no_such", "state": "failed", "reason": "no_reason"}] * 2
    devices = [answer(server, model=text, remarks=text, steps=twice) for text in hostile.TEXTS.values()]
    at_the_list(page, server, "en")
    page.wait_for(f"{ROWS} >= {len(devices)}")

    row = f"#self-tests > li[data-key='{devices[0]}']"
    for _ in range(4):  # Each time it is drawn again.
        page.click("#self-tests-details > summary")
    assert page.evaluate(f'document.querySelectorAll("{row} [data-part=failed] > li").length') == len(twice)
    for screen in (SMALL, DESK):
        look_through(page, screen)
        assert overflow_px(page) == 0, screen.name
    assert not hostile.ran(page)
    assert hostile.made_elements(page) == []
    assert hostile.policy_violations(browser) == []

"""Reports in a browser: the answer on the first screen, nothing that keeps anybody from reading it, and not too long."""

from __future__ import annotations

import base64
import re
from pathlib import Path

import pytest

from tests.browser.axe import axe_source, violations
from tests.browser.cdp import Browser, Page
from tests.browser.devices import DESK, LANGUAGES, PIXEL, look_through
from tests.browser.inspector import Inspector
from tests.browser.reports import RESULTS, show_reports, written

pytestmark = pytest.mark.browser

IN_EACH_LANGUAGE = ["en", pytest.param("id", marks=pytest.mark.slow)]
"""Only the words differ in the second."""

HEIGHT_PX_MAX = 9_000
"""Longest page with its closed parts closed, on a desk."""

PAGES_MAX = 10
"""Most printed pages of A4."""

BOTTOM_PX = "Math.round(document.querySelector('header nav').getBoundingClientRect().top + scrollY)"


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], Path]:
    folder = tmp_path_factory.mktemp("reports")
    return {(scene, language): path for scene, language, path in written(folder)}


@pytest.mark.parametrize("language", IN_EACH_LANGUAGE)
def test_all_can_read_every_report_on_every_screen(browser: Browser, tmp_path: Path, language: str) -> None:
    inspector = Inspector(axe_source())

    show_reports(browser, inspector, tmp_path, [language])

    assert inspector.scenes == {"load", *(f"report-{name}" for name in RESULTS)}
    assert inspector.wrong == []


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", [name for name in RESULTS if name != "three-arms"])
def test_two_arms_are_answered_on_the_first_screen(
    page: Page, reports: dict[tuple[str, str], Path], name: str, language: str
) -> None:
    page.go(reports[f"report-{name}", language].as_uri())

    look_through(page, DESK)
    on_a_desk_px = page.evaluate(BOTTOM_PX)
    look_through(page, PIXEL)
    on_a_phone_px = page.evaluate(BOTTOM_PX)

    assert on_a_desk_px <= DESK.height_px
    assert on_a_phone_px <= 2 * PIXEL.height_px


@pytest.mark.parametrize("name", RESULTS)
def test_a_report_is_not_too_long_on_a_screen_and_on_paper(
    page: Page, reports: dict[tuple[str, str], Path], name: str
) -> None:
    page.go(reports[f"report-{name}", "en"].as_uri())
    look_through(page, DESK)

    height_px = page.evaluate("document.documentElement.scrollHeight")
    printed = base64.b64decode(page.call("Page.printToPDF", paperWidth=8.27, paperHeight=11.69)["data"])

    assert height_px < HEIGHT_PX_MAX
    assert 1 < len(re.findall(rb"/Type\s*/Page\b", printed)) < PAGES_MAX


def test_what_is_closed_can_be_read_too_and_a_link_opens_it(
    page: Page, reports: dict[tuple[str, str], Path]
) -> None:
    page.go(reports["report-decided", "en"].as_uri())
    is_open = "document.querySelector('#statistics').closest('details').open"

    assert not page.evaluate(is_open)
    page.click("nav a[href='#statistics']")
    page.wait_for(is_open)
    page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")

    assert violations(page, axe_source()) == []

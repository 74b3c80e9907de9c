"""The big screen in real Chromium: shows what the room is about, and keeps still while a trial runs."""

from __future__ import annotations

import pytest

from tests.browser.cdp import Browser, Page
from tests.browser.devices import PROJECTOR, SMALL, Screen, look_through, overflow_px
from tests.support.server import RunningServer
from tests.support.stage import GOOD, Stage

pytestmark = pytest.mark.browser

HOSTILE = ("W" * 40, "\u202egnp.exe", "<img src=x onerror=alert(1)>", "👩‍👩‍👧‍👦" * 3)


def open_screen(page: Page, stage: Stage, *, language: str = "en") -> None:
    address = stage.operate("GET", "/api/room")["screen_url"]
    page.go(f"{stage.server.url}{address}&lang={language}")
    page.wait_for("globalThis.siarScreen?.room")


def is_shown(page: Page, section: str) -> None:
    page.wait_for(f"document.querySelector('#{section}').checkVisibility()")


def questions(browser: Browser) -> int:
    """How often any screen has asked how the room stands."""
    browser.listen()
    return sum("/api/screen" in url for url in browser.requested_urls())


def test_the_lobby_shows_how_to_come_in_and_who_has(page: Page, stage: Stage) -> None:
    stage.open(wanted_count=3)
    stage.join("Red Gecko", model="Pixel 7", **GOOD)
    stage.join("Blue Heron", checks={"sse": "ok", "socketio": "failed"}, ready=False)

    open_screen(page, stage)
    is_shown(page, "lobby")
    page.wait_for("document.querySelector('#seats > li:nth-child(3)')?.innerText.includes('free seat')")
    page.wait_for("document.querySelector('#seats').innerText.includes('does not get through')")

    said = stage.operate("GET", "/api/room")
    assert page.text("#join-url") == said["join_url"]
    assert page.text("#join-code") == said["join_code"]
    assert page.evaluate("document.querySelector('#qr path').getAttribute('d').length") > 500
    assert page.text("#ready") == "1 of 3 ready: starts by itself"
    first, second, third = (page.text(f"#seats > li:nth-child({n})") for n in (1, 2, 3))
    assert "Red Gecko" in first
    assert "Pixel 7" in first
    assert "✓ clock ± 0.7 ms" in first.replace("\u00a0", " ")
    assert "! Socket.IO does not get through" in second
    assert "free seat" in third


@pytest.mark.slow
def test_the_countdown_goes_by_the_servers_clock(page: Page, stage: Stage) -> None:
    stage.open(wanted_count=1)
    open_screen(page, stage)
    is_shown(page, "lobby")
    stage.join("Red Gecko", **GOOD)

    is_shown(page, "countdown")
    first = int(page.text("#count"))
    page.wait_for(f"Number(document.querySelector('#count').innerText) < {first}")

    assert 1 <= first <= 5


@pytest.mark.slow
def test_while_a_trial_runs_the_screen_counts_down_and_asks_nothing(
    browser: Browser, page: Page, stage: Stage
) -> None:
    stage.open(wanted_count=2)
    stage.join("Red Gecko", **GOOD)
    stage.join("Blue Heron", **GOOD)
    stage.begin()
    stage.progress(round=1, remaining_s=90)
    open_screen(page, stage)
    is_shown(page, "running")

    # The screen asks again only behind its end: far enough away for a test that is held up.
    stage.trial("running", ends_in_s=30.0)
    page.wait_for("siarScreen.room.trial?.state === 'running'")
    asked = questions(browser)
    left = page.text("#time-left")
    page.wait_for(f"document.querySelector('#time-left').innerText !== '{left}'")
    page.wait_for(f"document.querySelector('#time-left').innerText < '{left}'")
    assert questions(browser) == asked
    stage.between_trials()
    page.wait_for("siarScreen.room.trial === null")

    assert page.text("#round") == "Round 1 of 48"
    assert "Red Gecko" in page.text("#there")


@pytest.mark.slow
def test_bands_grow_between_trials_with_a_table_of_the_same_numbers(page: Page, stage: Stage) -> None:
    stage.open(wanted_count=1)
    stage.join("Red Gecko", **GOOD)
    stage.begin()
    open_screen(page, stage)
    is_shown(page, "running")
    assert not page.evaluate("document.querySelector('#results').checkVisibility()")
    stage.progress(results={"sse": {"1": {"blocks": 0}}})
    is_shown(page, "results")
    for empty in ("#delay-chart", "#legend", "#notes-title"):
        assert not page.evaluate(f"document.querySelector('{empty}').checkVisibility()"), "all was void"

    stage.progress(
        notes=[{"code": "void_block", "parameters": {"block": 2, "clients": 1, "why": "P1 fell asleep."}}]
    )

    page.wait_for("document.querySelector('#delay-chart').checkVisibility()")
    assert page.evaluate("document.querySelectorAll('#delay-chart .band').length") == 2
    assert page.evaluate("document.querySelectorAll('#cpu-chart .mark').length") == 6
    assert page.evaluate("document.querySelectorAll('#results-rows tr').length") == 6
    page.click("#results summary")
    assert page.text("#results-rows tr").split() == ["SSE", "1", "3.0", "2.1", "–", "4.1", "131", "90", "1", "0", "0", "3"]  # fmt: skip
    assert page.text("#total-delivered") == "1,800"
    assert page.text("#total-asleep") == "4"
    assert "fell asleep" in page.text("#notes")
    assert page.evaluate("document.querySelector('#notes-title').checkVisibility()")


def test_the_end_is_a_sentence_in_the_readers_language(page: Page, stage: Stage) -> None:
    stage.open(wanted_count=1)
    stage.join("Red Gecko", **GOOD)
    stage.begin()
    stage.progress()
    stage.finish()

    open_screen(page, stage, language="id")
    is_shown(page, "outcome")

    assert "setara" in page.text("#verdict")
    assert page.evaluate("document.querySelectorAll('#outcome-table td').length") == 54
    assert page.text("#outcome-table th") == "cara kirim"
    cells = page.evaluate(
        "[...document.querySelectorAll('#outcome-table tbody tr:first-child td')].map((cell) => cell.innerText)"
    )
    assert cells == ["SSE", "1", "3,117", "–", "1.148,2", "2.160", "2", "0", "8"], (
        "three milliseconds, not three thousand"
    )
    assert page.text("#downloads") == "Laporan"
    assert page.evaluate("document.querySelector('#downloads a').getBoundingClientRect().height >= 48")
    links = page.evaluate("[...document.querySelectorAll('#downloads a')].map((link) => link.pathname)")
    assert links == ["/api/screen/report"], "what the screen's link opens"


@pytest.mark.slow
@pytest.mark.parametrize("screen", [SMALL, PROJECTOR])
def test_no_name_runs_or_breaks_the_page(browser: Browser, page: Page, stage: Stage, screen: Screen) -> None:
    look_through(page, screen)
    stage.open(wanted_count=len(HOSTILE) + 1)
    for name in HOSTILE:
        stage.join(name, model="M" * 80, **GOOD)
    open_screen(page, stage)
    page.wait_for(f"document.querySelectorAll('#seats > li').length === {len(HOSTILE) + 1}")
    in_the_lobby = overflow_px(page)
    stage.begin()
    hostile = ("N" * 400, "<script>alert(1)</script>")
    stage.progress(notes=[{"code": "words", "parameters": {"words": words}} for words in hostile])
    is_shown(page, "results")

    assert (in_the_lobby, overflow_px(page)) == (0, 0)
    assert page.evaluate("document.querySelectorAll('main img, main script').length") == 0
    assert browser.complaints() == []


def test_a_wrong_link_says_so_and_what_to_do(page: Page, server: RunningServer) -> None:
    page.go(f"{server.url}/screen?key=wrong&lang=en")

    page.wait_for("document.querySelector('#problem').innerText !== ''")

    assert "Open the big screen from the operator's page" in page.text("#problem")

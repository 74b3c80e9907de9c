"""Titles, bodies and names from anybody are text: nothing runs, and nothing makes a page wider than its screen."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from app.core.plan.scenario import Arm
from app.core.trial import Severity, TrialRecord, TrialWarning
from app.core.wire import BODY_CHARS_MAX, TITLE_CHARS_MAX
from app.lab.report.exchange.exporter import export_zip
from app.lab.report.exchange.importer import import_run
from tests.browser import hostile
from tests.browser.cdp import Browser, Page
from tests.browser.devices import DESK, PROJECTOR, SMALL, look_through, new_device, overflow_px
from tests.browser.guests import enter, open_room, operator_link, screen_url
from tests.browser.test_page import start, stop
from tests.support.server import RunningServer
from tests.unit.support_run import RunMaker, a_plan, store_run

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


@pytest.mark.parametrize("transport", ["sse", "socketio"])
def test_notifications_with_hostile_texts_are_shown_as_text_on_a_small_phone(
    phone: Page, browser: Browser, server: RunningServer, transport: str
) -> None:
    start(phone, transport)
    for count, text in enumerate(hostile.TEXTS.values(), start=1):
        server.publish(title=text[:TITLE_CHARS_MAX], body=text[:BODY_CHARS_MAX])
        phone.wait_for(f"siar.worker.tallies.{transport}.received_count === {count}")
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


def test_names_and_models_are_shown_as_text_on_the_big_screen(
    browser: Browser, room_of_hostile_names: RunningServer
) -> None:
    browser.events.clear()
    page = new_device(browser, PROJECTOR)
    page.go(screen_url(room_of_hostile_names))
    page.wait_for(f"document.querySelectorAll('#seats > li').length >= {len(hostile.TEXTS)}")

    assert_it_is_text_on_every_screen(page, browser)
    page.close()


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


def with_hostile_warnings(record: TrialRecord) -> TrialRecord:
    warnings = (
        TrialWarning(f"strange_{name}", Severity.NOTE, {"text": text, "advice": text})
        for name, text in hostile.TEXTS.items()
    )
    return replace(record, warnings=tuple(warnings))


@pytest.fixture(scope="module")
def strangers_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of an imported run that was made to be shown: every text in it that has no fixed form is hostile."""
    arms = (
        Arm(hostile.TEXTS["script"], "sse", {"via": hostile.TEXTS["svg"]}),
        Arm(hostile.TEXTS["image"], "socketio"),
        Arm(hostile.TEXTS["long_word"], "socketio", {"via": hostile.TEXTS["link"]}),
    )
    plan = replace(a_plan(client_counts=(1,), blocks=2, notifications=4), arms=arms)
    made = RunMaker(plan, alter=with_hostile_warnings).run()
    conditions = {
        **made.conditions,
        **hostile.TEXTS,
        "of": {text: name for name, text in hostile.TEXTS.items()},
    }
    stored = store_run(replace(made, conditions=conditions), tmp_path_factory.mktemp("made"))
    packed = export_zip(stored, tmp_path_factory.mktemp("packed") / "run.zip")
    return import_run(packed, tmp_path_factory.mktemp("imported"))[0]


def test_a_strangers_run_is_shown_as_text_in_its_report(
    page: Page, browser: Browser, strangers_run: Path
) -> None:
    page.go((strangers_run / "report.html").as_uri())
    page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")

    shown = page.text("body")
    assert all(hostile.TEXTS[name] in shown for name in ("script", "image", "link"))
    assert_it_is_text_on_every_screen(page, browser)

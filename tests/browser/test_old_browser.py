"""In a browser without what the oldest supported ones lack, every page works: what they lack is deleted before it loads."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.browser.cdp import Browser, Page
from tests.browser.conductor import Conductor, samples_of
from tests.browser.devices import DESK, PROJECTOR, new_device
from tests.browser.test_admin import fill, sign_in_by_link
from tests.browser.test_page import open_page, publish, start, stop, stored_samples
from tests.browser.test_screen import is_shown, open_screen
from tests.browser.test_selftest import AUTOMATIC, open_self_test, state_of, walk_through_what_needs_nobody
from tests.support.server import RunningServer
from tests.support.stage import Stage

pytestmark = [pytest.mark.browser, pytest.mark.slow]

LACKING = """
for (const [place, names] of [
  [globalThis, ["BroadcastChannel", "structuredClone", "requestIdleCallback", "scheduler", "navigation"]],
  [globalThis.AbortSignal, ["timeout", "any"]],
  [globalThis.AbortSignal.prototype, ["throwIfAborted"]],
  [Array, ["fromAsync"]],
  [Array.prototype, ["at", "findLast", "findLastIndex", "toReversed", "toSorted", "toSpliced", "with"]],
  [String.prototype, ["at", "isWellFormed", "toWellFormed"]],
  [Object, ["groupBy", "hasOwn"]],
  [Map, ["groupBy"]],
  [Promise, ["withResolvers", "try"]],
  [Set.prototype, ["union", "intersection", "difference", "isSubsetOf"]],
  [Response, ["json"]],
  [URL, ["canParse", "parse"]],
  [globalThis.Crypto.prototype, ["randomUUID"]],
  [globalThis.HTMLDialogElement?.prototype ?? {}, ["showModal", "show", "close"]],
  [globalThis.Navigator?.prototype ?? {}, ["locks", "userAgentData"]],
]) for (const name of names) delete place[name];
if ("structuredClone" in globalThis || [].at) throw new Error("not deleted");
"""
"""What is younger than Chrome 91 or Safari 15, in pages and workers."""


@pytest.fixture(autouse=True)
def old(browser: Browser) -> Iterator[None]:
    """Have each new tab and its workers lack it."""
    browser.prelude = LACKING
    yield
    browser.prelude = None


def is_old(page: Page) -> bool:
    return bool(page.evaluate("!('structuredClone' in globalThis || 'at' in Array.prototype)"))


@pytest.mark.parametrize("transport", ["sse", "socketio"])
def test_the_first_page_receives_and_measures(
    browser: Browser, server: RunningServer, transport: str
) -> None:
    page = open_page(browser, server)
    start(page, transport)
    ids = publish(server, 3)
    page.wait_for(f"siar.worker.tallies.{transport}.received_count === 3")
    stop(page)

    assert is_old(page)
    assert page.evaluate_in_worker("!('at' in Array.prototype)")
    assert len(stored_samples(server, ids)) == 3
    page.close()


def test_a_phone_takes_part_in_an_experiment(browser: Browser, server: RunningServer) -> None:
    conductor = Conductor(server)
    page = open_page(browser, server)
    conductor.measure(page, "sse", until_count=5)

    batches = conductor.end_trial(page)

    assert len(samples_of(batches)) == 20
    page.close()
    server.request("DELETE", "/api/room")


def test_the_operators_page_broadcasts_and_asks(browser: Browser, server: RunningServer) -> None:
    page = new_device(browser, DESK)
    sign_in_by_link(page, server)
    fill(page, "broadcast", title="Exam")
    page.click("#broadcast [type=submit]")
    page.wait_for("document.querySelector('#receipt').innerText.startsWith('Sent')")

    asking = "import('/static/js/admin/question.js').then(({ask}) => ask(document, 'Sure?', 'Yes'))"
    answers = [
        page.evaluate(f"globalThis.confirm = (text) => text === 'Sure?' && {said}, {asking}")
        for said in ("true", "false")
    ]

    assert is_old(page)
    assert answers == [True, False]
    page.close()


def test_the_big_screen_shows_the_room(browser: Browser, stage: Stage) -> None:
    stage.open(wanted_count=3)
    page = new_device(browser, PROJECTOR)

    open_screen(page, stage)

    is_shown(page, "lobby")
    assert is_old(page)
    page.close()


def test_the_self_test_looks_for_itself(browser: Browser, server: RunningServer) -> None:
    page = open_self_test(browser, server)

    walk_through_what_needs_nobody(page)

    assert [page.evaluate(state_of(step)) for step in AUTOMATIC] == ["passed"] * len(AUTOMATIC)
    assert is_old(page)
    page.close()

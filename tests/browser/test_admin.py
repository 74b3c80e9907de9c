"""The operator's page in real Chromium: sign in, broadcast and see it arrive, conduct an experiment, look after runs."""

from __future__ import annotations

import contextlib
import os
import subprocess

import pytest

from app.store.run_folder import MARK_FILE, make_folder
from tests.browser.cdp import Browser, Page
from tests.browser.devices import DESK, PIXEL, new_device, overflow_px
from tests.browser.test_page import start
from tests.support.server import RunningServer
from tests.support.stage import GOOD, PLAN, Stage
from tests.support.stored_run import store_run
from tests.support.streams import sse

pytestmark = [pytest.mark.browser, pytest.mark.slow]

CONFIRMED_ABOVE = 20
"""broadcast.js: receivers from which on the page asks before it sends."""

LONG_AGO_S = 1_700_000_000

OLD_RUN = "2026-01-02T03-04-05-0123"

COMPARED = ("2026-01-03T00-00-00-0001", "2026-01-04T00-00-00-0002")


@pytest.fixture
def desk(page: Page, server: RunningServer) -> Page:
    """The page with an operator at it."""
    sign_in_by_link(page, server)
    return page


def sign_in_by_link(page: Page, server: RunningServer) -> str:
    status, link = server.request("POST", "/api/links")
    assert status == 201, link
    url: str = link["url"]
    page.go(f"{url}&lang=en")
    page.wait_for("globalThis.siarAdmin?.session === 'in' && siarAdmin.room && siarAdmin.presets.length > 0")
    return url


def fill(page: Page, form: str, **values: str) -> None:
    """Type into fields, as far as the page can tell."""
    for name, value in values.items():
        page.evaluate(
            f"(() => {{ const field = document.querySelector('#{form} [name={name}]'); field.value = {value!r};"
            "field.dispatchEvent(new Event('input', {bubbles: true})); })()"
        )


def answer_the_question(page: Page, choice: str) -> str:
    page.wait_for("document.querySelector('#question').open")
    text = page.text("#question-text")
    page.click(f"#question-{choice}")
    return text


def test_a_link_opens_one_session_and_leaves_the_address_bar(
    browser: Browser, page: Page, server: RunningServer
) -> None:
    link = sign_in_by_link(page, server)
    assert page.evaluate("location.search") == "?lang=en"
    page.go(f"{server.url}/admin?lang=id")
    page.wait_for("globalThis.siarAdmin?.session === 'in'")
    assert browser.complaints() == []

    other = new_device(browser, DESK)
    other.go(f"{link}&lang=en")
    other.wait_for("globalThis.siarAdmin?.session === 'out'")

    assert "used before" in other.text("#sign-in-problem")
    assert "key=" not in other.evaluate("location.href")
    assert not other.evaluate("document.querySelector('#desk').checkVisibility()")
    other.close()


def test_the_token_signs_in_and_a_wrong_one_is_told(page: Page, server: RunningServer) -> None:
    page.go(f"{server.url}/admin?lang=en")
    page.wait_for("document.querySelector('#sign-in').checkVisibility()")

    fill(page, "sign-in", token="wrong")
    page.click("#sign-in button")
    page.wait_for("document.querySelector('#sign-in-problem').innerText !== ''")
    assert "not the operator" in page.text("#sign-in-problem")
    fill(page, "sign-in", token=server.admin_token)
    page.click("#sign-in button")
    page.wait_for("document.querySelector('#desk').checkVisibility()")

    page.click("#sign-out")
    page.wait_for("document.querySelector('#sign-in').checkVisibility()")
    assert server.admin_token not in page.evaluate("document.documentElement.outerHTML")


def test_a_broadcast_is_followed_to_the_last_device(
    browser: Browser, desk: Page, server: RunningServer
) -> None:
    phone = new_device(browser, PIXEL)
    phone.go(f"{server.url}/?lang=en")
    phone.wait_for("globalThis.siar !== undefined && !document.querySelector('#toggle').disabled")
    start(phone, "sse")
    desk.wait_for("siarAdmin.devices.length === 1")

    fill(desk, "broadcast", title="Exam", body="It's <b>now</b>")
    desk.wait_for("document.querySelector('#target-hint').innerText.endsWith(': 1')")
    desk.click("#broadcast [type=submit]")
    desk.wait_for("document.querySelector('#receipt').innerText.startsWith('Delivered 1 of 1')")

    phone.wait_for("document.body.innerText.includes('It\\'s <b>now</b>')")
    desk.evaluate("document.querySelector('#history-details').open = true")
    assert desk.text("#history .body") == "It's <b>now</b>"
    desk.click("#history button")
    desk.wait_for("siarAdmin.history.length === 2")
    desk.wait_for("document.querySelectorAll('#devices tr').length === 1")
    desk.click("#devices [data-part=disconnect]")
    desk.wait_for("document.querySelector('#word').innerText.startsWith('Disconnected')")
    phone.close()

    desk.click("#sign-out")
    desk.wait_for("document.querySelector('#sign-in').checkVisibility()")
    assert desk.evaluate("document.querySelector('#history').children.length") == 0


def test_the_curl_line_does_the_same(desk: Page, server: RunningServer) -> None:
    fill(desk, "broadcast", title="It's $HOME", body='"quoted"', topic="news")
    desk.evaluate("document.querySelector('#curl').closest('details').open = true")
    line = desk.text("#curl")

    environment = {**os.environ, "SIAR_ADMIN_TOKEN": server.admin_token}
    done = subprocess.run(["sh", "-c", line], capture_output=True, text=True, env=environment, check=True)

    assert '"id"' in done.stdout, done
    _status, history = server.request("GET", "/api/notifications?limit=1000")
    newest = history["notifications"][-1]
    assert (newest["title"], newest["body"], newest["topic"]) == ("It's $HOME", '"quoted"', "news")


def test_a_crowd_is_asked_about_first(page: Page, server: RunningServer) -> None:
    # The page reads its history once, behind signing in: with something in it a test can tell that it has come.
    server.publish(title="Before")
    sign_in_by_link(page, server)
    page.wait_for("siarAdmin.history.length > 0")
    with contextlib.ExitStack() as streams:
        for _ in range(CONFIRMED_ABOVE + 1):
            _status, device = server.request("POST", "/api/devices", {})
            cookie = f"siar_device={device['device']}.{device['token']}"
            streams.enter_context(sse(server.port, headers={"Cookie": cookie}))
        page.wait_for(f"siarAdmin.devices.length > {CONFIRMED_ABOVE}")
        sent_before = page.evaluate("siarAdmin.history.length")

        fill(page, "broadcast", title="To all")
        page.click("#broadcast [type=submit]")
        assert str(CONFIRMED_ABOVE + 1) in answer_the_question(page, "no")
        assert page.evaluate("siarAdmin.history.length") == sent_before
        page.click("#broadcast [type=submit]")
        answer_the_question(page, "yes")

        page.wait_for(f"siarAdmin.history.length === {sent_before + 1}")


def test_the_operator_conducts_an_experiment(desk: Page, stage: Stage) -> None:
    stage.open(wanted_count=3)
    stage.join("Red Gecko", **GOOD)
    stage.join("W" * 40, **GOOD)
    desk.wait_for("document.querySelectorAll('#seats > li').length === 2")
    assert not desk.evaluate("document.querySelector('#plan').checkVisibility()")

    desk.click("#seats > li:nth-child(2) button")
    assert "Remove" in answer_the_question(desk, "yes")
    desk.wait_for("document.querySelectorAll('#seats > li').length === 1")
    assert desk.text("#room-start") == "Start now with 1"
    desk.click("#room-start")
    # A page that is held up sees nothing of a countdown of five seconds.
    desk.wait_for("siarAdmin.room.phase !== 'gathering'")
    stage.progress(phase="running")
    desk.wait_for("document.querySelector('#room-pause').checkVisibility()")
    desk.wait_for("document.querySelector('#round').innerText.startsWith('Round 5 of 48')")
    desk.click("#room-pause")
    desk.wait_for("document.querySelector('#room-resume').checkVisibility()")
    desk.click("#room-resume")
    desk.wait_for("siarAdmin.room.phase === 'running'")
    stage.finish()
    desk.wait_for("document.querySelector('#outcome').checkVisibility()")

    assert "equivalent" in desk.text("#verdict")
    assert desk.evaluate("document.querySelector('#downloads a').pathname").endswith("/report")
    assert overflow_px(desk) == 0
    desk.click("#again-changed")
    desk.wait_for("document.querySelector('#plan').checkVisibility()")
    assert desk.evaluate("document.querySelector('#plan [name=blocks]').value") == "8"
    desk.click("#put-away")
    desk.wait_for("siarAdmin.room.phase === 'closed'")


ORDERS = """
    globalThis.orders = [];
    const asked = fetch;
    globalThis.fetch = (path, request) => {
      if (path !== "/api/runs" || request.method !== "POST") return asked(path, request);
      orders.push(JSON.parse(request.body));
      return Promise.resolve(Response.json({ detail: "Not now." }, { status: 409 }));
    };
"""
"""What is ordered is kept in `orders`, and refused as while another experiment is under way."""


def test_running_again_changes_nothing_that_nobody_changed(desk: Page, stage: Stage) -> None:
    """A preset that measures with all phones at once must not do so with one and about half of them, too."""
    stage.open(wanted_count=6, plan={**PLAN, "client_counts": [6], "profile": "radio_asleep"})
    stage.join("Red Gecko", **GOOD)
    stage.begin()
    stage.progress()
    stage.finish()
    desk.wait_for("document.querySelector('#outcome').checkVisibility()")
    desk.evaluate(f"(() => {{ {ORDERS} }})()")

    desk.click("#again-changed")
    desk.wait_for("document.querySelector('#plan').checkVisibility()")
    desk.click("#open")
    desk.wait_for("orders.length === 1 && document.querySelector('#problem').innerText.includes('Not now')")
    fill(desk, "plan", phones="4")
    desk.click("#open")
    desk.wait_for("orders.length === 2")
    fill(desk, "plan", notifications="1396")
    hint = desk.text("#notifications-hint")
    is_too_long = desk.evaluate("!document.querySelector('#plan').checkValidity()")

    same, fewer = desk.evaluate("orders")
    assert (same["plan"]["client_counts"], same["phones"], same["plan"]["profile"]) == (
        [6],
        6,
        "radio_asleep",
    )
    assert (fewer["plan"]["client_counts"], fewer["phones"]) == ([4], 4)
    assert "1,395" in hint
    assert is_too_long


def test_a_deleted_run_can_be_had_back(page: Page, server: RunningServer) -> None:
    folder = server.runs_dir / OLD_RUN
    make_folder(folder)
    (folder / "notes.txt").write_text("kept")
    for path in (folder / "notes.txt", folder / MARK_FILE, folder):
        os.utime(path, (LONG_AGO_S, LONG_AGO_S))  # What was written just now may still be written.
    sign_in_by_link(page, server)
    listed = f"[...document.querySelectorAll('#runs > li')].some((row) => row.dataset.key === '{OLD_RUN}')"
    page.wait_for(listed)

    page.click(f"#runs > li[data-key='{OLD_RUN}'] [data-part=delete]")
    page.wait_for(f"!({listed})")
    assert not folder.exists()
    page.click("#undo-button")
    page.wait_for(f"document.querySelector('#undo').hidden && ({listed})")

    assert (folder / "notes.txt").read_text() == "kept"


def test_ticked_runs_are_compared_on_a_page_of_their_own(page: Page, server: RunningServer) -> None:
    for run in COMPARED:
        store_run(server.runs_dir, run)
    sign_in_by_link(page, server)
    box = "#runs > li[data-key='{}'] [data-part=compared]"
    for run in COMPARED:
        page.wait_for(f'document.querySelector("{box.format(run)}") !== null')

    page.click(box.format(COMPARED[1]))
    alone = page.evaluate("document.querySelector('#compare').checkVisibility()")
    page.click(box.format(COMPARED[0]))
    page.wait_for("document.querySelector('#compare').checkVisibility()")
    path = page.evaluate("document.querySelector('#compare').getAttribute('href')")
    page.go(server.url + path)

    assert not alone
    assert path == f"/api/comparisons?run={COMPARED[0]}&run={COMPARED[1]}&lang=en"
    assert "figures" in page.text("h1"), "the answer is the title"
    assert COMPARED[0] in page.text("header p"), "the oldest is what the others are set against"
    assert overflow_px(page) == 0

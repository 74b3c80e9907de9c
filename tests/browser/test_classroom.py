"""The classroom, played by itself: phones join, the plan runs, what went wrong is repeated, and each sees its result."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from app.lab.analysis.validity.clock_check import check_clocks
from app.store.store import Store
from app.tools.calibrate.tcp_proxy import TcpProxy
from tests.browser.cdp import Browser, running_browser
from tests.browser.classroom import STEP, Classroom, join, phone
from tests.browser.devices import SMALL
from tests.browser.shifted_clock import shift_clock, step_clock
from tests.components import require_chromium
from tests.support.server import running_server

pytestmark = [pytest.mark.alone, pytest.mark.browser]

NOTIFICATIONS = 20

PLAN: dict[str, Any] = {
    "arms": ["sse", "socketio"],
    "client_counts": [2],
    "blocks": 1,
    "notifications": NOTIFICATIONS,
    "warmup_notifications": 5,
    "rate_hz": 20.0,
    "idle_s": 0.2,
    "settle_s": 0.5,
    "drain_s": 2.0,
    "extra_blocks_max": 2,
}
"""Two trials with both phones; a block more if the machine was too slow for one."""


SERVE = ("-m", "app", "serve", "--host", "127.0.0.1")

CLASS_PLAN: dict[str, Any] = {
    "arms": ["sse", "socketio"],
    "client_counts": [1, 3, 6],
    "blocks": 2,
    "notifications": 40,
    "warmup_notifications": 5,
    "rate_hz": 10.0,
    "idle_s": 0.2,
    "settle_s": 0.5,
    "drain_s": 2.0,
    "extra_blocks_max": 6,
}
"""Trials of 4.5 s, so that something can go wrong in the middle of one; each of the six blocks can be repeated."""

MACHINES_OWN = {"source_late", "cpu_window_late"}
"""Why a trial on a machine that has other work may be void besides."""

FROZEN_S = 2.0
AWAY_S = 1.0


@pytest.mark.nightly
def test_two_phones_join_and_the_plan_runs_by_itself(browser: Browser, tmp_path: Path) -> None:
    with running_server(tmp_path) as server:
        room = Classroom(server)
        room.open(PLAN, phones=2)
        phones = [phone(browser, server.url) for _ in range(2)]
        for number, each in enumerate(phones, start=1):
            join(each, name=f"Phone {number}")

        room.wait_for_phase("finished", timeout_s=90, browsers=[browser])
        for each in phones:
            each.wait_for(f"{STEP} === 'finished' && !document.querySelector('#result-link').hidden")

        with Store.open(room.folder) as store:
            clocks = check_clocks(store.samples(), store.probes())
        links = {each.evaluate("document.querySelector('#result-link').href") for each in phones}
        result = room.result()
        assert result["run"]["complete"] is True
        assert len(links) == 2
        assert {trial["arm"] for trial in result["trials"]} == {"sse", "socketio"}
        for trial in result["trials"]:
            assert (trial["expected"], trial["lost"]) == (2 * NOTIFICATIONS, 0)
        assert (clocks.contradicted, clocks.count > 0, clocks.unknown) == ((), True, 0)
        for each in phones:
            each.close()


def wait_for_trial(room: Classroom, *, clients: int, block: int, browsers: list[Browser]) -> None:
    """Until a trial of this block is under way."""

    def is_on(seen: dict[str, Any]) -> bool:
        trial = seen["trial"] or {}
        return (trial.get("state"), trial.get("clients"), trial.get("block")) == ("running", clients, block)

    room.wait(is_on, f"block {block} with {clients}", timeout_s=240, browsers=browsers)
    room.sleep(1.0, browsers)  # not at its very start: some of it has come already


def voids(result: dict[str, Any]) -> dict[tuple[int, int], set[str]]:
    """Why blocks do not count, by (clients, block)."""
    found: dict[tuple[int, int], set[str]] = {}
    for trial in result["trials"]:
        codes = {each["code"] for each in trial["warnings"] if each["severity"] == "void"}
        if codes:
            found.setdefault((trial["clients"], trial["block"]), set()).update(codes)
    return found


@pytest.mark.nightly
def test_what_one_phone_slept_through_and_another_was_cut_off_from_is_void_and_repeated(
    browser: Browser, tmp_path: Path
) -> None:
    """Six phones join by the code; the sleeper is a browser of its own, since a context cannot be frozen."""
    with (
        running_server(tmp_path, command=SERVE, join_code="1") as server,
        running_browser(require_chromium()) as sleepers,
        TcpProxy("127.0.0.1", server.port) as proxy,
    ):
        both = [browser, sleepers]
        room = Classroom(server)
        room.open(CLASS_PLAN, phones=6)
        code = room.room()["join_code"]
        sleeper = phone(sleepers, server.url, code=code, alone=False)
        distant = phone(browser, proxy.url, code=code, screen=SMALL, language="id")
        others = [phone(browser, server.url, code=code) for _ in range(4)]
        for each in (sleeper, distant, *others):
            join(each)

        wait_for_trial(room, clients=6, block=0, browsers=both)
        with sleeper.put_away():
            room.sleep(FROZEN_S, both)
        wait_for_trial(room, clients=6, block=1, browsers=both)
        proxy.cut(away_s=AWAY_S)
        room.wait_for_phase("finished", timeout_s=600, browsers=both)
        for each in (sleeper, distant, *others):
            each.wait_for(f"{STEP} === 'finished' && !document.querySelector('#result-link').hidden")

        assert_the_class_was_played_to_its_end(room)


def assert_the_class_was_played_to_its_end(room: Classroom) -> None:
    result = room.result()
    void = voids(result)
    report = (room.folder / "report.html").read_text(encoding="utf-8")
    later = set().union(*(codes for block, codes in void.items() if block not in {(6, 0), (6, 1)}))

    assert result["run"]["complete"] is True
    assert "asleep" in void[6, 0]
    assert "disconnected" in void[6, 1]
    assert len({trial["block"] for trial in result["trials"] if trial["clients"] == 6}) >= 2 + 2
    # The others, the repeated ones among them, are void for the machine's sake at most: it has other work here.
    assert later <= MACHINES_OWN
    assert [trial for trial in result["trials"] if trial["lost"]] == []
    assert "slept or hid the page" in report
    assert "broke during the trial" in report


@pytest.mark.nightly
def test_a_clock_that_steps_in_the_middle_of_a_trial_voids_it_and_is_reported(
    browser: Browser, tmp_path: Path
) -> None:
    """The phone's clock is 90 s off and drifts besides, which voids nothing."""
    with running_server(tmp_path) as server:
        room = Classroom(server)
        room.open({**PLAN, "notifications": 60, "extra_blocks_max": 1}, phones=2)
        wrong = phone(
            browser, server.url, prepare=lambda page: shift_clock(page, offset_ms=90_000.0, rate=50e-6)
        )
        right = phone(browser, server.url)
        for each in (wrong, right):
            join(each)

        wait_for_trial(room, clients=2, block=0, browsers=[browser])
        step_clock(wrong, 250.0)
        room.wait_for_phase("finished", timeout_s=120, browsers=[browser])

        result = room.result()
        void = voids(result)
        report = (room.folder / "report.html").read_text(encoding="utf-8")
        for each in (wrong, right):
            each.close()

    assert "clock_step" in void[2, 0]
    assert {trial["block"] for trial in result["trials"]} == {0, 1}
    assert void.get((2, 1), set()) <= MACHINES_OWN
    assert "clock_step" in report
    for trial in result["trials"]:
        assert trial["lost"] == 0
        assert 0 < trial["delay_ms"]["p50"] < 1_000

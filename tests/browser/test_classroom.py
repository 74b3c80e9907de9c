"""The classroom, played by itself: phones join, the plan runs, what went wrong is repeated, and each sees its result."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from app.measure.store import Store
from tests.browser.cdp import Browser, running_browser
from tests.browser.classroom import STEP, Classroom, join, phone
from tests.components import require_chromium
from tests.support.server import running_server

pytestmark = pytest.mark.browser

NOTIFICATIONS = 20

PLAN: dict[str, Any] = {
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


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with running_browser(require_chromium()) as running:
        yield running


def test_two_phones_join_and_the_plan_runs_by_itself(browser: Browser, tmp_path: Path) -> None:
    with running_server(tmp_path) as server:
        room = Classroom(server)
        room.open(PLAN, phones=2)
        phones = [phone(browser, server.url) for _ in range(2)]
        for number, each in enumerate(phones, start=1):
            join(each, name=f"Phone {number}")

        room.wait_for_phase("finished", timeout_s=90, browsers=[browser])
        for each in phones:
            each.wait_for(f"{STEP} === 'finished' && !document.querySelector('#result-link').hidden", 20)

        links = {each.evaluate("document.querySelector('#result-link').href") for each in phones}
        assert room.result()["complete"] is True
        assert len(links) == 2
        with Store.open(room.folder) as store:
            received = [each for each in store.samples() if each["state"] == "ok"]
        assert len(received) >= 2 * 2 * NOTIFICATIONS
        for each in phones:
            each.close()

"""A classroom in real Chromium: an experiment that the operator opens, and phones that join it and are watched."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.browser.cdp import Browser, Page
from tests.browser.devices import PIXEL, Screen, new_device
from tests.support.server import RunningServer

JOIN_TIMEOUT_S = 180.0

LOOK_S = 0.5
"""Each look is a request that the server answers beside its trial."""

LISTEN_S = 0.05
"""Workers that have just been made wait for somebody to hear of them."""

STEP = "document.querySelector('#room')?.dataset.step"
"""Where the phone page is in the room: room_steps.js."""


@dataclass(slots=True)
class Classroom:
    """One experiment on a server."""

    server: RunningServer
    run: str = ""

    def open(self, plan: dict[str, Any], *, phones: int) -> None:
        """Start a runner, and wait until it lets phones gather."""
        status, answer = self.server.request("POST", "/api/runs", {"plan": plan, "phones": phones})
        assert status == 202, answer
        self.run = answer["run"]
        self.wait_for_phase("gathering")

    def room(self) -> dict[str, Any]:
        """How the room stands, as the operator sees it."""
        status, answer = self.server.request("GET", "/api/room")
        assert status == 200, answer
        return dict(answer)

    @property
    def runner(self) -> dict[str, Any]:
        """What is known of the runner: its last words are in it."""
        return dict(self.server.request("GET", f"/api/runs/{self.run}")[1])

    @property
    def folder(self) -> Path:
        """Where the run is kept."""
        return self.server.runs_dir / self.run

    def result(self) -> dict[str, Any]:
        """What came out, as the runner wrote it."""
        found: dict[str, Any] = json.loads((self.folder / "result.json").read_text(encoding="utf-8"))
        return found

    def wait_for_phase(self, *phases: str, timeout_s: float = 90.0, browsers: Sequence[Browser] = ()) -> str:
        """The phase, as soon as it is one of these."""
        wanted = lambda room: room["phase"] in phases  # noqa: E731 - reads as the sentence that it is
        return str(self.wait(wanted, f"phase {phases}", timeout_s=timeout_s, browsers=browsers)["phase"])

    def wait(
        self,
        is_so: Callable[[dict[str, Any]], bool],
        what: str,
        *,
        timeout_s: float = 90.0,
        browsers: Sequence[Browser] = (),
    ) -> dict[str, Any]:
        """The room, as soon as something is so of it; meanwhile the browsers are listened to, or they would stall."""
        deadline_s = time.monotonic() + timeout_s
        while not is_so(room := self.room()):
            assert time.monotonic() < deadline_s, f"not within {timeout_s} s: {what}\n{room}\n{self.runner}"
            assert room["phase"] != "closed" or self.runner["runner"]["state"] != "ended", self.runner
            self.sleep(LOOK_S, browsers)
        return room

    def sleep(self, duration_s: float, browsers: Sequence[Browser]) -> None:
        """Let so much time pass: it is what the phones go through, and no condition tells that it is over."""
        deadline_s = time.monotonic() + duration_s
        while time.monotonic() < deadline_s:
            for browser in browsers:
                browser.listen()
            time.sleep(LISTEN_S)


def phone(
    browser: Browser,
    url: str,
    *,
    code: str = "",
    screen: Screen = PIXEL,
    language: str = "en",
    alone: bool = True,
    prepare: Callable[[Page], None] = lambda page: None,
) -> Page:
    """Somebody's phone that has opened the address of the room; `alone` in a context of its own."""
    page = new_device(browser, screen, language=language, alone=alone)
    prepare(page)
    page.go(f"{url}/?code={code}" if code else f"{url}/")
    page.wait_for(f"{STEP} === 'join'", JOIN_TIMEOUT_S)
    return page


IS_READY = """(() => {
  const room = globalThis.siar?.room;
  const hasFailed = Object.values(room?.checks ?? {}).includes("failed");
  if (hasFailed && !room.isChecking) document.querySelector("#check-again").click();
  return room?.isReady;
})()"""
"""Whether a phone has passed its checks; where a busy machine failed one it is tried again, as the page asks for."""


def join(page: Page, name: str = "") -> None:
    """Tap Join, under another name than the proposed one if wanted, and wait until the checks are passed."""
    if name:
        page.evaluate(f"document.querySelector('#join-name').value = {json.dumps(name)}")
    page.click("#join-button")
    page.wait_for(f"{STEP} !== 'join'", JOIN_TIMEOUT_S)
    page.wait_for(IS_READY, JOIN_TIMEOUT_S)


def step(page: Page) -> str:
    """Where the phone page is."""
    return str(page.evaluate(STEP))

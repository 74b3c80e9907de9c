"""Conducts trials by hand, as a runner does, so that a test can see what one phone does in them."""

from __future__ import annotations

import itertools
import json
import time
from dataclasses import dataclass, field
from typing import Any

from app.core.wire import TRIAL_TOPIC_PREFIX
from tests.browser.cdp import Page
from tests.browser.classroom import IS_READY
from tests.support.server import RunningServer

LOOK_S = 0.1

READY_TIMEOUT_S = 180.0

DONE_TIMEOUT_S = 180.0

COUNT = "Number(document.querySelector('#big-figure').innerText)"
"""How much has come in this round, as the phone shows it."""


_numbers = itertools.count(1)


@dataclass(slots=True)
class Conductor:
    """The room of a server, and one trial after the other."""

    server: RunningServer
    run: str = field(default_factory=lambda: f"r-conducted-{next(_numbers)}")
    index: int = -1
    trial: dict[str, Any] = field(default_factory=dict)

    def open(self, *, wanted_count: int = 1) -> None:
        """Let phones gather, whoever was there before; as many as are wanted start it by themselves."""
        self._operate("DELETE", "/api/room")
        for each in self.room()["participants"]:
            self._operate("DELETE", f"/api/room/participants/{each['device']}")
        body = {"run": self.run, "wanted_count": wanted_count, "length_s": 60, "plan": {}}
        self._operate("POST", "/api/room", body)

    def start(self, page: Page) -> None:
        """Join with this phone, and go on to where trials begin."""
        page.wait_for("document.querySelector('#room')?.dataset.step === 'join'")
        page.click("#join-button")
        page.wait_for(IS_READY, READY_TIMEOUT_S)
        page.wait_for("siar.room.assignment.phase === 'running'", READY_TIMEOUT_S)

    def begin_trial(
        self,
        page: Page,
        transport: str,
        *,
        notifications: int = 20,
        rate_hz: float = 10.0,
        drain_ms: int = 30_000,
        **factors: Any,
    ) -> None:
        """Have every phone connect, wait until all are ready, and start the source.

        Who has everything does not wait for the drain time: it is there for a phone that a busy machine holds up.
        """
        self.index += 1
        room = self.room()
        self.trial = {
            "index": self.index,
            "block": 0,
            "clients": len(room["participants"]),
            "transport": transport,
            "expected_count": notifications,
            "warmup_count": 0,
            "rate_hz": rate_hz,
            "drain_ms": drain_ms,
            "topic": f"{TRIAL_TOPIC_PREFIX}{self.index}",
            "state": "connect",
            "participants": [each["device"] for each in room["participants"]],
            "factors": factors,
        }
        self._operate("PUT", f"/api/room/trial?run={self.run}", self.trial)
        self._wait_for("trial_ready", page, READY_TIMEOUT_S)
        order = {
            "run": self.run,
            "trial": self.index,
            "block": 0,
            "transport": transport,
            "notifications": notifications,
            "warmup_notifications": 0,
            "rate_hz": rate_hz,
            "payload_bytes": 400,
            "start_after_ms": 1500,
            "drain_ms": drain_ms,
        }
        ordered = self._operate("POST", "/api/trials", order)
        times = {name: ordered[name] for name in ("first_due_us", "ends_us")}
        self.trial |= {"state": "running", **times}
        self._operate("PUT", f"/api/room/trial?run={self.run}", self.trial)

    def measure(self, page: Page, transport: str, *, until_count: int, **trial: Any) -> str:
        """Open the room, have this phone join alone, and be in the middle of a trial; the phone's device."""
        self.open()
        self.start(page)
        self.begin_trial(page, transport, **trial)
        page.wait_for(f"{COUNT} >= {until_count}")
        return str(self.room()["participants"][0]["device"])

    def wait_for_published(self, count: int) -> None:
        """Let the trial run until so many notifications are out."""
        while len(self._operate("GET", f"/api/trials/{self.run}/{self.index}")["published"]) < count:
            time.sleep(LOOK_S)

    def say(self, state: str) -> None:
        """Tell the phones what is on: `connect`, `running`, `collect`."""
        self.trial |= {"state": state}
        self._operate("PUT", f"/api/room/trial?run={self.run}", self.trial)

    def end_trial(self, page: Page) -> list[dict[str, Any]]:
        """Wait until every phone has posted; the batches of this trial, in their order."""
        self._wait_for("trial_done", page, DONE_TIMEOUT_S)
        self.server.request("PUT", f"/api/room/trial?run={self.run}", raw=b"null")
        self._operate("DELETE", f"/api/trials/{self.run}/{self.index}")
        lines = (self.server.runs_dir / self.run / "spool.jsonl").read_text(encoding="utf-8").splitlines()
        batches = [json.loads(line)["batch"] for line in lines]
        return [each for each in batches if each["trial"] == self.index]

    def room(self) -> dict[str, Any]:
        """As the operator sees it."""
        return dict(self._operate("GET", "/api/room"))

    def _operate(self, method: str, path: str, body: Any = None) -> Any:
        status, answer = self.server.request(method, path, body)
        assert status in (200, 201), answer
        return answer

    def _wait_for(self, word: str, page: Page, timeout_s: float) -> None:
        deadline_s = time.monotonic() + timeout_s
        while any(each[word] != self.index for each in self.room()["participants"]):
            assert time.monotonic() < deadline_s, f"{word} not within {timeout_s} s: {self.room()}"
            page.browser.listen()
            time.sleep(LOOK_S)


def samples_of(batches: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """All samples of a trial."""
    return [sample for batch in batches for sample in batch["samples"]]


def conduct_of(batches: list[dict[str, Any]]) -> dict[str, Any]:
    """How the one phone behaved in it; said once."""
    found = [batch["conduct"] for batch in batches if batch["conduct"] is not None]
    assert len(found) == 1
    return dict(found[0])

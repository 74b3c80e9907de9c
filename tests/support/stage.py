"""Plays the roles of phones and runner in a room, by HTTP alone, for pages that only watch.

Nothing is measured here. Tests of measuring use simulated phones (tests/support/phone.py) or browsers (tests/browser).
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from tests.support.server import RunningServer

RUN = "2026-11-21T10-00-00-5ca9"

PLAN: dict[str, Any] = {
    "arms": [{"name": "sse", "transport": "sse"}, {"name": "socketio", "transport": "socketio"}],
    "client_counts": [1, 3, 6],
    "blocks": 8,
    "notifications": 30,
    "warmup_notifications": 5,
    "rate_hz": 10.0,
    "payload_bytes": 512,
    "seed": 1,
    "profile": "classroom",
}

GOOD: dict[str, Any] = {
    "checks": {"sse": "ok", "socketio": "ok", "clock": "ok"},
    "ready": True,
    "visible": True,
    "awake": True,
    "clock_bound_ms": 0.63,
    "rtt_ms": 4.2,
    "jitter_ms": 2.4,
}
"""A phone's report when everything is well."""


HEADINGS = [
    "transport",
    "phones",
    "median ms",
    "p95 ms",
    "CPU us per delivery",
    "delivered",
    "late",
    "lost",
    "blocks",
]
HEADINGS_ID = [
    "cara kirim",
    "ponsel",
    "median ms",
    "p95 ms",
    "CPU us per notifikasi",
    "sampai",
    "terlambat",
    "hilang",
    "blok",
]


REPORT_PERIOD_S = 3.0


@dataclass(slots=True)
class Stage:
    """A server's room with devices controlled by the test."""

    server: RunningServer
    credentials: dict[str, str] = field(default_factory=dict)
    """Tokens of the devices."""
    reports: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Last report of each device."""

    def operate(self, method: str, path: str, body: Any = None) -> Any:
        """Send a request as the operator or the runner, and return the answer."""
        status, answer = self.server.request(method, path, body)
        assert status in (200, 201, 202), answer
        return answer

    def open(self, *, wanted_count: int = 6, length_s: float = 520, **more: Any) -> None:
        """Open the room for phones."""
        body = {"run": RUN, "wanted_count": wanted_count, "length_s": length_s, "plan": PLAN, **more}
        self.operate("POST", "/api/room", body)

    def join(self, name: str, *, model: str | None = None, **report: Any) -> str:
        """Join with a device that reports `report`. Returns its id."""
        status, registered = self.server.request("POST", "/api/devices", {})
        assert status == 201, registered
        device: str = registered["device"]
        self.credentials[device] = f"{device}.{registered['token']}"
        status, joined = self._as_device("POST", "/api/participants", device, {"name": name, "model": model})
        assert status == 201, joined
        self.report(device, **report)
        return device

    @contextlib.contextmanager
    def awake(self) -> Iterator[None]:
        """Repeat every device's report during the block, as a page does; a device silent for 15 s counts as away."""
        over = threading.Event()

        def repeat_reports() -> None:
            while not over.wait(REPORT_PERIOD_S):
                for device, report in list(self.reports.items()):
                    self._as_device("POST", "/api/assignment", device, report)

        thread = threading.Thread(target=repeat_reports)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()

    def report(self, device: str, **report: Any) -> None:
        """Send a device's report."""
        self.reports[device] = report
        status, answer = self._as_device("POST", "/api/assignment", device, report)
        assert status == 200, answer

    def begin(self) -> None:
        """Start with the devices that are ready, unless the room has started by itself, and skip the countdown."""
        if self.operate("GET", "/api/room")["phase"] == "gathering":
            self.operate("POST", "/api/room/start")
        self.operate("PUT", f"/api/room/progress?run={RUN}", {"phase": "running"})

    def trial(self, state: str, *, transport: str = "sse", ends_in_s: float | None = None) -> None:
        """Publish a trial to the phones."""
        now_us = self.operate("GET", "/api/room")["server_us"]
        ends_us = None if ends_in_s is None else now_us + round(ends_in_s * 1e6)
        trial = {
            "index": 4,
            "block": 0,
            "clients": len(self.credentials),
            "transport": transport,
            "expected_count": 35,
            "warmup_count": 5,
            "rate_hz": 10.0,
            "drain_ms": 2000,
            "topic": "trial.4",
            "state": state,
            "participants": sorted(self.credentials),
            "first_due_us": None if ends_us is None else now_us,
            "ends_us": ends_us,
        }
        self.operate("PUT", f"/api/room/trial?run={RUN}", trial)

    def between_trials(self) -> None:
        """Publish that there is no trial."""
        status, answer = self.server.request("PUT", f"/api/room/trial?run={RUN}", raw=b"null")
        assert status == 200, answer

    def progress(self, **more: Any) -> None:
        """Report progress, with results of both arms."""
        progress = {"round": 5, "rounds": 48, "remaining_s": 312, "results": results(), **more}
        self.operate("PUT", f"/api/room/progress?run={RUN}", progress)

    def finish(self, **more: Any) -> None:
        """Report that the run is over."""
        sentence_en = "SSE and Socket.IO are equivalent on these phones: within 1 ms at 1, 3 and 6."
        sentence_id = "SSE dan Socket.IO setara pada ponsel ini: dalam 1 ms pada 1, 3, dan 6."
        result = {
            "verdict": {"code": "equivalent", "sentence_en": sentence_en, "sentence_id": sentence_id},
            "table": table(),
            "downloads": [{"name": "report.html", "url": f"/api/runs/{RUN}/report"}],
            **more,
        }
        self.operate("POST", f"/api/room/finish?run={RUN}", result)

    def clear(self) -> None:
        """Close the room and remove all devices, which would otherwise be in the next one."""
        self.operate("DELETE", "/api/room")
        for device in self.credentials:
            self._as_device("DELETE", "/api/participants/me", device, None)
        self.credentials.clear()
        self.reports.clear()

    def _as_device(self, method: str, path: str, device: str, body: Any) -> tuple[int, Any]:
        return self.server.request(method, path, body, token=self.credentials[device])


def results() -> dict[str, Any]:
    """Return results of three client counts, as a runner summarises them."""
    return {
        arm: {
            str(clients): {
                "delay_ms_p50": base + 0.35 * clients,
                "delay_ms_p25": base + 0.2 * clients - 0.7,
                "delay_ms_p75": base + 0.6 * clients + 0.9,
                "cpu_us_per_delivery": cpu + 90 / clients,
                "delivered": 90 * clients,
                "late": 1,
                "lost": 0,
                "asleep": 2 if clients == 6 else 0,
                "blocks": 3,
            }
            for clients in (1, 3, 6)
        }
        for arm, base, cpu in (("sse", 2.6, 41.0), ("socketio", 3.0, 58.0))
    }


def table() -> dict[str, Any]:
    """Return the result's table, as wide as a runner makes it."""
    rows = [
        [name, count, 3.117, None, 1148.2, 2160, 2, 0, 8]
        for name in ("SSE", "Socket.IO")
        for count in (1, 3, 6)
    ]
    return {"headings": HEADINGS, "headings_id": HEADINGS_ID, "rows": rows}

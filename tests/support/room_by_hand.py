"""A room's phones and operator as single plain requests, and phones' posts about notifications and trials."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from typing import Any

from tests.support.server import RunningServer
from tests.support.streams import sse

TRIAL = {
    "index": 0,
    "block": 0,
    "clients": 1,
    "transport": "sse",
    "expected_count": 3,
    "warmup_count": 1,
    "rate_hz": 5,
    "drain_ms": 100,
    "topic": "trial.0",
    "factors": {"radio": "warm", "gap_s": 0.2, "polling": False},
    "state": "connect",
}
OPENING: dict[str, Any] = {
    "run": "run-1",
    "wanted_count": 6,
    "length_s": 300,
    "plan": {"profile": "classroom"},
}
VERDICT = {"code": "same", "sentence_en": "No difference.", "sentence_id": "Tidak ada perbedaan."}
CONDUCT = {
    "disconnects": 1,
    "hidden_ms": 0,
    "frozen_ms": 1500.5,
    "clock_steps": 0,
    "suspended_ms": 0,
    "expected_count": 12,
    "received_count": 11,
    "events": [[12.5, "freeze"], [1512.5, "resume"]],
    "device": {"model": "Pixel 7", "secure_context": False, "wake_lock": False, "timer_step_us": 100},
}
GOOD_TRIAL = {
    "run": "r",
    "trial": 0,
    "block": 0,
    "transport": "sse",
    "notifications": 1,
    "warmup_notifications": 0,
    "rate_hz": 100,
    "payload_bytes": 512,
    "start_after_ms": 0,
    "drain_ms": 0,
}
"""An order for a trial that ends at once."""


@dataclass
class Phone:
    """A registered device that sends requests with its own token."""

    server: RunningServer
    device: str
    token: str

    def request(self, method: str, path: str, body: Any = None, **more: Any) -> tuple[int, Any]:
        return self.server.request(method, path, body, token=f"{self.device}.{self.token}", **more)

    def join(self, **members: Any) -> dict[str, Any]:
        status, answer = self.request("POST", "/api/participants", members)
        assert status == 201, answer
        return answer

    def assignment(self) -> dict[str, Any]:
        status, answer = self.request("GET", "/api/assignment")
        assert status == 200, answer
        return answer

    def report(self, **members: Any) -> dict[str, Any]:
        status, answer = self.request("POST", "/api/assignment", members)
        assert status == 200, answer
        return answer


def new_phone(server: RunningServer) -> Phone:
    _status, answer = server.request("POST", "/api/devices", {})
    return Phone(server, answer["device"], answer["token"])


def operator(server: RunningServer, method: str, path: str, body: Any = None, *, expected: int = 200) -> Any:
    status, answer = server.request(method, path, body)
    assert status == expected, answer
    return answer


def put_trial(server: RunningServer, **members: Any) -> None:
    operator(server, "PUT", "/api/room/trial?run=run-1", {**TRIAL, **members})


def sample(notification: dict[str, Any], *, delay_ms: float = 10, **members: Any) -> dict[str, Any]:
    """Return an arrival at a client whose clock has the server's origin."""
    return {
        "id": notification["id"],
        "transport": "sse",
        "due_us": notification["due_us"],
        "sent_us": notification["sent_us"],
        "received_client_us": notification["due_us"] + delay_ms * 1000,
        "clock_offset_us": 0,
        "clock_bound_us": 1500,
        "state": "ok",
        "outcome": "on_time",
        "visible": True,
        **members,
    }


def post(phone: Phone, samples: list[dict[str, Any]], **members: Any) -> tuple[int, Any]:
    batch = {
        "batch_id": secrets.token_hex(8),
        "device": phone.device,
        "clock_channel": "websocket",
        "timebase": "t",
        "samples": samples,
    }
    return phone.request("POST", "/api/deliveries", {**batch, **members})


def publish(server: RunningServer) -> dict[str, Any]:
    """Publish, and return the notification as a subscriber receives it."""
    with sse(server.port) as stream:
        server.publish()
        return stream.next_notification()


def receipt(server: RunningServer, id: str) -> dict[str, Any]:
    return dict(operator(server, "GET", f"/api/notifications/{id}/receipt"))


def begin_trial(server: RunningServer, trial: int, run: str = "r") -> None:
    order = {**GOOD_TRIAL, "run": run, "trial": trial}
    operator(server, "POST", "/api/trials", order, expected=201)
    operator(server, "DELETE", f"/api/trials/{run}/{trial}")

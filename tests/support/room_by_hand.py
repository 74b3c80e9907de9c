"""A room's phones and operator as single plain requests, without background activity."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tests.support.server import RunningServer

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

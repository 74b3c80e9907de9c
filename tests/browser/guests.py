"""Phones that are only said to be there: they join by HTTP, for tests of what others see of them."""

from __future__ import annotations

from typing import Any

from app.server.room.clean_name import NAME_CHARS_MAX
from tests.support.server import RunningServer

PLAN: dict[str, Any] = {"client_counts": [1, 3, 6], "arms": [{"name": "sse"}, {"name": "socketio"}]}


def open_room(server: RunningServer, *, wanted_count: int = 6) -> None:
    """Let guests gather for an experiment that nobody will conduct."""
    wanted = {"run": "20260101-000000-guests", "wanted_count": wanted_count, "length_s": 600, "plan": PLAN}
    status, answer = server.request("POST", "/api/room", wanted)
    assert status == 201, answer


def enter(server: RunningServer, name: str, *, model: str = "Pixel 7", **report: Any) -> str:
    """A guest with a seat who has reported; its device."""
    registered = server.request("POST", "/api/devices", {})[1]
    token = f"{registered['device']}.{registered['token']}"
    seated = {"name": name[:NAME_CHARS_MAX], "model": model[:80]}
    said = {"checks": {"sse": "ok", "socketio": "ok", "clock": "ok"}, "clock_bound_ms": 1.2, "rtt_ms": 4.0}
    for path, body in (
        ("/api/participants", seated),
        ("/api/assignment", said | {"jitter_ms": 3.1} | report),
    ):
        status, answer = server.request("POST", path, body, token=token)
        assert status in (200, 201), answer
    return str(registered["device"])


def operator_link(server: RunningServer) -> str:
    """A one-time link to the operator's page."""
    status, answer = server.request("POST", "/api/links", {})
    assert status in (200, 201), answer
    return str(answer["url"])


def screen_url(server: RunningServer, language: str = "en") -> str:
    """The big screen's address."""
    path = server.request("GET", "/api/room")[1]["screen_url"]
    return f"{server.url}{path}&lang={language}"

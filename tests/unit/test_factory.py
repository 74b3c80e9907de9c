"""The factory: tests may hand in the broker and the clock, and the WSGI middleware has one order."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.core.units import MonotonicUs, ServerUs
from app.server.auth_throttle import FAILURES_MAX, FAILURES_WINDOW_US
from app.server.broker.memory import MemoryBroker
from app.server.factory import create_app
from app.server.operators import SESSION_S
from app.server.transports.socket_io.dispatcher import SocketIoDispatcher
from app.server.web.guard import Guard
from app.server.web.one_process import OneProcess
from app.server.web.policy import POLICY
from app.settings import Settings

POLL = "/socket.io/?EIO=4&transport=polling"


class Clock:
    """A clock that moves only when told to."""

    def __init__(self) -> None:
        self.us = 10**15

    def now_us(self) -> ServerUs:
        return ServerUs(self.us)

    def monotonic_us(self) -> MonotonicUs:
        return MonotonicUs(self.us)


def test_the_broker_is_the_one_that_was_handed_in(tmp_path: Path) -> None:
    broker = MemoryBroker(count_max=10, bytes_max=10**6, age_max_us=10**12)
    app = create_app(Settings(admin_token="t", runs_dir=tmp_path), broker=broker)

    app.test_client().post(
        "/api/notifications", json={"title": "t", "body": ""}, headers={"Authorization": "Bearer t"}
    )

    assert [each.title for each in broker.history(0, 10)] == ["t"]


def test_a_throttle_follows_the_clock_that_was_handed_in(tmp_path: Path) -> None:
    clock = Clock()
    client = create_app(Settings(admin_token="t", runs_dir=tmp_path), clock=clock).test_client()

    def status(token: str) -> int:
        return client.get("/api/devices", headers={"Authorization": f"Bearer {token}"}).status_code

    guesses = [status("wrong") for _ in range(FAILURES_MAX)]
    throttled = status("t")
    clock.us += FAILURES_WINDOW_US
    later = status("t")

    assert (guesses, throttled, later) == ([401] * FAILURES_MAX, 429, 200)


def test_sessions_and_the_room_follow_the_clock_that_was_handed_in(tmp_path: Path) -> None:
    clock = Clock()
    parts = create_app(Settings(admin_token="t", runs_dir=tmp_path), clock=clock).services
    session = parts.operators.new_session()
    assert parts.operators.is_session(session)

    clock.us += SESSION_S * 1_000_000

    assert not parts.operators.is_session(session)
    assert parts.room.now_us() == clock.us
    assert parts.started_us == 10**15


def test_the_middleware_has_one_order(tmp_path: Path) -> None:
    app = create_app(Settings(admin_token="t", runs_dir=tmp_path))

    outermost = app.wsgi_app
    assert isinstance(outermost, OneProcess)
    assert isinstance(outermost._app, Guard)
    assert isinstance(outermost._app._app, SocketIoDispatcher)


@pytest.mark.parametrize(("path", "has_policy"), [("/version", True), (POLL, False)])
def test_socket_io_is_guarded_but_has_no_page_headers(tmp_path: Path, path: str, has_policy: bool) -> None:
    client = create_app(Settings(admin_token="t", runs_dir=tmp_path)).test_client()

    served = client.get(path)
    refused = client.get(path, headers={"Origin": "https://elsewhere.example"})

    assert (served.status_code, POLICY in served.headers) == (200, has_policy)
    assert refused.status_code == 403

"""Which way a request to the Engine.IO endpoint goes."""

from __future__ import annotations

import base64
import socket
from typing import Any

import pytest

from app.server.transports.socket_io.engine.attempt import AttemptState, WebSocketAttempt
from app.server.transports.socket_io.engine.server import EngineServer

HANDSHAKE = {
    "HTTP_UPGRADE": "websocket",
    "HTTP_CONNECTION": "Upgrade",
    "HTTP_SEC_WEBSOCKET_VERSION": "13",
    "HTTP_SEC_WEBSOCKET_KEY": "AAAAAAAAAAAAAAAAAAAAAA==",
}


class Endpoint:
    """An engine whose WebSockets are only counted."""

    def __init__(self) -> None:
        self.attempts: list[WebSocketAttempt] = []
        self.statuses: list[str] = []
        self.engine = EngineServer(
            websocket=self._take,
            run_timer=lambda _tick: None,
            async_mode="threading",
            cors_allowed_origins=[],
        )

    def request(self, query: str, **headers: str) -> list[bytes]:
        with socket.socket() as sock:
            environ = {"REQUEST_METHOD": "GET", "QUERY_STRING": query, "gunicorn.socket": sock, **headers}
            return list(self.engine.handle_request(environ, self._start))

    def _take(self, attempt: WebSocketAttempt, _environ: Any, _start_response: Any) -> list[bytes]:
        self.attempts.append(attempt)
        return []

    def _start(self, status: str, _headers: list[tuple[str, str]]) -> None:
        self.statuses.append(status)


@pytest.mark.parametrize("transports", ["transport=websocket", "transport=websocket&transport=polling"])
def test_of_a_transport_that_is_named_twice_the_first_counts(transports: str) -> None:
    endpoint = Endpoint()

    endpoint.request(f"EIO=4&{transports}", **HANDSHAKE)

    assert [attempt.state for attempt in endpoint.attempts] == [AttemptState.NEW]
    assert endpoint.statuses == [], "who asks for a WebSocket is given no poll"


@pytest.mark.parametrize("index", ["0", "17", "x"])
def test_an_answer_as_a_script_is_refused(index: str) -> None:
    """A page of any site may ask for a script (JSONP), and the request says of no origin."""
    endpoint = Endpoint()

    answer = endpoint.request(f"EIO=4&transport=polling&j={index}")

    assert endpoint.statuses == ["400 Bad Request"]
    assert b"___eio" not in b"".join(answer)


def test_a_websocket_is_not_given_to_who_named_polling_first() -> None:
    endpoint = Endpoint()

    endpoint.request("EIO=4&transport=polling&transport=websocket")
    endpoint.request("EIO=4&transport=polling&transport=websocket", HTTP_UPGRADE="websocket")

    assert endpoint.attempts == []
    assert endpoint.statuses == ["200 OK", "400 Bad Request"]


def test_a_session_has_96_random_bits() -> None:
    """Who guessed its id could poll in its client's place. Behind them the library counts."""
    engine = Endpoint().engine

    ids = [base64.urlsafe_b64decode(engine.generate_id()) for _ in range(2_000)]

    assert len(set(ids)) == len(ids)
    assert min(len({each[place] for each in ids}) for place in range(12)) > 200, "a byte does not vary"

"""A Socket.IO client's subscription where the client leaves while it begins: a shared broker may take its time."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable

import flask
import pytest
from werkzeug.test import Client

from app.core.position import Position
from app.server.broker.base import Filter, Replay
from app.server.broker.memory import MemoryBroker
from app.server.fanout.fanout import Fanout
from app.server.fanout.flusher import Flusher
from app.server.transports.socket_io.engine.limits import IncomingLimits
from app.server.transports.socket_io.engine.server import never
from app.server.transports.socket_io.transport import SocketIoTransport
from app.server.wsgi.admission import Admission
from app.server.wsgi.loop import Loop
from app.server.wsgi.takeover import SocketOptions
from tests.support.brokers import publish

POLL = "/socket.io/?EIO=4&transport=polling"


class WaitingBroker(MemoryBroker):
    """Something may happen while it is asked what was missed."""

    def __init__(self) -> None:
        super().__init__(count_max=100, bytes_max=10**6, age_max_us=10**12)
        self.meanwhile: Callable[[], None] = lambda: None

    def reaches(self, since: Position, wanted: Filter) -> bool:
        self.meanwhile()
        return super().reaches(since, wanted)

    def attach(self, since: Position | None, wanted: Filter, start: Callable[[Replay], None]) -> None:
        self.meanwhile()
        super().attach(since, wanted, start)


class Stage:
    """The transport on a Flask application; requests come by call, without a server."""

    def __init__(self) -> None:
        app = flask.Flask("stage")
        self.broker = WaitingBroker()
        self.fanout = Fanout(self.broker, Flusher(Loop(), frames_max=1000, bytes_max=10**6))
        self.transport = SocketIoTransport(
            app,
            self.fanout,
            self.broker,
            ping_interval_s=25.0,
            ping_timeout_s=20.0,
            queue_max=1000,
            compresses=never,
            polling=True,
            direct=False,
            socket_options=SocketOptions(65_536, 30_000),
            admission=Admission(count_max=10, per_address_max=10),
            limits=IncomingLimits(),
            topics_max=10,
            identify=lambda: None,
        )
        self.fanout.register("socketio", self.transport)
        self._client = Client(self.transport.wrap(app.wsgi_app))

    def open(self) -> str:
        """A session; its `sid`."""
        return str(json.loads(self._client.get(POLL).text.removeprefix("0"))["sid"])

    def join(self, sid: str, auth: dict[str, object]) -> None:
        """The client's CONNECT."""
        self._client.post(f"{POLL}&sid={sid}", data=f"40{json.dumps(auth)}")

    def connect_answer(self, sid: str) -> dict[str, str]:
        """What CONNECT was answered with."""
        packet = self._client.get(f"{POLL}&sid={sid}").text.partition("\x1e")[0]
        answer: dict[str, str] = json.loads(packet.removeprefix("40"))
        return answer

    def recovered(self, auth: dict[str, object]) -> str:
        """The name that a client which joins and stays is told."""
        sid = self.open()
        self.join(sid, {"recover": True, **auth})
        pid = self.connect_answer(sid)["pid"]
        self.end(sid)
        return pid

    def end(self, sid: str) -> None:
        """What ends a session from beside: a poll that was broken off, a pong that does not come, an operator."""
        self.transport.socketio.server.eio.disconnect(sid)


@pytest.fixture
def stage() -> Stage:
    return Stage()


def test_a_client_that_joins_and_stays_is_counted(stage: Stage) -> None:
    stage.join(stage.open(), {})

    assert stage.fanout.counts()["socketio"] == 1


def test_a_client_that_leaves_while_its_subscription_begins_is_not_counted(
    stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    since = stage.broker.position()
    publish(stage.broker)
    sid = stage.open()
    stage.broker.meanwhile = lambda: stage.end(sid)

    with caplog.at_level(logging.WARNING):
        stage.join(sid, {"last_event_id": str(since)})

    assert stage.fanout.connections() == []
    assert publish(stage.broker).recipients == {"socketio": 0}
    assert caplog.messages == [], "what it missed is sent to nobody, instead of being refused one by one"


def test_a_client_that_returns_and_leaves_before_the_answer_may_return_again(stage: Stage) -> None:
    pid = stage.recovered({})
    sid = stage.open()
    stage.broker.meanwhile = lambda: stage.end(sid)
    stage.join(sid, {"recover": True, "pid": pid})
    stage.broker.meanwhile = lambda: None

    assert stage.recovered({"pid": pid}) == pid
    assert stage.fanout.connections() == []

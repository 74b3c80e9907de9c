"""Promises 1 to 9 of every transport to a client (app/server/transports/base.py), held against the real ones and the toy."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from app.core.client import ClientProtocol, Subscription
from app.core.errors import MalformedFrame
from app.core.transports import PROTOCOLS
from app.core.wire import TRANSPORTS
from tests.support import metrics, toy
from tests.support.fanouts import FANOUTS, fanout_settings
from tests.support.server import ROOT, RunningServer, ServerSettings, running_server
from tests.support.subscriber import subscribed
from tests.support.toy.client_protocol import LinesProtocol

MAKERS: dict[str, Callable[[Subscription], ClientProtocol]] = {
    **{name: PROTOCOLS[name] for name in TRANSPORTS},
    toy.NAME: LinesProtocol,
}

APP = ("-m", "gunicorn", "-c", str(ROOT / "gunicorn.conf.py"), "tests.support.toy.app:app")

REFUSALS = {
    "sse": "^GET /events was answered with 400, ",
    "socketio": "^Socket.IO refused the connection: .*A topic has 1 to 64 letters",
    toy.NAME: "^GET /lines was answered with 400.$",
}
"""How a client of each hears that what it asked for is malformed. A server that only ends the connection refuses nothing."""

WAIT_S = 30.0
"""Not longer: who has left would be missed by a ping after 45 s, and nobody would have noticed anything."""


@pytest.fixture(scope="module", params=FANOUTS)
def server(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[RunningServer]:
    folder = tmp_path_factory.mktemp("contract")
    with running_server(folder, command=APP, recorder=0, **fanout_settings(request.param)) as running:
        yield running


@pytest.fixture(params=[toy.NAME, *(pytest.param(name, marks=pytest.mark.slow) for name in TRANSPORTS)])
def transport(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def await_connections(server: RunningServer, transport: str, count: int) -> None:
    deadline_s = time.monotonic() + WAIT_S
    while metrics.subscribed(server, transport) != count:
        assert time.monotonic() < deadline_s, (
            f"{metrics.subscribed(server, transport)} connections, not {count}"
        )


def test_what_is_published_comes_once_and_in_order(server: RunningServer, transport: str) -> None:
    with subscribed(server.port, MAKERS[transport]) as client:
        offsets = [server.publish(str(number))["offset"] for number in range(20)]

        assert [each["offset"] for each in client.notifications(20)] == offsets
        assert not client.received


def test_the_object_is_that_of_history_on_every_transport(server: RunningServer, transport: str) -> None:
    with subscribed(server.port, MAKERS[transport]) as client:
        answer = server.publish("Ümlaut \u2028 <&>", "two\nlines", data={"a": [1, None]})

        [heard] = client.notifications(1)
    listed = server.request("GET", f"/api/notifications?after={answer['offset'] - 1}")[1]["notifications"]
    assert heard == listed[0]
    assert answer["recipients"][transport] == 1


def test_who_comes_back_misses_nothing_and_gets_nothing_twice(server: RunningServer, transport: str) -> None:
    with subscribed(server.port, MAKERS[transport]) as client:
        server.publish("heard")
        position = client.notifications(1)[0]["id"]
    for number in range(5):
        server.publish(f"missed {number}")

    with subscribed(server.port, MAKERS[transport], last_event_id=position) as client:
        server.publish("live")

        titles = [each["title"] for each in client.notifications(6)]
    assert titles == [*(f"missed {number}" for number in range(5)), "live"]


def test_who_broke_off_before_the_first_notification_resumes_too(
    server: RunningServer, transport: str
) -> None:
    with subscribed(server.port, MAKERS[transport]) as client:
        position = client.protocol.position
    server.publish("missed")

    with subscribed(server.port, MAKERS[transport], last_event_id=position) as client:
        assert [each["title"] for each in client.notifications(1)] == ["missed"]


@pytest.mark.parametrize("position", ["00000000.7", "never seen"])
def test_a_foreign_position_is_let_in(server: RunningServer, transport: str, position: str) -> None:
    with subscribed(server.port, MAKERS[transport], last_event_id=position) as client:
        offset = server.publish("live")["offset"]

        client.receive_until(lambda: any(each["offset"] == offset for each in client.received))


def test_a_filter_holds_for_what_was_missed_and_what_is_live(server: RunningServer, transport: str) -> None:
    with subscribed(server.port, MAKERS[transport]) as client:
        position = client.protocol.position
    server.publish("wanted 1", topic="wanted")
    server.publish("other 1", topic="other")

    with subscribed(server.port, MAKERS[transport], topics=("wanted",), last_event_id=position) as client:
        server.publish("other 2", topic="other")
        server.publish("wanted 2", topic="wanted")

        assert [each["title"] for each in client.notifications(2)] == ["wanted 1", "wanted 2"]


def test_a_malformed_filter_is_refused(server: RunningServer, transport: str) -> None:
    with (
        pytest.raises(MalformedFrame, match=REFUSALS[transport]),
        subscribed(server.port, MAKERS[transport], topics=("no topic",)),
    ):
        pass
    await_connections(server, transport, 0)


def test_a_client_that_leaves_is_noticed(server: RunningServer, transport: str) -> None:
    with subscribed(server.port, MAKERS[transport]):
        await_connections(server, transport, 1)

    await_connections(server, transport, 0)
    assert server.publish("nobody")["recipients"][transport] == 0


@pytest.mark.slow
@pytest.mark.parametrize("fanout", ["direct", "stock"])
def test_a_server_that_ends_ends_every_stream(tmp_path: Path, fanout: str) -> None:
    with running_server(tmp_path, command=APP, recorder=0, fanout=fanout) as server:
        with contextlib.ExitStack() as stack:
            clients = [stack.enter_context(subscribed(server.port, make)) for make in MAKERS.values()]

            server.process.terminate()

            for client in clients:
                while client.receive_some():
                    pass
        assert server.process.wait(WAIT_S) == 0


@pytest.mark.slow
@pytest.mark.parametrize("fanout", ["direct", "stock"])
def test_who_does_not_read_is_cut_off_and_others_are_not(tmp_path: Path, transport: str, fanout: str) -> None:
    limits: ServerSettings = {
        "queue_notifications_max": 50,
        "send_buffer_bytes": 8192,
        "recorder": 0,
        "fanout": fanout,
    }
    with (
        running_server(tmp_path, command=APP, **limits) as server,
        subscribed(server.port, MAKERS[transport]),
        subscribed(server.port, MAKERS[transport]) as reader,
    ):
        count = 0
        while metrics.subscribed(server, transport) == 2:
            count += 1
            assert count < 2_000
            server.publish(str(count), "x" * 20_000)
            reader.notifications(1)

        server.publish("last")
        assert reader.notifications(1)[0]["title"] == "last"

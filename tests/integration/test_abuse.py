"""What a review broke: late sources, forged packets, restarts, big resumes. Each stays mended."""

from __future__ import annotations

import contextlib
import http.client
import json
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

from app import clock
from app.core.position import UNKNOWN
from app.server.broker.base import Draft, Filter
from app.server.broker.make import make_broker
from app.server.factory import create_app
from app.server.transports.socket_io.engine.limits import IncomingLimits
from app.server.transports.socket_io.transport import RESUMED_PER_PACKET
from app.server.transports.sse import FORM_PLAIN
from app.settings import Settings
from tests.support.interop import interop_client
from tests.support.metrics import metric, subscribed
from tests.support.patience import PATIENCE_S
from tests.support.server import RunningServer, free_port, running_server, stop
from tests.support.streams import socketio, sse, websocket_by_hand
from tests.support.transports import socketio_of, sse_of


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RunningServer]:
    with running_server(tmp_path, recorder=0, queue_notifications_max=50, log_level="info") as running:
        yield running
    assert "Traceback" not in running.log(), running.log()


@pytest.mark.nightly
@pytest.mark.alone  # It measures how long a request waits beside a source that takes all that it gets.
def test_a_source_that_is_late_lets_the_others_have_their_turn(server: RunningServer) -> None:
    """400 notifications at 1000/s to 20 clients cannot be on time; they must still reach clients that read."""
    received = [0] * 20

    def read(number: int) -> None:
        with sse(server.port) as stream:
            ready.release()
            while received[number] < 400:
                stream.next_notification()
                received[number] += 1

    ready = threading.Semaphore(0)
    readers = [threading.Thread(target=read, args=(number,), daemon=True) for number in range(20)]
    for reader in readers:
        reader.start()
    for _ in readers:
        ready.acquire()
    order = {
        "run": "late",
        "trial": 0,
        "block": 0,
        "transport": "sse",
        "notifications": 400,
        "warmup_notifications": 0,
        "rate_hz": 1000,
        "payload_bytes": 512,
        "start_after_ms": 0,
        "drain_ms": 0,
    }
    assert server.request("POST", "/api/trials", order)[0] == 201
    asked_s = time.monotonic()
    assert server.request("GET", "/healthz")[0] == 200
    answered_s = time.monotonic() - asked_s
    for reader in readers:
        reader.join(PATIENCE_S)

    assert received == [400] * 20
    assert answered_s < 2.0


@pytest.mark.slow
@pytest.mark.parametrize("event", ["connect", "disconnect", "connect_error"])
def test_the_protocols_own_names_are_no_events_of_a_client(server: RunningServer, event: str) -> None:
    for _ in range(3):
        with connect(f"ws://127.0.0.1:{server.port}/socket.io/?EIO=4&transport=websocket") as websocket:
            websocket.recv(timeout=PATIENCE_S)
            websocket.send("40")
            websocket.recv(timeout=PATIENCE_S)
            websocket.send(f"42{json.dumps([event, {}, {'topics': 5}])}")
            with contextlib.suppress(
                ConnectionClosed
            ):  # It may have been told already that this is no event of its.
                websocket.send("42[[],1]")

    deadline_s = time.monotonic() + 10
    while subscribed(server, "socketio") > 0:
        assert time.monotonic() < deadline_s, "a subscription was left behind"
        time.sleep(0.05)


@pytest.mark.parametrize("body", ["1\x1e40", "40\x1e1\x1e40", "1"])
def test_a_packet_behind_the_end_of_its_session_leaves_nothing(body: str, tmp_path: Path) -> None:
    app = create_app(Settings(admin_token="t", runs_dir=tmp_path))
    client = app.test_client()
    library = socketio_of(app).socketio.server

    for _ in range(5):
        opened = client.get("/socket.io/?EIO=4&transport=polling")
        sid = json.loads(opened.get_data(as_text=True)[1:])["sid"]
        assert client.post(f"/socket.io/?EIO=4&transport=polling&sid={sid}", data=body).status_code == 200
        assert client.post(f"/socket.io/?EIO=4&transport=polling&sid={sid}", data="40").status_code == 400

    assert not library.manager.rooms
    assert not library.manager.pending_connect
    assert app.services.fanout.counts() == {"sse": 0, "socketio": 0}


@pytest.mark.parametrize(("length", "is_answered"), [(199, True), (200, False), (60_000, False)])
def test_the_refusal_of_a_namespace_does_not_repeat_a_long_name(
    tmp_path: Path, length: int, *, is_answered: bool
) -> None:
    client = create_app(Settings(admin_token="t", runs_dir=tmp_path)).test_client()
    opened = client.get("/socket.io/?EIO=4&transport=polling").get_data(as_text=True)
    session = f"/socket.io/?EIO=4&transport=polling&sid={json.loads(opened[1:])['sid']}"
    namespace = "/" + "x" * length

    client.post(session, data=f"40{namespace},")
    answer = client.get(session).get_data(as_text=True)

    assert answer == (f'44{namespace},{{"message":"Invalid namespace"}}' if is_answered else "1")


def test_who_joins_again_and_again_without_polling_gets_history_once(tmp_path: Path) -> None:
    """Each time it would wait for the client anew, and a client that never polls takes none of it."""
    app = create_app(Settings(admin_token="t", runs_dir=tmp_path, queue_notifications_max=5))
    client = app.test_client()
    for number in range(20):
        app.services.broker.publish(Draft(f"missed {number}", "", "default", clock.now_us()))
    opened = client.get("/socket.io/?EIO=4&transport=polling").get_data(as_text=True)
    session = f"/socket.io/?EIO=4&transport=polling&sid={json.loads(opened[1:])['sid']}"
    join = '40{"last_event_id":"otherlife.1"}'

    for packets in (join, "41", join, join, join):
        assert client.post(session, data=packets).status_code == 200
    waiting = client.get(session).get_data(as_text=True).split("\x1e")

    assert [packet[:2] for packet in waiting] == ["40", *["42"] * 21, *["44"] * 3]
    assert client.post(session, data=join).status_code == 200, "now that it has taken what waited, it may"
    assert client.get(session).get_data(as_text=True).startswith("40")


@pytest.mark.slow
def test_heaps_of_attachments_end_the_connection(server: RunningServer) -> None:
    with connect(f"ws://127.0.0.1:{server.port}/socket.io/?EIO=4&transport=websocket") as websocket:
        websocket.recv(timeout=PATIENCE_S)
        websocket.send("40")
        websocket.recv(timeout=PATIENCE_S)
        websocket.send('45999999-["x",{"_placeholder":true,"num":0}]')

        assert websocket.recv(timeout=PATIENCE_S) == "1"


@pytest.mark.slow
def test_attachments_that_are_too_long_together_end_the_connection(server: RunningServer) -> None:
    """Each may be as long as a packet; what is kept of one client may not be sixteen times that."""
    half = bytes(IncomingLimits().packet_bytes_max // 2)
    with connect(f"ws://127.0.0.1:{server.port}/socket.io/?EIO=4&transport=websocket") as websocket:
        websocket.recv(timeout=PATIENCE_S)
        websocket.send("40")
        websocket.recv(timeout=PATIENCE_S)
        places = ",".join(f'{{"_placeholder":true,"num":{number}}}' for number in range(4))
        websocket.send(f'454-["x",{places}]')
        websocket.send(half)
        websocket.send(half)
        websocket.send(b"and one more")

        assert websocket.recv(timeout=PATIENCE_S) == "1"


@pytest.mark.slow
def test_who_joins_again_and_again_with_an_old_position_is_held_to_the_incoming_rate(tmp_path: Path) -> None:
    """To look all of history up costs the server far more than asking for it costs the client."""
    url = f"sqlite:///{tmp_path / 'history.sqlite'}"
    with contextlib.closing(make_broker(Settings(broker=url, runs_dir=tmp_path))) as broker:
        for number in range(100 * RESUMED_PER_PACKET):
            broker.publish(Draft(f"missed {number}", "", "default", clock.now_us()))
    join = f'40{{"last_event_id":"{broker.position().epoch}.1"}}'
    joins_max = (
        20 * IncomingLimits().packets_burst_max // 100
    )  # A busy server takes them slowly, and forgives some.

    with (
        running_server(tmp_path, recorder=0, broker=url, log_level="info") as server,
        connect(f"ws://127.0.0.1:{server.port}/socket.io/?EIO=4&transport=websocket") as websocket,
    ):
        with contextlib.suppress(ConnectionClosed):
            for _ in range(joins_max):
                websocket.send(join)
                websocket.send("41")
        with contextlib.suppress(ConnectionClosed):
            while True:
                websocket.recv(timeout=30)

    assert websocket.close_code is not None
    assert "packets came in a second" in server.log()


def test_a_server_full_of_connections_says_so_on_both_transports(tmp_path: Path) -> None:
    with running_server(tmp_path, recorder=0, connections_max=1) as server, sse(server.port):
        status, answer = server.request("GET", "/events")
        assert status == 503
        assert "connections" in answer["detail"]
        refused = metric(server, "siar_refused_connections_total")
        asking = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE_S)
        with contextlib.closing(asking):
            asking.request("HEAD", "/events")
            assert asking.getresponse().status == 503, "as a GET would be answered"
        assert metric(server, "siar_refused_connections_total") == refused == 1, (
            "who only asks is not counted"
        )
        with (
            pytest.raises(InvalidStatus) as failed,
            connect(f"ws://127.0.0.1:{server.port}/socket.io/?EIO=4&transport=websocket"),
        ):
            pass
        assert failed.value.response.status_code == 503
        assert b"SIAR_CONNECTIONS_MAX" in (failed.value.response.body or b"")
        status, answer = server.request("GET", "/socket.io/?EIO=4&transport=polling")
        assert status == 503
        assert "SIAR_CONNECTIONS_MAX" in answer["message"]


@pytest.mark.slow
@pytest.mark.parametrize("transport", ["websocket", "polling"])
def test_the_official_client_comes_back_to_the_next_server_on_the_port(
    transport: str, tmp_path: Path
) -> None:
    port = free_port()
    options = {
        "transports": [transport],
        "reconnection": True,
        "reconnectionDelay": 100,
        "reconnectionDelayMax": 300,
    }
    with (
        running_server(tmp_path, recorder=0, port=port) as first,
        interop_client("javascript", first.url, **options) as client,
    ):
        client.wait("connect")
        stop(first.process)
        client.wait("disconnect")
        with running_server(tmp_path, recorder=0, port=port) as second:
            client.wait("connect")
            second.publish("back", "")
            assert client.wait("event")["args"][0]["title"] == "back"


def test_a_stop_waits_for_nobody_and_leaves_no_traceback(tmp_path: Path) -> None:
    with running_server(tmp_path, recorder=0, log_level="info") as server:
        idle = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE_S)
        idle.request("GET", "/healthz")
        idle.getresponse().read()
        with (
            sse(server.port),
            socketio(server.port),
            socket.create_connection(("127.0.0.1", server.port)) as silent,
        ):
            websocket_by_hand(silent)
            stop(server.process)

            assert idle.sock is not None
            assert idle.sock.recv(1000) == b"", "an idle connection was answered something it did not ask for"
        idle.close()
    assert "Traceback" not in server.log(), server.log()
    assert "did not end in time" not in server.log()


@pytest.mark.slow
def test_a_polling_client_that_missed_more_than_may_wait_still_gets_it(server: RunningServer) -> None:
    start = server.publish("start", "")["id"]
    missed = [server.publish(f"missed {number}", "")["id"] for number in range(150)]

    options = {"transports": ["polling"], "auth": {"last_event_id": start}}
    with interop_client("javascript", server.url, **options) as client:
        received = [client.wait("event")["args"][0]["id"] for _ in range(150)]

    assert received == missed


def test_a_resume_from_the_beginning_costs_no_copy_of_history(tmp_path: Path) -> None:
    app = create_app(Settings(admin_token="t", runs_dir=tmp_path))
    client = app.test_client()
    for _ in range(100):
        assert (
            client.post(
                "/api/notifications",
                json={"title": "t", "body": "x" * 19_000},
                headers={"Authorization": "Bearer t"},
            ).status_code
            == 201
        )

    streams = [sse_of(app).open_queue(Filter("sse"), UNKNOWN, {}, FORM_PLAIN) for _ in range(5)]

    for connection in streams:
        assert connection.queue.empty(), "history waits by reference, not as bytes"
        chunks = list(connection.opening())
        assert sum(chunk.count(b"event: notification") for chunk in chunks) == 100
        assert max(map(len, chunks)) < 2 * 65_536


@pytest.mark.slow
def test_data_nested_too_deep_is_a_400_and_leaves_no_hole_in_the_order(server: RunningServer) -> None:
    before = server.publish("before", "")["offset"]
    for depth in (900, 950, 1000, 5000):
        raw = b'{"title": "t", "body": "", "data": ' + b'{"a":' * depth + b"1" + b"}" * depth + b"}"
        status, _answer = server.request("POST", "/api/notifications", raw=raw)
        before += status == 201
        assert status in (201, 400)

    assert server.publish("after", "")["offset"] == before + 1


@pytest.mark.slow
def test_history_of_another_life_is_listed_from_its_beginning(server: RunningServer) -> None:
    server.publish("one", "")

    _status, listed = server.request("GET", "/api/notifications?after=otherlife.999")

    assert [each["title"] for each in listed["notifications"]] == ["one"]


@pytest.mark.slow
def test_a_repeat_of_a_key_during_a_trial_is_answered_and_voids_nothing(server: RunningServer) -> None:
    first = server.publish("once", "", idempotency_key="k")
    order = {
        "run": "r",
        "trial": 0,
        "block": 0,
        "transport": "sse",
        "notifications": 60,
        "warmup_notifications": 0,
        "rate_hz": 1,
        "payload_bytes": 512,
        "start_after_ms": 500,
        "drain_ms": 0,
    }
    server.request("POST", "/api/trials", order)

    status, again = server.request(
        "POST", "/api/notifications", {"title": "once", "body": "", "idempotency_key": "k", "force": True}
    )

    assert (status, again["id"]) == (200, first["id"])
    assert server.request("GET", "/api/trials/r/0")[1]["state"] == "running"
    assert server.request("POST", "/api/notifications", {"title": "new", "body": "", "force": True})[0] == 201
    assert server.request("GET", "/api/trials/r/0")[1]["state"] == "voided"

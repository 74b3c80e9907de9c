"""The end of a server, and the next one on the same port: who comes back, when, and what they missed."""

from __future__ import annotations

import contextlib
import http.client
import os
import re
import signal
import socket
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from websockets.exceptions import ConnectionClosed

from app.core.protocol.event_stream import EventStreamDecoder
from tests.support.fanouts import FANOUTS
from tests.support.followers import Follower, Publisher, following, wait_for
from tests.support.interop import CLIENTS, interop_client
from tests.support.patience import PATIENCE_S
from tests.support.server import RunningServer, ServerSettings, free_port, running_server
from tests.support.streams import socketio, websocket_by_hand

pytestmark = pytest.mark.slow

BROKER = "sqlite:///history.db"
BOTH = ("sse", "socketio", "sse", "socketio")

END_MAX_S = 60.0
"""gunicorn's graceful_timeout is 10 s; a server whose clients all read ends in a fraction of that."""


def end_in_order(server: RunningServer) -> None:
    """SIGTERM to the master, as systemd and Docker do."""
    before_s = time.monotonic()
    server.process.terminate()
    assert server.process.wait(END_MAX_S) == 0, server.log()
    assert time.monotonic() - before_s < END_MAX_S


def kill_9(server: RunningServer) -> None:
    os.killpg(server.process.pid, signal.SIGKILL)
    server.process.wait()


def state_of(followers: list[Follower]) -> object:
    return [(each.transport, each.connections, each.titles[-3:], each.gaps) for each in followers]


@pytest.mark.parametrize("fanout", FANOUTS)
@pytest.mark.parametrize("end", [end_in_order, kill_9])
def test_clients_of_both_transports_come_back_to_the_next_process_and_miss_nothing(
    tmp_path: Path, end: Callable[[RunningServer], None], fanout: str
) -> None:
    """With a durable history, while publishing goes on: exactly once and in order, whatever ended the first."""
    port = free_port()
    options: ServerSettings = {"broker": BROKER, "recorder": 0, "port": port, "fanout": fanout}
    expected = [str(number) for number in range(150)]
    with running_server(tmp_path, **options) as server, following(port, BOTH) as followers:
        publisher = Publisher(server, len(expected))
        publisher.start()
        wait_for(publisher.has_answers(40), server.log)
        end(server)
        with running_server(tmp_path, **options) as following_server:
            wait_for(publisher.has_answers(len(expected)), following_server.log)
            wait_for(
                lambda: all(len(each.titles) >= len(expected) for each in followers),
                lambda: state_of(followers),
            )
            published = [answer["offset"] for answer in publisher.answered]

    assert published == list(range(1, len(expected) + 1))
    for follower in followers:
        assert follower.titles == expected
        assert follower.gaps == []
        assert follower.connections >= 2


def test_clients_of_both_transports_are_told_of_the_gap_where_history_ended_with_the_process(
    tmp_path: Path,
) -> None:
    port = free_port()
    with (
        running_server(tmp_path, recorder=0, port=port) as server,
        following(port, ("sse", "socketio")) as followers,
    ):
        server.publish("before", "")
        wait_for(lambda: all(each.titles for each in followers), lambda: state_of(followers))
        end_in_order(server)
        with running_server(tmp_path, recorder=0, port=port) as second:
            wait_for(lambda: all(each.gaps for each in followers), lambda: state_of(followers))
            second.publish("after", "")
            wait_for(lambda: all("after" in each.titles for each in followers), lambda: state_of(followers))

    for follower in followers:
        assert [gap["reason"] for gap in follower.gaps] == ["epoch"]
        assert follower.titles == ["before", "after"]


@pytest.mark.parametrize("broker", [BROKER, "memory://"])
def test_a_socketio_client_that_had_received_nothing_is_not_passed_over_by_the_next_process(
    tmp_path: Path, broker: str
) -> None:
    """Its library sends the `pid` alone: it has no offset."""
    with (
        running_server(tmp_path, broker=broker, recorder=0) as server,
        socketio(server.port, {"recover": True}) as channel,
    ):
        pid = channel.connect["pid"]
        kill_9(server)
    with running_server(tmp_path, broker=broker, recorder=0) as server:
        server.publish("missed", "")
        with socketio(server.port, {"recover": True, "pid": pid}) as channel:
            recovered = channel.connect["pid"] == pid
            first = channel.next_packet()

    assert recovered is (broker == BROKER)
    assert first.startswith('42["notification",' if broker == BROKER else '42["gap",')
    assert '"title":"missed"' in first or '"reason":"epoch"' in first


@pytest.mark.parametrize("kind", CLIENTS)
def test_a_polling_client_comes_back_to_the_next_process_and_resumes(tmp_path: Path, kind: str) -> None:
    """Also python-socketio's, which takes Engine.IO's close on a poll for a farewell."""
    options: ServerSettings = {"broker": BROKER, "recorder": 0, "port": free_port()}
    delays = {"reconnection": True, "reconnectionDelay": 50, "reconnectionDelayMax": 50}
    with (
        running_server(tmp_path, **options) as server,
        interop_client(kind, server.url, transports=["polling"], resume=True, **delays) as client,
    ):
        client.wait("connect")
        server.publish("before", "")
        assert client.next_event()[1][0]["title"] == "before"
        end_in_order(server)
        with running_server(tmp_path, **options) as second:
            second.publish("after", "")
            assert client.next_event()[1][0]["title"] == "after"


def test_an_orderly_end_closes_the_history(tmp_path: Path) -> None:
    """Then a reboot behind it is no power cut, and the next start has nothing to skip."""
    with running_server(tmp_path, broker=BROKER, recorder=0) as server:
        server.publish()
        end_in_order(server)

    with contextlib.closing(sqlite3.connect(tmp_path / "history.db")) as history:
        assert history.execute("SELECT opened FROM state").fetchone() == ("",)
    assert "Traceback" not in server.log()


@pytest.mark.parametrize("fanout", FANOUTS)
def test_a_socketio_client_gets_what_waits_and_then_the_close_after_which_clients_come_back(
    tmp_path: Path, fanout: str
) -> None:
    """The WebSocket's own close, and no other.

    The official client takes Socket.IO's disconnect (`41`) for a wish and stays away; python-socketio's does so upon
    Engine.IO's (`1`).
    """
    with running_server(tmp_path, recorder=0, fanout=fanout) as server, socketio(server.port) as channel:
        server.publish("last", "")
        end_in_order(server)

        assert channel.next_notification()["title"] == "last"
        with pytest.raises(ConnectionClosed):
            channel.next_packet()


@pytest.mark.parametrize("fanout", FANOUTS)
def test_clients_that_do_not_read_cannot_hold_up_the_end(tmp_path: Path, fanout: str) -> None:
    with running_server(tmp_path, recorder=0, fanout=fanout, send_buffer_bytes=4096) as server:
        stalled = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(10)]
        for number, sock in enumerate(stalled):
            if number % 2:
                websocket_by_hand(sock)
                sock.sendall(b"\x81\x82\0\0\0\x0040")  # a text frame, masked with zeros: CONNECT
            else:
                sock.sendall(b"GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n")
        wait_for(lambda: sum(server.publish("y", "")["recipients"].values()) == len(stalled), server.log)
        for _ in range(150):
            server.publish("long", "y" * 20_000)

        end_in_order(server)
        for sock in stalled:
            sock.close()


@pytest.mark.parametrize("fanout", FANOUTS)
def test_each_sse_client_is_told_another_moment_to_come_back(tmp_path: Path, fanout: str) -> None:
    """At the beginning, since a server that is killed says no goodbye, and another one at the end."""
    with running_server(tmp_path, recorder=0, retry_ms=1000, fanout=fanout) as server:
        streams = []
        for _ in range(12):
            connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE_S)
            connection.request("GET", "/events")
            streams.append((connection, connection.getresponse()))
        server.publish("last", "")
        end_in_order(server)
        received = [response.read() for _, response in streams]
        for connection, _ in streams:
            connection.close()

    told = []
    for content in received:
        decoder = EventStreamDecoder()
        events = decoder.feed(content)
        assert [event.type for event in events] == ["notification"]
        assert decoder.last_event_id == events[0].last_event_id
        told.append([int(wait_ms) for wait_ms in re.findall(rb"^retry: (\d+)$", content, re.MULTILINE)])
    beginnings_ms, ends_ms = zip(*told, strict=True)
    for waits_ms, least_ms, most_ms in ((beginnings_ms, 500, 1500), (ends_ms, 1000, 3000)):
        assert all(least_ms <= wait_ms <= most_ms for wait_ms in waits_ms)
        assert len(set(waits_ms)) >= 6, waits_ms

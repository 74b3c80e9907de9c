"""What holds for connections that were taken over, and for the ways around it."""

from __future__ import annotations

import contextlib
import re
import socket
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.support.kernel_ring import OFFERED
from tests.support.metrics import await_metric, metric
from tests.support.patience import PATIENCE_S
from tests.support.server import ServerSettings, free_port, running_server
from tests.support.streams import SocketIoReader, SseReader, read_until, socketio, sse, websocket_by_hand

SLOW_BEATS: ServerSettings = {"heartbeat_s": 60, "ping_interval_s": 60, "recorder": 0}
"""Who is missed only by these is not noticed at once: `await_metric` waits for a quarter of that."""

BACKENDS = ("eventlet", pytest.param("gevent", marks=pytest.mark.nightly))


@pytest.mark.parametrize("backend", BACKENDS)
def test_connections_are_written_to_directly(backend: str, tmp_path: Path) -> None:
    with (
        running_server(tmp_path, green_threads=backend, recorder=0) as server,
        sse(server.port) as stream,
        socketio(server.port) as channel,
    ):
        assert server.request("GET", "/version")[1]["async_mode"] == backend
        for transport in ("sse", "socketio"):
            assert metric(server, f'siar_connection_paths{{path="direct",transport="{transport}"}}') == 1
        answer = server.publish("hello")

        assert answer["recipients"] == {"sse": 1, "socketio": 1}
        assert stream.next_notification() == channel.next_notification()
    assert "Traceback" not in server.log(), server.log()


@pytest.mark.parametrize("io_uring", ["true", "false"])
def test_one_call_writes_to_many_where_the_kernel_offers_it_and_otherwise_each_has_its_own(
    io_uring: str, tmp_path: Path
) -> None:
    with (
        running_server(tmp_path, io_uring=io_uring, recorder=0) as server,
        ExitStack() as stack,
    ):
        wanted = "io_uring" if io_uring == "true" and OFFERED else "send"
        assert server.request("GET", "/version")[1]["writes"] == wanted
        clients: list[SseReader | SocketIoReader] = [
            *(stack.enter_context(sse(server.port)) for _ in range(40)),
            *(stack.enter_context(socketio(server.port)) for _ in range(40)),
        ]
        published = [server.publish(f"number {number}")["offset"] for number in range(5)]

        for client in clients:
            assert [client.next_notification()["offset"] for _ in published] == published
    assert "Traceback" not in server.log(), server.log()


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_client_that_left_is_noticed_at_once(backend: str, tmp_path: Path) -> None:
    """The published study reports that its SSE server never noticed."""
    with running_server(tmp_path, green_threads=backend, **SLOW_BEATS) as server:
        for transport, join in (("sse", sse), ("socketio", socketio)):
            line = f'siar_connections{{transport="{transport}"}}'
            with join(server.port):
                await_metric(server, line, 1)
            await_metric(server, line, 0)

            assert server.publish("nobody")["recipients"][transport] == 0


@pytest.mark.slow
@pytest.mark.parametrize("backend", BACKENDS)
def test_the_stock_way_notices_it_too(backend: str, tmp_path: Path) -> None:
    """Clients that nobody misses would be counted, and written to, in the trial after theirs."""
    with running_server(tmp_path, green_threads=backend, fanout="stock", **SLOW_BEATS) as server:
        with sse(server.port):
            await_metric(server, 'siar_connections{transport="sse"}', 1)
        await_metric(server, 'siar_connections{transport="sse"}', 0)
        assert metric(server, "siar_admitted_connections") == 0


@pytest.mark.slow
@pytest.mark.parametrize("transport", ["sse", "socketio"])
def test_a_client_on_this_machine_may_ask_for_the_stock_path(transport: str, tmp_path: Path) -> None:
    """So that an experiment compares the two ways on one server."""
    requests = {
        "sse": b"GET /events?fanout=stock HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "socketio": (
            b"GET /socket.io/?EIO=4&transport=websocket&fanout=stock HTTP/1.1\r\nHost: localhost\r\n"
            b"Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
            b"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
        ),
    }
    with (
        running_server(tmp_path, recorder=0) as server,
        socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE_S) as sock,
    ):
        sock.sendall(requests[transport])
        if transport == "socketio":
            read_until(sock, b"0{")
            sock.sendall(b"\x81\x82\0\0\0\x0040")

        await_metric(server, f'siar_connection_paths{{path="stock",transport="{transport}"}}', 1)


@pytest.mark.slow
def test_a_client_that_is_gone_without_a_word_is_noticed_by_its_reset(tmp_path: Path) -> None:
    with running_server(tmp_path, **SLOW_BEATS) as server:
        sock = socket.create_connection(("127.0.0.1", server.port))
        sock.sendall(b"GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n")
        await_metric(server, 'siar_connections{transport="sse"}', 1)

        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        sock.close()

        await_metric(server, 'siar_connections{transport="sse"}', 0)
        assert metric(server, 'siar_closed_connections_total{reason="connection_lost",transport="sse"}') == 1


def test_what_was_sent_behind_the_handshake_is_taken_over(tmp_path: Path) -> None:
    """The server's parser has read it already: frames in the same segment as the request must not be lost."""
    connect_frame = b"\x81\x82\0\0\0\0" + b"40"
    with (
        running_server(tmp_path, recorder=0) as server,
        socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE_S) as sock,
    ):
        sock.sendall(
            b"GET /socket.io/?EIO=4&transport=websocket HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\n"
            b"Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
            b"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n" + connect_frame
        )

        assert b"position" in read_until(sock, b"40{")


def test_heartbeats_come_to_the_idle_only_and_carry_the_position(tmp_path: Path) -> None:
    with running_server(tmp_path, recorder=0, heartbeat_s=0.3) as server, sse(server.port) as stream:
        position = server.publish("one")["id"]
        stream.next_notification()
        heard = b""
        while heard.count(b": heartbeat") < 2:
            heard += stream.read_some()

        assert heard.count(f"id: {position}".encode()) == 2


@pytest.mark.slow
def test_one_timer_pings_everybody_and_ends_who_does_not_answer(tmp_path: Path) -> None:
    # Who answers may be late by more than half a second on a busy machine.
    settings: ServerSettings = {"ping_interval_s": 0.3, "ping_timeout_s": 15, "recorder": 0}
    with (
        running_server(tmp_path, **settings) as server,
        socketio(server.port) as answers,
        socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE_S) as silent,
    ):
        websocket_by_hand(silent)
        silent.sendall(b"\x81\x82\0\0\0\0" + b"40")
        pings = 0
        silent.setblocking(False)
        received, is_over = b"", False
        while not is_over:
            if answers.websocket.recv(timeout=PATIENCE_S) == "2":
                pings += 1
                answers.websocket.send("3")
            with contextlib.suppress(BlockingIOError):
                chunk = silent.recv(4096)
                received, is_over = received + chunk, chunk == b""

        assert pings > 6
        assert b"\x81\x012" in received
        assert metric(server, 'siar_connections{transport="socketio"}') == 1


@pytest.mark.slow
def test_a_polling_client_is_stock_and_gets_everything(tmp_path: Path) -> None:
    with running_server(tmp_path, recorder=0) as server:
        base = "/socket.io/?EIO=4&transport=polling"
        sid = re.search(r'"sid":"([^"]+)"', server.request("GET", base)[1])
        assert sid is not None
        session = f"{base}&sid={sid[1]}"
        assert server.request("POST", session, raw=b"40")[1] == "ok"
        assert server.request("GET", session)[1].startswith("40{")
        assert metric(server, 'siar_connection_paths{path="stock",transport="socketio"}') == 1
        server.publish("polled")

        assert "polled" in server.request("GET", session)[1]


@pytest.mark.slow
def test_a_burst_is_merged_and_nothing_is_lost(tmp_path: Path) -> None:
    """Two hundred notifications back to back, read late: each client has all of them, in order."""
    with (
        running_server(tmp_path, recorder=0) as server,
        sse(server.port) as stream,
        socketio(server.port) as channel,
    ):
        for number in range(200):
            server.publish(str(number))

        assert [stream.next_notification()["title"] for _ in range(200)] == [str(n) for n in range(200)]
        assert [channel.next_notification()["title"] for _ in range(200)] == [str(n) for n in range(200)]


@pytest.mark.slow
def test_the_send_buffer_is_modest_on_both_transports(tmp_path: Path) -> None:
    """Unset, the kernel takes megabytes for a client that does not read, and nobody knows how far behind it is."""
    with (
        running_server(
            tmp_path,
            recorder=0,
            queue_notifications_max=100_000,
            queue_bytes_max=200_000,
            publish_per_s_max=10_000,
        ) as server,
        socket.create_connection(("127.0.0.1", server.port)) as over_sse,
        socket.create_connection(("127.0.0.1", server.port)) as over_websocket,
    ):
        over_sse.sendall(b"GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n")
        websocket_by_hand(over_websocket)
        over_websocket.sendall(b"\x81\x82\0\0\0\0" + b"40")
        await_metric(server, 'siar_connections{transport="sse"}', 1)
        await_metric(server, 'siar_connections{transport="socketio"}', 1)
        sent_bytes = 0
        while metric(server, 'siar_connections{transport="sse"}') or metric(
            server, 'siar_connections{transport="socketio"}'
        ):
            for _ in range(20):
                server.publish("x", "y" * 19_000)
                sent_bytes += 19_000
            assert sent_bytes < 30_000_000, "they were never cut off"

        for transport in ("sse", "socketio"):
            line = f'siar_closed_connections_total{{reason="slow_consumer",transport="{transport}"}}'
            assert metric(server, line) == 1


@pytest.mark.slow
def test_gevent_serves_what_eventlet_does(tmp_path: Path) -> None:
    """Stock too, with resume on both transports."""
    for fanout in ("direct", "stock"):
        folder = tmp_path / fanout
        folder.mkdir()
        port = free_port()
        with running_server(folder, port=port, green_threads="gevent", fanout=fanout, recorder=0) as server:
            with sse(port) as stream, socketio(port) as channel:
                first = server.publish("one")
                assert stream.next_notification() == channel.next_notification()
            server.publish("two")
            with (
                sse(port, f"?last_event_id={first['id']}") as stream,
                socketio(port, {"last_event_id": first["id"]}) as channel,
            ):
                assert stream.next_notification()["title"] == "two"
                assert channel.next_notification()["title"] == "two"
        assert "Traceback" not in server.log(), server.log()

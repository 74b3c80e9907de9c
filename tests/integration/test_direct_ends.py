"""Connections that were taken over and end, or begin anew, in the middle of something."""

from __future__ import annotations

import re
import socket
import struct
from pathlib import Path

import pytest

from app.core.protocol.websocket import Opcode, encode_close, encode_frame
from tests.support.floods import FLOODS, is_ended_by
from tests.support.metrics import await_metric, metric
from tests.support.patience import PATIENCE_S
from tests.support.server import RunningServer, running_server
from tests.support.streams import read_until

pytestmark = pytest.mark.slow

BACKENDS = ("eventlet", "gevent")


def text(packet: bytes) -> bytes:
    return encode_frame(Opcode.TEXT, packet, mask=b"\0\0\0\0")


def open_websocket(
    server: RunningServer, query: str = "", *, receive_bytes: int | None = None
) -> socket.socket:
    sock = socket.socket()
    sock.settimeout(10)
    if receive_bytes is not None:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
    sock.connect(("127.0.0.1", server.port))
    sock.sendall(
        f"GET /socket.io/?EIO=4&transport=websocket{query} HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\n"
        "Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
        "".encode()
    )
    read_until(sock, b"\r\n\r\n")
    return sock


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_client_that_breaks_off_at_the_end_of_its_upgrade_is_forgotten(
    backend: str, tmp_path: Path
) -> None:
    """Its last word arrives, and what waited for it finds the connection reset."""
    with running_server(tmp_path, green_threads=backend, recorder=0) as server:
        base = "/socket.io/?EIO=4&transport=polling"
        sid = re.search(r'"sid":"([^"]+)"', server.request("GET", base)[1])
        assert sid is not None
        session = f"{base}&sid={sid[1]}"
        server.request("POST", session, raw=b"40")
        server.request("GET", session)
        sock = open_websocket(server, f"&sid={sid[1]}")
        sock.sendall(text(b"2probe"))
        read_until(sock, b"3probe")
        server.publish("waits for the end of the upgrade")

        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        sock.sendall(text(b"5"))
        sock.close()

        await_metric(server, "siar_admitted_connections", 0)
        assert metric(server, 'siar_connections{transport="socketio"}') == 0
        assert server.publish("nobody")["recipients"]["socketio"] == 0


def test_a_namespace_may_be_joined_again_while_its_replay_is_on_its_way(tmp_path: Path) -> None:
    with running_server(tmp_path, recorder=0, send_buffer_bytes=4096, queue_bytes_max=2**26) as server:
        for number in range(300):
            server.publish(f"missed {number}", "x" * 3500)
        sock = open_websocket(server, receive_bytes=4096)
        everything = text(b'40{"last_event_id":"0000:0"}')
        sock.sendall(everything)
        read_until(sock, b"missed 1")

        sock.sendall(text(b"41") + everything)

        again = read_until(sock, b"missed 299").rpartition(b"40{")[2]
        assert [int(number) for number in re.findall(rb"missed (\d+)", again)][-300:] == list(range(300))
        sock.close()


@pytest.mark.parametrize("flood", FLOODS)
def test_a_flood_of_frames_that_give_no_message_ends_its_connection(flood: str, tmp_path: Path) -> None:
    """Each costs the loop as much as a packet: a few such clients would delay everybody by a tenth of a second."""
    with running_server(tmp_path, recorder=0, packets_per_s_max=100) as server:
        sock = open_websocket(server)
        sock.settimeout(60)
        sock.sendall(text(b"40"))
        read_until(sock, b"position")

        assert is_ended_by(sock, flood)

        await_metric(server, "siar_admitted_connections", 0)
        assert (
            metric(server, 'siar_closed_connections_total{reason="protocol_error",transport="socketio"}') == 1
        )
        sock.close()


def test_pings_that_come_at_once_are_all_answered_in_their_order(tmp_path: Path) -> None:
    def frames(opcode: Opcode, mask: bytes | None) -> bytes:
        return b"".join(encode_frame(opcode, b"%d" % number, mask=mask) for number in range(300))

    with running_server(tmp_path, recorder=0) as server, open_websocket(server) as sock:
        sock.sendall(frames(Opcode.PING, b"\0\0\0\0") + encode_close(1000, mask=b"\0\0\0\0"))

        received = read_until(sock, encode_close(1000))

    assert received.endswith(frames(Opcode.PONG, None) + encode_close(1000))


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_drain_ends_idle_connections_without_a_word_in_the_log(backend: str, tmp_path: Path) -> None:
    with running_server(tmp_path, green_threads=backend, recorder=0) as server:
        with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE_S) as sock:
            sock.sendall(b"GET /readyz HTTP/1.1\r\nHost: localhost\r\n\r\n")
            read_until(sock, b"\r\n\r\n")
            server.request("GET", "/readyz")  # By now that one is idle.

            server.process.terminate()

            server.process.wait(PATIENCE_S)
        assert "Traceback" not in server.log(), server.log()

"""What strangers send makes neither a line nor a colour of its own in the log that the operator reads."""

from __future__ import annotations

import contextlib
import http.client
import json
import socket
from pathlib import Path

import pytest

from tests.support.patience import PATIENCE_S
from tests.support.server import running_server
from tests.support.streams import websocket_by_hand

MARK = "FORGED"
HOSTILE = f"\x1b[31m\r\n[2026-01-01 00:00:00 +0000] [1] [CRITICAL] {MARK}"


@pytest.mark.slow
def test_what_strangers_send_makes_no_line_of_its_own_in_the_log(tmp_path: Path) -> None:
    with running_server(tmp_path, recorder=0, log_level="debug") as server:
        percent = "".join(f"%{each:02x}" for each in HOSTILE.encode())
        for path in (f"/{percent}", f"/events?topic={percent}", f"/socket.io/?EIO=4&transport={percent}"):
            server.request("GET", path)
        server.request("POST", "/api/devices", {"name": HOSTILE})
        server.request("POST", "/api/notifications", {"title": HOSTILE, "body": HOSTILE, "topic": HOSTILE})
        server.request("GET", "/healthz", headers={"Host": "x\x1b[31m" + MARK}, source="127.0.7.3")
        for raw in (
            b"GET /\x1b[31m" + MARK.encode() + b" HTTP/1.1\r\n\r\n",
            b"\x1b[31m" + MARK.encode() + b"\r\n\r\n",
            b"GET / HTTP/1.1\r\nHost: localhost\r\nX: a\rb" + MARK.encode() + b"\r\n\r\n",
            b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: \x1b[31m" + MARK.encode() + b"\r\n\r\n",
        ):
            with (
                socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE_S) as sock,
                contextlib.suppress(ConnectionError),
            ):
                sock.sendall(raw)
                sock.recv(4096)
        with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE_S) as sock:
            websocket_by_hand(sock)
            packet = ("40" + json.dumps({"topics": [HOSTILE]})).encode()
            sock.sendall(b"\x81" + bytes([0xFE]) + len(packet).to_bytes(2, "big") + b"\0\0\0\0" + packet)
            sock.recv(4096)
        with contextlib.suppress(http.client.HTTPException):
            server.request("GET", "/healthz")

        log = server.log()

    assert "\x1b" not in log
    assert "\r" not in log
    assert not [line for line in log.splitlines() if line.lstrip().startswith("[2026-01-01")]
    assert "Traceback" not in log, log

"""What clients leave behind that come and go: nothing of ours that waits for the collector of cycles.

It comes by every few minutes only, and until then a server in which a fifth of the clients change each minute keeps them all.
"""

from __future__ import annotations

import json
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from websockets.sync.client import connect

from tests.support.followers import wait_for
from tests.support.patience import PATIENCE_S
from tests.support.server import RunningServer, running_server
from tests.support.streams import socketio, sse
from tests.tools import soak

CLIENTS = 10


def by_socketio(server: RunningServer) -> None:
    with socketio(server.port) as client:
        client.websocket.send("41")
        client.websocket.send("40")
        assert str(client.websocket.recv(timeout=PATIENCE_S)).startswith("40")


def by_sse(server: RunningServer) -> None:
    with sse(server.port):
        pass


def by_upgrade(server: RunningServer) -> None:
    address = f"{server.url}/socket.io/?EIO=4&transport=polling"
    with urllib.request.urlopen(address) as opened:
        session = f"&sid={json.loads(opened.read()[1:])['sid']}"
    for data in (b"40", None):
        with urllib.request.urlopen(address + session, data) as answer:
            answer.read()
    way = address.replace("http", "ws", 1).replace("polling", "websocket") + session
    with connect(way, open_timeout=PATIENCE_S) as websocket:
        websocket.send("2probe")
        assert websocket.recv(timeout=PATIENCE_S) == "3probe"
        websocket.send("5")


def all_come_and_go(server: RunningServer) -> None:
    for come_and_go in (by_sse, by_socketio, by_upgrade):
        come_and_go(server)
    wait_for(lambda: soak.connections(server) == 0, server.log)


@pytest.mark.nightly
def test_who_came_and_went_leaves_nothing_of_ours_to_the_collector(tmp_path: Path) -> None:
    with running_server(tmp_path, command=soak.COMMAND, ping_interval_s=0.2, ping_timeout_s=5) as server:
        all_come_and_go(server)  # What is made once and kept.
        server.request("POST", "/leavings", {})

        for _ in range(CLIENTS):
            all_come_and_go(server)
        # A session is held until its CONNECT would have been due, 45 s; only then is it told what it leaves.
        wait_for(lambda: leavings(server)["sessions"] == 0, server.log, times=2)

        left = leavings(server)["left"]

    ours = {name: count for name, count in left.items() if name.startswith("app.")}
    assert ours == {}
    assert "flask.ctx.RequestContext" not in left
    assert "builtins.frame" not in left


def leavings(server: RunningServer) -> dict[str, Any]:
    _status, found = server.request("GET", "/leavings")
    return dict(found)

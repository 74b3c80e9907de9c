"""A peer whose network has gone says nothing, neither FIN nor reset: it is found by what it does not acknowledge."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests.support import netns
from tests.support.fanouts import FANOUTS, fanout_settings
from tests.support.metrics import subscribed
from tests.support.server import RunningServer, running_server

pytestmark = [pytest.mark.alone, pytest.mark.nightly]
"""Alone, since a cable that is made here breaks off what Chromium loads elsewhere (ERR_NETWORK_CHANGED)."""


@pytest.fixture(autouse=True)
def _namespaces() -> None:
    netns.require()


CLIENT = """
import socket, sys, time
from tests.support.streams import read_until, websocket_by_hand
host, port = sys.argv[1], int(sys.argv[2])
sse = socket.create_connection((host, port))
sse.sendall(b"GET /events HTTP/1.1\\r\\nHost: %s\\r\\n\\r\\n" % host.encode())
channel = socket.create_connection((host, port))
websocket_by_hand(channel)
channel.sendall(bytes([0x81, 0x82, 0, 0, 0, 0]) + b"40")
read_until(sse, b"id: ")
read_until(channel, b"40{")
print("subscribed", flush=True)
time.sleep(600)
"""

PEER_TIMEOUT_S = 2
HEARTBEAT_S = 1

GRACE_S = 4.0
"""A busy machine's, and the sweep of whoever is found."""

LIMIT_S = HEARTBEAT_S + PEER_TIMEOUT_S + GRACE_S
"""Until the heartbeat that nobody acknowledges, then the kernel's bound: Linux shortens its last retransmission timer to
what is left of TCP_USER_TIMEOUT (since 4.19), so that the doubling of these timers adds nothing."""


@pytest.mark.parametrize("fanout", FANOUTS)
def test_a_peer_whose_network_has_gone_is_found_within_the_bound(tmp_path: Path, fanout: str) -> None:
    settings = {
        "host": "0.0.0.0",
        "peer_timeout_s": PEER_TIMEOUT_S,
        "heartbeat_s": HEARTBEAT_S,
        "ping_interval_s": HEARTBEAT_S,
        "ping_timeout_s": 60,  # So that it is the kernel's word, and not a missing pong.
        **fanout_settings(fanout),
    }
    with (
        running_server(tmp_path, recorder=0, **settings) as server,
        netns.namespace() as far,
        far.python(CLIENT, far.near, str(server.port)) as client,
    ):
        try:
            assert client.stdout is not None
            assert client.stdout.readline() == "subscribed\n"
            assert subscribed_by_transport(server) == {"sse": 1, "socketio": 1}

            far.pull()
            gone_s = time.monotonic()
            while subscribed_by_transport(server) != {"sse": 0, "socketio": 0}:
                assert time.monotonic() - gone_s < LIMIT_S, subscribed_by_transport(server)
                time.sleep(0.05)
        finally:
            client.kill()


def subscribed_by_transport(server: RunningServer) -> dict[str, float]:
    return {name: subscribed(server, name) for name in ("sse", "socketio")}

"""Lines that are slow, uneven, narrow, sliced, frozen, or torn in the middle of a frame."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from app.tools.calibrate.tcp_proxy import TcpProxy
from tests.support.fanouts import FANOUTS
from tests.support.followers import Follower, following, wait_for
from tests.support.proxy import Torn, bad_line, held
from tests.support.server import RunningServer, running_server

pytestmark = pytest.mark.slow

COUNT = 150
EVERYBODY = ("sse", "socketio", "sse", "socketio")

LINES = {
    "late": bad_line(latency_s=0.2),
    "uneven": bad_line(latency_s=0.01, jitter_s=0.05),
    "narrow": bad_line(bytes_per_s=30_000),
    "in slices of 7 bytes": bad_line(slice_bytes=7, jitter_s=0.001),
}


def publish_all(server: RunningServer) -> None:
    for number in range(COUNT):
        server.publish(str(number), "x" * (number % 7) * 40)


def wait_for_all(followers: list[Follower], server: RunningServer) -> None:
    wait_for(
        lambda: all(len(each.titles) >= COUNT for each in followers),
        lambda: f"{[len(each.titles) for each in followers]}; {server.log()}",
    )


@pytest.mark.parametrize("name", LINES)
def test_a_line_that_is_bad_delivers_everything_once_and_in_order_on_one_connection(
    tmp_path: Path, name: str
) -> None:
    with (
        running_server(tmp_path, recorder=0, heartbeat_s=1) as server,
        TcpProxy("127.0.0.1", server.port, to_client=LINES[name], to_server=LINES[name]) as line,
        following(line.own_port, EVERYBODY) as followers,
    ):
        publish_all(server)
        wait_for_all(followers, server)

        for follower in followers:
            assert follower.titles == [str(number) for number in range(COUNT)]
            assert (follower.connections, follower.gaps) == (1, [])
        assert "Traceback" not in server.log(), server.log()


@pytest.mark.parametrize("fanout", FANOUTS)
@pytest.mark.parametrize("seed", [1, 2])
def test_resets_in_the_middle_of_frames_lose_and_double_nothing(
    tmp_path: Path, fanout: str, seed: int
) -> None:
    """Far more resets than a network has: every connection is torn after at most some dozen notifications."""
    torn = Torn(400, 9000, seed=seed)
    with (
        running_server(tmp_path, recorder=0, heartbeat_s=1, fanout=fanout) as server,
        TcpProxy("127.0.0.1", server.port, to_client=torn) as line,
        following(line.own_port, EVERYBODY) as followers,
    ):
        publish_all(server)
        wait_for_all(followers, server)

        assert torn.tears >= 2 * len(followers)
        for follower in followers:
            assert follower.titles == [str(number) for number in range(COUNT)]
            assert follower.gaps == []
        assert "Traceback" not in server.log(), server.log()


def test_a_line_that_freezes_for_a_while_ends_no_connection(tmp_path: Path) -> None:
    flows = threading.Event()
    flows.set()
    with (
        running_server(tmp_path, recorder=0, heartbeat_s=1) as server,
        TcpProxy("127.0.0.1", server.port, to_client=held(flows), to_server=held(flows)) as line,
        following(line.own_port, EVERYBODY) as followers,
    ):
        server.publish("0")
        wait_for(lambda: all(each.titles for each in followers), server.log)
        flows.clear()
        for number in range(1, COUNT):
            server.publish(str(number))
        assert all(each.titles == ["0"] for each in followers)
        flows.set()
        wait_for_all(followers, server)

        for follower in followers:
            assert follower.titles == [str(number) for number in range(COUNT)]
            assert (follower.connections, follower.gaps) == (1, [])

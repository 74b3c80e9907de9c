"""Lines that are slow, uneven, narrow, sliced, frozen, or torn in the middle of a frame."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.bad_line import BadLine, Line
from tests.support.fanouts import FANOUTS
from tests.support.followers import Follower, following, wait_for
from tests.support.server import RunningServer, running_server

pytestmark = pytest.mark.slow

COUNT = 150
EVERYBODY = ("sse", "socketio", "sse", "socketio")

LINES = {
    "late": Line(latency_s=0.2),
    "uneven": Line(latency_s=0.01, jitter_s=0.05),
    "narrow": Line(bytes_per_s=30_000),
    "in slices of 7 bytes": Line(slice_bytes=7, jitter_s=0.001),
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
        BadLine(server.port, LINES[name]) as line,
        following(line.port, EVERYBODY) as followers,
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
    torn = Line(slice_bytes=1000, torn_after_bytes=(400, 9000))
    with (
        running_server(tmp_path, recorder=0, heartbeat_s=1, fanout=fanout) as server,
        BadLine(server.port, torn, seed=seed) as line,
        following(line.port, EVERYBODY) as followers,
    ):
        publish_all(server)
        wait_for_all(followers, server)

        assert line.tears >= 2 * len(followers)
        for follower in followers:
            assert follower.titles == [str(number) for number in range(COUNT)]
            assert follower.gaps == []
        assert "Traceback" not in server.log(), server.log()


def test_a_line_that_freezes_for_a_while_ends_no_connection(tmp_path: Path) -> None:
    with (
        running_server(tmp_path, recorder=0, heartbeat_s=1) as server,
        BadLine(server.port, Line()) as line,
        following(line.port, EVERYBODY) as followers,
    ):
        server.publish("0")
        wait_for(lambda: all(each.titles for each in followers), server.log)
        line.freeze()
        for number in range(1, COUNT):
            server.publish(str(number))
        assert all(each.titles == ["0"] for each in followers)
        line.thaw()
        wait_for_all(followers, server)

        for follower in followers:
            assert follower.titles == [str(number) for number in range(COUNT)]
            assert (follower.connections, follower.gaps) == (1, [])

"""The machine's clock is set between two starts: what orders notifications is their offset, never the time of day.

Within a start nothing can step: the wall clock is read once (app/clock.py; tests/unit/test_house.py holds everybody to
it), so the step is made where it can happen, in the anchor that a start fixes.
"""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest

from app import clock
from tests.support.followers import Follower, following, wait_for
from tests.support.server import ServerSettings, free_port, running_server

pytestmark = pytest.mark.slow

HOUR_US = 3_600_000_000

STEPS_US = {
    "backwards": (0, -HOUR_US, 0),
    "forwards": (0, HOUR_US, 0),
    "to and fro": (HOUR_US, -HOUR_US, HOUR_US),
}

PER_LIFE = 20


@pytest.mark.parametrize("name", STEPS_US)
def test_a_step_of_the_clock_between_starts_loses_doubles_and_reorders_nothing(
    tmp_path: Path, name: str
) -> None:
    port = free_port()
    settings: ServerSettings = {
        "port": port,
        "broker": "sqlite:///history.db",
        "recorder": 0,
        "heartbeat_s": 1,
    }
    sent: list[dict[str, int]] = []
    with contextlib.ExitStack() as lives:
        followers: list[Follower] = []
        for life, step_us in enumerate(STEPS_US[name]):
            anchor_us = clock.anchor_us() + step_us
            with running_server(tmp_path, anchor_us=anchor_us, timebase=f"life-{life}", **settings) as server:
                followers = followers or lives.enter_context(following(port, ("sse", "socketio")))
                for number in range(PER_LIFE):
                    sent.append(server.publish(f"{life}.{number}"))
                    told = server.request("GET", "/api/clock")[1]
                    assert abs(sent[-1]["sent_us"] - (clock.monotonic_us() + anchor_us)) < HOUR_US / 10, told
                for follower in followers:
                    count = PER_LIFE * (life + 1)
                    wait_for(lambda: len(follower.titles) == count, server.log)  # noqa: B023

    assert [each["offset"] for each in sent] == list(range(1, len(sent) + 1))
    for follower in followers:
        assert follower.titles == [f"{life}.{number}" for life in range(3) for number in range(PER_LIFE)]
        assert follower.gaps == []
        assert follower.connections >= 3

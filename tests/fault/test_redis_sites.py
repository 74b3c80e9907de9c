"""Two servers and Redis on networks of their own: whatever breaks in between, everybody has everything, in order."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support import netns
from tests.support.followers import Follower, Publisher, wait_for
from tests.support.sites import Site, sites

pytestmark = [pytest.mark.alone, pytest.mark.nightly]
"""Alone, since a cable that is made here breaks off what Chromium loads elsewhere (ERR_NETWORK_CHANGED)."""

COUNT = 5_000

DISK_TIMES = 20
"""Thousands of writes through to a disk take their time."""


@pytest.fixture(autouse=True)
def _namespaces() -> None:
    netns.require()


def follow(site: Site) -> list[Follower]:
    followers = [Follower(site.server.port, transport, host=site.host) for transport in ("sse", "socketio")]
    for follower in followers:
        follower.start()
    wait_for(lambda: all(each.connections for each in followers), site.server.log)
    return followers


def test_a_kill_a_restart_of_redis_and_a_cut_cable_amid_5000_lose_nobody_anything(tmp_path: Path) -> None:
    with sites(tmp_path) as three:
        followers = [*follow(three.one), *follow(three.other)]
        publishers = [Publisher(site.server, COUNT // 2, keys=site.name) for site in (three.one, three.other)]
        for publisher in publishers:
            publisher.start()

        def answered() -> int:
            return sum(len(each.answered) for each in publishers)

        def reach(count: int) -> None:
            wait_for(
                lambda: answered() >= count,
                lambda: f"{answered()} of {count}\n{three.one.server.log()}",
                times=DISK_TIMES,
            )

        reach(COUNT // 5)
        three.other.kill_9()
        three.other.start()
        reach(2 * COUNT // 5)
        three.redis.kill()
        three.redis.start()
        reach(3 * COUNT // 5)
        three.one.cut()
        wait_for(
            lambda: "Redis is away" in three.one.server.log().rpartition("Redis is back")[2],
            three.one.server.log,
        )
        three.one.mend()
        reach(COUNT)
        wait_for(
            lambda: all(len(each.titles) >= COUNT for each in followers),
            lambda: [(each.transport, len(each.titles), each.gaps) for each in followers],
            times=DISK_TIMES,
        )
        for follower in followers:
            follower.leaves.set()

    offsets = sorted(answer["offset"] for publisher in publishers for answer in publisher.answered)
    assert offsets == list(range(1, COUNT + 1)), "each was published once, and none twice"
    assert len({answer["id"].partition(".")[0] for each in publishers for answer in each.answered}) == 1
    orders = [each.titles for each in followers]
    assert all(len(order) == COUNT for order in orders)
    assert orders == [orders[0]] * 4
    assert not any(each.gaps for each in followers)

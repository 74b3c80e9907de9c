"""`redis+sentinel://`: after a failover the broker finds the new master, and says what the old one took with it."""

from __future__ import annotations

import signal
import time
from pathlib import Path

import pytest

from app.core.errors import BrokerAway
from app.server.broker.redis.broker import RedisBroker
from tests.support.brokers import missed, offsets, publish
from tests.support.patience import PATIENCE_S
from tests.support.sentinel import pair, wait_until_level

pytestmark = pytest.mark.slow


def publish_when_it_is_back(broker: RedisBroker, key: str) -> int:
    """As a publisher does: again and again, with one key."""
    deadline_s = time.monotonic() + PATIENCE_S
    while True:
        try:
            return publish(broker, idempotency_key=key).notification.offset
        except BrokerAway:
            assert time.monotonic() < deadline_s
            time.sleep(0.1)


def test_a_failover_that_lost_nothing_goes_on_in_the_same_epoch(tmp_path: Path) -> None:
    with pair(tmp_path) as found:
        before = [publish(found.broker).notification.offset for _ in range(3)]
        epoch = found.broker.position().epoch
        wait_until_level(found)

        found.master.kill()
        after = publish_when_it_is_back(found.broker, "after")

    assert before == [1, 2, 3]
    assert after == 4
    assert found.broker.position().epoch == epoch


def test_a_failover_that_lost_something_begins_a_new_epoch_with_a_gap(tmp_path: Path) -> None:
    with pair(tmp_path) as found:
        publish(found.broker)
        wait_until_level(found)
        assert found.replica.process is not None
        found.replica.process.send_signal(signal.SIGSTOP)
        # What comes now waits in no buffer for it either.
        found.master.command("CLIENT", "KILL", "TYPE", "replica")
        publish(found.broker)
        left_at = found.broker.position()

        found.master.kill()
        found.replica.process.send_signal(signal.SIGCONT)
        after = publish_when_it_is_back(found.broker, "after")
        replay = missed(found.broker, left_at)

    assert left_at.offset == 2
    assert after == 2, "the replica knew of one"
    assert found.broker.position().epoch != left_at.epoch
    assert replay.gap is not None
    assert replay.gap.reason == "epoch"
    assert offsets(replay) == [1, 2]

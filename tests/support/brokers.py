"""Every broker for the contract suite, hosted so that its process can be stopped, killed and restarted."""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypedDict

import pytest

from app import clock
from app.core.broker_url import RedisAddress
from app.core.errors import Conflict
from app.core.notification import Notification
from app.core.position import Position
from app.server.broker.base import Draft, Filter, Listener, Published, Replay
from app.server.broker.memory import MemoryBroker
from app.server.broker.sqlite.broker import SqliteBroker
from app.server.broker.sqlite.journal import Journal
from tests.support.patience import PATIENCE_S
from tests.support.redis_server import shared_redis

KINDS = ("memory", "sqlite", "redis")

ALL = Filter("sse")

AGE_MAX_US = 10**12
"""So large that nothing expires unless a test sets another limit."""


class Bounds(TypedDict):
    """Limits of a broker's history."""

    count_max: int
    bytes_max: int
    age_max_us: int


class BrokerHost:
    """Stands for a process with a broker: it can be stopped in order, killed, and started again."""

    def __init__(self, kind: str, folder: Path) -> None:
        self.kind = kind
        self._folder = folder
        self._lives = 0
        self._bounds: Bounds
        self._prefix = f"test-{secrets.token_hex(8)}"
        self.broker: MemoryBroker = MemoryBroker(count_max=1, bytes_max=1, age_max_us=1)

    @property
    def is_durable(self) -> bool:
        """True if history outlives the process."""
        return self.kind != "memory"

    @property
    def keeps_trials(self) -> bool:
        """True if trials outlive the process."""
        return self.kind == "redis"

    @property
    def path(self) -> Path:
        """The file of a durable history."""
        return self._folder / f"history-{self._lives}.db"

    def start(
        self, *, count_max: int = 1000, bytes_max: int = 10**9, age_max_us: int = AGE_MAX_US
    ) -> MemoryBroker:
        """Start a broker with these limits."""
        self._bounds = {"count_max": count_max, "bytes_max": bytes_max, "age_max_us": age_max_us}
        if self.kind == "redis":
            self.broker = self.redis_broker()
        elif self.is_durable:
            self.broker = SqliteBroker(Journal(self.path, synchronous="normal", wait_s=0), **self._bounds)
        else:
            self.broker = MemoryBroker(**self._bounds)
        return self.broker

    def redis_broker(self) -> MemoryBroker:
        """Return another server's broker on the same Redis."""
        # Imported here, so that tests of other brokers need no Redis.
        from app.server.broker.redis import link
        from app.server.broker.redis.broker import RedisBroker

        redis = shared_redis()
        address = RedisAddress(((redis.host, redis.port),), prefix=self._prefix)
        with pytest.MonkeyPatch.context() as patch:
            # What a broker does without its Redis is not asked here, and a busy machine must not take it away.
            patch.setattr(link, "PATIENCE_S", PATIENCE_S)
            connection = link.RedisLink(address)
        return RedisBroker(connection, **self._bounds)

    def restart(self) -> MemoryBroker:
        """Stop in order and start again."""
        self.broker.close()
        return self.start(**self._bounds)

    def kill_and_start(self) -> MemoryBroker:
        """Start again from the current contents of the files, as after `kill -9`."""
        if self.kind == "redis":
            return self.restart()  # An orderly stop makes no difference to the data in Redis.
        before = self.path
        self._lives += 1
        for end in ("", "-wal"):
            if before.with_name(before.name + end).exists():
                shutil.copyfile(
                    before.with_name(before.name + end), self.path.with_name(self.path.name + end)
                )
        self.broker.close()
        return self.start(**self._bounds)


def publish(broker: MemoryBroker, body: str = "x", topic: str = "default", **members: Any) -> Published:
    """Publish, with default values for what a test does not care about."""
    return broker.publish(Draft(title="t", body=body, topic=topic, due_us=clock.now_us(), **members))


def publish_all(broker: MemoryBroker, *wanted: dict[str, Any]) -> list[Published | Conflict]:
    """Publish a batch; each entry names only the members that the test cares about."""
    usual = {"title": "t", "body": "x", "topic": "default", "due_us": clock.now_us()}
    return broker.publish_all([Draft(**{**usual, **members}) for members in wanted])


def one_by_one(tell: Callable[[Notification], dict[str, int]]) -> Listener:
    """Return a listener that calls `tell` once for each notification."""
    return lambda notifications: [tell(each) for each in notifications]


def missed(broker: MemoryBroker, since: Position, wanted: Filter = ALL) -> Replay:
    """Return the replay for a client whose last position is `since`."""
    seen: list[Replay] = []
    broker.attach(since, wanted, seen.append)
    return seen[0]


def offsets(replay: Replay) -> list[int]:
    """Return the offsets of a replay."""
    return [each.offset for each in replay.notifications]


def pass_time(us: int) -> None:
    """Advance the server's clock."""
    clock.fix(anchor_us=clock.anchor_us() + us, timebase=clock.timebase())

"""Several brokers on one Redis: one order, and nothing lost or invented in silence whatever becomes of it."""

from __future__ import annotations

import contextlib
import secrets
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.core.broker_url import RedisAddress
from app.core.errors import BrokerAway, Conflict, Malformed, NotKept
from app.core.notification import Notification
from app.core.position import Position
from app.core.units import ServerUs
from app.server.broker.base import Draft, Published, Replay
from app.server.broker.redis import scripts as redis_scripts
from app.server.broker.redis.broker import RedisBroker
from app.server.broker.redis.link import RedisLink
from tests.support.brokers import ALL, missed, offsets, one_by_one, publish, publish_all
from tests.support.followers import wait_for
from tests.support.redis_server import RedisServer, redis_server, shared_redis


class Ear:
    """A listener that is a watcher too."""

    def __init__(self, broker: RedisBroker) -> None:
        self.heard: list[Notification] = []
        self.broken = 0
        self.states: list[bool] = []
        broker.listen(one_by_one(self.hear))
        broker.watch(self)

    def hear(self, notification: Notification) -> dict[str, int]:
        self.heard.append(notification)
        return {"sse": 1}

    def on_broken(self) -> None:
        self.broken += 1

    def on_away(self, *, is_away: bool) -> None:
        self.states.append(is_away)

    def has(self, count: int) -> bool:
        return len(self.heard) >= count


class Site:
    """One Redis and the brokers of servers that share it."""

    def __init__(self, redis: RedisServer) -> None:
        self.redis = redis
        self.prefix = f"test-{secrets.token_hex(8)}"
        self.brokers: list[RedisBroker] = []

    def broker(self, *, count_max: int = 1000) -> RedisBroker:
        address = RedisAddress(((self.redis.host, self.redis.port),), prefix=self.prefix)
        self.brokers.append(
            RedisBroker(RedisLink(address), count_max=count_max, bytes_max=10**9, age_max_us=10**12)
        )
        return self.brokers[-1]

    def close(self) -> None:
        for broker in self.brokers:
            broker.close()


@pytest.fixture
def site() -> Iterator[Site]:
    """On the Redis that all tests share."""
    site = Site(shared_redis())
    yield site
    site.close()


@pytest.fixture
def own_site(tmp_path: Path) -> Iterator[Site]:
    """With a Redis that may be killed."""
    with redis_server(tmp_path / "redis") as redis:
        site = Site(redis)
        yield site
        site.close()


def test_all_servers_hear_everything_in_one_order_whoever_publishes(site: Site) -> None:
    brokers = [site.broker() for _ in range(3)]
    ears = [Ear(broker) for broker in brokers]

    def publish_some(broker: RedisBroker, name: str) -> None:
        for number in range(50):
            publish(
                broker,
                body=f"{name}{number}",
                topic="trial.1" if number % 3 else "default",
                trial=bool(number % 3),
            )

    threads = [
        threading.Thread(target=publish_some, args=(broker, name))
        for broker, name in zip(brokers, "abc", strict=True)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    wait_for(lambda: all(ear.has(150) for ear in ears), lambda: [len(ear.heard) for ear in ears])

    assert [each.offset for each in ears[0].heard] == list(range(1, 151))
    assert [each.json for each in ears[1].heard] == [each.json for each in ears[0].heard]
    assert [each.json for each in ears[2].heard] == [each.json for each in ears[0].heard]
    assert not any(ear.broken for ear in ears)


def test_all_servers_hear_what_is_published_together_in_one_piece_of_the_order(site: Site) -> None:
    brokers = [site.broker() for _ in range(2)]
    ears = [Ear(broker) for broker in brokers]

    def publish_some(broker: RedisBroker, name: str) -> None:
        for number in range(10):
            publish_all(broker, *({"body": f"{name}{number}"} for _ in range(20)))

    threads = [
        threading.Thread(target=publish_some, args=(broker, name))
        for broker, name in zip(brokers, "ab", strict=True)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    wait_for(lambda: all(ear.has(400) for ear in ears), lambda: [len(ear.heard) for ear in ears])

    bodies = [each.body for each in ears[0].heard]
    assert [each.offset for each in ears[0].heard] == list(range(1, 401))
    assert [each.json for each in ears[1].heard] == [each.json for each in ears[0].heard]
    assert all(len(set(bodies[begin : begin + 20])) == 1 for begin in range(0, 400, 20))
    assert not any(ear.broken for ear in ears)


def test_a_key_that_another_server_used_is_known_to_what_is_published_together(site: Site) -> None:
    first, second = site.broker(), site.broker()

    def publish_behind_another(_replay: Replay) -> None:
        kept = publish(first, idempotency_key="k")
        outcomes.append(
            (kept, publish_all(second, {}, {"idempotency_key": "k"}, {"body": "b", "idempotency_key": "k"}))
        )

    outcomes: list[tuple[Published, list[Published | Conflict]]] = []
    second.attach(None, ALL, publish_behind_another)  # Meanwhile it takes nothing of what others publish.

    ((kept, (new, repeated, conflict)),) = outcomes
    assert isinstance(new, Published)
    assert new.notification.offset == 2
    assert isinstance(repeated, Published)
    assert repeated.repeated
    assert repeated.notification.position == kept.notification.position
    assert isinstance(conflict, Conflict)


def test_what_redis_refuses_of_what_is_published_together_is_all_of_it(own_site: Site) -> None:
    broker = own_site.broker()
    ear = Ear(broker)

    own_site.redis.command("CONFIG", "SET", "maxmemory", "1")
    with pytest.raises(NotKept, match="maxmemory"):
        publish_all(broker, {}, {"idempotency_key": "k"}, {})
    own_site.redis.command("CONFIG", "SET", "maxmemory", "0")
    outcomes = publish_all(broker, {}, {"idempotency_key": "k"}, {})

    assert [each.notification.offset for each in outcomes if isinstance(each, Published)] == [1, 2, 3]
    assert [each.offset for each in ear.heard] == [1, 2, 3]


def test_a_client_resumes_on_a_server_that_was_not_there_when_it_left(site: Site) -> None:
    first = site.broker()
    left_at = publish(first).notification.position
    publish(first, body="missed")

    replay = missed(site.broker(), left_at)

    assert replay.gap is None
    assert [each.body for each in replay.notifications] == ["missed"]


def test_a_client_that_comes_from_a_server_that_is_ahead_has_missed_nothing(site: Site) -> None:
    """However late this one reads: what it has not heard of yet is no position of another life."""
    ahead, behind = site.broker(), site.broker()

    for _ in range(100):
        told = publish(ahead).notification.position
        assert behind.reaches(told, ALL)
        told = publish(ahead).notification.position
        replay = missed(behind, told)
        assert (replay.gap, offsets(replay)) == (None, [])


def test_a_key_counts_on_every_server(site: Site) -> None:
    one, other = site.broker(), site.broker()
    first = publish(one, idempotency_key="k", ttl_us=10**9)

    again = publish(other, idempotency_key="k", ttl_us=10**9)

    assert again.repeated
    assert again.notification == first.notification
    assert again.recipients == {"sse": 0, "socketio": 0}
    with pytest.raises(Conflict):
        publish(other, body="something else", idempotency_key="k")
    assert publish(one).notification.offset == 2


def test_redis_holds_no_more_than_the_bounds_allow(site: Site) -> None:
    broker = site.broker(count_max=5)
    for number in range(20):
        publish(broker, idempotency_key=str(number))

    assert site.redis.command("XLEN", f"{{{site.prefix}}}:operator") == ":5\r\n"
    late = missed(site.broker(count_max=5), Position(broker.position().epoch, 3))
    assert late.gap is not None
    assert (late.gap.first, late.gap.last, offsets(late)) == (4, 15, [16, 17, 18, 19, 20])


def test_while_redis_is_away_publishing_is_refused_and_history_answers(own_site: Site) -> None:
    broker = own_site.broker()
    ear = Ear(broker)
    start = broker.position()
    publish(broker)

    own_site.redis.kill()
    with pytest.raises(BrokerAway):
        publish(broker)
    wait_for(lambda: ear.states == [True], lambda: ear.states)
    # At once, without asking: Redis' silence would take its time from everybody who publishes.
    with pytest.raises(BrokerAway, match="nothing was published"):
        publish(broker)
    resumed = missed(broker, start)
    own_site.redis.start()
    wait_for(lambda: ear.states == [True, False], lambda: ear.states)
    after = publish(broker)

    assert offsets(resumed) == [1]
    assert after.notification.position.epoch == start.epoch
    assert [each.offset for each in ear.heard] == list(range(1, after.notification.offset + 1))
    assert ear.broken == 0


def test_what_redis_lost_begins_a_new_epoch_on_every_server(own_site: Site) -> None:
    """As after a failover to a replica that was behind: acknowledged entries are gone."""
    one, other = own_site.broker(), own_site.broker()
    ears = [Ear(one), Ear(other)]
    for _ in range(2):
        publish(one)
    own_site.redis.remember()
    publish(one)
    wait_for(lambda: ears[1].has(3), lambda: ears[1].heard)
    left_at = one.position()

    own_site.redis.kill()
    own_site.redis.forget_since()
    own_site.redis.start()
    wait_for(lambda: all(each.position().epoch != left_at.epoch for each in (one, other)), one.position)
    after = publish(one).notification
    wait_for(lambda: other.position() == after.position, other.position)

    assert (one.position().epoch, after.offset) == (other.position().epoch, 3)
    assert [ear.broken for ear in ears] == [1, 1], "everyone who was connected has to come back"
    replay = missed(other, left_at)
    assert replay.gap is not None
    assert replay.gap.reason == "epoch"
    assert offsets(replay) == [1, 2, 3]


@pytest.mark.slow
def test_another_notification_at_the_offset_of_a_lost_one_is_noticed(own_site: Site) -> None:
    """A server that had not seen the lost one publishes first: the offset alone looks right."""
    broker = own_site.broker()
    publish(broker)
    left_at = broker.position()

    own_site.redis.command("HSET", f"{{{own_site.prefix}}}:state", "mark", "another")
    wait_for(lambda: broker.position().epoch != left_at.epoch, broker.position)

    assert publish(broker).notification.position.epoch == broker.position().epoch


def test_a_redis_that_was_emptied_begins_a_new_epoch(own_site: Site) -> None:
    broker = own_site.broker()
    ear = Ear(broker)
    before = publish(broker).notification.position

    own_site.redis.command("FLUSHALL")
    after = publish(broker).notification.position

    assert after.epoch != before.epoch
    assert after.offset == 1
    assert ear.broken == 1


def test_what_redis_refuses_is_not_published_and_leaves_no_hole(own_site: Site) -> None:
    broker = own_site.broker()
    publish(broker)

    own_site.redis.command("CONFIG", "SET", "maxmemory", "1")
    with pytest.raises(NotKept, match="maxmemory"):
        publish(broker)
    own_site.redis.command("CONFIG", "SET", "maxmemory", "0")

    assert publish(broker).notification.offset == 2


@contextlib.contextmanager
def reading_refused(site: Site) -> Iterator[None]:
    """Redis takes what is published, and lets nobody read on: the script for that is gone and may not be loaded again."""
    assert site.redis.command("ACL", "SETUSER", "default", "-script|load").startswith("+OK")
    assert site.redis.command("SCRIPT", "FLUSH").startswith("+OK")
    # Loads the other script, and does nothing: there is no such epoch.
    names = [f"{{{site.prefix}}}:{name}" for name in redis_scripts.NAMES]
    answer = site.redis.command("EVAL", redis_scripts.APPEND, str(len(names)), *names, "none", "0", "")
    assert "epoch" in answer
    try:
        yield
    finally:
        site.redis.command("ACL", "SETUSER", "default", "+@all")


def test_what_redis_has_acknowledged_is_published_though_redis_refuses_to_be_read(own_site: Site) -> None:
    """Another server was faster, so that this one has to read on before it may take its own: its publisher is not told "no"."""
    slow, fast = own_site.broker(), own_site.broker()
    ear = Ear(slow)
    published: list[Published] = []

    def publish_behind_another(_replay: Replay) -> None:
        publish(fast)
        with reading_refused(own_site):
            published.append(publish(slow, body="kept", idempotency_key="k"))

    slow.attach(None, ALL, publish_behind_another)  # Meanwhile it takes nothing of what others publish.
    wait_for(lambda: ear.has(2) and ear.states[-1:] == [False], lambda: (ear.heard, ear.states))
    again = publish(slow, body="kept", idempotency_key="k")

    assert [(each.offset, each.body) for each in ear.heard] == [(1, "x"), (2, "kept")]
    assert published[0].notification.position == again.notification.position
    assert again.repeated
    assert ear.broken == 0


def test_history_that_ran_away_from_a_server_sends_its_clients_back_for_a_gap(own_site: Site) -> None:
    """A server whose way to Redis was blocked for longer than history reaches."""
    slow, fast = own_site.broker(count_max=5), own_site.broker(count_max=5)
    ear = Ear(slow)
    start = publish(fast).notification.position
    wait_for(lambda: ear.has(1), lambda: ear.heard)

    def run_ahead(_replay: Replay) -> None:
        for _ in range(20):
            publish(fast)

    slow.attach(None, ALL, run_ahead)  # Meanwhile it takes nothing.
    wait_for(lambda: slow.position().offset == 21, slow.position)
    replay = missed(slow, start)

    assert ear.broken == 1
    assert [each.offset for each in ear.heard][-5:] == [17, 18, 19, 20, 21]
    assert replay.gap is not None
    assert (replay.gap.last, replay.gap.reason) == (16, "expired")


def test_a_draft_that_no_client_could_be_sent_costs_no_offset(site: Site) -> None:
    broker = site.broker()
    with pytest.raises(Malformed):
        broker.publish(Draft("t", "b", "default", ServerUs(0), data={"n": float("inf")}))

    assert publish(broker).notification.offset == 1
    assert missed(broker, broker.position(), ALL).notifications == ()

"""The broker's promises (app/server/broker/base.py), held to every broker."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from app import clock
from app.core.errors import Conflict, Malformed
from app.core.notification import Notification, Targets
from app.core.position import Position, position_or_unknown
from app.core.units import ServerUs
from app.server.broker.base import Draft, Filter, Gap, Published, Replay
from app.server.broker.memory import MemoryBroker
from tests.support.brokers import (
    ALL,
    KINDS,
    BrokerHost,
    missed,
    offsets,
    one_by_one,
    pass_time,
    publish,
    publish_all,
)

START_TIMEOUT_S = 60.0
"""Only a thread that failed before it began takes so long."""


@pytest.fixture(params=KINDS)
def host(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[BrokerHost]:
    anchor_us, timebase = clock.anchor_us(), clock.timebase()
    host = BrokerHost(request.param, tmp_path)
    yield host
    host.broker.close()
    clock.fix(anchor_us=anchor_us, timebase=timebase)


class Subscriber:
    """Attaches as the fan-out does: what was missed, then what it is told of live."""

    def __init__(self, wanted: Filter = ALL) -> None:
        self.wanted = wanted
        self.offsets: list[int] = []
        self.gaps: list[Gap] = []

    def start(self, replay: Replay) -> None:
        if replay.gap is not None:
            self.gaps.append(replay.gap)
        self.offsets += offsets(replay)


class Live:
    """A listener that hands on to whoever has attached. Both happen under the broker's lock."""

    def __init__(self) -> None:
        self.subscribers: list[Subscriber] = []

    def tell(self, notification: Notification) -> dict[str, int]:
        for subscriber in self.subscribers:
            subscriber.offsets.append(notification.offset)
        return {"sse": len(self.subscribers)}

    def start(self, subscriber: Subscriber, replay: Replay) -> None:
        subscriber.start(replay)
        self.subscribers.append(subscriber)


@contextlib.contextmanager
def publishing_threads(broker: MemoryBroker, count: int) -> Iterator[None]:
    """Others publish as fast as they can, from before the block's first line until its last."""
    enough = threading.Event()
    started = threading.Barrier(count + 1, timeout=START_TIMEOUT_S)

    def run() -> None:
        publish(broker)
        started.wait()
        while not enough.is_set():
            publish(broker)

    threads = [threading.Thread(target=run) for _ in range(count)]
    for thread in threads:
        thread.start()
    started.wait()
    try:
        yield
    finally:
        enough.set()
        for thread in threads:
            thread.join()


def test_offsets_rise_by_one_over_all_topics_and_trials(host: BrokerHost) -> None:
    broker = host.start()

    found = [
        publish(broker, topic=topic, trial=topic == "trial.1").notification.offset
        for topic in ("a", "b", "trial.1", "a")
    ]

    assert found == [1, 2, 3, 4]


def test_listeners_are_told_in_order_before_publish_returns(host: BrokerHost) -> None:
    broker = host.start()
    told: list[int] = []

    def listen(notification: Notification) -> dict[str, int]:
        told.append(notification.offset)
        return {"sse": 1}

    broker.listen(one_by_one(listen))

    recipients = [publish(broker).recipients for _ in range(3)]

    assert told == [1, 2, 3]
    assert recipients == [{"sse": 1}] * 3


def test_the_change_from_history_to_live_loses_and_doubles_nothing_under_full_publishing(
    host: BrokerHost,
) -> None:
    """Four threads publish as fast as they can while others attach, some from the start and some from the middle."""
    broker = host.start(count_max=1_000_000)
    live = Live()
    broker.listen(one_by_one(live.tell))
    since = broker.position()
    joined: list[tuple[Subscriber, int]] = []

    with publishing_threads(broker, 4):
        while len(joined) < 100:
            for left_at in (since, broker.position()):
                subscriber = Subscriber()
                broker.attach(left_at, ALL, lambda replay, who=subscriber: live.start(who, replay))  # type: ignore[misc]
                joined.append((subscriber, left_at.offset))

    last = broker.position().offset
    for subscriber, left_at_offset in joined:
        assert subscriber.offsets == list(range(left_at_offset + 1, last + 1))
        assert subscriber.gaps == []


def test_a_resume_in_a_history_that_runs_away_has_every_offset_once_or_in_its_gap(host: BrokerHost) -> None:
    """History holds 50, and publishing goes on: what a client gets begins right behind its gap, without a hole."""
    broker = host.start(count_max=50)
    since = broker.position()
    replays: list[Replay] = []

    with publishing_threads(broker, 2):
        while len(replays) < 100 or replays[-1].gap is None:
            replays.append(missed(broker, since))

    for replay in replays:
        first = since.offset + 1 if replay.gap is None else replay.gap.last + 1
        if replay.gap is not None:
            assert replay.gap.first == since.offset + 1
            assert replay.gap.position.offset == replay.gap.last
        found = offsets(replay)
        assert found == list(range(first, first + len(found)))


def test_what_history_no_longer_holds_is_named_by_a_gap(host: BrokerHost) -> None:
    broker = host.start(count_max=3)
    start = publish(broker).notification.position
    for _ in range(5):
        publish(broker)

    replay = missed(broker, start)

    assert replay.gap is not None
    assert (replay.gap.first, replay.gap.last, replay.gap.reason) == (2, 3, "expired")
    assert offsets(replay) == [4, 5, 6]
    assert replay.gap.position.offset == 3
    assert not broker.reaches(start, ALL)
    assert broker.reaches(replay.gap.position, ALL)


@pytest.mark.parametrize(
    "text", ["otherlife.2", "not a position", "", "x" * 500, "a.-1", "a.99999999999999999999"]
)
def test_a_position_of_another_life_is_answered_with_an_epoch_gap_and_all_there_is(
    host: BrokerHost, text: str
) -> None:
    broker = host.start()
    publish(broker)

    replay = missed(broker, position_or_unknown(text))

    assert replay.gap is not None
    assert replay.gap.reason == "epoch"
    assert offsets(replay) == [1]


def test_a_position_from_the_future_is_answered_with_a_gap_too(host: BrokerHost) -> None:
    broker = host.start()
    publish(broker)

    replay = missed(broker, Position(broker.position().epoch, 99))

    assert replay.gap is not None
    assert replay.gap.reason == "epoch"


def test_the_same_idempotency_key_publishes_once(host: BrokerHost) -> None:
    broker = host.start()
    broker.listen(one_by_one(lambda _: {"sse": 7}))

    first = publish(broker, idempotency_key="k", data={"n": [1, 2.5, "ü"]}, ttl_us=10**9)
    second = publish(broker, idempotency_key="k", data={"n": [1, 2.5, "ü"]}, ttl_us=10**9)

    assert second.repeated
    assert second.notification == first.notification
    assert second.notification.json == first.notification.json
    assert second.recipients == {"sse": 7}
    assert broker.position().offset == 1


def test_what_is_published_together_is_told_and_kept_together_and_in_order(host: BrokerHost) -> None:
    broker = host.start()
    told: list[list[int]] = []

    def listen(notifications: Sequence[Notification]) -> list[dict[str, int]]:
        told.append([each.offset for each in notifications])
        return [{"sse": each.offset} for each in notifications]

    broker.listen(listen)
    publish(broker)

    found = publish_all(broker, *({"body": body, "topic": body} for body in "abc"))

    assert told == [[1], [2, 3, 4]]
    assert [(each.notification.body, each.recipients) for each in found if isinstance(each, Published)] == [
        ("a", {"sse": 2}),
        ("b", {"sse": 3}),
        ("c", {"sse": 4}),
    ]
    assert [each.body for each in broker.history(0, 10)] == ["x", "a", "b", "c"]
    assert publish(broker).notification.offset == 5


def test_nobody_publishes_in_between_what_is_published_together(host: BrokerHost) -> None:
    broker = host.start(count_max=1_000_000)

    with publishing_threads(broker, 2):
        batches = [publish_all(broker, *[{}] * 10) for _ in range(20)]

    for batch in batches:
        found = [each.notification.offset for each in batch if isinstance(each, Published)]
        assert found == list(range(found[0], found[0] + 10))


def test_nothing_published_together_is_nothing(host: BrokerHost) -> None:
    broker = host.start()

    assert publish_all(broker) == []
    assert broker.position().offset == 0


def test_a_key_of_what_is_published_together_stands_as_ever_and_spoils_nothing_else(host: BrokerHost) -> None:
    broker = host.start()
    broker.listen(one_by_one(lambda each: {"sse": each.offset}))
    first = publish(broker, idempotency_key="old")

    found = publish_all(
        broker,
        {"idempotency_key": "old"},
        {"idempotency_key": "new"},
        {"body": "other", "idempotency_key": "old"},
        {"idempotency_key": "new"},
        {"body": "other", "idempotency_key": "new"},
        {},
    )

    old, new, conflict, again, second_conflict, last = found
    assert isinstance(conflict, Conflict)
    assert isinstance(second_conflict, Conflict)
    assert old == Published(first.notification, {"sse": 1}, repeated=True)
    assert isinstance(new, Published)
    assert isinstance(last, Published)
    assert [new.notification.offset, last.notification.offset] == [2, 3]
    assert again == Published(new.notification, {"sse": 2}, repeated=True)
    assert publish(broker, idempotency_key="new").repeated


def test_one_that_cannot_be_encoded_keeps_all_that_are_published_with_it_back(host: BrokerHost) -> None:
    broker = host.start()

    with pytest.raises(Malformed):
        publish_all(broker, {}, {"data": {"n": float("nan")}}, {})

    assert broker.history(0, 10) == ()
    assert publish(broker).notification.offset == 1


def test_what_was_published_together_is_there_after_a_kill(host: BrokerHost) -> None:
    broker = host.start()
    since = broker.position()
    publish_all(broker, {"idempotency_key": "k"}, {}, {})

    again = host.kill_and_start()

    if host.is_durable:
        assert offsets(missed(again, since)) == [1, 2, 3]
        assert publish(again, idempotency_key="k").repeated


def test_of_more_together_than_history_holds_the_end_is_kept(host: BrokerHost) -> None:
    broker = host.start(count_max=3)
    since = broker.position()

    publish_all(broker, *[{}] * 5)

    replay = missed(broker, since)
    assert replay.gap is not None
    assert (replay.gap.first, replay.gap.last) == (1, 2)
    assert offsets(replay) == [3, 4, 5]


def test_an_idempotency_key_cannot_stand_for_two_notifications(host: BrokerHost) -> None:
    broker = host.start()
    publish(broker, idempotency_key="k")

    with pytest.raises(Conflict):
        publish(broker, body="other", idempotency_key="k")


def test_one_that_cannot_be_encoded_leaves_no_hole_in_the_order(host: BrokerHost) -> None:
    broker = host.start()

    with pytest.raises(Malformed):
        publish(broker, data={"n": float("nan")})

    assert publish(broker).notification.offset == 1


@pytest.mark.parametrize(("bounds", "kept"), [({"count_max": 2}, 2), ({"bytes_max": 700}, 3)])
@pytest.mark.parametrize("body", ["y" * 60, "ខ" * 20], ids=["ASCII", "three bytes a character"])
def test_history_is_bounded_in_count_and_bytes(
    host: BrokerHost, bounds: dict[str, int], kept: int, body: str
) -> None:
    broker = host.start(**bounds)
    for _ in range(20):
        publish(broker, body=body)

    assert len(broker.history(0, 1000)) == kept


def test_history_is_bounded_in_age_and_says_so(host: BrokerHost) -> None:
    broker = host.start(age_max_us=1_000_000)
    start = broker.position()
    publish(broker)
    pass_time(2_000_000)

    reached = broker.reaches(start, ALL)
    replay = missed(broker, start)

    assert not reached, "a client that is told it recovered must not get a gap"
    assert replay.gap is not None
    assert (replay.gap.first, replay.gap.last, replay.notifications) == (1, 1, ())


def test_a_notification_that_has_outlived_its_time_is_not_replayed(host: BrokerHost) -> None:
    broker = host.start()
    start = broker.position()
    publish(broker, ttl_us=1_000_000)
    publish(broker)
    pass_time(2_000_000)

    assert offsets(missed(broker, start)) == [2]


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        (Filter("sse"), [1, 2]),
        (Filter("socketio"), [1, 3]),
        (Filter("sse", frozenset({"other"})), []),
        (Filter("sse", None, "d-1"), [1, 2, 4]),
    ],
)
def test_targets_and_topics_filter_resume_as_they_filter_live(
    host: BrokerHost, wanted: Filter, expected: list[int]
) -> None:
    broker = host.start()
    start = broker.position()
    publish(broker)
    publish(broker, targets=Targets(transport="sse"))
    publish(broker, targets=Targets(transport="socketio"))
    publish(broker, targets=Targets(devices=frozenset({"d-1"})))

    assert offsets(missed(broker, start, wanted)) == expected


def test_trials_and_targeted_notifications_stay_out_of_the_operators_history(host: BrokerHost) -> None:
    broker = host.start()
    publish(broker, trial=True)
    publish(broker, targets=Targets(devices=frozenset({"d-1"})))
    publish(broker)

    assert [each.offset for each in broker.history(0, 10)] == [3]


def test_a_trial_cannot_push_the_operators_notifications_out_of_history(host: BrokerHost) -> None:
    broker = host.start(count_max=5)
    publish(broker)
    for _ in range(50):
        publish(broker, trial=True)

    assert [each.offset for each in broker.history(0, 10)] == [1]


@pytest.mark.parametrize("how", ["restart", "kill_and_start"])
def test_a_client_resumes_across_a_restart_or_is_told_of_a_new_epoch(host: BrokerHost, how: str) -> None:
    broker = host.start()
    seen = publish(broker).notification.position
    first = publish(broker, body="ខ្មែរ \u2028\x00\ud83d", data={"ü": {"b": [1]}}).notification

    broker = getattr(host, how)()
    second = publish(broker, body="after").notification
    replay = missed(broker, seen)

    if host.is_durable:
        assert replay == Replay(None, (first, second))
        assert replay.notifications[0].json == first.json, "the same bytes as before"
        assert second.position == Position(seen.epoch, 3)
    else:
        assert replay.gap is not None
        assert replay.gap.reason == "epoch"
        assert second.position.epoch != seen.epoch


def test_no_broker_gives_a_position_out_twice_whatever_ends_it(host: BrokerHost) -> None:
    broker = host.start()
    given: list[Position] = []
    for turn in range(12):
        given += [
            broker.publish(
                Draft("t", "", "trial.1" if trial else "default", ServerUs(0), trial=trial)
            ).notification.position
            for trial in (turn % 2 == 0, turn % 3 == 0)
        ]
        broker = host.restart() if turn % 4 == 1 else host.kill_and_start()

    assert len(set(given)) == len(given)
    if host.is_durable:
        assert [each.offset for each in given] == sorted(each.offset for each in given)
        assert {each.epoch for each in given} == {given[0].epoch}

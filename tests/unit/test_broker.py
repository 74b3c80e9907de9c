"""The broker's promises (app/broker/base.py), one test for each."""

from __future__ import annotations

import threading

import pytest

from app.broker.base import Draft, Filter, Published, Replay
from app.broker.memory import MemoryBroker
from app.core.errors import Conflict
from app.core.notification import Notification, Targets
from app.core.position import Position, position_or_unknown
from app.fanout import Fanout

ALL = Filter("sse")


def broker_with(count_max: int = 1000, bytes_max: int = 10**9) -> MemoryBroker:
    return MemoryBroker(count_max=count_max, bytes_max=bytes_max, age_max_us=10**12)


def publish(broker: MemoryBroker, body: str = "x", **members: object) -> Published:
    return broker.publish(Draft(title="t", body=body, topic="default", due_us=0, **members))  # type: ignore[arg-type]


def missed(broker: MemoryBroker, since: Position, wanted: Filter = ALL) -> Replay:
    seen: list[Replay] = []
    broker.attach(since, wanted, seen.append)
    return seen[0]


def test_offsets_rise_by_one_over_all_topics() -> None:
    broker = broker_with()

    offsets = [
        broker.publish(Draft(title="t", body="", topic=topic, due_us=0)).notification.offset
        for topic in ("a", "b", "a")
    ]

    assert offsets == [1, 2, 3]


def test_listeners_are_told_in_order_before_publish_returns() -> None:
    broker = broker_with()
    told: list[int] = []

    def listen(notification: Notification) -> dict[str, int]:
        told.append(notification.offset)
        return {"sse": 1}

    broker.listen(listen)

    recipients = [publish(broker).recipients for _ in range(3)]

    assert told == [1, 2, 3]
    assert recipients == [{"sse": 1}] * 3


def test_the_change_from_history_to_live_loses_and_doubles_nothing_under_full_publishing() -> None:
    broker = broker_with(count_max=100_000)
    fanout = Fanout(broker, connections_max=100)
    fanout.register("sse", _CollectingFraming())
    start = broker.position()
    publisher = threading.Thread(target=lambda: [publish(broker) for _ in range(3000)])
    connections = []

    publisher.start()
    while publisher.is_alive():
        connection = _Collecting()
        fanout.subscribe(connection, start)
        connections.append(connection)
        if len(connections) == 50:
            break
    publisher.join()

    assert connections
    for connection in connections:
        assert connection.offsets == list(range(1, 3001))


def test_what_history_no_longer_holds_is_named_by_a_gap() -> None:
    broker = broker_with(count_max=3)
    start = publish(broker).notification.position
    for _ in range(5):
        publish(broker)

    replay = missed(broker, start)

    assert replay.gap is not None
    assert (replay.gap.first, replay.gap.last, replay.gap.reason) == (2, 3, "expired")
    assert [each.offset for each in replay.notifications] == [4, 5, 6]
    assert replay.gap.position.offset == 3


@pytest.mark.parametrize(
    "text", ["otherlife.2", "not a position", "", "x" * 500, "a.-1", "a.99999999999999999999"]
)
def test_a_position_of_another_life_is_answered_with_an_epoch_gap_and_all_there_is(text: str) -> None:
    broker = broker_with()
    publish(broker)

    replay = missed(broker, position_or_unknown(text))

    assert replay.gap is not None
    assert replay.gap.reason == "epoch"
    assert [each.offset for each in replay.notifications] == [1]


def test_a_position_from_the_future_is_answered_with_a_gap_too() -> None:
    broker = broker_with()
    publish(broker)

    replay = missed(broker, Position(broker.position().epoch, 99))

    assert replay.gap is not None
    assert replay.gap.reason == "epoch"


def test_the_same_idempotency_key_publishes_once() -> None:
    broker = broker_with()

    first = publish(broker, idempotency_key="k")
    second = publish(broker, idempotency_key="k")

    assert second.repeated
    assert second.notification == first.notification
    assert broker.position().offset == 1


def test_an_idempotency_key_cannot_stand_for_two_notifications() -> None:
    broker = broker_with()
    publish(broker, idempotency_key="k")

    with pytest.raises(Conflict):
        publish(broker, body="other", idempotency_key="k")


@pytest.mark.parametrize(("bounds", "kept"), [({"count_max": 2}, 2), ({"bytes_max": 700}, 3)])
def test_history_is_bounded_in_count_and_bytes(bounds: dict[str, int], kept: int) -> None:
    broker = broker_with(**bounds)
    for _ in range(20):
        publish(broker, body="y" * 60)

    assert len(broker.history(0, 1000)) == kept


def test_a_notification_that_has_outlived_its_time_is_not_replayed() -> None:
    broker = broker_with()
    start = broker.position()
    publish(broker, ttl_us=0)
    publish(broker)

    assert [each.offset for each in missed(broker, start).notifications] == [2]


@pytest.mark.parametrize(
    ("wanted", "offsets"),
    [
        (Filter("sse"), [1, 2]),
        (Filter("socketio"), [1, 3]),
        (Filter("sse", frozenset({"other"})), []),
        (Filter("sse", None, "d-1"), [1, 2, 4]),
    ],
)
def test_targets_and_topics_filter_resume_as_they_filter_live(wanted: Filter, offsets: list[int]) -> None:
    broker = broker_with()
    start = broker.position()
    publish(broker)
    publish(broker, targets=Targets(transport="sse"))
    publish(broker, targets=Targets(transport="socketio"))
    publish(broker, targets=Targets(devices=frozenset({"d-1"})))

    assert [each.offset for each in missed(broker, start, wanted).notifications] == offsets


def test_trials_and_targeted_notifications_stay_out_of_the_operators_history() -> None:
    broker = broker_with()
    publish(broker, trial=True)
    publish(broker, targets=Targets(devices=frozenset({"d-1"})))
    publish(broker)

    assert [each.offset for each in broker.history(0, 10)] == [3]


def test_a_trial_cannot_push_the_operators_notifications_out_of_history() -> None:
    broker = broker_with(count_max=5)
    publish(broker)
    for _ in range(50):
        publish(broker, trial=True)

    assert [each.offset for each in broker.history(0, 10)] == [1]


class _Collecting:
    """A connection that only remembers offsets."""

    def __init__(self) -> None:
        self.wanted = ALL
        self.offsets: list[int] = []

    def start(self, replay: Replay) -> None:
        self.offsets.extend(each.offset for each in replay.notifications)

    def close(self, reason: str) -> None:
        raise AssertionError(reason)


class _CollectingFraming:
    @staticmethod
    def send(notification: Notification, connections: list[_Collecting]) -> None:
        for connection in connections:
            connection.offsets.append(notification.offset)

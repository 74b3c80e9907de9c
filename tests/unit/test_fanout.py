"""Who gets a notification, in one process, over a real flusher and socket pairs."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterator

import pytest

from app import clock
from app.core.notification import Targets
from app.server.broker.base import Filter, Published
from app.server.fanout.closed import (
    CLOSED_DRAIN,
    CLOSED_HISTORY,
    CLOSED_LOST,
    CLOSED_OPERATOR,
    CLOSED_SLOW,
    Closed,
)
from app.server.fanout.recorder import Recorder
from tests.support.brokers import publish, publish_all
from tests.support.fanout_stage import END, Direct, Stage, Stock

SSE, SOCKETIO = Filter("sse"), Filter("socketio")


@pytest.fixture
def stage() -> Iterator[Stage]:
    stage = Stage()
    yield stage
    stage.close()


def test_a_frame_is_encoded_once_for_all_that_get_the_same_bytes(stage: Stage) -> None:
    peers = [stage.direct(), stage.direct(), stage.direct(encoding="recover:")]

    published = publish(stage.broker, "hello")

    assert [peer.next_frame() for peer in peers] == ["hello", "hello", "recover:hello"]
    assert sorted(stage.sse.framed) == [(1, ""), (1, "recover:")]
    assert published.recipients == {"sse": 3, "socketio": 0}


def test_a_frame_is_encoded_once_for_all_topic_filters(stage: Stage) -> None:
    everything, some = stage.direct(), stage.direct(Filter("sse", frozenset({"default"})))

    publish(stage.broker, "hello")

    assert [everything.next_frame(), some.next_frame()] == ["hello", "hello"]
    assert stage.sse.framed == [(1, "")]


def test_every_transport_frames_for_its_own_connections(stage: Stage) -> None:
    sse, socketio = stage.direct(SSE), stage.direct(SOCKETIO, encoding="2:")

    published = publish(stage.broker, "hello")

    assert [sse.next_frame(), socketio.next_frame()] == ["hello", "2:hello"]
    assert published.recipients == {"sse": 1, "socketio": 1}
    assert (stage.sse.framed, stage.socketio.framed) == ([(1, "")], [(1, "2:")])


@pytest.mark.parametrize(
    ("topic", "targets", "gets_it"),
    [
        ("default", Targets(), True),
        ("other", Targets(), False),
        ("default", Targets(transport="sse"), True),
        ("default", Targets(transport="socketio"), False),
        ("default", Targets(devices=frozenset({"mine", "another"})), True),
        ("default", Targets(devices=frozenset({"another"})), False),
    ],
)
def test_only_matching_subscribers_get_a_notification(
    stage: Stage, topic: str, targets: Targets, gets_it: bool
) -> None:
    wanted = Filter("sse", frozenset({"default"}), "mine")
    direct, stock = stage.direct(wanted), stage.stock(wanted)

    published = publish(stage.broker, "first", topic=topic, targets=targets)
    publish(stage.broker, "second")

    assert direct.next_frame() == ("first" if gets_it else "second")
    assert published.recipients["sse"] == (2 if gets_it else 0)
    assert [offset for offset, _ in stage.sse.handed] == ([1, 2] if gets_it else [2])
    assert {tuple(connections) for _, connections in stage.sse.handed} == {(stock,)}


def test_a_frame_for_one_device_reaches_no_other_one_of_its_channel(stage: Stage) -> None:
    mine, another, nobody = (stage.direct(Filter("sse", None, name)) for name in ("mine", "another", None))

    one = publish(stage.broker, "for mine", targets=Targets(devices=frozenset({"mine"})))
    publish(stage.broker, "for all")

    assert [mine.next_frame(), mine.next_frame()] == ["for mine", "for all"]
    assert [another.next_frame(), nobody.next_frame()] == ["for all", "for all"]
    assert one.recipients["sse"] == 1


def test_notifications_published_together_are_one_write_in_order(stage: Stage) -> None:
    direct, stock = stage.direct(), stage.stock()
    bodies = [str(number) for number in range(100)]

    outcomes = publish_all(stage.broker, *({"body": body} for body in bodies))

    frames = b"".join(body.encode() + END for body in bodies)
    assert direct.peer.recv(10 * len(frames)) == frames
    assert stage.sse.handed == [(offset, [stock]) for offset in range(1, 101)]
    assert [each.recipients for each in outcomes if isinstance(each, Published)] == [
        {"sse": 2, "socketio": 0}
    ] * 100


def test_a_batch_as_long_as_the_limit_cuts_nobody_off(stage: Stage) -> None:
    """The kernel takes less than that at once: the rest waits in the stream."""
    direct = stage.direct()
    bodies = [f"{number:0900}" for number in range(1000)]

    publish_all(stage.broker, *({"body": body} for body in bodies))

    assert [direct.next_frame() for _ in bodies] == bodies
    assert direct.reasons == []


@pytest.mark.parametrize("count", [2, 3, 6])
def test_stock_fanout_rotates_its_first_connection_and_reaches_all(stage: Stage, count: int) -> None:
    crowd = [stage.stock() for _ in range(count)]

    for _ in range(2 * count):
        publish(stage.broker)

    handed = [connections for _, connections in stage.sse.handed]
    assert Counter(connections[0] for connections in handed) == dict.fromkeys(crowd, 2)
    for connections in handed:
        start = crowd.index(connections[0])  # type: ignore[arg-type]
        assert connections == crowd[start:] + crowd[:start]


@pytest.mark.parametrize("count", [2, 3, 4])
def test_each_channel_is_first_as_often_as_the_others(stage: Stage, count: int) -> None:
    """Two are usual, one for each transport."""
    for number in range(count):
        stage.direct(encoding=str(number))

    for _ in range(2 * count):
        publish(stage.broker)

    assert len(stage.sse.framed) == 2 * count * count
    first = Counter(stage.sse.framed[at][1] for at in range(0, len(stage.sse.framed), count))
    assert first == {str(number): 2 for number in range(count)}


def test_connections_are_counted_by_transport_and_by_path(stage: Stage) -> None:
    for wanted in (SSE, SSE, SOCKETIO):
        stage.direct(wanted)
    for wanted in (SSE, SOCKETIO, SOCKETIO):
        stage.stock(wanted)
    stage.direct(SSE, encoding="another")

    assert stage.fanout.counts() == {"sse": 4, "socketio": 3}
    assert stage.fanout.paths() == {
        ("sse", "direct"): 3,
        ("sse", "stock"): 1,
        ("socketio", "direct"): 1,
        ("socketio", "stock"): 2,
    }


def test_sent_bytes_and_frames_are_counted(stage: Stage) -> None:
    stage.direct(SSE)
    stage.stock(SSE)
    stage.stock(SOCKETIO)

    publish(stage.broker)
    publish(stage.broker)

    assert stage.fanout.sent == {"sse": 4, "socketio": 2}


def test_connections_are_listed_with_their_start_time(stage: Stage) -> None:
    before_us = clock.now_us()
    crowd = {stage.direct(), stage.stock()}
    after_us = clock.now_us()

    listed = stage.fanout.connections()

    assert {connection for connection, _ in listed} == crowd
    assert all(before_us <= since_us <= after_us for _, since_us in listed)


def counted(stage: Stage) -> dict[tuple[str, Closed], int]:
    """Return the number of closes by transport and reason, without zeros."""
    return {key: count for key, count in stage.fanout.closed.items() if count}


@pytest.mark.parametrize("make", [Stage.direct, Stage.stock])
def test_only_the_first_reason_of_an_end_counts(stage: Stage, make: object) -> None:
    connection = make(stage)  # type: ignore[operator]

    stage.fanout.unsubscribe(connection, CLOSED_LOST)
    stage.fanout.unsubscribe(connection, CLOSED_DRAIN)

    assert counted(stage) == {("sse", CLOSED_LOST): 1}
    assert stage.fanout.counts() == {"sse": 0, "socketio": 0}
    assert publish(stage.broker).recipients == {"sse": 0, "socketio": 0}


def test_a_channel_exists_while_it_has_members(stage: Stage) -> None:
    first, second = stage.direct(), stage.direct()

    stage.fanout.unsubscribe(first, CLOSED_LOST)
    with_one = [len(channel.members) for channel in stage.fanout.channels("sse")]
    stage.fanout.unsubscribe(second, CLOSED_LOST)

    assert with_one == [1]
    assert stage.fanout.channels("sse") == []


def test_a_client_that_does_not_read_is_named_in_the_log_and_others_are_not(
    stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    slow, lost = stage.stock(), stage.stock()

    with caplog.at_level(logging.INFO, logger="siar.fanout"):
        stage.fanout.unsubscribe(lost, CLOSED_LOST)
        stage.fanout.unsubscribe(slow, CLOSED_SLOW)

    assert [record.getMessage() for record in caplog.records] == [
        "A sse client was cut off: it does not read."
    ]


def test_a_connection_that_closes_while_it_is_answered_is_not_counted(stage: Stage) -> None:
    left = stage.direct(leaves_at_start=True)

    assert len(left.replays) == 1
    assert stage.fanout.connections() == []
    assert stage.fanout.channels("sse") == []


def test_a_connection_that_is_detached_misses_nothing_and_is_counted_once(stage: Stage) -> None:
    stock = stage.stock()
    publish(stage.broker, "before")
    connection = Direct(stage.fanout, SSE, "moved:")

    stage.fanout.move(stock, connection)
    after = publish(stage.broker, "after")

    assert connection.next_frame() == "moved:after"
    assert [offset for offset, _ in stage.sse.handed] == [1]
    assert after.recipients["sse"] == 1
    assert stage.fanout.paths() == {("sse", "direct"): 1}
    connection.drop(CLOSED_LOST)
    connection.peer.close()


@pytest.mark.parametrize("who_left", ["stock", "detached"])
def test_a_closed_connection_is_not_moved(stage: Stage, who_left: str) -> None:
    stock, connection = stage.stock(), Direct(stage.fanout, SSE)
    if who_left == "stock":
        stage.fanout.unsubscribe(stock, CLOSED_LOST)
    else:
        connection.drop(CLOSED_LOST)

    stage.fanout.move(stock, connection)

    assert stage.fanout.channels("sse") == []
    assert stage.fanout.counts()["sse"] == (0 if who_left == "stock" else 1)
    connection.drop(CLOSED_LOST)
    connection.peer.close()


@pytest.mark.parametrize(("end", "reason"), [("drain", CLOSED_DRAIN), ("on_broken", CLOSED_HISTORY)])
def test_all_connections_are_ended_after_waiting_frames_with_the_reason(
    stage: Stage, end: str, reason: str
) -> None:
    direct, stock = stage.direct(), stage.stock(SOCKETIO)
    publish(stage.broker, "last")

    getattr(stage.fanout, end)()

    assert [direct.next_frame(), direct.next_frame()] == ["last", "bye"]
    assert (direct.reasons, stock.ended) == ([reason], [reason])
    assert counted(stage) == {("sse", reason): 1, ("socketio", reason): 1}
    assert stage.fanout.connections() == []


@pytest.mark.parametrize("end", ["drain", "on_broken"])
def test_a_connection_ended_during_a_round_gets_what_was_published_before(stage: Stage, end: str) -> None:
    """After the first batch of a round, all others still wait for the flusher's thread."""
    direct = stage.direct()
    [channel] = stage.fanout.channels("sse")
    stage.fanout.append(channel, b"published, and not written yet" + END)

    getattr(stage.fanout, end)()

    assert [direct.next_frame(), direct.next_frame()] == ["published, and not written yet", "bye"]


def test_a_connection_that_is_being_ended_joins_no_channel(stage: Stage) -> None:
    direct = stage.direct()
    direct.finish(b"bye" + END, CLOSED_OPERATOR)

    stage.fanout.subscribe(direct, None)

    assert stage.fanout.channels("sse") == []
    assert stage.fanout.counts()["sse"] == 0


def test_one_connection_is_cut_and_the_others_stay(stage: Stage) -> None:
    cut, stays = stage.stock(), stage.stock()

    stage.fanout.cut(cut, CLOSED_OPERATOR)

    assert (cut.ended, stays.ended) == ([CLOSED_OPERATOR], [])
    assert [connection for connection, _ in stage.fanout.connections()] == [stays]


@pytest.mark.parametrize(("is_away", "state"), [(True, "away"), (False, "back")])
def test_all_connections_receive_the_state_of_the_broker(stage: Stage, is_away: bool, state: str) -> None:
    direct, stock = stage.direct(SSE), stage.stock(SSE)
    json = f'{{"state":"{state}"}}'

    stage.fanout.on_away(is_away=is_away)

    assert direct.next_frame() == f"service{json}"
    assert stage.sse.noticed == [("service", json, [stock])]
    assert stage.socketio.noticed == []
    assert stage.fanout.counts()["sse"] == 2


def test_bytes_for_one_channel_reach_only_that_channel(stage: Stage) -> None:
    beating, other = stage.direct(SSE), stage.direct(SOCKETIO)
    [channel] = stage.fanout.channels("sse")

    stage.fanout.append(channel, b"beat!")
    stage.fanout.flusher.write()
    publish(stage.broker, "hello")

    assert [beating.next_frame(), beating.next_frame()] == ["beat", "hello"]
    assert other.next_frame() == "hello"


def test_a_recording_sees_connections_of_its_transport_from_before_and_after_it_began(stage: Stage) -> None:
    recorder = Recorder(notifications=10, connections=4)
    before, foreign = stage.direct(SSE), stage.direct(SOCKETIO)

    stage.fanout.record("sse", recorder)
    after, in_a_new_group = stage.direct(SSE), stage.direct(SSE, encoding="new:")
    publish(stage.broker)
    for peer in (before, foreign, after, in_a_new_group):
        peer.next_frame()
    stage.fanout.record("sse", None)
    publish(stage.broker)
    for peer in (before, foreign, after, in_a_new_group):
        peer.next_frame()

    noted = {connection: [offset for offset, _ in stamps] for connection, stamps in recorder.accepted()}
    assert noted == {before: [1], after: [1], in_a_new_group: [1]}


def test_only_the_newest_recording_is_kept(stage: Stage) -> None:
    old, new = (Recorder(notifications=10, connections=4) for _ in range(2))
    peer = stage.direct(SSE)

    stage.fanout.record("sse", old)
    stage.fanout.record("sse", new)
    publish(stage.broker)
    peer.next_frame()

    assert [[offset for offset, _ in stamps] for _, stamps in old.accepted()] == [[]]
    assert [[offset for offset, _ in stamps] for _, stamps in new.accepted()] == [[1]]


def test_the_replay_comes_before_live_frames(stage: Stage) -> None:
    since = stage.broker.position()
    publish(stage.broker, "missed")

    late = Stock(SSE)
    stage.fanout.subscribe(late, since)
    publish(stage.broker, "live")

    assert [[each.body for each in replay.notifications] for replay in late.replays] == [["missed"]]
    assert [offset for offset, _ in stage.sse.handed] == [2]

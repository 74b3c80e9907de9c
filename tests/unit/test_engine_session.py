"""Sessions without a network: the clock stands, the timer is told the time, the channel is a list."""

from __future__ import annotations

import threading
import time
import tracemalloc
from typing import Any

import pytest
from engineio.packet import Packet

from app import clock
from app.core.errors import MalformedFrame
from app.core.units import MonotonicUs
from app.server.transports.socket_io.engine.attempt import AttemptState, WebSocketAttempt
from app.server.transports.socket_io.engine.limits import POLL_BYTES_MAX, IncomingLimits
from app.server.transports.socket_io.engine.packets import message
from app.server.transports.socket_io.engine.server import EngineServer
from app.server.transports.socket_io.engine.session import EngineSession
from app.server.transports.socket_io.engine.timer import Tick

S = 1_000_000
"""Microseconds."""


class ListChannel:
    """A channel that remembers."""

    def __init__(self) -> None:
        self.sent: list[str | bytes] = []
        self.closed = False
        self.waiting_count = 0

    def send_packet(self, pkt: Packet) -> None:
        self.sent.append(pkt.encode())

    def close(self) -> None:
        self.closed = True

    def cut(self) -> None:
        self.closed = True


class Server:
    """An engine whose timer is run by hand."""

    def __init__(self, **options: Any) -> None:
        self.ticks: list[Tick] = []
        self.engine = EngineServer(
            websocket=lambda _attempt, _environ, _start_response: [],
            run_timer=self.ticks.append,
            async_mode="threading",
            **options,
        )
        self.heard: list[object] = []
        self.ended: dict[str, str] = {}
        self.engine.on("message", lambda _sid, data: self.heard.append(data))
        self.engine.on("disconnect", self.ended.__setitem__)
        self.began_us = clock.monotonic_us()

    def open(self) -> EngineSession:
        session: EngineSession = self.engine._open({})
        return session

    def connect(self) -> tuple[EngineSession, ListChannel]:
        session, channel = self.open(), ListChannel()
        session.attach(channel)
        return session, channel

    def tick(self, after_s: float) -> int:
        """The timer at this time since the beginning; when it wants to be called next, likewise."""
        background = set(threading.enumerate())
        due_us = self.ticks[0](self.began_us + round(after_s * S))
        for thread in set(threading.enumerate()) - background:
            thread.join()
        return due_us - self.began_us


@pytest.fixture(autouse=True)
def _stopped_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """However long a test takes, no rate recovers in it, and every deadline counts from the same beginning."""
    monkeypatch.setattr(clock, "monotonic_us", lambda: MonotonicUs(10**12))


@pytest.fixture
def server() -> Server:
    return Server(ping_interval=25, ping_timeout=20, connect_timeout_s=45)


def follow(
    server: Server, until_s: float, *, session: EngineSession | None = None, now_s: float = 0.0
) -> None:
    """Tick whenever due; `session` answers its pings."""
    while now_s < until_s:
        now_s = min(until_s, server.tick(now_s) / S)
        server.tick(now_s)
        if session is not None and session.pong_due_us:
            session.pong_due_us = 0
            server.engine.timer._pings.add(session, server.began_us + round(now_s * S))


def test_a_ping_comes_after_the_interval_and_the_end_after_the_timeout(server: Server) -> None:
    session, channel = server.connect()
    session.has_joined = True

    follow(server, 24.9)
    assert channel.sent == []
    follow(server, 25.1, now_s=24.9)
    assert channel.sent == ["2"]
    follow(server, 44.9, now_s=25.1)
    assert server.ended == {}
    follow(server, 45.2, now_s=44.9)

    assert server.ended == {session.sid: "ping timeout"}
    assert channel.sent == ["2", "1"]
    assert channel.closed


def test_a_client_that_answers_is_pinged_for_ever(server: Server) -> None:
    session, channel = server.connect()
    session.has_joined = True

    follow(server, 1000, session=session)

    assert channel.sent == ["2"] * 40
    assert server.ended == {}


def test_a_stall_of_the_server_ends_no_session(server: Server) -> None:
    """After a minute of standing still pongs lie unread; whoever is not asked again would be gone."""
    session, _channel = server.connect()
    session.has_joined = True
    follow(server, 26)

    server.tick(100)
    assert server.ended == {}

    follow(server, 121, now_s=100.0)
    assert server.ended == {session.sid: "ping timeout"}


def test_a_client_that_does_not_join_in_time_is_closed_and_others_are_not(server: Server) -> None:
    joined, silent = server.connect()[0], server.connect()[0]
    joined.has_joined = True
    follow(server, 26)
    joined.pong_due_us = silent.pong_due_us = 0

    follow(server, 46, now_s=26.0)

    assert server.ended == {silent.sid: "server disconnect"}


def test_a_waiting_poll_gets_no_close_packet_when_the_session_is_closed_for_reconnect(server: Server) -> None:
    """python-socketio's client takes Engine.IO's close for a farewell, and does not come back."""
    session = server.open()
    answers: list[list[Packet] | None] = []
    poll = threading.Thread(target=lambda: answers.append(session.poll(None)))
    poll.start()
    while not session.outgoing.is_polled:
        assert poll.is_alive()
        time.sleep(0.001)

    session.close_for_reconnect()
    poll.join()

    assert [pkt.encode() for pkt in answers[0] or []] == ["6"]
    assert session.poll(None) is None, "the next one is refused, upon which clients connect anew"
    assert server.ended == {session.sid: "server disconnect"}


def test_waiting_packets_are_polled_without_a_close_packet_after_a_close_for_reconnect(
    server: Server,
) -> None:
    session = server.open()
    session.send(message("last"))

    session.close_for_reconnect()

    assert [pkt.encode() for pkt in session.poll(None) or []] == ["4last"]
    assert session.poll(None) is None


def test_an_upgrade_that_does_not_end_is_ended(server: Server) -> None:
    session, channel = server.open(), ListChannel()
    attempt = server.engine._attempt_for(session, {})
    attempt.begin(channel)
    attempt.receive("2probe")

    follow(server, 11)

    assert channel.closed
    assert session.upgrade_attempt is None
    assert server.ended == {}


@pytest.mark.parametrize(
    ("messages", "sent", "state"),
    [
        (["2probe", "5"], ["3probe"], AttemptState.OPEN),
        (["2probe", "2probe", "5"], ["3probe", "3probe"], AttemptState.OPEN),
        (["2probe"], ["3probe"], AttemptState.PROBING),
        (["5"], [], AttemptState.ENDED),
        (["2"], [], AttemptState.ENDED),
        (["4hello"], [], AttemptState.ENDED),
        ([b"2probe"], [], AttemptState.ENDED),
        (["nonsense"], [], AttemptState.ENDED),
        (["2probe", "4hello"], ["3probe"], AttemptState.ENDED),
        (["2probe", "1"], ["3probe"], AttemptState.ENDED),
        (["4hello", "2probe", "5"], [], AttemptState.ENDED),
    ],
)
def test_an_upgrade_goes_one_way(
    server: Server, messages: list[str | bytes], sent: list[str], state: AttemptState
) -> None:
    session, channel = server.open(), ListChannel()
    attempt = server.engine._attempt_for(session, {})

    attempt.begin(channel)
    for each in messages:
        attempt.receive(each)

    assert channel.sent == sent
    assert attempt.state is state
    assert channel.closed is (state is AttemptState.ENDED)
    assert session.upgraded is (state is AttemptState.OPEN)
    assert (session.upgrade_attempt is attempt) is (state is AttemptState.PROBING)
    assert server.heard == []
    assert server.ended == {}


def test_a_session_tries_one_websocket_at_a_time(server: Server) -> None:
    session = server.open()
    first, second = server.engine._attempt_for(session, {}), server.engine._attempt_for(session, {})
    channel = ListChannel()

    second.begin(channel)

    assert (first.state, second.state, channel.closed) == (AttemptState.PROBING, AttemptState.ENDED, True)
    first.lost()
    assert server.engine._attempt_for(session, {}).state is AttemptState.PROBING


def test_a_protocol_violation_ends_the_session_once(server: Server) -> None:
    session, channel = server.open(), ListChannel()
    attempt = WebSocketAttempt(session, AttemptState.NEW)
    attempt.begin(channel)

    for _ in range(3):
        attempt.receive("nonsense")
    attempt.receive("4behind")
    attempt.lost()

    assert channel.sent[1:] == ["1"]
    assert server.heard == []
    assert server.ended == {session.sid: "transport error"}


def test_held_packets_follow_the_answer(server: Server) -> None:
    session, channel = server.connect()
    session.outgoing.hold()
    session.send(message("held"))
    assert channel.sent == []

    session.outgoing.release(message("answer"), unless=lambda _pkt: False)
    session.send(message("later"))

    assert channel.sent == ["4answer", "4held", "4later"]


def test_withdrawn_packets_are_not_sent(server: Server) -> None:
    session, channel = server.connect()
    session.outgoing.hold()
    for text in ("keep", "drop", "keep too"):
        session.send(message(text))

    session.outgoing.release(message("refusal"), unless=lambda pkt: pkt.data == "drop")

    assert channel.sent == ["4refusal", "4keep", "4keep too"]


def test_an_upgrade_keeps_the_order_of_senders_on_other_threads(server: Server) -> None:
    session, channel = server.open(), ListChannel()

    def send_all(name: str) -> None:
        for number in range(2000):
            session.send(message(f"{name}{number:05}"))

    threads = [threading.Thread(target=send_all, args=(name,)) for name in "abcd"]
    for thread in threads:
        thread.start()

    session.attach(channel)
    for thread in threads:
        thread.join()

    assert len(channel.sent) == 8000
    for name in "abcd":
        own = [each for each in channel.sent if str(each)[1] == name]
        assert own == sorted(own, key=str)


def test_a_websocket_that_comes_after_the_end_is_closed(server: Server) -> None:
    session, channel = server.open(), ListChannel()
    session.close(abort=True)

    session.attach(channel)

    assert channel.closed
    assert session.outgoing.channel is None


def test_the_incoming_rate_has_a_burst_and_then_an_end(server: Server) -> None:
    session, _channel = server.connect()
    limits = server.engine.limits

    def receive(count: int) -> None:
        for _ in range(count):
            session.receive("6")

    receive(limits.packets_burst_max - 1)
    with pytest.raises(MalformedFrame):
        receive(limits.packets_burst_max)


ANSWERS_MAX = 3


def test_many_frames_at_once_count_as_that_many_packets(server: Server) -> None:
    session, limits = server.open(), server.engine.limits
    session.count_packet(limits.packets_burst_max - 1)

    with pytest.raises(MalformedFrame, match="packets came"):
        session.count_packet(limits.packets_burst_max // 2)


def test_a_replay_for_a_client_counts_towards_its_rate_too(server: Server) -> None:
    session, limits = server.open(), server.engine.limits
    session.charge(limits.packets_burst_max)

    with pytest.raises(MalformedFrame, match="packets came"):
        session.receive("6")


@pytest.mark.parametrize("text", ["", "ខ"], ids=["ASCII", "three bytes a character"])
def test_a_poll_returns_a_part_of_the_waiting_packets_and_the_next_one_more(
    server: Server, text: str
) -> None:
    """All of history in one answer, for each of many who read slowly, would be many copies of it."""
    session = server.open()
    missed = [f"{number:05}" * 200 + text * 300 for number in range(1_000)]
    for each in missed:
        session.send(message(each))

    answers = []
    while session.outgoing.has_waiting:
        answers.append([pkt.data for pkt in session.poll(None) or []])

    assert [each for answer in answers for each in answer] == missed
    sizes = [sum(len(each.encode()) for each in answer) for answer in answers]
    assert max(sizes) < POLL_BYTES_MAX + len(missed[0].encode())
    assert len(answers) < 2 + sum(sizes) / POLL_BYTES_MAX, "and no more polls than that takes"


def test_an_ended_session_stays_until_its_last_packet_is_polled(server: Server) -> None:
    session = server.open()
    session.send(message("long" * POLL_BYTES_MAX))
    session.send(message("short"))
    session.close(reason=server.engine.reason.SERVER_DISCONNECT)
    environ = {"REQUEST_METHOD": "GET", "QUERY_STRING": f"EIO=4&transport=polling&sid={session.sid}"}

    answers = []
    for _ in range(3):
        status: list[str] = []
        body = server.engine.handle_request(dict(environ), lambda said, _headers, to=status: to.append(said))
        answers.append((status[0], b"".join(body)[-10:]))

    assert [said for said, _body in answers] == ["200 OK", "200 OK", "400 Bad Request"]
    assert [body for _said, body in answers[:2]] == [b"nglonglong", b"4short\x1e1"]


@pytest.fixture
def answering() -> Server:
    """One whose handler answers every message but `quiet`."""
    server = Server(limits=IncomingLimits(unread_answers_max=ANSWERS_MAX))

    def answer(sid: str, data: str) -> None:
        if data != "quiet":
            server.engine.send(sid, f"answer to {data}")

    server.engine.on("message", answer)
    return server


def test_a_client_that_keeps_asking_and_reads_no_answer_breaks_the_protocol(answering: Server) -> None:
    """Its pongs come by POST: nothing else would ever end a client that only sends."""
    session = answering.open()
    for _ in range(ANSWERS_MAX):
        session.receive("4question")

    with pytest.raises(MalformedFrame):
        session.receive("4question")


def test_a_client_that_reads_the_answers_may_keep_asking(answering: Server) -> None:
    session = answering.open()

    for _ in range(10):
        for number in range(ANSWERS_MAX):
            session.receive(f"4{number}")
        taken = session.poll(None)
        assert taken is not None
        assert [pkt.data for pkt in taken] == [f"answer to {number}" for number in range(ANSWERS_MAX)]

    assert answering.ended == {}


def test_packets_that_wait_for_other_reasons_do_not_count_as_unread_answers(answering: Server) -> None:
    """A client that missed a lot says something before it has taken all of it."""
    session = answering.open()
    for number in range(100):
        session.send(message(f"missed {number}"))

    for _ in range(ANSWERS_MAX):
        session.receive("4question")
        session.receive("4quiet")

    assert session.outgoing.waiting_count == 100 + ANSWERS_MAX


def test_an_idle_session_takes_less_than_a_kilobyte(server: Server) -> None:
    """With its id, its place in the server, and its deadlines."""
    channel = ListChannel()
    server.connect()
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]

    for _ in range(2000):
        server.open().attach(channel)

    taken_bytes = (tracemalloc.get_traced_memory()[0] - before) / 2000
    tracemalloc.stop()
    assert taken_bytes < 1000, taken_bytes

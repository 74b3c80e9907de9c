"""Any sequence of what may happen to a broker, against a model that is a list.

The model knows what was published and what the bounds allow. Whatever comes in between, a client that comes back gets
each notification once and in order, or a gap that covers it; and it is told of no gap where nothing is missing.
"""

from __future__ import annotations

import contextlib
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule, run_state_machine_as_test

from app import clock
from app.core.errors import Conflict
from app.core.notification import Notification
from app.core.position import Position
from app.core.units import ServerUs
from app.core.wire import is_trial_topic
from app.server.broker.base import Filter, Published, Replay
from app.server.broker.sqlite.broker import TRIAL_OFFSETS_RESERVED
from tests.support.brokers import KINDS, BrokerHost, missed, one_by_one, publish, publish_all

COUNT_MAX = 4
AGE_MAX_US = 10_500_000
"""Half a second beside what whole seconds add up to, so that no step lies on the limit itself."""

FILTERS = [
    Filter("sse"),
    Filter("socketio", frozenset({"default"})),
    Filter("sse", frozenset({"default", "trial.1"})),
]


@dataclass(slots=True)
class Client:
    """One subscriber, connected or away."""

    wanted: Filter
    stands_at: Position
    connected: bool = True
    expected_live: list[Notification] = field(default_factory=list)
    got_live: list[Notification] = field(default_factory=list)


class BrokerMachine(RuleBasedStateMachine):
    """The rules. The broker reads the model's time, which stands still in a step, however long a busy machine takes."""

    kind = ""

    def __init__(self) -> None:
        super().__init__()
        self._now_us = clock.now_us()
        with contextlib.ExitStack() as kept:  # Ends what there is, where a broker's component is missing.
            patch = kept.enter_context(pytest.MonkeyPatch.context())
            patch.setattr(clock, "now_us", lambda: self._now_us)
            folder = kept.enter_context(tempfile.TemporaryDirectory())
            self._host = BrokerHost(self.kind, Path(folder))
            broker = self._host.start(count_max=COUNT_MAX, age_max_us=AGE_MAX_US)
            self._kept = kept.pop_all()
        self._published: list[Notification] = []
        self._trial_offsets: set[int] = set()
        self._keys: dict[str, tuple[str, Notification]] = {}
        self._clients: list[Client] = []
        self._trials_lost_through = 0
        self._trial_is_open = False
        self._last_offset = 0
        self._begin(broker)

    def teardown(self) -> None:
        self._host.broker.close()
        self._kept.close()

    @rule(topic=st.sampled_from(["default", "other"]), ttl_s=st.sampled_from([None, None, 1.5, 4.5]))
    def publish(self, topic: str, ttl_s: float | None) -> None:
        ttl_us = None if ttl_s is None else round(ttl_s * 1e6)
        self._note(publish(self._broker, topic=topic, ttl_us=ttl_us).notification)
        self._trial_is_open = False

    @rule(key=st.sampled_from(["k1", "k2"]), body=st.sampled_from(["a", "a", "b"]))
    def publish_with_key(self, key: str, body: str) -> None:
        used_for, first = self._keys.get(key, (body, None))
        if used_for != body:
            with pytest.raises(Conflict):
                publish(self._broker, body=body, idempotency_key=key)
            return
        answer = publish(self._broker, body=body, idempotency_key=key)
        assert answer.repeated == (first is not None)
        if first is not None:
            assert answer.notification == first
            return
        self._keys[key] = (body, answer.notification)
        self._note(answer.notification)
        self._trial_is_open = False

    @rule(keys=st.lists(st.sampled_from([None, None, "k1", "k3"]), min_size=1, max_size=COUNT_MAX))
    def publish_together(self, keys: list[str | None]) -> None:
        new = []
        outcomes = publish_all(self._broker, *({"body": "a", "idempotency_key": key} for key in keys))
        for key, outcome in zip(keys, outcomes, strict=True):
            used_for, first = self._keys.get(key or "", ("a", None))
            if used_for != "a":
                assert isinstance(outcome, Conflict)
                continue
            assert isinstance(outcome, Published)
            assert outcome.repeated == (first is not None)
            if first is not None:
                assert outcome.notification == first
                continue
            if key is not None:
                self._keys[key] = ("a", outcome.notification)
            new.append(outcome.notification)
        if new:
            self._note(*new)
            self._trial_is_open = False

    @rule(count=st.integers(1, 3))
    def publish_trial(self, count: int) -> None:
        for _ in range(count):
            notification = publish(self._broker, topic="trial.1", trial=True).notification
            self._trial_offsets.add(notification.offset)
            self._note(notification)
        self._trial_is_open = True

    @rule(wanted=st.sampled_from(FILTERS))
    def join(self, wanted: Filter) -> None:
        self._clients.append(Client(wanted, self._broker.position()))

    @precondition(lambda self: self._clients)
    @rule(data=st.data())
    def leave_or_come_back(self, data: st.DataObject) -> None:
        client = data.draw(st.sampled_from(self._clients))
        if client.connected:
            client.connected = False
        else:
            self._come_back(client)

    @rule(seconds=st.integers(1, 6))
    def pass_time(self, seconds: int) -> None:
        self._now_us = ServerUs(self._now_us + seconds * 1_000_000)

    @rule(kill=st.booleans())
    def restart(self, kill: bool) -> None:
        for client in self._clients:
            client.connected = False
        broker = self._host.kill_and_start() if kill else self._host.restart()
        if not self._host.is_durable:
            self._published, self._keys, self._trial_offsets = [], {}, set()
            self._last_offset = self._trials_lost_through = 0
        else:
            self._check_where_it_goes_on(broker.position().offset, after_kill=kill)
        self._trial_is_open = False
        self._begin(broker)

    def _check_where_it_goes_on(self, offset: int, *, after_kill: bool) -> None:
        if self._host.keeps_trials:
            assert offset == self._last_offset
        elif after_kill and self._trial_is_open:
            assert self._last_offset <= offset <= self._last_offset + TRIAL_OFFSETS_RESERVED
            self._trials_lost_through = self._last_offset = offset
        else:
            assert offset == self._last_offset
            self._trials_lost_through = max(self._trials_lost_through, *self._trial_offsets, 0)

    def _begin(self, broker: object) -> None:
        self._broker = self._host.broker
        assert broker is self._broker
        self._broker.listen(one_by_one(self._deliver))

    def _deliver(self, notification: Notification) -> dict[str, int]:
        for client in self._clients:
            if client.connected and client.wanted.matches(notification):
                client.got_live.append(notification)
        return {}

    def _note(self, *notifications: Notification) -> None:
        for notification in notifications:
            assert notification.offset == self._last_offset + 1
            self._last_offset = notification.offset
            self._published.append(notification)
            for client in self._clients:
                if client.connected:
                    client.stands_at = notification.position
                    if client.wanted.matches(notification):
                        client.expected_live.append(notification)
        for client in self._clients:
            if client.connected:
                assert client.got_live == client.expected_live

    def _come_back(self, client: Client) -> None:
        since, wanted = client.stands_at, client.wanted
        known = since.epoch == self._broker.position().epoch
        after = since.offset if known else 0
        lost_through = self._lost_through(wanted)
        reached = self._broker.reaches(since, wanted)
        replay = missed(self._broker, since, wanted)

        assert reached == (known and lost_through <= after) == (replay.gap is None)
        self._check_replay(replay, wanted, after, lost_through)
        client.connected = True
        client.stands_at = self._broker.position()

    def _check_replay(self, replay: Replay, wanted: Filter, after: int, lost_through: int) -> None:
        if replay.gap is not None:
            assert (replay.gap.first, replay.gap.last) == (after + 1, lost_through)
            assert all(each.offset > replay.gap.position.offset for each in replay.notifications)
        due = [
            each
            for each in self._published
            if each.offset > after
            and wanted.matches(each)
            and (each.expires_us is None or each.expires_us > self._now_us)
        ]
        got = list(replay.notifications)
        assert got == [each for each in due if each in got], "in order, once, and nothing else"
        covered_through = 0 if replay.gap is None else replay.gap.last
        assert all(each in got for each in due if each.offset > covered_through)
        assert all(each in got for each in due if self._is_kept(each)), "what is kept is told, gap or not"

    def _is_kept(self, notification: Notification) -> bool:
        if notification.offset in self._trial_offsets:
            return notification.offset > self._trials_lost_through and self._is_young(notification)
        operators = [each for each in self._published if each.offset not in self._trial_offsets]
        return notification in operators[-COUNT_MAX:] and self._is_young(notification)

    def _is_young(self, notification: Notification) -> bool:
        return notification.sent_us >= self._now_us - AGE_MAX_US

    def _lost_through(self, wanted: Filter) -> int:
        with_trials = wanted.topics is None or any(map(is_trial_topic, wanted.topics))
        lost = [
            each.offset
            for each in self._published
            if not self._is_kept(each) and (with_trials or each.offset not in self._trial_offsets)
        ]
        return max([0, self._trials_lost_through if with_trials else 0, *lost])


@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=[pytest.mark.slow] if kind != "memory" else []) for kind in KINDS]
)
def test_no_sequence_of_publishing_leaving_waiting_and_dying_loses_or_doubles_in_silence(kind: str) -> None:
    machine = type("Machine", (BrokerMachine,), {"kind": kind})

    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=40,
            stateful_step_count=30,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )

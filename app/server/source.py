"""The source of a trial: paces, stamps and publishes notifications, and records its own lateness.

The schedule is fixed before the first notification (core/pacing.py). Delays count from it, so that a stalling source
cannot hide its stall. One trial runs at a time.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from app import clock
from app.core.errors import Conflict, Malformed, Unknown
from app.core.notification import Targets, encode_json, utf8_bytes
from app.core.pacing import due_us, padded_body
from app.core.position import Position
from app.core.units import ServerUs
from app.core.wire import TRIAL_TOPIC_PREFIX
from app.i18n import refusal
from app.server.broker.base import Broker, Draft
from app.server.fanout.fanout import Fanout
from app.server.fanout.instrument import Instrument
from app.server.wsgi.timer import Timer

TRIALS_KEPT_MAX = 64
"""A runner reads a trial's record right after it; older trials are dropped."""

TITLE = "Siar trial"


@dataclass(frozen=True, slots=True)
class TrialOrder:
    """The runner's order for one trial."""

    run: str
    trial: int
    block: int
    transport: str
    notifications: int
    warmup_notifications: int
    rate_hz: float
    payload_bytes: int
    start_after_ms: int
    drain_ms: int
    instrument: bool = False
    """True to record when the kernel took each notification's bytes."""

    @property
    def topic(self) -> str:
        """Return the trial's topic, which operators cannot use."""
        return f"{TRIAL_TOPIC_PREFIX}{self.trial}"


@dataclass(slots=True)
class Trial:
    """State and record of a trial."""

    order: TrialOrder
    first_due_us: int
    last_due_us: int
    ends_us: int
    """The last due time plus the drain time."""
    published: list[tuple[int, int, int, int]] = field(default_factory=list)
    """(seq, offset, due_us, sent_us) of each notification."""
    state: str = "running"
    """`running`, then `done`; or `closed` by the runner; `voided` by a forced publish; `failed`."""
    disturbances: int = 0
    """Number of HTTP requests during the trial."""
    requests_before: int = 0
    """The server's request counter at the order, replaced by its value at the first notification."""
    failure: str | None = None
    paths: set[str] = field(default_factory=set)
    """Ways of writing to the transport's connections, at the trial's start and end."""
    codings: set[str] = field(default_factory=set)
    """Encodings of the connections subscribed to the trial's topic, at the trial's start and end."""
    instrument: Instrument | None = None
    """Recording of the newest trial; older ones are dropped because they are large."""


class Trials:
    """The trials of this server, at most one at a time."""

    def __init__(self, broker: Broker, fanout: Fanout, *, requests_answered: Callable[[], int]) -> None:
        self._broker = broker
        self._fanout = fanout
        self._requests_answered = requests_answered
        self._trials: OrderedDict[tuple[str, int], Trial] = OrderedDict()
        self._active: Trial | None = None
        self._lock = threading.Lock()
        self.runs: OrderedDict[str, None] = OrderedDict()
        """Runs named by trials so far, oldest first: devices may post deliveries for them."""

    def start(self, order: TrialOrder) -> Trial:
        """Begin a trial. Raises `Conflict` if another one is running, `Malformed` for an impossible order."""
        _check_payload(order)
        with self._lock:
            now_us = clock.now_us()
            if self._active is not None and self._is_running(self._active, now_us):
                raise Conflict(
                    refusal("trial_running", trial=self._active.order.trial, run=self._active.order.run)
                )
            if (order.run, order.trial) in self._trials:
                raise Conflict(refusal("trial_done_already", trial=order.trial, run=order.run))
            first_us = now_us + order.start_after_ms * 1000
            count = order.warmup_notifications + order.notifications
            last_us = due_us(first_us, order.rate_hz, count - 1)
            trial = Trial(order, first_us, last_us, last_us + order.drain_ms * 1000)
            self._end_instrument(self._active, forget=True)
            if order.instrument:
                trial.instrument = Instrument(self._fanout, order.transport, count)
            self._remember(trial)
            self._active = trial
            trial.requests_before = self._requests_answered()
        self._note_paths(trial)
        threading.Thread(target=self._run, args=(trial,), name="siar-source", daemon=True).start()
        return trial

    def get(self, run: str, trial: int) -> Trial:
        """Return the trial's record so far. Raises `Unknown`."""
        found = self._trials.get((run, trial))
        if found is None:
            raise Unknown(refusal("trial_unknown", trial=trial, run=run[:64]))
        return found

    def close(self, run: str, trial: int) -> Trial:
        """Close a trial that the runner has finished or abandoned; operators may publish again. Raises `Unknown`."""
        found = self.get(run, trial)
        with self._lock:
            if found.state in ("running", "done"):
                found.state = "closed"
            self._end_instrument(found)
        return found

    def abandon(self, run: str) -> None:
        """Close the current trial if it belongs to `run`, whose runner is gone, so that the next one need not wait."""
        trial = self._active
        if trial is not None and trial.order.run == run:
            self.close(run, trial.order.trial)

    def instrument(self, run: str, trial: int) -> dict[str, Any]:
        """Return the recording of a trial that is over. Raises `Unknown`, and `Conflict` while it is running."""
        found = self.get(run, trial)
        if found.instrument is None:
            raise Unknown(refusal("trial_not_recorded", trial=trial))
        if found.state == "running":
            raise Conflict(refusal("trial_running", trial=trial, run=run))
        return found.instrument.answer(found.published)

    def active(self) -> Trial | None:
        """Return the trial that publishing would disturb, or `None`."""
        trial = self._active
        if trial is not None and self._is_running(trial, clock.now_us()):
            return trial
        self._end_instrument(trial)  # A runner that died has not closed the trial.
        return None

    def void(self, trial: Trial) -> None:
        """Mark a trial as unusable, because an operator insisted on publishing."""
        trial.state = "voided"

    @staticmethod
    def _end_instrument(trial: Trial | None, *, forget: bool = False) -> None:
        if trial is not None and trial.instrument is not None:
            trial.instrument.end()
            if forget:
                trial.instrument = None

    @staticmethod
    def _is_running(trial: Trial, now_us: ServerUs) -> bool:
        """Return whether a trial is running: a late source exceeds its end, and sent notifications need the drain time."""
        return trial.state == "running" or (trial.state == "done" and now_us < trial.ends_us)

    def _remember(self, trial: Trial) -> None:
        self._trials[trial.order.run, trial.order.trial] = trial
        self.runs[trial.order.run] = None
        self.runs.move_to_end(trial.order.run)
        for kept in (self._trials, self.runs):
            if len(kept) > TRIALS_KEPT_MAX:
                kept.popitem(last=False)

    def _run(self, trial: Trial) -> None:
        try:
            with Timer() as timer:
                self._publish_all(trial, timer)
        except Exception as error:
            trial.failure = f"{type(error).__name__}: {error}"
            trial.state = "failed"
            raise
        finally:
            self._note_paths(trial)
            trial.disturbances = self._requests_answered() - trial.requests_before
            if trial.state == "running":
                trial.state = "done"

    def _note_paths(self, trial: Trial) -> None:
        trial.paths.update(
            path for transport, path in self._fanout.paths() if transport == trial.order.transport
        )
        trial.codings.update(self._fanout.codings(trial.order.transport, trial.order.topic))

    def _publish_all(self, trial: Trial, timer: Timer) -> None:
        order = trial.order
        for seq in range(order.warmup_notifications + order.notifications):
            due = ServerUs(due_us(trial.first_due_us, order.rate_hz, seq))
            draft = self._draft(order, seq, due)
            timer.wait_until(due)
            if trial.state not in ("running", "done"):
                return
            if seq == 0:  # Phones poll until they learn that the trial runs; that is no disturbance yet.
                trial.requests_before = self._requests_answered()
            sent = self._broker.publish(draft).notification
            trial.published.append((seq, sent.offset, due, sent.sent_us))

    def _draft(self, order: TrialOrder, seq: int, due: ServerUs) -> Draft:
        """Build a notification before it is due. Only this source publishes during a trial, so the next offset is known."""
        position = self._broker.position()
        following = Position(position.epoch, position.offset + 1)
        data = _data(order, seq)
        wire = _wire(following, order, due, data)
        body = padded_body(wire, payload_bytes=order.payload_bytes)
        return Draft(
            title=TITLE,
            body=body,
            topic=order.topic,
            due_us=due,
            data=data,
            targets=Targets(transport=order.transport),
            trial=True,
        )


def _data(order: TrialOrder, seq: int) -> dict[str, Any]:
    trial = {
        "run": order.run,
        "block": order.block,
        "trial": order.trial,
        "seq": seq,
        "warmup": seq < order.warmup_notifications,
    }
    return {"trial": trial}


def _wire(position: Position, order: TrialOrder, due: int, data: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": str(position),
        "offset": position.offset,
        "topic": order.topic,
        "due_us": due,
        "sent_us": due,  # As many digits as the real value.
        "title": TITLE,
        "body": "",
        "data": data,
    }


def _check_payload(order: TrialOrder) -> None:
    """Raise `Malformed` if the fixed part alone is longer than the payload."""
    longest = _wire(Position("e" * 8, 10**9), order, clock.now_us(), _data(order, 10**6))
    size = utf8_bytes(encode_json(longest))
    if size > order.payload_bytes:
        raise Malformed(refusal("payload_too_small", count=size))

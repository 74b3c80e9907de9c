"""A simulated phone, labelled as such: it joins the room and follows its assignments as the page does.

It uses the public endpoints only, with the decoders of the built-in clients, and synchronises its clock by the same
procedure as the page. Its clock can be shifted, its connection cut (through a proxy), and it can freeze.
"""

from __future__ import annotations

import contextlib
import queue
import secrets
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from app import clock
from app.core.client import ClientProtocol, Subscription
from app.core.clocksync.sync import ClockSync, Probe
from app.core.errors import MalformedFrame
from app.core.position import parse_position
from app.core.transports import PROTOCOLS
from app.lab.run.api import ask
from app.lab.run.client_clock import ClockChannel, ProbeStamps
from app.lab.run.links import Chunk, Link, Loop

MODEL = "simulated"

TICK_US = 50_000
RECONNECT_US = 200_000
LATE_US = 5_000_000
SAMPLES_PER_BATCH = 100
PROBES_PER_BATCH_MAX = 400


@dataclass(slots=True)
class OpenTrial:
    """The current trial of the phone."""

    index: int
    run: str
    transport: str
    expected_count: int
    ends_us: int | None = None
    arrivals: list[dict[str, Any]] = field(default_factory=list)
    seen: set[int] = field(default_factory=set)
    disconnects: int = 0
    frozen_ms: float = 0.0
    breaks_before: int = 0
    is_closing: bool = False


class SimulatedPhone(threading.Thread):
    """One phone in its own thread. Call `end()`, or use `phones()` below."""

    def __init__(
        self,
        url: str,
        clock_port: int | None,
        *,
        name: str = "",
        stream_url: str | None = None,
        shift_us: int = 0,
    ) -> None:
        super().__init__(daemon=True, name=f"simulated phone {name}")
        self.url, self.stream_url, self.shift_us = url, stream_url or url, shift_us
        self.phone_name = name
        self.device = ""
        self.assignment: dict[str, Any] = {}
        """The last assignment."""
        self.trials_done: list[int] = []
        self.on_running: Callable[[SimulatedPhone, int], None] = lambda _phone, _trial: None
        """Called when a trial in which it takes part runs, with its index."""
        self._token = ""
        self._loop = Loop()
        self._sync = ClockSync(quantum_us=1.0, wander_us=2.0)
        self._timebase = ""
        self._probes: list[tuple[int, float, float, float, float]] = []
        """Probes not posted yet: number of clock restarts (always 0), and the four stamps."""
        self._clock_port = clock_port
        self._clock: ClockChannel | None = None
        self._trial: OpenTrial | None = None
        self._link: Link | None = None
        self._protocol: ClientProtocol | None = None
        self._last_id: str | None = None
        self._replay_until = -1
        self._report: dict[str, Any] = {}
        self._calls: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._ended = threading.Event()
        self._is_leaving = False
        self._asked_last_us = 0
        self._ask_at_us = 0

    # These methods may be called from any thread.

    def end(self) -> None:
        """Stop at once, without notifying the server, unless it is leaving."""
        if not self._is_leaving:
            self._ended.set()
        self.join(10)
        self._ended.set()

    def leave(self) -> None:
        """Leave the room and stop."""
        self._is_leaving = True
        self._calls.put(self._leave)

    def sleep(self, seconds: float) -> None:
        """Freeze for a time: nothing is read, requested or answered. The trial's lifecycle report includes it."""
        self._calls.put(lambda: self._freeze(seconds))

    # These methods run in its own thread.

    def _leave(self) -> None:
        self._ask("DELETE", "/api/participants/me")
        self._ended.set()

    def run(self) -> None:
        """Join, and follow the assignments until the end."""
        _status, identity = ask("POST", f"{self.url}/api/devices", body={})
        self.device, self._token = identity["device"], identity["token"]
        joined = {"name": self.phone_name, "model": MODEL}
        while self._ask("POST", "/api/participants", joined)[0] != 201 and not self._ended.is_set():
            time.sleep(0.2)
        port = self._clock_port or urlsplit(self.url).port or 80
        channel = "http" if self._clock_port is None else "websocket"
        host = urlsplit(self.url).hostname or ""
        self._clock = ClockChannel(
            self._loop, host, port, channel=channel, on_ready=lambda: self._burst(32, self._get_ready)
        )
        self._tick()
        while not self._ended.is_set():
            self._loop.turn()
        self._close_stream()
        self._clock.close()

    def _tick(self) -> None:
        with contextlib.suppress(queue.Empty):
            while True:
                self._calls.get_nowait()()
        now_us = clock.monotonic_us()
        trial = self._trial
        is_over = trial is not None and trial.ends_us is not None and self._server_us() > trial.ends_us
        if trial is not None and is_over and not trial.is_closing:
            self._close_trial(trial)
        if self._ask_at_us and now_us >= self._ask_at_us:
            self._ask_at_us = 0
            self._follow()
        self._loop.call_later(TICK_US, self._tick)

    def _get_ready(self) -> None:
        checks = {"sse": "ok", "socketio": "ok", "clock": "ok"}
        self._report = {"ready": True, "visible": True, "checks": checks}
        self._follow()

    def _follow(self) -> None:
        """Report the phone's state, and follow the assignment."""
        report, self._report = self._report, {}
        status, found = self._ask("POST", "/api/assignment", report)
        if status != 200:
            self._report = report
            self._ask_in(500)
            return
        self.assignment = found
        trial_info = found["trial"]
        trial = self._trial
        if trial_info and trial_info["take_part"] and trial_info["index"] not in self.trials_done:
            if trial is None or trial.index != trial_info["index"]:
                self._begin(found["run"], trial_info)
            elif trial_info["state"] != "connect" and trial.ends_us is None:
                trial.ends_us = trial_info["ends_us"]
                self.on_running(self, trial.index)
                return  # Do not poll until the trial is over.
        elif trial is not None and not trial.is_closing:
            self._close_stream()  # The trial was cancelled.
            self._trial = None
        self._ask_in(found["poll_after_ms"])

    def _begin(self, run: str, trial_info: dict[str, Any]) -> None:
        self._close_stream()
        self._trial = OpenTrial(
            trial_info["index"], run, trial_info["transport"], trial_info["expected_count"]
        )
        self._trial.breaks_before = self._sync.break_count
        self._last_id = None
        self._burst(8, lambda: None)
        self._open_stream()

    def _open_stream(self) -> None:
        trial = self._trial
        if trial is None or trial.is_closing:
            return
        parts = urlsplit(self.stream_url)
        self._protocol = protocol = PROTOCOLS[trial.transport](
            Subscription(self.stream_url, (), self._last_id)
        )
        try:
            self._link = link = Link(
                parts.hostname or "",
                parts.port or 80,
                on_open=lambda: self._loop.send(link, protocol.opening()),
                on_chunk=self._on_chunk,
            )
        except OSError:
            self._loop.call_later(RECONNECT_US, self._open_stream)
            return
        self._loop.add(link)

    def _close_stream(self) -> None:
        if self._link is not None:
            self._loop.remove(self._link)
        self._link = self._protocol = None

    def _on_chunk(self, chunk: Chunk) -> None:
        trial, protocol, link = self._trial, self._protocol, self._link
        if trial is None or protocol is None or link is None:
            return
        was_ready = protocol.position is not None
        try:
            received = protocol.receive_data(chunk.data) if chunk.data else None
        except MalformedFrame:
            received = None
        if received is None or protocol.ended:
            trial.disconnects += was_ready
            self._close_stream()
            self._loop.call_later(RECONNECT_US, self._open_stream)
            return
        if protocol.outgoing:
            self._loop.send(link, bytes(protocol.outgoing))
            protocol.outgoing.clear()
        if protocol.position is not None and not was_ready:
            self._replay_until = parse_position(protocol.position).offset if self._last_id else -1
            self._last_id = self._last_id or protocol.position
            self._report |= {"trial_ready": trial.index, "connected": True}
            self._ask_in(1)
        for notification in received:
            self._record(trial, notification, chunk.read_us)

    def _record(self, trial: OpenTrial, notification: dict[str, Any], read_us: int) -> None:
        self._last_id = notification["id"]
        mark = notification["data"].get("trial") or {}
        if (mark.get("run"), mark.get("trial")) != (trial.run, trial.index):
            return
        is_new = mark["seq"] not in trial.seen
        trial.seen.add(mark["seq"])
        trial.arrivals.append(
            {
                **{name: notification[name] for name in ("id", "due_us", "sent_us")},
                "transport": trial.transport,
                "received_client_us": read_us + self.shift_us,
                "replayed": notification["offset"] <= self._replay_until,
                "warmup": mark["warmup"],
                "is_new": is_new,
            }
        )
        if len(trial.seen) == trial.expected_count and trial.ends_us is not None and not trial.is_closing:
            self._close_trial(trial)

    def _close_trial(self, trial: OpenTrial) -> None:
        trial.is_closing = True
        self._close_stream()
        self._burst(8, lambda: self._post(trial))

    def _post(self, trial: OpenTrial) -> None:
        samples = [self._sample(each) for each in trial.arrivals]
        batches = [
            samples[at : at + SAMPLES_PER_BATCH] for at in range(0, len(samples), SAMPLES_PER_BATCH)
        ] or [[]]
        for number, batch in enumerate(batches):
            is_last = number == len(batches) - 1
            body = {
                "batch_id": secrets.token_hex(8),
                "device": self.device,
                "clock_channel": "http" if self._clock_port is None else "websocket",
                "timebase": self._timebase,
                "run": trial.run,
                "trial": trial.index,
                "samples": batch,
                **({"conduct": self._conduct(trial), "probes": self._taken_probes()} if is_last else {}),
            }
            status, answer = ask("POST", f"{self.url}/api/deliveries", token=self._token, body=body)
            assert status == 200, answer
        self.trials_done.append(trial.index)
        self._trial = None
        self._report |= {"trial_done": trial.index, "connected": False}
        self._follow()

    def _taken_probes(self) -> list[tuple[int, float, float, float, float]]:
        taken, self._probes = self._probes[-PROBES_PER_BATCH_MAX:], []
        return taken

    def _conduct(self, trial: OpenTrial) -> dict[str, Any]:
        return {
            "disconnects": trial.disconnects,
            "hidden_ms": 0,
            "frozen_ms": trial.frozen_ms,
            "clock_steps": self._sync.break_count - trial.breaks_before,
            "suspended_ms": 0,
            "expected_count": trial.expected_count,
            "received_count": len(trial.seen),
            "events": [],
            # Its wall clock is shifted together with its monotonic one.
            "wall_ahead_us": clock.now_us() - clock.monotonic_us(),
            "device": {
                "model": MODEL,
                "browser": "none",
                "secure_context": False,
                "wake_lock": False,
                "timer_step_us": 1,
            },
        }

    def _sample(self, arrival: dict[str, Any]) -> dict[str, Any]:
        reading = self._sync.read(arrival["received_client_us"])
        sent = {
            name: arrival[name] for name in ("id", "transport", "due_us", "sent_us", "received_client_us")
        }
        delay_us = 0.0
        if reading.offset_us is not None:
            delay_us = arrival["received_client_us"] + reading.offset_us - arrival["due_us"]
        outcome = "late" if delay_us > LATE_US else "on_time"
        if arrival["replayed"]:
            outcome = "replayed"
        if not arrival["is_new"]:
            outcome = "duplicate"
        state = "warmup" if arrival["warmup"] else "replay" if arrival["replayed"] else reading.state
        return {
            **sent,
            "clock_offset_us": reading.offset_us,
            "clock_bound_us": reading.bound_us,
            "state": state,
            "outcome": outcome,
            "visible": True,
        }

    def _burst(self, count: int, then: Callable[[], None]) -> None:
        def take(probes: list[ProbeStamps]) -> None:
            for each in probes:
                self._timebase = each.timebase
                shifted = Probe(
                    each.t1_us + self.shift_us, each.t2_us, each.t3_us, each.t4_us + self.shift_us
                )
                self._sync.add(shifted, timebase=each.timebase)
                self._probes.append((0, shifted.t1_us, shifted.t2_us, shifted.t3_us, shifted.t4_us))
            then()

        assert self._clock is not None
        if self._clock.is_busy:
            self._loop.call_later(2_000, lambda: self._burst(count, then))
        else:
            self._clock.burst(count, take)

    def _freeze(self, seconds: float) -> None:
        time.sleep(seconds)
        if self._trial is not None:
            self._trial.frozen_ms += seconds * 1000

    def _server_us(self) -> float:
        now_us = clock.monotonic_us() + self.shift_us
        model = self._sync.model_at(now_us)
        assert model is not None
        return model.server_us(now_us)

    def _ask_in(self, milliseconds: int) -> None:
        self._ask_at_us = clock.monotonic_us() + milliseconds * 1000

    def _ask(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        try:
            return ask(method, self.url + path, token=f"{self.device}.{self._token}", body=body)
        except OSError:
            return 0, None


@contextmanager
def phones(server: Any, names: list[str], **options: Any) -> Iterator[list[SimulatedPhone]]:
    """Run phones that join a server's room, until the block ends; `options` apply to all of them."""
    found = [SimulatedPhone(server.url, server.clock_port, name=name, **options) for name in names]
    for each in found:
        each.start()
    try:
        yield found
    finally:
        for each in found:
            each.leave()
        for each in found:
            each.end()

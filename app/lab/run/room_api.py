"""Requests of the runner on the server's room of phones, and the server's time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from app import clock
from app.core.clocksync.sync import Probe
from app.core.errors import Unfit
from app.i18n import ending
from app.lab.run.api import NULL, Operator, Server, ask
from app.store.store import StampedProbe

Room = Mapping[str, Any]
"""Response of `GET /api/room`."""

CLOCK_NAME = "runner"


class RoomOperator(Operator):
    """The operator's requests in an experiment with phones; each names its run.

    The server refuses them when the room is open for another run, and closes a room whose runner sends no requests any more.
    """

    def __init__(self, server: Server, run: str) -> None:
        super().__init__(server)
        self._run = run

    def room(self) -> Room:
        """Return the room's state. The request also shows the server that the runner is alive."""
        answer: Room = self._ask("GET", self._ours("/api/room"))
        return answer

    def open_room(
        self, *, wanted_count: int, length_s: float, plan: Mapping[str, Any], practice: bool = False
    ) -> None:
        """Open the room for phones. Raises `Conflict` while another experiment is open."""
        body = {"run": self._run, "wanted_count": wanted_count, "length_s": length_s, "plan": plan}
        self._ask("POST", "/api/room", {**body, "practice": practice}, expected=201)

    def put_trial(self, trial: Mapping[str, Any] | None) -> None:
        """Set the trial that phones should run; `None` between trials."""
        self._ask("PUT", self._ours("/api/room/trial"), NULL if trial is None else trial)

    def put_progress(self, progress: Mapping[str, Any]) -> None:
        """Publish the run's progress to everybody in the room."""
        self._ask("PUT", self._ours("/api/room/progress"), progress)

    def finish_room(self, result: Mapping[str, Any]) -> None:
        """Publish the result to everybody in the room."""
        self._ask("POST", self._ours("/api/room/finish"), result)

    def close_room(self) -> None:
        """Close the room, which releases the phones."""
        self._ask("DELETE", self._ours("/api/room"))

    def _ours(self, path: str) -> str:
        return f"{path}?run={quote(self._run)}"


class ServerTime:
    """Estimate of the server's time to a few milliseconds, for waits and for times of CPU windows.

    Delays do not depend on it, because each phone measures its own clock.
    """

    def __init__(self, url: str) -> None:
        self._url = f"{url}/api/clock"
        self._offset_us: float | None = None

    def refresh(self, count: int = 5) -> tuple[StampedProbe, ...]:
        """Send `count` probes and use the one with the shortest round trip; return all. Raises `Unfit` without a response."""
        probes = tuple(self._probe() for _ in range(count))
        best = min(probes, key=lambda each: each.probe.round_trip_us).probe
        self._offset_us = ((best.t2_us - best.t1_us) + (best.t3_us - best.t4_us)) / 2
        return probes

    def now_us(self) -> int:
        """Return the current time in the server's time base."""
        assert self._offset_us is not None, "the time was read before it was asked for"
        return round(clock.monotonic_us() + self._offset_us)

    def _probe(self) -> StampedProbe:
        asked_us = clock.monotonic_us()
        try:
            status, answer = ask("GET", self._url)
        except OSError as error:
            raise Unfit(ending("server_time_gone", reason=error)) from error
        answered_us = clock.monotonic_us()
        if status != 200 or not isinstance(answer, dict):
            raise Unfit(ending("server_time_missing", status=status))
        stamps = Probe(asked_us, answer["received_us"], answer["sent_us"], answered_us)
        return StampedProbe(CLOCK_NAME, str(answer["timebase"]), stamps)

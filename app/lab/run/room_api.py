"""What the runner asks of a server about its room, beside what it asks about trials."""

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
"""The answer of `GET /api/room`."""

CLOCK_NAME = "runner"


class RoomOperator(Operator):
    """The operator's requests of an experiment with phones, each in the name of its run.

    The server refuses them once the room is open for another one, and closes a room whose runner has fallen silent.
    """

    def __init__(self, server: Server, run: str) -> None:
        super().__init__(server)
        self._run = run

    def room(self) -> Room:
        """Everything about the room; by asking in its run's name a runner shows that it lives."""
        answer: Room = self._ask("GET", self._ours("/api/room"))
        return answer

    def open_room(
        self, *, wanted_count: int, length_s: float, plan: Mapping[str, Any], practice: bool = False
    ) -> None:
        """Let phones gather. Raises `Conflict` while an experiment is open."""
        body = {"run": self._run, "wanted_count": wanted_count, "length_s": length_s, "plan": plan}
        self._ask("POST", "/api/room", {**body, "practice": practice}, expected=201)

    def put_trial(self, trial: Mapping[str, Any] | None) -> None:
        """Tell phones what to do next; `None` between trials."""
        self._ask("PUT", self._ours("/api/room/trial"), NULL if trial is None else trial)

    def put_progress(self, progress: Mapping[str, Any]) -> None:
        """Tell everybody how far it is."""
        self._ask("PUT", self._ours("/api/room/progress"), progress)

    def finish_room(self, result: Mapping[str, Any]) -> None:
        """Tell everybody what came out."""
        self._ask("POST", self._ours("/api/room/finish"), result)

    def close_room(self) -> None:
        """Let the phones go."""
        self._ask("DELETE", self._ours("/api/room"))

    def _ours(self, path: str) -> str:
        return f"{path}?run={quote(self._run)}"


class ServerTime:
    """The server's time as the runner knows it: good to a few milliseconds, to read edges and to wait for ends.

    Delays do not depend on it: each phone has a clock procedure of its own.
    """

    def __init__(self, url: str) -> None:
        self._url = f"{url}/api/clock"
        self._offset_us: float | None = None

    def refresh(self, count: int = 5) -> tuple[StampedProbe, ...]:
        """Ask, and believe the quickest answer. Raises `Unfit` when there is none."""
        probes = tuple(self._probe() for _ in range(count))
        best = min(probes, key=lambda each: each.probe.round_trip_us).probe
        self._offset_us = ((best.t2_us - best.t1_us) + (best.t3_us - best.t4_us)) / 2
        return probes

    def now_us(self) -> int:
        """Now in the server's time base."""
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

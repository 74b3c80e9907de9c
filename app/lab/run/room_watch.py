"""Waits of a run with phones: for phones' answers, for pauses by the operator, and for phones to return."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NoReturn

from app import clock
from app.core.errors import Unfit
from app.lab.run.api import Server, find_server
from app.lab.run.client_link import Stopped
from app.lab.run.participant_pool import ParticipantPool
from app.lab.run.room_api import Room, RoomOperator

LOOK_S = 0.25
"""Period of polling the room during waits; it is never polled during a trial."""

NOBODY_S_MAX = 120.0
"""Time limit of a wait for any phone, when all have gone."""


@dataclass(slots=True)
class RoomWatch:
    """Waits of a run with phones. Each raises `Stopped` when the run should end, and `Unfit` when it cannot continue."""

    run: str
    server: Server
    operator: RoomOperator
    pool: ParticipantPool
    note: Callable[[str], None]
    """Shows a sentence to people."""
    stopping: Callable[[], bool]

    def refresh(self) -> Room:
        """Return the room's current state, and update the participants' presence from it."""
        room = self.operator.room()
        if room["run"] != self.run or room["phase"] == "closed":
            self.end()
        self.notes(self.pool.update(room))
        return room

    def wait_for(
        self, word: str, trial: int, clients: Sequence[int], is_over: Callable[[], bool]
    ) -> tuple[int, ...]:
        """Wait until all `clients` have set `word` for a trial, or `is_over`; return those that have not."""
        while True:
            room = self.refresh()
            done = {each["device"] for each in room["participants"] if each[word] == trial}
            missing = [client for client in clients if self.pool.device(client) not in done]
            is_hopeless = all(self.pool.is_out(room, client) for client in missing)
            if is_hopeless or is_over():
                return tuple(missing)
            self.pause(LOOK_S)

    def wait_while_paused(self) -> None:
        """Wait while the operator has paused the run."""
        while self.refresh()["phase"] == "paused":
            self.pause(LOOK_S)

    def wait_for_anybody(self) -> None:
        """Wait until any phone is present. Raises `Unfit` after `NOBODY_S_MAX`."""
        until_us = clock.monotonic_us() + round(NOBODY_S_MAX * 1e6)
        while not self.pool.present:
            if clock.monotonic_us() > until_us:
                raise Unfit("Every phone has gone: nobody is left to measure with.")
            self.pause(LOOK_S)
            self.refresh()

    def pause(self, seconds: float) -> None:
        """Wait. Raises `Stopped` when the run should end meanwhile."""
        until_us = clock.monotonic_us() + round(seconds * 1e6)
        while True:
            if self.stopping():
                raise Stopped
            left_us = until_us - clock.monotonic_us()
            if left_us <= 0:
                return
            time.sleep(min(left_us / 1e6, LOOK_S))

    def notes(self, sentences: Iterable[str]) -> None:
        """Show sentences to people."""
        for sentence in sentences:
            self.note(sentence)

    def end(self) -> NoReturn:
        """End the run, because the room was closed. Raises `Unfit` if the server was restarted, else `Stopped`."""
        now = find_server(self.server.url, admin_token=self.server.admin_token)
        if now.version["timebase"] != self.server.version["timebase"]:
            raise Unfit(
                "The server was started again in the middle of the run: its room is gone. Start the run again."
            )
        raise Stopped

"""The runner's eye on the room: what phones say, who comes and goes, and whether the run is to go on at all."""

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
"""How often it looks while it waits; never while a trial is measured."""

NOBODY_S_MAX = 120.0
"""How long a run waits when every phone has gone."""


@dataclass(slots=True)
class RoomWatch:
    """Every wait of a run with phones. Each raises `Stopped` when the run is to end, `Unfit` when it cannot go on."""

    run: str
    server: Server
    operator: RoomOperator
    party: ParticipantPool
    note: Callable[[str], None]
    """Takes a sentence for people."""
    stopping: Callable[[], bool]

    def look(self) -> Room:
        """The room as it is, with who left and who is back taken in."""
        room = self.operator.room()
        if room["run"] != self.run or room["phase"] == "closed":
            self.end()
        self.notes(self.party.look(room))
        return room

    def wait_for(
        self, word: str, trial: int, clients: Sequence[int], is_over: Callable[[], bool]
    ) -> tuple[int, ...]:
        """Wait until all of `clients` have said `word` of a trial, or it is over; those that have not by then."""
        while True:
            room = self.look()
            said = {each["device"] for each in room["participants"] if each[word] == trial}
            waited_for = [client for client in clients if self.party.device(client) not in said]
            is_hopeless = all(self.party.is_out(room, client) for client in waited_for)
            if is_hopeless or is_over():
                return tuple(waited_for)
            self.pause(LOOK_S)

    def wait_while_paused(self) -> None:
        """Wait until the operator lets it go on."""
        while self.look()["phase"] == "paused":
            self.pause(LOOK_S)

    def wait_for_anybody(self) -> None:
        """Wait until a phone is there, as long as somebody may come back."""
        until_us = clock.monotonic_us() + round(NOBODY_S_MAX * 1e6)
        while not self.party.present:
            if clock.monotonic_us() > until_us:
                raise Unfit("Every phone has gone: nobody is left to measure with.")
            self.pause(LOOK_S)
            self.look()

    def pause(self, seconds: float) -> None:
        """Let time pass."""
        until_us = clock.monotonic_us() + round(seconds * 1e6)
        while True:
            if self.stopping():
                raise Stopped
            left_us = until_us - clock.monotonic_us()
            if left_us <= 0:
                return
            time.sleep(min(left_us / 1e6, LOOK_S))

    def notes(self, sentences: Iterable[str]) -> None:
        """Hand on what people should know."""
        for sentence in sentences:
            self.note(sentence)

    def end(self) -> NoReturn:
        """The room is not ours any more: the operator closed it, or the server is another one."""
        now = find_server(self.server.url, admin_token=self.server.admin_token)
        if now.version["timebase"] != self.server.version["timebase"]:
            raise Unfit(
                "The server was started again in the middle of the run: its room is gone. Start the run again."
            )
        raise Stopped

"""Who takes part in a run with phones: who is there, who has gone, and whose turn it is."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from app.core.plan.rotation import Rotation
from app.core.plan.scenario import BlockSpec
from app.i18n import remark
from app.lab.analysis.words import pseudonym
from app.lab.run.room_api import Room

MISSED_MAX = 2
"""Trials in a row that a phone may miss before the others go on without it."""

HEARD_US_MAX = 3_000_000
"""One that has gone counts as back when it was heard of this lately: phones ask once a second between trials."""


@dataclass(frozen=True, slots=True)
class Phone:
    """A participant of the run."""

    client: int
    """Its seat, minus 1: what rows of the store call it."""
    device: str
    name: str
    """For people who are here; never stored with what was measured."""
    model: str | None

    @property
    def pseudonym(self) -> str:
        """What it is called in everything that is kept."""
        return pseudonym(self.client)


def phones_of(room: Room) -> list[Phone]:
    """Those that were ready when the countdown began, by seat."""
    return [
        Phone(int(each["seat"]) - 1, str(each["device"]), str(each["name"]), each["model"])
        for each in room["participants"]
        if each["taking_part"] and not each["removed"]
    ]


class ParticipantPool:
    """The phones of a run."""

    def __init__(self, phones: Sequence[Phone], *, seed: int) -> None:
        self.phones = tuple(phones)
        self._by_client = {each.client: each for each in phones}
        self._rotation = Rotation(sorted(self._by_client), seed=seed)
        self._missed: dict[int, int] = {}
        self._gone: set[int] = set()

    @property
    def present(self) -> list[int]:
        """Those that the next block may count on."""
        return [each.client for each in self.phones if each.client not in self._gone]

    def device(self, client: int) -> str:
        """The device on a seat."""
        return self._by_client[client].device

    def client_of(self, device: str) -> int | None:
        """The seat of a device; `None` for one that is no participant."""
        return next((each.client for each in self.phones if each.device == device), None)

    def chosen(self, block: BlockSpec) -> tuple[int, ...]:
        """Who takes part in a block; a repeated one has those of the block that it stands for."""
        return self._rotation.chosen(block.replaces, block.clients, self.present)

    def look(self, room: Room) -> Iterator[str]:
        """Take in who left, who was removed and who is back; sentences about it."""
        for client, row in self._rows(room):
            is_out = bool(row["removed"] or row["left"])
            if is_out and client not in self._gone:
                self._gone.add(client)
                yield remark("left", **self._named(client))
            elif client in self._gone and not is_out and _attends(room, row):
                self._gone.discard(client)
                self._missed[client] = 0
                yield remark("back", **self._named(client))

    def is_out(self, room: Room, client: int) -> bool:
        """Whether a phone left or was removed: nothing to wait for."""
        return any(row["removed"] or row["left"] for found, row in self._rows(room) if found == client)

    def note_trial(self, took_part: Iterable[int], missing: Collection[int]) -> Iterator[str]:
        """Count who missed a trial; sentences about those that are no longer waited for."""
        for client in took_part:
            self._missed[client] = self._missed.get(client, 0) + 1 if client in missing else 0
            if self._missed[client] >= MISSED_MAX and client not in self._gone:
                self._gone.add(client)
                yield remark("missed", count=MISSED_MAX, **self._named(client))

    def _rows(self, room: Room) -> Iterator[tuple[int, dict[str, Any]]]:
        for row in room["participants"]:
            client = self.client_of(row["device"])
            if client is not None:
                yield client, row

    def _named(self, client: int) -> dict[str, str]:
        """What a remark about a phone says of it; the device is for who looks its name up."""
        phone = self._by_client[client]
        return {"name": phone.name, "pseudonym": phone.pseudonym, "device": phone.device}


def _attends(room: Room, row: Mapping[str, Any]) -> bool:
    """Whether a phone can take part: heard of just now, and looked at.

    One whose page stays hidden asks on, and would miss every round that it is waited for.
    """
    return bool(row["visible"]) and room["server_us"] - row["last_seen_us"] < HEARD_US_MAX

"""Participants of a run with phones: which are present, which have left, and which take part in a block."""

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
"""Consecutive missed trials after which a phone counts as gone."""

LAST_SEEN_US_MAX = 3_000_000
"""Age of its last request up to which a gone phone counts as back; phones poll once a second between trials."""


@dataclass(frozen=True, slots=True)
class Phone:
    """A participant of the run."""

    client: int
    """Its seat minus 1, which identifies it in rows of the store."""
    device: str
    name: str
    """Name for people in the room; it is never stored with measurements."""
    model: str | None

    @property
    def pseudonym(self) -> str:
        """Its name in all stored data."""
        return pseudonym(self.client)


def phones_of(room: Room) -> list[Phone]:
    """Return the phones that were ready when the countdown began, by seat."""
    return [
        Phone(int(each["seat"]) - 1, str(each["device"]), str(each["name"]), each["model"])
        for each in room["participants"]
        if each["taking_part"] and not each["removed"]
    ]


class ParticipantPool:
    """The phones of a run, with their presence and the rotation of those that take part."""

    def __init__(self, phones: Sequence[Phone], *, seed: int) -> None:
        self.phones = tuple(phones)
        self._by_client = {each.client: each for each in phones}
        self._rotation = Rotation(sorted(self._by_client), seed=seed)
        self._missed: dict[int, int] = {}
        self._gone: set[int] = set()

    @property
    def present(self) -> list[int]:
        """Clients that are available for the next block."""
        return [each.client for each in self.phones if each.client not in self._gone]

    def device(self, client: int) -> str:
        """Return the device of a client."""
        return self._by_client[client].device

    def client_of(self, device: str) -> int | None:
        """Return the client of a device; `None` if it is no participant."""
        return next((each.client for each in self.phones if each.device == device), None)

    def chosen(self, block: BlockSpec) -> tuple[int, ...]:
        """Return the clients that take part in a block; a repeated block has the same as the block that it replaces."""
        return self._rotation.chosen(block.replaces, block.clients, self.present)

    def update(self, room: Room) -> Iterator[str]:
        """Update presence from the room's state; yield remarks on phones that left or returned."""
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
        """Tell whether a phone left or was removed, so that waiting for it is useless."""
        return any(row["removed"] or row["left"] for found, row in self._rows(room) if found == client)

    def note_trial(self, took_part: Iterable[int], missing: Collection[int]) -> Iterator[str]:
        """Count missed trials; yield remarks on phones that now count as gone."""
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
        """Return a remark's arguments on a phone; the device allows looking its name up."""
        phone = self._by_client[client]
        return {"name": phone.name, "pseudonym": phone.pseudonym, "device": phone.device}


def _attends(room: Room, row: Mapping[str, Any]) -> bool:
    """Tell whether a phone can take part: it was seen just now and its page is visible.

    A hidden page goes on polling, but would miss every trial.
    """
    return bool(row["visible"]) and room["server_us"] - row["last_seen_us"] < LAST_SEEN_US_MAX

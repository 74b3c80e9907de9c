"""Who sits where: participants by device, at most 200, each on a seat of its own."""

from __future__ import annotations

import zlib
from collections.abc import Iterator

from app.core.errors import Conflict
from app.i18n import refusal
from app.server.room.clean_name import clean_name
from app.server.room.friendly_names import friendly_name
from app.server.room.participant import Participant

PARTICIPANTS_MAX = 200
"""More phones than one room holds; it bounds what strangers can make the server keep."""


class Seats:
    """The participants. Not safe by itself: the room's lock guards it."""

    def __init__(self) -> None:
        self._by_device: dict[str, Participant] = {}

    def __iter__(self) -> Iterator[Participant]:
        """Everyone by seat, those who were removed or left included."""
        return iter(sorted(self._by_device.values(), key=lambda each: each.seat))

    def get(self, device: str) -> Participant | None:
        """The participant that is this device."""
        return self._by_device.get(device)

    def take(self, device: str, *, name: str, model: str | None, language: str, now_us: int) -> Participant:
        """The lowest free seat for a newcomer. Raises `Conflict` when the room is full."""
        if len(self._by_device) >= PARTICIPANTS_MAX:
            raise Conflict(refusal("room_full", count=PARTICIPANTS_MAX))
        taken = {each.seat for each in self._by_device.values()}
        seat = next(number for number in range(1, PARTICIPANTS_MAX + 1) if number not in taken)
        name = clean_name(name) or self.proposal(device, language)
        self._by_device[device] = Participant(device, seat, name, model, now_us)
        return self._by_device[device]

    def proposal(self, device: str, language: str) -> str:
        """A friendly name that nobody here has; the same for a device as long as it is free."""
        taken = {each.name.casefold() for each in self._by_device.values() if each.device != device}
        return friendly_name(language, number=zlib.crc32(device.encode()), taken=taken)

    def free(self, device: str) -> None:
        """Give a seat up for good."""
        self._by_device.pop(device, None)

    def begin_anew(self, staying: list[Participant]) -> None:
        """Keep these for another experiment, on the first seats and in their order."""
        self._by_device = {each.device: each for each in staying}
        for seat, each in enumerate(staying, start=1):
            each.begin_anew(seat=seat)

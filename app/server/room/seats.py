"""Assignment of seats: at most 200 participants by device, each on its own seat."""

from __future__ import annotations

import zlib
from collections.abc import Iterator

from app.core.errors import Conflict
from app.i18n import refusal
from app.server.room.clean_name import clean_name
from app.server.room.friendly_names import friendly_name
from app.server.room.participant import Participant

PARTICIPANTS_MAX = 200
"""More phones than one room holds; the bound limits the server's memory."""


class Seats:
    """The participants by device. Not thread-safe: the room's lock guards it."""

    def __init__(self) -> None:
        self._by_device: dict[str, Participant] = {}

    def __iter__(self) -> Iterator[Participant]:
        """Yield all participants by seat, including those who were removed or left."""
        return iter(sorted(self._by_device.values(), key=lambda each: each.seat))

    def get(self, device: str) -> Participant | None:
        """Return the participant for this device, or `None`."""
        return self._by_device.get(device)

    def take(self, device: str, *, name: str, model: str | None, language: str, now_us: int) -> Participant:
        """Give a new participant the lowest free seat. Raises `Conflict` if the room is full."""
        if len(self._by_device) >= PARTICIPANTS_MAX:
            raise Conflict(refusal("room_full", count=PARTICIPANTS_MAX))
        taken = {each.seat for each in self._by_device.values()}
        seat = next(number for number in range(1, PARTICIPANTS_MAX + 1) if number not in taken)
        name = clean_name(name) or self.propose_name(device, language)
        self._by_device[device] = Participant(device, seat, name, model, now_us)
        return self._by_device[device]

    def propose_name(self, device: str, language: str) -> str:
        """Return a friendly name that is not taken; it is the same for a device as long as it is free."""
        taken = {each.name.casefold() for each in self._by_device.values() if each.device != device}
        return friendly_name(language, number=zlib.crc32(device.encode()), taken=taken)

    def free(self, device: str) -> None:
        """Remove a participant and free the seat."""
        self._by_device.pop(device, None)

    def keep_only(self, staying: list[Participant]) -> None:
        """Keep only these participants for another experiment, in their order on the first seats."""
        self._by_device = {each.device: each for each in staying}
        for seat, each in enumerate(staying, start=1):
            each.reset(seat=seat)

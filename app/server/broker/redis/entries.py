"""A notification as Redis keeps it: what every server builds the same bytes from, once its offset is known."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from app.core.errors import StoreError
from app.core.notification import EVERYONE, Notification, Targets, encode_json
from app.core.position import Position
from app.core.units import ServerUs
from app.core.wire import TRANSPORTS
from app.server.broker.base import Draft
from app.server.broker.keys import Use

Fields = list[bytes]
"""Of an entry as a script answers it: `mark`, its value, `sent`, its value, `wire`, its value, `beside`, its value."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One notification of either stream."""

    offset: int
    mark: str
    """Drawn for it, by which one offset of two lives can be told apart."""
    wire: dict[str, Any]
    """Its object on the wire, without `id` and `offset`."""
    epoch: str
    """In which it was published. A later one may have taken over the history since."""
    is_trial: bool
    """Which of the histories it is in."""
    targets: Targets
    expires_us: ServerUs | None

    def notification(self, epoch: str) -> Notification:
        """What it says, as a notification of `epoch`. Raises `StoreError`."""
        try:
            return Notification(
                position=Position(epoch, self.offset),
                targets=self.targets,
                expires_us=self.expires_us,
                **self.wire,
            )
        except (TypeError, ValueError) as error:
            raise foreign(error) from error


@dataclass(frozen=True, slots=True)
class Kept:
    """A draft as it goes to Redis."""

    mark: str
    wire: str
    """The object on the wire behind its `offset`: no other server needs to encode it to know how long it is."""
    beside: str
    """What never goes over the wire."""

    def entry(self, offset: int) -> Entry:
        """What every server reads back once it has an offset."""
        fields = [b"mark", self.mark.encode(), b"sent", b"", b"wire", self.wire.encode()]
        return entry_of(b"%d-0" % offset, [*fields, b"beside", self.beside.encode()])


def kept_of(draft: Draft, *, epoch: str, mark: str, sent_us: ServerUs) -> Kept:
    """What is kept of a draft. Raises `Malformed` for what no client could be sent."""
    targets, devices = draft.targets, draft.targets.devices
    wire = {
        "topic": draft.topic,
        "due_us": draft.due_us,
        "sent_us": sent_us,
        "title": draft.title,
        "body": draft.body,
        "data": draft.data,
    }
    whom = None
    if targets is not EVERYONE:
        whom = [targets.transport, None if devices is None else sorted(devices)]
    expires_us = None if draft.ttl_us is None else sent_us + draft.ttl_us
    return Kept(mark, encode_json(wire)[1:], encode_json([epoch, draft.trial, whom, expires_us]))


def entry_of(id: bytes, fields: Fields) -> Entry:
    """The entry that a script or a read answered. Raises `StoreError`."""
    try:
        epoch, is_trial, whom, expires_us = json.loads(fields[7])
        targets = EVERYONE
        if whom is not None:
            targets = Targets(whom[0], None if whom[1] is None else frozenset(whom[1]))
        wire = json.loads(b"{" + fields[5])
        return Entry(offset_of(id), fields[1].decode(), wire, epoch, is_trial, targets, expires_us)
    except (ValueError, KeyError, TypeError, IndexError) as error:
        raise foreign(error) from error


def offset_of(id: bytes) -> int:
    """Of an entry, by its id in the stream."""
    return int(id.partition(b"-")[0])


def use_text(fingerprint: str, due_us: ServerUs, sent_us: ServerUs) -> str:
    """What is kept of the use of a key, behind its offset."""
    return f"{fingerprint} {due_us} {sent_us}"


def use_from(text: bytes) -> Use:
    """The use of a key. Raises `StoreError`."""
    try:
        offset, fingerprint, due, sent = text.decode().split(" ")
        due_us, sent_us = ServerUs(int(due)), ServerUs(int(sent))
        # None of this process's connections were there.
        return Use(fingerprint, int(offset), due_us, sent_us, dict.fromkeys(TRANSPORTS, 0))
    except ValueError as error:
        raise foreign(error) from error


def foreign(error: Exception) -> StoreError:
    """What is there was not written by us."""
    return StoreError(
        f"What Redis holds under this prefix is no history of Siar ({type(error).__name__}: {error}); "
        "name another with ?prefix=NAME."
    )

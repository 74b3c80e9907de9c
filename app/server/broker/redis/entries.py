"""The encoding of a notification in Redis, from which every server builds the same bytes once its offset is known."""

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
"""The fields of a stream entry: `mark`, its value, `sent`, its value, `wire`, its value, `beside`, its value."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One notification of either stream."""

    offset: int
    mark: str
    """Random; distinguishes two notifications with the same offset after Redis has lost data."""
    wire: dict[str, Any]
    """Its JSON object without `id` and `offset`."""
    epoch: str
    """The epoch in which it was published; the history may have moved on to a later one."""
    is_trial: bool
    """True: it belongs to the trials' history."""
    targets: Targets
    expires_us: ServerUs | None

    def notification(self, epoch: str) -> Notification:
        """Return it as a notification of `epoch`. Raises `StoreError`."""
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
class EncodedDraft:
    """A draft in the encoding that is stored."""

    mark: str
    wire: str
    """The JSON object after its `offset`, so that other servers know its length without encoding it."""
    metadata: str
    """JSON of what clients do not get: epoch, trial or not, targets, expiry."""

    def entry(self, offset: int) -> Entry:
        """Return the entry that every server reads back under this offset."""
        fields = [b"mark", self.mark.encode(), b"sent", b"", b"wire", self.wire.encode()]
        return decode_entry(b"%d-0" % offset, [*fields, b"beside", self.metadata.encode()])


def encode_draft(draft: Draft, *, epoch: str, mark: str, sent_us: ServerUs) -> EncodedDraft:
    """Encode a draft. Raises `Malformed` if it cannot be sent to clients."""
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
    return EncodedDraft(mark, encode_json(wire)[1:], encode_json([epoch, draft.trial, whom, expires_us]))


def decode_entry(id: bytes, fields: Fields) -> Entry:
    """Decode an entry that a script or XREAD returned. Raises `StoreError`."""
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
    """Return the offset in an entry's stream id."""
    return int(id.partition(b"-")[0])


def encode_use(fingerprint: str, due_us: ServerUs, sent_us: ServerUs) -> str:
    """Encode the use of an idempotency key without its offset, which the script adds in front."""
    return f"{fingerprint} {due_us} {sent_us}"


def decode_use(text: bytes) -> Use:
    """Decode the use of an idempotency key. Raises `StoreError`."""
    try:
        offset, fingerprint, due, sent = text.decode().split(" ")
        due_us, sent_us = ServerUs(int(due)), ServerUs(int(sent))
        # The connections that got it are unknown here.
        return Use(fingerprint, int(offset), due_us, sent_us, dict.fromkeys(TRANSPORTS, 0))
    except ValueError as error:
        raise foreign(error) from error


def foreign(error: Exception) -> StoreError:
    """Return the error for data in Redis that Siar did not write."""
    return StoreError(
        f"What Redis holds under this prefix is no history of Siar ({type(error).__name__}: {error}); "
        "name another with ?prefix=NAME."
    )

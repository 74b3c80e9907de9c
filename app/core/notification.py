"""A notification, and the single encoder that makes its bytes for every transport and client."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any

from app.core.errors import Malformed
from app.core.position import Position
from app.core.units import ServerUs
from app.core.wire import TRANSPORTS

_ENCODER = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False, allow_nan=False)
"""Created once, because `json.dumps` with these options creates an encoder per call."""

_ESCAPED = re.compile("[\x85\u2028\u2029\ud800-\udfff]")
"""Line ends for readers that split text as `str.splitlines` does, and lone surrogates, which UTF-8 cannot encode.
All other line ends are control characters, which JSON escapes."""


class EncodedJSON(str):
    """Text that is already JSON; `WireJSON` inserts it into an array without encoding it again."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Targets:
    """Recipients of a notification; never sent on the wire. Both fields `None` means everyone."""

    transport: str | None = None
    """`"sse"`, `"socketio"`, or `None` for both."""

    devices: frozenset[str] | None = None
    """Device ids, or `None` for all."""

    def __post_init__(self) -> None:
        assert self.transport is None or self.transport in TRANSPORTS


EVERYONE = Targets()


@dataclass(slots=True)
class Notification:
    """A notification with its position in the order and its stamps.

    It is never changed, but not frozen: creating a frozen one takes twice as long, and every recipient waits for it.
    """

    position: Position
    topic: str
    due_us: ServerUs
    """Moment at which it should have been sent (server time base); every delay counts from here."""
    sent_us: ServerUs
    """Moment at which the broker got it (server time base)."""
    title: str
    body: str
    data: dict[str, Any] = field(default_factory=dict)
    targets: Targets = EVERYONE
    expires_us: ServerUs | None = None
    """Moment from which it is no longer replayed; `None`: it is replayed as long as history holds it."""
    offset: int = field(init=False, repr=False, compare=False)
    """The position's number."""
    id: str = field(init=False, repr=False, compare=False)
    """The position as text, which is the SSE id and the Socket.IO offset."""
    json: EncodedJSON = field(init=False, repr=False, compare=False)
    """The wire object, encoded once, when the notification is created."""
    json_bytes: int = field(init=False, repr=False, compare=False)
    """Length of `json` in UTF-8."""

    def __post_init__(self) -> None:
        """Encode the wire object. Raises `Malformed` for data that JSON cannot hold, `ValueError` for a non-integer stamp."""
        self.offset = self.position.offset
        self.id = str(self.position)
        # Fields are encoded one by one: for a string the encoder runs in C, for an object it builds a closure per call.
        self.json = EncodedJSON(
            f'{{"id":{encode_json(self.id)},"offset":{self.offset:d},"topic":{encode_json(self.topic)},'
            f'"due_us":{self.due_us:d},"sent_us":{self.sent_us:d},"title":{encode_json(self.title)},'
            f'"body":{encode_json(self.body)},"data":{encode_json(self.data) if self.data else "{}"}}}'
        )
        self.json_bytes = utf8_bytes(self.json)


def encode_json(value: object) -> str:
    """Encode `value` as compact JSON. Everything that clients receive is encoded here.

    The text can be encoded in UTF-8 and has no line separators, so that one `data:` line of an event stream holds it.
    Raises `Malformed` for a number that is not finite, which JSON does not have, and for too deep nesting.
    """
    try:
        text = _ENCODER.encode(value)
    except ValueError as error:
        raise Malformed("A number must be finite: JSON has neither NaN nor Infinity.") from error
    except RecursionError as error:
        raise Malformed("The data is nested too deep.") from error
    return text if text.isascii() else _ESCAPED.sub(_escape, text)


def utf8_bytes(text: str) -> int:
    """Return the length of `text` in UTF-8."""
    return len(text) if text.isascii() else len(text.encode())


def _escape(found: re.Match[str]) -> str:
    return f"\\u{ord(found[0]):04x}"


class WireJSON:
    """The encoder with the interface that python-socketio expects of a `json` module."""

    @staticmethod
    def dumps(value: object, **_options: object) -> str:
        """Encode `value` with `encode_json`; the library's options are ignored.

        A notification is an `EncodedJSON` in an event's array and is inserted without encoding it again.
        """
        if isinstance(value, list):
            parts = (each if isinstance(each, EncodedJSON) else encode_json(each) for each in value)
            return f"[{','.join(parts)}]"
        return encode_json(value)

    @staticmethod
    def loads(text: str | bytes, **options: Any) -> Any:
        """Decode with the standard decoder, but refuse NaN and Infinity, which it would accept."""
        return json.loads(text, parse_constant=_refuse_constant, **options)


def _refuse_constant(name: str) -> object:
    raise ValueError(f"{name} is not JSON")

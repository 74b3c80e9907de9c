"""One notification, and the one encoder that makes its bytes for every transport and client."""

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
"""Made once: `json.dumps` with these options makes one for each call."""

_ESCAPED = re.compile("[\x85\u2028\u2029\ud800-\udfff]")
"""Line ends to readers that split text as `str.splitlines` does, and halves of surrogate pairs, which UTF-8 does not have.
All other line ends are control characters, which JSON escapes."""


class EncodedJSON(str):
    """Text that is JSON already: `WireJSON` puts it into an array as it is."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Targets:
    """Whom a notification is for; never on the wire. Both `None` means everyone."""

    transport: str | None = None
    """`"sse"`, `"socketio"`, or `None` for both."""

    devices: frozenset[str] | None = None
    """Device ids, or `None` for all."""

    def __post_init__(self) -> None:
        assert self.transport is None or self.transport in TRANSPORTS


EVERYONE = Targets()


@dataclass(slots=True)
class Notification:
    """A notification with its place in the order and its stamps.

    Nobody changes it. Frozen, it would take twice as long to make, and everybody who is to get it waits for that.
    """

    position: Position
    topic: str
    due_us: ServerUs
    """When it should have been sent (server time base); every delay counts from here."""
    sent_us: ServerUs
    """When it was handed to the broker (server time base)."""
    title: str
    body: str
    data: dict[str, Any] = field(default_factory=dict)
    targets: Targets = EVERYONE
    expires_us: ServerUs | None = None
    """From then on it is no longer replayed; `None`: as long as history holds it."""
    offset: int = field(init=False, repr=False, compare=False)
    """The position's number."""
    id: str = field(init=False, repr=False, compare=False)
    """The position as text: the SSE id and the Socket.IO offset."""
    json: EncodedJSON = field(init=False, repr=False, compare=False)
    """The wire object, encoded once, when the notification is built."""
    json_bytes: int = field(init=False, repr=False, compare=False)
    """Its length in UTF-8."""

    def __post_init__(self) -> None:
        """Raises `Malformed` for data that JSON does not have, and `ValueError` for a stamp that is no integer."""
        self.offset = self.position.offset
        self.id = str(self.position)
        # Of a text the encoder goes straight to C; of an object it makes itself a function first, for each call.
        self.json = EncodedJSON(
            f'{{"id":{encode_json(self.id)},"offset":{self.offset:d},"topic":{encode_json(self.topic)},'
            f'"due_us":{self.due_us:d},"sent_us":{self.sent_us:d},"title":{encode_json(self.title)},'
            f'"body":{encode_json(self.body)},"data":{encode_json(self.data) if self.data else "{}"}}}'
        )
        self.json_bytes = utf8_bytes(self.json)


def encode_json(value: object) -> str:
    """`value` as compact JSON: the only encoder of what clients receive.

    It can be encoded in UTF-8 and has no line separators, so that one `data:` line holds it in an event stream.
    Raises `Malformed` for a number that is not finite, which JSON does not have, and for what is nested too deep.
    """
    try:
        text = _ENCODER.encode(value)
    except ValueError as error:
        raise Malformed("A number must be finite: JSON has neither NaN nor Infinity.") from error
    except RecursionError as error:
        raise Malformed("The data is nested too deep.") from error
    return text if text.isascii() else _ESCAPED.sub(_escape, text)


def utf8_bytes(text: str) -> int:
    """Length of `text` in UTF-8."""
    return len(text) if text.isascii() else len(text.encode())


def _escape(found: re.Match[str]) -> str:
    return f"\\u{ord(found[0]):04x}"


class WireJSON:
    """The encoder in the form that python-socketio asks of a `json` module."""

    @staticmethod
    def dumps(value: object, **_options: object) -> str:
        """`value` by the one encoder, whatever options the library would set.

        A notification comes as `EncodedJSON` in the array of an event: its bytes are taken, not made again.
        """
        if isinstance(value, list):
            parts = (each if isinstance(each, EncodedJSON) else encode_json(each) for each in value)
            return f"[{','.join(parts)}]"
        return encode_json(value)

    @staticmethod
    def loads(text: str | bytes, **options: Any) -> Any:
        """The standard decoder; NaN and Infinity, which it would take, are refused."""
        return json.loads(text, parse_constant=_refuse_constant, **options)


def _refuse_constant(name: str) -> object:
    raise ValueError(f"{name} is not JSON")

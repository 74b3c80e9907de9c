"""Server-Sent Events: the server's encoder, and a client's incremental decoder.

WHATWG HTML, section 9.2 "Server-sent events". The encoder writes the form that every parser accepts: LF line ends,
one space after the colon, a blank line at the end.
"""

from __future__ import annotations

from dataclasses import dataclass

from app.core.errors import MalformedFrame

CONTENT_TYPE = "text/event-stream"

EVENT_BYTES_MAX = 262_144
"""Size limit of an unfinished event in a decoder; the largest notification has less than half of it."""


@dataclass(frozen=True, slots=True)
class ServerEvent:
    """A dispatched event."""

    type: str
    data: str
    last_event_id: str


class EventStreamDecoder:
    """Decoder of an event stream, fed in any pieces, by the rules of section 9.2.6.

    Raises `MalformedFrame` for an event longer than `event_bytes_max`, and again for every further call. Nothing else
    is an error in this format.
    """

    def __init__(self, *, event_bytes_max: int = EVENT_BYTES_MAX) -> None:
        self.last_event_id = ""
        """Value that a reconnect sends as `Last-Event-ID`."""
        self.retry_ms: int | None = None
        """Reconnection time that the server last sent; `None` if it sent none."""
        self.comment_count = 0
        """Number of comments so far, which are heartbeats."""
        self._event_bytes_max = event_bytes_max
        self._line = bytearray()
        self._at_start = True
        self._after_cr = False
        self._id = ""
        self._type = ""
        self._data: list[str] = []
        self._held_bytes = 0
        self._failed = False

    @property
    def is_idle(self) -> bool:
        """True if the next byte begins a new event."""
        return not (self._line or self._data or self._type or self._after_cr or self._at_start)

    def feed(self, data: bytes) -> list[ServerEvent]:
        """Return the events that `data` completes."""
        events: list[ServerEvent] = []
        if self._after_cr and data:
            self._after_cr = False
            if data[:1] == b"\n":  # The LF of a CR LF that was split between two pieces.
                data = data[1:]
        # Bytes are split before they are decoded: no byte of a longer UTF-8 sequence is a CR or an LF.
        pieces = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
        for piece in pieces[:-1]:
            self._hold(piece)
            line = bytes(self._line)
            self._line.clear()
            self._take_line(line, events)
        self._hold(pieces[-1])
        self._after_cr = data[-1:] == b"\r" or (self._after_cr and not data)
        return events

    def _hold(self, piece: bytes) -> None:
        self._line += piece
        self._held_bytes += len(piece)
        if self._failed or self._held_bytes > self._event_bytes_max:
            self._failed = True
            raise MalformedFrame(f"An event of the stream is longer than {self._event_bytes_max} bytes.")

    def _take_line(self, line: bytes, events: list[ServerEvent]) -> None:
        if self._at_start:
            self._at_start = False
            line = line.removeprefix(b"\xef\xbb\xbf")  # "one leading U+FEFF BYTE ORDER MARK character"
        text = line.decode("utf-8", errors="replace")
        if not text:
            self._dispatch(events)
            return
        name, _, value = text.partition(":")
        if not name:
            self.comment_count += 1
            self._held_bytes -= len(line)
            return
        self._set_field(name, value.removeprefix(" "))

    def _set_field(self, name: str, value: str) -> None:
        if name == "data":
            self._data.append(value)
        elif name == "event":
            self._type = value
        elif name == "id" and "\0" not in value:
            self._id = value
        elif name == "retry" and value.isascii() and value.isdigit() and len(value) <= 10:
            self.retry_ms = int(value)

    def _dispatch(self, events: list[ServerEvent]) -> None:
        """Handle the blank line: set the last event id in any case, and dispatch an event only if there is data."""
        self.last_event_id = self._id
        if self._data:
            events.append(ServerEvent(self._type or "message", "\n".join(self._data), self._id))
        self._type, self._data, self._held_bytes = "", [], 0


def encode_event(*, event: str, data: str, id: str) -> bytes:
    """Encode one event: `id:`, `event:`, one `data:` line per line of `data`, blank line."""
    lines = "\ndata: ".join(_split_lines(data))
    return f"id: {_one_line(id)}\nevent: {_one_line(event)}\ndata: {lines}\n\n".encode()


def encode_notice(*, event: str, data: str) -> bytes:
    """Encode an event without an id, which leaves a client's resume position unchanged."""
    lines = "\ndata: ".join(_split_lines(data))
    return f"event: {_one_line(event)}\ndata: {lines}\n\n".encode()


def encode_comment(text: str, *, id: str | None) -> bytes:
    """Encode a heartbeat: clients dispatch no event, but store the position if there is an `id`.

    "If the data buffer is an empty string, set the data buffer and the event type buffer to the empty string and
    return": the event is not dispatched, while the last event id has been set one step before.
    """
    position = "" if id is None else f"id: {_one_line(id)}\n"
    return f": {_one_line(text)}\n{position}\n".encode()


def encode_prelude(*, retry_ms: int, id: str) -> bytes:
    """Encode a stream's first block: the reconnection time, and the position to resume from."""
    assert retry_ms >= 0
    return f"retry: {retry_ms}\nid: {_one_line(id)}\n\n".encode()


def encode_retry(retry_ms: int) -> bytes:
    """Encode the last block of a stream that the server ends: the reconnection time. A client dispatches no event.

    "If the field value consists of only ASCII digits, then interpret the field value as an integer in base ten, and
    set the event stream's reconnection time to that integer."
    """
    assert retry_ms >= 0
    return f"retry: {retry_ms}\n\n".encode()


def spread_retry_ms(retry_ms: int, *, chance: float) -> int:
    """Return a wait between one and three times `retry_ms`, by a random `chance` in [0, 1) that differs per client.

    It spreads the reconnects of clients whose streams end at the same time. Otherwise the next process would get a
    thousand of them within a millisecond.
    """
    assert 0 <= chance < 1
    return round(retry_ms * (1 + 2 * chance))


def jittered_retry_ms(retry_ms: int, *, chance: float) -> int:
    """Return a wait between 0.5 and 1.5 times `retry_ms`, by a random `chance` in [0, 1) that differs per client.

    Socket.IO's clients draw theirs in the same way (`randomizationFactor`). The mean is `retry_ms`, so that the spread
    does not make one transport recover later than the other.
    """
    assert 0 <= chance < 1
    return round(retry_ms * (0.5 + chance))


def _one_line(text: str) -> str:
    """Return `text`, asserting that it has no line end and no NUL, which an id must not have."""
    is_one = "\n" not in text and "\r" not in text and "\0" not in text
    assert is_one, "a field of an event stream is one line"
    return text


def _split_lines(text: str) -> list[str]:
    """Split text at the line ends of an event stream: CR LF, LF and CR, and no others."""
    if "\n" not in text and "\r" not in text:
        return [text]
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")

"""Server-Sent Events both ways: what the server writes, and an incremental decoder of what a client reads.

WHATWG HTML, section 9.2 "Server-sent events". The encoder writes the form that every parser takes: LF line ends,
one space behind the colon, a blank line at the end.
"""

from __future__ import annotations

from dataclasses import dataclass

from app.core.errors import MalformedFrame

CONTENT_TYPE = "text/event-stream"

EVENT_BYTES_MAX = 262_144
"""What a decoder holds of an unfinished event; a notification at its limits has less than half of it."""


@dataclass(frozen=True, slots=True)
class ServerEvent:
    """An event as it is dispatched."""

    type: str
    data: str
    last_event_id: str


class EventStreamDecoder:
    """Takes an event stream in any pieces and gives its events, by the rules of section 9.2.6.

    Raises `MalformedFrame` for an event beyond `event_bytes_max`, and then for ever; nothing else is an error in
    this format.
    """

    def __init__(self, *, event_bytes_max: int = EVENT_BYTES_MAX) -> None:
        self.last_event_id = ""
        """What a reconnect sends as `Last-Event-ID`."""
        self.retry_ms: int | None = None
        """What the server last asked to wait before a reconnect."""
        self.comment_count = 0
        """Comments so far: heartbeats, to a client that wants to know."""
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
        """Whether what comes next begins a new event."""
        return not (self._line or self._data or self._type or self._after_cr or self._at_start)

    def feed(self, data: bytes) -> list[ServerEvent]:
        """The events that `data` completes."""
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
        """The blank line: sets the last event id in any case, and gives an event only if there is data."""
        self.last_event_id = self._id
        if self._data:
            events.append(ServerEvent(self._type or "message", "\n".join(self._data), self._id))
        self._type, self._data, self._held_bytes = "", [], 0


def encode_event(*, event: str, data: str, id: str) -> bytes:
    """One event: `id:`, `event:`, one `data:` line per line of `data`, blank line."""
    lines = "\ndata: ".join(_split_lines(data))
    return f"id: {_one_line(id)}\nevent: {_one_line(event)}\ndata: {lines}\n\n".encode()


def encode_notice(*, event: str, data: str) -> bytes:
    """An event without an id: whoever resumes, resumes from where it stood before."""
    lines = "\ndata: ".join(_split_lines(data))
    return f"event: {_one_line(event)}\ndata: {lines}\n\n".encode()


def encode_comment(text: str, *, id: str | None) -> bytes:
    """A heartbeat: clients see no event, but one with `id` remember the position.

    "If the data buffer is an empty string, set the data buffer and the event type buffer to the empty string and
    return": the event is not dispatched, while the last event id has been set one step before.
    """
    position = "" if id is None else f"id: {_one_line(id)}\n"
    return f": {_one_line(text)}\n{position}\n".encode()


def encode_prelude(*, retry_ms: int, id: str) -> bytes:
    """The first block of a stream: how long to wait before a reconnect, and the position to resume from."""
    assert retry_ms >= 0
    return f"retry: {retry_ms}\nid: {_one_line(id)}\n\n".encode()


def encode_retry(retry_ms: int) -> bytes:
    """The last block of a stream that the server ends: how long to wait before a reconnect. No event to a client.

    "If the field value consists of only ASCII digits, then interpret the field value as an integer in base ten, and
    set the event stream's reconnection time to that integer."
    """
    assert retry_ms >= 0
    return f"retry: {retry_ms}\n\n".encode()


def spread_retry_ms(retry_ms: int, *, chance: float) -> int:
    """A wait between one and three times `retry_ms`, by a `chance` in [0, 1) that is another for each client.

    A thousand clients whose streams end at once must not come back at once: the next process would get them all
    within a millisecond.
    """
    assert 0 <= chance < 1
    return round(retry_ms * (1 + 2 * chance))


def jittered_retry_ms(retry_ms: int, *, chance: float) -> int:
    """A wait between a half and one and a half times `retry_ms`, as Socket.IO's clients draw theirs (`randomizationFactor`).

    On average it is `retry_ms`, so that neither transport recovers later than the other for want of a spread.
    """
    assert 0 <= chance < 1
    return round(retry_ms * (0.5 + chance))


def _one_line(text: str) -> str:
    """`text`, which only a bug can give a line end or the NUL that an id must not have."""
    is_one = "\n" not in text and "\r" not in text and "\0" not in text
    assert is_one, "a field of an event stream is one line"
    return text


def _split_lines(text: str) -> list[str]:
    """Lines as an event stream counts them: CR LF, LF and CR end one, and nothing else does."""
    if "\n" not in text and "\r" not in text:
        return [text]
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")

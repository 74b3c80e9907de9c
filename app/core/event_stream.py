"""Server-Sent Events both ways: what the server writes, and an incremental decoder of what a client reads.

WHATWG HTML, section 9.2 "Server-sent events". The encoder writes the form that every parser takes: LF line ends,
one space behind the colon, a blank line at the end.
"""

from __future__ import annotations

CONTENT_TYPE = "text/event-stream"


def encode_event(*, event: str, data: str, id: str) -> bytes:
    """One event: `id:`, `event:`, one `data:` line per line of `data`, blank line."""
    lines = "\ndata: ".join(_split_lines(data))
    return f"id: {_one_line(id)}\nevent: {_one_line(event)}\ndata: {lines}\n\n".encode()


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


def _one_line(text: str) -> str:
    """`text`, which only a bug can give a line end or the NUL that an id must not have."""
    assert not any(end in text for end in "\r\n\0"), "a field of an event stream is one line"
    return text


def _split_lines(text: str) -> list[str]:
    """Lines as an event stream counts them: CR LF, LF and CR end one, and nothing else does."""
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")

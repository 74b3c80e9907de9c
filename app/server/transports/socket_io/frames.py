"""WebSocket frames of notifications, built once per encoding and shared by all its clients."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from engineio import packet as engineio_packet
from socketio import packet as protocol

from app.core.notification import Notification
from app.core.protocol.deflate import DEFLATED, deflated_message
from app.core.protocol.websocket import Opcode, encode_frame
from app.core.wire import EVENT_NOTIFICATION
from app.server.transports.base import REPLAY_WRITE_BYTES

NAMESPACE = "/"

FORM_PLAIN = "plain"
FORM_RECOVERING = "recovering"
"""Encodings of a notification: without its id, or with it as a second argument for clients that asked for recovery.
Either may be compressed in addition (suffix `DEFLATED`)."""


def event_text(event: str, json: str, id: str, *, form: str) -> str:
    """Return the Socket.IO packet of an event in the default namespace, whose argument is JSON already.

    `form` says whether the id follows as a second argument, for connection state recovery.
    """
    offset = f',"{id}"' if form.removesuffix(DEFLATED) == FORM_RECOVERING else ""
    return f'{protocol.EVENT}["{event}",{json}{offset}]'


def event_frame(event: str, json: str, id: str, *, form: str) -> bytes:
    """Return the WebSocket frame of an event in the default namespace; `form` also says whether to compress."""
    packet = f"{engineio_packet.MESSAGE}{event_text(event, json, id, form=form)}".encode()
    if form.endswith(DEFLATED):
        return encode_frame(Opcode.TEXT, deflated_message(packet), mask=None, is_compressed=True)
    return encode_frame(Opcode.TEXT, packet, mask=None)


def replay_frames(notifications: Sequence[Notification], form: str) -> Iterator[bytes]:
    """Yield the frames of a replay, several to a piece."""
    pieces: list[bytes] = []
    size = 0
    for each in notifications:
        pieces.append(event_frame(EVENT_NOTIFICATION, each.json, each.id, form=form))
        size += len(pieces[-1])
        if size >= REPLAY_WRITE_BYTES:
            yield b"".join(pieces)
            pieces, size = [], 0
    if pieces:
        yield b"".join(pieces)

"""The hot path: write the same bytes to many connections that stand at the same position, each step for all at once.

    neighbours with equal cursors -> bytes after that cursor -> kernel (batch_sender.py) -> new cursor

Connections are handled one by one while one of them lags (its send buffer is full) or has just joined or left.
"""

from __future__ import annotations

import errno
from operator import attrgetter

from app.server.fanout.batch_sender import Pause, Recipients, Sender
from app.server.fanout.channel import Channel
from app.server.fanout.closed import CLOSED_LOST
from app.server.fanout.connection import WRITE_BYTES_MAX, DetachedConnection
from app.server.fanout.ring import BATCH_MAX

_cursor = attrgetter("cursor")


def flush(
    channel: Channel, sender: Sender, recipients: Recipients, at: int, count: int, pause: Pause | None = None
) -> int:
    """Bring the connections from index `at` to the end of the stream; stop early when `pause` is due.

    Return how many were handled. `count` is at most `SENDS_MAX`. Call it under the flusher's lock.
    """
    stream, here, until = channel.stream, at, at + count
    while channel.is_settled(recipients):
        if here == until:
            return count
        cursor, end = _run_at(recipients.connections, here, until)
        if cursor != stream.end:
            if here != at and pause is not None and pause.is_due():
                return here - at
            done = _write(channel, sender, recipients, here, end, cursor, pause)
            if done < end - here:
                return here + done - at
        here = end
    if here != at:
        return here - at  # A member came, left or blocked: the next call begins from what holds then.
    return _write_one_by_one(channel, sender, recipients.connections[at : min(until, at + BATCH_MAX)])


def _write_one_by_one(channel: Channel, sender: Sender, connections: list[DetachedConnection]) -> int:
    """Write to connections whose cursors may differ. Return how many were handled: all."""
    stream = channel.stream
    while True:
        able = [
            each
            for each in connections
            if each.cursor != stream.end
            and not each.is_blocked
            and each.sock is not None
            and each.channel is channel
        ]
        if not able:
            return len(connections)
        cursor = able[0].cursor
        alike = Recipients(each for each in able if each.cursor == cursor)
        _write(channel, sender, alike, 0, len(alike.connections), cursor, None)


def _run_at(connections: list[DetachedConnection], at: int, until: int) -> tuple[int, int]:
    """Return the cursor of the connection at index `at`, and the end index (exclusive) of its run of equal cursors.

    That index is `until` at most.
    """
    cursors = list(map(_cursor, connections[at:until]))
    cursor = cursors[0]
    if cursors.count(cursor) == len(cursors):
        return cursor, until
    return cursor, at + next(index for index, other in enumerate(cursors) if other != cursor)


def _write(
    channel: Channel,
    sender: Sender,
    recipients: Recipients,
    begin: int,
    end: int,
    cursor: int,
    pause: Pause | None,
) -> int:
    """Write the next bytes to one run of open connections; return to how many, which is fewer if `pause` was due."""
    stream, recorder = channel.stream, channel.recorder
    data = stream.read(cursor, WRITE_BYTES_MAX)
    size = len(data)
    reached = stream.end if cursor + size == stream.end else cursor + size
    stamps_ns: list[int] = []
    if recorder is None:
        done, results = sender.send(recipients, begin, end, data, pause)
    else:
        done, results, stamps_ns = sender.send_stamped(recipients, begin, end, data, pause)
    connections = recipients.connections[begin : begin + done]
    if results is None:
        for connection in connections:
            connection.cursor = reached
    else:
        _advance(connections, results, cursor, size, reached)
    if recorder is not None:
        for connection, stamp_ns, taken in zip(connections, stamps_ns, results or [size] * done, strict=True):
            if taken > 0:
                recorder.note(connection, cursor + taken, stamp_ns)
    if reached is not stream.end:
        for connection in connections:  # More is due than one call writes: the loop continues.
            connection.block()
    if results is not None:
        _settle_incomplete(connections, results, size)
    return done


def _advance(
    connections: list[DetachedConnection], results: list[int], cursor: int, size: int, reached: int
) -> None:
    for connection, result in zip(connections, results, strict=True):
        if result > 0:
            connection.cursor = reached if result == size else cursor + result


def _settle_incomplete(connections: list[DetachedConnection], results: list[int], size: int) -> None:
    """Block the connections that took less than everything, and drop the failed ones.

    The drops come last: `on_closed` may change every other state here.
    """
    lost = []
    for connection, result in zip(connections, results, strict=True):
        if result < 0 and result != -errno.EAGAIN:
            lost.append(connection)
        elif result != size:
            connection.block()
    for connection in lost:
        connection.drop(CLOSED_LOST)

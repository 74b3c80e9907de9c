"""The hot path: the same bytes to a lot of connections that stand at the same place, each step for all of them at once.

a run of the row (cursor_runs.py) -> what it has not got -> the kernel (batch_sender.py) -> where it stands now
connection by connection, where one is behind the others: its kernel buffer is full, or it has just come or left
"""

from __future__ import annotations

import errno

from app.server.fanout.batch_sender import Pause, Sender
from app.server.fanout.channel import Channel
from app.server.fanout.closed import CLOSED_LOST
from app.server.fanout.connection import WRITE_BYTES_MAX, DetachedConnection
from app.server.fanout.cursor_runs import CursorRuns
from app.server.fanout.ring import LOT_MAX


def flush_runs(
    audience: Channel, sender: Sender, row: CursorRuns, at: int, count: int, pause: Pause | None = None
) -> int:
    """Bring those of `row` who can take it to the end of the stream, or so many of them until `pause` is due; how many.

    `count`: `ROW_MAX` at most. Call it under the broadcaster's lock.
    """
    stream, here, until = audience.stream, at, at + count
    while audience.is_settled(row):
        if here == until:
            return count
        cursor, end = row.run_at(here)
        end = min(end, until)
        if cursor != stream.end:
            if here != at and pause is not None and pause.is_due():
                return here - at
            done = _write(audience, sender, row, here, end, cursor, pause)
            if done < end - here:
                return here + done - at
        here = end
    if here != at:
        return here - at  # Something has changed: the next time it is known from the start.
    return _write_one_by_one(audience, sender, row.outlets[at : min(until, at + LOT_MAX)])


def _write_one_by_one(audience: Channel, sender: Sender, outlets: list[DetachedConnection]) -> int:
    """Each stands where it stands; how many of them were looked at: all."""
    stream = audience.stream
    while True:
        able = [
            each
            for each in outlets
            if each.cursor != stream.end
            and not each.is_blocked
            and each.sock is not None
            and each.audience is audience
        ]
        if not able:
            return len(outlets)
        cursor = able[0].cursor
        alike = CursorRuns(each for each in able if each.cursor == cursor)
        _write(audience, sender, alike, 0, len(alike.outlets), cursor, None)
        alike.catch_up()


def _write(
    audience: Channel, sender: Sender, row: CursorRuns, begin: int, end: int, cursor: int, pause: Pause | None
) -> int:
    """What follows for a run, none of which has ended; to how many, until `pause` was due."""
    stream, recording = audience.stream, audience.recording
    data = stream.read(cursor, WRITE_BYTES_MAX)
    size = len(data)
    reached = stream.end if cursor + size == stream.end else cursor + size
    stamps_ns: list[int] = []
    if recording is None:
        done, results = sender.send(row, begin, end, data, pause)
    else:
        done, results, stamps_ns = sender.send_stamped(row, begin, end, data, pause)
    if results is None:
        row.move(begin, begin + done, reached)
        if recording is None and reached is stream.end:
            return done
    outlets = row.outlets[begin : begin + done]
    if results is not None:
        row.catch_up()
        _advance(outlets, results, cursor, size, reached)
    if recording is not None:
        for outlet, stamp_ns, taken in zip(outlets, stamps_ns, results or [size] * done, strict=True):
            if taken > 0:
                recording.note(outlet, cursor + taken, stamp_ns)
    if reached is not stream.end:
        for outlet in outlets:  # There is more than one call writes: the loop goes on with it.
            outlet.block()
    if results is not None:
        _hold(outlets, results, size)
    return done


def _advance(
    outlets: list[DetachedConnection], results: list[int], cursor: int, size: int, reached: int
) -> None:
    for outlet, result in zip(outlets, results, strict=True):
        if result > 0:
            outlet.stands_at = reached if result == size else cursor + result


def _hold(outlets: list[DetachedConnection], results: list[int], size: int) -> None:
    """Who has not got everything waits for its kernel buffer, or has ended.

    Whoever is told of an end may change all of this, so that comes last.
    """
    lost = []
    for outlet, result in zip(outlets, results, strict=True):
        if result < 0 and result != -errno.EAGAIN:
            lost.append(outlet)
        elif result != size:
            outlet.block()
    for outlet in lost:
        outlet.drop(CLOSED_LOST)

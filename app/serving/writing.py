"""The hot path: the same bytes to a lot of connections that stand at the same place, each step for all of them at once.

    who can take something -> those at one place -> the kernel (sending.py) -> where each stands now

What the kernel does for a delivery costs the interpreter its place in the processor's caches. In loops of their own, and
where it goes in C, our steps stay warm.
"""

from __future__ import annotations

import errno
from array import array
from collections.abc import Iterable
from operator import attrgetter
from typing import TYPE_CHECKING

from app.serving.outlet import CLOSED_LOST, WRITE_BYTES_MAX, Outlet
from app.serving.ring import LOT_MAX

if TYPE_CHECKING:
    from app.serving.broadcaster import Audience
    from app.serving.sending import Pause, Sender

_cursor = attrgetter("cursor")


class Row:
    """Those who read something, as rounds of writing go through them, and their descriptors beside."""

    __slots__ = ("fds", "outlets")

    def __init__(self, outlets: Iterable[Outlet]) -> None:
        self.outlets = list(outlets)
        self.fds = array("i", [each.fd for each in self.outlets])


def write_to(
    audience: Audience, sender: Sender, row: Row, at: int, count: int, pause: Pause | None = None
) -> int:
    """Bring those of `row` who can take it to the end of the stream, or so many of them until `pause` is due; how many.

    `count`: `ROW_MAX` at most. Call it under the broadcaster's lock.

    Nothing is made for a connection that takes everything: those who stand at the end share the number that says so.
    """
    outlets, stream = row.outlets[at : at + count], audience.stream
    places = list(map(_cursor, outlets))
    begin = 0
    while audience.is_settled(row):
        if begin == count:
            return count
        end = _run_end(places, begin)
        if places[begin] != stream.end:
            if begin and pause is not None and pause.is_due():
                return begin
            done = _write(audience, sender, outlets[begin:end], row.fds[at + begin : at + end], pause)
            if done < end - begin:
                return begin + done
        begin = end
    if begin:
        return begin  # Something has changed: the next time it is known from the start.
    outlets = outlets[:LOT_MAX]
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
        alike = [each for each in able if each.cursor == able[0].cursor]
        _write(audience, sender, alike, array("i", [each.fd for each in alike]), None)


def _run_end(places: list[int], begin: int) -> int:
    """Behind those in a row who stand where the one at `begin` does: everybody, unless somebody published amid a lot."""
    place = places[begin]
    alike = places.count(place)
    if places[begin : begin + alike].count(place) == alike:
        return begin + alike
    return next((at for at in range(begin + 1, len(places)) if places[at] != place), len(places))


def _write(
    audience: Audience, sender: Sender, outlets: list[Outlet], fds: array[int], pause: Pause | None
) -> int:
    """What follows for those who stand at one place, none of whom has ended; to how many, until `pause` was due."""
    stream, recording = audience.stream, audience.recording
    begins, end = outlets[0].cursor, stream.end
    data = stream.read(begins, WRITE_BYTES_MAX)
    size = len(data)
    reached = end if begins + size == end else begins + size
    stamps_ns: list[int] = []
    if recording is None:
        done, results = sender.send(outlets, fds, data, pause)
    else:
        done, results, stamps_ns = sender.send_stamped(outlets, fds, data, pause)
    if done < len(outlets):
        outlets = outlets[:done]
    _advance(outlets, results, begins, size, reached)
    if recording is not None:
        for outlet, stamp_ns in zip(outlets, stamps_ns, strict=True):
            if outlet.cursor != begins:
                recording.note(outlet, outlet.cursor, stamp_ns)
    if reached is not end:
        for outlet in outlets:  # There is more than one call writes: the loop goes on with it.
            outlet.block()
    if results is not None:
        _hold(outlets, results, size)
    return done


def _advance(outlets: list[Outlet], results: list[int] | None, begins: int, size: int, reached: int) -> None:
    if results is None:
        for outlet in outlets:
            outlet.cursor = reached
        return
    for outlet, result in zip(outlets, results, strict=True):
        if result > 0:
            outlet.cursor = reached if result == size else begins + result


def _hold(outlets: list[Outlet], results: list[int], size: int) -> None:
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

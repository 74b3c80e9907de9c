"""The hot path: one `send` after the other to a lot of connections, of the same bytes for all who stand at the same place.

    who can take something -> those at one place -> their sockets -> `send` to each -> where each stands now

Each step is done for the whole lot, and `map` calls one `send` after the other from C. What the kernel does for a
delivery costs the interpreter its place in the processor's caches, for each of some forty instructions that a plain loop
of ours has between two `send`s. In loops of their own they stay warm.
"""

from __future__ import annotations

import logging
from itertools import repeat
from typing import TYPE_CHECKING, Any

from app import clock
from app.serving.outlet import CLOSED_LOST, WRITE_BYTES_MAX, Outlet

if TYPE_CHECKING:
    from app.serving.broadcaster import Audience

logger = logging.getLogger("siar.broadcaster")


def write_to(audience: Audience, outlets: list[Outlet]) -> None:
    """Bring all of them who can take it to the end of the stream. Call it under the broadcaster's lock.

    Nothing is made for a connection that takes everything: those who stand at the end share the number that says so.
    """
    stream = audience.stream
    is_done = False
    while not is_done:
        end = stream.end
        able = [
            each
            for each in outlets
            if each.cursor != end
            and not each.is_blocked
            and each.sock is not None
            and each.audience is audience
        ]
        if not able:
            return
        place = able[0].cursor
        alike = [each for each in able if each.cursor == place]
        has_served = _send(audience, alike, stream.read(place, WRITE_BYTES_MAX), end)
        # Others may stand elsewhere. And when a connection ends, whoever is told of it may change all of this.
        is_done = has_served and len(alike) == len(able)


def _send(audience: Audience, outlets: list[Outlet], data: bytes, end: int) -> bool:
    """`data` to those who stand at its beginning, one after the other up to the first that fails; whether none did."""
    recording = audience.recording
    begins, size = outlets[0].cursor, len(data)
    reached = end if begins + size == end else begins + size
    taken: list[int] = []
    handed: list[tuple[int, int]] = []
    failure: Exception | None = None
    # The class's own `send`, which makes no bound method for each of them: all are of one class (`takeover.RawSocket`).
    sockets: list[Any] = [each.sock for each in outlets]
    sends = map(type(sockets[0]).send, sockets, repeat(data))
    try:  # `extend` keeps what it was given before one fails.
        if recording is None:
            taken.extend(sends)
        else:
            handed.extend(zip(iter(clock.monotonic_ns, None), sends))  # noqa: B905 - the first one has no end
    except Exception as error:  # noqa: BLE001 - one connection's bug must not end the writing to all others
        failure = error
    taken = taken or [count for _, count in handed]
    served = outlets[: len(taken)]
    for outlet in served:
        outlet.cursor = reached
    if reached is not end or taken.count(size) != len(taken):
        for outlet, count in zip(served, taken, strict=True):
            outlet.cursor = reached if count == size else begins + count
            if outlet.cursor is not end:
                outlet.block()
    if recording is not None:
        for outlet, (handed_ns, _) in zip(served, handed, strict=True):
            recording.note(outlet, outlet.cursor, handed_ns)
    if failure is not None:
        _fail(outlets[len(taken)], failure)
    return failure is None


def _fail(outlet: Outlet, failure: Exception) -> None:
    if isinstance(failure, BlockingIOError):
        outlet.block()
        return
    if not isinstance(failure, OSError):
        logger.error("Writing to a connection failed; closed.", exc_info=failure)
    outlet.drop(CLOSED_LOST)

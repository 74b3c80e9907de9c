"""One stream and the connections that read it."""

from __future__ import annotations

from app import clock
from app.server.fanout.connection import DetachedConnection
from app.server.fanout.cursor_runs import CursorRuns
from app.server.fanout.recorder import Recorder
from app.server.fanout.stream import Stream


class Channel:
    """One stream and those who read it."""

    __slots__ = ("_row", "_turn", "appended_us", "blocked", "members", "recording", "stream")

    def __init__(self) -> None:
        self.stream = Stream()
        self.appended_us = clock.monotonic_us()
        """When a frame came last, by the monotonic clock."""
        self.members: dict[DetachedConnection, int] = {}
        """Since when each reads here (server time base)."""
        self.blocked: set[DetachedConnection] = set()
        """Those whose kernel buffer is full: the loop serves them when it is not."""
        self.recording: Recorder | None = None
        """Where it is noted when the kernel took what; on only while somebody measures."""
        self._turn = 0
        self._row: CursorRuns | None = None
        """The members as they are written to; made anew when one came or left. A round keeps the one it began with."""

    def add(self, outlet: DetachedConnection) -> None:
        """From now on `outlet` reads here."""
        self.catch_up()
        self.members[outlet] = clock.now_us()
        self._row = None
        if outlet.is_blocked:
            self.blocked.add(outlet)
        if self.recording is not None:
            self.recording.joined(self, outlet)

    def remove(self, outlet: DetachedConnection) -> None:
        """It reads no more."""
        self.catch_up()
        self.members.pop(outlet, None)
        self._row = None
        self.blocked.discard(outlet)

    def catch_up(self) -> None:
        """Let each of the members know by itself where it stands."""
        if self._row is not None:
            self._row.catch_up()

    def wrote(self, outlet: DetachedConnection, handed_ns: int) -> None:
        """The kernel has everything up to `outlet`'s cursor, by a write that began at `handed_ns`."""
        if self.recording is not None:
            self.recording.note(outlet, outlet.cursor, handed_ns)

    def is_settled(self, row: CursorRuns) -> bool:
        """Whether `row` are its members, and the kernel has taken from all of them what it was given."""
        return row is self._row and not self.blocked

    def in_turn(self) -> tuple[CursorRuns, int]:
        """Everyone, and with whom to begin: another one each time, so that over time nobody is always last.

        measurement.md section 2: delay grows with the position in a broadcast.
        """
        if self._row is None:
            self._row = CursorRuns(self.members)
        return self._row, self._turn % len(self.members) if self.members else 0

    def rest(self) -> None:
        """Everyone has everything: the next round begins with somebody else.

        Rounds that follow each other do not: who is passed by on the way would be the first of the one and the last of the
        next, and wait for two.
        """
        self._turn += 1

    def trim(self, reached: int) -> None:
        """Forget what everyone has, when whoever is not blocked stands at `reached` or further on.

        A blocked one may stand further on than that: what is written to it alone, a ping, takes along all there is.
        """
        self.stream.trim(min([reached, *(outlet.cursor for outlet in self.blocked)]))

    def too_slow(self, *, frames_max: int, bytes_max: int) -> list[DetachedConnection]:
        """Who is further behind than allowed."""
        stream = self.stream
        if stream.frame_count <= frames_max and stream.end - stream.start <= bytes_max:
            return []  # Nobody can be: the stream does not reach back that far.
        return [
            outlet
            for outlet in self.blocked
            if outlet.waiting_bytes > bytes_max or stream.frames_behind(outlet.cursor) > frames_max
        ]

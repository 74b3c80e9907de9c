"""A channel is one stream and the connections that read it."""

from __future__ import annotations

from app import clock
from app.server.fanout.batch_sender import Recipients
from app.server.fanout.connection import DetachedConnection
from app.server.fanout.recorder import Recorder
from app.server.fanout.stream import Stream


class Channel:
    """One stream, its members, and those of them that are blocked. Call its methods under the flusher's lock."""

    __slots__ = ("_recipients", "_rounds", "appended_us", "blocked", "members", "recorder", "stream")

    def __init__(self) -> None:
        self.stream = Stream()
        self.appended_us = clock.monotonic_us()
        """Time of the last append (monotonic)."""
        self.members: dict[DetachedConnection, int] = {}
        """Members in the order of joining, and the time of it (server time base)."""
        self.blocked: set[DetachedConnection] = set()
        """Members whose send buffer is full: the loop writes to them when they are writable again."""
        self.recorder: Recorder | None = None
        """Records when the kernel took which bytes; set only during a measurement."""
        self._rounds = 0
        """Count of completed rounds, from which the rotation follows."""
        self._recipients: Recipients | None = None
        """The members in writing order; rebuilt after a change. A round keeps the one that it began with."""

    def add(self, connection: DetachedConnection) -> None:
        """Add a member, which reads from the stream's end on."""
        self.members[connection] = clock.now_us()
        self._recipients = None
        if connection.is_blocked:
            self.blocked.add(connection)
        if self.recorder is not None:
            self.recorder.joined(self, connection)

    def remove(self, connection: DetachedConnection) -> None:
        """Remove a member."""
        self.members.pop(connection, None)
        self._recipients = None
        self.blocked.discard(connection)

    def forget_if_empty(self) -> None:
        """Do nothing: only the fan-out's own channels are kept by it."""

    def wrote(self, connection: DetachedConnection, handed_ns: int) -> None:
        """Record that the kernel has everything up to the member's cursor, by a write that began at `handed_ns`."""
        if self.recorder is not None:
            self.recorder.note(connection, connection.cursor, handed_ns)

    def is_settled(self, recipients: Recipients) -> bool:
        """Return True while `recipients` are the current members and none of them is blocked."""
        return recipients is self._recipients and not self.blocked

    def start_round(self) -> tuple[Recipients, int]:
        """Return the members and the index of the first to write to, which rotates so that nobody is always last.

        Delay grows with the position in a broadcast (measurement.md section 2).
        """
        if self._recipients is None:
            self._recipients = Recipients(self.members)
        return self._recipients, self._rounds % len(self.members) if self.members else 0

    def finish_round(self) -> None:
        """Rotate the start of the next round; called when all members have everything.

        Rounds that follow each other directly keep their start: a member that the rotation skips would be first in
        one and last in the next, and wait for two rounds.
        """
        self._rounds += 1

    def trim(self, reached: int) -> None:
        """Drop the frames that all members have, where those that are not blocked have reached at least `reached`.

        A blocked member may be beyond that: a write for it alone, such as a ping, also writes its part of the stream.
        """
        self.stream.trim(min([reached, *(connection.cursor for connection in self.blocked)]))

    def too_slow(self, *, frames_max: int, bytes_max: int) -> list[DetachedConnection]:
        """Return the slow consumers: members that are further behind than allowed."""
        stream = self.stream
        if stream.frame_count <= frames_max and stream.end - stream.start <= bytes_max:
            return []  # The stream itself keeps less than that.
        return [
            connection
            for connection in self.blocked
            if connection.waiting_bytes > bytes_max or stream.frames_behind(connection.cursor) > frames_max
        ]

"""A stream holds the bytes that many connections get alike: stored once, read by each from its cursor.

    frames:   |  frame  | frame |    frame    | frame |
              ^start         ^cursor of a slow client ^end, the cursor of everybody else

All that a connection needs is its cursor: what waits for it lies between that and the end. A hundred clients that do
not read share one copy of the bytes, and the backlog of each is a subtraction.
"""

from __future__ import annotations

from bisect import bisect_right


class Stream:
    """Frames one after another, addressed by the byte offset since the stream began."""

    __slots__ = ("_ends", "_frames", "_joined", "_joined_from", "_joined_to", "end", "start")

    def __init__(self) -> None:
        self.start = 0
        """Offset of the oldest frame that is kept."""
        self.end = 0
        """Offset after the newest frame."""
        self._frames: list[bytes] = []
        self._ends: list[int] = []
        self._joined = b""
        self._joined_from = self._joined_to = -1

    def append(self, frame: bytes) -> None:
        """Append a frame, which must not be empty."""
        self._frames.append(frame)
        self.end += len(frame)
        self._ends.append(self.end)

    @property
    def frame_count(self) -> int:
        """Count of the frames that are kept."""
        return len(self._frames)

    def read(self, cursor: int, bytes_max: int) -> bytes:
        """Return what follows `cursor`: whole frames up to about `bytes_max`, the first one perhaps cut at its front.

        Readers at the same cursor get the same object until a frame is appended.
        """
        if cursor == self._joined_from and self.end == self._joined_to:
            return self._joined
        assert cursor >= self.start, "these frames are not kept any more"
        first = bisect_right(self._ends, cursor)
        last = bisect_right(self._ends, cursor + bytes_max, first + 1)
        begin = self._ends[first] - len(self._frames[first])
        data = self._frames[first] if last == first + 1 else b"".join(self._frames[first:last])
        if begin != cursor:
            return data[cursor - begin :]  # A cursor within a frame is one reader's own: not worth caching.
        self._joined, self._joined_from, self._joined_to = data, cursor, self.end
        return data

    def frame_end(self, cursor: int) -> int:
        """Return the end of the frame that `cursor` lies in, or `cursor` itself between two frames."""
        first = bisect_right(self._ends, cursor)
        if first == len(self._ends) or cursor == self._ends[first] - len(self._frames[first]):
            return cursor
        return self._ends[first]

    def frames_behind(self, cursor: int) -> int:
        """Return how many frames end after `cursor`."""
        return len(self._ends) - bisect_right(self._ends, cursor)

    def trim(self, cursor: int) -> None:
        """Drop the frames that end at or before `cursor`."""
        count = bisect_right(self._ends, cursor)
        if count:
            self.start = self._ends[count - 1]
            del self._frames[:count]
            del self._ends[:count]
            self._joined, self._joined_from, self._joined_to = b"", -1, -1

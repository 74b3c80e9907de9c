"""The flusher writes appended frames to all members of their channels, in slices of two milliseconds at most.

    publish -> `append` to the stream -> first slice at once, the others between other work, until every connection
               has reached the end of the stream

A round is one pass over the members of a channel. What is published during a round joins the stream, and connections
later in the round get all of it in one write. So a burst costs each connection a few writes, while a single
notification leaves at once.
"""

from __future__ import annotations

import threading
import time

from app import clock
from app.server.fanout.batch_sender import BATCHES_PER_PASS, Pause, Recipients, Sender
from app.server.fanout.channel import Channel
from app.server.fanout.closed import CLOSED_SLOW
from app.server.fanout.connection import DetachedConnection
from app.server.fanout.flushing import flush
from app.server.fanout.ring import BATCH_MAX
from app.server.wsgi.loop import Loop

SLICE_US = 2_000
"""Time limit of one slice, after which other green threads run. It is small next to network delay, and large next to
the cost of a switch, some 50 us with the cold caches that follow a broadcast."""

SLICE_SHARE = 16
"""A slice writes at most 1/16 of the round's connections once something was published during the round. On a machine
that sends fast, two milliseconds are half a round of a thousand: hardly anything would join it, and a publisher over
HTTP waits for the end of the slice first."""

PUBLISHER_SHARE = 2
"""Backpressure: a publish during a round first writes 1/2 of the round's connections, and the flusher skips its own
next slice. Publishing faster than is written would lengthen the rounds and everybody's delay; this slows the
publisher down instead. The share is a count of connections, not a time, so it is the same on slow and fast machines.
Back to back it decides how much more is delivered than by a plain loop of `send`, and how late: with 1/2 it is 1.7 to
2 times as much, with 1/3 2.1 to 3 times, and each publish within a round lengthens the round by what it costs."""

PUBLISHER_US_MAX = 6_000
"""Time limit of the publisher's share: half a round of thousands would hold up every other request."""

MERGE_US_MAX = 1_000
"""Longest time that a frame waits for the flusher's own slice. If a publisher lets no other thread run, the next
publish begins to write it. Iterations of the loop are mostly shorter, and merge what is published within them."""


class Flusher:
    """Writes appended frames to the members of channels. All methods may be called from any thread.

    `lock` guards all channels and connections; it is never held across anything that blocks.
    """

    def __init__(self, loop: Loop, *, frames_max: int, bytes_max: int, sender: Sender | None = None) -> None:
        self.loop = loop
        self.lock = threading.RLock()
        self.sender = sender or Sender()
        self._frames_max = frames_max
        self.bytes_max = bytes_max
        """Bytes that may wait for one connection before it is dropped as a slow consumer."""
        self._due: dict[Channel, None] = {}
        """Channels with frames that some members have not got, in the order of their rounds."""
        self._due_us = 0
        """Time at which `_due` last became non-empty (monotonic)."""
        self._round: tuple[Channel, Recipients, int, int, int] | None = None
        """Channel, members, index of the next one, count of those left, and the stream's end at its beginning."""
        self._is_joined = False
        """Something was published during the current round or the one before it."""
        self._publisher_wrote = False
        """A publisher has written since the flusher's own last slice."""
        self._publisher_quota = 0
        """Connections that the current publish has to write to before it returns."""
        self.ending: set[DetachedConnection] = set()
        """Connections whose last bytes are still waiting."""
        self._is_awake = False
        self._wakeup = threading.Lock()
        self._wakeup.acquire()
        self._started = False

    def append(self, channel: Channel, frame: bytes) -> None:
        """Append `frame` for all members of `channel`; `write` begins to write it. Call it under `lock`."""
        channel.stream.append(frame)
        channel.appended_us = clock.monotonic_us()
        if not self._due:
            self._due_us = channel.appended_us
        self._due[channel] = None
        self._publisher_quota += int(len(channel.members) / PUBLISHER_SHARE)
        for connection in channel.too_slow(frames_max=self._frames_max, bytes_max=self.bytes_max):
            connection.drop(CLOSED_SLOW)

    def write(self) -> None:
        """Begin to write what was appended: one slice now, the others on the flusher's own thread.

        Only the first call does so until that thread has run or should have run: frames that are published back to
        back are coalesced.
        """
        with self.lock:
            if self._is_awake:
                self._is_joined = True
                is_late = clock.monotonic_us() - self._due_us >= MERGE_US_MAX
                if self._round is not None or is_late:
                    self._publisher_wrote = True
                    self._flush_slice(_pause_in(PUBLISHER_US_MAX), by_publisher=True)
                return
            if not self._due:
                return
            self._is_awake = True
            self._flush_slice(_pause_in(SLICE_US))
        self._start()
        self._wakeup.release()

    def _start(self) -> None:
        if not self._started:
            self._started = True
            threading.Thread(target=self._run, name="siar-flusher", daemon=True).start()

    def _run(self) -> None:
        while True:
            self._wakeup.acquire()
            time.sleep(0)  # The caller of `write` finishes first, and waiting publishers join the round.
            while True:
                with self.lock:
                    if not self._flush_own_slice():
                        self._is_awake = False
                        break
                time.sleep(0)

    def _flush_own_slice(self) -> bool:
        """Write one slice unless a publisher has just written its share; return True while more is due.

        Next to publishers that never pause, an extra slice would only write more often and less at a time: for
        publishers inside the process two thirds as much was delivered, and no sooner.
        """
        if self._publisher_wrote:
            self._publisher_wrote = False
            return True
        return self._flush_slice(_pause_in(SLICE_US))

    def _flush_slice(self, pause: Pause, *, by_publisher: bool = False) -> bool:
        """Write until `pause` is due or, `by_publisher`, until the quota is used up. Return True while more is due.

        A slice of the flusher's own ends with its share of a round that something was published into.
        """
        written, is_enough = 0, False
        while self._round is not None or self._due:
            if self._round is None:
                channel = next(iter(self._due))
                del self._due[channel]
                recipients, at = channel.start_round()
                self._round = (channel, recipients, at, len(recipients.connections), channel.stream.end)
            if is_enough:
                return True  # The next round has begun, so that the next publish joins it.
            channel, recipients, at, left, end = self._round
            total = len(recipients.connections)
            share = total // SLICE_SHARE
            while left > 0:
                count = pause.every * BATCHES_PER_PASS
                if by_publisher:
                    count = min(count, max(self._publisher_quota, BATCH_MAX))
                elif self._is_joined:
                    count = min(count, max(share - written, BATCH_MAX))
                count = flush(channel, self.sender, recipients, at, min(count, left, total - at), pause)
                at, left = (at + count) % total, left - count
                self._publisher_quota = max(0, self._publisher_quota - count)
                written += count
                if by_publisher:
                    is_enough = not self._publisher_quota and written >= BATCH_MAX
                else:
                    is_enough = self._is_joined and written >= share
                if left and (is_enough or pause.is_due()):
                    self._round = (channel, recipients, at, left, end)
                    return True
            self._round = None
            is_last = not self._due
            if channel.stream.end != end:
                self._due[channel] = None  # The first members have not got what was appended meanwhile.
            else:
                channel.finish_round()
            channel.trim(end)
            if not is_last and pause.is_due():
                is_enough = (
                    True  # Many small channels, one for each choice of topics, take as long as a large one.
                )
        self._publisher_quota = 0
        self._is_joined = False
        return False


def _pause_in(slice_us: int) -> Pause:
    until_us = clock.monotonic_us() + slice_us
    return Pause(lambda: clock.monotonic_us() >= until_us)

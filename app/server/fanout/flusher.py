"""Connections that get the same bytes, and the writing to all of them in turns of two milliseconds at most.

    publish -> `append` to the stream -> a first turn at once, the rest between other work, until everybody stands at
               the end of the stream

What is published while a round is under way joins the stream, and whoever comes later in the round gets all of it in
one write. So a burst costs each connection a few writes, while a single notification leaves at once.
"""

from __future__ import annotations

import threading
import time

from app import clock
from app.server.fanout.batch_sender import LOTS, Pause, Sender
from app.server.fanout.channel import Channel
from app.server.fanout.closed import CLOSED_SLOW
from app.server.fanout.connection import DetachedConnection
from app.server.fanout.cursor_runs import CursorRuns
from app.server.fanout.flushing import flush_runs
from app.server.fanout.ring import LOT_MAX
from app.server.wsgi.loop import Loop

TURN_US = 2_000
"""Of writing before others have a turn: little beside what a network adds, much beside the cost of a turn, which between
two broadcasts is paid with cold caches (some 50 us)."""

TURN_SHARE = 16
"""Of a round: more is not written before others have a turn, once somebody publishes while it is under way. On a machine
that sends fast a turn of two milliseconds is half a round of a thousand: hardly anything would join it. And whoever
publishes by HTTP waits for the turn's end first."""

HELP_SHARE = 2
"""Of a round: whoever publishes while one is under way writes half of it first, and the broadcaster leaves its own next turn
out for that. Publishing faster than is written would make the rounds long and everybody's delay with them; so it slows down
who publishes, and not who listens. In connections and not in time, so that it is the same on a slow machine and a fast one.
Back to back it decides how much more is delivered than by a plain loop of `send`, and how late: with a half 1.7 to 2 times,
with a third 2.1 to 3, and each publish that lies within a round makes that longer by what it costs."""

HELP_US_MAX = 6_000
"""Of that in a row: with thousands of connections half of a round would hold up every other request."""

MERGE_US_MAX = 1_000
"""What was published waits no longer for the broadcaster's own turn: behind a publisher that lets nobody else run, the
next publish begins to write it. Turns of the loop are mostly shorter, and merge what is published within them."""


class Flusher:
    """Where the audiences are written to. All methods may be called from any thread.

    `lock` guards every audience and outlet; it is never held across anything that waits.
    """

    def __init__(self, loop: Loop, *, frames_max: int, bytes_max: int, sender: Sender | None = None) -> None:
        self.loop = loop
        self.lock = threading.RLock()
        self.sender = sender or Sender()
        self._frames_max = frames_max
        self.bytes_max = bytes_max
        """Of what waits for one outlet."""
        self._due: dict[Channel, None] = {}
        self._due_us = 0
        """Since when something has been."""
        self._round: tuple[Channel, CursorRuns, int, int, int] | None = None
        """Channel, its members, who is next, how many are left, and the end of the stream when the round began."""
        self._is_joined = False
        """Whether something was published while the round, or the one before it, was under way."""
        self._is_helped = False
        """Whether a publisher has written since the broadcaster's own turn."""
        self._owed = 0
        """Connections to be written to before the publish that is under way is over."""
        self.ending: set[DetachedConnection] = set()
        """Those whose last bytes are on their way."""
        self._is_rung = False
        self._bell = threading.Lock()
        self._bell.acquire()
        self._started = False

    def append(self, audience: Channel, frame: bytes) -> None:
        """Everyone of `audience` is to get `frame`; `write` begins with it. Call it under `lock`."""
        audience.stream.append(frame)
        audience.appended_us = clock.monotonic_us()
        if not self._due:
            self._due_us = audience.appended_us
        self._due[audience] = None
        self._owed += int(len(audience.members) / HELP_SHARE)
        for outlet in audience.too_slow(frames_max=self._frames_max, bytes_max=self.bytes_max):
            outlet.drop(CLOSED_SLOW)

    def write(self) -> None:
        """Begin to write what was appended: a turn now, the others by the broadcaster's own thread.

        Only the first call does so until that thread has run, or should have: whatever is published back to back is
        merged.
        """
        with self.lock:
            if self._is_rung:
                self._is_joined = True
                is_late = clock.monotonic_us() - self._due_us >= MERGE_US_MAX
                if self._round is not None or is_late:
                    self._is_helped = True
                    self._take_a_turn(_pause_in(HELP_US_MAX), is_help=True)
                return
            if not self._due:
                return
            self._is_rung = True
            self._take_a_turn(_pause_in(TURN_US))
        self._start()
        self._bell.release()

    def _start(self) -> None:
        if not self._started:
            self._started = True
            threading.Thread(target=self._run, name="siar-broadcaster", daemon=True).start()

    def _run(self) -> None:
        while True:
            self._bell.acquire()
            time.sleep(0)  # Whoever rang ends its turn first, and whoever waits to publish joins the round.
            while True:
                with self.lock:
                    if not self._take_own_turn():
                        self._is_rung = False
                        break
                time.sleep(0)

    def _take_own_turn(self) -> bool:
        """The broadcaster's, unless a publisher has written its share just before; whether something is left to write.

        Beside publishers that go on and on it would only write more often, and less at a time: of what is published
        from inside, two thirds as much was delivered, and no sooner.
        """
        if self._is_helped:
            self._is_helped = False
            return True
        return self._take_a_turn(_pause_in(TURN_US))

    def _take_a_turn(self, pause: Pause, *, is_help: bool = False) -> bool:
        """Write until `pause` is due, or as help until nothing is owed; whether something is left to write.

        A turn that is no help is over with its share of a round that somebody has published into.
        """
        written, is_enough = 0, False
        while self._round is not None or self._due:
            if self._round is None:
                audience = next(iter(self._due))
                del self._due[audience]
                row, at = audience.in_turn()
                self._round = (audience, row, at, len(row.outlets), audience.stream.end)
            if is_enough:
                return True  # With the next round begun: who publishes now joins that.
            audience, row, at, left, end = self._round
            total = len(row.outlets)
            share = total // TURN_SHARE
            while left > 0:
                count = pause.every * LOTS
                if is_help:
                    count = min(count, max(self._owed, LOT_MAX))
                elif self._is_joined:
                    count = min(count, max(share - written, LOT_MAX))
                count = flush_runs(audience, self.sender, row, at, min(count, left, total - at), pause)
                at, left = (at + count) % total, left - count
                self._owed = max(0, self._owed - count)
                written += count
                if is_help:
                    is_enough = not self._owed and written >= LOT_MAX
                else:
                    is_enough = self._is_joined and written >= share
                if left and (is_enough or pause.is_due()):
                    self._round = (audience, row, at, left, end)
                    return True
            self._round = None
            is_last = not self._due
            if audience.stream.end != end:
                self._due[audience] = None  # More came meanwhile: those at the front have not got it.
            else:
                audience.rest()
            audience.trim(end)
            if not is_last and pause.is_due():
                is_enough = True  # Each may choose topics of its own: many small audiences take as long as a large one.
        self._owed = 0
        self._is_joined = False
        return False


def _pause_in(turn_us: int) -> Pause:
    until_us = clock.monotonic_us() + turn_us
    return Pause(lambda: clock.monotonic_us() >= until_us)

"""Probes of the server's clock, from the clients' loop: all built-in clients share one clock, so one channel."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

from app import clock
from app.core.client import CLOCKS
from app.core.errors import MalformedFrame
from app.core.units import MonotonicUs
from app.lab.run.client_tls import address_of, encryption_for
from app.lab.run.links import Chunk, Link, Loop

SPACING_US = (1_500, 4_000)
"""Between probes of a burst. On Wi-Fi 15 to 40 ms are needed, to see the radio asleep and awake; there is no radio
between built-in clients and their server, and a demo's 48 trials must not spend ten seconds on their clock."""

ANSWER_TIMEOUT_US = 500_000
"""A probe without an answer is given up; the next one goes out."""


@dataclass(frozen=True, slots=True)
class ProbeStamps:
    """A probe as it is handed to the runner."""

    timebase: str
    t1_us: int
    t2_us: int
    t3_us: int
    t4_us: int


class ClockChannel:
    """The connection to the clock process. One probe is on its way at a time."""

    def __init__(
        self,
        loop: Loop,
        host: str,
        port: int,
        *,
        channel: str,
        on_ready: Callable[[], None],
        secure: bool = False,
    ) -> None:
        """`channel`: one of `CLOCKS`. Raises `OSError` when the connection is refused on the spot."""
        shown = f"[{host}]" if ":" in host else host
        url = f"{'https' if secure else 'http'}://{shown}:{port}"
        self.trouble: str | None = None
        """Why there is no channel any more."""
        self._loop = loop
        self._on_ready = on_ready
        self._protocol = CLOCKS[channel](url)
        self._random = random.Random()
        self._number = 0
        self._sent_us: MonotonicUs | None = None
        self._left = 0
        self._probes: list[ProbeStamps] = []
        self._on_burst: Callable[[list[ProbeStamps]], None] | None = None
        self._link = Link(
            *address_of(url), on_open=self._open, on_chunk=self._hear, encryption=encryption_for(url)
        )
        loop.add(self._link)

    def burst(self, count: int, on_done: Callable[[list[ProbeStamps]], None]) -> None:
        """Take `count` probes and hand over those that were answered. One burst at a time."""
        assert self._on_burst is None, "a burst began while another was running"
        self._left, self._probes, self._on_burst = count, [], on_done
        self._ask()

    @property
    def is_busy(self) -> bool:
        """Whether a burst is running."""
        return self._on_burst is not None

    def close(self) -> None:
        """Let the connection go."""
        self._loop.remove(self._link)

    def _open(self) -> None:
        self._loop.send(self._link, self._protocol.opening())

    def _ask(self) -> None:
        if self._left == 0 or self.trouble is not None:
            on_done, self._on_burst = self._on_burst, None
            if on_done is not None:
                on_done(self._probes)
            return
        self._left -= 1
        self._number += 1
        number = self._number
        question = self._protocol.question(number)
        self._sent_us = clock.monotonic_us()
        self._loop.send(self._link, question)
        self._loop.call_later(ANSWER_TIMEOUT_US, lambda: self._give_up(number))

    def _give_up(self, number: int) -> None:
        if self._sent_us is None or self._number != number:
            return
        self._sent_us = None
        if self._protocol.is_numbered:
            self._ask()
        else:
            # A late answer would be taken for that of the next question, which is a wrong stamp.
            self._fail("the server did not tell its time soon enough")

    def _hear(self, chunk: Chunk) -> None:
        was_ready = self._protocol.ready
        try:
            if not chunk.data:
                raise MalformedFrame(self._link.trouble or "The clock channel was closed.")
            answers = self._protocol.receive_data(chunk.data)
            if self._protocol.outgoing:
                self._loop.send(self._link, bytes(self._protocol.outgoing))
                self._protocol.outgoing.clear()
            for answer in answers:
                self._take(answer, chunk.read_us)
        except (MalformedFrame, KeyError, TypeError, ValueError) as error:
            self._fail(str(error))
            return
        if self._protocol.ready and not was_ready:
            self._on_ready()

    def _fail(self, why: str) -> None:
        self.trouble = why
        self._loop.remove(self._link)
        if self.is_busy:
            self._ask()

    def _take(self, answer: dict[str, object], read_us: MonotonicUs) -> None:
        if answer["probe"] != self._number or self._sent_us is None:
            return  # The late answer of a probe that was given up.
        stamps = (answer["received_us"], answer["sent_us"])
        if not all(isinstance(stamp, int) for stamp in stamps):
            raise MalformedFrame("An answer of the clock has no stamps.")
        received_us, sent_us = stamps
        assert isinstance(received_us, int)
        assert isinstance(sent_us, int)
        self._probes.append(
            ProbeStamps(str(answer["timebase"]), self._sent_us, received_us, sent_us, read_us)
        )
        self._sent_us = None
        self._loop.call_later(self._random.randint(*SPACING_US), self._ask)

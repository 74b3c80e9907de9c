"""Probes of the server's clock from the clients' event loop. All built-in clients share one clock, and so one channel."""

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
"""Range of the time between probes of a burst. Phones need 15 to 40 ms, to see the radio asleep and awake. Built-in clients
have no radio, and the 48 trials of a demo must not spend ten seconds on their clock."""

ANSWER_TIMEOUT_US = 500_000
"""Time after which a probe without an answer is given up and the next one is sent."""


@dataclass(frozen=True, slots=True)
class ProbeStamps:
    """The four stamps of a probe, and the time base of the server's two."""

    timebase: str
    t1_us: int
    t2_us: int
    t3_us: int
    t4_us: int


class ClockChannel:
    """The connection to the clock process, with at most one probe in flight."""

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
        """Connect to a channel of a kind in `CLOCKS`. Raises `OSError` when the connection is refused at once."""
        shown = f"[{host}]" if ":" in host else host
        url = f"{'https' if secure else 'http'}://{shown}:{port}"
        self.trouble: str | None = None
        """Reason why the channel failed; `None` while it works."""
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
            *address_of(url), on_open=self._open, on_chunk=self._receive, encryption=encryption_for(url)
        )
        loop.add(self._link)

    def burst(self, count: int, on_done: Callable[[list[ProbeStamps]], None]) -> None:
        """Send `count` probes, then call `on_done` with those that were answered. Only one burst may run at a time."""
        assert self._on_burst is None, "a burst began while another was running"
        self._left, self._probes, self._on_burst = count, [], on_done
        self._probe()

    @property
    def is_busy(self) -> bool:
        """True while a burst is running."""
        return self._on_burst is not None

    def close(self) -> None:
        """Close the connection."""
        self._loop.remove(self._link)

    def _open(self) -> None:
        self._loop.send(self._link, self._protocol.opening())

    def _probe(self) -> None:
        """Send the next probe of the burst, or end the burst."""
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
            self._probe()
        else:
            # A late answer could not be told from the next probe's, which would give wrong stamps.
            self._fail("the server did not tell its time soon enough")

    def _receive(self, chunk: Chunk) -> None:
        was_ready = self._protocol.ready
        try:
            if not chunk.data:
                raise MalformedFrame(self._link.trouble or "The clock channel was closed.")
            answers = self._protocol.receive_data(chunk.data)
            if self._protocol.outgoing:
                self._loop.send(self._link, bytes(self._protocol.outgoing))
                self._protocol.outgoing.clear()
            for answer in answers:
                self._add_probe(answer, chunk.read_us)
        except (MalformedFrame, KeyError, TypeError, ValueError) as error:
            self._fail(str(error))
            return
        if self._protocol.ready and not was_ready:
            self._on_ready()

    def _fail(self, why: str) -> None:
        self.trouble = why
        self._loop.remove(self._link)
        if self.is_busy:
            self._probe()

    def _add_probe(self, answer: dict[str, object], read_us: MonotonicUs) -> None:
        if answer["probe"] != self._number or self._sent_us is None:
            return  # A late answer to a probe that was given up.
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
        self._loop.call_later(self._random.randint(*SPACING_US), self._probe)

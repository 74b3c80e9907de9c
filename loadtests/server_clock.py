"""The server's time for Locust's own pages: the narrowest of a few questions to `GET /api/clock`.

Right to half of that round trip while the clocks do not drift apart, which is enough for a page. `./siar load` has the
estimator of `measurement.md` with its bound, and does not use this.
"""

from __future__ import annotations

import contextlib
import json
import time
from dataclasses import dataclass
from typing import Self

import gevent

from app.core.errors import MalformedFrame
from app.core.protocol.http_response import ResponseDecoder
from loadtests.stamps import READ_BYTES, dial

QUESTIONS = 12

TIMEOUT_S = 5.0
"""For all of them: a host that takes connections and says nothing would hold Locust before its first user."""


@dataclass(frozen=True, slots=True)
class ServerClock:
    """What turns this process's monotonic clock into the server's time base."""

    offset_us: float

    @classmethod
    def ask(
        cls, host: str, port: int, *, is_encrypted: bool = False, timeout_s: float = TIMEOUT_S
    ) -> Self | None:
        """A clock by some questions, by those of them that are answered in time; `None` where nobody answers."""
        best: tuple[float, float] | None = None
        with gevent.Timeout(timeout_s, False):  # noqa: FBT003 - gevent's signature: it ends the block, and raises nothing
            for _ in range(QUESTIONS):
                with contextlib.suppress(OSError, ValueError, KeyError, MalformedFrame):
                    found = _ask_once(host, port, is_encrypted=is_encrypted)
                    best = found if best is None else min(best, found)
        return None if best is None else cls(best[1])

    def server_us(self, monotonic_us: float) -> float:
        """A moment of this process in the server's time."""
        return monotonic_us + self.offset_us


def _ask_once(host: str, port: int, *, is_encrypted: bool) -> tuple[float, float]:
    """Round trip and offset, microseconds."""
    decoder, body = ResponseDecoder(), b""
    with contextlib.closing(dial(host, port, is_encrypted=is_encrypted)) as sock:
        sent_us = time.monotonic_ns() / 1000
        sock.sendall(f"GET /api/clock HTTP/1.1\r\nHost: {host}:{port}\r\nConnection: close\r\n\r\n".encode())
        heard_us = sent_us
        while not decoder.finished:
            data = sock.recv(READ_BYTES)
            heard_us = time.monotonic_ns() / 1000
            if not data:
                break
            body += decoder.feed(data)
    answer = json.loads(body)
    received_us, answered_us = float(answer["received_us"]), float(answer["sent_us"])
    trip_us = (heard_us - sent_us) - (answered_us - received_us)
    return trip_us, (received_us + answered_us) / 2 - (sent_us + heard_us) / 2

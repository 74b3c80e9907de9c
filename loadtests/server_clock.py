"""Estimate of the server's time for Locust's own pages, from the shortest of a few requests to `GET /api/clock`.

Its error is at most half of that round trip plus the drift of the clocks, which suffices for a page. `./siar load` uses
the estimator of `measurement.md` with its bound instead.
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
"""Time limit for all requests, since a host that accepts connections but never answers would block Locust's start."""


@dataclass(frozen=True, slots=True)
class ServerClock:
    """Offset from this process's monotonic clock to the server's time base."""

    offset_us: float

    @classmethod
    def ask(
        cls, host: str, port: int, *, is_encrypted: bool = False, timeout_s: float = TIMEOUT_S
    ) -> Self | None:
        """Estimate the offset from the requests that are answered in time; `None` if none is."""
        best: tuple[float, float] | None = None
        with gevent.Timeout(timeout_s, False):  # noqa: FBT003 - gevent's signature: it ends the block, and raises nothing
            for _ in range(QUESTIONS):
                with contextlib.suppress(OSError, ValueError, KeyError, MalformedFrame):
                    found = _ask_once(host, port, is_encrypted=is_encrypted)
                    best = found if best is None else min(best, found)
        return None if best is None else cls(best[1])

    def server_us(self, monotonic_us: float) -> float:
        """Convert a moment of this process to the server's time."""
        return monotonic_us + self.offset_us


def _ask_once(host: str, port: int, *, is_encrypted: bool) -> tuple[float, float]:
    """Make one request; return the round trip and the offset, microseconds."""
    decoder, body = ResponseDecoder(), b""
    with contextlib.closing(dial(host, port, is_encrypted=is_encrypted)) as sock:
        sent_us = time.monotonic_ns() / 1000
        sock.sendall(f"GET /api/clock HTTP/1.1\r\nHost: {host}:{port}\r\nConnection: close\r\n\r\n".encode())
        read_us = sent_us
        while not decoder.finished:
            data = sock.recv(READ_BYTES)
            read_us = time.monotonic_ns() / 1000
            if not data:
                break
            body += decoder.feed(data)
    answer = json.loads(body)
    received_us, answered_us = float(answer["received_us"]), float(answer["sent_us"])
    trip_us = (read_us - sent_us) - (answered_us - received_us)
    return trip_us, (received_us + answered_us) / 2 - (sent_us + read_us) / 2

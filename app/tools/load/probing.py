"""Probes during a trial, at times fixed in advance: history over HTTP, the server's clock, and Redis.

    GET /api/notifications   5 a second, each on a new connection; measured from the due time
    GET /api/clock          10 a second on one connection: how long the server's event loop delays a request
    PING                     2 a second on one connection: the round trip to Redis

A slow answer does not delay later requests for history (open model). The other two send one request at a time, measured
from sending. All are sent by the runner's process, which shares the generator's cores and is otherwise idle.
"""

from __future__ import annotations

import contextlib
import http.client
import itertools
import re
import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit

from app import clock
from app.core.pacing import due_us
from app.core.wire import USER_AGENT
from app.lab.run.api import Server
from app.tools.bench.own_redis import RedisHere
from app.tools.load.latency_probe import ANSWER_TIMEOUT_S, ClockClient, LatencyProbe, PingClient
from app.tools.load.probe_line import Probed
from app.tools.load.watch import cpu_ns

HISTORY_HZ = 5.0
CLOCK_HZ = 10.0
PING_HZ = 2.0

CONCURRENT_MAX = 32
"""Number of concurrent requests for history. Further ones wait, and their time is counted."""

NO_CACHE = "none"

_COUNTED = re.compile(r'^siar_history_answers(_seconds)?_total\{outcome="(\w+)"\} (\S+)$', re.MULTILINE)


class Probes:
    """The probes of one window."""

    def __init__(self, server: Server, redis: RedisHere) -> None:
        """Connect, and request history once, so that a cache is warm."""
        parts = urlsplit(server.url)
        self._host, self._port = parts.hostname or "", parts.port or 80
        self._token = server.admin_token
        self._redis = redis
        self._stopping = threading.Event()
        self._pool = ThreadPoolExecutor(CONCURRENT_MAX, thread_name_prefix="siar-probe")
        self._asked = 0
        self._lock = threading.Lock()
        self._failures: Counter[str] = Counter()
        self._answers_us: dict[str, list[int]] = {}
        self._clock = LatencyProbe(lambda: ClockClient(self._host, self._port))
        self._ping = LatencyProbe(lambda: PingClient(redis.port))
        with contextlib.suppress(OSError, http.client.HTTPException):
            self._get("/api/notifications")
        self._counted = self._counts()
        self._redis_ns = cpu_ns(redis.pid)
        self._begun_us = clock.monotonic_us()
        self._threads = [
            threading.Thread(target=self._every, args=arguments, name="siar-probes", daemon=True)
            for arguments in (
                (HISTORY_HZ, self._submit_history),
                (CLOCK_HZ, self._clock.ask),
                (PING_HZ, self._ping.ask),
            )
        ]
        for thread in self._threads:
            thread.start()

    def answered(self, outcome: str | None = None) -> int:
        """Return the number of answered requests for history so far, of one outcome or of all."""
        with self._lock:
            return sum(len(us) for name, us in self._answers_us.items() if outcome in (None, name))

    def min_count(self) -> int:
        """Return the smallest number of answers and failures of the three kinds of probes."""
        history = self.answered() + sum(self.failures().values())
        return min(history, self._clock.count, self._ping.count)

    def failures(self) -> dict[str, int]:
        """Return the numbers of failed requests for history so far, by reason."""
        with self._lock:
            return dict(self._failures)

    def end(self) -> Probed:
        """End the window, wait for open requests, and return the records."""
        self._stopping.set()
        for thread in self._threads:
            thread.join()
        ended_us, redis_ns = clock.monotonic_us(), cpu_ns(self._redis.pid)
        self._pool.shutdown()
        self._clock.close()
        self._ping.close()
        counted = self._counts()
        both_known = redis_ns is not None and self._redis_ns is not None
        return Probed(
            seconds=(ended_us - self._begun_us) / 1e6,
            asked=self._asked,
            failures=self.failures(),
            answers_us={name: tuple(us) for name, us in self._answers_us.items()},
            loop_us=tuple(self._clock.us),
            loop_failures=self._clock.failures,
            ping_us=tuple(self._ping.us),
            ping_failures=self._ping.failures,
            in_server_s=_increase(self._counted, counted),
            redis_cpu_s=(redis_ns - self._redis_ns) / 1e9 if both_known else None,  # type: ignore[operator]
        )

    def _every(self, rate_hz: float, ask: Callable[[int], None]) -> None:
        for number in itertools.count():
            due = due_us(self._begun_us, rate_hz, number)
            if self._stopping.wait(max(0, due - clock.monotonic_us()) / 1e6):
                return
            ask(due)

    def _submit_history(self, due: int) -> None:
        self._asked += 1
        self._pool.submit(self._ask_history, due)

    def _ask_history(self, due: int) -> None:
        try:
            status, outcome, _ = self._get("/api/notifications")
        except (OSError, http.client.HTTPException) as error:
            with self._lock:
                self._failures[type(error).__name__] += 1
            return
        took_us = clock.monotonic_us() - due
        with self._lock:
            if status == 200:
                self._answers_us.setdefault(outcome, []).append(took_us)
            else:
                self._failures[f"status {status}"] += 1

    def _get(self, path: str) -> tuple[int, str, bytes]:
        """Return status, cache outcome and body. Raises `OSError` and `HTTPException`."""
        connection = http.client.HTTPConnection(self._host, self._port, timeout=ANSWER_TIMEOUT_S)
        headers = {"Connection": "close", "User-Agent": USER_AGENT, "Authorization": f"Bearer {self._token}"}
        try:
            connection.request("GET", path, headers=headers)
            answer = connection.getresponse()
            body = answer.read()
            return answer.status, _cache_outcome(answer.getheader("Cache-Status")), body
        finally:
            connection.close()

    def _counts(self) -> dict[str, tuple[int, float]]:
        try:
            text = self._get("/metrics")[2].decode()
        except (OSError, http.client.HTTPException):
            return {}
        found: dict[str, list[float]] = {}
        for is_time, outcome, value in _COUNTED.findall(text):
            found.setdefault(outcome, [0.0, 0.0])[bool(is_time)] = float(value)
        return {outcome: (round(count), seconds) for outcome, (count, seconds) in found.items()}


def _cache_outcome(status: str | None) -> str:
    """Return the outcome of a Cache-Status such as `siar; hit`, `siar; fwd=miss`, `siar; fwd=bypass` (RFC 9211)."""
    return NO_CACHE if status is None else status.rpartition(" ")[2].removeprefix("fwd=")


def _increase(
    before: dict[str, tuple[int, float]], after: dict[str, tuple[int, float]]
) -> dict[str, tuple[int, float]]:
    found = {}
    for outcome, (count, seconds) in after.items():
        old_count, old_s = before.get(outcome, (0, 0.0))
        if count > old_count:
            found[outcome] = (count - old_count, seconds - old_s)
    return found

"""Locust's processes as seen by the runner: users are distributed among them, and their records are merged."""

from __future__ import annotations

import base64
import contextlib
from array import array
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from app import clock
from app.core.errors import Unfit
from app.lab.run.client_link import ClientLink

MODULE = "loadtests.generator"

ANSWER_TIMEOUT_S = 60.0

REPLAYED = 1
SHARED = 2
"""Bits of a row's flags, as set by `loadtests/recording.py`."""

_COLUMNS = {"client": "I", "seq": "I", "offset": "q", "read_ns": "q", "kernel_ns": "q", "flags": "B"}


@dataclass(frozen=True, slots=True)
class Handshakes:
    """Outcomes of the attempts to connect."""

    wanted: int
    """Number of users."""
    connected: int
    """Number of those users that were connected at the end of connecting, or when a trial began."""
    attempts: int
    failures: Mapping[str, int]
    """Numbers of failed attempts by reason."""
    connect_us: tuple[int, ...]
    """Duration of each successful handshake, from dialling to the server's confirmation."""

    @property
    def failed(self) -> int:
        """Number of failed attempts, for whatever reason."""
        return sum(self.failures.values())


@dataclass(frozen=True, slots=True)
class GeneratorRow:
    """One arrival at one user."""

    client: int
    seq: int
    offset: int
    read_ns: int
    kernel_ns: int
    """0: no kernel stamp."""
    flags: int


@dataclass(frozen=True, slots=True)
class Gathered:
    """Merged records of all processes for one trial."""

    rows: tuple[GeneratorRow, ...]
    """Rows by process, each in the order of reading."""
    handshakes: Handshakes
    lag_ms_p99: float | None
    """Event loop lag of the worst process."""
    cpu_s: float
    disconnects: int
    """Number of connections that broke since `expect`."""
    malformed: int
    broken_before: int = 0
    """Number of connections that broke between connecting and `expect`: before the trial, but counted as errors too."""


class GeneratorProcess(ClientLink):
    """One process of Locust. Methods that wait for an answer raise `Unfit` on a timeout."""

    __slots__ = ()

    def order_users(self, order: Mapping[str, Any]) -> None:
        """Order users to be started; `await_users` returns the outcome."""
        self._command({"do": "connect", **order})

    def await_users(self, timeout_s: float) -> dict[str, Any]:
        """Return the answer to `order_users`."""
        with _in_words():
            return self._await("ready", timeout_s=timeout_s)

    def expect_trial(self, expectation: Mapping[str, Any]) -> None:
        """Announce the next trial."""
        self._command({"do": "expect", **expectation})

    def order_collection(self) -> None:
        """Order the recorded arrivals; `await_collection` returns them."""
        self._command({"do": "collect"})

    def await_collection(self) -> dict[str, Any]:
        """Return the answer to `order_collection`."""
        with _in_words():
            return self._await("collected", timeout_s=ANSWER_TIMEOUT_S)

    def disconnect(self) -> None:
        """Disconnect the users."""
        with _in_words():
            super().disconnect()


class Generators:
    """All processes, and the distribution of users among them."""

    def __init__(self, processes: Sequence[GeneratorProcess]) -> None:
        self._processes = processes
        self._busy: list[GeneratorProcess] = []
        """Processes that have users."""
        self._complete: set[int] = set()
        """Ids of processes that have reported completion since `expect`, which they do once."""
        self._wanted = 0
        self.handshakes = Handshakes(0, 0, 0, {}, ())

    @property
    def pids(self) -> list[int]:
        """The process ids."""
        return [each.pid for each in self._processes]

    def connect(
        self,
        clients: Sequence[int],
        *,
        transport: str,
        url: str,
        topics: Sequence[str],
        fanout: str | None,
        spawn_rate: float,
        timeout_s: float,
    ) -> Handshakes:
        """Connect users at `spawn_rate` per second in total. Those not connected after `timeout_s` have failed."""
        self._wanted = len(clients)
        count = len(self._processes)
        shares = [list(clients[place::count]) for place in range(count)]
        self._busy = [each for each, share in zip(self._processes, shares, strict=True) if share]
        order = {"transport": transport, "url": url, "topics": list(topics), "fanout": fanout}
        for each, share in zip(self._processes, shares, strict=True):
            if share:
                rate = max(1.0, spawn_rate * len(share) / len(clients))
                each.order_users({**order, "clients": share, "spawn_rate": rate, "timeout_s": timeout_s})
        answers = [each.await_users(timeout_s + ANSWER_TIMEOUT_S) for each in self._busy]
        self.handshakes = self._handshakes(answers)
        return self.handshakes

    def expect(self, run: str | None, trial: int, count: int, *, first_offset: int = 0) -> None:
        """Announce the next trial to all processes."""
        self._complete.clear()
        for each in self._busy:
            each.expect_trial({"run": run, "trial": trial, "count": count, "first_offset": first_offset})

    def wait_until_complete(self, timeout_s: float) -> bool:
        """Return whether every connected user received everything within the time."""
        until_us = clock.monotonic_us() + round(timeout_s * 1e6)
        for each in self._busy:
            if each.pid not in self._complete:
                if not each.wait_until_complete(max(0, until_us - clock.monotonic_us()) / 1e6):
                    return False
                self._complete.add(each.pid)
        return True

    def collect(self) -> Gathered:
        """Return the merged records since `expect`."""
        for each in self._busy:
            each.order_collection()
        answers = [each.await_collection() for each in self._busy]
        lags_ms = [each["lag_ms_p99"] for each in answers if each["lag_ms_p99"] is not None]
        self.handshakes = self._handshakes(
            [{**each, "connected": each["expected"]} for each in answers],
        )
        return Gathered(
            rows=tuple(row for each in answers for row in _rows(each)),
            handshakes=self.handshakes,
            lag_ms_p99=max(lags_ms, default=None),
            cpu_s=sum(each["cpu_s"] for each in answers),
            disconnects=sum(each["disconnects"] for each in answers),
            malformed=sum(each["malformed"] for each in answers),
            broken_before=sum(each["broken_before"] for each in answers),
        )

    def disconnect(self) -> None:
        """Disconnect all users."""
        for each in self._busy:
            each.disconnect()
        self._busy = []

    def _handshakes(self, answers: Sequence[Mapping[str, Any]]) -> Handshakes:
        failures: Counter[str] = Counter()
        for each in answers:
            failures.update(each["failures"])
        return Handshakes(
            wanted=self._wanted,
            connected=sum(each["connected"] for each in answers),
            attempts=sum(each["attempts"] for each in answers),
            failures=dict(failures),
            connect_us=tuple(us for each in answers for us in each["connect_us"]),
        )


@contextlib.contextmanager
def _in_words() -> Iterator[None]:
    try:
        yield
    except TimeoutError as error:
        raise Unfit("A process of Locust's does not answer in time: lower --users or --rate.") from error


def _rows(answer: Mapping[str, Any]) -> list[GeneratorRow]:
    columns = []
    for name, kind in _COLUMNS.items():
        column = array(kind)
        column.frombytes(base64.b64decode(answer[name]))
        columns.append(column)
    if len({len(column) for column in columns}) != 1:
        raise Unfit("A generator handed over columns of different lengths.")
    return [GeneratorRow(*values) for values in zip(*columns, strict=True)]

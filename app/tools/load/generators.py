"""Locust's processes as the runner sees them: each with a share of the users, their columns put together afterwards."""

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
"""Bits of a row's flags, as `loadtests/recording.py` sets them."""

_COLUMNS = {"client": "I", "seq": "I", "offset": "q", "read_ns": "q", "kernel_ns": "q", "flags": "B"}


@dataclass(frozen=True, slots=True)
class Handshakes:
    """What became of the attempts to connect: data with a denominator."""

    wanted: int
    """Users."""
    connected: int
    """Of those, how many held a connection at the end of connecting, or when a trial began."""
    attempts: int
    failures: Mapping[str, int]
    """By reason."""
    connect_us: tuple[int, ...]
    """Of each success, from dialling to the server's word."""

    @property
    def failed(self) -> int:
        """Attempts that came to nothing, for whatever reason."""
        return sum(self.failures.values())


@dataclass(frozen=True, slots=True)
class GeneratorRow:
    """One arrival at one user."""

    client: int
    seq: int
    offset: int
    read_ns: int
    kernel_ns: int
    """0: none."""
    flags: int


@dataclass(frozen=True, slots=True)
class Gathered:
    """What all processes kept of a trial."""

    rows: tuple[GeneratorRow, ...]
    """By process, each in the order in which it read."""
    handshakes: Handshakes
    lag_ms_p99: float | None
    """Of the process that was latest."""
    cpu_s: float
    disconnects: int
    """Connections that broke since `expect`."""
    malformed: int
    broken_before: int = 0
    """Connections that broke between connecting and `expect`: no trial was under way, and they count all the same."""


class GeneratorProcess(ClientLink):
    """One process of Locust's. What waits for an answer raises `Unfit` when none comes in time."""

    __slots__ = ()

    def order_users(self, order: Mapping[str, Any]) -> None:
        """Have users started; `await_users` hears what became of it."""
        self._command({"do": "connect", **order})

    def await_users(self, timeout_s: float) -> dict[str, Any]:
        """The answer to `order_users`."""
        with _in_words():
            return self._await("ready", timeout_s=timeout_s)

    def expect_trial(self, expectation: Mapping[str, Any]) -> None:
        """Tell what is about to come."""
        self._command({"do": "expect", **expectation})

    def order_collection(self) -> None:
        """Have what arrived handed over."""
        self._command({"do": "collect"})

    def await_collection(self) -> dict[str, Any]:
        """The answer to `order_collection`."""
        with _in_words():
            return self._await("collected", timeout_s=ANSWER_TIMEOUT_S)

    def disconnect(self) -> None:
        """Let the users go."""
        with _in_words():
            super().disconnect()


class Generators:
    """All processes, and how users are shared out among them."""

    def __init__(self, processes: Sequence[GeneratorProcess]) -> None:
        self._processes = processes
        self._busy: list[GeneratorProcess] = []
        """Those that hold users."""
        self._complete: set[int] = set()
        """Those that have said so since `expect`, by process id: they say it once."""
        self._wanted = 0
        self.handshakes = Handshakes(0, 0, 0, {}, ())

    @property
    def pids(self) -> list[int]:
        """The processes."""
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
        """Connect users, as many a second as `spawn_rate` in all; what is not in by `timeout_s` has not connected."""
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
        """Tell all what is about to come."""
        self._complete.clear()
        for each in self._busy:
            each.expect_trial({"run": run, "trial": trial, "count": count, "first_offset": first_offset})

    def wait_until_complete(self, timeout_s: float) -> bool:
        """Whether everyone that is connected has everything within the time."""
        until_us = clock.monotonic_us() + round(timeout_s * 1e6)
        for each in self._busy:
            if each.pid not in self._complete:
                if not each.wait_until_complete(max(0, until_us - clock.monotonic_us()) / 1e6):
                    return False
                self._complete.add(each.pid)
        return True

    def collect(self) -> Gathered:
        """What arrived since `expect`."""
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
        """Let all users go."""
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

"""The runner's side of the built-in clients' process: it sends commands and waits for answers, each with a time limit."""

from __future__ import annotations

import contextlib
import json
import queue
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Self

from app import clock
from app.core.clocksync.sync import Probe
from app.core.errors import Unfit
from app.core.timeline import Opening, Upload
from app.i18n import ending
from app.lab.run import processes
from app.lab.run.clients import Arrival
from app.lab.run.simulated_clock import SimulatedClock
from app.store.store import StampedProbe

READY_TIMEOUT_S = 15.0
ANSWER_TIMEOUT_S = 30.0
"""Time limit of an answer; the arrivals of a thousand clients take seconds."""

CLOCK_NAME = "built-in"
"""Name of the clock that all built-in clients share, because they share one process."""

_STOP_LOOK_S = 0.25
"""Period in which a long wait checks whether the run should stop."""

_STOP_PATIENCE_S = 2.0


class Stopped(Exception):
    """The run should end; waits raise this, and the runner catches it."""


@dataclass(frozen=True, slots=True)
class Collected:
    """The records that the clients collected in a trial."""

    arrivals: dict[int, tuple[Arrival, ...]]
    """Arrivals by client."""
    loop_lag_ms_p99: float | None
    cpu_s: float
    disconnects: int
    addresses: dict[int, tuple[tuple[str, int], ...]]
    """Local addresses of each client's connections."""
    openings: tuple[Opening, ...] = ()
    uploads: tuple[Upload, ...] = ()


@dataclass(slots=True)
class ClientLink:
    """Handle of the clients' process; as a context manager it ends the process."""

    stopping: Callable[[], bool] = lambda: False
    """Checked in every wait; when it returns true, the wait raises `Stopped`."""
    module: str = "app.lab.run.client_process"
    """Module that runs as the process; it has to take the same commands."""
    answer_timeout_s: float = ANSWER_TIMEOUT_S
    _process: subprocess.Popen[bytes] = field(init=False, repr=False)
    _answers: queue.SimpleQueue[dict[str, Any] | None] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._answers = queue.SimpleQueue()
        self._process = processes.spawn(
            processes.python_module(self.module),
            env=processes.environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        threading.Thread(target=self._read, name="siar-clients", daemon=True).start()

    @property
    def pid(self) -> int:
        """Process id of the clients' process."""
        return self._process.pid

    def open_clock(self, host: str, port: int, *, channel: str = "websocket", secure: bool = False) -> None:
        """Open the clock channel, over TLS if `secure`. Raises `Unfit` when nobody answers there."""
        self._command({"do": "clock", "host": host, "port": port, "channel": channel, "secure": secure})
        try:
            answer = self._await("clock_ready", timeout_s=READY_TIMEOUT_S, or_kind="trouble")
        except TimeoutError:
            answer = {"is": "trouble"}
        if answer["is"] == "trouble":
            raise Unfit(ending("clock_unreachable", host=host, port=port))

    def simulate_clock(self, simulated: SimulatedClock) -> None:
        """Make the clients report all stamps by a simulated clock from now on."""
        self._command({"do": "pretend", **asdict(simulated)})

    def connect(self, clients: Sequence[dict[str, Any]]) -> None:
        """Connect clients in this order and wait until all are ready. Raises `Unfit` with the reasons of those that are not."""
        self._command({"do": "connect", "clients": list(clients)})
        try:
            self._await("ready", timeout_s=READY_TIMEOUT_S)
        except TimeoutError as error:
            self._command({"do": "trouble"})
            texts = self._answer("trouble")["texts"]
            raise Unfit(ending("clients_not_connected", reasons="; ".join(texts))) from error

    def burst(self, count: int) -> list[StampedProbe]:
        """Probe the clock; return also the probes of the last trial, first. Raises `Unfit` when no new probe is answered."""
        self._command({"do": "burst", "count": count})
        answer = self._answer("probes")
        if not answer["answered"]:
            raise Unfit(ending("clock_gone"))
        return [StampedProbe(CLOCK_NAME, timebase, Probe(*stamps)) for timebase, *stamps in answer["rows"]]

    def expect(self, run: str, trial: int, count: int) -> None:
        """Announce a trial of `count` notifications to the clients."""
        self._command({"do": "expect", "run": run, "trial": trial, "count": count})

    def wait_until_complete(self, timeout_s: float) -> bool:
        """Wait until every client has received everything; return false when the time is over."""
        try:
            self._await("complete", timeout_s=timeout_s)
        except TimeoutError:
            return False
        return True

    def collect(self) -> Collected:
        """Return what arrived since `expect`. Raises `Unfit` when the process hangs, as `burst` and `disconnect` do."""
        self._command({"do": "collect"})
        arrivals, addresses = {}, {}
        openings: list[Opening] = []
        uploads: list[Upload] = []
        while True:
            answer = self._answer("arrivals", or_kind="collected")
            if answer["is"] == "collected":
                break
            client = int(answer["client"])
            arrivals[client] = tuple(Arrival(*row) for row in answer["rows"])
            addresses[client] = tuple((str(host), int(port)) for host, port in answer["addresses"])
            openings += [Opening(client, place, *stamps) for place, stamps in enumerate(answer["openings"])]
            uploads += [Upload(client, at_us, count) for at_us, count in answer["uploads"]]
        return Collected(
            arrivals,
            answer["loop_lag_ms_p99"],
            answer["cpu_s"],
            answer["disconnects"],
            addresses,
            tuple(openings),
            tuple(uploads),
        )

    def disconnect(self) -> None:
        """Disconnect the clients."""
        self._command({"do": "disconnect"})
        self._answer("disconnected")

    def pause(self, seconds: float) -> None:
        """Wait. Raises `Stopped` when the run should end meanwhile."""
        until_us = clock.monotonic_us() + round(seconds * 1e6)
        while (left_us := until_us - clock.monotonic_us()) > 0:
            self._check_stop()
            time.sleep(min(left_us / 1e6, _STOP_LOOK_S))

    def stop(self) -> None:
        """End the process. May be called twice."""
        if self._process.stdin is not None:
            with contextlib.suppress(OSError):
                self._process.stdin.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_STOP_PATIENCE_S)
        processes.stop(self._process, patience_s=_STOP_PATIENCE_S)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.stop()

    def _command(self, command: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(command).encode() + b"\n")
            self._process.stdin.flush()
        except OSError as error:
            raise Unfit(ending("clients_died")) from error

    def _answer(self, kind: str, *, or_kind: str | None = None) -> dict[str, Any]:
        """Return an answer that does not depend on the network. Raises `Unfit` when there is none, because the process hangs."""
        try:
            return self._await(kind, timeout_s=self.answer_timeout_s, or_kind=or_kind)
        except TimeoutError as error:
            raise Unfit(ending("clients_silent", seconds=self.answer_timeout_s)) from error

    def _await(self, kind: str, *, timeout_s: float, or_kind: str | None = None) -> dict[str, Any]:
        """Return the next answer of this kind, and skip a `complete` that came too late for its trial."""
        until_us = clock.monotonic_us() + round(timeout_s * 1e6)
        while True:
            self._check_stop()
            left_s = (until_us - clock.monotonic_us()) / 1e6
            try:
                answer = self._answers.get(timeout=max(0.0, min(left_s, _STOP_LOOK_S)))
            except queue.Empty:
                if left_s <= 0:
                    raise TimeoutError(f"the clients' process did not say {kind!r}") from None
                continue
            if answer is None:
                raise Unfit(ending("clients_died"))
            if answer["is"] in (kind, or_kind):
                return answer

    def _check_stop(self) -> None:
        if self.stopping():
            raise Stopped

    def _read(self) -> None:
        # A line that is no JSON is the last one of a process that was killed while it wrote.
        with contextlib.suppress(ValueError):
            for answer in self._lines():
                self._answers.put(answer)
        self._answers.put(None)

    def _lines(self) -> Iterator[dict[str, Any]]:
        assert self._process.stdout is not None
        with self._process.stdout as output:
            for line in output:
                yield json.loads(line)

"""The built-in clients' process: `python -P -m app.lab.run.client_process`.

Commands are JSON lines on standard input, answers are JSON lines on standard output. The process ends at the end of its input.
While a trial runs it writes only the line `complete`.

    {"do": "clock", "host", "port", "channel", "secure"}   {"is": "clock_ready"}
    {"do": "pretend", "offset_us", ...}              no answer; the keys are the fields of `SimulatedClock`
    {"do": "connect", "clients": [{...}, ...]}       {"is": "ready"}
    {"do": "burst", "count"}                         {"is": "probes", "answered", "rows": [[timebase, t1, t2, t3, t4], ...]}
    {"do": "expect", "run", "trial", "count"}        {"is": "complete"}, once every client has everything
    {"do": "collect"}                                {"is": "arrivals", "client", "rows", "addresses", "openings", "uploads"} for each,
                                                     {"is": "collected", "loop_lag_ms_p99", "disconnects", ...}
    {"do": "trouble"}                                {"is": "trouble", "texts": [...]}
    {"do": "disconnect"}                             {"is": "disconnected"}
"""

from __future__ import annotations

import gc
import json
import os
import random
import resource
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import astuple, replace
from typing import Any

from app import clock
from app.lab.run.client_clock import ClockChannel, ProbeStamps
from app.lab.run.clients import Arrival, Clients, ClientSpec, Expectation
from app.lab.run.links import Loop
from app.lab.run.simulated_clock import TRUE_CLOCK, SimulatedClock
from app.lab.run.ticker import Ticker

KERNEL_CLOCK_PERIOD_US = 1_000_000
"""Period of reading the offset between CLOCK_REALTIME, of the kernel's stamps, and CLOCK_MONOTONIC."""

BURST_IN_TRIAL_COUNT = 8
BURST_IN_TRIAL_PERIOD_US = (4_000_000, 6_000_000)
"""Range of the time between bursts during a trial: a sample needs probes within 15 s before and after it."""

LINE_BYTES_MAX = 4 * 1024 * 1024
"""Longest command, enough for a thousand clients with topics; the reader ends at a longer one."""


class ClientProcess:
    """Carries out commands on clients and clock, and writes the answers."""

    def __init__(self, write: Callable[[dict[str, Any]], None]) -> None:
        self.loop = Loop()
        self._write = write
        self._clients = Clients(self.loop, on_ready=lambda: write({"is": "ready"}))
        self._clock: ClockChannel | None = None
        self._simulated_clock = TRUE_CLOCK
        self._probes: list[ProbeStamps] = []
        self._lags_us: list[float] = []
        self._trial_number = 0
        self._cpu_start_ns = 0
        self._start_ticker()
        self._read_kernel_clock()

    def command(self, line: bytes) -> None:
        """Carry out one command. A malformed one is a bug in the runner and ends the process."""
        command = json.loads(line)
        getattr(self, f"do_{command.pop('do')}")(**command)

    def do_clock(self, host: str, port: int, channel: str, *, secure: bool) -> None:
        """Open the clock channel."""
        if self._clock is not None:
            self._clock.close()
        try:
            self._clock = ClockChannel(
                self.loop,
                host,
                port,
                channel=channel,
                secure=secure,
                on_ready=lambda: self._write({"is": "clock_ready"}),
            )
        except OSError as error:
            self._clock = None
            self._write({"is": "trouble", "texts": [f"no clock channel: {error.strerror or error}"]})

    def do_pretend(self, **errors: float) -> None:
        """Report stamps as read from a simulated clock from now on."""
        self._simulated_clock = SimulatedClock(**errors)

    def do_connect(self, clients: list[dict[str, Any]]) -> None:
        """Connect clients, in the given order."""
        self._clients.connect([ClientSpec(**client) for client in clients])

    def do_burst(self, count: int) -> None:
        """Probe the clock; report these probes and all since the last report."""
        if self._clock is None:
            self._hand_over_probes([])
        elif self._clock.is_busy:
            self.loop.call_later(1_000, lambda: self.do_burst(count))
        else:
            self._clock.burst(count, self._hand_over_probes)

    def do_expect(self, run: str, trial: int, count: int) -> None:
        """Prepare for a trial."""
        gc.collect()
        gc.disable()  # A collection would block the loop for milliseconds, and a trial has few objects.
        self._lags_us = []
        self._cpu_start_ns = time.process_time_ns()
        self._trial_number += 1
        self._plan_burst(self._trial_number)
        self._clients.expect(Expectation(run, trial, count, lambda: self._write({"is": "complete"})))

    def do_collect(self) -> None:
        """End the trial and report what arrived."""
        self.loop.drain()
        gc.enable()
        self._trial_number += 1
        for client in self._clients.all:
            rows = [astuple(self._as_read(arrival)) for arrival in client.arrivals]
            self._write(
                {
                    "is": "arrivals",
                    "client": client.spec.client,
                    "rows": rows,
                    "addresses": client.addresses,
                    "openings": [self._as_read_all(astuple(each)) for each in client.openings],
                    "uploads": [
                        (self._simulated_clock.reads_us(at_us), count) for at_us, count in client.uploads
                    ],
                }
            )
        lags_us = sorted(self._lags_us)
        self._write(
            {
                "is": "collected",
                "loop_lag_ms_p99": lags_us[int(len(lags_us) * 0.99)] / 1000 if lags_us else None,
                "cpu_s": (time.process_time_ns() - self._cpu_start_ns) / 1e9,
                "disconnects": sum(client.disconnects for client in self._clients.all),
            }
        )

    def do_trouble(self) -> None:
        """Report why clients are not ready."""
        texts = [
            f"client {c.spec.client}: {c.trouble or 'no answer'}" for c in self._clients.all if not c.is_ready
        ]
        if self._clock is not None and self._clock.trouble:
            texts.append(f"clock: {self._clock.trouble}")
        self._write({"is": "trouble", "texts": texts[:10]})

    def do_disconnect(self) -> None:
        """Disconnect the clients."""
        self._clients.disconnect()
        self._write({"is": "disconnected"})

    def _hand_over_probes(self, probes: list[ProbeStamps]) -> None:
        reads_us = self._simulated_clock.reads_us
        rows = [
            (each.timebase, reads_us(each.t1_us), each.t2_us, each.t3_us, reads_us(each.t4_us))
            for each in (*self._probes, *probes)
        ]
        self._probes = []
        self._write({"is": "probes", "answered": len(probes), "rows": rows})

    def _as_read(self, arrival: Arrival) -> Arrival:
        """Return the arrival with its stamps by the simulated clock."""
        reads_us, kernel_us = self._simulated_clock.reads_us, arrival.kernel_us
        if self._simulated_clock == TRUE_CLOCK:
            return arrival
        return replace(
            arrival,
            received_us=reads_us(arrival.received_us),
            kernel_us=None if kernel_us is None else reads_us(kernel_us),
        )

    def _as_read_all(self, stamps_us: tuple[int | None, ...]) -> list[float | None]:
        return [None if each is None else self._simulated_clock.reads_us(each) for each in stamps_us]

    def _plan_burst(self, trial_number: int) -> None:
        def burst() -> None:
            if self._trial_number != trial_number or self._clock is None:
                return
            if not self._clock.is_busy:
                self._clock.burst(BURST_IN_TRIAL_COUNT, self._probes.extend)
            self._plan_burst(trial_number)

        self.loop.call_later(random.randint(*BURST_IN_TRIAL_PERIOD_US), burst)

    def _read_kernel_clock(self) -> None:
        self._clients.kernel_offset_us = clock.kernel_offset_us()
        self.loop.call_later(KERNEL_CLOCK_PERIOD_US, self._read_kernel_clock)

    def _start_ticker(self) -> None:
        try:
            ticker = Ticker()
        except OSError:
            return  # The loop's lag is then reported as null.

        def tick() -> None:
            if (lag_us := ticker.lag_us()) is not None:
                self._lags_us.append(lag_us)

        self.loop.watch(ticker.fd, tick)


class LineReader:
    """Reads lines from a non-blocking pipe and calls `on_line` with each, without its line feed."""

    def __init__(self, file_descriptor: int, on_line: Callable[[bytes], None]) -> None:
        self.ended = False
        self._fd = file_descriptor
        self._on_line = on_line
        self._buffer = bytearray()
        os.set_blocking(file_descriptor, False)

    def read(self) -> None:
        """Read what is available and pass on complete lines."""
        try:
            data = os.read(self._fd, 65_536)
        except BlockingIOError:
            return
        self._buffer += data
        *lines, rest = bytes(self._buffer).split(b"\n")
        self._buffer = bytearray(rest)
        self.ended = not data or len(rest) > LINE_BYTES_MAX
        for line in lines:
            self._on_line(line)


def main() -> None:
    """Serve commands until the input ends."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))  # Up to 1000 clients need a socket each.
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # The runner handles Ctrl-C and a closed terminal.
    output = sys.stdout.buffer

    def write(answer: dict[str, Any]) -> None:
        output.write(json.dumps(answer, separators=(",", ":")).encode() + b"\n")
        output.flush()

    process = ClientProcess(write)
    commands = LineReader(sys.stdin.fileno(), process.command)
    process.loop.watch(sys.stdin.fileno(), commands.read)
    while not commands.ended:
        process.loop.turn()


if __name__ == "__main__":
    main()

"""A swarm in its own process: `python -m app.tools.bench.swarm_process`.

    standard input: one command in JSON a line -> the swarm's loop -> standard output: one answer a line

    connect {count, transport, host, port, source_host, at_a_time, timeout_s}   open more, until there are `count`
    close   {count}                     close some, until there are `count`
    begin   {offset}                    begin a window in which all are at `offset`
    await   {offset, timeout_s}         answered when all have received it
    idle    {count, timeout_s}          answered when that many heartbeats or pings have come
    end     {offset, first, starts_us, merges}                                  end the window, answer its result

The process ends when its standard input ends.
"""

from __future__ import annotations

import gc
import json
import os
import select
import time
from collections.abc import Callable, Iterator
from typing import Any

from app import clock
from app.tools.bench.machine import raise_open_files
from app.tools.bench.swarm import Swarm

COMMAND_FD = 0

EVENTS_MAX = 1024
"""Maximum number of events per iteration of the loop."""

LOOK_AGAIN_S = 0.005
"""Poll timeout while a command waits, since it may depend on time; otherwise only a descriptor can bring news."""

PAUSE_S = 0.000_05
"""Pause within a window after an iteration that read from few connections. A swarm that waits for each message is woken
inside the server's `send`, which makes that half as expensive again. Whether this happens depends on which side is a
little faster, and a burst stays on one side or the other; receivers on other machines wake nobody on the server. With
the pause, data is read this much later at most, plus the system's timer slack (`prctl(2)`), another 0.05 ms."""

FEW = 32
"""Number of connections. After a read of more, others have received data meanwhile anyway."""

Answer = dict[str, object]


class Commands:
    """Executes commands between the iterations of a swarm's loop, and answers them."""

    def __init__(self, swarm: Swarm) -> None:
        self._swarm = swarm
        self._began_us = 0
        self._began_cpu_s = 0.0
        self._is_open = False
        """True if a window is open."""
        self._input = b""
        self._pending: Iterator[Answer | None] | None = None
        """The current command; resumed after every iteration of the loop, until it yields its answer."""
        swarm.poll.register(COMMAND_FD, select.EPOLLIN)

    def run(self) -> None:
        """Run until standard input ends."""
        swarm = self._swarm
        since_us = 0
        while True:
            asked_us = clock.monotonic_us()
            events = swarm.poll.poll(0, EVENTS_MAX)
            if not events:
                since_us = asked_us
                asked_us = clock.monotonic_us()
                events = swarm.poll.poll(LOOK_AGAIN_S if self._pending is not None else None, EVENTS_MAX)
            swarm.read(events, since_us)
            if len(events) < EVENTS_MAX:
                since_us = asked_us  # All data that had arrived by then was among these events.
            if any(fd == COMMAND_FD for fd, _ in events):
                if not self._execute():
                    return
            elif self._is_open and 0 < len(events) < FEW:
                time.sleep(PAUSE_S)
            if self._pending is not None and (answer := next(self._pending)) is not None:
                self._answer(answer)

    def _execute(self) -> bool:
        data = os.read(COMMAND_FD, 1 << 20)
        self._input += data
        *lines, self._input = self._input.split(b"\n")
        for line in lines:
            command: dict[str, Any] = json.loads(line)
            do: Callable[..., Answer | Iterator[Answer | None]] = getattr(self, f"do_{command.pop('do')}")
            answer = do(**command)
            if isinstance(answer, dict):
                self._answer(answer)
            else:
                self._pending = answer
        return bool(data)

    def _answer(self, answer: Answer) -> None:
        self._pending = None
        print(json.dumps(answer), flush=True)

    def do_connect(
        self,
        *,
        count: int,
        transport: str,
        host: str,
        port: int,
        source_host: str | None,
        at_a_time: int,
        timeout_s: float,
    ) -> Iterator[Answer | None]:
        """Open connections, until there are `count`."""
        swarm, begun_us, began_with = self._swarm, clock.monotonic_us(), len(self._swarm.ready)
        deadline_us = begun_us + round(timeout_s * 1e6)
        swarm.failures.clear()
        while len(swarm.ready) < count and not swarm.failures and clock.monotonic_us() < deadline_us:
            swarm.open(count, transport, host, port, source_host, at_a_time)
            yield None
        yield {
            "connected": len(self._swarm.ready),
            "added": len(self._swarm.ready) - began_with,
            "wall_us": clock.monotonic_us() - begun_us,
            "failures": self._swarm.failures[:3],
        }

    def do_close(self, *, count: int) -> Answer:
        """Close the newest connections, until there are `count`."""
        self._swarm.close(count)
        return {"connected": len(self._swarm.ready)}

    def do_begin(self, *, offset: int) -> Answer:
        """Begin a window; all connections should be at `offset`."""
        gc.collect()
        behind = self._swarm.begin(offset)
        self._is_open = True
        self._began_us, self._began_cpu_s = clock.monotonic_us(), time.process_time()
        return {"behind": behind}

    def do_await(self, *, offset: int, timeout_s: float) -> Iterator[Answer | None]:
        """Answer when every connection that is still live has received `offset`."""
        deadline_us = clock.monotonic_us() + round(timeout_s * 1e6)
        reached = 0  # The first connection that may not have it, so that each is checked about once.
        while reached < len(self._swarm.ready):
            connection = self._swarm.ready[reached]
            if connection.last >= offset or not connection.is_live:
                reached += 1
            elif clock.monotonic_us() > deadline_us:
                break
            else:
                yield None
        yield {"complete": reached == len(self._swarm.ready)}

    def do_idle(self, *, count: int, timeout_s: float) -> Iterator[Answer | None]:
        """Answer when `count` heartbeats or pings have come since the window began."""
        deadline_us = clock.monotonic_us() + round(timeout_s * 1e6)
        while self._swarm.idle < count and clock.monotonic_us() < deadline_us:
            yield None
        yield {"idle": self._swarm.idle, "disconnects": self._swarm.disconnects}

    def do_end(self, *, offset: int, first: int, starts_us: list[int], merges: bool) -> Answer:
        """End the window and answer its result.

        `offset`: the last one published; `starts_us`: when each publish began, from `first`; `merges`: whether one
        write of the server may contain several notifications.
        """
        self._is_open = False
        used_s, wall_us = time.process_time() - self._began_cpu_s, clock.monotonic_us() - self._began_us
        record = self._swarm.record
        return {
            "connections": len(self._swarm.ready),
            "lost": sum(each.lost(offset) for each in self._swarm.ready),
            "duplicates": sum(each.duplicates for each in self._swarm.ready),
            "out_of_order": sum(each.out_of_order for each in self._swarm.ready),
            "disconnects": self._swarm.disconnects,
            "torn": self._swarm.torn,
            "idle": self._swarm.idle,
            "failures": self._swarm.failures[:3],
            "reads": len(record.reads_us),
            "unstamped": self._swarm.receiver.unstamped,
            "clock_step_us": self._swarm.receiver.clock_step_us(),
            "last_read_us": record.reads_us[-1] if record.reads_us else 0,
            "busy": used_s * 1e6 / wall_us,
            "delays": record.delays(first, starts_us, merges=merges),
            "read_delays": record.read_delays(first, starts_us),
        }


def main() -> None:
    """Run until standard input ends."""
    raise_open_files()
    gc.disable()  # Nothing creates reference cycles while a window is open.
    os.set_blocking(COMMAND_FD, False)
    Commands(Swarm()).run()


if __name__ == "__main__":
    main()

"""A swarm as a process of its own: `python -m app.tools.bench.swarm_process`.

    standard input: one command in JSON a line -> the swarm's loop -> standard output: one answer a line

    connect {count, transport, host, port, source_host, at_a_time, timeout_s}   more, until there are `count`
    close   {count}                     fewer, until there are `count`
    begin   {offset}                    a window: all stand at `offset`
    await   {offset, timeout_s}         answered when all have got it
    idle    {count, timeout_s}          answered when that many heartbeats or pings have come
    end     {offset, first, starts_us, merges}                                  the window's result

It ends with its standard input.
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
"""Of one turn of the loop."""

LOOK_AGAIN_S = 0.005
"""A command under way may wait for time to pass; otherwise only a descriptor can bring news."""

REST_S = 0.000_05
"""Within a window, behind a turn that read from few. A swarm that waits for each message anew is woken by each `send`,
inside it, which makes that half as dear again, and about as often as not: depending on who is a little faster, a burst
stays on one side or the other. Receivers elsewhere wake nobody on the server. It reads this much later at most, and by the
system's timer slack (`prctl(2)`), 0.05 ms too."""

FEW = 32
"""Connections. Behind more than that, others have written meanwhile."""

Answer = dict[str, object]


class Commands:
    """Reads commands between the turns of a swarm's loop, and answers them."""

    def __init__(self, swarm: Swarm) -> None:
        self._swarm = swarm
        self._began_us = 0
        self._began_cpu_s = 0.0
        self._is_open = False
        """Whether a window is."""
        self._input = b""
        self._waits: Iterator[Answer | None] | None = None
        """A command under way: asked after every turn of the loop, until it has its answer."""
        swarm.poll.register(COMMAND_FD, select.EPOLLIN)

    def run(self) -> None:
        """Until standard input ends."""
        swarm = self._swarm
        since_us = 0
        while True:
            asked_us = clock.monotonic_us()
            events = swarm.poll.poll(0, EVENTS_MAX)
            if not events:
                since_us = asked_us
                asked_us = clock.monotonic_us()
                events = swarm.poll.poll(LOOK_AGAIN_S if self._waits is not None else None, EVENTS_MAX)
            swarm.take(events, since_us)
            if len(events) < EVENTS_MAX:
                since_us = asked_us  # What had come by then was among them.
            if any(fd == COMMAND_FD for fd, _ in events):
                if not self._take():
                    return
            elif self._is_open and 0 < len(events) < FEW:
                time.sleep(REST_S)
            if self._waits is not None and (answer := next(self._waits)) is not None:
                self._answer(answer)

    def _take(self) -> bool:
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
                self._waits = answer
        return bool(data)

    def _answer(self, answer: Answer) -> None:
        self._waits = None
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
        """More connections, until there are `count`."""
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
        """Fewer connections, until there are `count`; the newest leave."""
        self._swarm.close(count)
        return {"connected": len(self._swarm.ready)}

    def do_begin(self, *, offset: int) -> Answer:
        """A window begins; everyone should stand at `offset`."""
        gc.collect()
        behind = self._swarm.begin(offset)
        self._is_open = True
        self._began_us, self._began_cpu_s = clock.monotonic_us(), time.process_time()
        return {"behind": behind}

    def do_await(self, *, offset: int, timeout_s: float) -> Iterator[Answer | None]:
        """Answered when everyone who is still there has got `offset`."""
        deadline_us = clock.monotonic_us() + round(timeout_s * 1e6)
        reached = 0  # The first of the row who may not have it: each is looked at about once.
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
        """Answered when `count` heartbeats or pings have come since the window began."""
        deadline_us = clock.monotonic_us() + round(timeout_s * 1e6)
        while self._swarm.idle < count and clock.monotonic_us() < deadline_us:
            yield None
        yield {"idle": self._swarm.idle, "disconnects": self._swarm.disconnects}

    def do_end(self, *, offset: int, first: int, starts_us: list[int], merges: bool) -> Answer:
        """The window's result.

        `offset`: the last one published; `starts_us`: when each publish began, from `first`; `merges`: whether one write of
        the server may have several notifications.
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
    gc.disable()  # nothing here makes cycles while a window is open
    os.set_blocking(COMMAND_FD, False)
    Commands(Swarm()).run()


if __name__ == "__main__":
    main()

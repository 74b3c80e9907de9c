"""Thousands of subscribers in one process and one thread: `python -m app.bench.swarm`.

    standard input: one command in JSON a line -> epoll loop over all connections -> one answer a line

    connect {count, transport, host, port, source_host?, timeout_s}   more connections, until there are `count`
    close   {count}                                     fewer, until there are `count`
    begin   {offset}                                    a window: all stand at `offset`
    await   {offset, timeout_s}                         answered when all have got it
    idle    {count, timeout_s}                          answered when that many heartbeats or pings have come
    end     {offset, first, starts_us}                  the window's result

It must cost little beside the server that it measures: bytes that equal the ones before are not parsed again, which
is most of them, as all subscribers get the same. Every read is stamped once, right behind it.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import select
import time
from collections.abc import Callable, Iterator
from typing import Any

from app import clock
from app.bench.connection import PONG_FRAME, READ_BYTES, UNKNOWN, Connection, Refused
from app.bench.decoding import Parsed
from app.bench.machine import raise_open_files
from app.bench.record import Record
from app.core.errors import MalformedFrame

HANDSHAKES_MAX = 256
"""Under way at a time: enough to keep a server busy, within any backlog."""

KEY_BYTES = 48
"""Up to a notification's id, on both transports."""

KNOWN_MAX = 256
"""Pieces that are remembered: some dozens are going round at a time."""

COMMAND_FD = 0

Answer = dict[str, object]


class Swarm:
    """The connections and the loop."""

    def __init__(self) -> None:
        self._poll = select.epoll()
        self._poll.register(COMMAND_FD, select.EPOLLIN)
        self._table: dict[int, Connection] = {}
        self._ready: list[Connection] = []
        self._known: dict[tuple[int, bytes], tuple[bytes, Parsed, int, int]] = {}
        """What was read before: by length and beginning, then compared whole; with its first and last offset."""
        self._record = Record()
        self._disconnects = 0
        self._idle = 0
        self._began_us = 0
        self._began_cpu_s = 0.0
        self._failures: list[str] = []
        self._input = b""
        self._waits: Iterator[Answer | None] | None = None
        """A command under way: asked after every turn of the loop, until it has its answer."""

    def run(self) -> None:
        """Until standard input ends."""
        while True:
            # A command under way may wait for time to pass; otherwise only a descriptor can bring news.
            events = self._poll.poll(0.005 if self._waits is not None else None, 1024)
            self._take(events)
            if any(fd == COMMAND_FD for fd, _ in events) and not self._take_commands():
                return
            if self._waits is not None and (answer := next(self._waits)) is not None:
                self._answer(answer)

    def _take(self, events: list[tuple[int, int]]) -> None:
        """Read once from everyone who has something; the hot loop."""
        table, record = self._table, self._record
        add_stamp, add_first, add_count = record.stamps_us.append, record.firsts.append, record.counts.append
        now_us = clock.monotonic_us
        known = self._known
        for fd, mask in events:
            connection = table.get(fd)
            if connection is None:
                continue
            if not connection.is_live:
                self._shake_hands(connection, mask)
                continue
            try:
                data = connection.receive(READ_BYTES)
            except BlockingIOError:
                continue
            except OSError:
                data = b""
            stamp_us = now_us()
            if connection.rest:
                data = connection.rest + data if data else b""
            key = (len(data), data[:KEY_BYTES])
            entry = known.get(key)
            if entry is None or entry[0] != data:
                parsed = self._parsed(connection, data)
                if parsed is None:
                    continue
                if (run := parsed.plain_run) is None:
                    self._account(connection, parsed, stamp_us)
                    continue
                entry = known[key] = (data, parsed, *run)
            _data, parsed, first, last = entry
            if connection.last + 1 == first:
                connection.rest = b""
                connection.last = last
                add_stamp(stamp_us)
                add_first(first)
                add_count(last - first + 1)
            else:
                self._account(connection, parsed, stamp_us)
        if len(known) > KNOWN_MAX:
            known.clear()

    def _parsed(self, connection: Connection, data: bytes) -> Parsed | None:
        try:
            if data:
                return connection.parse(data)
        except MalformedFrame as error:
            self._failures.append(str(error))
        self._disconnects += 1
        self._forget(connection)
        return None

    def _account(self, connection: Connection, parsed: Parsed, stamp_us: int) -> None:
        """Anything but a plain run that continues what this connection has seen."""
        connection.rest = parsed.rest
        if parsed.offsets:
            if connection.last == UNKNOWN:
                connection.last = parsed.offsets[0] - 1
            connection.take(parsed.offsets)
            self._record.add_each(stamp_us, parsed.offsets)
        if parsed.idle:
            self._idle += parsed.idle
            if not connection.is_sse:
                with contextlib.suppress(OSError):
                    connection.sock.send(PONG_FRAME * parsed.idle)
        if parsed.ended:
            self._disconnects += 1
            self._forget(connection)

    def _shake_hands(self, connection: Connection, mask: int) -> None:
        try:
            if mask & select.EPOLLOUT:
                connection.request(*connection.sock.getpeername()[:2])
                self._poll.modify(connection.fd, select.EPOLLIN)
                return
            data = connection.receive(READ_BYTES)
            if not data:
                raise Refused("it closed the connection")
            parsed = connection.advance(data)
        except (Refused, OSError) as error:
            self._failures.append(str(error))
            self._forget(connection)
            return
        if parsed is not None:
            self._ready.append(connection)
            if parsed.offsets:
                self._account(connection, parsed, clock.monotonic_us())

    def _forget(self, connection: Connection) -> None:
        self._poll.unregister(connection.fd)
        del self._table[connection.fd]
        connection.close()

    # --- commands ---------------------------------------------------------------------------------------------

    def _take_commands(self) -> bool:
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
        source_host: str | None = None,
        timeout_s: float,
    ) -> Iterator[Answer | None]:
        """More connections, until there are `count`."""
        begun_us, began_with = clock.monotonic_us(), len(self._ready)
        deadline_us = begun_us + round(timeout_s * 1e6)
        self._failures.clear()
        while len(self._ready) < count and not self._failures and clock.monotonic_us() < deadline_us:
            while len(self._table) < count and len(self._table) - len(self._ready) < HANDSHAKES_MAX:
                try:
                    connection = Connection(transport, host, port, source_host)
                except OSError as error:
                    self._failures.append(str(error))
                    break
                self._table[connection.fd] = connection
                self._poll.register(connection.fd, select.EPOLLOUT)
            yield None
        yield {
            "connected": len(self._ready),
            "added": len(self._ready) - began_with,
            "wall_us": clock.monotonic_us() - begun_us,
            "failures": self._failures[:3],
        }

    def do_close(self, *, count: int) -> Answer:
        """Fewer connections, until there are `count`; the newest leave."""
        for connection in [
            *self._ready[count:],
            *(each for each in self._table.values() if not each.is_live),
        ]:
            if connection.fd in self._table:
                self._forget(connection)
        del self._ready[count:]
        return {"connected": len(self._table)}

    def do_begin(self, *, offset: int) -> Answer:
        """A window begins; everyone should stand at `offset`."""
        gc.collect()
        self._record = Record()
        self._disconnects = self._idle = 0
        self._failures.clear()
        behind = 0
        for connection in self._ready:
            behind += connection.last != offset
            connection.last = offset
            connection.restart()
        self._began_us, self._began_cpu_s = clock.monotonic_us(), time.process_time()
        return {"behind": behind, "connected": len(self._table)}

    def do_await(self, *, offset: int, timeout_s: float) -> Iterator[Answer | None]:
        """Answered when everyone who is still there has got `offset`."""
        deadline_us = clock.monotonic_us() + round(timeout_s * 1e6)
        reached = 0  # The first of the row who may not have it: each is looked at about once.
        while reached < len(self._ready):
            connection = self._ready[reached]
            if connection.last >= offset or connection.fd not in self._table:
                reached += 1
            elif clock.monotonic_us() > deadline_us:
                break
            else:
                yield None
        yield {"complete": reached == len(self._ready)}

    def do_idle(self, *, count: int, timeout_s: float) -> Iterator[Answer | None]:
        """Answered when `count` heartbeats or pings have come since the window began."""
        deadline_us = clock.monotonic_us() + round(timeout_s * 1e6)
        while self._idle < count and clock.monotonic_us() < deadline_us:
            yield None
        yield {"idle": self._idle, "disconnects": self._disconnects}

    def do_end(self, *, offset: int, first: int, starts_us: list[int]) -> Answer:
        """The window's result. `offset`: the last one published; `starts_us`: when each publish began, from `first`."""
        used_s, wall_us = time.process_time() - self._began_cpu_s, clock.monotonic_us() - self._began_us
        record = self._record
        return {
            "connections": len(self._ready),
            "lost": sum(each.lost(offset) for each in self._ready),
            "duplicates": sum(each.duplicates for each in self._ready),
            "out_of_order": sum(each.out_of_order for each in self._ready),
            "disconnects": self._disconnects,
            "idle": self._idle,
            "failures": self._failures[:3],
            "reads": len(record.stamps_us),
            "last_read_us": record.stamps_us[-1] if record.stamps_us else 0,
            "busy": used_s * 1e6 / wall_us,
            "delays": record.delays(first, starts_us),
        }


def main() -> None:
    """Run until standard input ends."""
    raise_open_files()
    gc.disable()  # nothing here makes cycles while a window is open
    os.set_blocking(COMMAND_FD, False)
    Swarm().run()


if __name__ == "__main__":
    main()

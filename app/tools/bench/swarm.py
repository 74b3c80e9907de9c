"""Thousands of subscribers in one thread: the loop that reads them all.

It must be cheap compared with the server that it measures. As all subscribers get the same bytes, parsed results are
cached.
"""

from __future__ import annotations

import contextlib
import select
from operator import attrgetter

from app import clock
from app.core.errors import MalformedFrame
from app.tools.bench.connection import PONG_FRAME, UNKNOWN, Connection, Refused
from app.tools.bench.decoding import Parsed
from app.tools.bench.receiving import READ_BATCH, READ_BYTES, ReadBatch, Receiver
from app.tools.bench.record import UNKNOWN_ARRIVAL, Record

KEY_BYTES = 48
"""Covers everything up to a notification's id, on both transports."""

UNREAD_US_MAX = 3_000
"""Longest time for which data read at once is known to be of one write. In a burst, a connection's next write follows
those to all others, which takes 4 ms for a thousand. Data that was unread for longer may be of several writes."""

_last, _rest = attrgetter("last"), attrgetter("rest")

KNOWN_MAX = 256
"""Size of the cache of parsed pieces; some dozens are in use at a time."""


class Swarm:
    """The connections and the loop; `swarm_process.py` commands it."""

    def __init__(self) -> None:
        self.poll = select.epoll()
        self.receiver = Receiver()
        self.table: dict[int, Connection] = {}
        """Connections by descriptor: those in their handshake, and those that are live."""
        self.ready: list[Connection] = []
        """Connections that became live, the oldest first; one that breaks stays until the next window, for its sequence
        check."""
        self.record = Record()
        self.disconnects = 0
        self.torn = 0
        self.idle = 0
        """Number of heartbeats and pings."""
        self.failures: list[str] = []
        self._known: dict[tuple[int, bytes], tuple[bytes, Parsed, int, int]] = {}
        """Cache of parsed pieces, with first and last offset. Keyed by length and beginning, then compared as a
        whole."""

    def open(
        self, count: int, transport: str, host: str, port: int, source_host: str | None, at_a_time: int
    ) -> None:
        """Begin to connect more, up to `count` in all, with at most `at_a_time` concurrent handshakes."""
        while len(self.table) < count and len(self.table) - len(self.ready) < at_a_time:
            try:
                connection = Connection(transport, host, port, source_host)
            except OSError as error:
                self.failures.append(str(error))
                return
            self.table[connection.fd] = connection
            self.poll.register(connection.fd, select.EPOLLOUT)

    def close(self, count: int) -> None:
        """Close the newest down to `count`, and all that never became live."""
        keep = {connection.fd for connection in self.ready[:count] if connection.is_live}
        for connection in [each for fd, each in self.table.items() if fd not in keep]:
            self._drop(connection)
        del self.ready[count:]

    def begin(self, offset: int) -> int:
        """Begin a window. Returns how many connections are not at `offset`."""
        self.record = Record()
        self.receiver.begin()
        self.disconnects = self.torn = self.idle = 0
        self.failures.clear()
        self.ready = [each for each in self.ready if each.is_live]
        behind = 0
        for connection in self.ready:
            behind += connection.last != offset
            connection.last = offset
            connection.restart()
            connection.acknowledge_less()
        return behind

    def read(self, events: list[tuple[int, int]], since_us: int) -> None:
        """Read once from every ready connection; the data arrived after `since_us` (`clock.monotonic_us`)."""
        live = []
        for fd, mask in events:
            connection = self.table.get(fd)
            if connection is None:
                continue
            if connection.is_live:
                live.append(connection)
            else:
                self._handshake(connection, mask)
        for at in range(0, len(live), READ_BATCH):
            self._read(live[at : at + READ_BATCH], since_us + UNREAD_US_MAX)

    def _read(self, connections: list[Connection], sure_until_us: int) -> None:
        """Read a batch: on the fast path if all connections have the same, known data, else one by one."""
        batch = self.receiver.read(connections)
        if not self._account_equal(connections, batch, sure_until_us):
            self._account_each(connections, batch, sure_until_us)

    def _account_equal(self, connections: list[Connection], batch: ReadBatch, sure_until_us: int) -> bool:
        """Account for a batch of equal reads with operations in C.

        Returns false if the reads differ or are unknown.
        """
        reads, arrivals_us, reads_us = batch
        data, total = reads[0] if reads else None, len(connections)
        if not data or reads.count(data) != total:
            return False
        entry = self._known.get((len(data), data[:KEY_BYTES]))
        if entry is None or entry[0] != data:
            return False
        _whole, _parsed, first, last = entry
        if (
            list(map(_last, connections)).count(first - 1) != total
            or list(map(_rest, connections)).count(b"") != total
        ):
            return False
        for connection in connections:
            connection.last = last
        count = last - first + 1
        if count > 1 and max(arrivals_us) > sure_until_us:
            arrivals_us = [each if each <= sure_until_us else UNKNOWN_ARRIVAL for each in arrivals_us]
        record = self.record
        record.arrivals_us.fromlist(arrivals_us)
        record.reads_us.fromlist(reads_us)
        record.firsts.fromlist([first] * total)
        record.counts.fromlist([count] * total)
        return True

    def _account_each(self, connections: list[Connection], batch: ReadBatch, sure_until_us: int) -> None:
        """Account for a batch of any reads, one after another."""
        record, known = self.record, self._known
        add_arrival, add_read = record.arrivals_us.append, record.reads_us.append
        add_first, add_count = record.firsts.append, record.counts.append
        latest: bytes | None = None
        first = last = count = 0
        for connection, data, arrival_us, read_us in zip(connections, *batch, strict=False):
            if data is None:
                continue
            if data == latest and connection.last + 1 == first and not connection.rest:
                connection.last = last
                add_arrival(arrival_us if count == 1 or arrival_us <= sure_until_us else UNKNOWN_ARRIVAL)
                add_read(read_us)
                add_first(first)
                add_count(count)
                continue
            whole = connection.rest + data if data else data
            key = (len(whole), whole[:KEY_BYTES])
            entry = known.get(key)
            if entry is None or entry[0] != whole:
                parsed = self._parsed(connection, whole)
                if parsed is None:
                    continue
                if (run := parsed.plain_run) is None:
                    self._account(connection, parsed, arrival_us, read_us)
                    continue
                entry = known[key] = (whole, parsed, *run)
            latest, parsed, first, last = entry
            count = last - first + 1
            if connection.last + 1 == first:
                connection.rest = b""
                connection.last = last
                add_arrival(arrival_us if count == 1 or arrival_us <= sure_until_us else UNKNOWN_ARRIVAL)
                add_read(read_us)
                add_first(first)
                add_count(count)
            else:
                self._account(connection, parsed, arrival_us, read_us)
        if len(known) > KNOWN_MAX:
            known.clear()

    def _parsed(self, connection: Connection, data: bytes) -> Parsed | None:
        try:
            if data:
                return connection.parse(data)
        except MalformedFrame as error:
            self.failures.append(str(error))
        else:
            self.torn += 1
        self.disconnects += 1
        self._drop(connection)
        return None

    def _account(self, connection: Connection, parsed: Parsed, arrival_us: int, read_us: int) -> None:
        """Account for anything but a consecutive run that continues the connection's sequence."""
        connection.rest = parsed.rest
        if parsed.offsets:
            if connection.last == UNKNOWN:
                connection.last = parsed.offsets[0] - 1
            connection.check(parsed.offsets)
            self.record.add_each(arrival_us, read_us, parsed.offsets)
        if parsed.idle:
            self.idle += parsed.idle
            if not connection.is_sse:
                with contextlib.suppress(OSError):
                    connection.sock.send(PONG_FRAME * parsed.idle)
        if parsed.ended:
            self.disconnects += 1
            self._drop(connection)

    def _handshake(self, connection: Connection, mask: int) -> None:
        try:
            if mask & select.EPOLLOUT:
                connection.request()
                self.poll.modify(connection.fd, select.EPOLLIN)
                return
            data = connection.sock.recv(READ_BYTES)
            if not data:
                raise Refused("it closed the connection")
            parsed = connection.advance(data)
        except (Refused, OSError) as error:
            self.failures.append(str(error))
            self._drop(connection)
            return
        if parsed is not None:
            self.ready.append(connection)
            if parsed.offsets:
                now_us = clock.monotonic_us()
                self._account(connection, parsed, now_us, now_us)

    def _drop(self, connection: Connection) -> None:
        self.poll.unregister(connection.fd)
        del self.table[connection.fd]
        connection.is_live = False
        connection.close()

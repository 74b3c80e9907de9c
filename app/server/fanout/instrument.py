"""The server-side instrument of a trial: what the recorder and the kernel saw of each connection, as JSON.

    begin: read TCP_INFO, attach the recorder -> (the trial) -> end: read TCP_INFO, detach the recorder -> answer

It sees detached connections only. For stock connections a queue and a green thread lie before the socket, so the time
at which the kernel takes the bytes is unknown, and the answer says so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from app import clock
from app.core.units import ServerUs
from app.server.fanout import tcp_info
from app.server.fanout.connection import DetachedConnection
from app.server.fanout.fanout import Fanout
from app.server.fanout.recorder import Reader, Recorder

DELIVERIES_MAX = 1_000_000
"""Limit of notifications times connections: more rows (30 bytes each) and their JSON would disturb the server."""

_MAPPED = "::ffff:"
"""Prefix of an IPv4 address on an IPv6 socket (RFC 4291, section 2.5.5.2); its packets are IPv4."""

Snapshot = dict[DetachedConnection, tuple[ServerUs, bytes | None]]
"""Time of reading and raw TCP_INFO, by connection."""


class Instrument:
    """The instrument of one trial. Methods may be called from any thread; `end` is idempotent."""

    def __init__(self, fanout: Fanout, transport: str, notifications: int) -> None:
        """Attach the recorder, unless `absent` says why not."""
        self._fanout = fanout
        self._transport = transport
        self._recorder: Recorder | None = None
        self._before: Snapshot = {}
        self._after: Snapshot | None = None
        self.absent: str | None = None
        """The reason why nothing is recorded, as a sentence; `None` while recording."""
        with fanout.flusher.lock:
            connections = sum(len(channel.members) for channel in fanout.channels(transport))
            self.absent = self._why_not(connections, notifications)
            if self.absent is None:
                self._recorder = Recorder(notifications=notifications, connections=connections)
                fanout.record(transport, self._recorder)
                self._before = _snapshot(self._recorder)

    def end(self) -> None:
        """Detach the recorder."""
        with self._fanout.flusher.lock:
            if self._recorder is not None and self._after is None:
                self._fanout.record(self._transport, None)
                self._after = _snapshot(self._recorder)

    def answer(self, published: Sequence[tuple[int, int, int, int]]) -> dict[str, Any]:
        """Return what was recorded of `published` (seq, offset, due_us, sent_us); ends the recording.

        `accepted_us` has one element per notification in the order of `seq`: microseconds after `sent_us`, or null.
        """
        self.end()
        if self._recorder is None:
            return {"absent": self.absent, "dropped": 0, "connections": []}
        sent = {offset: (seq, sent_us) for seq, offset, _due_us, sent_us in published}
        connections = []
        for connection, accepted in self._recorder.accepted():
            reader = self._recorder.readers[connection]
            after_sent: list[int | None] = [None] * len(published)
            for offset, accepted_us in accepted:
                if offset in sent:
                    seq, sent_us = sent[offset]
                    after_sent[seq] = accepted_us - sent_us
            connections.append({**self._connection(connection, reader), "accepted_us": after_sent})
        return {"absent": None, "dropped": self._recorder.dropped_count, "connections": connections}

    def _connection(self, connection: DetachedConnection, reader: Reader) -> dict[str, Any]:
        address, port = reader.peer
        return {
            "address": address.removeprefix(_MAPPED),
            "port": port,
            "before": _tcp(self._before, connection, address),
            "after": _tcp(self._after or {}, connection, address),
        }

    def _why_not(self, connections: int, notifications: int) -> str | None:
        if connections * notifications > DELIVERIES_MAX:
            return f"{notifications} notifications to {connections} connections are more than {DELIVERIES_MAX} rows."
        if connections:
            return None
        if self._fanout.counts()[self._transport]:
            return "The connections take the stock path, where it is not known when the kernel takes what."
        return "No connection was there when the trial began."


def _snapshot(recorder: Recorder) -> Snapshot:
    """Read raw TCP_INFO; it is parsed after the trial."""
    return {
        connection: (clock.now_us(), tcp_info.read_raw(connection.sock))
        for connection in recorder.readers
        if connection.sock is not None
    }


def _tcp(
    snapshot: Mapping[DetachedConnection, tuple[ServerUs, bytes | None]],
    connection: DetachedConnection,
    address: str,
) -> Any:
    at_us, raw = snapshot.get(connection, (ServerUs(0), None))
    if raw is None:
        return None
    is_ipv6 = ":" in address and not address.startswith(_MAPPED)
    return asdict(tcp_info.parse(raw, at_us=at_us, is_ipv6=is_ipv6))

"""The instrument of a trial: what the fan-out records and the kernel tells while it runs, as JSON at its end.

    begin -> TCP_INFO of each connection, recording on -> (the trial) -> end -> TCP_INFO again, recording off -> answer

Only connections that were taken over are seen. Where a queue and a green thread stand before a socket, nobody here
knows when the kernel takes what, and the answer says so.
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
"""Notifications times connections: beyond it the rows (30 bytes each) and the answer would grow into the way."""

_MAPPED = "::ffff:"
"""In front of an IPv4 address on an IPv6 socket (RFC 4291, section 2.5.5.2); its packets are IPv4."""

Snapshot = dict[DetachedConnection, tuple[ServerUs, bytes | None]]
"""When TCP_INFO was read, and the kernel's answer, by connection."""


class Instrument:
    """One trial's. Methods may be called from any thread; `end` may be called again."""

    def __init__(self, fanout: Fanout, transport: str, notifications: int) -> None:
        """Begin to record."""
        self._fanout = fanout
        self._transport = transport
        self._recording: Recorder | None = None
        self._before: Snapshot = {}
        self._after: Snapshot | None = None
        self.absent: str | None = None
        """Why nothing is recorded, as a sentence."""
        with fanout.broadcaster.lock:
            connections = sum(len(group.members) for group in fanout.groups(transport))
            self.absent = self._why_not(connections, notifications)
            if self.absent is None:
                self._recording = Recorder(notifications=notifications, connections=connections)
                fanout.record(transport, self._recording)
                self._before = _snapshot(self._recording)

    def end(self) -> None:
        """Record no more."""
        with self._fanout.broadcaster.lock:
            if self._recording is not None and self._after is None:
                self._fanout.record(self._transport, None)
                self._after = _snapshot(self._recording)

    def answer(self, published: Sequence[tuple[int, int, int, int]]) -> dict[str, Any]:
        """What was recorded of `published` (seq, offset, due_us, sent_us); ends the recording.

        `accepted_us` has a place for each notification in the order of `seq`: microseconds from `sent_us`, or null.
        """
        self.end()
        if self._recording is None:
            return {"absent": self.absent, "dropped": 0, "connections": []}
        sent = {offset: (seq, sent_us) for seq, offset, _due_us, sent_us in published}
        connections = []
        for outlet, accepted in self._recording.accepted():
            reader = self._recording.readers[outlet]
            after_sent: list[int | None] = [None] * len(published)
            for offset, accepted_us in accepted:
                if offset in sent:
                    seq, sent_us = sent[offset]
                    after_sent[seq] = accepted_us - sent_us
            connections.append({**self._connection(outlet, reader), "accepted_us": after_sent})
        return {"absent": None, "dropped": self._recording.dropped_count, "connections": connections}

    def _connection(self, outlet: DetachedConnection, reader: Reader) -> dict[str, Any]:
        address, port = reader.peer
        return {
            "address": address.removeprefix(_MAPPED),
            "port": port,
            "before": _tcp(self._before, outlet, address),
            "after": _tcp(self._after or {}, outlet, address),
        }

    def _why_not(self, connections: int, notifications: int) -> str | None:
        if connections * notifications > DELIVERIES_MAX:
            return f"{notifications} notifications to {connections} connections are more than {DELIVERIES_MAX} rows."
        if connections:
            return None
        if self._fanout.counts()[self._transport]:
            return "The connections take the stock path, where it is not known when the kernel takes what."
        return "No connection was there when the trial began."


def _snapshot(recording: Recorder) -> Snapshot:
    """Raw answers only: parsing them has time."""
    return {
        outlet: (clock.now_us(), tcp_info.read_raw(outlet.sock))
        for outlet in recording.readers
        if outlet.sock is not None
    }


def _tcp(
    snapshot: Mapping[DetachedConnection, tuple[ServerUs, bytes | None]],
    outlet: DetachedConnection,
    address: str,
) -> Any:
    at_us, raw = snapshot.get(outlet, (ServerUs(0), None))
    if raw is None:
        return None
    is_ipv6 = ":" in address and not address.startswith(_MAPPED)
    return asdict(tcp_info.parse(raw, at_us=at_us, is_ipv6=is_ipv6))

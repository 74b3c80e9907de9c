"""Parts of the delay, and bytes and segments on the wire, from the server's record of its connections.

    due -> sent -> accepted by the server's kernel -> received by the client's kernel -> read by the client
       source    server                         network                           client

`server` is the cost of fan-out: framing, and waiting for the writes to earlier clients. `network` begins right before the
`send` call and includes it; on loopback, where that call carries the bytes all the way, there is little else. The four
parts add up to the delay of each delivery, and so do their means; their medians need not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from app.core.instrument import ConnectionRecord, InstrumentRecord, TcpInfo
from app.core.trial import TrialRecord
from app.lab.analysis.columns import Integers, columns_of
from app.lab.analysis.groups import Groups
from app.lab.analysis.metrics.trial_metrics import DelayFigures, delay_figures
from app.lab.analysis.metrics.writes import server_writes
from app.lab.analysis.statistics.quantile import known, median


@dataclass(frozen=True, slots=True)
class WireFigures:
    """Cost of a notification on one connection, both directions, from the kernel's counters; means over connections.

    Heartbeats and pings during the trial are included.
    """

    bytes_per_notification: float | None
    """Bytes of IP packets with payload, headers and acknowledgements; header sizes follow the connection's options."""
    payload_per_notification: float | None
    """The server's payload among these bytes."""
    segments_per_notification: float | None
    """Segments sent by the server, acknowledgements included."""
    segments_in_per_notification: float | None
    retransmissions: int
    """Retransmissions of all connections together."""
    rtt_ms_p50: float | None
    """Smoothed round-trip time at the end of the trial, median of the connections."""


@dataclass(frozen=True, slots=True)
class Split:
    """The parts of a trial's delays."""

    deliveries: int
    """The number of samples whose parts are all known; the parts below are computed from them. It is 0 where no client's
    kernel stamps arrivals; then source and server parts are computed from all samples with a recorded write."""
    unmatched: int
    """Samples without a server part: their connection took the stock path, came through a proxy, or was new."""
    source_ms: DelayFigures
    """sent - due"""
    server_ms: DelayFigures
    """accepted - sent"""
    network_ms: DelayFigures
    """kernel's stamp - accepted"""
    client_ms: DelayFigures
    """read - kernel's stamp"""
    spread_ms_p50: float | None
    """Time from the first client's write to the last's, median of the notifications; `None` for one client."""
    wire: WireFigures


@dataclass(frozen=True, slots=True)
class SplitRow:
    """The parts of one arm's delays at one count of clients: medians of the trials' figures."""

    source_ms_p50: float | None
    server_ms_p50: float | None
    network_ms_p50: float | None
    client_ms_p50: float | None
    spread_ms_p50: float | None
    wire_bytes_per_notification: float | None
    segments_per_notification: float | None
    rtt_ms_p50: float | None
    retransmissions: int
    """Retransmissions of all trials together."""


def split(record: TrialRecord) -> Split | None:
    """Compute the parts of a trial's delays; `None` where the server recorded nothing."""
    instrument = record.instrument
    if instrument is None or instrument.absent is not None:
        return None
    columns = columns_of(record.deliveries)
    writes = server_writes(record, columns)
    samples = columns.samples()
    matched = samples[(writes.is_known & columns.has_sent)[samples]]
    complete = matched[~np.isnan(columns.kernel_received_us[matched])]
    # Without kernel stamps the server's part is still known.
    served = complete if len(complete) else matched
    return Split(
        deliveries=len(complete),
        unmatched=len(samples) - len(matched),
        source_ms=delay_figures(columns, served, (columns.sent_us - columns.due_us) / 1000),
        server_ms=delay_figures(columns, served, (writes.accepted_us - columns.sent_us) / 1000),
        network_ms=delay_figures(columns, complete, (columns.kernel_received_us - writes.accepted_us) / 1000),
        client_ms=delay_figures(columns, complete, (columns.received_us - columns.kernel_received_us) / 1000),
        spread_ms_p50=_spread_ms(columns.seq[matched], writes.accepted_us[matched]),
        wire=_wire(instrument, record.published),
    )


def split_row(splits: Sequence[Split]) -> SplitRow | None:
    """Return the row of these trials; `None` without trials."""
    if not splits:
        return None
    return SplitRow(
        source_ms_p50=median(known(each.source_ms.p50 for each in splits)),
        server_ms_p50=median(known(each.server_ms.p50 for each in splits)),
        network_ms_p50=median(known(each.network_ms.p50 for each in splits)),
        client_ms_p50=median(known(each.client_ms.p50 for each in splits)),
        spread_ms_p50=median(known(each.spread_ms_p50 for each in splits)),
        wire_bytes_per_notification=median(known(each.wire.bytes_per_notification for each in splits)),
        segments_per_notification=median(known(each.wire.segments_per_notification for each in splits)),
        rtt_ms_p50=median(known(each.wire.rtt_ms_p50 for each in splits)),
        retransmissions=sum(each.wire.retransmissions for each in splits),
    )


def _spread_ms(seq: Integers, accepted_us: Integers) -> float | None:
    """Return the median spread in ms. `seq`, `accepted_us`: those of the samples with a recorded write."""
    groups = Groups.by(seq)
    times_us = [own for own in groups.parts(accepted_us) if len(own) > 1]
    return median([int(np.max(own) - np.min(own)) / 1000 for own in times_us])


def _wire(instrument: InstrumentRecord, published: int) -> WireFigures:
    own = [each for each in instrument.connections if each.client is not None]
    ends = [(each.before, each.after) for each in own if each.before and each.after]
    rtts_ms = [each.after.rtt_us / 1000 for each in own if each.after is not None]
    sent = [_growth(each, "bytes_sent") for each in own]
    out = [_growth(each, "segments_out") for each in own]
    inward = [_growth(each, "segments_in") for each in own]
    return WireFigures(
        bytes_per_notification=_per_notification([_packets_bytes(each) for each in own], published),
        payload_per_notification=_per_notification(sent, published),
        segments_per_notification=_per_notification(out, published),
        segments_in_per_notification=_per_notification(inward, published),
        retransmissions=sum(after.retransmissions - before.retransmissions for before, after in ends),
        rtt_ms_p50=median(rtts_ms),
    )


def _packets_bytes(connection: ConnectionRecord) -> int | None:
    """Return the total bytes of the connection's packets in both directions; `None` where a counter is unknown."""
    parts = [
        _growth(connection, name) for name in ("bytes_sent", "bytes_received", "segments_out", "segments_in")
    ]
    if connection.after is None or any(part is None for part in parts):
        return None
    sent, received, segments_out, segments_in = (part or 0 for part in parts)
    return sent + received + connection.after.header_bytes * (segments_out + segments_in)


def _growth(connection: ConnectionRecord, count: str) -> int | None:
    """Return the growth of a counter over the trial; `None` where it is not known at both ends."""
    before, after = _value(connection.before, count), _value(connection.after, count)
    return None if before is None or after is None else after - before


def _value(info: TcpInfo | None, count: str) -> int | None:
    return None if info is None else getattr(info, count)


def _per_notification(growths: list[int | None], published: int) -> float | None:
    """Return the mean per connection and notification; `None` without either."""
    values = known(growths)
    return sum(values) / len(values) / published if values and published else None

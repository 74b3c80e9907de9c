"""From the spool that the server writes into the store: each batch once, whatever is read twice.

The server appends one JSON line per accepted batch to `spool.jsonl`. How far it was read is kept in the store, in
the same transaction as what was read. A last line without its end is still being written: it waits.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from app.core.clocksync.sync import Probe
from app.store.store import ClientBatch, StampedProbe, Store

FILE_NAME = "spool.jsonl"

READ_BYTES_MAX = 4 * 1024 * 1024
"""Taken in at once; a line is at most a delivery batch of 32 KB with its envelope."""


def ingest(store: Store) -> int:
    """Take in what the spool of the store's folder holds by now; how many batches were new."""
    path = store.folder / FILE_NAME
    count = 0
    while (read := _next_lines(path, store.spool_position_bytes())) is not None:
        lines, position_bytes = read
        batches = (batch for line in lines if (batch := batch_of(line)) is not None)
        count += store.add_batches(batches, spool_position_bytes=position_bytes)
    return count


def batch_of(line: bytes) -> ClientBatch | None:
    """The batch of one line; `None` for a line that is none (the server checks before it writes)."""
    try:
        entry = msgspec.json.decode(line)
        batch = entry["batch"]
        samples = tuple(batch.get("samples", ()))
        if not all(isinstance(sample, dict) for sample in samples):
            return None
        return ClientBatch(
            device=str(entry["device"]),
            batch_id=str(batch["batch_id"]),
            received_us=int(entry["received_us"]),
            run=batch.get("run"),
            trial=batch.get("trial"),
            clock_channel=batch.get("clock_channel"),
            timebase=batch.get("timebase"),
            samples=samples,
            conduct=None if batch.get("conduct") is None else json.dumps(batch["conduct"]),
            probes=tuple(_probes(str(entry["device"]), batch)),
        )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def _probes(device: str, batch: dict[str, Any]) -> Iterator[StampedProbe]:
    """A clock that a phone began anew is another timebase to whoever reads it, as one of a server started anew is."""
    for begun_count, *stamps in batch.get("probes") or ():
        yield StampedProbe(device, f"{batch.get('timebase')}.{begun_count}", Probe(*map(float, stamps)))


def _next_lines(path: Path, position_bytes: int) -> tuple[list[bytes], int] | None:
    """Whole lines behind the position, and the position behind them; `None` when there are none."""
    try:
        with path.open("rb") as spool:
            spool.seek(position_bytes)
            data = spool.read(READ_BYTES_MAX)
    except FileNotFoundError:
        return None
    end = data.rfind(b"\n") + 1
    return (data[:end].splitlines(), position_bytes + end) if end else None

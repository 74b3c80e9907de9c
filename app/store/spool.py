"""Import of the server's spool of posted batches into the store, each batch exactly once.

The server appends one JSON line per accepted batch to `spool.jsonl`. The position up to which it was read is stored in
the same transaction as the batches. A last line without its end is still being written and is left for the next import.
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
"""Bytes to read at once; a line is at most a batch of 32 KB with its envelope."""


def ingest(store: Store) -> int:
    """Import the unread part of the spool in the store's folder; return how many batches were new."""
    path = store.folder / FILE_NAME
    count = 0
    while (read := _next_lines(path, store.spool_position_bytes())) is not None:
        lines, position_bytes = read
        batches = (batch for line in lines if (batch := batch_of(line)) is not None)
        count += store.add_batches(batches, spool_position_bytes=position_bytes)
    return count


def batch_of(line: bytes) -> ClientBatch | None:
    """Parse the batch of one line; `None` if the line is malformed (the server validates before it writes)."""
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
    """Parse a batch's probes. Each restart of a phone's clock counts as a new time base, as a restart of the server does."""
    for restart_count, *stamps in batch.get("probes") or ():
        yield StampedProbe(device, f"{batch.get('timebase')}.{restart_count}", Probe(*map(float, stamps)))


def _next_lines(path: Path, position_bytes: int) -> tuple[list[bytes], int] | None:
    """Read complete lines from the position on, and return them with the next position; `None` if there are none."""
    try:
        with path.open("rb") as spool:
            spool.seek(position_bytes)
            data = spool.read(READ_BYTES_MAX)
    except FileNotFoundError:
        return None
    end = data.rfind(b"\n") + 1
    return (data[:end].splitlines(), position_bytes + end) if end else None

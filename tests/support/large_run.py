"""A synthetic run of any size, labelled as such, that is processed like a real one.

It starts with phones' batches in a spool, which become rows in the store. Nothing in it was measured. Generating and writing the batches stands for the phones' and the server's work and is not
timed. Everything from the spool to the trial in the store is the runner's own code.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from app.core.instrument import ConnectionRecord, InstrumentRecord, Writes
from app.core.pacing import due_us
from app.core.plan.scenario import Plan, TrialSpec, arms_from_names, schedule
from app.core.trial import CpuUse, TrialRecord
from app.lab.run.phone_records import phone_record, posted
from app.lab.run.trial_warnings import SourceRecord
from app.store import spool
from app.store.store import Published, RunHead, Store

ARMS = ("sse", "socketio")
RATE_HZ = 10.0
ANCHOR_US = 1_800_000_000_000_000
MIDDLE_MS = {"sse": 4.0, "socketio": 4.6}
"""Median delay of each arm, with a difference that the report must find."""

SAMPLES_PER_BATCH = 100
"""Batch size of the pages; a batch stays below the limit of 32 KB."""


@dataclass(frozen=True, slots=True)
class Size:
    """Size of a run; all trials together have `notifications` of them."""

    clients: int
    notifications: int
    blocks: int = 3
    instrument: bool = False
    """True if the server's record of each write is generated too, which doubles the rows."""

    @property
    def per_trial(self) -> int:
        """Number of notifications of one trial."""
        return max(1, self.notifications // (len(ARMS) * self.blocks))

    @property
    def deliveries(self) -> int:
        """Number of rows in the store."""
        return self.clients * self.per_trial * len(ARMS) * self.blocks

    def plan(self) -> Plan:
        """Return the plan of such a run."""
        return Plan(
            arms=arms_from_names(list(ARMS)),
            client_counts=(self.clients,),
            blocks=self.blocks,
            notifications=self.per_trial,
            warmup_notifications=0,
            rate_hz=RATE_HZ,
            payload_bytes=512,
            seed=7,
            profile="scale",
            environment="lan",
            instrument=self.instrument,
        )


def ingest_run(folder: Path, size: Size) -> dict[str, float]:
    """Create the run in `folder`. Returns the duration of ingest: spool to samples, to rows, to the store."""
    plan, rng, taken_s, cpu_s = size.plan(), np.random.default_rng(7), 0.0, 0.0
    conditions = {"SYNTHETIC": "drawn to see how the report copes with its size: nothing was measured"}
    head = RunHead(folder.name, "2026-01-01T00:00:00Z", plan, conditions, simulated=True)
    devices = {f"d-{client:016x}": client for client in range(size.clients)}
    with Store.create(folder, head) as store:
        for spec in _specs(plan):
            source = _source(plan, spec)
            if not spec.idle:
                _write_spool(folder, plan, spec, source, devices, rng)
            recorded = _instrument(spec, source, rng) if size.instrument and not spec.idle else None
            began_s, began_cpu_s = time.perf_counter(), time.process_time()
            spool.ingest(store)
            record = _record(store, folder.name, spec, plan, source, devices)
            store.add_trial(replace(record, instrument=recorded), published=source.published)
            taken_s += time.perf_counter() - began_s
            cpu_s += time.process_time() - began_cpu_s
        store.finish(ended="2026-01-01T01:00:00Z")
    (folder / spool.FILE_NAME).unlink()
    return {"ingest_s": taken_s, "ingest_cpu_s": cpu_s}


def _specs(plan: Plan) -> Iterator[TrialSpec]:
    index = 0
    for block in schedule(plan):
        yield TrialSpec(index, block.block, block.clients, block.idle_arm, idle=True)
        for place, arm in enumerate(block.arms, index + 1):
            yield TrialSpec(place, block.block, block.clients, arm)
        index += 1 + len(block.arms)


def _source(plan: Plan, spec: TrialSpec) -> SourceRecord:
    first_us = _first_due_us(spec)
    numbers = range(0 if spec.idle else plan.notifications)
    return SourceRecord(
        "done",
        tuple(
            Published(seq, spec.index * 10_000 + seq + 1, due, due + 60)
            for seq in numbers
            for due in (due_us(first_us, plan.rate_hz, seq),)
        ),
        disturbances=0,
    )


def _first_due_us(spec: TrialSpec) -> int:
    return ANCHOR_US + spec.index * 1_000_000_000


def _record(
    store: Store, run: str, spec: TrialSpec, plan: Plan, source: SourceRecord, devices: dict[str, int]
) -> TrialRecord:
    """Return the record as the runner with phones makes it."""
    first_us = _first_due_us(spec)
    if spec.idle:
        use = _cpu_use(wall_s=0.4, total_s=0.01)
        return TrialRecord(spec, first_us, first_us + 400_000, 0, cpu=use, client_cpu_s=0.0)
    found = posted(store, run=run, trial=spec.index, clients=devices)
    record = phone_record(spec, plan, tuple(devices.values()), source, found, first_due_us=first_us)
    wall_s = plan.notifications / plan.rate_hz
    return replace(
        record,
        ended_us=first_us + round(wall_s * 1e6),
        cpu=_cpu_use(wall_s=wall_s, total_s=0.2 * wall_s),
        client_cpu_s=0.0,
    )


def _cpu_use(*, wall_s: float, total_s: float) -> CpuUse:
    return CpuUse(
        wall_s, total_s * 0.7, total_s * 0.3, total_s, True, total_s + 0.001, 4, 900, 9, 9 << 20, 5.0, 5.5
    )


def _write_spool(
    folder: Path,
    plan: Plan,
    spec: TrialSpec,
    source: SourceRecord,
    devices: dict[str, int],
    rng: np.random.Generator,
) -> None:
    """Write the server's spool: every client's batches, one after another."""
    due = np.array([each.due_us for each in source.published], dtype=np.float64)
    trial_level = rng.normal(0.0, 0.05)
    with (folder / spool.FILE_NAME).open("ab") as file:
        for device, client in devices.items():
            spread = rng.normal(trial_level, 0.1) + rng.normal(0.0, 0.4, len(due))
            delay_us = 1000 * MIDDLE_MS[spec.arm.transport] * np.exp(spread)
            # Each page's clock has its own origin, and drifts by some ppm.
            offset_us = ANCHOR_US - 1e9 * (client + 1) + rng.normal(0.0, 5.0) * (due - due[0]) / 1e6
            stamps_us = np.round(due + delay_us - offset_us, 1)
            samples = [
                _sample(spec, each, stamp_us, theta_us)
                for each, stamp_us, theta_us in zip(
                    source.published, stamps_us.tolist(), offset_us.tolist(), strict=True
                )
            ]
            for start in range(0, len(samples), SAMPLES_PER_BATCH):
                batch = {
                    "batch_id": f"t{spec.index}-{start}-{client}",
                    "clock_channel": "websocket",
                    "timebase": "scale",
                    "run": folder.name,
                    "trial": spec.index,
                    "samples": samples[start : start + SAMPLES_PER_BATCH],
                    "conduct": None if start else _conduct(plan),
                }
                line = {"received_us": ANCHOR_US, "device": device, "batch": batch}
                file.write(json.dumps(line, separators=(",", ":")).encode() + b"\n")


def _sample(spec: TrialSpec, each: Published, stamp_us: float, theta_us: float) -> dict[str, object]:
    return {
        "id": f"scale.{each.offset}",
        "transport": spec.arm.transport,
        "due_us": each.due_us,
        "sent_us": each.sent_us,
        "received_client_us": stamp_us,
        "state": "ok",
        "outcome": "on_time",
        "visible": True,
        "displayed_client_us": stamp_us + 9000.0,
        "clock_offset_us": theta_us,
        "clock_bound_us": 450.0,
        "lifecycle": "visible",
    }


def _conduct(plan: Plan) -> dict[str, object]:
    return {
        "disconnects": 0,
        "hidden_ms": 0.0,
        "frozen_ms": 0.0,
        "suspended_ms": 0.0,
        "clock_steps": 0,
        "expected_count": plan.notifications,
        "received_count": plan.notifications,
    }


def _instrument(spec: TrialSpec, source: SourceRecord, rng: np.random.Generator) -> InstrumentRecord:
    """Return a record in which each notification is written to all clients, in a new random order each time."""
    sent_us = np.array([each.sent_us for each in source.published])
    places = np.array([rng.permutation(spec.clients) for _ in source.published])
    accepted_us = sent_us[:, None] + 80 + 5 * places
    return InstrumentRecord(
        connections=tuple(
            ConnectionRecord(
                client, "127.0.0.1", 1024 + client, Writes.of(enumerate(accepted_us[:, client].tolist()))
            )
            for client in range(spec.clients)
        )
    )

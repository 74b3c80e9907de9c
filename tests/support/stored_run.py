"""A finished run in a folder, as the runner with phones leaves it. Nothing in it was measured."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from app.core.instrument import ConnectionRecord, InstrumentRecord
from app.lab.analysis.analyse import analyse
from app.lab.report.files import write_all
from app.store.store import ClientBatch, RunHead, Store
from tests.unit.support_run import RunMaker, a_plan

DEVICES = ("d-0123456789abcdef", "d-fedcba9876543210")
NAMES = ("Red Gecko", "Merak Biru")

LAN_ADDRESS = "192.168.1.77"

CONNECTIONS = (ConnectionRecord(0, LAN_ADDRESS, 40_001), ConnectionRecord(1, "127.0.0.1", 40_002))


def store_run(runs_dir: Path, run: str, *, blocks: int = 1, client_counts: tuple[int, ...] = (2,)) -> Path:
    """Create the folder of a run with store, report, names, spool and a phone's own result."""
    folder = runs_dir / run
    made = replace(
        RunMaker(plan=a_plan(blocks=blocks, client_counts=client_counts, notifications=5)).run(), id=run
    )
    participants = [{"client": seat, "pseudonym": f"P{seat + 1}"} for seat in range(len(DEVICES))]
    conditions = {**made.conditions, "participants": participants}
    with Store.create(folder, RunHead(run, made.started, made.plan, conditions, simulated=False)) as store:
        for trial in made.trials:
            store.add_trial(replace(trial, instrument=InstrumentRecord(connections=CONNECTIONS)))
        for device in DEVICES:
            store.add_batches([ClientBatch(device, "batch-0001", 1, run=run, trial=1)])
        store.finish(ended="2026-01-01T00:01:00Z")
    with Store.open(folder) as store:
        write_all(analyse(store.load()), folder)
    names = [
        {**each, "device": device, "name": name}
        for each, device, name in zip(participants, DEVICES, NAMES, strict=True)
    ]
    (folder / "participants.json").write_text(json.dumps({"participants": names}))
    (folder / "spool.jsonl").write_text(json.dumps({"device": DEVICES[0]}) + "\n")
    (folder / "results").mkdir()
    (folder / "results" / f"{'0' * 32}.json").write_text("{}")
    return folder

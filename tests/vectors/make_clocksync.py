"""Writes `clocksync.json`: sessions with the readings that Python and JavaScript must both give, to the last bit.

Run it from the top of the repository after a change of the algorithm, and look at what changed:

    python -m tests.vectors.make_clocksync

Format 1. `cases[]`: `name`; `options` of the `ClockSync`; `probes` as [t1_us, t2_us, t3_us, t4_us, timebase]; `added`, the
answer to each; `samples_us` and their `readings` as [offset_us, bound_us, state], and `readings_live`, those of a session
that goes on; `segments` as [start_us, end_us, timebase, probe count]; `fitted_corners` of one model of the first 40 probes.
"""

from __future__ import annotations

import json
from dataclasses import asdict, astuple, replace
from pathlib import Path
from random import Random
from typing import Any

from app.core.clocksync.sync import ClockModel, ClockSync
from tests.support.clock_simulation import ClientClock, Session, simulate

VECTORS = Path(__file__).with_name("clocksync.json")
FORMAT = 1


def sessions() -> dict[str, tuple[dict[str, float], Session]]:
    """Options of the `ClockSync` and what the client recorded, by case name."""
    fine = {"quantum_us": 5.0, "wander_us": 10.0, "bound_max_us": 1_000.0}
    return {
        "wired": ({}, _session("wired", 1, ClientClock(rate=40e-6))),
        # Stamps with binary fractions, as a cross-origin isolated page gives them.
        "wired, fine stamps": (fine, _session("wired", 2, ClientClock(rate=-3e-6, quantum_us=4.9))),
        "wifi": ({}, _session("wifi", 3, ClientClock(rate=-120e-6, wander_us=45.0), duration_us=100e6)),
        "asymmetric": ({}, _session("asym", 4, ClientClock(rate=90e-6))),
        "power save": ({}, _session("psm", 5, ClientClock(rate=40e-6))),
        "fixed asymmetry": ({}, _session("basefix", 6, ClientClock())),
        "wide bounds": ({"bound_max_us": 1_300.0}, _session("wifi", 7, ClientClock(rate=60e-6))),
        "step forwards": ({}, _session("wifi", 8, ClientClock(rate=30e-6, steps=((41e6, 6_000.0),)))),
        "steps": ({}, _session("wired", 9, ClientClock(steps=((22e6, -2_000.0), (47e6, 1_500.0))))),
        "suspend": ({}, _session("wifi", 10, ClientClock(rate=-50e-6, sleep=(30e6, 9e6)), duration_us=75e6)),
        "new timebase": ({}, _session("wifi", 11, ClientClock(rate=20e-6), restart_us=33e6)),
        "unusable probes": ({}, _with_unusable_probes(_session("wifi", 13, ClientClock()))),
        "forgotten": ({"probe_count_max": 60}, _session("wired", 12, ClientClock(), duration_us=70e6)),
    }


def case(name: str, options: dict[str, float], session: Session) -> dict[str, Any]:
    """One case with everything that this implementation computes of it."""
    sync = ClockSync(**options)  # type: ignore[arg-type]
    added = [sync.add(probe, timebase=timebase) for probe, timebase in session.probes]
    samples_us = _samples_us(name, session)
    return {
        "name": name,
        "options": options,
        "probes": [[*astuple(probe), timebase] for probe, timebase in session.probes],
        "added": added,
        "samples_us": samples_us,
        "readings": _readings(sync, samples_us),
        "readings_live": [astuple(sync.read(sample_us, live=True)) for sample_us in samples_us],
        "segments": [[s.start_us, s.end_us, s.timebase, len(s.probes)] for s in sync.segments],
        "fitted_corners": _fitted_corners(session),
    }


def document() -> dict[str, Any]:
    """The whole file, as JSON gives it back."""
    cases = [case(name, *session) for name, session in sessions().items()]
    content: dict[str, Any] = json.loads(json.dumps({"format": FORMAT, "cases": cases}))
    return content


def _session(path: str, seed: int, clock: ClientClock, **options: float) -> Session:
    return simulate(
        path, seed=seed, clock=clock, notification_period_us=2.5e6, **{"duration_us": 50e6, **options}
    )


def _with_unusable_probes(session: Session) -> Session:
    """One probe comes late, one was answered before it was asked, one was held longer than it was out."""
    probe, timebase = session.probes[40]
    backwards = replace(probe, t4_us=probe.t1_us - 1.0)
    held = replace(probe, t3_us=probe.t3_us + 1e6)
    session.probes[40:40] = [session.probes[3], (backwards, timebase), (held, timebase)]
    return session


def _samples_us(name: str, session: Session) -> list[float]:
    """Times all over the session and a little beyond both ends, most of them not on any grid."""
    rng = Random(name)
    last_us = session.probes[-1][0].t4_us
    return [rng.uniform(-1e6, last_us + 20e6) for _ in range(40)] + [session.probes[0][0].t1_us, last_us]


def _readings(sync: ClockSync, samples_us: list[float]) -> list[tuple[Any, ...]]:
    return [astuple(sync.read(sample_us)) for sample_us in samples_us]


def _fitted_corners(session: Session) -> Any:
    model = ClockModel.fit(probe for probe, _ in session.probes[:40])
    return asdict(model)["polygon"] if model else None


def main() -> None:
    """Write the file, one case a line."""
    content = document()
    lines = ",\n".join(json.dumps(one, separators=(",", ":")) for one in content["cases"])
    VECTORS.write_text(f'{{"format":{FORMAT},"cases":[\n{lines}\n]}}\n', encoding="ascii")


if __name__ == "__main__":
    main()

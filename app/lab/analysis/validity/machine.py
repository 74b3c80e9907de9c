"""Checks of the machine: other load during the trial, and the resolution of its CPU time."""

from __future__ import annotations

from collections.abc import Iterator

from app.core.trial import TrialRecord, TrialWarning
from app.lab.analysis.validity.trial_warnings import note, void

OTHER_LOAD_MACHINE_NOTE = 0.25
"""Share of the machine. Less load was found to move no figure (docs/measurement.md, "Where the code has departed from this")."""

OTHER_LOAD_MACHINE_VOID = 0.5
"""Share of the machine: on two cores a whole core, so that server and clients share the other one. The effect of less
load shows in the lag of source and clients, and is much the same for all arms of a block."""


def machine_warnings(record: TrialRecord) -> Iterator[TrialWarning]:
    """Check other load on the machine and the resolution of CPU time."""
    use, other_s = record.cpu, other_load_s(record)
    if use is None or use.wall_s <= 0:
        return
    if not use.total_is_ns:
        yield note("cpu_coarse")
    machine_s = use.wall_s * use.cores
    if other_s is None or other_s <= OTHER_LOAD_MACHINE_NOTE * machine_s:
        return
    make = void if other_s > OTHER_LOAD_MACHINE_VOID * machine_s else note
    yield make("machine_busy", percent=100 * other_s / use.wall_s, cores=use.cores)


def other_load_s(record: TrialRecord) -> float | None:
    """Return the CPU seconds of everything but the server and the clients; `None` where not recorded."""
    if record.cpu is None or record.client_cpu_s is None:
        return None
    return record.cpu.machine_busy_s - record.cpu.total_s - record.client_cpu_s

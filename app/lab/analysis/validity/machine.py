"""Whether the machine was the trial's own, and how finely its CPU time was counted."""

from __future__ import annotations

from collections.abc import Iterator

from app.core.trial import CpuUse, TrialRecord, TrialWarning
from app.lab.analysis.validity.trial_warnings import note, void
from app.lab.analysis.words import number

OTHER_LOAD_CORES_NOTE = 0.02
OTHER_LOAD_MACHINE_VOID = 0.5
"""Half of the machine: on two cores a whole one, so that server and clients had to share the other. Below, what load
does shows where it matters, in the lag of source and clients, and both arms of a block have much the same."""

CPU_TICK_S = 0.01
"""The machine's busy time counts in ticks for each core: a trial of a second cannot resolve 2 % of a core."""


def machine_warnings(record: TrialRecord) -> Iterator[TrialWarning]:
    """What else ran on the machine, and how finely CPU time was counted."""
    use, other_s = record.cpu, other_load_s(record)
    if use is None or use.wall_s <= 0:
        return
    if not use.total_is_ns:
        yield note(
            "cpu_coarse",
            "CPU time was counted in ticks of 10 ms, which cannot resolve single notifications.",
            "Compare CPU on Linux, where each process has a nanosecond clock.",
        )
    if other_s is None or other_s <= OTHER_LOAD_CORES_NOTE * use.wall_s + CPU_TICK_S * use.cores:
        return
    make = void if other_s > OTHER_LOAD_MACHINE_VOID * use.wall_s * use.cores else note
    yield make(
        "machine_busy", _busy_text(use, other_s), "Close other programs, or use a machine that is idle."
    )


def other_load_s(record: TrialRecord) -> float | None:
    """CPU seconds of everything on the machine but the server and the clients; `None` when not known."""
    if record.cpu is None or record.client_cpu_s is None:
        return None
    return record.cpu.machine_busy_s - record.cpu.total_s - record.client_cpu_s


def _busy_text(use: CpuUse, other_s: float) -> str:
    return (
        f"Other programs used {number(100 * other_s / use.wall_s)} % of a core ({use.cores} cores) meanwhile."
    )

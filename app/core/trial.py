"""Record of a finished trial, which the store keeps and the analysis reads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from app.core.delivery import Delivery
from app.core.instrument import InstrumentRecord
from app.core.lifecycle import LifecycleReport
from app.core.messages import Argument
from app.core.plan.scenario import Plan, TrialSpec
from app.core.timeline import TrialTimeline


@dataclass(frozen=True, slots=True)
class CpuUse:
    """CPU use of the server's process tree between two edges of a trial, read from outside of the server."""

    wall_s: float
    """Time between the two edges."""
    user_s: float
    """User time from psutil's `cpu_times`, in 10 ms ticks: fit for display, too coarse for tests."""
    system_s: float
    total_s: float
    """Sum of the processes' nanosecond CPU clocks; psutil's user + system on platforms without such clocks."""
    total_is_ns: bool
    """True if `total_s` comes from nanosecond clocks."""
    machine_busy_s: float
    """User, system, irq and softirq seconds of all cores of the machine (psutil `cpu_times`)."""
    cores: int
    voluntary_switches: int
    involuntary_switches: int
    rss_bytes: int
    """Resident memory of the process tree at the end."""
    cpu_percent_before: float | None
    """The machine's `cpu_percent` from the previous edge to the first one: a momentary value, not a baseline."""
    cpu_percent_after: float | None
    """The machine's `cpu_percent` between the two edges, the meter of the published study."""


class Severity(StrEnum):
    """Effect of a warning on the figures."""

    VOID = "void"
    """The trial is invalid: its block is excluded and repeated."""
    NOTE = "note"
    """The figures remain valid; the reader should know of it."""


@dataclass(frozen=True, slots=True)
class TrialWarning:
    """A typed warning. Its sentence and the advice on it are in the catalogue, under its code."""

    code: str
    """Stable name, e.g. `source_late`."""
    severity: Severity
    args: dict[str, Argument] = field(default_factory=dict)
    """Values of the sentence's placeholders; `text` and `advice` in a warning of a run from before schema 6."""
    variant: str = ""
    """Name of the sentence, where the code has several."""


@dataclass(frozen=True, slots=True)
class TrialRecord:
    """A finished trial with all its measurements."""

    spec: TrialSpec
    started_us: int
    ended_us: int
    """Start and end are the edges of the CPU window, in the server's time base."""
    published: int
    """Number of notifications that the source published, warm-up included."""
    source_lag_us: tuple[int, ...] = ()
    """sent - due of each measured notification, in order."""
    deliveries: Sequence[Delivery] = ()
    """One row per client and expected notification, warm-up included; duplicates are extra rows. Loaded from a store they
    are columns (`columns.py`), which compare equal to a tuple of the same rows."""
    cpu: CpuUse | None = None
    client_loop_lag_ms_p99: float | None = None
    """Lateness of the clients' event loop, which is an error of the instrument."""
    client_cpu_s: float | None = None
    """CPU seconds of the clients' process in the window."""
    disconnects: int = 0
    disturbances: int = 0
    """Number of requests during the trial that did not belong to the transport under test."""
    completed: bool = True
    """True if the trial ran to its end."""
    instrument: InstrumentRecord | None = None
    """The server's record of its connections; `None` if the instrument was off."""
    timeline: TrialTimeline | None = None
    """Timeline of the trial; `None` if it was not recorded."""
    participants: tuple[int, ...] = ()
    """Phones that took part, by `Delivery.client`; empty for built-in clients, which are numbered from 0."""
    lifecycle_reports: tuple[LifecycleReport, ...] = ()
    """Lifecycle reports of the participants, by client; a participant without a report is missing."""
    display_ms: Sequence[float] = field(default=(), compare=False)
    """Time from receipt to paint of each measured arrival that a visible page showed; empty for built-in clients. It is
    read from the phones' posts, not from the deliveries, and so it does not count when records are compared."""
    warnings: tuple[TrialWarning, ...] = field(default_factory=tuple)
    """Warnings of the runner; the analysis adds its own."""


@dataclass(frozen=True, slots=True)
class RunRecord:
    """A run as input of the analysis: plan, conditions and trials, from the store or directly from the runner."""

    id: str
    started: str
    """ISO 8601, UTC."""
    complete: bool
    """False if the run was stopped or the runner died."""
    plan: Plan
    conditions: dict[str, object]
    """Versions, CPU model, governor, kernel, browser, settings, git commit."""
    trials: tuple[TrialRecord, ...]
    simulated: bool = True
    """True if the clients were programs: built-in ones, or phones that label themselves as simulated."""

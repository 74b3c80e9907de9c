"""What is known of a trial when it is over: the record that the store keeps and the analysis reads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from app.core.delivery import Delivery
from app.core.instrument import InstrumentRecord
from app.core.lifecycle import LifecycleReport
from app.core.plan.scenario import Plan, TrialSpec
from app.core.timeline import TrialTimeline


@dataclass(frozen=True, slots=True)
class CpuUse:
    """What the server's process tree used between two edges of a trial, read from outside."""

    wall_s: float
    """Time between the two edges."""
    user_s: float
    """psutil `cpu_times`, 10 ms ticks; show it, do not test it."""
    system_s: float
    total_s: float
    """Sum of the processes' nanosecond CPU clocks; psutil's user + system where there is no such clock."""
    total_is_ns: bool
    """Whether `total_s` came from the nanosecond clock."""
    machine_busy_s: float
    """User, system, irq and softirq seconds of all cores of the machine (psutil `cpu_times`)."""
    cores: int
    voluntary_switches: int
    involuntary_switches: int
    rss_bytes: int
    """Resident memory of the tree at the end."""
    cpu_percent_before: float | None
    """The machine's `cpu_percent` from the edge before to the first edge: a moment, and no baseline."""
    cpu_percent_after: float | None
    """The machine's `cpu_percent` between the two edges, by the published study's meter."""


class Severity(StrEnum):
    """What a warning does to the figures."""

    VOID = "void"
    """The trial is invalid: its block is left out and repeated."""
    NOTE = "note"
    """To be read; the figures stand."""


@dataclass(frozen=True, slots=True)
class TrialWarning:
    """A typed warning: what was seen, and what to do about it."""

    code: str
    """Stable name, e.g. `source_late`."""
    severity: Severity
    text: str
    """A sentence with the figure."""
    advice: str
    """A sentence with the next step."""


@dataclass(frozen=True, slots=True)
class TrialRecord:
    """A finished trial with everything that was measured in it."""

    spec: TrialSpec
    started_us: int
    ended_us: int
    """Server time base; edges of the CPU window."""
    published: int
    """Notifications that the source published, warm-up included."""
    source_lag_us: tuple[int, ...] = ()
    """sent - due of each measured notification, in order."""
    deliveries: Sequence[Delivery] = ()
    """One row per client and expected notification, warm-up included, duplicates as extra rows. From a store they are
    columns (`columns.py`), which compare equal to a tuple of the same rows."""
    cpu: CpuUse | None = None
    client_loop_lag_ms_p99: float | None = None
    """How late the clients' own loop was: an error of the instrument."""
    client_cpu_s: float | None = None
    """CPU seconds of the clients' process in the window."""
    disconnects: int = 0
    disturbances: int = 0
    """Requests that the server answered during the trial beside the transport under test."""
    completed: bool = True
    """Whether the trial ran to its end."""
    instrument: InstrumentRecord | None = None
    """What the server recorded of its connections; `None` when that was not asked for."""
    course: TrialTimeline | None = None
    """How it went second by second; `None` where that was not recorded."""
    participants: tuple[int, ...] = ()
    """Phones that took part, by `Delivery.client`; empty for built-in clients, which are 0 to the count."""
    conducts: tuple[LifecycleReport, ...] = ()
    """What the participants said of themselves, by client; one that said nothing is not there."""
    display_ms: Sequence[float] = field(default=(), compare=False)
    """From receipt to paint of each measured arrival that a visible page showed; empty for built-in clients. What phones
    posted for it lies beside the deliveries, and so it is no part of what makes two records equal."""
    warnings: tuple[TrialWarning, ...] = field(default_factory=tuple)
    """What the runner saw while it ran; the analysis adds its own."""


@dataclass(frozen=True, slots=True)
class RunRecord:
    """A run as the analysis takes it: plan, conditions and trials, from the store or straight from the runner."""

    id: str
    started: str
    """ISO 8601, UTC."""
    complete: bool
    """False when the run was stopped or the runner died."""
    plan: Plan
    conditions: dict[str, object]
    """Versions, CPU model, governor, kernel, browser, settings, git commit."""
    trials: tuple[TrialRecord, ...]
    simulated: bool = True
    """Whether the clients were programs: built-in ones, or phones that call themselves simulated."""

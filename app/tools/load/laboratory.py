"""Trials of a load run: the built-in laboratory with another client link, and a watch on the generator."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from app.core.plan.scenario import TrialSpec, arm_plan
from app.core.trial import CpuUse, Severity, TrialRecord
from app.lab.analysis.metrics.trial_metrics import measure
from app.lab.analysis.validity.checks import check_trial
from app.lab.run.laboratory import Finished
from app.lab.run.trial_run import BuiltInClients
from app.tools.bench.own_redis import RedisHere
from app.tools.load.client_selector import BUILT_IN, LOCUST, ClientSelector
from app.tools.load.cpu_isolation import Sharing
from app.tools.load.delays import delays_of
from app.tools.load.generators import Handshakes
from app.tools.load.invalid_rules import is_believable, rules
from app.tools.load.probe_line import Probed, ProbeLine
from app.tools.load.probing import Probes
from app.tools.load.trial_line import TrialLine
from app.tools.load.watch import Observations, Watch


@dataclass(slots=True)
class LoadLaboratory(BuiltInClients):
    """Runs the trials of a load run. `selector` is also its `clients`."""

    selector: ClientSelector | None = None
    on_trial: Callable[[TrialLine], None] = lambda _line: None
    """Called with each measured trial after it ended."""
    before_users: Callable[[TrialSpec], None] = lambda _spec: None
    """Called right before a trial's users connect, to measure the floor of its block."""
    sharing: Sharing = Sharing.NEVER
    """Overlap of the cores of server and generator."""
    redis: RedisHere | None = None
    """The Redis of a preset, which is probed during each trial."""
    on_probes: Callable[[ProbeLine], None] = lambda _line: None
    """Called with the probes of each measured trial after it ended."""
    _probes: Probes | None = field(init=False, default=None)
    _probed: Probed | None = field(init=False, default=None)
    _watch: Watch | None = field(init=False, default=None)
    _observations: Observations | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        BuiltInClients.__post_init__(self)
        self.link.on_window, self.link.on_window_end = self._begin_window, self._end_window

    @property
    def link(self) -> ClientSelector:
        """The client selector, which must be set."""
        assert self.selector is not None
        return self.selector

    def connect(self, spec: TrialSpec) -> None:
        """Connect the clients or users of the arm; failures to connect are data."""
        self.link.choose(spec.arm)
        self.before_users(spec)
        BuiltInClients.connect(self, spec)

    def idle(self, spec: TrialSpec) -> Finished:
        """Measure an idle window with the same probes as a trial, so that the difference is due to notifications."""
        self._begin_probes()
        try:
            return BuiltInClients.idle(self, spec)
        finally:
            self._end_probes()

    def at_end(self) -> Mapping[str, object]:
        """End the probes and do what every run does at its end."""
        self._end_probes()
        return BuiltInClients.at_end(self)

    def measure(self, spec: TrialSpec) -> Finished:
        """Run a trial, and record what the generator did meanwhile."""
        finished = BuiltInClients.measure(self, spec)
        if self._probed is not None:
            arm = spec.arm
            self.on_probes(
                ProbeLine(spec.index, spec.block, arm.name, arm.transport, spec.clients, self._probed)
            )
        record = self._judged(finished.record)
        self.on_trial(self._line(record))
        return replace(finished, record=record)

    def _begin_probes(self) -> None:
        self._end_probes()
        if self.redis is not None:
            self._probes = Probes(self._serving, self.redis)

    def _end_probes(self) -> None:
        if self._probes is not None:
            self._probed = self._probes.end()
            self._probes = None

    def _begin_window(self) -> None:
        self._begin_probes()
        self._observations = None
        self._watch = Watch(self.link.generators.pids if self.link.is_locust else [self.link.clock.pid])

    def _end_window(self) -> None:
        if self._watch is not None:
            self._observations = self._watch.end()
            self._watch = None
        self._end_probes()

    def _judged(self, record: TrialRecord) -> TrialRecord:
        """Add the warnings that only a load run has. Trials of built-in clients are judged as in every other run."""
        gathered, observations, stamps = self.link.gathered, self._observations, self.link.stamps
        if gathered is None or observations is None:
            return record
        found = rules(
            gathered,
            observations,
            arrivals=stamps.arrivals,
            without_stamp=stamps.missing,
            shared=stamps.shared,
            sharing=self.sharing,
        )
        return replace(record, warnings=(*record.warnings, *found))

    def _line(self, record: TrialRecord) -> TrialLine:
        spec, plan = record.spec, arm_plan(self.plan, record.spec.arm)
        metrics, warnings = measure(record, self.plan), check_trial(record, self.plan)
        gathered, observations = self.link.gathered, self._observations
        handshakes = (
            gathered.handshakes if gathered else Handshakes(spec.clients, spec.clients, spec.clients, {}, ())
        )
        return TrialLine(
            trial=spec.index,
            block=spec.block,
            arm=spec.arm.name,
            transport=spec.arm.transport,
            generator=LOCUST if self.link.is_locust else BUILT_IN,
            users=spec.clients,
            connected=handshakes.connected,
            attempts=handshakes.attempts,
            failures=handshakes.failures,
            connect_us=handshakes.connect_us,
            published=record.published,
            notifications=plan.notifications,
            expected=metrics.expected,
            lost=metrics.lost,
            late=metrics.late,
            replayed=metrics.replayed,
            duplicates=metrics.duplicates,
            out_of_order=metrics.out_of_order,
            disconnects=record.disconnects,
            cpu_core_percent=_core_percent(record.cpu),
            source_lag_ms_p99=metrics.source_lag_ms_p99,
            generator_cpu_share_max=observations.cpu_share_max if observations else None,
            generator_cpu_s=observations.cpu_s if observations else None,
            generator_lag_ms_p99=record.client_loop_lag_ms_p99,
            shared=self.link.stamps.shared,
            is_believable=is_believable(warnings),
            void_codes=tuple(each.code for each in warnings if each.severity is Severity.VOID),
            delays=delays_of(record.deliveries, self.link.generator_delays_us),
            broken_before=gathered.broken_before if gathered else 0,
        )


def _core_percent(use: CpuUse | None) -> float | None:
    return 100 * use.total_s / use.wall_s if use is not None and use.wall_s > 0 else None

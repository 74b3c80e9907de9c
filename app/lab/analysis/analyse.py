"""Analysis of a run: one frozen model of all its figures, which every renderer shares."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from app.core.columns import DeliveryColumns
from app.core.plan.scenario import Arm, Plan, plan_sha256
from app.core.trial import CpuUse, RunRecord, Severity, TrialRecord, TrialWarning
from app.lab.analysis.comparison.compare_arms import Block, Comparison, compare
from app.lab.analysis.metrics.cpu import cpu_figures
from app.lab.analysis.metrics.trial_figures import figures_of
from app.lab.analysis.summary import AnalysedIdle, AnalysedTrial, SummaryRow, summary_row
from app.lab.analysis.validity.checks import check_trial, is_valid


@dataclass(frozen=True, slots=True)
class WarningGroup:
    """All warnings with the same code and severity."""

    first: TrialWarning
    """The first of them, whose sentence is shown."""
    trials: tuple[int, ...]
    """Indexes of the trials and idle windows that have the warning."""


@dataclass(frozen=True, slots=True)
class Totals:
    """Counts of all deliveries of the run, including those of invalid trials, so that no loss is hidden."""

    trials: int
    """The number of trials without idle windows."""
    void: int
    """The number of invalid trials."""
    expected: int
    delivered: int
    lost: int
    late: int
    duplicates: int
    out_of_order: int
    lost_in_void: int = 0
    """The lost deliveries of invalid trials, whose warnings give the reason and whose blocks are repeated."""


@dataclass(frozen=True, slots=True)
class Analysis:
    """All figures of a run that the renderers need."""

    run: RunRecord
    plan_sha256: str
    trials: tuple[AnalysedTrial, ...]
    """Trials in the order in which they ran, without idle windows."""
    idle: tuple[AnalysedIdle, ...]
    totals: Totals
    summary: tuple[SummaryRow, ...]
    """Pooled, descriptive rows: by count of clients, then in the plan's order of arms."""
    comparisons: tuple[Comparison, ...]
    warnings: tuple[WarningGroup, ...]
    """Groups of warnings, those that void a trial first."""

    @property
    def verdicts(self) -> tuple[Comparison, ...]:
        """Return the confirmatory comparisons: one for each pair of arms and count of clients."""
        return tuple(each for each in self.comparisons if each.family == "confirmatory")

    @property
    def phones(self) -> tuple[Mapping[str, object], ...]:
        """Return the participants by pseudonym, as the run's conditions record them; none for built-in clients."""
        found = self.run.conditions.get("participants")
        return tuple(each for each in found if isinstance(each, dict)) if isinstance(found, list) else ()

    @property
    def noun(self) -> str:
        """Return the noun for a client of this run: phone or client."""
        return "phone" if self.phones else "client"

    @property
    def client_counts(self) -> tuple[int, ...]:
        """Return the counts of clients that have rows, ascending."""
        return tuple(sorted({row.clients for row in self.summary}))

    def counted_trials(self, arm: Arm, clients: int) -> list[AnalysedTrial]:
        """Return the trials of one arm at one count of clients that are in the comparison."""
        return [each for each in self.trials if each.in_comparison and _is_of(each, arm, clients)]

    def row(self, arm: Arm, clients: int) -> SummaryRow:
        """Return the summary of one arm at one count of clients."""
        return next(each for each in self.summary if (each.arm.name, each.clients) == (arm.name, clients))


def analyse(run: RunRecord) -> Analysis:
    """Analyse a run, complete or not; the result depends on nothing but the record."""
    plan = _plan_as_run(run)
    idle = tuple(_analysed_idle(record, plan) for record in run.trials if record.spec.idle)
    baselines = {
        (each.record.spec.clients, each.record.spec.block): each.cpu
        for each in idle
        if each.valid and each.cpu is not None
    }
    measured = [_analysed(record, plan, baselines) for record in run.trials if not record.spec.idle]
    blocks = _blocks(plan, measured, idle)
    counting = {(block.clients, block.number) for block in blocks if block.valid}
    trials = tuple(replace(each, in_comparison=_block_of(each) in counting) for each in measured)
    return Analysis(
        run=run,
        plan_sha256=plan_sha256(run.plan),
        trials=trials,
        idle=idle,
        totals=_totals(trials),
        summary=tuple(_row(trials, arm, n) for n in sorted(plan.client_counts) for arm in plan.arms),
        comparisons=compare(plan, blocks),
        warnings=_grouped_warnings([*trials, *idle]),
    )


def _plan_as_run(run: RunRecord) -> Plan:
    """Return the plan with the additional counts of clients that arose when phones left for good and others went on."""
    measured = {record.spec.clients for record in run.trials} - set(run.plan.client_counts)
    return replace(run.plan, client_counts=(*run.plan.client_counts, *sorted(measured)))


def _analysed(record: TrialRecord, plan: Plan, baselines: dict[tuple[int, int], CpuUse]) -> AnalysedTrial:
    record = replace(record, deliveries=DeliveryColumns.of(record.deliveries))
    figures = figures_of(record, plan)
    warnings = check_trial(record, plan, figures)
    return AnalysedTrial(
        record=record,
        metrics=figures.metrics,
        cpu=cpu_figures(record, baselines.get((record.spec.clients, record.spec.block))),
        warnings=warnings,
        valid=is_valid(warnings),
        in_comparison=False,
        split=figures.split,
    )


def _analysed_idle(record: TrialRecord, plan: Plan) -> AnalysedIdle:
    warnings = check_trial(record, plan)
    return AnalysedIdle(record, record.cpu, warnings, is_valid(warnings))


def _blocks(plan: Plan, trials: Sequence[AnalysedTrial], idle: Sequence[AnalysedIdle]) -> list[Block]:
    """Return the complete blocks: those with a trial of every arm.

    An invalid idle window makes its block invalid, as it does for the runner.
    """
    void = {_block_of(each) for each in trials if not each.valid}
    void |= {_block_of(each) for each in idle if not each.valid}
    members: dict[tuple[int, int], dict[str, AnalysedTrial]] = {}
    for each in trials:
        members.setdefault(_block_of(each), {})[each.record.spec.arm.name] = each
    return [
        Block(
            number=number,
            clients=clients,
            valid=(clients, number) not in void,
            values={name: _values(each) for name, each in by_arm.items()},
            clock_bound_ms=max(
                (b for each in by_arm.values() if (b := each.metrics.clock_bound_ms) is not None),
                default=None,
            ),
        )
        for (clients, number), by_arm in sorted(members.items())
        if by_arm.keys() == {arm.name for arm in plan.arms}
    ]


def _block_of(trial: AnalysedTrial | AnalysedIdle) -> tuple[int, int]:
    return trial.record.spec.clients, trial.record.spec.block


def _values(trial: AnalysedTrial) -> dict[str, float | None]:
    return {
        "delay_ms_p50": trial.metrics.delay_ms.p50,
        "cpu_per_delivery_us": trial.cpu.per_delivery_us,
        "jitter_ms": trial.metrics.jitter_ms,
    }


def _row(trials: Sequence[AnalysedTrial], arm: Arm, clients: int) -> SummaryRow:
    own = [each for each in trials if each.in_comparison and _is_of(each, arm, clients)]
    return summary_row(arm, clients, own)


def _is_of(trial: AnalysedTrial, arm: Arm, clients: int) -> bool:
    spec = trial.record.spec
    return (spec.arm.name, spec.clients) == (arm.name, clients)


def _totals(trials: Sequence[AnalysedTrial]) -> Totals:
    metrics = [each.metrics for each in trials]
    return Totals(
        trials=len(trials),
        void=sum(not each.valid for each in trials),
        expected=sum(each.expected for each in metrics),
        delivered=sum(each.delivered for each in metrics),
        lost=sum(each.lost for each in metrics),
        late=sum(each.late for each in metrics),
        duplicates=sum(each.duplicates for each in metrics),
        out_of_order=sum(each.out_of_order for each in metrics),
        lost_in_void=sum(each.metrics.lost for each in trials if not each.valid),
    )


def _grouped_warnings(trials: Sequence[AnalysedTrial | AnalysedIdle]) -> tuple[WarningGroup, ...]:
    groups: dict[tuple[str, Severity], WarningGroup] = {}
    for each in sorted(trials, key=lambda trial: trial.record.spec.index):
        for warning in each.warnings:
            key, index = (warning.code, warning.severity), each.record.spec.index
            group = groups.get(key) or WarningGroup(warning, ())
            groups[key] = replace(group, trials=(*group.trials, index))
    return tuple(sorted(groups.values(), key=lambda group: group.first.severity is not Severity.VOID))

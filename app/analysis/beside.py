"""What other methods say of the same data, beside the verdict and never in its place.

effect       A12 and Cliff's delta on trial medians
normality    Shapiro-Wilk on the block differences: information
pooled       the library study's tests on pooled samples, with what they ignore
study        the SSE study's method: one trial, means, clocks set once; for every block as if it had been the only one
needed       how many blocks 80 % power takes, for a difference of the size seen and for equivalence
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import stdev

from app.analysis.analyse import Analysis
from app.analysis.comparison import Comparison, Verdict
from app.analysis.effect_size import EffectSize, effect_size
from app.analysis.metrics import delay_ms, is_sample
from app.analysis.pooled import PooledTests, pooled_tests
from app.analysis.power import blocks_for, blocks_for_equivalence
from app.analysis.shapiro import Normality, shapiro_wilk
from app.analysis.study_method import StudyMethod, study_methods
from app.analysis.words import arm_title, count_of
from app.core.scenario import Arm

POOLED_MAX = 100_000
"""Of more samples every so-many-th is pooled: beyond, p is 0 whatever the difference."""


@dataclass(frozen=True, slots=True)
class Beside:
    """Other methods on one confirmatory comparison."""

    comparison: Comparison
    effect: EffectSize | None
    """Of b over a."""
    normality: Normality | None
    pooled: PooledTests
    study: StudyMethod | None
    blocks_for_difference: int | None
    """For 80 % power at a difference of the size and spread seen; `None` where 999 are too few, or nothing was seen."""
    blocks_for_equivalence: int | None

    @property
    def study_agrees(self) -> bool | None:
        """Whether the study's one trial says what the verdict says; `None` where there is nothing to agree with."""
        if self.study is None or self.comparison.verdict not in (Verdict.LOWER_A, Verdict.LOWER_B):
            return None
        return (self.study.first.difference_ms > 0) == (self.comparison.verdict is Verdict.LOWER_A)


def beside(analysis: Analysis) -> tuple[Beside, ...]:
    """One for each confirmatory comparison, in their order."""
    return tuple(_beside(analysis, each) for each in analysis.verdicts)


def study_of(analysis: Analysis, comparison: Comparison) -> StudyMethod | None:
    """The study's method on the blocks of one comparison; `None` where there are none."""
    counting = {(comparison.clients, block) for block, _ in comparison.differences}
    records = [each.record for each in analysis.trials]
    found = study_methods(records, comparison.a.name, comparison.b.name, counting=counting)
    return found[0] if found else None


def once_sentence(analysis: Analysis, comparison: Comparison) -> str | None:
    """What single measurements by the study's method would have said; `None` without blocks."""
    study = study_of(analysis, comparison)
    if study is None:
        return None
    count = len(study.blocks)
    return (
        f"Measured once, clocks set once, as in the study: {study.a_lower} of {count_of(count, 'block')} would have said "
        f"{arm_title(comparison.a)} faster at {count_of(study.clients, analysis.noun)}, "
        f"{study.b_lower} {arm_title(comparison.b)}."
    )


def _beside(analysis: Analysis, comparison: Comparison) -> Beside:
    clients = comparison.clients
    values = [value for _, value in comparison.differences]
    spread = stdev(values) if len(values) > 1 else 0.0
    return Beside(
        comparison=comparison,
        effect=effect_size(
            _medians(analysis, comparison.a, clients), _medians(analysis, comparison.b, clients)
        ),
        normality=shapiro_wilk(values),
        pooled=pooled_tests(
            _samples(analysis, comparison.a, clients), _samples(analysis, comparison.b, clients)
        ),
        study=study_of(analysis, comparison),
        blocks_for_difference=blocks_for(abs(comparison.estimate) / spread)
        if spread and comparison.estimate
        else None,
        blocks_for_equivalence=blocks_for_equivalence(comparison.margin / spread)
        if spread and comparison.margin
        else None,
    )


def _medians(analysis: Analysis, arm: Arm, clients: int) -> list[float]:
    return [
        value
        for each in analysis.trials
        if each.in_comparison
        and (each.record.spec.arm.name, each.record.spec.clients) == (arm.name, clients)
        and (value := each.metrics.delay_ms.p50) is not None
    ]


def _samples(analysis: Analysis, arm: Arm, clients: int) -> list[float]:
    found = [
        each
        for trial in analysis.trials
        if trial.in_comparison
        and (trial.record.spec.arm.name, trial.record.spec.clients) == (arm.name, clients)
        for each in trial.record.deliveries
        if is_sample(each)
    ]
    return [delay_ms(each) for each in found[:: -(-len(found) // POOLED_MAX) or 1]]

"""Other methods applied to the same data: they inform, and no verdict depends on them.

effect       A12 effect size and Cliff's delta on trial medians
normality    Shapiro-Wilk test on the block differences
pooled       the library study's tests on pooled samples, with a label that names what they ignore
study        the SSE study's method: one trial, means, uncorrected clocks; applied to every block as if it were the only one
needed       the number of blocks for 80 % power, for a difference of the observed size and for equivalence
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import stdev

from app.core.messages import Message, count
from app.core.plan.scenario import Arm
from app.lab.analysis.analyse import Analysis
from app.lab.analysis.cached import computed_once
from app.lab.analysis.columns import columns_of
from app.lab.analysis.comparison.compare_arms import Comparison, Verdict
from app.lab.analysis.comparison.study_method import Stamps, StudyMethod, study_methods
from app.lab.analysis.statistics.effect_size import EffectSize, effect_size
from app.lab.analysis.statistics.pooled_tests import PooledTests, pooled_tests
from app.lab.analysis.statistics.power import blocks_for, blocks_for_equivalence
from app.lab.analysis.statistics.shapiro import Normality, shapiro_wilk
from app.lab.analysis.words import arm_title

POOLED_MAX = 100_000
"""Most samples that are pooled of one arm; of more, every k-th is taken, since with more p is 0 whatever the difference."""


@dataclass(frozen=True, slots=True)
class AlternativeMethods:
    """Results of the other methods for one confirmatory comparison."""

    comparison: Comparison
    effect: EffectSize | None
    """The effect size of b over a."""
    normality: Normality | None
    pooled: PooledTests
    study: StudyMethod | None
    blocks_for_difference: int | None
    """Blocks for 80 % power at the observed difference and spread; `None` above 999, or without a difference."""
    blocks_for_equivalence: int | None
    """Blocks for 80 % power to show equivalence without a true difference; `None` above 999."""

    @property
    def study_agrees(self) -> bool | None:
        """Return True if the study's single trial agrees with the verdict; `None` without a verdict or such a trial."""
        if self.study is None or self.comparison.verdict not in (Verdict.LOWER_A, Verdict.LOWER_B):
            return None
        return (self.study.first.difference_ms > 0) == (self.comparison.verdict is Verdict.LOWER_A)


@computed_once
def alternative_methods(analysis: Analysis) -> tuple[AlternativeMethods, ...]:
    """Return the results for each confirmatory comparison, in the order of `Analysis.verdicts`."""
    found = study_results(analysis)
    return tuple(
        _other_methods(analysis, each, found.get((each.b.name, each.clients))) for each in analysis.verdicts
    )


@computed_once
def study_results(analysis: Analysis) -> dict[tuple[str, int], StudyMethod]:
    """Apply the study's method to the blocks of each confirmatory comparison.

    The keys are the name of the second arm and the count of clients.
    """
    records = [each.record for each in analysis.trials]
    found = {}
    for b in analysis.run.plan.arms[1:]:
        counting = {
            (each.clients, block)
            for each in analysis.verdicts
            if each.b.name == b.name
            for block, _ in each.differences
        }
        for study in study_methods(records, analysis.run.plan.arms[0].name, b.name, counting=counting):
            found[b.name, study.clients] = study
    return found


def single_trial_sentences(analysis: Analysis) -> list[Message]:
    """Return a sentence for each valid comparison: what single trials by the study's method would have found."""
    found = study_results(analysis)
    return [
        Message(
            "once.wall" if study.stamps is Stamps.WALL else "once",
            {
                "n": study.a_lower,
                "blocks": len(study.blocks),
                "arm": arm_title(each.a),
                "where": count(study.clients, analysis.noun),
                "n1": study.b_lower,
                "arm1": arm_title(each.b),
            },
        )
        for each in analysis.verdicts
        if each.verdict is not Verdict.INVALID
        and (study := found.get((each.b.name, each.clients))) is not None
    ]


def _other_methods(
    analysis: Analysis, comparison: Comparison, study: StudyMethod | None
) -> AlternativeMethods:
    clients = comparison.clients
    values = [value for _, value in comparison.differences]
    spread = stdev(values) if len(values) > 1 else 0.0
    return AlternativeMethods(
        comparison=comparison,
        effect=effect_size(
            _medians(analysis, comparison.a, clients), _medians(analysis, comparison.b, clients)
        ),
        normality=shapiro_wilk(values),
        pooled=pooled_tests(
            _samples(analysis, comparison.a, clients), _samples(analysis, comparison.b, clients)
        ),
        study=study,
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
        for each in analysis.counted_trials(arm, clients)
        if (value := each.metrics.delay_ms.p50) is not None
    ]


def _samples(analysis: Analysis, arm: Arm, clients: int) -> list[float]:
    own = [columns_of(trial.record.deliveries) for trial in analysis.counted_trials(arm, clients)]
    step = -(-sum(len(each.client) for each in own) // POOLED_MAX) or 1
    return [value for each in own for value in each.delay_ms[::step][each.is_sample[::step]].tolist()]

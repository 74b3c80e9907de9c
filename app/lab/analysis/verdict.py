"""A run's verdict in one sentence, in English and Indonesian, for the people who took part."""

from __future__ import annotations

from dataclasses import dataclass

from app.core.messages import Message
from app.i18n import LANGUAGES, text
from app.lab.analysis.analyse import Analysis
from app.lab.analysis.comparison.compare_arms import Comparison, Verdict
from app.lab.analysis.comparison.sentences import sentence


@dataclass(frozen=True, slots=True)
class RunVerdict:
    """The verdict of a run on delay."""

    code: str
    """`lower_a`, `lower_b`, `equivalent`, `undecided`, `invalid`, or `alone` where nothing is compared."""
    sentence_en: str
    sentence_id: str


def run_verdict(analysis: Analysis) -> RunVerdict:
    """Return the verdict of the confirmatory comparison with the most clients, among those that ran.

    The largest count is the one that a room full of phones is about.
    """
    with_most = max(
        analysis.verdicts, key=lambda each: (each.blocks_complete > 0, each.clients), default=None
    )
    if with_most is None:
        return RunVerdict("alone", *(text(Message("report.alone"), language) for language in LANGUAGES))
    found = sentence(with_most, noun=analysis.noun)
    indonesian = text(found, "id")
    if with_most.verdict not in (Verdict.LOWER_A, Verdict.LOWER_B):  # They begin with the name of an arm.
        indonesian = indonesian[0].upper() + indonesian[1:]
    return RunVerdict(_code(with_most), text(found, LANGUAGES[0]), indonesian)


def _code(comparison: Comparison) -> str:
    is_equal = comparison.verdict is Verdict.UNDECIDED and comparison.equivalent
    return "equivalent" if is_equal else comparison.verdict.value

"""A run's verdict in one sentence, in English and Indonesian, for the people who took part."""

from __future__ import annotations

from dataclasses import dataclass

from app.lab.analysis.analyse import Analysis
from app.lab.analysis.comparison.compare_arms import Comparison, Verdict
from app.lab.analysis.comparison.margins import BLOCKS_NEEDED_MAX
from app.lab.analysis.comparison.sentences import sentence
from app.lab.analysis.words import NOTHING, arm_title, is_same_arm, number


@dataclass(frozen=True, slots=True)
class RunVerdict:
    """The verdict of a run on delay."""

    code: str
    """`lower_a`, `lower_b`, `equivalent`, `undecided`, `invalid`, or `alone` where nothing is compared."""
    sentence_en: str
    sentence_id: str


SAME_ARMS = " (kedua cara sama: alarm palsu, atau ada yang mengganggu percobaan)"
"""Appended to a difference that an A/A run finds, as `sentences.SAME_ARMS` is in English."""

_ALONE = RunVerdict(
    "alone", "One arm alone is compared with nothing.", "Satu cara saja tidak dibandingkan dengan apa pun."
)


def run_verdict(analysis: Analysis) -> RunVerdict:
    """Return the verdict of the confirmatory comparison with the most clients, among those that ran.

    The largest count is the one that a room full of phones is about.
    """
    with_most = max(
        analysis.verdicts, key=lambda each: (each.blocks_complete > 0, each.clients), default=None
    )
    if with_most is None:
        return _ALONE
    return RunVerdict(
        _code(with_most),
        sentence(with_most, noun=analysis.noun),
        _indonesian(with_most, "ponsel" if analysis.phones else "klien"),
    )


def _code(comparison: Comparison) -> str:
    is_equal = comparison.verdict is Verdict.UNDECIDED and comparison.equivalent
    return "equivalent" if is_equal else comparison.verdict.value


def _indonesian(comparison: Comparison, noun: str) -> str:
    where = f"pada {comparison.clients} {noun}"
    if comparison.verdict is Verdict.INVALID:
        return (
            f"Tundaan tidak sah {where}: hanya {comparison.blocks_valid} dari {comparison.blocks_complete} blok yang sah, "
            "lihat peringatan"
        )
    same = f"setara dalam ±{_figure(comparison.margin)} ms"
    if comparison.verdict is not Verdict.UNDECIDED:
        text = f"{_lower(comparison)} {where}"
        return f"{text}; {same}" if comparison.equivalent else text
    if comparison.equivalent:
        return f"{same[0].upper()}{same[1:]} {where}: {_difference(comparison)}"
    return f"Belum dapat diputuskan ({_needed(comparison)}) {where}: {_difference(comparison)}"


def _lower(comparison: Comparison) -> str:
    estimate, low, high = comparison.estimate, comparison.interval.low, comparison.interval.high
    if comparison.verdict is Verdict.LOWER_B:
        estimate, low, high = _negative(estimate), _negative(high), _negative(low)
    winner = comparison.a if comparison.verdict is Verdict.LOWER_A else comparison.b
    note = SAME_ARMS if is_same_arm(comparison.a, comparison.b) else ""
    return f"{arm_title(winner)} lebih cepat {_figure(estimate)} ms {_interval(low, high)}{note}"


def _difference(comparison: Comparison) -> str:
    if comparison.estimate is None:
        return "tidak ada blok sah yang memberi angka tundaan"
    shown = comparison.equivalence_interval if comparison.equivalent else comparison.interval
    found = f"{arm_title(comparison.b)} - {arm_title(comparison.a)} = {_figure(comparison.estimate)} ms"
    if shown.low is None:
        return f"{found}, blok terlalu sedikit untuk sebuah selang"
    level = "" if shown.level == comparison.interval.level else f", selang {100 * shown.level:.0f}%"
    return f"{found}{level} {_interval(shown.low, shown.high)}"


def _needed(comparison: Comparison) -> str:
    count = comparison.more_blocks or 1
    if comparison.blocks + count >= BLOCKS_NEEDED_MAX:
        return f"perlu sekitar {BLOCKS_NEEDED_MAX} blok atau lebih"
    return f"perlu sekitar {count} blok lagi"


def _figure(value: float | None) -> str:
    """Format a figure as `number` does, with the decimal comma of Indonesian."""
    return number(value).replace(".", ",")


def _interval(low: float | None, high: float | None) -> str:
    """Format both ends, separated by a semicolon because the comma is the decimal sign."""
    return NOTHING if low is None or high is None else f"[{_figure(low)}; {_figure(high)}]"


def _negative(value: float | None) -> float | None:
    return None if value is None else -value

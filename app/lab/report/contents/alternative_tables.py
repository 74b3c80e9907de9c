"""Tables of alternative methods: the published study's method, and statistics next to the verdict."""

from __future__ import annotations

from collections.abc import Sequence

from app.core.messages import Message, Text
from app.lab.analysis.alternative_methods import AlternativeMethods
from app.lab.analysis.comparison.sentences import difference_title
from app.lab.analysis.comparison.study_method import Stamps
from app.lab.analysis.words import arm_title, number
from app.lab.report.document import Table, headings_of
from app.lab.report.statements import verdict_words

METHODS_NOTE = Message("note.methods")


def study_table(rows: Sequence[AlternativeMethods]) -> Table:
    """Return the study's conclusion next to the corrected one."""
    headings = headings_of(
        *("clients", "one_trial,_first_arm_ms", "second_arm_ms", "the_study_would_say"),
        *("blocks_that_say_first_lower", "second_lower", "clock_drift_ms", "corrected_verdict", "agrees"),
        *("clocks_part_ms", "wall_clock_off_by_ms"),
    )
    shown = slice(None if _is_by_wall_clocks(rows) else -1)
    cells = [_study(each)[shown] for each in rows if each.study]
    return Table(headings[shown], cells, frozenset({3, 7, 8}))


def study_note(rows: Sequence[AlternativeMethods]) -> Message:
    """Return the note below that table, which says how clocks were treated."""
    return Message("note.once.wall" if _is_by_wall_clocks(rows) else "note.once")


def methods_table(rows: Sequence[AlternativeMethods]) -> Table:
    """Return effect sizes, normality tests, pooled tests and power."""
    headings = (
        *("clients", "pair", "A12", "Cliff", "size", "Shapiro-Wilk W", "p", "Mann-Whitney p", "pooled says"),
        *("verdict", "blocks for the difference", "for equivalence"),
    )
    return Table(headings, [_methods(each) for each in rows], frozenset({1, 4, 8, 9}))


def _is_by_wall_clocks(rows: Sequence[AlternativeMethods]) -> bool:
    return any(each.study is not None and each.study.stamps is Stamps.WALL for each in rows)


def _study(row: AlternativeMethods) -> tuple[Text, ...]:
    study = row.study
    assert study is not None
    lower = row.comparison.a if study.first.difference_ms > 0 else row.comparison.b
    agrees = {True: "yes", False: "no", None: "nothing decided"}[row.study_agrees]
    return (
        *(str(study.clients), number(study.first.a_mean_ms), number(study.first.b_mean_ms)),
        f"{arm_title(lower)} faster",
        *(f"{study.a_lower} of {len(study.blocks)}", f"{study.b_lower} of {len(study.blocks)}"),
        *(number(study.drift_ms_max), verdict_words(row.comparison), agrees),
        *(number(study.first.clocks_ms), number(study.wall_error_ms_max)),
    )


def _methods(row: AlternativeMethods) -> tuple[Text, ...]:
    effect, normality, test = row.effect, row.normality, row.pooled.mann_whitney
    comparison = row.comparison
    return (
        *(str(comparison.clients), difference_title(comparison)),
        *((number(effect.a12), number(effect.cliff), effect.word) if effect else ("-", "-", "-")),
        *((number(normality.w), _p(normality.p)) if normality else ("-", "-")),
        _p(test.p) if test else "-",
        "a difference" if row.pooled.significant else "no difference",
        verdict_words(comparison),
        *(str(count) if count else "-" for count in (row.blocks_for_difference, row.blocks_for_equivalence)),
    )


def _p(value: float) -> str:
    """Return a p value, so that a small one is not shown as 0."""
    return "< 0.001" if value < 0.001 else number(value)

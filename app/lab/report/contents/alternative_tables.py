"""A report's tables of alternative methods: the SSE study's method, and statistics next to the verdict."""

from __future__ import annotations

from collections.abc import Sequence

from app.core.messages import Message, Text
from app.lab.analysis.alternative_methods import AlternativeMethods
from app.lab.analysis.comparison.sentences import difference_title
from app.lab.analysis.comparison.study_method import Stamps
from app.lab.analysis.words import arm_title
from app.lab.report.document import Table, headings_of
from app.lab.report.statements import p_value, verdict_words

METHODS_NOTE = Message("note.methods")


def study_table(rows: Sequence[AlternativeMethods]) -> Table:
    """Return a table of what the SSE study's method concludes, next to this run's verdict.

    It has a row per comparison of arms for which that method has a result. `rows`: from `alternative_methods`. A column
    with the error of wall clocks is there only if the method used these.
    """
    headings = headings_of(
        *("clients", "one_trial,_first_arm_ms", "second_arm_ms", "the_study_would_say"),
        *("blocks_that_say_first_lower", "second_lower", "clock_drift_ms", "corrected_verdict", "agrees"),
        *("clocks_part_ms", "wall_clock_off_by_ms"),
    )
    shown = slice(None if _is_by_wall_clocks(rows) else -1)
    cells = [_study(each)[shown] for each in rows if each.study]
    return Table(headings[shown], cells, frozenset({3, 7, 8}))


def study_note(rows: Sequence[AlternativeMethods]) -> Message:
    """Return the note below `study_table`: whether the SSE study's method used wall clocks or clocks set once."""
    return Message("note.once.wall" if _is_by_wall_clocks(rows) else "note.once")


def methods_table(rows: Sequence[AlternativeMethods]) -> Table:
    """Return a table of effect sizes, normality tests, pooled tests and blocks needed: a row per comparison of arms."""
    headings: tuple[Text, ...] = (
        *headings_of("clients", "pair"),
        "A12",
        "Cliff",
        *headings_of("size", "shapiro-wilk_w"),
        "p",
        *headings_of("mann-whitney_p", "pooled_says", "verdict"),
        *headings_of("blocks_for_the_difference", "for_equivalence"),
    )
    return Table(headings, [_methods(each) for each in rows], frozenset({1, 4, 8, 9}))


def _is_by_wall_clocks(rows: Sequence[AlternativeMethods]) -> bool:
    return any(each.study is not None and each.study.stamps is Stamps.WALL for each in rows)


def _study(row: AlternativeMethods) -> tuple[Text, ...]:
    study = row.study
    assert study is not None
    lower = row.comparison.a if study.first.difference_ms > 0 else row.comparison.b
    agrees = {True: "yes", False: "no", None: "nothing"}[row.study_agrees]
    blocks = len(study.blocks)
    return (
        *(study.clients, study.first.a_mean_ms, study.first.b_mean_ms),
        Message("cell.faster", {"arm": arm_title(lower)}),
        *(Message("cell.share_of_blocks", {"n": n, "n1": blocks}) for n in (study.a_lower, study.b_lower)),
        *(study.drift_ms_max, verdict_words(row.comparison), Message(f"cell.{agrees}")),
        *(study.first.clocks_ms, study.wall_error_ms_max),
    )


def _methods(row: AlternativeMethods) -> tuple[Text, ...]:
    effect, normality, test = row.effect, row.normality, row.pooled.mann_whitney
    comparison = row.comparison
    return (
        *(comparison.clients, difference_title(comparison)),
        *((effect.a12, effect.cliff, Message(f"cell.{effect.word}")) if effect else (None, None, None)),
        *((normality.w, p_value(normality.p)) if normality else (None, None)),
        p_value(test.p) if test else None,
        Message("cell.a_difference" if row.pooled.significant else "cell.no_difference"),
        verdict_words(comparison),
        *(row.blocks_for_difference or None, row.blocks_for_equivalence or None),
    )

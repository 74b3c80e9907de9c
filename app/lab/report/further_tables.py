"""Tables of what stands beside the verdict: other methods, figures by characteristic, and the run second by second."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from app.lab.analysis.alternative_methods import AlternativeMethods
from app.lab.analysis.analyse import Analysis
from app.lab.analysis.comparison.sentences import difference_title
from app.lab.analysis.comparison.study_method import Stamps
from app.lab.analysis.descriptive.arm_rows import DescriptiveRow
from app.lab.analysis.descriptive.figures.catalogue import COUNTED, Characteristic, Figure, figures_of
from app.lab.analysis.metrics.telemetry import LevelRow
from app.lab.analysis.summary import SummaryRow
from app.lab.analysis.words import arm_title, count_of, number
from app.lab.report.statements import verdict_words
from app.lab.report.tables import Table

CLOCKS_PART = (
    " Clocks' part: what of that one difference goes once the same arrivals are read by corrected clocks."
)

STUDY_NOTE = (
    "The published study's method on this run's raw stamps: one trial of each, clocks set once at a client's first "
    "arrival and never corrected, means compared. Each block is taken in turn as if it had been the only one: what one "
    "measurement would have said. Setting the clocks once is kinder than the study, which never did."
    + CLOCKS_PART
)

WALL_NOTE = (
    "The published study's method on this run's raw stamps: one trial of each, arrivals by the phones' own wall clocks, "
    "never set and never corrected, means compared. Each block is taken in turn as if it had been the only one: what one "
    "measurement would have said. A wall clock that is off shifts both means alike, and can make them negative; one that "
    "drifts or is set in between moves the difference." + CLOCKS_PART
)

METHODS_NOTE = (
    "A12: chance that a trial of the second arm is above one of the first. Shapiro-Wilk is on block differences, for "
    "information. Mann-Whitney is on pooled samples, as the library study used it; it ignores trials, blocks, clients and order, and "
    "finds differences that are not there in a quarter of runs and more. Blocks: for 80 % power at the size and spread "
    "seen, by the paired t test."
)

SECONDS_NOTE = (
    "The edge-device study's Tables I and II for this run: levels are of the seconds that have a value, rates of all "
    "seconds, intervals as they were (nothing subtracted). A second without arrivals is zero traffic and a blank delay. "
    "CPU is in percent of all cores, as there; the kernel's is the whole machine's, in ticks of 10 ms. What goes up is counted "
    "where simulated clients hand it to TCP; browsers do not say it, and it is blank."
)


def study_table(rows: Sequence[AlternativeMethods]) -> Table:
    """The study's conclusion beside the corrected one."""
    headings = (
        *("clients", "one trial, first arm ms", "second arm ms", "the study would say"),
        *("blocks that say first lower", "second lower", "clock drift ms", "corrected verdict", "agrees"),
        *("clocks' part ms", "wall clock off by ms"),
    )
    shown = slice(None if _is_by_wall_clocks(rows) else -1)
    cells = [_study(each)[shown] for each in rows if each.study]
    return Table(headings[shown], cells, frozenset({3, 7, 8}))


def study_note(rows: Sequence[AlternativeMethods]) -> str:
    """What was done to the clocks in that table."""
    return WALL_NOTE if _is_by_wall_clocks(rows) else STUDY_NOTE


def methods_table(rows: Sequence[AlternativeMethods]) -> Table:
    """Effect size, normality, pooled test and power."""
    headings = (
        *("clients", "pair", "A12", "Cliff", "size", "Shapiro-Wilk W", "p", "Mann-Whitney p", "pooled says"),
        *("verdict", "blocks for the difference", "for equivalence"),
    )
    return Table(headings, [_methods(each) for each in rows], frozenset({1, 4, 8, 9}))


def characteristic_tables(analysis: Analysis, rows: Sequence[DescriptiveRow]) -> list[tuple[str, Table]]:
    """One table for each characteristic: figures down, arms and counts of clients across."""
    pairs = list(zip(analysis.summary, rows, strict=True))
    columns = [f"{arm_title(row.arm)}, {count_of(row.clients, analysis.noun)}" for row in analysis.summary]
    headings = ("figure", "unit", *columns)
    return [
        (
            characteristic.value,
            Table(
                headings,
                [
                    (
                        *(figure.title, figure.unit),
                        *(_cell(figure, summary, further) for summary, further in pairs),
                    )
                    for figure in figures_of(characteristic)
                ],
                frozenset({0, 1}),
            ),
        )
        for characteristic in Characteristic
    ]


def formulas_table() -> Table:
    """What each figure is and where it comes from."""
    rows = [
        (figure.title, figure.unit, figure.formula, figure.source)
        for characteristic in Characteristic
        for figure in figures_of(characteristic)
    ]
    return Table(("figure", "unit", "formula", "source"), rows, frozenset({0, 1, 2, 3}))


def levels_table(rows: Sequence[DescriptiveRow]) -> Table:
    """The study's Table I."""
    headings = (
        *("arm", "clients", "per second", "seconds", "mean", "p50", "p95", "min", "max"),
        *("missing rate", "zero rate"),
    )
    return Table(
        headings,
        [
            (arm_title(row.arm), str(row.clients), name, *_level(level))
            for row in rows
            for name, level in (
                ("CPU of the server %", row.course.cpu_process_percent),
                ("machine in the kernel %", row.course.cpu_kernel_percent),
                ("down kbit/s", row.down_kbps),
                ("up kbit/s", row.up_kbps),
                ("delay ms", row.delay_ms),
                ("jitter ms", row.jitter_ms),
            )
        ],
        frozenset({0, 2}),
    )


def intervals_table(rows: Sequence[DescriptiveRow]) -> Table:
    """The study's Table II."""
    headings = (
        *("arm", "clients", "intervals", "median s", "p95 s", "max s"),
        *(
            "over 2 s",
            "over 5 s",
            "down non-zero",
            "down zero",
            "up non-zero",
            "up zero",
            "both zero",
            "breaks",
        ),
    )
    return Table(
        headings,
        [
            (
                *(arm_title(row.arm), str(row.clients), str(row.intervals.intervals)),
                *(number(row.intervals.median_s), number(row.intervals.p95_s), number(row.intervals.max_s)),
                *(number(row.intervals.over_2s_rate), number(row.intervals.over_5s_rate)),
                *(number(row.down_kbps.nonzero_rate), number(row.down_kbps.zero_rate)),
                *(number(row.up_kbps.nonzero_rate), number(row.up_kbps.zero_rate)),
                *(number(row.both_zero_rate), number(row.course.break_share)),
            )
            for row in rows
        ],
    )


def beside_json(row: AlternativeMethods) -> dict[str, Any]:
    """Plain values, of the comparison that they stand with; `study.blocks` are what each block alone would have said."""
    study = row.study
    return {
        "effect": asdict(row.effect) if row.effect else None,
        "normality": asdict(row.normality) if row.normality else None,
        "pooled": asdict(row.pooled),
        "study": {**asdict(study), "agrees": row.study_agrees} if study else None,
        "blocks_for_difference": row.blocks_for_difference,
        "blocks_for_equivalence": row.blocks_for_equivalence,
    }


def further_json(row: DescriptiveRow) -> dict[str, Any]:
    """Plain values, of the summary's row that they stand with."""
    values = asdict(row)
    del values["arm"], values["clients"]
    return {**values, "memory_kib_per_connection": row.memory.kib}


def _is_by_wall_clocks(rows: Sequence[AlternativeMethods]) -> bool:
    return any(each.study is not None and each.study.stamps is Stamps.WALL for each in rows)


def _study(row: AlternativeMethods) -> tuple[str, ...]:
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


def _methods(row: AlternativeMethods) -> tuple[str, ...]:
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


def _cell(figure: Figure, summary: SummaryRow, further: DescriptiveRow) -> str:
    """Counts as whole numbers, the rest as everywhere."""
    if figure.cell is not None:
        return figure.cell(summary, further)
    value = figure.value(summary, further)
    return str(round(value)) if value is not None and figure.unit in COUNTED else number(value)


def _level(level: LevelRow) -> tuple[str, ...]:
    return (
        str(level.seconds),
        *(number(value) for value in (level.mean, level.p50, level.p95, level.min, level.max)),
        *(number(level.missing_rate), number(level.zero_rate)),
    )


def _p(value: float) -> str:
    """A p that is not 0 never prints as 0."""
    return "< 0.001" if value < 0.001 else number(value)

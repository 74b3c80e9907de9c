"""The sections of a run's report in order. Sentences on results come from the analysis; explanations are here."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from app.core.messages import Message, Text
from app.core.trial import Severity
from app.lab.analysis.alternative_methods import alternative_methods
from app.lab.analysis.analyse import Analysis
from app.lab.analysis.comparison.compare_arms import Comparison, Verdict
from app.lab.analysis.comparison.sentences import sentence
from app.lab.analysis.descriptive.arm_rows import descriptive_rows
from app.lab.analysis.headline import headline
from app.lab.report.contents.alternative_tables import METHODS_NOTE, methods_table, study_note, study_table
from app.lab.report.contents.descriptive_tables import (
    SECONDS_NOTE,
    characteristic_tables,
    formulas_table,
    intervals_table,
    levels_table,
)
from app.lab.report.contents.method import method, settings_line
from app.lab.report.contents.opening import opening_of
from app.lab.report.contents.published import published_blocks
from app.lab.report.contents.result_tables import (
    conditions_table,
    phones_table,
    split_table,
    summary_table,
    trial_table,
)
from app.lab.report.document import (
    Block,
    Caution,
    Cautions,
    Document,
    Drawn,
    Figure,
    Finding,
    Findings,
    Folded,
    Heading,
    Kind,
    Listing,
    Numbers,
    Paragraph,
    Section,
    explained_once,
)
from app.lab.report.figures.cpu import cpu_figure
from app.lab.report.figures.evidence import curve_figure, forest_figure
from app.lab.report.figures.factors import factor_figure, factor_tables, share_table
from app.lab.report.figures.over_time import time_figure
from app.lab.report.figures.seconds import seconds_figure
from app.lab.report.figures.shapes import boxes_figure, nines_figure, places_figure
from app.lab.report.figures.study_cpu import cpu_figures
from app.lab.report.figures.study_delay import delay_figures
from app.lab.report.statements import warning_lines
from app.lab.studies.published import FAULTS, repeated_study

TERMS = tuple(Message(f"term.{name}") for name in ("arm", "block", "difference", "holm", "a12"))
"""Explanations of the words that only the statistics use."""


def document_of(analysis: Analysis) -> Document:
    """Return the whole report of a run."""
    run = analysis.run
    return Document(
        title=headline(analysis).sentence,
        opening=opening_of(analysis),
        sections=tuple(_sections(analysis)),
        closing=Message("report.closing", {"run": run.id, "started": run.started, "command": run.id}),
    )


def _sections(analysis: Analysis) -> Iterator[Section]:
    """Yield the sections for which the run has data, in the order of a reader's questions.

    Those before the statistics have no word of theirs (`TERMS`).
    """
    distributions = (
        *(curve_figure(analysis), nines_figure(analysis)),
        *(boxes_figure(analysis), time_figure(analysis)),
    )
    yield _section("curves", Message("section.curves"), (_drawn(analysis, each) for each in distributions))
    if split := list(_split(analysis)):
        yield _section("split", Message("section.split"), split)
    yield _section("cpu", Message("section.cpu"), [_drawn(analysis, cpu_figure(analysis))])
    if phones := phones_table(analysis):
        blocks: list[Block] = [
            Numbers(Message("section.table.phones"), phones),
            Paragraph(Message("note.phones"), Kind.CAPTION),
        ]
        yield _section("phones", Message("section.phones"), blocks)
    yield _section("summary", Message("section.summary"), _summary(analysis))
    warnings = Message("section.warnings.count", {"n": len(analysis.warnings)})
    yield _section("warnings", warnings, _warnings(analysis))
    yield _section("statistics", Message("section.statistics"), _statistics(analysis), is_closed=True)
    yield _section(
        "characteristics", Message("section.characteristics"), _characteristics(analysis), is_closed=True
    )
    yield _section("method", Message("section.method"), _method(analysis))
    yield _section("study", Message("section.study"), _study(analysis), is_closed=True)
    yield _section("published", Message("section.published"), published_blocks(analysis))


def _section(name: str, title: Text, blocks: Iterable[Block], *, is_closed: bool = False) -> Section:
    return Section(name, title, explained_once(blocks), is_closed)


def _drawn(analysis: Analysis, figure: Figure, number: int | None = None) -> Drawn:
    return Drawn(figure, number, settings_line(analysis))


def _statistics(analysis: Analysis) -> Iterator[Block]:
    yield Listing(TERMS)
    yield Heading(Message("section.verdict"))
    if analysis.verdicts:
        yield findings(analysis, analysis.verdicts, main=True)
        yield Heading(Message("section.secondary"))
        yield findings(analysis, [each for each in analysis.comparisons if each.family == "secondary"])
        yield _drawn(analysis, forest_figure(analysis))
    else:
        yield Paragraph(Message("report.alone"))
    yield from _alternative_methods(analysis)
    yield from _factors(analysis)


def findings(analysis: Analysis, comparisons: Sequence[Comparison], *, main: bool = False) -> Findings:
    """Return the verdict of each comparison in words."""
    found = tuple(
        Finding(
            sentence(each, noun=analysis.noun),
            decided=each.equivalent or each.verdict in (Verdict.LOWER_A, Verdict.LOWER_B),
        )
        for each in comparisons
    )
    return Findings(found, main)


def _warnings(analysis: Analysis) -> Iterator[Block]:
    if not analysis.warnings:
        yield Paragraph(Message("report.none"))
        return
    yield cautions(analysis)


def cautions(analysis: Analysis) -> Cautions:
    """Return every warning of a run with its advice."""
    return Cautions(
        tuple(
            Caution(*warning_lines(group), void=group.first.severity is Severity.VOID)
            for group in analysis.warnings
        )
    )


def _summary(analysis: Analysis) -> Iterator[Block]:
    yield Numbers(Message("section.table.summary"), summary_table(analysis))
    yield Paragraph(Message("note.summary"), Kind.CAPTION)


def _split(analysis: Analysis) -> Iterator[Block]:
    if parts := split_table(analysis):
        yield Numbers(Message("section.table.split"), parts)
        yield Paragraph(Message("note.split"), Kind.CAPTION)
    if places := places_figure(analysis):
        yield _drawn(analysis, places)


def _study(analysis: Analysis) -> Iterator[Block]:
    """Yield the figures of the study whose experiment the run repeats, with this run's values."""
    study = repeated_study()
    cited = ", ".join((study.title, *study.authors, study.institution))
    yield Paragraph(Message("study.cited", {"study": cited, "setup": study.setup}))
    yield Paragraph(Message("note.scale"))
    yield Paragraph(FAULTS[0], Kind.WARNING)
    yield Folded(Message("section.faults"), (Listing(FAULTS[1:]),))
    for number, figure in enumerate([*delay_figures(analysis), *cpu_figures(analysis)], start=1):
        yield _drawn(analysis, figure, number)


def _alternative_methods(analysis: Analysis) -> Iterator[Block]:
    rows = alternative_methods(analysis)
    once, methods = study_table(rows), methods_table(rows)
    if not methods.rows:
        return
    yield Heading(Message("section.others"))
    if once.rows:
        yield Heading(Message("section.once"))
        yield Numbers(Message("section.table.once"), once)
        yield Paragraph(study_note(rows), Kind.CAPTION)
    yield Heading(Message("section.effect"))
    yield Numbers(Message("section.table.methods"), methods)
    yield Paragraph(METHODS_NOTE, Kind.CAPTION)


def _factors(analysis: Analysis) -> Iterator[Block]:
    figure = factor_figure(analysis, factor_tables(analysis))
    if figure is None:
        return
    yield Heading(Message("section.factors"))
    yield _drawn(analysis, figure)
    if shares := share_table(analysis):
        yield Heading(Message("section.shares"))
        yield Numbers(Message("section.table.shares"), shares)
        yield Paragraph(Message("note.shares"), Kind.CAPTION)


def _characteristics(analysis: Analysis) -> Iterator[Block]:
    rows = descriptive_rows(analysis)
    for characteristic, table in characteristic_tables(analysis, rows):
        yield Heading(Message(f"section.characteristic.{characteristic}"))
        yield Numbers(Message(f"section.table.{characteristic}"), table)
    formulas = Numbers(Message("section.table.formulas"), formulas_table())
    yield Folded(Message("section.formulas"), (formulas,))
    if figure := seconds_figure(analysis):
        yield _drawn(analysis, figure)
    yield Folded(
        Message("section.levels"),
        (
            Numbers(Message("section.table.levels"), levels_table(rows), titled=True),
            Numbers(Message("section.table.intervals"), intervals_table(rows), titled=True),
            Paragraph(SECONDS_NOTE, Kind.CAPTION),
        ),
    )


def _method(analysis: Analysis) -> Iterator[Block]:
    yield from map(Paragraph, method(analysis))
    yield Paragraph(Message("report.hash", {"hash": f"`{analysis.plan_sha256}`"}))
    yield Folded(Message("section.trials"), (Numbers(Message("section.trials"), trial_table(analysis)),))
    conditions = {name: value for name, value in analysis.run.conditions.items() if name != "participants"}
    yield Folded(
        Message("section.conditions"), (Numbers(Message("section.conditions"), conditions_table(conditions)),)
    )

"""The sections of a run's report in order. Sentences on results come from the analysis; explanations are here."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from app.core.messages import Message, Text
from app.core.trial import Severity
from app.lab.analysis.alternative_methods import alternative_methods
from app.lab.analysis.analyse import Analysis
from app.lab.analysis.comparison.compare_arms import Comparison, Verdict
from app.lab.analysis.comparison.sentences import sentence
from app.lab.analysis.descriptive.arm_rows import descriptive_rows
from app.lab.analysis.headline import headline
from app.lab.analysis.words import is_same_arm
from app.lab.report.contents.alternative_tables import METHODS_NOTE, methods_table, study_note, study_table
from app.lab.report.contents.descriptive_tables import (
    SECONDS_NOTE,
    characteristic_tables,
    formulas_table,
    intervals_table,
    levels_table,
)
from app.lab.report.contents.method import method, settings_line
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
)
from app.lab.report.figures.evidence import curve_figure, forest_figure
from app.lab.report.figures.factors import factor_figure, factor_tables, share_table
from app.lab.report.figures.over_time import time_figure
from app.lab.report.figures.seconds import seconds_figure
from app.lab.report.figures.shapes import boxes_figure, nines_figure, places_figure
from app.lab.report.figures.study_cpu import cpu_figures
from app.lab.report.figures.study_delay import delay_figures
from app.lab.report.statements import counts_sentence, warning_lines
from app.lab.studies.published import FAULTS, repeated_study


def document_of(analysis: Analysis) -> Document:
    """Return the whole report of a run."""
    run = analysis.run
    return Document(
        title=headline(analysis).sentence,
        opening=tuple(_opening(analysis)),
        sections=tuple(_sections(analysis)),
        closing=Message("report.closing", {"run": run.id, "started": run.started, "command": run.id}),
    )


def _opening(analysis: Analysis) -> Iterator[Paragraph]:
    """Yield the counts and labels for the kind of run."""
    run, arms = analysis.run, analysis.run.plan.arms
    yield Paragraph(counts_sentence(analysis))
    if run.simulated and analysis.phones:
        yield Paragraph(Message("report.simulated_phones"), Kind.LABEL)
    elif run.simulated:
        yield Paragraph(Message("report.simulated_clients"), Kind.LABEL)
    if not run.complete:
        yield Paragraph(Message("report.incomplete"), Kind.WARNING)
    if any(is_same_arm(arms[0], arm) for arm in arms[1:]):
        yield Paragraph(
            Message("report.same_arms"),
            Kind.LABEL,
        )


def _sections(analysis: Analysis) -> Iterator[Section]:
    """Yield the sections for which the run has data, in the order of a reader's questions."""
    yield _section("verdict", Message("section.verdict"), _verdict(analysis))
    yield _section("warnings", Message("section.warnings"), _warnings(analysis))
    yield _section("summary", Message("section.summary"), _summary(analysis))
    if phones := phones_table(analysis):
        blocks: list[Block] = [
            Numbers(Message("section.table.phones"), phones),
            Paragraph(Message("note.phones"), Kind.CAPTION),
        ]
        yield _section("phones", Message("section.phones"), blocks)
    yield _section("study", Message("section.study"), _study(analysis))
    yield _section("published", Message("section.published"), published_blocks(analysis))
    figures = (
        *(curve_figure(analysis), nines_figure(analysis)),
        *(boxes_figure(analysis), time_figure(analysis)),
    )
    yield _section("curves", Message("section.curves"), (_drawn(analysis, each) for each in figures))
    if alternatives := list(_alternative_methods(analysis)):
        yield _section("others", Message("section.others"), alternatives)
    if factors := list(_factors(analysis)):
        yield _section("factors", Message("section.factors"), factors)
    yield _section("characteristics", Message("section.characteristics"), _characteristics(analysis))
    yield _section("method", Message("section.method"), _method(analysis))


def _section(name: str, title: Text, blocks: Sequence[Block] | Iterator[Block]) -> Section:
    return Section(name, title, tuple(blocks))


def _drawn(analysis: Analysis, figure: Figure, number: int | None = None) -> Drawn:
    return Drawn(figure, number, settings_line(analysis))


def _verdict(analysis: Analysis) -> Iterator[Block]:
    if not analysis.verdicts:
        yield Paragraph(Message("report.alone"))
        return
    yield findings(analysis, analysis.verdicts, main=True)
    yield Heading(Message("section.secondary"))
    yield findings(analysis, [each for each in analysis.comparisons if each.family == "secondary"])
    yield _drawn(analysis, forest_figure(analysis))


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
    if parts := split_table(analysis):
        yield Heading(Message("section.split"))
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
    yield Heading(Message("section.seconds"))
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

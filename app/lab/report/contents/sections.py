"""The sections of a run's report in order. Sentences on results come from the analysis; explanations are here."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from app.core.trial import Severity
from app.lab.analysis.alternative_methods import alternative_methods
from app.lab.analysis.analyse import Analysis
from app.lab.analysis.comparison.compare_arms import Comparison, Verdict
from app.lab.analysis.comparison.sentences import sentence
from app.lab.analysis.descriptive.arm_rows import descriptive_rows
from app.lab.analysis.words import arm_title, is_same_arm, listing
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
from app.lab.report.statements import headline, warning_lines
from app.lab.studies.published import FAULTS, repeated_study

SUMMARY_NOTE = (
    "Pooled over the valid blocks: this describes the run and decides nothing. n: samples. CPU is over idle; points are "
    'percent of the whole machine; cpu_percent points are by the published study\'s meter. "-" is what does not exist.'
)

SPLIT_NOTE = (
    "Medians of the trials' medians. Source: from due to sent. Server: from sent to right before the send() that handed the "
    "kernel the last of it. Network: from there to the receive stamp of the client's kernel, so on loopback the "
    "send() itself. Client: from there to the client's own stamp. In each delivery the four add up to its delay; their "
    "medians need not. Spread: from the first client that is written to, to the last. IP bytes: packets of both directions by "
    "the server's TCP_INFO, with headers by each connection's options; heartbeats are in it. What switching the recording on "
    "costs is in the README."
)

PHONES_NOTE = (
    "By pseudonym: names are kept apart and leave with no export. Where fewer phones took part than were there, they took "
    "turns by a balanced Latin square, the same phones for every arm of a block; the table of trials names them. Void: "
    "trials in which a phone slept, lost its connection, saw its clock jump, or did not answer; their blocks are left out and "
    "repeated, and what they show is kept."
)

SCALE_NOTE = (
    "This run's delays are milliseconds and the published ones are tenths of seconds, so they never share a linear "
    "axis: each stands on its own, and one more figure sets both on a logarithmic one. "
    "A star marks a value that was derived from the study's text."
)

SHARES_NOTE = (
    "Factors changed one after the other from the first arm to this one, averaged over all orders whose arms were measured; "
    "in each block the parts add up to the difference."
)


def document_of(analysis: Analysis) -> Document:
    """Return the whole report of a run, in English."""
    run = analysis.run
    return Document(
        title=f"{listing([arm_title(arm) for arm in run.plan.arms])}, measured by Siar",
        opening=tuple(_opening(analysis)),
        sections=tuple(_sections(analysis)),
        closing=(
            f"Run {run.id}, started {run.started}. `siar verify {run.id}` recomputes every figure from the raw rows in "
            "`run.sqlite` beside this file; `deliveries.csv`, `trials.csv` and `clients.csv` are for other programs."
        ),
    )


def _opening(analysis: Analysis) -> Iterator[Paragraph]:
    """Yield the headline and labels for the kind of run."""
    run, arms = analysis.run, analysis.run.plan.arms
    yield Paragraph(headline(analysis))
    if run.simulated and analysis.phones:
        yield Paragraph(
            "Simulated phones: programs that take the place of phones, without a radio.", Kind.LABEL
        )
    elif run.simulated:
        yield Paragraph(
            "Simulated clients: one process on the server's machine, no phones and no radio.", Kind.LABEL
        )
    if not run.complete:
        yield Paragraph(
            "Incomplete: the run was stopped, or its runner died, before the last trial.", Kind.WARNING
        )
    if any(is_same_arm(arms[0], arm) for arm in arms[1:]):
        yield Paragraph(
            "A/A run: arms that are the same are compared, to see what the method finds where nothing is.",
            Kind.LABEL,
        )


def _sections(analysis: Analysis) -> Iterator[Section]:
    """Yield the sections for which the run has data, in the order of a reader's questions."""
    yield _section("verdict", "Verdict", _verdict(analysis))
    yield _section("warnings", "Warnings", _warnings(analysis))
    yield _section("summary", "Summary", _summary(analysis))
    if phones := phones_table(analysis):
        blocks: list[Block] = [Numbers("Phones that took part", phones), Paragraph(PHONES_NOTE, Kind.CAPTION)]
        yield _section("phones", "Who took part", blocks)
    yield _section("study", "The published study's figures, from this run", _study(analysis))
    yield _section("published", "Published beside measured", published_blocks(analysis))
    figures = (
        *(curve_figure(analysis), nines_figure(analysis)),
        *(boxes_figure(analysis), time_figure(analysis)),
    )
    yield _section("curves", "Distributions of delay", (_drawn(analysis, each) for each in figures))
    if alternatives := list(_alternative_methods(analysis)):
        yield _section("others", "The same data by other methods", alternatives)
    if factors := list(_factors(analysis)):
        yield _section("factors", "What makes the difference", factors)
    yield _section("characteristics", "By characteristic (ISO/IEC 25023)", _characteristics(analysis))
    yield _section("method", "How it was measured", _method(analysis))


def _section(name: str, title: str, blocks: Sequence[Block] | Iterator[Block]) -> Section:
    return Section(name, title, tuple(blocks))


def _drawn(analysis: Analysis, figure: Figure, number: int | None = None) -> Drawn:
    return Drawn(figure, number, settings_line(analysis))


def _verdict(analysis: Analysis) -> Iterator[Block]:
    if not analysis.verdicts:
        yield Paragraph("One arm alone is compared with nothing.")
        return
    yield _findings(analysis, analysis.verdicts, main=True)
    yield Heading("Secondary: CPU and jitter")
    yield _findings(analysis, [each for each in analysis.comparisons if each.family == "secondary"])
    yield _drawn(analysis, forest_figure(analysis))


def _findings(analysis: Analysis, comparisons: Sequence[Comparison], *, main: bool = False) -> Findings:
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
        yield Paragraph("None.")
        return
    yield Cautions(
        tuple(
            Caution(*warning_lines(group), void=group.first.severity is Severity.VOID)
            for group in analysis.warnings
        )
    )


def _summary(analysis: Analysis) -> Iterator[Block]:
    yield Numbers("Summary per arm and count of clients", summary_table(analysis))
    yield Paragraph(SUMMARY_NOTE, Kind.CAPTION)
    if parts := split_table(analysis):
        yield Heading("Where the delay was spent")
        yield Numbers("Parts of the delay per arm and count of clients", parts)
        yield Paragraph(SPLIT_NOTE, Kind.CAPTION)
    if places := places_figure(analysis):
        yield _drawn(analysis, places)


def _study(analysis: Analysis) -> Iterator[Block]:
    """Yield the figures of the study whose experiment the run repeats, with this run's values."""
    study = repeated_study()
    yield Paragraph(f"{study.title}, {', '.join(study.authors)}, {study.institution} ({study.setup}).")
    yield Paragraph(SCALE_NOTE)
    yield Paragraph(FAULTS[0], Kind.WARNING)
    yield Folded("What else to know about the published figures", (Listing(FAULTS[1:]),))
    for number, figure in enumerate([*delay_figures(analysis), *cpu_figures(analysis)], start=1):
        yield _drawn(analysis, figure, number)


def _alternative_methods(analysis: Analysis) -> Iterator[Block]:
    rows = alternative_methods(analysis)
    once, methods = study_table(rows), methods_table(rows)
    if not methods.rows:
        return
    if once.rows:
        yield Heading("Had it been measured once, as in the study")
        yield Numbers("The study's method beside the corrected one", once)
        yield Paragraph(study_note(rows), Kind.CAPTION)
    yield Heading("Effect size, normality, pooled test and power")
    yield Numbers("Other statistics beside the verdict", methods)
    yield Paragraph(METHODS_NOTE, Kind.CAPTION)


def _factors(analysis: Analysis) -> Iterator[Block]:
    figure = factor_figure(analysis, factor_tables(analysis))
    if figure is None:
        return
    yield _drawn(analysis, figure)
    if shares := share_table(analysis):
        yield Heading("How much of an arm's difference is which factor")
        yield Numbers("Shares of the differences between arms", shares)
        yield Paragraph(SHARES_NOTE, Kind.CAPTION)


def _characteristics(analysis: Analysis) -> Iterator[Block]:
    rows = descriptive_rows(analysis)
    for name, table in characteristic_tables(analysis, rows):
        yield Heading(name.capitalize())
        yield Numbers(f"Figures of {name}", table)
    formulas = Numbers("Formulas and sources", formulas_table())
    yield Folded("Formula and source of each", (formulas,))
    yield Heading("Second by second")
    if figure := seconds_figure(analysis):
        yield _drawn(analysis, figure)
    yield Folded(
        "Levels and intervals",
        (
            Numbers("Levels per second", levels_table(rows), titled=True),
            Numbers("Intervals between arrivals", intervals_table(rows), titled=True),
            Paragraph(SECONDS_NOTE, Kind.CAPTION),
        ),
    )


def _method(analysis: Analysis) -> Iterator[Block]:
    yield from map(Paragraph, method(analysis))
    yield Paragraph(f"Hash of the plan, fixed before the first trial: `{analysis.plan_sha256}`")
    yield Folded("Every trial", (Numbers("Every trial", trial_table(analysis)),))
    conditions = {name: value for name, value in analysis.run.conditions.items() if name != "participants"}
    yield Folded("Conditions", (Numbers("Conditions", conditions_table(conditions)),))

"""The comparison of runs with the first one, as a document: settings, figures, and regressions.

Settings come first, because every other change between runs is part of the differences.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from app.core.messages import Message, Text, interval
from app.lab.analysis.analyse import Analysis
from app.lab.analysis.comparable import SettingDifference, Weight, objections, setting_differences, value_text
from app.lab.analysis.compare_runs import Change, RunShift, compare_runs, regressions
from app.lab.analysis.words import METRIC_UNITS, metric_title, with_unit
from app.lab.report.document import (
    Block,
    Document,
    Finding,
    Findings,
    Folded,
    Heading,
    Kind,
    Numbers,
    Paragraph,
    Section,
    Table,
    headings_of,
)
from app.lab.report.statements import change_sentence, change_word, subject


def comparison_document(analyses: Sequence[Analysis], *, anyway: bool = True) -> Document:
    """Return the comparison of two or more runs, none of them a live run.

    Runs that are not comparable have their figures folded under a heading that says so, and without `anyway` no figures.
    """
    runs = [each.run for each in analyses]
    differences, refused = setting_differences(runs), objections(runs)
    sections = [
        Section("runs", Message("compare.runs"), (_runs(analyses),)),
        Section("settings", Message("compare.settings"), (_settings(differences, [run.id for run in runs]),)),
    ]
    if anyway or not refused:
        figures = tuple(_figures(analyses))
        shown = (Folded(Message("compare.anyway"), figures),) if refused else figures
        sections.append(Section("figures", Message("compare.figures"), shown))
    return Document(
        title=Message("compare.title", {"n": len(runs)}),
        opening=(
            Paragraph(Message("compare.first", {"run": runs[0].id})),
            *(Paragraph(Message("compare.refused", {"reason": each}), Kind.WARNING) for each in refused),
            *_cautions(differences),
        ),
        sections=tuple(sections),
        closing=Message("compare.closing", {"runs": " ".join(run.id for run in runs)}),
    )


def _runs(analyses: Sequence[Analysis]) -> Numbers:
    rows = [
        (
            *(run.id, run.started),
            Message("compare.simulated" if run.simulated else "compare.real"),
            Message("counts_sentence.complete" if run.complete else "compare.incomplete"),
        )
        for run in (each.run for each in analyses)
    ]
    headings = headings_of("run", "started", "clients", "state")
    return Numbers(Message("compare.runs"), Table(headings, rows, frozenset(range(4))))


def _cautions(differences: Sequence[SettingDifference]) -> Iterator[Paragraph]:
    names = tuple(each.name for each in differences if each.weight is Weight.WARNED)
    if names:
        yield Paragraph(Message("compare.caution", {"settings": names}), Kind.LABEL)


def _settings(differences: Sequence[SettingDifference], runs: Sequence[str]) -> Block:
    if not differences:
        return Paragraph(Message("compare.same"))
    rows = [
        (each.name, *map(value_text, each.values), Message(f"compare.weight.{each.weight}"))
        for each in differences
    ]
    headings: tuple[Text, ...] = (Message("heading.setting"), *runs, Message("heading.meaning"))
    return Numbers(Message("compare.settings"), Table(headings, rows, frozenset(range(len(headings)))))


def _figures(analyses: Sequence[Analysis]) -> Iterator[Block]:
    first, *others = (each.run.id for each in analyses)
    rows = compare_runs(analyses)
    if worse := regressions(rows):
        found = (Message("compare.regression", {"change": change_sentence(each)}) for each in worse)
        yield Findings(tuple(Finding(each, decided=True) for each in found), main=True)
    else:
        yield Findings((Finding(_no_regression(rows), decided=False),))
    for run in others:
        yield Heading(Message("compare.minus", {"run": run, "first": first}))
        own = [each for each in rows if each.run == run]
        if not own:
            yield Paragraph(Message("compare.none"))
        for metric in dict.fromkeys(each.metric for each in own):
            cells = [_cells(each) for each in own if each.metric == metric]
            name = with_unit(metric_title(metric), METRIC_UNITS[metric])
            yield Numbers(name, Table(HEADINGS, cells, frozenset({0, 7, 8})), titled=True)
    yield Paragraph(Message("compare.note"), Kind.CAPTION)


def _no_regression(rows: Sequence[RunShift]) -> Message:
    own = [each for each in rows if each.less is None]
    undecided = sum(each.change is Change.UNDECIDED and not each.equivalent for each in own)
    return Message("compare.no_regression", {"figures": len(own), "n": undecided})


HEADINGS = headings_of(
    *("of", "clients", "first", "this", "shift", "95_%_interval", "trials", "verdict", "equiv.")
)


def _cells(row: RunShift) -> tuple[Text, ...]:
    return (
        *(subject(row), row.clients, row.base_median, row.median, row.estimate),
        interval(row.interval.low, row.interval.high),
        Message("compare.trials", {"n": row.base_trials, "n1": row.trials}),
        change_word(row),
        None if row.margin is None else Message("cell.yes" if row.equivalent else "cell.no"),
    )

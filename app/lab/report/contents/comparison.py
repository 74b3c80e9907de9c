"""The comparison of runs with the first one, as a document: what changed, a figure per metric, settings, and runs.

Every other change between the runs is part of the differences. The opening therefore names the settings that differ
and may matter.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from app.core.messages import Message, Text
from app.core.trial import RunRecord
from app.lab.analysis.analyse import Analysis
from app.lab.analysis.comparable import SettingDifference, Weight, objections, setting_differences, value_text
from app.lab.analysis.compare_runs import METRICS, Change, RunShift, compare_runs, regressions
from app.lab.analysis.runs_headline import runs_headline
from app.lab.analysis.words import moment
from app.lab.report.document import (
    Block,
    Document,
    Drawn,
    Finding,
    Findings,
    Folded,
    Heading,
    Kind,
    Numbers,
    Paragraph,
    Section,
    Table,
    explained_once,
    headings_of,
)
from app.lab.report.figures.runs import runs_figure
from app.lab.report.statements import change_sentence


def comparison_document(analyses: Sequence[Analysis], *, anyway: bool = True) -> Document:
    """Return the comparison of two or more runs, none of them a live run.

    Runs that are not comparable have their figures folded under a heading that says so, and without `anyway` no figures.
    """
    runs, noun = [each.run for each in analyses], analyses[0].noun
    names = run_names(runs)
    first, later = names[0], {run.id: name for run, name in zip(runs[1:], names[1:], strict=True)}
    differences, refused = setting_differences(runs), objections(runs)
    rows = compare_runs(analyses)
    answer, shown = runs_headline(rows, later, noun), tuple(_figures(rows, later, noun))
    if refused:
        shown = (Folded(Message("compare.anyway"), (Paragraph(answer), *shown)),)
        answer = Message("compare.title.refused")
    figures = (
        [Section("figures", Message("compare.figures"), explained_once(shown))]
        if anyway or not refused
        else []
    )
    return Document(
        title=answer,
        opening=(
            Paragraph(Message("compare.first", {"first": first, "others": tuple(names[1:])})),
            *(Paragraph(Message("compare.refused", {"reason": each}), Kind.WARNING) for each in refused),
            *_cautions(differences),
        ),
        sections=(
            *figures,
            Section("settings", Message("compare.settings"), (_settings(differences, names),)),
            Section("runs", Message("compare.runs"), (_runs(runs, names),)),
        ),
        closing=Message("compare.closing", {"runs": " ".join(run.id for run in runs)}),
    )


def run_names(runs: Sequence[RunRecord]) -> list[Message]:
    """Return each run's date and plan; where several runs share these, with the id."""
    places = [{"when": moment(run.started), "plan": run.plan.profile} for run in runs]
    return [
        Message("compare.run.same", {**place, "id": run.id})
        if places.count(place) > 1
        else Message("compare.run", place)
        for place, run in zip(places, runs, strict=True)
    ]


def _cautions(differences: Sequence[SettingDifference]) -> Iterator[Paragraph]:
    names = tuple(each.name for each in differences if each.weight is Weight.WARNED)
    if names:
        yield Paragraph(Message("compare.caution", {"settings": names}), Kind.LABEL)


def _figures(rows: Sequence[RunShift], names: Mapping[str, Text], noun: str) -> Iterator[Block]:
    """Yield the regressions, then for each later run a figure per metric, those with a change first."""
    if worse := regressions(rows):
        found = [
            Message("compare.regression", {"change": change_sentence(each, names[each.run])})
            for each in worse
        ]
        yield Findings(tuple(Finding(each, decided=True) for each in found), main=True)
    for number, (run, name) in enumerate(names.items()):
        own = [each for each in rows if each.run == run]
        if len(names) > 1:
            yield Heading(name)
            if not own:
                yield Paragraph(Message("compare.none"))
        metrics = [[each for each in own if each.metric == metric] for metric in METRICS]
        for group in sorted(filter(None, metrics), key=_is_undecided):
            yield Drawn(runs_figure(group, name, noun, name=f"{group[0].metric}-{number}"))
    if rows:
        yield Paragraph(Message("compare.note"), Kind.CAPTION)


def _is_undecided(rows: Sequence[RunShift]) -> bool:
    return all(each.change is Change.UNDECIDED for each in rows)


def _settings(differences: Sequence[SettingDifference], names: Sequence[Text]) -> Block:
    if not differences:
        return Paragraph(Message("compare.same"))
    rows = [
        (each.name, *map(value_text, each.values), Message(f"compare.weight.{each.weight}"))
        for each in differences
    ]
    headings: tuple[Text, ...] = (Message("heading.setting"), *names, Message("heading.meaning"))
    return Numbers(Message("compare.settings"), Table(headings, rows, frozenset(range(len(headings)))))


def _runs(runs: Sequence[RunRecord], names: Sequence[Text]) -> Numbers:
    rows = [
        (
            *(name, run.id),
            Message("compare.simulated" if run.simulated else "compare.real"),
            Message("counts_sentence.complete" if run.complete else "compare.incomplete"),
        )
        for run, name in zip(runs, names, strict=True)
    ]
    headings = headings_of("run", "id", "clients", "state")
    return Numbers(Message("compare.runs"), Table(headings, rows, frozenset({0, 2, 3})))

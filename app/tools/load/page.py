"""`load.html`: the page with the parts that only load runs have; `report.html` has the comparison of transports."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from app.core.gate_verdict import GateVerdict
from app.core.messages import Message, Text, clauses
from app.i18n import LANGUAGES
from app.lab.analysis.analyse import Analysis
from app.lab.analysis.words import TRANSPORT_TITLES
from app.lab.report.contents.published import WHY, beside_table
from app.lab.report.document import (
    Block,
    Document,
    Drawing,
    Drawn,
    Figure,
    Finding,
    Findings,
    Folded,
    Listing,
    Numbers,
    Paragraph,
    Section,
    Table,
)
from app.lab.report.document import Kind as ParagraphKind
from app.lab.report.figures.series import Lines
from app.lab.report.panel import Axis, Panel, Picture, Point
from app.lab.report.renderers.html import html_of
from app.lab.studies.redis import DIFFERENCES
from app.tools.load import words
from app.tools.load.floors import floors_of
from app.tools.load.headline import load_headline
from app.tools.load.levels import FIGURES, Level, title_of
from app.tools.load.result import Kind, LoadResult
from app.tools.load.show import gate_line
from app.tools.load.vps_study import Study

TICKS_APART = 1.6
"""Minimum ratio of two levels whose tick labels do not overlap; of two that are closer, the larger is labelled."""

TITLES = {
    Kind.RAMP: Message("load.ramp"),
    Kind.SPIKE: Message("load.spike"),
    Kind.STEPS: Message("load.steps"),
}
"""Titles of the section on levels by kind of run; those of runs in blocks have another."""


def load_html(analysis: Analysis, result: LoadResult, language: str = LANGUAGES[0]) -> str:
    """Return the page as HTML."""
    return html_of(load_document(analysis, result), language)


def load_document(analysis: Analysis, result: LoadResult) -> Document:
    """Return the page's content in order: the headline, then the gates."""
    plan = analysis.run.plan
    kind = ParagraphKind.LABEL if result.is_valid else ParagraphKind.WARNING
    head: dict[str, object] = {"run": analysis.run.id, "started": analysis.run.started}
    seconds = plan.notifications / plan.rate_hz
    rates = {"rate": plan.rate_hz, "bytes": plan.payload_bytes, "seconds": seconds}
    return Document(
        title=load_headline(analysis, result).whole,
        opening=(
            Paragraph(Message("load.run", head | rates)),
            *(Paragraph(each, ParagraphKind.WARNING) for each in words.ending_sentences(result)),
            Paragraph(words.validity_sentence(result), kind),
        ),
        sections=tuple(each for each in _sections(result) if each.blocks),
        closing=Message("load.closing"),
    )


def _sections(result: LoadResult) -> list[Section]:
    verdicts = [
        Finding(sentence, decided=result.is_valid and result.capacity[arm].users is not None)
        for arm, sentence in words.capacity_sentences(result).items()
    ]
    verdicts += [Finding(gate_line(each, result), each.verdict is GateVerdict.HELD) for each in result.gates]
    troubles = tuple(
        Paragraph(each)
        for each in (*result.troubles, *(result.advice if result.troubles else ()), *result.remarks)
    )
    agreement = (
        _numbers(
            "load.agreement_short", words.AGREEMENT_HEADINGS, map(words.agreement_cells, result.agreement)
        ),
        Paragraph(words.AGREEMENT_NOTE, ParagraphKind.CAPTION),
    )
    return [
        Section(
            "gates",
            Message("load.gates"),
            (Findings(tuple(verdicts), main=True), *troubles) if verdicts else troubles,
        ),
        Section("agreement", Message("load.agreement"), agreement if result.agreement else ()),
        Section("study", Message("load.study"), _study_blocks(result.study)),
        Section(
            "levels",
            TITLES.get(result.kind, Message("load.levels")),
            (
                _numbers("load.levels", words.LEVEL_HEADINGS, map(words.level_cells, result.levels)),
                Paragraph(words.LEVEL_NOTE, ParagraphKind.CAPTION),
                *(Drawn(each) for each in _figures(result)),
            ),
        ),
        Section(
            "generator",
            Message("load.generator"),
            (
                _numbers(
                    "load.generator", words.GENERATOR_HEADINGS, map(words.generator_cells, result.levels)
                ),
                Paragraph(words.GENERATOR_NOTE, ParagraphKind.CAPTION),
                *(Drawn(each) for each in [_delays_figure(result)] if result.levels),
            ),
        ),
    ]


def _numbers(title: str, headings: Sequence[Text], rows: Iterable[Sequence[Text]]) -> Numbers:
    return Numbers(Message(title), Table(headings, list(rows)))


def _figures(result: LoadResult) -> list[Figure]:
    # Arms with the same transport share a colour.
    transports = list(dict.fromkeys(level.transport for level in result.levels))
    delay = _lines(result.levels, FIGURES["delay_ms_p50"].of)
    tail = _lines(result.levels, FIGURES["delay_ms_p95"].of)
    cpu = _lines(result.levels, lambda level: level.cpu_per_delivery_us)
    floor = {
        place: [
            (float(users), floors.median_ms)
            for (spoken, users), floors in floors_of(result.floors).items()
            if spoken == transport and floors.median_ms is not None
        ]
        for place, transport in enumerate(transports)
    }
    arms = _legend(result)
    neutral: list[tuple[int, Text]] = [
        (place, Message("load.fig_floor_of", {"arm": TRANSPORT_TITLES[name]}))
        for place, name in enumerate(transports)
    ]
    return [
        Figure(
            Message("load.fig_delay"),
            Message("load.fig_delay_caption"),
            (
                Drawing(Message("load.fig_median"), _drawing("delay", "ms", delay, arms)),
                Drawing(Message("load.fig_tail"), _drawing("tail", "ms", tail, arms)),
                Drawing(Message("load.fig_floor"), _drawing("floor", "ms", floor, neutral)),
            ),
            _figures_table(result, ("delay_ms_p50", "delay_ms_p95", "delay_ms_p99")),
        ),
        Figure(
            Message("load.fig_cost"),
            Message("load.fig_cost_caption"),
            (Drawing(Message("load.fig_cpu"), _drawing("cpu", "us", cpu, arms)),),
            _figures_table(result, ("cpu_per_delivery_us", "cpu_core_percent")),
        ),
    ]


def _delays_figure(result: LoadResult) -> Figure:
    by_name = {
        name: _lines(result.levels, of)
        for name, of in (
            ("kernel", FIGURES["delay_ms_p50"].of),
            ("handler", FIGURES["handler_delay_ms_p50"].of),
            ("self", lambda level: level.delays.generator.quantile_ms(0.5)),
        )
    }
    arms = _legend(result)
    return Figure(
        Message("load.fig_lanes"),
        Message("load.fig_lanes_caption"),
        tuple(
            Drawing(Message(f"load.fig_{name}"), _drawing(name, "ms", lines, arms, prefix="load-lane"))
            for name, lines in by_name.items()
        ),
        _figures_table(result, ("delay_ms_p50", "handler_delay_ms_p50")),
    )


def _lines(levels: Sequence[Level], of: Callable[[Level], float | None]) -> Lines:
    arms = list(dict.fromkeys(level.arm for level in levels))
    return {
        place: [
            (float(level.users), value)
            for level in levels
            if level.arm == arm and (value := of(level)) is not None
        ]
        for place, arm in enumerate(arms)
    }


def _legend(result: LoadResult) -> list[tuple[int, Text]]:
    arms = list(dict.fromkeys(level.arm for level in result.levels))
    return [(place, title_of(arm)) for place, arm in enumerate(arms)]


def _drawing(
    name: str, unit: str, lines: Lines, legend: Sequence[tuple[int, Text]], *, prefix: str = "load"
) -> Picture:
    """Return a line chart over users, with a logarithmic axis because levels range from 1 to thousands."""
    points: list[Point] = [point for own in lines.values() for point in own]
    panel = Panel(_users_axis(points), Axis.from_zero(unit, [y for _, y in points]), legend)
    if not points:
        panel.note(Message("load.fig_nothing"))
    for series, own in lines.items():
        panel.line(sorted(own), series)
    description = clauses(
        Message("load.described", {"arm": label, "points": _described(lines.get(series, ()), unit)})
        for series, label in legend
    )
    return Picture(panel, f"{prefix}-{name}", title=Message(f"load.d_{name}"), description=description)


def _described(points: Sequence[Point], unit: str) -> tuple[Message, ...]:
    return tuple(
        Message("load.described_point", {"value": y, "unit": unit, "users": round(x)})
        for x, y in sorted(points)
    )


def _users_axis(points: Sequence[Point]) -> Axis:
    """Return the axis of users: a tick at each level, and space before the first and after the last."""
    counts = sorted({x for x, _ in points}) or [1.0]
    names: dict[float, Text] = {}
    for count in reversed(counts):
        if not names or min(names) / count >= TICKS_APART:
            names[count] = round(count)
    ascending = dict(sorted(names.items()))
    return Axis(Message("load.h_users"), counts[0] / 1.4, counts[-1] * 1.4, log=True, names=ascending)


def _figures_table(result: LoadResult, names: Sequence[str]) -> Table:
    headings: tuple[Text, ...] = (
        *words.LEVEL_HEADINGS[:2],
        *(f"{name}, {FIGURES[name].unit}" for name in names),
    )
    rows = [
        (title_of(level.arm), level.users, *(FIGURES[name].of(level) for name in names))
        for level in result.levels
    ]
    return Table(headings, rows)


def _study_blocks(study: Study | None) -> tuple[Block, ...]:
    """Return the cost of the hop, then the study's tables; nothing for a run without preset."""
    if study is None:
        return ()
    hops = Table(words.HOP_HEADINGS, [words.hop_cells(each) for each in study.hops], frozenset({0, 1, 3, 4}))
    blocks: list[Block] = [
        Numbers(words.HOPS_TITLE, hops, titled=True),
        Paragraph(words.HOP_NOTE, ParagraphKind.CAPTION),
    ]
    for table in study.tables:
        blocks.append(Numbers(table.title, beside_table(table), titled=True))
        blocks.append(Paragraph(table.note, ParagraphKind.CAPTION))
    return (*blocks, Folded(WHY, (Listing(DIFFERENCES),)))

"""`load.html`: the page with the parts that only load runs have; `report.html` has the comparison of transports."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from app.i18n import LANGUAGES
from app.lab.analysis.analyse import Analysis
from app.lab.analysis.words import TRANSPORT_TITLES, number
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
from app.tools.load.floors import floors_of
from app.tools.load.headline import load_headline
from app.tools.load.levels import FIGURES, Level, title_of
from app.tools.load.result import Kind, LoadResult
from app.tools.load.show import gate_line
from app.tools.load.vps_study import Study
from app.tools.load.words import (
    AGREEMENT_HEADINGS,
    AGREEMENT_NOTE,
    GENERATOR_HEADINGS,
    GENERATOR_NOTE,
    HOP_HEADINGS,
    HOP_NOTE,
    HOPS_TITLE,
    LEVEL_HEADINGS,
    LEVEL_NOTE,
    agreement_cells,
    capacity_sentences,
    ending_sentences,
    generator_cells,
    hop_cells,
    level_cells,
    validity_sentence,
)

TICKS_APART = 1.6
"""Minimum ratio of two levels whose tick labels do not overlap; of two that are closer, the larger is labelled."""


def load_html(analysis: Analysis, result: LoadResult, language: str = LANGUAGES[0]) -> str:
    """Return the page as HTML."""
    return html_of(load_document(analysis, result), language)


def load_document(analysis: Analysis, result: LoadResult) -> Document:
    """Return the page's content in order: the headline, then the gates."""
    plan = analysis.run.plan
    kind = ParagraphKind.LABEL if result.is_valid else ParagraphKind.WARNING
    return Document(
        title=load_headline(analysis, result).whole,
        opening=(
            Paragraph(
                f"Run {analysis.run.id}, {analysis.run.started}: {plan.rate_hz:g} notifications a second of "
                f"{plan.payload_bytes} bytes, windows of {plan.notifications / plan.rate_hz:g} s."
            ),
            *(Paragraph(each, ParagraphKind.WARNING) for each in ending_sentences(result)),
            Paragraph(validity_sentence(result), kind),
        ),
        sections=tuple(each for each in _sections(result) if each.blocks),
        closing="The comparison of the transports, with its intervals, is in `report.html` beside this page.",
    )


def _sections(result: LoadResult) -> list[Section]:
    verdicts = [
        Finding(sentence, decided=result.is_valid and result.capacity[arm].users is not None)
        for arm, sentence in capacity_sentences(result).items()
    ]
    verdicts += [Finding(gate_line(each, result), each.held) for each in result.gates]
    troubles = tuple(
        Paragraph(each)
        for each in (*result.troubles, *(result.advice if result.troubles else ()), *result.remarks)
    )
    agreement = (
        Numbers("Agreement", _table(AGREEMENT_HEADINGS, map(agreement_cells, result.agreement))),
        Paragraph(AGREEMENT_NOTE, ParagraphKind.CAPTION),
    )
    return [
        Section(
            "gates", "Gates", (Findings(tuple(verdicts), main=True), *troubles) if verdicts else troubles
        ),
        Section("agreement", "Built-in clients and Locust", agreement if result.agreement else ()),
        Section("study", "The VPS study's experiment", _study_blocks(result.study)),
        Section(
            "levels",
            {Kind.RAMP: "Ramp", Kind.SPIKE: "Spike", Kind.STEPS: "Steps"}.get(result.kind, "Levels"),
            (
                Numbers("Levels", _table(LEVEL_HEADINGS, map(level_cells, result.levels))),
                Paragraph(LEVEL_NOTE, ParagraphKind.CAPTION),
                *(Drawn(each) for each in _figures(result)),
            ),
        ),
        Section(
            "generator",
            "The generator",
            (
                Numbers("The generator", _table(GENERATOR_HEADINGS, map(generator_cells, result.levels))),
                Paragraph(GENERATOR_NOTE, ParagraphKind.CAPTION),
                *(Drawn(each) for each in [_delays_figure(result)] if result.levels),
            ),
        ),
    ]


def _table(headings: Sequence[str], rows: Iterable[tuple[str, ...]]) -> Table:
    return Table(headings, list(rows))


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
    neutral = [(place, f"floor, {TRANSPORT_TITLES[name]}") for place, name in enumerate(transports)]
    return [
        Figure(
            "Delay against users",
            "Kernel's lane, pooled over believed trials. The floor is the same generator against a plain loop of send.",
            (
                Drawing("Median", _drawing("load-delay", "Median delay", "ms", delay, arms)),
                Drawing(
                    "95th percentile", _drawing("load-tail", "95th percentile of the delay", "ms", tail, arms)
                ),
                Drawing(
                    "Floor, median", _drawing("load-floor", "Median delay of the floor", "ms", floor, neutral)
                ),
            ),
            _numbers(result, ("delay_ms_p50", "delay_ms_p95", "delay_ms_p99")),
        ),
        Figure(
            "What it costs the server",
            "Net of the same users connected and idle; median of the trials.",
            (Drawing("CPU", _drawing("load-cpu", "Server CPU per delivery", "us", cpu, arms)),),
            _numbers(result, ("cpu_per_delivery_us", "cpu_core_percent")),
        ),
    ]


def _delays_figure(result: LoadResult) -> Figure:
    by_name = {
        name: _lines(result.levels, of)
        for name, of in (
            ("Kernel", FIGURES["delay_ms_p50"].of),
            ("Handler", FIGURES["handler_delay_ms_p50"].of),
            ("Self", lambda level: level.delays.generator.quantile_ms(0.5)),
        )
    }
    arms = _legend(result)
    return Figure(
        "Three lanes, medians",
        "Kernel: when it was there. Handler: when the generator had read it, which is what a plain load tool reports. "
        "Self: the difference, which is the generator's own.",
        tuple(
            Drawing(name, _drawing(f"load-lane-{name.lower()}", f"{name} lane, median", "ms", lines, arms))
            for name, lines in by_name.items()
        ),
        _numbers(result, ("delay_ms_p50", "handler_delay_ms_p50")),
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


def _legend(result: LoadResult) -> list[tuple[int, str]]:
    arms = list(dict.fromkeys(level.arm for level in result.levels))
    return [(place, title_of(arm)) for place, arm in enumerate(arms)]


def _drawing(name: str, title: str, unit: str, lines: Lines, legend: Sequence[tuple[int, str]]) -> Picture:
    """Return a line chart over users, with a logarithmic axis because levels range from 1 to thousands."""
    points: list[Point] = [point for own in lines.values() for point in own]
    panel = Panel(_users_axis(points), Axis.from_zero(unit, [y for _, y in points]), legend)
    if not points:
        panel.note("nothing believed")
    for series, own in lines.items():
        panel.line(sorted(own), series)
    description = "; ".join(
        f"{label}: " + ", ".join(f"{number(y)} {unit} at {x:g}" for x, y in sorted(lines.get(series, ())))
        for series, label in legend
    )
    return Picture(panel, name, title=title, description=description)


def _users_axis(points: Sequence[Point]) -> Axis:
    """Return the axis of users: a tick at each level, and space before the first and after the last."""
    counts = sorted({x for x, _ in points}) or [1.0]
    names: dict[float, str] = {}
    for count in reversed(counts):
        if not names or min(names) / count >= TICKS_APART:
            names[count] = f"{count:g}"
    return Axis("users", counts[0] / 1.4, counts[-1] * 1.4, log=True, names=names)


def _numbers(result: LoadResult, names: Sequence[str]) -> Table:
    headings = ("arm", "users", *(f"{name}, {FIGURES[name].unit}" for name in names))
    rows = [
        (
            title_of(level.arm),
            str(level.users),
            *(number(FIGURES[name].of(level)) for name in names),
        )
        for level in result.levels
    ]
    return Table(headings, rows)


def _study_blocks(study: Study | None) -> tuple[Block, ...]:
    """Return the cost of the hop, then the study's tables; nothing for a run without preset."""
    if study is None:
        return ()
    hops = Table(HOP_HEADINGS, [hop_cells(each) for each in study.hops], frozenset({0, 1, 3, 4}))
    blocks: list[Block] = [Numbers(HOPS_TITLE, hops, titled=True), Paragraph(HOP_NOTE, ParagraphKind.CAPTION)]
    for table in study.tables:
        blocks.append(Numbers(table.title, beside_table(table), titled=True))
        blocks.append(Paragraph(table.note, ParagraphKind.CAPTION))
    return (*blocks, Folded(WHY, (Listing(DIFFERENCES),)))

"""The result of a run for a terminal: summary, parts of the delay, differences, verdicts and warnings in 80 columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from app.core.messages import Message, Text, interval
from app.lab.analysis.alternative_methods import single_trial_sentences
from app.lab.analysis.analyse import Analysis
from app.lab.analysis.comparison.compare_arms import Comparison
from app.lab.analysis.summary import SummaryRow
from app.lab.analysis.words import arm_title, metric_with_unit
from app.lab.report.contents.sections import cautions, findings
from app.lab.report.document import Block, Heading, Listing, Numbers, Paragraph, Table, headings_of
from app.lab.report.statements import counts_sentence, pair_title, verdict_words

SUMMARY = headings_of(
    *("transport", "clients", "n", "median__ms", "p95__ms", "p99__ms", "jitter__ms"),
    *("lost", "dupl.", "cpu_us___notif.", "cpu__points"),
)
SPLIT = headings_of(
    *("transport", "clients", "source__ms", "server__ms", "network__ms", "client__ms", "spread__ms"),
    *("ip_bytes___notif.", "segments___notif.", "sent__again"),
)
DIFFERENCE = headings_of(*("metric", "clients", "difference", "95_%_interval", "blocks", "verdict", "equiv."))


def result_blocks(analysis: Analysis) -> Iterator[Block]:
    """Yield what a terminal shows of a run below its headline."""
    yield Paragraph(counts_sentence(analysis))
    yield _numbers(SUMMARY, map(_summary, analysis.summary), analysis, Message("section.table.summary"))
    yield Listing((Message("terminal.pooled"), Message("terminal.cpu")))
    if any(row.split for row in analysis.summary):
        yield Heading(Message("terminal.split"))
        yield _numbers(SPLIT, map(_split, analysis.summary), analysis, Message("section.table.split"))
        yield Listing((Message("terminal.split.parts"), Message("terminal.split.spread")))
    for pair in _pairs(analysis.comparisons):
        yield Heading(pair_title(pair[0]))
        yield _numbers(
            DIFFERENCE, map(_difference, pair), analysis, pair_title(pair[0]), frozenset({0, 5, 6})
        )
    if analysis.comparisons:
        yield Paragraph(Message("terminal.verdict"))
    if analysis.verdicts:
        yield findings(analysis, analysis.verdicts, main=True)
        yield Listing(tuple(single_trial_sentences(analysis)))
    if analysis.warnings:
        yield cautions(analysis)


def _numbers(
    headings: Sequence[Message],
    rows: Iterable[Sequence[Text]],
    analysis: Analysis,
    title: Message,
    words: frozenset[int] = frozenset({0}),
) -> Numbers:
    clients, noun = Message("heading.clients"), Message(f"heading.{analysis.noun}s")
    return Numbers(title, Table([noun if each == clients else each for each in headings], list(rows), words))


def _summary(row: SummaryRow) -> tuple[Text, ...]:
    return (
        *(arm_title(row.arm), row.clients, row.samples, row.delay_ms_p50, row.delay_ms_p95),
        *(row.delay_ms_p99, row.jitter_ms, row.lost, row.duplicates),
        *(row.cpu_per_delivery_us, row.delta_points),
    )


def _split(row: SummaryRow) -> tuple[Text, ...]:
    parts = row.split
    if parts is None:
        return (arm_title(row.arm), row.clients, *(None for _ in SPLIT[2:]))
    return (
        *(arm_title(row.arm), row.clients, parts.source_ms_p50, parts.server_ms_p50, parts.network_ms_p50),
        *(parts.client_ms_p50, parts.spread_ms_p50, parts.wire_bytes_per_notification),
        *(parts.segments_per_notification, parts.retransmissions),
    )


def _difference(comparison: Comparison) -> tuple[Text, ...]:
    return (
        *(metric_with_unit(comparison.metric), comparison.clients, comparison.estimate),
        interval(comparison.interval.low, comparison.interval.high),
        *(comparison.blocks, verdict_words(comparison)),
        Message("cell.yes" if comparison.equivalent else "cell.no"),
    )


def _pairs(comparisons: Sequence[Comparison]) -> list[list[Comparison]]:
    """Group comparisons by their second arm, in their order."""
    pairs: dict[str, list[Comparison]] = {}
    for each in comparisons:
        pairs.setdefault(each.b.name, []).append(each)
    return list(pairs.values())

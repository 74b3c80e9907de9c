"""SVG of the bars of delay on a report's first screen, which the page lays out in rows next to their verdicts.

Places along the scale are percentages, so that a bar grows with the page while text, markers and lines keep their size.
Series differ by colour, marker and line style at the same time, as in `panel.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from xml.sax.saxutils import escape, quoteattr

from app.core.messages import Message, Say, clauses
from app.lab.report.document import Bar, DelayRow, Delays
from app.lab.report.labels import CHAR_PX
from app.lab.report.panel import SERIES_MAX, Axis, dash_svg, marker_svg

BAR_PX, TICKS_PX = 18, 20
"""Height of a bar with its gap, and of the labels of the scale; px."""

ROW_PAD_PX = 4
"""Space above and below the bars of a row, px."""

MARK_PX = 5.0
"""Radius of the marker of a median, px."""

LABELS_PX = 250
"""Width on the narrowest screen, px, in which the labels of the scale must have room."""


def scale(delays: Delays) -> Axis:
    """Return the common scale of all bars, in ms: from 0, or from below the lowest negative value."""
    bars = [bar for row in delays.rows for bar in row.bars]
    values = [value for bar in bars for value in (bar.p25_ms, bar.p50_ms, bar.p75_ms, bar.p95_ms)]
    return Axis.from_zero("", [value for value in values if value is not None])


def row_svg(row: DelayRow, axis: Axis, say: Say) -> str:
    """Return the SVG of the bars of one row; its description has the figures."""
    height_px = BAR_PX * len(row.bars) + 2 * ROW_PAD_PX
    described = quoteattr(say(clauses(map(_described, row.bars))))
    parts = [f'<svg role="img" width="100%" height="{height_px}" aria-label={described}>']
    for value in axis.ticks():
        x = _percent(axis, value)
        parts.append(f'<line class="grid" x1="{x}" x2="{x}" y1="0" y2="{height_px}"/>')
    for place, bar in enumerate(row.bars):
        parts += _bar(bar, axis, ROW_PAD_PX + BAR_PX * (place + 0.5))
    return "".join([*parts, "</svg>"])


def ticks_svg(axis: Axis, say: Say) -> str:
    """Return the SVG of the labels below the bars, the last one with the unit; the descriptions of rows replace it."""
    ticks = {value: say(label) for value, label in axis.ticks().items()}
    every = 1 if sum(len(each) + 3 for each in ticks.values()) * CHAR_PX <= LABELS_PX else 2
    last = len(ticks) - 1
    parts = [f'<svg class="ticks" aria-hidden="true" width="100%" height="{TICKS_PX}">']
    for place, (value, label) in enumerate(ticks.items()):
        if (last - place) % every:
            continue
        share = axis.share(value)
        anchor = "start" if share < 0.05 else "end" if share > 0.95 else "middle"
        words = escape(label if place != last else f"{label} ms")
        parts.append(f'<text x="{_percent(axis, value)}" y="15" text-anchor="{anchor}">{words}</text>')
    return "".join([*parts, "</svg>"])


def key_svg(series: int) -> str:
    """Return a small SVG of a series' line and marker, for the key of the drawing."""
    line = f'<line class="s{series % SERIES_MAX} thin" x1="0" x2="28" y1="7" y2="7"{dash_svg(series)}/>'
    mark = marker_svg(14, 7, series, MARK_PX)
    return f'<svg class="key" aria-hidden="true" width="28" height="14">{line}{mark}</svg>'


def arms_of(delays: Delays) -> dict[int, str]:
    """Return the name of each arm that is drawn, by series."""
    return {bar.series: str(bar.name) for row in delays.rows for bar in row.bars}


def _bar(bar: Bar, axis: Axis, y: float) -> Iterator[str]:
    style = f"s{bar.series % SERIES_MAX}{'' if bar.counts else ' seen'}"
    if bar.p25_ms is not None and bar.p75_ms is not None:
        x, width = _percent(axis, bar.p25_ms), 100 * (axis.share(bar.p75_ms) - axis.share(bar.p25_ms))
        yield f'<rect class="{style} half" x="{x}" y="{y - 6:g}" width="{width:.2f}%" height="12"/>'
    start = bar.p50_ms if bar.p75_ms is None else bar.p75_ms
    if start is not None and bar.p95_ms is not None:
        ends = f'x1="{_percent(axis, start)}" x2="{_percent(axis, bar.p95_ms)}" y1="{y:g}" y2="{y:g}"'
        yield f'<line class="{style} thin" {ends}{dash_svg(bar.series)}/>'
    if bar.p50_ms is not None:
        mark = marker_svg(0, 0, bar.series, MARK_PX)
        # A path has no percentages, so the marker is drawn at the origin of an SVG of its own.
        yield (
            f'<svg class="at{"" if bar.counts else " seen"}" x="{_percent(axis, bar.p50_ms)}" y="{y:g}">{mark}</svg>'
        )


def _described(bar: Bar) -> Message:
    args = {"arm": bar.name, "n": bar.p50_ms, "low": bar.p25_ms, "high": bar.p75_ms, "end": bar.p95_ms}
    return Message("opening.bar" if bar.counts else "opening.bar.seen", args)


def _percent(axis: Axis, value: float) -> str:
    return f"{100 * axis.share(value):.2f}%"

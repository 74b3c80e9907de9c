"""SVG drawings for reports: axes, and a panel to draw on. Colours come from the page's CSS.

Series differ by colour, line style and marker at the same time (classes `s0` to `s3`), for colour-blind readers and for paper.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from xml.sax.saxutils import escape

from app.core.messages import Text
from app.lab.report.labels import LEFT_PX, WIDTH_PX, label_x, side_by_side

HEIGHT_PX = 220
RIGHT_PX = 12
BOTTOM_PX = 40
LEGEND_ROW_PX = 18

LEGEND_NAME_CHARS_MAX = 15
"""Longest name of a legend with two columns. Longer names get a row each, so that they do not overlap."""

SERIES_MAX = 4
"""Count of styles. Further series begin again with the first; the table below each figure names all of them."""

DASHES = ("", "6 4", "2 3", "8 3 2 3")

Point = tuple[float, float]

Say = Callable[[Text], str]
"""Makes text in a reader's language."""


@dataclass(frozen=True, slots=True)
class Axis:
    """Values along one side of a panel."""

    label: Text
    low: float
    high: float
    log: bool = False
    names: Mapping[float, Text] | None = None
    """Labels of ticks by value, where the values are categories."""

    @classmethod
    def from_zero(cls, label: Text, values: Iterable[float]) -> Axis:
        """Make an axis from 0, or from below the lowest negative value, to a round number above the highest."""
        known = [*values, 0.0]
        step = _step(max(known) - min(known))
        return cls(
            label, math.floor(min(known) / step) * step, max(math.ceil(max(known) / step) * step, step)
        )

    @classmethod
    def decades(cls, label: Text, values: Iterable[float]) -> Axis:
        """Make a logarithmic axis of whole powers of ten around the positive values."""
        known = [value for value in values if value > 0] or [1.0]
        low, high = math.floor(math.log10(min(known))), math.ceil(math.log10(max(known)))
        return cls(label, 10.0**low, 10.0 ** max(high, low + 1), log=True)

    @classmethod
    def categories(cls, label: Text, names: Sequence[Text]) -> Axis:
        """Make an axis of the values 0, 1, 2, ... with a name each."""
        return cls(
            label, -0.5, max(len(names), 1) - 0.5, names={float(i): name for i, name in enumerate(names)}
        )

    def share(self, value: float) -> float:
        """Return the relative position of a value: 0 at the low end, 1 at the high end."""
        if self.log:
            return math.log(value / self.low) / math.log(self.high / self.low)
        return (value - self.low) / (self.high - self.low)

    def ticks(self) -> dict[float, Text]:
        """Return the labels of ticks by value."""
        if self.names is not None:
            return dict(self.names)
        if self.log:
            decades = range(round(math.log10(self.low)), round(math.log10(self.high)) + 1)
            return {10.0**power: f"{10.0**power:g}" for power in decades}
        step = _step(self.high - self.low)
        first = math.ceil(self.low / step - 1e-9)
        last = math.floor(self.high / step + 1e-9)
        return {index * step: f"{round(index * step, 9):g}" for index in range(first, last + 1)}


@dataclass(frozen=True, slots=True)
class _Words:
    """Words at a place of the drawing."""

    x: float
    y: float
    words: Text
    anchor: str

    def svg(self, say: Say) -> str:
        return _text(self.x, self.y, say(self.words), self.anchor)


@dataclass(slots=True)
class Panel:
    """One drawing with two axes. Methods add elements, and `elements` returns them as SVG in a reader's language."""

    x: Axis
    y: Axis
    legend: Sequence[tuple[int, str]] = ()
    """Series and name of each entry."""
    height_px: int = HEIGHT_PX
    """Height with one row of legend; each further row adds to the drawing and leaves the plot as it is."""
    left_px: int = LEFT_PX
    _parts: list[str | _Words] = field(default_factory=list)

    @property
    def top_px(self) -> int:
        """The y of the plot's upper end, below the legend."""
        return 12 + LEGEND_ROW_PX * math.ceil(len(self.legend) / self._legend_columns)

    @property
    def full_height_px(self) -> int:
        """Height of the drawing, all rows of the legend included."""
        return self.height_px + max(self.top_px - 12 - LEGEND_ROW_PX, 0)

    @property
    def _legend_columns(self) -> int:
        return 2 if all(len(name) <= LEGEND_NAME_CHARS_MAX for _, name in self.legend) else 1

    def line(self, points: Sequence[Point], series: int, *, marks: bool = True) -> None:
        """Add a line through the points in the series' style, with its marker at each point."""
        if len(points) > 1:
            self._parts.append(self._path(points, series))
        for x, y in points if marks else ():
            self.marker(x, y, series)

    def marker(self, x: float, y: float, series: int, *, small: bool = False) -> None:
        """Add the series' marker at a point."""
        self._parts.append(_marker(self._x_px(x), self._y_px(y), series, 1.8 if small else 4.0, faint=small))

    def range_up(self, x: float, low: float, high: float, series: int, *, thick: bool = False) -> None:
        """Add a vertical line from low to high."""
        self._parts.append(
            _line(
                self._x_px(x),
                self._y_px(low),
                self._x_px(x),
                self._y_px(high),
                f"s{series % SERIES_MAX} thin{' thick' if thick else ''}",
            )
        )

    def range_along(self, y: float, low: float, high: float, *, thin: bool) -> None:
        """Add a horizontal line from low to high."""
        weight = "ink thin" if thin else "ink thick"
        self._parts.append(_line(self._x_px(low), self._y_px(y), self._x_px(high), self._y_px(y), weight))

    def ends(self, y: float, low: float, high: float) -> None:
        """Add two short upright strokes in row `y`, which mark the ends of another interval on the same line."""
        for x in (low, high):
            centre, row = self._x_px(x), self._y_px(y)
            self._parts.append(_line(centre, row - 8, centre, row + 8, "ink thin"))

    def estimate(self, x: float, y: float) -> None:
        """Add the marker of an estimate, which belongs to no series."""
        self._parts.append(
            f'<circle class="estimate" cx="{self._x_px(x):.1f}" cy="{self._y_px(y):.1f}" r="5"/>'
        )

    def caption(self, y: float, words: Text) -> None:
        """Add words at the right edge, just below a value."""
        self._parts.append(_Words(WIDTH_PX - RIGHT_PX, self._y_px(y) + 18, words, "end"))

    def level(self, y: float, series: int) -> None:
        """Add a horizontal line across the plot in the series' style."""
        ends = [(self.x.low, y), (self.x.high, y)]
        self._parts.append(self._path(ends, series))

    def upright(self, x: float, kind: str = "zero") -> None:
        """Add a vertical line across the plot; `kind` is its CSS class."""
        self._parts.append(
            _line(self._x_px(x), self.top_px, self._x_px(x), self.full_height_px - BOTTOM_PX, kind)
        )

    def band(self, y: float, low: float, high: float) -> None:
        """Add a shaded band from low to high in one category row."""
        top, bottom = self._y_px(y + 0.36), self._y_px(y - 0.36)
        left, right = self._x_px(max(low, self.x.low)), self._x_px(min(high, self.x.high))
        self._parts.append(
            f'<rect class="band" x="{left:.1f}" y="{top:.1f}" width="{right - left:.1f}" height="{bottom - top:.1f}"/>'
        )

    def note(self, text: Text) -> None:
        """Add words in the middle of an otherwise empty plot."""
        x = (self.left_px + WIDTH_PX - RIGHT_PX) / 2
        y = (self.top_px + self.full_height_px - BOTTOM_PX) / 2
        self._parts.append(_Words(x, y, text, "middle"))

    def elements(self, say: Say) -> str:
        """Return the SVG elements of the drawing."""
        own = (each if isinstance(each, str) else each.svg(say) for each in self._parts)
        return "".join([*self._frame(say), *own, *self._legend(say)])

    def _frame(self, say: Say) -> Iterable[str]:
        left, right = self.left_px, WIDTH_PX - RIGHT_PX
        bottom = self.full_height_px - BOTTOM_PX
        for value, words in self.y.ticks().items():
            if self.y.names is None:
                yield _line(left, self._y_px(value), right, self._y_px(value), "grid")
            yield _text(left - 6, self._y_px(value) + 4, say(words), "end")
        yield _line(left, bottom, right, bottom, "axis")
        places = [(self._x_px(value), say(words)) for value, words in _thinned(self.x.ticks()).items()]
        for x, row, words in side_by_side(places, rows=1 if self.x.label else 2):
            yield _line(x, bottom, x, bottom + 4, "axis")
            yield _text(label_x(x, words), bottom + 16 + 15 * row, words, "middle")
        yield _text((left + right) / 2, self.full_height_px - 6, say(self.x.label), "middle")
        middle = (self.top_px + bottom) / 2
        if self.y.label:
            yield _text(
                0, 0, say(self.y.label), "middle", f' transform="translate(12 {middle:.1f}) rotate(-90)"'
            )

    def _legend(self, say: Say) -> Iterable[str]:
        for place, (series, name) in enumerate(self.legend):
            row, column = divmod(place, self._legend_columns)
            x, y = self.left_px + 150 * column, 12 + LEGEND_ROW_PX * row
            yield f'<path class="s{series % SERIES_MAX} line"{_dash(series)} d="M{x} {y}h28"/>'
            yield _marker(x + 14, y, series, 4.0)
            yield _text(x + 34, y + 4, say(name), "start")

    def _path(self, points: Sequence[Point], series: int) -> str:
        places = " ".join(f"{self._x_px(x):.1f} {self._y_px(y):.1f}" for x, y in points)
        return f'<path class="s{series % SERIES_MAX} line"{_dash(series)} d="M{places}"/>'

    def _x_px(self, value: float) -> float:
        return self.left_px + self.x.share(value) * (WIDTH_PX - RIGHT_PX - self.left_px)

    def _y_px(self, value: float) -> float:
        bottom = self.full_height_px - BOTTOM_PX
        return bottom - self.y.share(value) * (bottom - self.top_px)


@dataclass(frozen=True, slots=True)
class Picture:
    """A panel with the texts for readers who do not see it."""

    panel: Panel
    name: str
    """Unique in a report, and fit for a file name."""
    title: Text
    description: Text

    def svg(self, say: Say, *, attributes: str = "", style: str = "") -> str:
        """Return the SVG element, with attributes of its own and a style sheet inside."""
        return (
            f'<svg{attributes} role="img" viewBox="0 0 {WIDTH_PX} {self.panel.full_height_px}" '
            f'aria-labelledby="{self.name}-t {self.name}-d"><title id="{self.name}-t">{escape(say(self.title))}</title>'
            f'<desc id="{self.name}-d">{escape(say(self.description))}</desc>{style}{self.panel.elements(say)}</svg>'
        )


def _marker(x: float, y: float, series: int, size: float, *, faint: bool = False) -> str:
    """Return the marker of a series: circle, square, triangle or diamond."""
    style = f"s{series % SERIES_MAX} {'dot' if faint else 'mark'}"
    shapes = (
        f'<circle class="{style}" cx="{x:.1f}" cy="{y:.1f}" r="{size:g}"/>',
        f'<path class="{style}" d="M{x - size:.1f} {y - size:.1f}h{2 * size:g}v{2 * size:g}h{-2 * size:g}z"/>',
        f'<path class="{style}" d="M{x:.1f} {y - 1.2 * size:.1f}l{1.2 * size:g} {2 * size:g}h{-2.4 * size:g}z"/>',
        f'<path class="{style}" d="M{x:.1f} {y - 1.3 * size:.1f}l{size:g} {1.3 * size:g}l{-size:g} {1.3 * size:g}'
        f'l{-size:g} {-1.3 * size:g}z"/>',
    )
    return shapes[series % SERIES_MAX]


def _dash(series: int) -> str:
    dash = DASHES[series % SERIES_MAX]
    return f' stroke-dasharray="{dash}"' if dash else ""


def _line(x1: float, y1: float, x2: float, y2: float, kind: str) -> str:
    return f'<line class="{kind}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>'


def _text(x: float, y: float, words: str, anchor: str, rest: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{rest}>{escape(words)}</text>'


def _thinned(ticks: Mapping[float, Text]) -> dict[float, Text]:
    """Return every n-th tick, so that at most nine labels remain."""
    every = math.ceil(len(ticks) / 9)
    return {value: words for index, (value, words) in enumerate(ticks.items()) if index % every == 0}


def _step(span: float) -> float:
    """Return the distance of ticks: the smallest of 1, 2 or 5 times a power of ten of which the span has at most six."""
    if span <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(span / 4))
    return next(power * factor for factor in (1, 2, 5, 10) if span / (power * factor) <= 6.000001)

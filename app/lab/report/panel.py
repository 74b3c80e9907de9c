"""SVG drawings for reports: axes, and a panel to draw on.

Colours come from the page's CSS. A series is the 0-based index of what is drawn, such as an arm. Series differ by
colour, line style and marker at the same time (classes `s0` to `s3`), for colour-blind readers and for paper.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Concatenate, ParamSpec
from xml.sax.saxutils import escape

from app.core.messages import Message, Say, Text
from app.lab.report.labels import WIDTH_PX, label_x, left_for, row_name, side_by_side

HEIGHT_PX = 220
RIGHT_PX = 12
BOTTOM_PX = 40
LEGEND_ROW_PX = 18

LEGEND_NAME_CHARS_MAX = 15
"""Longest name in a legend with two columns; with a longer one each name gets a line, so that none overlap."""

SERIES_MAX = 4
"""Number of series styles. Further series begin again with the first; the table below each figure names all series."""

MARK_PX, DOT_PX = 4.0, 1.8
"""Radius of a marker, and of a small one, which is faint; px."""

DASHES = ("", "6 4", "2 3", "8 3 2 3")

Point = tuple[float, float]

P = ParamSpec("P")


@dataclass(frozen=True, slots=True)
class Axis:
    """Axis of a drawing: its label, and the values at its two ends; `log`: the scale is logarithmic."""

    label: Text
    low: float
    high: float
    log: bool = False
    names: Mapping[float, Text] | None = None
    """Labels of ticks by value, where the values are categories; `None`: ticks at round numbers."""

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
        """Make a logarithmic axis that ends at whole powers of ten; values of 0 or below are left out."""
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
        """Return the relative position of a value: 0 at the low end, 1 at the high end.

        It is below 0 or above 1 for a value outside of the axis.
        """
        if self.log:
            return math.log(value / self.low) / math.log(self.high / self.low)
        return (value - self.low) / (self.high - self.low)

    def ticks(self) -> dict[float, Text]:
        """Return the label of each tick by the tick's value: those of `names`, else round numbers of the axis."""
        if self.names is not None:
            return dict(self.names)
        if self.log:
            decades = range(round(math.log10(self.low)), round(math.log10(self.high)) + 1)
            return {10.0**power: _tick(10.0**power) for power in decades}
        step = _step(self.high - self.low)
        first = math.ceil(self.low / step - 1e-9)
        last = math.floor(self.high / step + 1e-9)
        return {index * step: _tick(round(index * step, 9)) for index in range(first, last + 1)}


@dataclass(frozen=True, slots=True)
class _Plot:
    """Layout of a panel in a reader's language, since names on the y axis and in the legend take space.

    Coordinates that its methods take are values of the axes; names of numbers in px of the drawing end in `_px`.
    """

    x: Axis
    y: Axis
    legend: Sequence[tuple[int, str]]
    legend_columns: int
    """Number of columns of the legend: two where names are short, else one."""
    left_px: int
    """The x of the plot's left end, right of the names on the y axis."""
    top_px: int
    """The y of the plot's upper end, below the legend."""
    full_height_px: int
    """Height of the drawing, the whole legend included."""
    say: Say

    @classmethod
    def of(cls, panel: Panel, say: Say) -> _Plot:
        """Lay out a panel; `say` makes text of its names."""
        legend = [(series, say(name)) for series, name in panel.legend]
        columns = 2 if all(len(name) <= LEGEND_NAME_CHARS_MAX for _, name in legend) else 1
        rows_px = LEGEND_ROW_PX * math.ceil(len(legend) / columns)
        labels = [row_name(say(label)) for label in panel.y.ticks().values()]
        left_px = left_for(labels, has_title=bool(say(panel.y.label)))
        height_px = panel.height_px + max(rows_px - LEGEND_ROW_PX, 0)
        return cls(panel.x, panel.y, legend, columns, left_px, 12 + rows_px, height_px, say)

    @property
    def bottom_px(self) -> int:
        """The y of the plot's lower end, in px from the top of the drawing."""
        return self.full_height_px - BOTTOM_PX

    def x_px(self, value: float) -> float:
        """Return the place, in px from the left of the drawing, of a value of the x axis."""
        return self.left_px + self.x.share(value) * (WIDTH_PX - RIGHT_PX - self.left_px)

    def y_px(self, value: float) -> float:
        """Return the place, in px from the top of the drawing, of a value of the y axis."""
        return self.bottom_px - self.y.share(value) * (self.bottom_px - self.top_px)

    def path(self, points: Sequence[Point], series: int) -> str:
        """Return the SVG of a line through points (x, y), values of the axes, in the series' style."""
        places = " ".join(f"{self.x_px(x):.1f} {self.y_px(y):.1f}" for x, y in points)
        return f'<path class="s{series % SERIES_MAX} line"{dash_svg(series)} d="M{places}"/>'

    def marker(self, x: float, y: float, series: int, size_px: float) -> str:
        """Return the SVG of the series' marker at a point (x, y), values of the axes. `size_px`: half of its width."""
        return marker_svg(self.x_px(x), self.y_px(y), series, size_px, faint=size_px == DOT_PX)

    def line(self, x1: float, y1: float, x2: float, y2: float, kind: str) -> str:
        """Return the SVG of a line between two points, values of the axes; `kind` is its CSS class."""
        return _line(self.x_px(x1), self.y_px(y1), self.x_px(x2), self.y_px(y2), kind)

    def stroke(self, x: float, y: float) -> str:
        """Return the SVG of a short vertical line at a point, the mark of an interval's end."""
        centre, row = self.x_px(x), self.y_px(y)
        return _line(centre, row - 8, centre, row + 8, "ink thin")

    def estimate(self, x: float, y: float) -> str:
        """Return the SVG of an estimate's marker, a hollow circle, at a point (x, y), values of the axes."""
        return f'<circle class="estimate" cx="{self.x_px(x):.1f}" cy="{self.y_px(y):.1f}" r="5"/>'

    def caption(self, y: float, words: Text) -> str:
        """Return the SVG of words at the right edge, just below the value `y`."""
        return _text(WIDTH_PX - RIGHT_PX, self.y_px(y) + 18, self.say(words), "end")

    def level(self, y: float, series: int) -> str:
        """Return the SVG of a horizontal line across the plot at the value `y`, in the series' style."""
        return self.path([(self.x.low, y), (self.x.high, y)], series)

    def upright(self, x: float, kind: str) -> str:
        """Return the SVG of a vertical line across the plot at the value `x`; `kind` is its CSS class."""
        return _line(self.x_px(x), self.top_px, self.x_px(x), self.bottom_px, kind)

    def band(self, y: float, low: float, high: float) -> str:
        """Return the SVG of a shaded band from low to high along x, at the category `y`."""
        top, bottom = self.y_px(y + 0.36), self.y_px(y - 0.36)
        left, right = self.x_px(max(low, self.x.low)), self.x_px(min(high, self.x.high))
        return f'<rect class="band" x="{left:.1f}" y="{top:.1f}" width="{right - left:.1f}" height="{bottom - top:.1f}"/>'

    def note(self, text: Text) -> str:
        """Return the SVG of words in the middle of the plot."""
        x, y = (self.left_px + WIDTH_PX - RIGHT_PX) / 2, (self.top_px + self.bottom_px) / 2
        return _text(x, y, self.say(text), "middle")

    def frame(self) -> Iterable[str]:
        """Yield the SVG elements of the axes: lines, ticks, labels, and a grid where y has no categories."""
        left, right, bottom = self.left_px, WIDTH_PX - RIGHT_PX, self.bottom_px
        for value, name in self.y.ticks().items():
            if self.y.names is None:
                yield _line(left, self.y_px(value), right, self.y_px(value), "grid")
            yield _text(left - 6, self.y_px(value) + 4, row_name(self.say(name)), "end")
        yield _line(left, bottom, right, bottom, "axis")
        places = [(self.x_px(value), self.say(name)) for value, name in _thinned(self.x.ticks()).items()]
        x_label, y_label = self.say(self.x.label), self.say(self.y.label)
        for x, row, words in side_by_side(places, rows=1 if x_label else 2):
            yield _line(x, bottom, x, bottom + 4, "axis")
            yield _text(label_x(x, words), bottom + 16 + 15 * row, words, "middle")
        yield _text((left + right) / 2, self.full_height_px - 6, x_label, "middle")
        middle = (self.top_px + bottom) / 2
        if y_label:
            yield _text(0, 0, y_label, "middle", f' transform="translate(12 {middle:.1f}) rotate(-90)"')

    def legend_entries(self) -> Iterable[str]:
        """Yield the SVG elements of the legend: line, marker and name of each series."""
        for place, (series, name) in enumerate(self.legend):
            row, column = divmod(place, self.legend_columns)
            x, y = self.left_px + 150 * column, 12 + LEGEND_ROW_PX * row
            yield f'<path class="s{series % SERIES_MAX} line"{dash_svg(series)} d="M{x} {y}h28"/>'
            yield marker_svg(x + 14, y, series, MARK_PX)
            yield _text(x + 34, y + 4, name, "start")


@dataclass(slots=True)
class Panel:
    """One drawing with two axes.

    Methods add elements, at values of the axes; `svg` draws them in a reader's language.
    """

    x: Axis
    y: Axis
    legend: Sequence[tuple[int, Text]] = ()
    """Series and name of each entry of the legend."""
    height_px: int = HEIGHT_PX
    """Height with a legend of one line; each further line adds to the drawing and leaves the plot as it is."""
    _elements: list[tuple[Callable[..., str], tuple[object, ...]]] = field(default_factory=list)
    """Method of `_Plot` that draws each element, with its arguments."""

    def line(self, points: Sequence[Point], series: int, *, marks: bool = True) -> None:
        """Add a line through the points in the series' style; a single point gives no line.

        `marks`: add the series' marker at each point too.
        """
        if len(points) > 1:
            self._add(_Plot.path, points, series)
        for x, y in points if marks else ():
            self.marker(x, y, series)

    def marker(self, x: float, y: float, series: int, *, small: bool = False) -> None:
        """Add the series' marker at a point (x, y), values of the axes; `small`: as a faint dot, for one of many."""
        self._add(_Plot.marker, x, y, series, DOT_PX if small else MARK_PX)

    def range_up(self, x: float, low: float, high: float, series: int, *, thick: bool = False) -> None:
        """Add a vertical line at `x` from `low` to `high` of the y axis, in the series' style.

        `thick`: wide as the box of a box plot.
        """
        self._add(_Plot.line, x, low, x, high, f"s{series % SERIES_MAX} thin{' thick' if thick else ''}")

    def range_along(self, y: float, low: float, high: float, *, thin: bool) -> None:
        """Add a horizontal line at `y` from `low` to `high` of the x axis, an interval that belongs to no series.

        `thin`: narrower than usual, for the wider of two intervals on one line.
        """
        self._add(_Plot.line, low, y, high, y, "ink thin" if thin else "ink thick")

    def ends(self, y: float, low: float, high: float) -> None:
        """Add two short vertical lines at `y`, which mark the ends of a second interval on one line."""
        self._add(_Plot.stroke, low, y)
        self._add(_Plot.stroke, high, y)

    def estimate(self, x: float, y: float) -> None:
        """Add the marker of an estimate, a hollow circle of no series, at a point (x, y), values of the axes."""
        self._add(_Plot.estimate, x, y)

    def caption(self, y: float, words: Text) -> None:
        """Add words at the right edge, just below the value `y`."""
        self._add(_Plot.caption, y, words)

    def level(self, y: float, series: int) -> None:
        """Add a horizontal line across the plot at the value `y`, in the series' style."""
        self._add(_Plot.level, y, series)

    def upright(self, x: float, kind: str = "zero") -> None:
        """Add a vertical line across the plot at the value `x`; `kind` is its CSS class."""
        self._add(_Plot.upright, x, kind)

    def band(self, y: float, low: float, high: float) -> None:
        """Add a shaded band from `low` to `high` of the x axis, cut at its ends, at the category `y`."""
        self._add(_Plot.band, y, low, high)

    def note(self, text: Text) -> None:
        """Add words in the middle of an otherwise empty plot."""
        self._add(_Plot.note, text)

    def svg(self, say: Say) -> tuple[int, str]:
        """Return the drawing's height in px and its SVG elements, without the enclosing `svg` element.

        `say`: makes text of messages in the reader's language.
        """
        plot = _Plot.of(self, say)
        own = (draw(plot, *args) for draw, args in self._elements)
        return plot.full_height_px, "".join([*plot.frame(), *own, *plot.legend_entries()])

    def _add(self, draw: Callable[Concatenate[_Plot, P], str], *args: P.args, **_: P.kwargs) -> None:
        self._elements.append((draw, args))


@dataclass(frozen=True, slots=True)
class Picture:
    """A drawing (`panel`) with a title and a description for readers who do not see it."""

    panel: Panel
    name: str
    """Unique in a report, and fit for a file name."""
    title: Text
    description: Text

    def svg(self, say: Say, *, attributes: str = "", width_mm: float | None = None, style: str = "") -> str:
        """Return the SVG element, with title and description.

        `attributes` and `style` (a style sheet) are SVG text to insert. `width_mm` is the printed width; without it the
        element has proportions only.
        """
        height, elements = self.panel.svg(say)
        size = f' width="{width_mm:g}mm" height="{width_mm * height / WIDTH_PX:.2f}mm"' if width_mm else ""
        return (
            f'<svg{attributes}{size} role="img" viewBox="0 0 {WIDTH_PX} {height}" '
            f'aria-labelledby="{self.name}-t {self.name}-d"><title id="{self.name}-t">{escape(say(self.title))}</title>'
            f'<desc id="{self.name}-d">{escape(say(self.description))}</desc>{style}{elements}</svg>'
        )


def marker_svg(x: float, y: float, series: int, size: float, *, faint: bool = False) -> str:
    """Return the SVG of a series' marker at a point in px: circle, square, triangle or diamond.

    `size`: half of its width, in px. `faint`: as a translucent dot.
    """
    style = f"s{series % SERIES_MAX} {'dot' if faint else 'mark'}"
    shapes = (
        f'<circle class="{style}" cx="{x:.1f}" cy="{y:.1f}" r="{size:g}"/>',
        f'<path class="{style}" d="M{x - size:.1f} {y - size:.1f}h{2 * size:g}v{2 * size:g}h{-2 * size:g}z"/>',
        f'<path class="{style}" d="M{x:.1f} {y - 1.2 * size:.1f}l{1.2 * size:g} {2 * size:g}h{-2.4 * size:g}z"/>',
        f'<path class="{style}" d="M{x:.1f} {y - 1.3 * size:.1f}l{size:g} {1.3 * size:g}l{-size:g} {1.3 * size:g}'
        f'l{-size:g} {-1.3 * size:g}z"/>',
    )
    return shapes[series % SERIES_MAX]


def dash_svg(series: int) -> str:
    """Return the SVG attribute of a series' line style; empty for a solid line."""
    dash = DASHES[series % SERIES_MAX]
    return f' stroke-dasharray="{dash}"' if dash else ""


def _line(x1: float, y1: float, x2: float, y2: float, kind: str) -> str:
    return f'<line class="{kind}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>'


def _text(x: float, y: float, words: str, anchor: str, rest: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{rest}>{escape(words)}</text>'


def _tick(value: float) -> Message:
    if float(value).is_integer():
        return Message("figure.tick.whole", {"n": int(value)})
    return Message("figure.tick", {"n": value})


def _thinned(ticks: Mapping[float, Text]) -> dict[float, Text]:
    """Return every n-th tick, with n such that at most nine remain.

    `ticks`: labels by value.
    """
    every = math.ceil(len(ticks) / 9)
    return {value: words for index, (value, words) in enumerate(ticks.items()) if index % every == 0}


def _step(span: float) -> float:
    """Return the distance of ticks: the smallest 1, 2 or 5 times a power of ten that cuts `span` into at most six."""
    if span <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(span / 4))
    return next(power * factor for factor in (1, 2, 5, 10) if span / (power * factor) <= 6.000001)

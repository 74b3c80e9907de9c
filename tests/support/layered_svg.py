"""A layered drawing as SVG text: boxes with names, lines that go down; readable on light and on dark ground."""

from __future__ import annotations

from collections.abc import Mapping
from xml.sax.saxutils import escape

from tests.support.layered import Layered, Place, width

ROW_PX = 62
BOX_PX = 28
MARGIN_PX = 12

STYLE = """\
  text { font: 13px ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; text-anchor: middle; fill: #16211f; }
  rect { fill: #ffffff; stroke: #0b6e69; }
  path { fill: none; stroke: #7a8a87; }
  .ground { fill: #f4f6f5; stroke: none; }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edeb; }
    rect { fill: #182120; stroke: #4fc3b8; }
    path { stroke: #70817d; }
    .ground { fill: #0f1514; }
  }"""


def svg(layered: Layered, *, title: str, tips: Mapping[str, str]) -> str:
    """The drawing; a box shows its tip when it is pointed at."""
    wide = round(layered.width_px) + 2 * MARGIN_PX
    tall = (len(layered.rows) - 1) * ROW_PX + BOX_PX + 2 * MARGIN_PX
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {tall}" width="{wide}" height="{tall}" role="img">',
        f"<title>{escape(title)}</title>",
        f"<style>\n{STYLE}\n</style>",
        f'<rect class="ground" width="{wide}" height="{tall}" rx="8"/>',
        *_lines(layered),
        *(_box(layered, name, number, tips) for number, row in enumerate(layered.rows) for name in row),
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def _lines(layered: Layered) -> list[str]:
    row_of = {name: number for number, row in enumerate(layered.rows) for name in row}
    found = []
    for edge in layered.edges:
        way = layered.way(edge, row_of)
        x, y = _middle(layered, way[0], row_of)
        path = f"M{x} {y + BOX_PX // 2}"
        for place in way[1:]:
            down_x, down_y = _middle(layered, place, row_of)
            top, bottom = y + BOX_PX // 2, down_y - BOX_PX // 2
            middle = (top + bottom) // 2
            path += f"C{x} {middle} {down_x} {middle} {down_x} {bottom}"
            if not isinstance(place, str):
                path += f"V{down_y + BOX_PX // 2}"
            x, y = down_x, down_y
        found.append(f'<path d="{path}"><title>{escape(" -> ".join(edge))}</title></path>')
    return found


def _middle(layered: Layered, place: Place, row_of: Mapping[str, int]) -> tuple[int, int]:
    row = row_of[place] if isinstance(place, str) else place[2]
    return round(layered.x_px[place]) + MARGIN_PX, row * ROW_PX + BOX_PX // 2 + MARGIN_PX


def _box(layered: Layered, name: str, row: int, tips: Mapping[str, str]) -> str:
    x, y = _middle(layered, name, {name: row})
    wide = round(width(name))
    return (
        f'<g><title>{escape(tips.get(name, name))}</title><rect x="{x - wide // 2}" y="{y - BOX_PX // 2}" '
        f'width="{wide}" height="{BOX_PX}" rx="6"/><text x="{x}" y="{y + 4}">{escape(name)}</text></g>'
    )

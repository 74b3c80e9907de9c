"""A drawing that stands alone: its colours, lines and face in itself, where the page's CSS is not there to give them.

The face is Siar Sans (`fonts/`), which figures and PDF carry with them, so that they look the same wherever they are
opened and printed.
"""

from __future__ import annotations

import base64
import re
from functools import cache
from pathlib import Path

from app.lab.report.figures.labels import WIDTH_PX
from app.lab.report.figures.svg import SERIES_MAX

FONTS = Path(__file__).with_name("fonts")
FACE = "Siar Sans"

_STYLES = Path(__file__).with_name("report.css")
_TOKEN = re.compile(r"--([a-z0-9-]+): (#[0-9a-f]{6});")
_OPENING = re.compile(r'<svg role="img" viewBox="0 0 (\d+) (\d+)" ')


def standalone(svg: str, *, width_mm: float | None = None, with_face: bool = False) -> str:
    """The drawing as a file of its own, in the light scheme on white.

    `width_mm`: how wide it is printed; else it has no size but its proportions. `with_face`: whether the face is in it,
    which is for who opens the file elsewhere (19 kB).
    """
    found = _OPENING.match(svg)
    if found is None:
        raise ValueError("only what a panel drew can stand alone")
    height = float(found[2])
    size = f' width="{width_mm:g}mm" height="{width_mm * height / WIDTH_PX:.2f}mm"' if width_mm else ""
    opening = f'<svg xmlns="http://www.w3.org/2000/svg"{size} {found[0].removeprefix("<svg ")}'
    words_end = svg.index("</desc>") + len("</desc>")
    style = f"<style>{_face() if with_face else ''}{_rules()}</style>"
    return f"{opening}{svg[found.end() : words_end]}{style}{svg[words_end:]}\n"


@cache
def colours() -> dict[str, str]:
    """The light scheme's colours by token, as the page has them."""
    css = _STYLES.read_text(encoding="utf-8")
    return dict(_TOKEN.findall(css[: css.index("}")]))


@cache
def _rules() -> str:
    """As in report.css, with each colour in its place: drawing programs know no custom properties."""
    ink, soft, line, band = (colours()[name] for name in ("ink", "soft", "line", "band"))
    rules = [
        f"text{{fill:{ink};font-family:'{FACE}','Liberation Sans',Arial,sans-serif;font-size:12px}}",
        ".line{fill:none;stroke-width:2}",
        ".thin{stroke-width:1.5}",
        ".thick{stroke-width:5}",
        f".ink{{stroke:{ink}}}",
        f".estimate{{fill:#ffffff;stroke:{ink};stroke-width:2}}",
        f".grid{{stroke:{line}}}",
        f".axis,.zero{{stroke:{soft}}}",
        f".band{{fill:{band}}}",
        ".mark{stroke:#ffffff}",
        ".dot{opacity:0.65}",
    ]
    for series in range(SERIES_MAX):
        colour, own = colours()[f"series-{series}"], f".s{series}"
        rules.append(f"{own}.line,{own}.thin{{stroke:{colour}}}{own}.mark,{own}.dot{{fill:{colour}}}")
    return "".join(rules)


@cache
def _face() -> str:
    data = base64.b64encode((FONTS / "SiarSans-Regular.woff2").read_bytes()).decode()
    return f"@font-face{{font-family:'{FACE}';src:url(data:font/woff2;base64,{data}) format('woff2')}}"

"""Drawings of a report as self-contained SVG files: colours, lines and font are inside, for want of the page's CSS.

The font is Siar Sans (`fonts/`), which drawings and PDF embed, so that they look the same everywhere.
"""

from __future__ import annotations

import base64
import re
from functools import cache
from pathlib import Path

from app.core.messages import Say
from app.lab.report.panel import SERIES_MAX, Picture

FONTS = Path(__file__).with_name("fonts")
FACE = "Siar Sans"

_STYLES = Path(__file__).with_name("report.css")
_TOKEN = re.compile(r"--([a-z0-9-]+): (#[0-9a-f]{6});")


def standalone(picture: Picture, say: Say, *, width_mm: float | None = None, with_face: bool = False) -> str:
    """Return a drawing as a self-contained SVG file in the light scheme.

    `width_mm` is the printed width; without it the file has proportions only. `with_face` embeds the font (19 kB), for
    files that are opened elsewhere.
    """
    style = f"<style>{_face() if with_face else ''}{_rules()}</style>"
    attributes = ' xmlns="http://www.w3.org/2000/svg"'
    return picture.svg(say, attributes=attributes, width_mm=width_mm, style=style) + "\n"


@cache
def colours() -> dict[str, str]:
    """Return the colours (`#rrggbb`) of the light scheme in report.css by name."""
    css = _STYLES.read_text(encoding="utf-8")
    return dict(_TOKEN.findall(css[: css.index("}")]))


@cache
def _rules() -> str:
    """Return the rules of report.css with literal colours: drawing programs do not support custom properties."""
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

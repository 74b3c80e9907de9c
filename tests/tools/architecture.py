"""The six folders of app/ as a drawing and tables: `python -m tests.tools.architecture` writes them into docs/.

With `--check`, it only compares. Each part of a folder is listed before what it imports, from the caller to the called.
"""

from __future__ import annotations

import argparse
import ast
import sys
from collections.abc import Iterator
from pathlib import Path
from xml.sax.saxutils import escape

from tests.support.imports import APP, BASICS, ROOT, TIERS, children, from_the_top

DRAWING = ROOT / "docs" / "architecture.svg"
PAGE = ROOT / "docs" / "architecture.md"

BEGIN = "<!-- parts: made by `python -m tests.tools.architecture`, do not edit by hand -->"
END = "<!-- end of parts -->"

WIDTH_PX = 860
MARGIN_PX = 14
LINE_PX = 30
CHARACTER_PX = 7.3
"""Width of a character of the drawing's font, slightly generous."""

STYLE = """\
  text { font: 12px ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; fill: #16211f; }
  .tier { font-size: 15px; font-weight: bold; }
  .note { font-family: system-ui, sans-serif; fill: #4a5a57; }
  rect { fill: #ffffff; stroke: #0b6e69; }
  .part { fill: #f4f6f5; stroke: #b6c2bf; }
  .ground { fill: #f4f6f5; stroke: none; }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edeb; }
    .note { fill: #a9b8b4; }
    rect { fill: #182120; stroke: #4fc3b8; }
    .part { fill: #0f1514; stroke: #46554f; }
    .ground { fill: #0f1514; }
  }"""


def drawing() -> str:
    """Return the SVG: one box for each folder, the highest first, and in it its parts."""
    lines: list[str] = []
    y = MARGIN_PX
    for tier in TIERS:
        box, height = _tier_box(tier, y)
        lines += box
        y += height + MARGIN_PX
    basics = ", ".join(BASICS)
    note = f"Each folder imports from those below it. {basics}: modules that all but core may import."
    lines.append(f'<text class="note" x="{MARGIN_PX}" y="{y + 6}">{escape(note)}</text>')
    height = y + LINE_PX
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH_PX} {height}" '
        f'width="{WIDTH_PX}" height="{height}" role="img">'
    )
    title = "<title>The six folders of app/, and what stands in each</title>"
    ground = f'<rect class="ground" width="{WIDTH_PX}" height="{height}" rx="8"/>'
    return "\n".join([head, title, f"<style>\n{STYLE}\n</style>", ground, *lines, "</svg>", ""])


def _tier_box(tier: str, top: int) -> tuple[list[str], int]:
    """Return a folder's box at this height, and how high it is."""
    lines = [
        f'<text class="tier" x="{2 * MARGIN_PX}" y="{top + 24}">{tier}</text>',
        f'<text class="note" x="{2 * MARGIN_PX + 70}" y="{top + 24}">{escape(sentence_of(APP / tier))}</text>',
    ]
    x, y = 2 * MARGIN_PX, top + 36
    for part in parts(tier):
        width = round(len(part) * CHARACTER_PX) + 16
        if x + width > WIDTH_PX - 2 * MARGIN_PX:
            x, y = 2 * MARGIN_PX, y + LINE_PX
        tip = escape(sentence_of(APP / tier / part.rstrip("/")))
        lines.append(
            f'<g><title>{tip}</title><rect class="part" x="{x}" y="{y}" width="{width}" height="22" rx="5"/>'
            f'<text x="{x + 8}" y="{y + 15}">{escape(part)}</text></g>'
        )
        x += width + 6
    height = y + LINE_PX + 4 - top
    frame = f'<rect x="{MARGIN_PX}" y="{top}" width="{WIDTH_PX - 2 * MARGIN_PX}" height="{height}" rx="8"/>'
    return [frame, *lines], height


def parts(tier: str) -> list[str]:
    """List what stands in a folder: packages first, each before what it imports."""
    names = from_the_top(children(f"app.{tier}"))
    packages = [f"{name}/" for name in names if (APP / tier / name).is_dir()]
    return packages + sorted(name for name in names if f"{name}/" not in packages)


def sentence_of(path: Path) -> str:
    """Return the first sentence of the docstring of a package or module."""
    file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    return (ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or "").partition("\n")[0]


def tables() -> Iterator[str]:
    """Yield the lines of Markdown: a table of the folders, then one for the parts of each."""
    yield "| folder | holds |"
    yield "| --- | --- |"
    for tier in TIERS:
        yield f"| `{tier}/` | {sentence_of(APP / tier)} |"
    for basic in BASICS:
        yield f"| `{basic}.py` | {sentence_of(APP / basic)} |"
    for tier in TIERS:
        yield from ("", f"### `{tier}/`", "", "| part | holds |", "| --- | --- |")
        for part in parts(tier):
            name = part if part.endswith("/") else f"{part}.py"
            yield f"| `{name}` | {sentence_of(APP / tier / part.rstrip('/'))} |"


def page() -> str:
    """Return docs/architecture.md with its tables as they should be; all else as it is."""
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    after = rest.partition(END)[2]
    return "\n".join([f"{before}{BEGIN}", "", *tables(), "", f"{END}{after}"])


def wanted() -> dict[Path, str]:
    """Return what the files should hold."""
    return {DRAWING: drawing(), PAGE: page()}


def main() -> int:
    """Run as a command; return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="write nothing; 1 when a file is stale")
    check = parser.parse_args().check
    stale = {
        path: text
        for path, text in wanted().items()
        if not path.exists() or path.read_text(encoding="utf-8") != text
    }
    for path, text in stale.items():
        print(f"{path.relative_to(ROOT)} {'is stale' if check else 'was written'}")
        if not check:
            path.write_text(text, encoding="utf-8")
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main())

"""The drawing of the code's own imports: `python -m tests.architecture` writes it into docs/, `--check` only compares.

Parts stand in the layers that tests/unit/test_layers.py holds them to, so every line goes down. A line that follows
from two others is left out (a -> b and b -> c hide a -> c): what remains is who stands directly on whom.
"""

from __future__ import annotations

import argparse
import ast
import functools
import sys
from collections.abc import Iterable
from pathlib import Path

from tests.support.layered import Edge, Layered
from tests.support.layered_svg import svg
from tests.unit.test_layers import (
    APP,
    LAYERS,
    PARTS_WITH_THEIR_OWN_RULE,
    ROOT,
    files_of,
    imports_within_app,
    module_name,
    part_of,
)

DRAWING = ROOT / "docs" / "architecture.svg"
PAGE = ROOT / "docs" / "architecture.md"

BEGIN = "<!-- parts: made by `python -m tests.architecture`, do not edit by hand -->"
END = "<!-- end of parts -->"


@functools.cache
def imports() -> dict[str, set[str]]:
    """Of every part of app/ the other parts that it imports."""
    found: dict[str, set[str]] = {}
    for path in files_of(APP):
        part = part_of(module_name(path))
        if part:
            found.setdefault(part, set()).update(
                {part_of(name) for name in imports_within_app(path)} - {part, ""}
            )
    return found


def reduced(graph: dict[str, set[str]]) -> list[Edge]:
    """The edges that do not follow from others."""
    return sorted(
        (part, other)
        for part, others in graph.items()
        for other in others
        if not any(other in _reached(graph, between) for between in others - {other})
    )


def _reached(graph: dict[str, set[str]], start: str) -> set[str]:
    found: set[str] = set()
    waiting = [start]
    while waiting:
        new = graph.get(waiting.pop(), set()) - found
        found |= new
        waiting += new
    return found


def rows(graph: dict[str, set[str]]) -> list[list[str]]:
    """The layers from the top down.

    A part with a rule of its own stands right above what it imports; one that imports nothing, right below who uses it.
    """
    row_of = {part: number for number, layer in enumerate(LAYERS, 1) for part in layer}
    for part in PARTS_WITH_THEIR_OWN_RULE:
        below = [row_of[other] - 1 for other in graph[part] if other in row_of]
        above = [row_of[user] + 1 for user, others in graph.items() if part in others and user in row_of]
        row_of[part] = min(below) if below else max(above)
    return [sorted(part for part in graph if row_of[part] == number) for number in sorted({*row_of.values()})]


def drawing() -> str:
    """The SVG."""
    graph = imports()
    there = rows(graph)
    title = "The parts of app/ and what each stands on"
    return svg(Layered(there, reduced(graph)), title=title, tips={part: sentence_of(part) for part in graph})


def sentence_of(part: str) -> str:
    """The first sentence of a part's own docstring."""
    path = APP / part / "__init__.py" if (APP / part).is_dir() else APP / f"{part}.py"
    return (ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or "").partition("\n")[0]


def table() -> Iterable[str]:
    """A row of Markdown for each part, from the top down: its name and its own first sentence."""
    graph = imports()
    yield "| part | gives, by its own first sentence |"
    yield "| --- | --- |"
    for row in rows(graph):
        for part in row:
            name = f"{part}/" if (APP / part).is_dir() else f"{part}.py"
            yield f"| `{name}` | {sentence_of(part)} |"


def page() -> str:
    """docs/architecture.md with its table as it should be; all else as it is."""
    text = PAGE.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    behind = rest.partition(END)[2]
    return "\n".join([f"{before}{BEGIN}", "", *table(), "", f"{END}{behind}"])


def wanted() -> dict[Path, str]:
    """What the files should hold."""
    return {DRAWING: drawing(), PAGE: page()}


def main() -> int:
    """As a command."""
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

"""What README.md and the pages of docs/ tell a reader to type: code blocks, and commands in sentences and tables."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from tests.support.server import ROOT

README = ROOT / "README.md"
DOCS = ROOT / "docs"

PAGES = (README, *sorted(DOCS.glob("*.md")))
"""Every page that users read."""

TYPED_PAGES = (
    README,
    *(DOCS / f"{name}.md" for name in ("bench", "brokers", "classroom", "commands", "http-api", "results")),
)
"""Those whose blocks are typed by tests, command by command, plan by plan. Blocks of other pages are excerpts."""

_FENCE = re.compile(
    r"(?:^<!-- needs: ([a-z, ]+) -->\n+)?^```(\w*)[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL
)

_INLINE = re.compile(r"`((?:SIAR_\w+=\S+ )?(?:\./siar|python -m|gunicorn|flask|locust)(?: [^`]*)?)`")


@dataclass(frozen=True, slots=True)
class Block:
    """A code block."""

    page: str
    """Name of its page."""
    line: int
    """Number of its first line of code."""
    language: str
    text: str
    needs: str
    """Requirements named by the comment before it; empty: a checkout suffices."""

    @property
    def commands(self) -> list[str]:
        """The commands of a block, each without its remark."""
        return [line.split(" #")[0].strip() for line in self.text.splitlines() if line.strip()]


def all_blocks() -> list[Block]:
    """List the blocks of the pages that tests type, page by page in order."""
    found = []
    for path in TYPED_PAGES:
        text = path.read_text(encoding="utf-8")
        found += [
            Block(path.name, text.count("\n", 0, each.start(3)) + 1, each[2], each[3], each[1] or "")
            for each in _FENCE.finditer(text)
        ]
    return found


def blocks(language: str) -> list[Block]:
    """List the blocks of one language."""
    return [block for block in all_blocks() if block.language == language]


def languages() -> set[str]:
    """Return the languages that there are blocks of."""
    return {block.language for block in all_blocks()}


def commands() -> list[tuple[str, str]]:
    """List every command of a block once, with what its block needs."""
    return list(dict.fromkeys((each, block.needs) for block in blocks("sh") for each in block.commands))


def inline_commands() -> list[str]:
    """List the commands in sentences and tables of all pages, with brackets around what may be left out."""
    return [found.replace("\\|", "|") for path in PAGES for found in _INLINE.findall(without_blocks(path))]


def without_blocks(path: Path) -> str:
    """Return the text of a page without its code blocks."""
    return _FENCE.sub("", path.read_text(encoding="utf-8"))


def links(path: Path) -> list[str]:
    """List where a page leads within the checkout: files, and headings as `#name`."""
    text = without_blocks(path)
    found = re.findall(r"\]\(([^)\s]+)\)", text) + re.findall(r'(?:src|href)="([^"]+)"', text)
    return [each for each in found if "://" not in each]


def anchors(path: Path) -> set[str]:
    """Return the names of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", without_blocks(path), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", each.lower()).replace(" ", "-") for each in headings}

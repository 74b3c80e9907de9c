"""Commands in README.md: its code blocks, and the commands in sentences and tables."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from tests.support.server import ROOT

README = ROOT / "README.md"

_FENCE = re.compile(r"(?:^<!-- needs: ([a-z, ]+) -->\n+)?^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)

_INLINE = re.compile(r"`((?:SIAR_\w+=\S+ )?(?:\./siar|python -m|gunicorn|flask|locust)(?: [^`]*)?)`")


@dataclass(frozen=True, slots=True)
class Block:
    """A code block."""

    line: int
    """Line number of its first line of code."""
    language: str
    text: str
    needs: str
    """Requirements named by the comment before it; empty: a checkout suffices."""

    @property
    def commands(self) -> list[str]:
        """Commands of the block, without their comments."""
        return [line.split(" #")[0].strip() for line in self.text.splitlines() if line.strip()]


def blocks(language: str) -> list[Block]:
    """Return the blocks of one language, in order."""
    text = README.read_text(encoding="utf-8")
    return [
        Block(text.count("\n", 0, found.start(3)) + 1, found[2], found[3], found[1] or "")
        for found in _FENCE.finditer(text)
        if found[2] == language
    ]


def languages() -> set[str]:
    """Return the languages of all blocks."""
    return {found[2] for found in _FENCE.finditer(README.read_text(encoding="utf-8"))}


def commands() -> list[tuple[str, str]]:
    """Return every command of a block, with its block's requirements."""
    return [(command, block.needs) for block in blocks("sh") for command in block.commands]


def inline_commands() -> list[str]:
    """Return commands in sentences and tables as written, with brackets around optional parts."""
    text = _FENCE.sub("", README.read_text(encoding="utf-8"))
    return [found.replace("\\|", "|") for found in _INLINE.findall(text)]


def links() -> list[str]:
    """Return links within the checkout: files, and headings as `#name`."""
    text = _FENCE.sub("", README.read_text(encoding="utf-8"))
    found = re.findall(r"\]\(([^)\s]+)\)", text) + re.findall(r'(?:src|href)="([^"]+)"', text)
    return [each for each in found if "://" not in each]


def anchors(path: Path) -> set[str]:
    """Return the anchors of a page's headings, as GitHub generates them."""
    headings = re.findall(r"^#+ (.+)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", each.lower()).replace(" ", "-") for each in headings}
